"""Products of arrays: ``dot_general`` and its special cases."""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import ArrayLike, DType, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError, TypeMismatch, TypePromotionError
from covector.numpy.promote import promote_dtypes
from covector.operations.casting import convert
from covector.operations.contraction import DotDimensionNumbers, DotGeneral
from covector.operations.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    PrecisionLike,
    exactness,
)

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "dot",
    "dot_general",
]

_NAMED = "dot_general"


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products of ``lhs`` and ``rhs``, summed over contracting axes.

    Args:
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch,
        rhs_batch))``, axes counted from 0, which pair up and have equal lengths.
      precision: a ``Precision`` or its name, a pair of them, or a dot algorithm. On
        CPUs products of floats are exact to the last bits in any case.
      preferred_element_type: the dtype of the result, and of sums if it is wider.
      out_sharding: accepted, and left to the compiler.

    Returns:
      Axes are the batch axes, the other axes of ``lhs``, the other axes of ``rhs``.

    Raises:
      TypeMismatch: axes do not exist, or do not pair up.
      ArgumentError: there is no such precision.

    >>> import numpy as np
    >>> x, y = np.ones((5, 2, 3)), np.ones((5, 3, 4))
    >>> dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)

    See also: ``covector.numpy.matmul``, ``covector.numpy.einsum``.
    """
    preferred = _element_type(preferred_element_type)
    lhs, rhs = _operands(lhs, rhs, preferred)
    if preferred == lhs.type.dtype:
        preferred = None
    op = DotGeneral(_axes(dimension_numbers), exactness(precision, _NAMED), preferred)
    return op(lhs, rhs)


def _element_type(dtype: DTypeLike | None) -> DType | None:
    if dtype is None:
        return None
    return asked_dtype(dtype)


def _operands(
    lhs: ArrayLike, rhs: ArrayLike, preferred: DType | None
) -> Sequence[Array]:
    """The operands in one dtype; where they have none in common, in the result's."""
    try:
        return promote_dtypes(_NAMED, lhs, rhs)
    except TypePromotionError:
        if preferred is None:
            raise
        return [convert(as_array(x, _NAMED), preferred) for x in (lhs, rhs)]


def _axes(dimension_numbers: Any) -> DotDimensionNumbers:
    try:
        (a, b), (c, d) = dimension_numbers
        a, b, c, d = (tuple([int(k) for k in axes]) for axes in (a, b, c, d))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "dot_general needs dimension_numbers of the form ((lhs_contracting, "
            "rhs_contracting), (lhs_batch, rhs_batch)), each a tuple of axes, but got "
            f"{dimension_numbers!r}. A product of matrices is (((1,), (0,)), ((), ()))."
        ) from error
    return (a, b), (c, d)


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The product of vectors and matrices, or with ``dimension_numbers`` of any arrays.

    ``[m, k] · [k, n] → [m, n]``, ``[m, k] · [k] → [m]``, ``[k] · [k, n] → [n]`` and
    ``[k] · [k] → []``. The other arguments are those of ``dot_general``.

    Raises:
      TypeMismatch: the operands are no vectors and matrices, or do not fit.

    >>> import numpy as np
    >>> print(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    lhs, rhs = _operands(lhs, rhs, _element_type(preferred_element_type))
    if dimension_numbers is None:
        if not 1 <= lhs.type.ndim <= 2 or not 1 <= rhs.type.ndim <= 2:
            raise TypeMismatch(
                f"dot multiplies vectors and matrices, but got {lhs.type} and "
                f"{rhs.type}. Pass dimension_numbers, or use covector.numpy.matmul."
            )
        dimension_numbers = (((lhs.type.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(
    lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None
) -> Array:
    """Products of matrices along leading axes: ``[…, m, k] · […, k, n] → […, m, n]``.

    Raises:
      TypeMismatch: the operands differ in rank, in a leading axis, or in k.

    >>> import numpy as np
    >>> batch_matmul(np.ones((7, 2, 3)), np.ones((7, 3, 4))).shape
    (7, 2, 4)
    """
    lhs, rhs = promote_dtypes("batch_matmul", lhs, rhs)
    rank = lhs.type.ndim
    if rank < 2 or rank != rhs.type.ndim:
        raise TypeMismatch(
            "batch_matmul needs two operands of one rank, at least 2, but got "
            f"{lhs.type} and {rhs.type}. covector.numpy.matmul broadcasts leading axes."
        )
    leading = tuple(range(rank - 2))
    return dot_general(
        lhs, rhs, (((rank - 1,), (rank - 2,)), (leading, leading)), precision
    )
