"""Programs of science that fit, search, and differentiate."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
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
    return [*from_data(tiny), *step_by_step(tiny), *derivatives(tiny)]


# -- from data -------------------------------------------------------------------------


def from_data(tiny: bool) -> list[Measure]:
    points, clusters = (20, 3) if tiny else (10_000, 32)
    pages, links = (10, 30) if tiny else (50_000, 1_000_000)
    side, rounds = (4, 3) if tiny else (1000, 50)
    pairs = 5 if tiny else 2000
    long, knots = (50, 7) if tiny else (1_000_000, 1000)
    return [
        workload(
            f"k-means, {points:,} × 16, {clusters} clusters, 10 rounds",
            partial(k_means, clusters=clusters),
            normal((points, 16)),
            others={
                "numpy": partial(peers.k_means, clusters=clusters),
                "torch": partial(peers.torch_k_means, clusters=clusters),
            },
        ),
        workload(
            f"PageRank, {pages:,} pages, {links:,} links, 20 rounds",
            partial(page_rank, pages=pages),
            integers(pages, (links,), (links,)),
            others={
                "numpy": partial(peers.page_rank, pages=pages),
                "torch": partial(peers.torch_page_rank, pages=pages),
                "numba": partial(peers.numba_page_rank, pages=pages),
            },
        ),
        workload(
            f"power iteration, {side}², {rounds} rounds",
            partial(power_iteration, rounds=rounds),
            positive((side, side)),
            others={
                "numpy": partial(peers.power_iteration, rounds=rounds),
                "torch": partial(peers.power_iteration, rounds=rounds),
            },
            bound=Bound(bytes=4 * side**2, flops=2 * rounds * side**2),
        ),
        workload(
            f"distances of all pairs, {pairs:,} × 64",
            lambda cv: lambda x: cv.numpy.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)),
            normal((pairs, 64)),
            others={
                "numpy": lambda np: (
                    lambda x: import_module("scipy.spatial.distance").cdist(x, x)
                ),
                "torch": lambda torch: lambda x: torch.cdist(x, x),
            },
            bound=Bound(flops=3 * 64 * pairs**2),
        ),
        workload(
            f"convolution, {long:,} by 101",
            lambda cv: lambda x, k: cv.numpy.convolve(x, k, "same"),
            normal((long,), (min(101, long // 2),)),
            others={
                "numpy": lambda np: partial(
                    import_module("scipy.signal").convolve, mode="same"
                ),
                "torch": peers.torch_convolution,
            },
        ),
        workload(
            f"interpolation, {long:,} in {knots:,} points",
            lambda cv: cv.numpy.interp,
            lambda: [
                np.random.default_rng(0).random(long, np.float32),
                np.linspace(0, 1, knots, dtype=np.float32),
                np.sin(np.linspace(0, 9, knots, dtype=np.float32)),
            ],
            others={"numpy": lambda np: np.interp},
        ),
    ]


def k_means(cv: Any, clusters: int) -> Callable[[Any], Any]:
    def fit(x: Any) -> Any:
        def step(_: Any, centres: Any) -> Any:
            apart = (centres**2).sum(1) - 2 * x @ centres.T
            member = cv.nn.one_hot(apart.argmin(1), clusters)
            return (member.T @ x) / (member.sum(0)[:, None] + 1e-6)

        return cv.lax.fori_loop(0, 10, step, x[:clusters])

    return fit


def page_rank(cv: Any, pages: int) -> Callable[..., Any]:
    def rank(sources: Any, targets: Any) -> Any:
        leaving = cv.numpy.zeros(pages).at[sources].add(1.0)
        share = 1 / cv.numpy.maximum(leaving, 1)

        def step(_: Any, rank: Any) -> Any:
            flow = cv.numpy.zeros(pages).at[targets].add((rank * share)[sources])
            return 0.15 / pages + 0.85 * flow

        return cv.lax.fori_loop(0, 20, step, cv.numpy.full(pages, 1 / pages))

    return rank


def power_iteration(cv: Any, rounds: int) -> Callable[[Any], Any]:
    def iterate(a: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            x = a @ x
            return x / cv.numpy.sqrt((x**2).sum())

        return cv.lax.fori_loop(0, rounds, step, a[0])

    return iterate


# -- step by step ----------------------------------------------------------------------


def step_by_step(tiny: bool) -> list[Measure]:
    length, states, steps = (6, 4, 5) if tiny else (500, 64, 500)
    roots = 5 if tiny else 100_000
    return [
        workload(
            f"edit distance, {length} by {length}",
            edit_distance,
            integers(4, (length,), (length,)),
            others={"numba": peers.numba_edit_distance},
        ),
        workload(
            f"Viterbi, {steps} steps of {states} states",
            viterbi,
            normal((states, states), (steps, states)),
            others={"numpy": peers.viterbi, "numba": peers.numba_viterbi},
        ),
        workload(
            f"roots by bisection, {roots:,}, vmap of while loop",
            bisection,
            positive((roots,)),
            others={"numba": peers.numba_bisection},
        ),
    ]


def edit_distance(cv: Any) -> Callable[..., Any]:
    """Of two words, row by row; along a row as a running minimum."""

    def distance(first: Any, second: Any) -> Any:
        columns = cv.numpy.arange(second.size + 1)

        def row(before: Any, letter: Any) -> Any:
            changed = before[:-1] + (second != letter)
            best = cv.numpy.minimum(before[1:] + 1, changed)
            best = cv.numpy.concatenate([before[:1] + 1, best])
            return columns + cv.lax.cummin(best - columns), None

        return cv.lax.scan(row, columns, first)[0][-1]

    return distance


def viterbi(cv: Any) -> Callable[..., Any]:
    """The likeliest states and how likely they are."""

    def path(moves: Any, seen: Any) -> Any:
        def forward(score: Any, observed: Any) -> Any:
            through = score[:, None] + moves
            return through.max(0) + observed, through.argmax(0)

        last, choices = cv.lax.scan(forward, seen[0], seen[1:])

        def back(state: Any, choice: Any) -> Any:
            return choice[state], state

        end = last.argmax()
        first, states = cv.lax.scan(back, end, choices, reverse=True)
        return last.max(), first, states

    return path


def bisection(cv: Any) -> Callable[[Any], Any]:
    """The roots of x³ + x = c."""

    def root(c: Any) -> Any:
        def halve(ends: Any) -> Any:
            low, high = ends
            middle = (low + high) / 2
            below = middle**3 + middle < c
            where = cv.numpy.where
            return where(below, middle, low), where(below, high, middle)

        return cv.lax.while_loop(
            lambda ends: ends[1] - ends[0] > 1e-5, halve, (0.0, 4.0)
        )[0]

    return cv.vmap(root)


# -- derivatives -----------------------------------------------------------------------


def derivatives(tiny: bool) -> list[Measure]:
    options, units, wide = (5, 4, 3) if tiny else (1_000_000, 256, 100)
    market = positive((options,), (options,), low=80, high=120)
    terms = positive((options,), (options,), low=0.1, high=1.0)
    layers = (units, units), (units, units), (units, units)
    return [
        everywhere(
            f"Black–Scholes and its Greeks, {options:,}",
            lambda np: lambda *args: black_scholes(np, *args).sum(),
            both(market, terms),
            peers=("torch",),
            wrt=(0, 2, 3),
            compiled=not tiny,
            bound=Bound(bytes=28 * options),
        ),
        workload(
            f"hessian · vector of an MLP, {units}–{units}, batch {units}",
            hessian_vector,
            normal(*layers, *layers[:2], scale=units**-0.5),
            others={"torch": peers.torch_hessian_vector},
        ),
        workload(
            f"jacobian of a map of {wide}",
            lambda cv: cv.jacrev(lambda x, w: cv.numpy.tanh(w @ x) * x),
            normal((wide,), (wide, wide), scale=wide**-0.5),
            others={"torch": peers.torch_jacobian},
        ),
    ]


def black_scholes(np: Any, price: Any, strike: Any, time: Any, volatility: Any) -> Any:
    """A European call at an interest of 3 %; the normal distribution by a logistic."""
    spread = volatility * np.sqrt(time)
    first = (np.log(price / strike) + (0.03 + volatility**2 / 2) * time) / spread
    below, second = normal_cdf(np, first), normal_cdf(np, first - spread)
    return price * below - strike * np.exp(-0.03 * time) * second


def normal_cdf(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x * (1.5976 + 0.07056 * x * x)))


def hessian_vector(cv: Any) -> Callable[..., Any]:
    def product(w1: Any, w2: Any, x: Any, v1: Any, v2: Any) -> Any:
        def loss(w1: Any, w2: Any) -> Any:
            return (cv.numpy.tanh(cv.numpy.tanh(x @ w1) @ w2) ** 2).mean()

        return cv.jvp(cv.grad(loss, (0, 1)), (w1, w2), (v1, v2))[1]

    return product
