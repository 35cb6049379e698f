"""Products of small matrices on CPUs, as sums of products of whole arrays.

XLA:CPU calls a routine, or runs a loop over single elements, for each of many small
matrices, and so it does for many short rows with one small matrix: points that are
rotated, colours that are mixed. A product for each of the few terms that are summed is
a part of the kernel around it, with vector instructions.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.types import ArrayType
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, mul
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.precision import ON_HOST, working_dtype
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, Transpose, in_memory

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: Products of matrices beside each other from which this is better, up to so many terms
#: and numbers of the result; numbers of the result and terms together of products with
#: a vector. 4096 of 8 × 8: 0.21 → 0.08 ms, 4000 of 5 × 5: 1.9 → 0.07.
_MANY, _FEW_TERMS, _SMALL, _TINY = 16, 16, 64, 32
#: Rows from which it is for one matrix, up to so many terms and columns; columns for
#: three terms, of which XLA makes more of a task than of four. 20,000 × 3 by 3 × 3
#: 0.31 → 0.01 ms, 2,000 × 5 by 5 × 2 22 → 7 µs.
_MANY_ROWS, _FEW, _FEW_OF_THREE = 128, 8, 32


def lower(op: Any, ctx: "Lowering", lhs: HloValue, rhs: HloValue) -> HloResults | None:
    """Lower ``op``, a ``DotGeneral``, in another way; None where that is no better."""
    left, right = ctx.in_types
    if ctx.is_of_one_cpu and _is_of_matrices(op, left, right):
        return ctx.through(lambda x, y: [_of_matrices(op, x, y)], lhs, rhs)

    def product(x: Value, y: Value) -> list[Any]:
        return [_term_by_term(op, x, y)]

    if _is_small(op, left, right):
        return ctx.through(product, lhs, rhs)
    number = _of_many_rows(op, left, right) if ctx.is_of_one_cpu else None
    if number is None or ctx.is_transposed((lhs, rhs)[number]):
        return None
    # A part of the kernel are the products, and not what they are of.
    lhs, rhs = in_memory(ctx, lhs, left), in_memory(ctx, rhs, right)
    return ctx.through(product, lhs, rhs)


def _is_of_matrices(op: Any, lhs: ArrayType, rhs: ArrayType) -> bool:
    """Whether the axes of both operands can be two, and XLA would copy one otherwise,
    to bring what is summed over last in ``lhs``, and first in ``rhs``. 1,200 × 500 of
    four axes by a vector of two: 0.55 → 0.15 ms.
    """
    left, right = op.sides(lhs.ndim, rhs.ndim)
    if left.batch or not all([type(n) is int for n in (*lhs.shape, *rhs.shape)]):
        return False
    pairs = sorted(zip(left.contracted, right.contracted, strict=True))
    sides = (lhs, [i for i, _ in pairs]), (rhs, [j for _, j in pairs])
    at_ends = [
        (axes == [*range(len(axes))], axes == [*range(t.ndim - len(axes), t.ndim)])
        for t, axes in sides
    ]
    if not pairs or not all([any(ends) for ends in at_ends]):
        return False
    (_, last), (first, _) = at_ends
    return (lhs.ndim > 2 and not last) or (rhs.ndim > 2 and not first)


def _of_matrices(op: Any, lhs: Value, rhs: Value) -> Value:
    left, right = op.sides(lhs.type.ndim, rhs.type.ndim)
    (x, i), (y, j) = _as_matrix(lhs, left), _as_matrix(rhs, right)
    numbers = (((i,), (j,)), ((), ()))
    (out,) = op.type_rule(lhs.type, rhs.type)
    return Reshape(out.shape)(op.replace(dimension_numbers=numbers)(x, y))


def _as_matrix(x: Value, side: Any) -> tuple[Value, int]:
    """``x`` with what is summed over along one axis, and what is not along the other;
    the number of the first.
    """
    free, terms = [
        math.prod([x.type.shape[a] for a in axes])
        for axes in (side.free, side.contracted)
    ]
    if min(side.contracted) > min(side.free, default=0):
        return Reshape((free, terms))(x), 1
    return Reshape((terms, free))(x), 0


def _is_small(op: Any, lhs: ArrayType, rhs: ArrayType) -> bool:
    """Whether these are many products of small matrices."""
    left, right = op.sides(lhs.ndim, rhs.ndim)
    batch, rows, terms = [int(math.prod([lhs.shape[a] for a in side])) for side in left]
    columns = int(math.prod([rhs.shape[a] for a in right.free]))
    limit = _SMALL if min(rows, columns) > 1 else _TINY // max(terms, 1)
    small = 0 < terms <= _FEW_TERMS and rows * columns <= limit
    return batch >= _MANY and small and not dtypes.is_bool(lhs.dtype)


def _of_many_rows(op: Any, lhs: ArrayType, rhs: ArrayType) -> int | None:
    """The number of the operand that is many short rows, if the other one is a
    small matrix.
    """
    left, right = op.sides(lhs.ndim, rhs.ndim)
    pairs = [(lhs, left.free), (rhs, right.free), (lhs, left.contracted)]
    sizes = [math.prod([t.shape[a] for a in side]) for t, side in pairs]
    plain = not (dtypes.is_bool(lhs.dtype) or dtypes.is_complex(lhs.dtype))
    if left.batch or not plain or not all([type(n) is int for n in sizes]):
        return None
    *free, terms = sizes
    number = int(free[0] < free[1])
    # Columns that become rows are no gain where there are more.
    few = _FEW_OF_THREE if terms == 3 else _FEW // (1 + number)
    narrow = max(free) >= _MANY_ROWS and 0 < terms <= _FEW and 0 < min(free) <= few
    in_rows = (left, right)[number].contracted == ((lhs, rhs)[number].ndim - 1,)
    return number if narrow and in_rows else None


def _term_by_term(op: Any, lhs: Value, rhs: Value) -> Value:
    (out,) = op.type_rule(lhs.type, rhs.type)
    left, right = op.sides(lhs.type.ndim, rhs.type.ndim)
    working = working_dtype(lhs.type.dtype, out.dtype)
    working = ON_HOST.get(working, working)
    x = Transpose(left.contracted + left.batch + left.free)(convert(lhs, working))
    y = Transpose(right.contracted + right.batch + right.free)(convert(rhs, working))
    count = len(left.contracted)
    terms, axes = x.type.shape[:count], tuple(range(out.ndim))
    rows = axes[: x.type.ndim - count]
    columns = axes[: len(left.batch)] + axes[len(rows) :]
    total: Any = None
    for position in np.ndindex(*terms):
        pair = [
            BroadcastInDim(out.shape, kept)(_entry(z, position))
            for z, kept in ((x, rows), (y, columns))
        ]
        term = mul(*pair)
        total = term if total is None else add(total, term)
    return convert(total, out.dtype)


def _entry(x: Value, position: tuple[int, ...]) -> Value:
    """The subarray at an index of the leading axes."""
    rest = x.type.shape[len(position) :]
    limits = (*[k + 1 for k in position], *rest)
    return Reshape(rest)(Slice((*position, *[0] * len(rest)), limits)(x))
