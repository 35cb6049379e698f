"""Covariance and correlation matrices."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.types import ArrayType
from covector.errors import DTypeError, TypeMismatch
from covector.numpy.concatenation import concatenate
from covector.numpy.contraction import dot
from covector.numpy.fuse import fuse
from covector.numpy.matrices import diagonal
from covector.numpy.promote import promote_dtypes_inexact
from covector.numpy.reduction_base import along
from covector.numpy.reshaping import atleast_2d, reshape
from covector.operations.arithmetic import div, mul, sub
from covector.operations.broadcasting import ReduceSum, filled
from covector.operations.casting import convert
from covector.operations.complex import complex_, conj, imag, real
from covector.operations.extrema import clamp
from covector.operations.roots import sqrt
from covector.operations.transposing import Transpose

__all__ = ["corrcoef", "cov"]


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariances of variables: E[(x − E x)(y − E y)*].

    Args:
      m: ``[variables, observations]``, or the observations of one variable.
      y: further variables.
      rowvar: False: variables are columns.
      ddof: what is subtracted from the number of observations; by default 1, or 0 with
        ``bias``.
      fweights: how often each observation occurs: integers.
      aweights: how much each observation weighs.

    Returns:
      ``[variables, variables]``, or a scalar for one variable.

    >>> import covector.numpy as cnp
    >>> print(cnp.cov(cnp.array([1.0, 2.0, 3.0]), cnp.array([3.0, 2.0, 1.0])))
    [[ 1. -1.]
     [-1.  1.]]
    """
    given = (m,) if y is None else (m, y)
    arrays = promote_dtypes_inexact("cov", *given)
    if any(x.type.ndim > 2 for x in arrays):
        raise TypeMismatch(
            "cov needs observations of variables, in arrays with at most two axes, but "
            f"got {', '.join(str(x.type) for x in arrays)}."
        )
    if dtype is not None:
        arrays = [convert(x, asked_dtype(dtype)) for x in arrays]
    rows = [
        Transpose((1, 0))(x) if not rowvar and x.type.ndim == 2 else atleast_2d(x)
        for x in arrays
    ]
    x = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    missing = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        out = _covariance(x, missing=missing)
    else:
        weights, frequencies = _observation_weights(x, fweights, aweights)
        correct = aweights is not None
        out = _covariance(x, weights, frequencies, missing=missing, correct=correct)
    return reshape(out, ()) if out.type.shape == (1, 1) else out


def _observation_weights(x: Value, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """The weight of each observation, and how much of it is not frequency."""
    n, dtype = x.type.shape[1], dtypes.real_part(x.type.dtype)
    ones = filled(1, ArrayType((n,), dtype))
    frequency = weight = ones
    if fweights is not None:
        frequency = as_array(fweights, "cov")
        if not dtypes.is_integer(frequency.type.dtype):
            raise DTypeError(
                "cov needs integers for fweights, which count, but got "
                f"{frequency.type}. Weights that are not counts are aweights."
            )
    if aweights is not None:
        weight = as_array(aweights, "cov")
    for given in (frequency, weight):
        if given.type.shape != (n,):
            raise TypeMismatch(
                f"cov of {n} observations needs a weight for each, but got "
                f"{given.type}."
            )
    weight = convert(weight, dtype)
    return mul(convert(frequency, dtype), weight), weight


@fuse()
def _covariance(
    x: Value, *weights: Any, missing: float, correct: bool = False
) -> Array:
    """The covariances of rows; see Wikipedia, "Weighted arithmetic mean", for the
    number of degrees of freedom that reliability weights leave.
    """
    shape, dtype = x.type.shape, x.type.dtype
    total = ReduceSum((1,))
    if not weights:
        center = div(total(x), scalar(shape[1], dtype))
        free = scalar(max(shape[1] - missing, 0), dtype)
        right = left = sub(x, along(center, shape, (1,)))
    else:
        weight, reliability = [convert(w, dtype) for w in weights]
        repeated = along(weight, shape, (0,))
        mass = ReduceSum((0,))(weight)
        center = div(total(mul(x, repeated)), mass)
        left = sub(x, along(center, shape, (1,)))
        right = mul(left, repeated)
        free = mass
        if missing:
            lost = div(dot(weight, reliability), mass) if correct else scalar(1, dtype)
            free = sub(mass, mul(scalar(missing, dtype), lost))
    if dtypes.is_complex(dtype):
        right = conj(right)
    return div(dot(left, Transpose((1, 0))(right)), free)


def corrcoef(
    x: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    dtype: DTypeLike | None = None,
) -> Array:
    """The correlations of variables: their covariances over the products of their
    standard deviations, between −1 and 1. Arguments are those of ``cov``.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([1.0, 2.0, 3.0])
    >>> print(cnp.corrcoef(x, -x)[0, 1])
    -1.0
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.type.ndim:
        return div(c, c)
    return _correlation(c)


@fuse()
def _correlation(c: Value) -> Array:
    shape, dtype = c.type.shape, c.type.dtype
    deviations = convert(sqrt(_real(diagonal(c))), dtype)
    c = div(div(c, along(deviations, shape, (1,))), along(deviations, shape, (0,)))
    low, high = [scalar(b, dtypes.real_part(dtype)) for b in (-1, 1)]
    if dtypes.is_complex(dtype):
        return complex_(clamp(low, real(c), high), clamp(low, imag(c), high))
    return clamp(low, c, high)


def _real(x: Value) -> Array:
    return real(x) if dtypes.is_complex(x.type.dtype) else x
