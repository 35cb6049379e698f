"""Extrema of floats along axes on the CPU, where NaN is the largest and the smallest.

XLA:CPU leaves the reduction of floats to a library that loses NaN, or compares them one
by one. Slices that are combined element by element are vectorised with NaN, and so are
extrema of the bits of rows, taken for integers. Measured on two cores, in ms of
processor time:

    maximum of rows of f32[4096, 4096]            7.3 → 3.2
    argmax of f32[16000000]                       5.1 → 1.7
"""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.annotations import DType, Value
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.casting import BitcastConvertType
from covector.operations.extrema import max_, min_
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, in_memory, is_read_again

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: how many slices are combined element by element, the elements from which that pays,
#: and how many of a slice should lie side by side
_SLICES, _WORTH_FOLDING, _RUN = 16, 2**12, 64
#: elements from which all cores should have some, and of how many pieces
_LARGE, _PIECES = 2**18, 64


def reduce(op: Any, ctx: "Lowering", x: HloValue) -> HloResults:
    """Lower ``op``, a ``ReduceMax`` or ``ReduceMin`` of floats."""
    (source,), (out,) = ctx.in_types, ctx.out_types
    if _has_long_rows(source, op.axes):
        if out.size < _PIECES and source.size >= _LARGE:
            return ctx.through(lambda x: [_of_pieces(op, x)], x)
        return _by_bits(op, ctx, x)
    slices = _slices(source, op.axes)
    if not slices:
        return op.exactly(ctx, x)
    (result,) = ctx.equation.outputs
    # One reading of the array leaves a sixteenth of it.
    (made,) = ctx.through(
        lambda x: [op(functools.reduce(op.combine, [cut(x) for cut in slices]))], x
    )
    # XLA would compute it again for each element of what it is broadcast to.
    return in_memory(ctx, made, out) if is_read_again(ctx.jaxpr, result) else made


# -- slices ----------------------------------------------------------------------------


def _slices(x: ArrayType, axes: tuple[int, ...]) -> list[Slice]:
    """Slices of equal length along one of these axes, of which each element is in at
    least one: an extremum may see it twice. None where they would be short and many.
    """
    if type(x.size) is not int or x.size < _WORTH_FOLDING:
        return []
    for axis in axes:
        n = x.shape[axis]
        length = _slice_length(x, axis)
        if n > length:
            starts = [min(start, n - length) for start in range(0, n, length)]
            return [_cut(x, axis, start, start + length) for start in starts]
    return []


def _slice_length(x: ArrayType, axis: int) -> int:
    """The length of slices along an axis; all of it where slices do not pay."""
    n = x.shape[axis]
    if axis == x.ndim - 1:
        return 1 if n <= _SLICES // 2 else n
    length = -(-n // _SLICES)
    return length if length * math.prod(x.shape[axis + 1 :]) >= _RUN else n


def _cut(x: ArrayType, axis: int, start: int, limit: int) -> Slice:
    """The slice of x from ``start`` to ``limit`` along one axis."""
    starts, limits = [0] * x.ndim, list(x.shape)
    starts[axis], limits[axis] = start, limit
    return Slice(tuple(starts), tuple(limits))


# -- bits ------------------------------------------------------------------------------


def _has_long_rows(x: ArrayType, axes: tuple[int, ...]) -> bool:
    """Whether rows along the last axis are reduced, of floats whose bits are in the
    order of IEEE 754.
    """
    if type(x.size) is not int or x.size < _WORTH_FOLDING or x.dtype.itemsize < 2:
        return False
    return x.ndim - 1 in axes and x.shape[-1] > _SLICES // 2


def _words(dtype: DType) -> tuple[DType, DType, DType]:
    """The integers whose extrema tell that of floats: signed, signed and unsigned."""
    bits = 8 * dtype.itemsize
    signed = np.dtype(f"int{bits}")
    return signed, signed, np.dtype(f"uint{bits}")


def _extrema_of_words(*words: Value) -> Sequence[Value]:
    """Of two elements, the largest and the smallest word, and the largest unsigned."""
    x, y = words[:3], words[3:]
    return [max_(x[0], y[0]), min_(x[1], y[1]), max_(x[2], y[2])]


def _of_pieces(op: Any, x: Value) -> Value:
    """The extremum of those of many rows, which the cores share."""
    of = type(op)
    axis, shape = x.type.ndim - 1, x.type.shape
    last = of((axis,))
    if len(op.axes) > 1:
        return of(tuple([k for k in op.axes if k != axis]))(last(x))
    length = shape[axis] // _PIECES
    whole = length * _PIECES
    divide = Reshape((*shape[:-1], _PIECES, length))
    pieces = divide(_cut(x.type, axis, 0, whole)(x))
    out = last(of((axis + 1,))(pieces))
    if whole == shape[axis]:
        return out
    return op.combine(out, last(_cut(x.type, axis, whole, shape[axis])(x)))


def _by_bits(op: Any, ctx: "Lowering", x: HloValue) -> HloResults:
    """One reading for three extrema of the bits."""
    (source,), (out,) = ctx.in_types, ctx.out_types
    kinds = _words(source.dtype)
    words = ctx.through(lambda x: [BitcastConvertType(k)(x) for k in kinds], x)
    start = np.asarray(op.identity(source.dtype)).astype(source.dtype)
    elements = [ArrayType((), kind) for kind in kinds]
    starts = [ctx.constant(start.view(k.dtype), k) for k in elements]
    found = [out.with_dtype(kind) for kind in kinds]
    reduced = ctx.op(
        "stablehlo.reduce", [*words, *starts], found, regions=1, dimensions=op.axes
    )
    pairs = [*elements, *elements]
    combined = stage(_extrema_of_words, pairs).jaxpr
    ctx.region(reduced, 0, pairs, lambda inner, *xy: inner.inline(combined, xy))

    def chosen(most: Value, least: Value, far: Value) -> list[Value]:
        return [op.of_bits(most, least, far, BitcastConvertType(out.dtype))]

    return ctx.inline(stage(chosen, found).jaxpr, reduced.results)
