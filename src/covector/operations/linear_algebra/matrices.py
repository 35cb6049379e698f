"""The algebra that the rules of this room are written in, on stacks of matrices.

Operands are ``[..., m, n]`` with the same axes in front; vectors are ``[..., n]``.
"""

from collections.abc import Callable

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.convert import scalar
from covector.core.types import ArrayType, Shape, min_size
from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, gt, ne
from covector.operations.complex import complex_, conj, imag, real
from covector.operations.contraction import DotGeneral
from covector.operations.creation import Iota
from covector.operations.gathering import (
    Gather,
    GatherDimensionNumbers,
    GatherScatterMode,
)
from covector.operations.magnitude import abs_
from covector.operations.precision import Precision
from covector.operations.reductions import ReduceMax
from covector.operations.selection import where
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Reshape, Transpose

_EXACT = (Precision.HIGHEST, Precision.HIGHEST)


# -- products --------------------------------------------------------------------------


def matmul(x: Value, y: Value) -> Value:
    """The products of matrices, as exact as the device has them."""
    rank = x.type.ndim
    stack = tuple(range(rank - 2))
    return DotGeneral((((rank - 1,), (rank - 2,)), (stack, stack)), _EXACT)(x, y)


def transposed(x: Value) -> Value:
    """Aᵀ."""
    order = list(range(x.type.ndim))
    order[-2:] = order[:-3:-1]
    return Transpose(tuple(order))(x)


def conjugate(x: Value) -> Value:
    """The complex conjugate; real numbers as they are."""
    return conj(x) if dtypes.is_complex(x.type.dtype) else x


def adjoint(x: Value) -> Value:
    """Aᴴ."""
    return conjugate(transposed(x))


def real_part(x: Value) -> Value:
    """The real part, as real numbers."""
    return real(x) if dtypes.is_complex(x.type.dtype) else x


def imaginary(x: Value) -> Value:
    """The imaginary part times i, of complex numbers."""
    part = imag(x)
    return complex_(scalar(0, part.type.dtype), part)


# -- triangles and diagonals -----------------------------------------------------------


def mask(shape: Shape, relation: Callable[..., Value], k: int = 0) -> Value:
    """Bools of a shape ``[..., m, n]``: whether j − i is in the relation to k."""
    rows, columns = [Iota(dtypes.int32, shape[-2:], axis)() for axis in (0, 1)]
    found = relation(columns - rows, scalar(k, dtypes.int32))
    return BroadcastInDim(shape, (len(shape) - 2, len(shape) - 1))(found)


def lower_triangle(x: Value, k: int = 0) -> Value:
    """The elements on the diagonal k and below, zeros above."""
    return where(mask(x.type.shape, gt, k), scalar(0, x.type.dtype), x)


def upper_triangle(x: Value, k: int = 0) -> Value:
    """The elements on the diagonal k and above, zeros below."""
    return where(mask(x.type.shape, ge, k), x, scalar(0, x.type.dtype))


def diagonal(x: Value) -> Value:
    """The diagonals of matrices, as vectors."""
    *stack, rows, columns = x.type.shape
    length, none = min_size(rows, columns), (0,) * len(stack)
    # In the flattened matrix, the next element is columns + 1 further.
    end = (length - 1) * (columns + 1) + 1 if length else 0
    strides = (*[1] * len(stack), columns + 1)
    cut = Slice((*none, 0), (*stack, end), strides)
    return cut(Reshape((*stack, rows * columns))(x))


def as_diagonal(x: Value) -> Value:
    """The square matrices that have vectors on their diagonals."""
    shape = (*x.type.shape, x.type.shape[-1])
    rows = BroadcastInDim(shape, tuple(range(x.type.ndim)))(x)
    return where(mask(shape, eq), rows, scalar(0, x.type.dtype))


def identity(shape: Shape, dtype: DType) -> Value:
    """Ones on the diagonals of matrices of a shape ``[..., m, n]``."""
    return convert(mask(shape, eq), dtype)


def hermitian_of_lower(x: Value) -> Value:
    """The Hermitian matrices of which ``x`` has the lower triangles.

    The imaginary parts on the diagonal count as zero.
    """
    half = half_of_hermitian(x)
    return half + adjoint(half)


def half_of_hermitian(x: Value) -> Value:
    """The lower triangle, with half of the diagonal."""
    on_diagonal = where(mask(x.type.shape, eq), x * scalar(0.5, x.type.dtype), x)
    return lower_triangle(on_diagonal)


def hermitian_part(x: Value) -> Value:
    """(A + Aᴴ) / 2."""
    return (x + adjoint(x)) * scalar(0.5, x.type.dtype)


def trace_of_product(x: Value, y: Value) -> Value:
    """tr(x y), without forming the product."""
    rank = x.type.ndim
    return ReduceSum((rank - 2, rank - 1))(x * transposed(y))


# -- vectors beside matrices -----------------------------------------------------------


def in_columns(x: Value, type: ArrayType) -> Value:
    """Element j of a vector in all of column j, for matrices of a type: A · diag(x)."""
    rank = type.ndim
    x = convert(x, type.dtype)
    return BroadcastInDim(type.shape, (*range(rank - 2), rank - 1))(x)


def in_rows(x: Value, type: ArrayType) -> Value:
    """Element i of a vector in all of row i, for matrices of a type: diag(x) · A."""
    x = convert(x, type.dtype)
    return BroadcastInDim(type.shape, tuple(range(type.ndim - 1)))(x)


def largest(x: Value) -> Value:
    """The largest magnitudes of the elements of vectors; 0 of none."""
    last = x.type.ndim - 1
    if not x.type.shape[last]:
        return ReduceSum((last,))(real_part(x))
    return ReduceMax((last,))(abs_(x))


def rounding(n: int, dtype: DType) -> float:
    """The gap below which eigenvalues of n × n matrices are equal, beside the largest.

    They spread over some √n roundings of it, or 2 √n.
    """
    return float(4 * np.sqrt(n) * np.finfo(dtypes.real_part(dtype)).eps)


def inverse_gaps(x: Value, y: Value, least: Value | None = None) -> Value:
    """1 / (yⱼ − xᵢ) for vectors x and y; 0 where they are equal.

    Equal are also those that are not more than ``least [...]`` apart.
    """
    one, zero = [scalar(k, x.type.dtype) for k in (1, 0)]
    gaps, differ = _gaps(x, y, least)
    return where(differ, one / where(differ, gaps, one), zero)


def equal_pairs(x: Value, y: Value, least: Value) -> Value:
    """Where i ≠ j and the vectors have yⱼ and xᵢ not more than ``least`` apart."""
    _, differ = _gaps(x, y, least)
    return ~(differ | mask(differ.type.shape, eq))


def _gaps(x: Value, y: Value, least: Value | None) -> tuple[Value, Value]:
    """The differences yⱼ − xᵢ, and which of them are not zero."""
    shape = (*x.type.shape, y.type.shape[-1])
    type = ArrayType(shape, x.type.dtype)
    gaps = in_columns(y, type) - in_rows(x, type)
    if least is None:
        return gaps, ne(gaps, scalar(0, x.type.dtype))
    least = BroadcastInDim(shape, tuple(range(least.type.ndim)))(least)
    return gaps, gt(abs_(gaps), least)


# -- rows in another order -------------------------------------------------------------


def rows_at(x: Value, order: Value) -> Value:
    """The rows of matrices ``[..., m, n]`` in the order of indices ``[..., k]``."""
    if not x.type.size or not order.type.size:
        shape = (*order.type.shape, x.type.shape[-1])
        return Reshape(shape)(x) if x.type.shape != shape else x
    rank = x.type.ndim
    stack = tuple(range(rank - 2))
    row = (rank - 2,)
    numbers = GatherDimensionNumbers((rank - 1,), row, row, stack, stack)
    sizes = (*[1] * (rank - 1), x.type.shape[-1])
    take = Gather(numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return take(x, Reshape((*order.type.shape, 1))(order))


def columns_at(x: Value, order: Value) -> Value:
    """The columns of matrices in the order of indices ``[..., k]``."""
    return transposed(rows_at(transposed(x), order))


def leading(x: Value, rows: int, columns: int) -> Value:
    """The first rows and columns of matrices."""
    *stack, m, n = x.type.shape
    if (m, n) == (rows, columns):
        return x
    return Slice((0,) * x.type.ndim, (*stack, rows, columns))(x)


def padded(x: Value, rows: int, columns: int) -> Value:
    """Matrices with zeros in further rows and columns."""
    *stack, m, n = x.type.shape
    if (m, n) == (rows, columns):
        return x
    config = (*[(0, 0, 0)] * len(stack), (0, rows - m, 0), (0, columns - n, 0))
    return Pad(config)(x, scalar(0, x.type.dtype))
