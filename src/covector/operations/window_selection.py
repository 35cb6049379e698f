"""Extrema of sliding windows, with their derivatives: max pooling and its adjoint.

The tangent of an extremum is that of its element: in each window the first of those
that tie, or the first NaN.

    ReduceWindowMax, ReduceWindowMin    the extrema
    SelectAndGatherAdd                  for each window, a tangent at the element chosen
    SelectAndScatterAdd                 its adjoint: cotangents go where the tangents
                                        came from, and those that meet are added

``select`` is ``"ge"`` where the largest element is chosen, ``"le"`` for the smallest.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    BatchDims,
    Batched,
    DType,
    HostArray,
    LinearMaps,
    Value,
)
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.primitive import Operand, operation
from covector.core.types import ArrayType, Shape
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add
from covector.operations.bitwise import or_
from covector.operations.broadcasting import align, zeros
from covector.operations.comparison import eq, ge, le, ne
from covector.operations.creation import Iota
from covector.operations.extrema import max_, min_
from covector.operations.gathering import (
    Gather,
    GatherDimensionNumbers,
    ScatterAdd,
    ScatterDimensionNumbers,
)
from covector.operations.reductions import highest, lowest
from covector.operations.selection import where
from covector.operations.slicing import Pad, Slice
from covector.operations.sliding_windows import dilated
from covector.operations.transposing import Reshape
from covector.operations.tree_reduce import cut
from covector.operations.window_reductions import (
    Copies,
    Values,
    Windowed,
    WindowReduction,
    lay_out,
    slide,
)

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: positions in a window, and windows at a position, up to which masks are laid over all
_TAPS, _OVERLAPS = 64, 16


class _WindowExtremum(WindowReduction):
    """The common base of ``ReduceWindowMax`` and ``ReduceWindowMin``."""

    accepts = staticmethod(lambda dtype: dtypes.is_real(dtype) or dtypes.is_bool(dtype))
    select = ""

    def differential(self, out: Value, x: Value) -> LinearMaps:
        gather = SelectAndGatherAdd(*self.parameters.values(), select=self.select)
        return [lambda dx: gather(dx, x)]


class ReduceWindowMax(_WindowExtremum):
    """The largest element in each window; NaN if one is."""

    combine, select = max_, "ge"

    def identity(self, dtype: DType) -> Any:
        return lowest(dtype)


class ReduceWindowMin(_WindowExtremum):
    """The smallest element in each window; NaN if one is."""

    combine, select = min_, "le"

    def identity(self, dtype: DType) -> Any:
        return highest(dtype)


@operation
class _Selecting(Windowed):
    """The common base of gathering and scattering by chosen elements."""

    select: str

    linear_operands = ((0,),)

    def check(self, given: ArrayType, operand: ArrayType, wanted: ArrayType) -> None:
        """Raise unless this is a floating array that fits the operand."""
        if not dtypes.is_floating(operand.dtype):
            raise DTypeError(
                f"{self.name} needs floating-point numbers, but got {operand}."
            )
        if given.shape != wanted.shape or given.dtype != wanted.dtype:
            raise TypeMismatch(
                f"{self.name} needs {wanted} for its operand {operand}, but got "
                f"{given}."
            )

    @property
    def least(self) -> Any:
        """The bound that is chosen last."""
        return lowest if self.select == "ge" else highest

    def choice_on_host(self, x: HostArray) -> Any:
        """The position in each window, counted row by row, of the element chosen."""
        view = self.view_on_host(x, self.least(x.dtype))
        function = np.argmax if self.select == "ge" else np.argmin
        return function(self.rows_on_host(view), -1)[..., None]

    def rows_on_host(self, view: Any) -> Any:
        """A view of the windows, with their axes merged into one."""
        count = math.prod(self.window_dimensions)
        return view.reshape((*view.shape[: view.ndim // 2], count))

    def chosen(self, x: Value, indices: Value) -> tuple[Array, Array]:
        """The flat indices of the elements chosen in a padded operand; and all."""
        compare = ge if self.select == "ge" else le

        def first(a: Values, b: Values) -> Values:
            keep = or_(compare(a[0], b[0]), ne(a[0], a[0]))
            return [where(keep, p, q) for p, q in zip(a, b, strict=True)]

        _, found = slide(first, [x, indices], self.inside, self.window_dimensions)
        return found, indices

    def numbered(self, x: Value) -> tuple[Array, Array]:
        """The padded operand and the flat indices of its elements, counted row by row.

        The index of what is not an element is the number of elements.
        """
        count = x.type.size
        indices = Reshape(x.type.shape)(Iota(dtypes.int32, (count,), 0)())
        return self.padded(x, self.least(x.type.dtype)), self.padded(indices, count)

    def taps(self, shape: Shape) -> Iterator[Slice]:
        """For each position in the window, what of a padded operand it meets."""
        axes = zip(self.inside, shape, self.window_dimensions, strict=True)
        spans = [dilated(w.num_positions(n, k), w.stride) for w, n, k in axes]
        for position in np.ndindex(*self.window_dimensions):
            pairs = zip(position, self.window_dilation, strict=True)
            start = tuple([k * d for k, d in pairs])
            limit = tuple([a + span for a, span in zip(start, spans, strict=True)])
            yield Slice(start, limit, self.window_strides)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return (self.over_batch(0)(*align(size, args, dims)),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        """Comparisons, and an addition for each window."""
        windows = math.prod(self.num_positions(types[1]))
        return Work(flops=windows * math.prod(self.window_dimensions))


class SelectAndGatherAdd(_Selecting):
    """For each window of the operand, the tangent of the element chosen there."""

    def type_rule(self, tangents: ArrayType, operand: ArrayType) -> Sequence[ArrayType]:
        self.check(tangents, operand, operand)
        return (tangents.with_shape(self.num_positions(operand)),)

    def on_host(self, tangents: HostArray, x: HostArray) -> HostArray:
        rows = self.rows_on_host(self.view_on_host(tangents, 0))
        return np.take_along_axis(rows, self.choice_on_host(x), -1)[..., 0]

    def differential(self, out: Value, tangents: Value, x: Value) -> LinearMaps:
        return [lambda dt: self(dt, x), None]

    def transpose(
        self, cotangents: Values, tangents: Operand, x: Operand
    ) -> Sequence[Value | None]:
        return [SelectAndScatterAdd(*self.parameters.values())(cotangents[0], x), None]

    def lower(self, ctx: "Lowering", tangents: HloValue, x: HloValue) -> HloResults:
        (out,) = ctx.out_types
        if not out.size:
            return ctx.constant(0, out)
        return ctx.through(lambda t, x: [self._gathered(t, x)], tangents, x)

    def _gathered(self, tangents: Value, x: Value) -> Value:
        chosen, indices = self.chosen(*self.numbered(x))
        if math.prod(self.window_dimensions) > _TAPS:
            read = Gather(GatherDimensionNumbers((), (0,), (0,)), (1,), fill_value=0)
            flat = Reshape((x.type.size,))(tangents)
            return read(flat, Reshape((*chosen.type.shape, 1))(chosen))
        tangents = self.padded(tangents, 0)
        out = zeros(tangents.type.with_shape(chosen.type.shape))
        for tap in self.taps(tangents.type.shape):
            out = where(eq(chosen, tap(indices)), tap(tangents), out)
        return out


class SelectAndScatterAdd(_Selecting):
    """Zeros like the operand, with the value of each window added where it chose."""

    def type_rule(self, source: ArrayType, operand: ArrayType) -> Sequence[ArrayType]:
        self.check(source, operand, operand.with_shape(self.num_positions(operand)))
        return (source.with_shape(operand.shape),)

    def on_host(self, source: HostArray, x: HostArray) -> HostArray:
        indices = np.arange(x.size).reshape(x.shape)
        rows = self.rows_on_host(self.view_on_host(indices, x.size))
        chosen = np.take_along_axis(rows, self.choice_on_host(x), -1)
        # One more than there are elements: what is not one.
        out = np.zeros(x.size + 1, np.promote_types(x.dtype, np.float32))
        np.add.at(out, chosen.ravel(), source.ravel().astype(out.dtype))
        return out[:-1].reshape(x.shape).astype(x.dtype)

    def differential(self, out: Value, source: Value, x: Value) -> LinearMaps:
        return [lambda ds: self(ds, x), None]

    def transpose(
        self, cotangents: Values, source: Operand, x: Operand
    ) -> Sequence[Value | None]:
        return [SelectAndGatherAdd(*self.parameters.values())(cotangents[0], x), None]

    def lower(self, ctx: "Lowering", source: HloValue, x: HloValue) -> HloResults:
        (given, _), (out,) = ctx.in_types, ctx.out_types
        if not given.size or not out.size:
            return ctx.constant(0, out)
        return ctx.through(lambda s, x: [self._scattered(s, x)], source, x)

    def _scattered(self, source: Value, x: Value) -> Value:
        chosen, indices = self.chosen(*self.numbered(x))
        reach = zip(self._spans(), self.window_strides, chosen.type.shape, strict=True)
        classes = [min(-(-span // stride), count) for span, stride, count in reach]
        if math.prod(classes) > _OVERLAPS:
            write = ScatterAdd(ScatterDimensionNumbers((), (0,), (0,)))
            flat = zeros(source.type.with_shape((x.type.size,)))
            at = Reshape((*chosen.type.shape, 1))(chosen)
            return Reshape(x.type.shape)(write(flat, at, source))
        # Of every so many-th window no two overlap: each has its positions for itself.
        zero: Value = scalar(0, source.type.dtype)
        total: Any = None
        for first in np.ndindex(*classes):
            laid = [
                self._laid_out(v, indices.type.shape, first, classes, fill)
                for v, fill in ((chosen, -1), (source, 0))
            ]
            masked = where(eq(laid[0], indices), laid[1], zero)
            total = masked if total is None else add(total, masked)
        return Pad(self.margins).cut_out(total)

    def _spans(self) -> Shape:
        """The extent of a window along each axis."""
        pairs = zip(self.window_dimensions, self.window_dilation, strict=True)
        return tuple([dilated(k, d) for k, d in pairs])

    def _laid_out(
        self, v: Value, shape: Shape, first: Shape, classes: Sequence[int], fill: int
    ) -> Value:
        """The values of each window of a class, at all positions that it covers."""
        axes = zip(first, classes, self.window_strides, self._spans(), strict=True)
        for axis, (start, step, stride, span) in enumerate(axes):
            v = cut(v, axis, start, v.type.shape[axis], step)
            copies = Copies(span, max(step * stride, span), start * stride, shape[axis])
            v = lay_out(v, axis, copies, fill)
        return v
