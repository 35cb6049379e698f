"""The normal distribution of vectors, with a mean and a covariance matrix."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.errors import TypeMismatch
from covector.lax.linalg import triangular_solve
from covector.numpy.promote import promote_dtypes_inexact, standard_promotion
from covector.scipy.stats.arguments import HALF_LOG_TAU

__all__ = ["logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@standard_promotion
def logpdf(
    x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: bool | None = None
) -> Array:
    """The logarithm of the density.

    Args:
      x: ``[..., n]``. mean: ``[..., n]``, or a scalar, of a single normal number.
      cov: ``[..., n, n]``, positive definite; or a scalar: that multiple of the
        identity.
      allow_singular: also where ``cov`` is singular: the density in the space where the
        vectors lie, of their components in it.

    Raises:
      TypeMismatch: shapes do not fit. LinAlgError: ``cov`` is not positive definite.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import multivariate_normal
    >>> x, mean = cnp.array([1.0, 2.0]), cnp.zeros(2)
    >>> round(float(multivariate_normal.logpdf(x, mean, cnp.eye(2))), 4)
    -4.3379
    """
    who = "multivariate_normal.logpdf"
    x, mean, cov = promote_dtypes_inexact(who, x, mean, cov)
    if not mean.ndim and not cov.ndim:
        z = x - mean
        return -0.5 * (z * z / cov + cnp.log(cov)) - HALF_LOG_TAU
    n = mean.shape[-1] if mean.ndim else cov.shape[-1]
    if (cov.ndim and cov.shape[-2:] != (n, n)) or x.shape[-1:] not in ((n,), (1,), ()):
        raise TypeMismatch(
            f"{who} needs vectors [..., n], their mean [..., n] and a covariance "
            f"[..., n, n], but got {x.type}, {mean.type} and {cov.type}."
        )
    z = cnp.broadcast_to(x - mean, (*(x - mean).shape[:-1], n))
    if not cov.ndim:
        square = cnp.sum(z * z, axis=-1) / cov
        return -0.5 * (square + n * cnp.log(cov)) - n * HALF_LOG_TAU
    if allow_singular:
        return _singular(z, cov)
    root = cnp.linalg.cholesky(cov)
    square = cnp.sum(_whitened(root, z) ** 2, axis=-1)
    size = cnp.sum(cnp.log(cnp.linalg.diagonal(root)), axis=-1)
    return -0.5 * square - size - n * HALF_LOG_TAU


def _whitened(root: Array, z: Array) -> Array:
    """L⁻¹ z for vectors ``[..., n]``, L being lower triangular ``[..., n, n]``."""
    n = root.shape[-1]
    if root.ndim == 2:  # one system with many right-hand sides
        columns = cnp.reshape(z, (-1, n)).T
        y = triangular_solve(root, columns, left_side=True, lower=True)
        return cnp.reshape(y.T, z.shape)
    front = np.broadcast_shapes(z.shape[:-1], root.shape[:-2])
    root = cnp.broadcast_to(root, (*front, n, n))
    z = cnp.broadcast_to(z, (*front, n))[..., None]
    return triangular_solve(root, z, left_side=True, lower=True)[..., 0]


def _singular(z: Array, cov: Array) -> Array:
    """The density in the space of the eigenvectors whose eigenvalues are not zero."""
    w, v = cnp.linalg.eigh(cov)
    epsilon = cnp.finfo(w.dtype).eps * 1e3
    kept = w > epsilon * cnp.max(cnp.abs(w), axis=-1, keepdims=True)
    w = cnp.where(kept, w, 1.0)
    y = cnp.where(kept, cnp.matvec(cnp.matrix_transpose(v), z), 0.0)
    # Vectors that are not in the space do not occur.
    rest = z - cnp.matvec(v, y)
    length = cnp.sum(z * z, axis=-1)
    beyond = cnp.sum(rest * rest, axis=-1) > epsilon * length
    rank = cnp.sum(kept, axis=-1)
    found = -0.5 * cnp.sum(y * y / w + cnp.log(w), axis=-1) - rank * HALF_LOG_TAU
    return cnp.where(beyond, -np.inf, found)


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density; arguments are those of ``logpdf``.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import multivariate_normal
    >>> x, mean = cnp.array([1.0, 2.0]), cnp.zeros(2)
    >>> round(float(multivariate_normal.pdf(x, mean, cnp.eye(2))), 4)
    0.0131
    """
    return cnp.exp(logpdf(x, mean, cov))
