"""Linear maps of normal numbers: correlated vectors, and orthogonal matrices.

multivariate_normal    mean + F z, where F Fᵀ is the covariance and z a normal vector
orthogonal             the Q of a matrix of normal numbers, uniformly distributed
"""

from typing import Any, Literal

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike
from covector.core.array_like import Array
from covector.core.convert import asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.numpy.axes import as_integer, with_out_sharding
from covector.numpy.promote import promote_dtypes_inexact, standard_promotion
from covector.operations.casting import convert
from covector.random.arguments import (
    broadcast_shape,
    float_dtype,
    keyed,
    sample_shape,
    single_key,
)
from covector.random.normal import normal

__all__ = ["multivariate_normal", "orthogonal"]


@standard_promotion
@keyed
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Vectors of correlated normal numbers.

    Args:
      key: one random key.
      mean: ``[..., n]``.
      cov: ``[..., n, n]``, symmetric, without negative eigenvalues.
      shape: of the sample without the axis of the vectors; by default what the leading
        axes of ``mean`` and ``cov`` broadcast to.
      dtype: a floating-point dtype, by default that of ``mean`` and ``cov``.
      method: how a root of the covariance is found. ``"cholesky"`` is the fastest, and
        needs it positive definite; ``"eigh"`` and ``"svd"`` do not.

    Returns:
      ``[*shape, n]``.

    Raises:
      TypeMismatch: shapes do not fit.
      ArgumentError: there is no such method.
      LinAlgError: ``cov`` is not positive definite, with ``"cholesky"``.

    >>> from covector import numpy as cnp, random
    >>> cov = cnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> random.multivariate_normal(random.key(0), cnp.zeros(2), cov, (3,)).shape
    (3, 2)
    """
    who = "multivariate_normal"
    key = single_key(who, key)
    mean, cov = promote_dtypes_inexact(who, mean, cov)
    dtype = float_dtype(who, mean.type.dtype if dtype is None else dtype)
    mean, cov = convert(mean, dtype), convert(cov, dtype)
    if mean.ndim < 1 or cov.ndim < 2 or cov.shape[-2:] != mean.shape[-1:] * 2:
        raise TypeMismatch(
            f"{who} needs a mean [..., n] and a covariance [..., n, n], but got "
            f"{mean.type} and {cov.type}."
        )
    front = mean.shape[:-1], cov.shape[:-2]
    wanted = None if shape is None else sample_shape(who, shape)
    found = broadcast_shape(*front, wanted or ())
    if found is None or (wanted is not None and found != wanted):
        goal = "one shape" if wanted is None else f"the shape {wanted}"
        raise TypeMismatch(
            f"{who}: the leading axes of the mean {mean.type} and of the covariance "
            f"{cov.type} do not broadcast to {goal}."
        )
    factor = _root(who, cov, method)
    z = normal(key, (*found, mean.shape[-1]), dtype)
    out = mean + cnp.matvec(factor, z)
    return with_out_sharding(out, out_sharding)


def _root(who: str, cov: Array, method: str) -> Array:
    """F with F Fᵀ = cov."""
    if method == "cholesky":
        return cnp.linalg.cholesky(cov)
    if method == "eigh":
        w, v = cnp.linalg.eigh(cov)
        # What is negative by rounding only, of a covariance that is singular, is 0.
        return v * cnp.sqrt(cnp.maximum(w, 0))[..., None, :]
    if method == "svd":
        u, s, _ = cnp.linalg.svd(cov)
        return u * cnp.sqrt(s)[..., None, :]
    raise ArgumentError(
        f"{who}: method must be 'cholesky', 'eigh' or 'svd', but got {method!r}."
    )


@keyed
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Orthogonal matrices, all equally likely (the Haar measure).

    Args:
      n: the number of rows. m: of columns, n by default; the shorter of rows and
        columns are orthonormal.
      shape: of the stack of matrices.
      dtype: a floating-point dtype, by default the default one; or a complex one, for
        unitary matrices.

    Returns:
      ``[*shape, n, m]``.

    Raises:
      ArgumentError: a number is negative.

    >>> from covector import numpy as cnp, random
    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(cnp.allclose(q @ q.T, cnp.eye(3), atol=1e-5))
    True
    """
    who = "orthogonal"
    rows = as_integer(who, n, "n")
    columns = rows if m is None else as_integer(who, m, "m")
    if min(rows, columns) < 0:
        raise ArgumentError(
            f"{who}: a matrix cannot have {how_many(rows, 'row')} and "
            f"{how_many(columns, 'column')}."
        )
    kind = _kind(who, dtype)
    size = max(rows, columns), min(rows, columns)
    z = normal(key, (*sample_shape(who, shape), *size), kind)
    q, r = cnp.linalg.qr(z)
    # The decomposition is made unique, so that it does not depend on its algorithm.
    d = cnp.linalg.diagonal(r)
    q = q * (d / cnp.abs(d))[..., None, :]
    out = cnp.matrix_transpose(q) if rows < columns else q
    return with_out_sharding(out, out_sharding)


def _kind(who: str, dtype: Any) -> Any:
    """The dtype to draw in, which may be complex."""
    if dtype is None:
        return float_dtype(who, None)
    found = asked_dtype(dtype)
    return found if dtypes.is_complex(found) else float_dtype(who, found)
