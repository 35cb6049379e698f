"""Programs of science that go through time or over a grid."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures import science_peers as peers
from benchmarks.measures.workload import (
    both,
    everywhere,
    integers,
    normal,
    positive,
    workload,
)

TITLE = "Science"


def measures(tiny: bool) -> list[Measure]:
    return [
        *in_time(tiny),
        *on_grids(tiny),
    ]


# -- through time ----------------------------------------------------------------------


def in_time(tiny: bool) -> list[Measure]:
    steps, orbits, bodies = (4, 5, 6) if tiny else (1000, 10_000, 2000)
    paths, draws = (5, 3) if tiny else (100_000, 100)
    return [
        workload(
            f"pendulum, Runge–Kutta, {steps} steps",
            partial(pendulum, steps=steps),
            positive((2,), low=0.5, high=1.0),
            others={"numba": partial(peers.pendulum, steps=steps)},
        ),
        workload(
            "its gradient",
            lambda cv: summed(pendulum(cv, steps=steps)),
            positive((2,), low=0.5, high=1.0),
            wrt=0,
        ),
        workload(
            f"Lorenz, {orbits:,} orbits, {steps // 5 or 1} steps",
            partial(lorenz, steps=steps // 5 or 1),
            positive((3, orbits)),
            others={"torch": partial(peers.lorenz, steps=steps // 5 or 1)},
        ),
        everywhere(
            f"n-body, accelerations of {bodies:,}",
            n_body,
            both(normal((bodies, 3)), positive((bodies,))),
            compiled=not tiny,
            bound=Bound(flops=20 * bodies**2),
        ),
        workload(
            f"Monte Carlo, {paths:,} paths of 50 steps",
            partial(monte_carlo, paths=paths),
            lambda: [],
            others={
                "numpy": partial(peers.monte_carlo, paths=paths),
                "torch": partial(peers.torch_monte_carlo, paths=paths),
            },
            same="",
        ),
        workload(
            f"Hamiltonian Monte Carlo, {draws} draws of 10 leaps, 20 weights",
            partial(hamiltonian, draws=draws),
            normal((20,), (100, 20), (100,)),
        ),
    ]


def pendulum(cv: Any, steps: int) -> Callable[[Any], Any]:
    """Angle and speed after so many steps of the classical method."""

    def slope(state: Any) -> Any:
        angle, speed = state
        return speed, -cv.numpy.sin(angle)

    def moved(state: Any, slopes: Any, by: float) -> Any:
        return tuple([s + by * d for s, d in zip(state, slopes, strict=True)])

    def step(_: Any, state: Any) -> Any:
        k1 = slope(state)
        k2 = slope(moved(state, k1, 0.005))
        k3 = slope(moved(state, k2, 0.005))
        k4 = slope(moved(state, k3, 0.01))
        for k, weight in ((k1, 1), (k2, 2), (k3, 2), (k4, 1)):
            state = moved(state, k, 0.01 / 6 * weight)
        return state

    return lambda x: cv.lax.fori_loop(0, steps, step, (x[0], x[1]))


def summed(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: sum(fun(*args))


def lorenz(cv: Any, steps: int) -> Callable[[Any], Any]:
    def step(_: Any, point: Any) -> Any:
        x, y, z = point
        return (
            x + 0.01 * 10 * (y - x),
            y + 0.01 * (x * (28 - z) - y),
            z + 0.01 * (x * y - 8 / 3 * z),
        )

    return lambda points: cv.lax.fori_loop(0, steps, step, tuple(points))


def n_body(np: Any) -> Callable[..., Any]:
    def accelerations(place: Any, mass: Any) -> Any:
        apart = place[None, :, :] - place[:, None, :]
        squared = (apart**2).sum(-1) + 0.01
        return (apart * (mass * squared**-1.5)[:, :, None]).sum(1)

    return accelerations


def monte_carlo(cv: Any, paths: int) -> Callable[[], Any]:
    """The price of an option on the mean of a random walk."""

    def price() -> Any:
        key = cv.random.key(0)
        walk = cv.random.normal(key, (50, paths)) * 0.03
        prices = 100 * cv.numpy.exp(cv.numpy.cumsum(walk, 0))
        return cv.numpy.maximum(prices.mean(0) - 100, 0).mean()

    return price


def hamiltonian(cv: Any, draws: int) -> Callable[..., Any]:
    """The sampler for a Bayesian regression."""

    def sample(weights: Any, x: Any, y: Any) -> Any:
        def energy(w: Any) -> Any:
            return ((x @ w - y) ** 2).sum() + (w**2).sum()

        force = cv.grad(energy)

        def leap(_: Any, state: Any) -> Any:
            w, speed = state
            speed = speed - 1e-3 * force(w)
            return w + 2e-3 * speed, speed

        def draw(w: Any, key: Any) -> Any:
            push, chance = cv.random.split(key)
            speed = cv.random.normal(push, w.shape)
            new, last = cv.lax.fori_loop(0, 10, leap, (w, speed))
            before = energy(w) + (speed**2).sum() / 2
            after = energy(new) + (last**2).sum() / 2
            taken = cv.numpy.log(cv.random.uniform(chance)) < before - after
            w = cv.numpy.where(taken, new, w)
            return w, w

        keys = cv.random.split(cv.random.key(0), draws)
        return cv.lax.scan(draw, weights, keys)[1].mean(0)

    return sample


# -- on grids --------------------------------------------------------------------------


def on_grids(tiny: bool) -> list[Measure]:
    side, steps, image, plane = (8, 2, 8, 8) if tiny else (1024, 50, 2048, 500)
    rounds, cells = (3, 8) if tiny else (100, 1_000_000)
    return [
        workload(
            f"heat on {side}², {steps} steps",
            partial(heat, steps=steps),
            normal((side, side)),
            others={
                "numpy": partial(peers.heat, steps=steps),
                "torch": partial(peers.heat, steps=steps),
                "numba": partial(peers.numba_heat, steps=steps),
            },
            bound=Bound(bytes=8 * steps * side**2),
        ),
        workload(
            f"image filter 5 × 5 and Sobel, {image}²",
            image_filter,
            normal((image, image), (5, 5)),
            others={
                "numpy": peers.image_filter,
                "torch": peers.torch_image_filter,
                "numba": peers.numba_image_filter,
            },
            bound=Bound(bytes=8 * image**2),
        ),
        workload(
            f"Mandelbrot, {plane}², {rounds} rounds, while loop",
            partial(mandelbrot, side=plane, rounds=rounds),
            lambda: [],
            others={
                "numpy": partial(peers.mandelbrot, side=plane, rounds=rounds),
                "numba": partial(peers.numba_mandelbrot, side=plane, rounds=rounds),
            },
            same="",
        ),
        workload(
            f"Life on {side}², {2 if tiny else 20} generations",
            partial(life, generations=2 if tiny else 20),
            integers(2, (side, side)),
            others={
                "numpy": partial(peers.life, generations=2 if tiny else 20),
                "torch": partial(peers.life, generations=2 if tiny else 20),
            },
        ),
        workload(
            f"waves on {side}², by rolls, {2 if tiny else 20} steps",
            partial(waves, steps=2 if tiny else 20),
            normal((side, side)),
            others={
                "numpy": partial(peers.waves, steps=2 if tiny else 20),
                "torch": partial(peers.waves, steps=2 if tiny else 20),
            },
        ),
        workload(
            f"Lax–Wendroff by rolls, {cells:,} cells, {2 if tiny else 20} steps",
            partial(transport, steps=2 if tiny else 20),
            normal((cells,)),
            others={
                "numpy": partial(peers.transport, steps=2 if tiny else 20),
                "torch": partial(peers.transport, steps=2 if tiny else 20),
            },
        ),
    ]


def heat(cv: Any, steps: int) -> Callable[[Any], Any]:
    def step(_: Any, u: Any) -> Any:
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))

    return lambda u: cv.lax.fori_loop(0, steps, step, u)


def image_filter(cv: Any) -> Callable[..., Any]:
    sobel = np.float32([[1, 0, -1], [2, 0, -2], [1, 0, -1]])

    def edges(image: Any, kernel: Any) -> Any:
        convolve = partial(cv.scipy.signal.convolve2d, mode="same")
        smooth = convolve(image, kernel)
        across, down = convolve(smooth, sobel), convolve(smooth, sobel.T)
        return cv.numpy.sqrt(across**2 + down**2)

    return edges


def mandelbrot(cv: Any, side: int, rounds: int) -> Callable[[], Any]:
    """How many rounds each point stays near the origin."""

    def image() -> Any:
        line = cv.numpy.linspace(-2.0, 2.0, side)
        x, y = line[None, :] - 0.5, line[:, None]

        def unfinished(state: Any) -> Any:
            turn, a, b, _ = state
            return (turn < rounds) & (a * a + b * b <= 4).any()

        def step(state: Any) -> Any:
            turn, a, b, count = state
            near = a * a + b * b <= 4
            further = a * a - b * b + x, 2 * a * b + y
            a, b = (
                cv.numpy.where(near, n, o) for n, o in zip(further, (a, b), strict=True)
            )
            return turn + 1, a, b, count + near

        zeros = cv.numpy.zeros((side, side))
        none = cv.numpy.zeros((side, side), cv.numpy.int32)
        return cv.lax.while_loop(unfinished, step, (0, zeros, zeros, none))[3]

    return image


def life(cv: Any, generations: int) -> Callable[[Any], Any]:
    def generation(_: Any, cells: Any) -> Any:
        rows = cells + cv.numpy.roll(cells, 1, 0) + cv.numpy.roll(cells, -1, 0)
        block = rows + cv.numpy.roll(rows, 1, 1) + cv.numpy.roll(rows, -1, 1)
        return ((block == 3) | ((block == 4) & (cells == 1))).astype(cells.dtype)

    return lambda cells: cv.lax.fori_loop(0, generations, generation, cells)


def waves(cv: Any, steps: int) -> Callable[[Any], Any]:
    def step(_: Any, states: Any) -> Any:
        now, before = states
        return peers.next_wave(cv.numpy, now, before), now

    return lambda u: cv.lax.fori_loop(0, steps, step, (u, u))[0]


def transport(cv: Any, steps: int) -> Callable[[Any], Any]:
    def step(_: Any, u: Any) -> Any:
        return peers.transported(cv.numpy, u)

    return lambda u: cv.lax.fori_loop(0, steps, step, u)
