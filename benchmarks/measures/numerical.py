"""Programs of science with linear algebra inside of derivatives and loops."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.measure import Measure

TITLE = "Science"


def measures(tiny: bool) -> list[Measure]:
    points, steps, rows = (20, 5, 50) if tiny else (2000, 1000, 10_000)
    known, many = (20, 50) if tiny else (500, 100_000)
    return [
        Measure(
            f"likelihood of a Gaussian process of {points} points, with its gradient",
            lambda cv: gaussian_process(cv, points),
        ),
        Measure(
            f"Kalman filter of {steps} steps, 8 states, 4 observations",
            lambda cv: kalman_filter(cv, steps),
        ),
        Measure(
            f"logistic regression by Newton's method, {rows} × 32, 10 steps",
            lambda cv: newton_logistic(cv, rows),
            {"numpy": lambda _: numpy_newton_logistic(rows)},
        ),
        Measure(
            f"mean of a Gaussian process of {known} fixed points, at 20",
            lambda cv: mean_at(cv, known),
        ),
        Measure(
            f"nearest of {many:,} × 16 fixed points",
            lambda cv: nearest(cv, many),
        ),
    ]


def gaussian_process(cv: Any, points: int) -> Callable[[], Any]:
    """The log likelihood by a Cholesky factor, and how it grows with two parameters."""
    cnp, linalg = cv.numpy, import_module(f"{cv.__name__}.scipy.linalg")
    generator = np.random.default_rng(0)
    x = np.sort(generator.uniform(0, 10, points)).astype(np.float32)
    y = np.sin(x) + 0.1 * generator.standard_normal(points).astype(np.float32)

    def log_likelihood(parameters: Any, x: Any, y: Any) -> Any:
        scale, noise = cnp.exp(parameters)
        squares = (x[:, None] - x) ** 2
        covariance = cnp.exp(-squares / (2 * scale**2)) + noise * cnp.eye(points)
        factor = linalg.cholesky(covariance, lower=True)
        white = linalg.solve_triangular(factor, y, lower=True)
        return -0.5 * white @ white - cnp.log(cnp.diagonal(factor)).sum()

    step = cv.jit(cv.value_and_grad(log_likelihood))
    operands = cv.device_put((np.array([0.0, -2.0], np.float32), x, y))
    return lambda: step(*operands)


def mean_at(cv: Any, points: int) -> Callable[[], Any]:
    """A function that closes over the points, and factors their covariance in it."""
    cnp, linalg = cv.numpy, import_module(f"{cv.__name__}.scipy.linalg")
    generator = np.random.default_rng(0)
    points_and_more = generator.standard_normal((points + 20, 8)).astype(np.float32)
    x, new = (cnp.array(part) for part in np.split(points_and_more, [points]))
    y = cnp.array(generator.standard_normal(points).astype(np.float32))

    def covariance(a: Any, b: Any) -> Any:
        return cnp.exp(-0.5 * ((a[:, None] - b) ** 2).sum(-1))

    @cv.jit
    def mean(new: Any) -> Any:
        factor = linalg.cho_factor(covariance(x, x) + 0.1 * cnp.eye(points))
        return covariance(new, x) @ linalg.cho_solve(factor, y)

    return lambda: mean(new)


def nearest(cv: Any, points: int) -> Callable[[], Any]:
    """A function that closes over the points, and takes their norms in it."""
    cnp = cv.numpy
    generator = np.random.default_rng(0)
    x = cnp.array(generator.standard_normal((points, 16)).astype(np.float32))
    one = cnp.array(generator.standard_normal(16).astype(np.float32))

    @cv.jit
    def place(q: Any) -> Any:
        return cnp.argmin(q @ q + (x * x).sum(1) - 2 * (x @ q))

    return lambda: place(one)


def kalman_filter(cv: Any, steps: int) -> Callable[[], Any]:
    """The log likelihood of observations, matrix by matrix through time."""
    cnp = cv.numpy
    generator = np.random.default_rng(0)
    states, seen = 8, 4
    turn, _ = np.linalg.qr(generator.standard_normal((states, states)))
    move = (0.9 * turn).astype(np.float32)
    look = generator.standard_normal((seen, states)).astype(np.float32)
    observations = generator.standard_normal((steps, seen)).astype(np.float32)

    def step(carry: Any, y: Any) -> Any:
        mean, covariance = carry
        mean = move @ mean
        covariance = move @ covariance @ move.T + 0.1 * cnp.eye(states)
        seen_covariance = look @ covariance @ look.T + 0.5 * cnp.eye(seen)
        surprise = y - look @ mean
        gain = cnp.linalg.solve(seen_covariance, look @ covariance).T
        _, logarithm = cnp.linalg.slogdet(seen_covariance)
        fit = surprise @ cnp.linalg.solve(seen_covariance, surprise) + logarithm
        carry = mean + gain @ surprise, covariance - gain @ look @ covariance
        return carry, -0.5 * fit

    @cv.jit
    def log_likelihood(observations: Any) -> Any:
        start = cnp.zeros(states), cnp.eye(states)
        return cv.lax.scan(step, start, observations)[1].sum()

    operand = cv.device_put(observations)
    return lambda: log_likelihood(operand)


def regression_data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((rows, 32)).astype(np.float32)
    chances = 1 / (1 + np.exp(-x @ generator.standard_normal(32)))
    return x, (generator.uniform(size=rows) < chances).astype(np.float32)


def newton_logistic(cv: Any, rows: int) -> Callable[[], Any]:
    cnp = cv.numpy

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (cnp.logaddexp(0.0, z) - y * z).mean() + 1e-3 * (w @ w)

    @cv.jit
    def fit(x: Any, y: Any) -> Any:
        def step(_: Any, w: Any) -> Any:
            slope, curvature = cv.grad(loss)(w, x, y), cv.hessian(loss)(w, x, y)
            return w - cnp.linalg.solve(curvature, slope)

        return cv.lax.fori_loop(0, 10, step, cnp.zeros(x.shape[1]))

    x, y = cv.device_put(regression_data(rows))
    return lambda: fit(x, y)


def numpy_newton_logistic(rows: int) -> Callable[[], Any]:
    x, y = regression_data(rows)

    def fit() -> np.ndarray:
        w = np.zeros(x.shape[1], np.float32)
        for _ in range(10):
            chances = 1 / (1 + np.exp(-(x @ w)))
            slope = x.T @ (chances - y) / rows + 2e-3 * w
            weights = chances * (1 - chances) / rows
            curvature = (x.T * weights) @ x + 2e-3 * np.eye(32, dtype=np.float32)
            w = w - np.linalg.solve(curvature, slope)
        return w

    return fit
