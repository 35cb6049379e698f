"""A map from a few hundred points: Gaussian process regression.

Geologists invented Gaussian processes to draw maps from a few drill holes, and
called it kriging. Here 800 points of a real terrain, a fault in Tennessee whose
elevation model is part of Matplotlib, are measured, and the process fills in
the rest of the map and says how sure it is at each place.

The length scales, the height of the hills and the noise are not chosen by hand:
they maximize the likelihood of the measurements, whose gradient
`value_and_grad` takes through the Cholesky factorization.

The full program takes about 5 seconds on two CPU cores.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.scipy.linalg import cho_solve, solve_triangular
from covector.scipy.optimize import minimize

# %%
# ## The kernel
#
# A kernel says how similar the heights at two points are. This one, Matérn 3/2,
# makes functions with a slope but no curvature, as rough as land. It is written
# for two points; two `vmap`s make the matrix of all pairs.


def kernel(theta: dict[str, Array], p: Array, q: Array) -> Array:
    """The covariance of the heights at two points ``[2]``."""
    squared = cnp.sum(((p - q) / cnp.exp(theta["log_scales"])) ** 2)
    # The square root has no derivative at 0; 1e-6 more does not matter.
    distance = cnp.sqrt(3 * squared + 1e-12)
    return cnp.exp(2 * theta["log_height"]) * (1 + distance) * cnp.exp(-distance)


def covariances(theta: dict[str, Array], ps: Array, qs: Array) -> Array:
    """All pairs of points, ``[n, 2]`` and ``[m, 2]``: ``[n, m]``."""
    row = cv.vmap(kernel, in_axes=(None, None, 0))
    return cv.vmap(row, in_axes=(None, 0, None))(theta, ps, qs)


# %%
# ## The likelihood
#
# With K = L Lᵀ the log likelihood of n centered heights y is −½ yᵀ K⁻¹ y − Σ
# log Lᵢᵢ − ½ n log 2π.


def factor(theta: dict[str, Array], points: Array) -> Array:
    """The Cholesky factor of the covariance of noisy measurements."""
    noise = cnp.exp(2 * theta["log_noise"]) + 1e-5
    return cnp.linalg.cholesky(
        covariances(theta, points, points) + noise * cnp.eye(len(points))
    )


def negative_log_likelihood(
    theta: dict[str, Array], points: Array, heights: Array
) -> Array:
    """Minus the log likelihood of the heights, per measurement."""
    lower = factor(theta, points)
    whitened = solve_triangular(lower, heights, lower=True)
    log_determinant = 2 * cnp.sum(cnp.log(cnp.diag(lower)))
    squares = whitened @ whitened
    return 0.5 * (
        squares / len(heights) + log_determinant / len(heights) + cnp.log(2 * cnp.pi)
    )


@cv.jit
def fit(points: Array, heights: Array) -> dict[str, Array]:
    """The parameters of largest likelihood."""
    start = {
        "log_scales": cnp.log(cnp.array([0.3, 0.3])),
        "log_height": cnp.array(0.0),
        "log_noise": cnp.log(0.1),
    }
    flat, unflatten = cv.flatten_util.ravel_pytree(start)
    found = minimize(
        lambda flat: negative_log_likelihood(unflatten(flat), points, heights),
        flat,
        method="BFGS",
        options={"maxiter": 50},
    )
    return unflatten(found.x)


# %%
# ## The prediction
#
# The mean and the variance at new points, given the measurements: the textbook
# formula (Rasmussen & Williams, algorithm 2.1), for all points of the map at
# once.


@cv.jit
def predict(
    theta: dict[str, Array], points: Array, heights: Array, new: Array
) -> tuple[Array, Array]:
    """The mean and the standard deviation of the height at each new point."""
    lower = factor(theta, points)
    across = covariances(theta, points, new)
    mean = across.T @ cho_solve((lower, True), heights)
    explained = cnp.sum(solve_triangular(lower, across, lower=True) ** 2, axis=0)
    variance = cnp.exp(2 * theta["log_height"]) - explained
    return mean, cnp.sqrt(cnp.maximum(variance, 0))


class Result(NamedTuple):
    """The terrain, where it was measured, and the map, in metres."""

    terrain: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @property
    def rmse(self) -> float:
        """The root mean square error of the map."""
        return float(np.sqrt(np.mean((self.mean - self.terrain) ** 2)))

    @property
    def coverage(self) -> float:
        """The fraction of the map that lies in its own 95 % interval."""
        return float(np.mean(abs(self.mean - self.terrain) < 1.96 * self.deviation))


def main(measurements: int = 800, every: int = 4) -> Result:
    """Measure the terrain at random points, and draw the map from them."""
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as file:
        terrain = file["elevation"][::every, ::every].astype(np.float32)
    rng = np.random.default_rng(0)
    measured = rng.choice(terrain.size, measurements, replace=False)
    rows, columns = np.unravel_index(np.arange(terrain.size), terrain.shape)
    everywhere = np.stack([rows, columns], axis=1) / max(terrain.shape)
    center, scale = terrain.mean(), terrain.std()
    heights = (terrain.ravel()[measured] - center) / scale

    theta = fit(everywhere[measured], heights)
    mean, deviation = predict(theta, everywhere[measured], heights, everywhere)
    result = Result(
        terrain,
        rows[measured],
        columns[measured],
        np.asarray(mean).reshape(terrain.shape) * scale + center,
        np.asarray(deviation).reshape(terrain.shape) * scale,
    )
    print(f"heights vary by {scale:.0f} m; the map errs by {result.rmse:.0f} m")
    print(f"{result.coverage:.1%} of the map lies in its 95 % interval")
    return result


# %%
# ## The figure
#
# The 95 % intervals hold a little less of the map than that: the real terrain is
# smooth in the valley and rough on the ridges, and one kernel has to serve both.


def draw(result: Result) -> Figure:
    """The terrain with the measured points, the map, and its uncertainty."""
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(7, 2.4))
    low, high = result.terrain.min(), result.terrain.max()
    axes[0].imshow(result.terrain, cmap="gist_earth", vmin=low, vmax=high)
    axes[0].plot(result.columns, result.rows, "w.", markersize=1.5)
    axes[0].set_title("terrain")
    shown = axes[1].imshow(result.mean, cmap="gist_earth", vmin=low, vmax=high)
    axes[1].set_title("map")
    figure.colorbar(shown, ax=axes[:2], label="m", shrink=0.8)
    shown = axes[2].imshow(result.deviation, cmap="magma")
    axes[2].set_title("uncertainty")
    figure.colorbar(shown, ax=axes[2], label="m", shrink=0.8)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    draw(main()).savefig("gaussian_process.png")

# %%
# ## What to try next
#
# - Add a second kernel with a longer length scale: a sum of kernels is a
#   kernel.
# - Start `fit` from several points: `vmap` over the start, and keep the best.
# - Choose the next place to measure where the standard deviation is largest.
