"""Kernel density estimates: a density made of a normal one around each point."""

from collections.abc import Callable
from typing import Any

from covector import numpy as cnp
from covector import random, tree_util
from covector.core import dtypes
from covector.core.annotations import ArrayLike, ShapeLike
from covector.core.array_like import Array
from covector.errors import ArgumentError, DTypeKindError, TypeMismatch, how_many
from covector.lax.linalg import triangular_solve
from covector.nn.normalization import logsumexp
from covector.numpy.axes import canonical_shape
from covector.numpy.promote import inexact, promote_dtypes_inexact
from covector.scipy.special import ndtr
from covector.scipy.stats import multivariate_normal
from covector.scipy.stats.arguments import HALF_LOG_TAU

__all__ = ["gaussian_kde"]

Bandwidth = str | ArrayLike | Callable[["gaussian_kde"], Any] | None


@tree_util.register_pytree_node_class
class gaussian_kde:
    """A density estimated from points: the mean of normal densities around them.

    Their covariance is that of the points, times the square of a factor, the bandwidth.
    An estimate is a pytree, so it can be passed to and from transformed functions.

    Args:
      dataset: ``[d, n]``, n points of d numbers, n > 1; or ``[n]``, numbers.
      bw_method: the factor: a number, ``"scott"`` (n^(−1/(d + 4)), the default),
        ``"silverman"``, or a function of the estimate.
      weights: ``[n]`` of the points; equal by default.

    Attributes:
      d, n: numbers. neff: the number of points that weights leave, (Σ w)² / Σ w².
      dataset, weights, covariance, inv_cov: arrays; weights add up to 1.

    Raises:
      DTypeKindError: points are complex. TypeMismatch: shapes do not fit.
      ArgumentError: there is no such method, or less than two points.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import gaussian_kde
    >>> estimate = gaussian_kde(cnp.array([1.0, 2.0, 4.0]))
    >>> round(float(estimate(2.0)[0]), 4)
    0.2149
    """

    neff: Array
    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: Bandwidth = None,
        weights: ArrayLike | None = None,
    ) -> None:
        points = cnp.atleast_2d(inexact("gaussian_kde", dataset))
        if dtypes.is_complex(points.type.dtype):
            raise DTypeKindError(
                f"gaussian_kde needs real points, but got {points.type}."
            )
        if points.ndim != 2 or points.shape[1] < 2:
            raise ArgumentError(
                "gaussian_kde needs two points or more, [d, n] or [n], but got "
                f"{points.type}."
            )
        n = points.shape[1]
        if weights is None:
            weights = cnp.full(n, 1 / n, points.dtype)
        points, given = promote_dtypes_inexact("gaussian_kde", points, weights)
        if given.shape != (n,):
            raise TypeMismatch(
                f"gaussian_kde needs a weight for each of its {how_many(n, 'point')}, "
                f"but got {given.type}."
            )
        self.dataset, self.weights = points, given / cnp.sum(given)
        self.neff = 1 / cnp.sum(self.weights**2)
        factor = self._factor(bw_method)
        of_points = cnp.atleast_2d(cnp.cov(points, bias=False, aweights=self.weights))
        self.covariance = of_points * factor**2
        self.inv_cov = cnp.linalg.inv(of_points) / factor**2

    def tree_flatten(self) -> tuple[tuple[Array, ...], None]:
        """The arrays."""
        arrays = self.neff, self.dataset, self.weights, self.covariance, self.inv_cov
        return arrays, None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> "gaussian_kde":
        """An estimate of these arrays."""
        del aux
        self = object.__new__(cls)
        names = "neff", "dataset", "weights", "covariance", "inv_cov"
        for name, value in zip(names, children, strict=True):
            setattr(self, name, value)
        return self

    @property
    def d(self) -> int:
        """The number of coordinates of a point."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def scotts_factor(self) -> Array:
        """Scott's bandwidth, n^(−1/(d + 4)), where n is ``neff``."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Array:
        """Silverman's bandwidth, (n (d + 2) / 4)^(−1/(d + 4)), where n is ``neff``."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    def _factor(self, method: Bandwidth) -> Any:
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.scotts_factor()
        if isinstance(method, str) and method == "silverman":
            return self.silverman_factor()
        if isinstance(method, str):
            raise ArgumentError(
                "gaussian_kde: bw_method must be 'scott', 'silverman', a number or a "
                f"function, but got {method!r}."
            )
        factor = method(self) if callable(method) else method
        if cnp.ndim(factor):
            raise ArgumentError(
                "gaussian_kde: bw_method must be one number, but has the shape "
                f"{cnp.shape(factor)}."
            )
        return factor

    # -- the density -------------------------------------------------------------------

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points ``[d, m]``: ``[m]``."""
        return cnp.exp(self.logpdf(points))

    def __call__(self, points: ArrayLike) -> Array:
        """The same as ``evaluate``."""
        return self.evaluate(points)

    def pdf(self, x: ArrayLike) -> Array:
        """The same as ``evaluate``."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points ``[d, m]``: ``[m]``."""
        points = self._points("logpdf", x)
        root = cnp.linalg.cholesky(self.covariance)
        ours, theirs = (_whitened(root, v) for v in (self.dataset, points))
        squares = cnp.sum((ours[:, :, None] - theirs[:, None, :]) ** 2, 0)
        size = cnp.sum(cnp.log(cnp.linalg.diagonal(root)))
        logs = logsumexp(-0.5 * squares, axis=0, b=self.weights[:, None])
        return logs - size - self.d * HALF_LOG_TAU

    def _points(self, who: str, x: ArrayLike) -> Array:
        points = cnp.atleast_2d(inexact(f"gaussian_kde.{who}", x))
        if points.shape[0] == 1 and points.shape[1] == self.d:
            points = points.T  # one point
        if points.ndim != 2 or points.shape[0] != self.d:
            raise TypeMismatch(
                f"gaussian_kde.{who} needs points [{self.d}, m], as its own are, but "
                f"got {points.type}."
            )
        return points.astype(self.dataset.dtype)

    # -- integrals ---------------------------------------------------------------------

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the estimate times a normal density.

        Args:
          mean: ``[d]``. cov: ``[d, d]``.
        """
        mean = cnp.atleast_1d(inexact("gaussian_kde.integrate_gaussian", mean))
        cov = cnp.atleast_2d(inexact("gaussian_kde.integrate_gaussian", cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise TypeMismatch(
                f"gaussian_kde.integrate_gaussian needs a mean [{self.d}] and a "
                f"covariance [{self.d}, {self.d}], but got {mean.type} and {cov.type}."
            )
        return self._overlap(mean[:, None], cov)[0]

    def _overlap(self, points: Array, cov: Array) -> Array:
        """Integrals with normal densities around points ``[d, m]``."""
        mixed = self.covariance + cov
        centres = cnp.broadcast_to(points.T[:, None], (points.shape[1], self.n, self.d))
        logs = multivariate_normal.logpdf(centres, self.dataset.T, mixed)
        return cnp.exp(logs) @ self.weights

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability of numbers between ``low`` and ``high``, where d is 1."""
        if self.d != 1:
            raise ArgumentError(
                "gaussian_kde.integrate_box_1d needs an estimate of numbers, but its "
                f"points have {self.d}."
            )
        if cnp.ndim(low) or cnp.ndim(high):
            raise TypeMismatch("gaussian_kde.integrate_box_1d needs two numbers.")
        deviation = cnp.sqrt(self.covariance[0, 0])
        lower, upper = (
            (cnp.asarray(v) - self.dataset[0]) / deviation for v in (low, high)
        )
        return cnp.sum(self.weights * (ndtr(upper) - ndtr(lower)))

    def integrate_kde(self, other: "gaussian_kde") -> Array:
        """The integral of the product with another estimate."""
        if other.d != self.d:
            raise TypeMismatch(
                "gaussian_kde.integrate_kde needs an estimate for points of "
                f"{how_many(self.d, 'number')}, but got one for {other.d}."
            )
        return cnp.sum(other.weights * self._overlap(other.dataset, other.covariance))

    def resample(self, key: ArrayLike, shape: ShapeLike = ()) -> Array:
        """Points drawn from the estimate: ``[d, *shape]``."""
        for_points, for_noise = random.split(key)
        shape = canonical_shape("gaussian_kde.resample", shape)
        chosen = random.choice(for_points, self.n, shape, p=self.weights)
        zero, dtype = cnp.zeros(self.d, self.dataset.dtype), self.dataset.dtype
        noise = random.multivariate_normal(
            for_noise, zero, self.covariance, shape, dtype
        )
        return self.dataset[:, chosen] + cnp.moveaxis(noise, -1, 0)


def _whitened(root: Array, points: Array) -> Array:
    """Points in coordinates in which the covariance is the identity."""
    return triangular_solve(root, points, left_side=True, lower=True)
