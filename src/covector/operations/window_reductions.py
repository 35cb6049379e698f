"""Reductions over sliding windows, as in pooling.

Which positions a window meets is explained in ``sliding_windows``. Positions around the
operand, and in the gaps of a dilated one, hold the identity of the combining operation.
The sum is linear, and its adjoint is a sum over windows again; how extrema move is in
``window_selection``.

XLA:CPU visits each window by itself. Here windows are built up along one axis after the
other, from slices of the whole array: as many steps as the windows are long and wide,
not their product, or fewer where they overlap (``slide``).
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, HostArray, LinearMaps, Value
from covector.core.convert import scalar
from covector.core.host_budget import CALL, LARGE_PACE
from covector.core.host_values import in_numpy_dtype
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType, Shape, is_none
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add
from covector.operations.broadcasting import BroadcastInDim, with_axes_in_order, zeros
from covector.operations.casting import convert
from covector.operations.reductions import is_short_float
from covector.operations.slicing import Pad, insert
from covector.operations.sliding_windows import Window, sliding_view
from covector.operations.transposing import Reshape
from covector.operations.tree_reduce import cut

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Values = Sequence[Any]
Margins = tuple[tuple[int, int, int], ...]


_BY_AXIS = (
    "window_dimensions",
    "window_strides",
    "padding",
    "base_dilation",
    "window_dilation",
)


@operation
class Windowed(Primitive):
    """An operation on the windows of an operand, one entry per axis in each field.

    ``padding`` is (low, high); ``base_dilation`` − 1 gaps are between the elements of
    the operand, ``window_dilation`` − 1 between the positions that a window meets.
    """

    name = "reduce_window"

    window_dimensions: Shape
    window_strides: Shape
    padding: tuple[tuple[int, int], ...]
    base_dilation: Shape
    window_dilation: Shape

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return with_axes_in_order(self, orders, _BY_AXIS)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows, axis by axis."""
        return tuple(
            [
                Window(stride, low, high, base, gap)
                for stride, (low, high), base, gap in zip(
                    self.window_strides,
                    self.padding,
                    self.base_dilation,
                    self.window_dilation,
                    strict=True,
                )
            ]
        )

    def num_positions(self, x: ArrayType) -> Shape:
        """The number of positions of the window along each axis."""
        fields = list(self.parameters.values())[:5]
        if any([len(f) != x.ndim for f in fields]):
            raise TypeMismatch(
                f"{self.name} of {x} needs a window dimension, a stride, padding and "
                f"dilations for each of its {how_many(x.ndim, 'axis', 'axes')}, but "
                f"got {', '.join(map(str, fields))}."
            )
        positive = (*fields[0], *fields[1], *fields[3], *fields[4])
        if any([n < 1 for n in positive]):
            raise TypeMismatch(
                f"{self.name} of {x} needs windows, strides and dilations of at least "
                f"1, but got {', '.join(map(str, fields))}."
            )
        axes = zip(self.windows, x.shape, self.window_dimensions, strict=True)
        return tuple([w.num_positions(n, k) for w, n, k in axes])

    def padded(self, x: Value, value: Any) -> Value:
        """``x`` with gaps and margins, which hold a value; no window needs more."""
        return _padded(x, self.margins, value)

    @cached_property
    def margins(self) -> Margins:
        """The configuration of ``Pad`` that makes gaps and margins."""
        return tuple([(w.low, w.high, w.lhs_dilation - 1) for w in self.windows])

    @cached_property
    def inside(self) -> tuple[Window, ...]:
        """The windows on an operand that has its gaps and margins."""
        return tuple([Window(w.stride, 0, 0, 1, w.rhs_dilation) for w in self.windows])

    @property
    def windows_per_element(self) -> float:
        """The number of windows that meet an element, away from the edges."""
        return math.prod(self.window_dimensions) / math.prod(self.window_strides)

    def over_batch(self, dim: int) -> Any:
        """This operation with one more axis, along which windows are of length 1."""
        others = list(self.parameters.values())[5:]
        return type(self)(
            insert(self.window_dimensions, dim, 1),
            insert(self.window_strides, dim, 1),
            insert(self.padding, dim, (0, 0)),
            insert(self.base_dilation, dim, 1),
            insert(self.window_dilation, dim, 1),
            *others,
        )

    def view_on_host(self, x: HostArray, value: Any) -> HostArray:
        """A view of all windows: the axes of positions, then those of the windows."""
        if any(map(any, self.margins)):
            x = Pad(self.margins).on_host(x, np.asarray(value).astype(x.dtype))
        view = sliding_view(in_numpy_dtype(x), self.inside, self.window_dimensions)
        return view.view(x.dtype)


class WindowReduction(Windowed):
    """The combination of the elements in each window."""

    combine = add
    accepts = staticmethod(dtypes.is_numeric)
    not_on_host = dtypes.SUB_BYTE

    def identity(self, dtype: DType) -> Any:
        """The identity of the combination."""
        raise self._missing("identity", "reducing", [])

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not self.accepts(x.dtype):
            raise DTypeError(f"{self.name} needs numbers, but got {x}.")
        return (x.with_shape(self.num_positions(x)),)

    def on_host(self, x: HostArray) -> HostArray:
        view = self.view_on_host(x, self.identity(x.dtype))
        taps = tuple(range(x.ndim, 2 * x.ndim))
        wide = np.float32 if self.widens(x.dtype) else None
        out = self.combine.on_host.reduce(view, taps, wide or view.dtype)
        return out.astype(x.dtype, copy=False)

    def widens(self, dtype: DType) -> bool:
        """Whether numbers of this dtype are combined in float32."""
        return False

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        return self._met(outs) <= self.host_limit

    def host_time(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> float:
        return CALL + self._met(outs) / LARGE_PACE

    def _met(self, outs: Sequence[ArrayType]) -> int:
        """The elements of all windows."""
        return outs[0].size * int(np.prod(self.window_dimensions))

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self.over_batch(dims[0])(args[0]),), dims

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        taps = math.prod(self.window_dimensions)
        return self.combine.each.times(outs[0].size * (taps - 1))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (out,) = ctx.in_types, ctx.out_types
        if is_none(out.size):
            return ctx.constant(0, out)
        wide = dtypes.float32 if self.widens(source.dtype) else source.dtype
        return ctx.through(
            lambda x: [convert(self._slid(convert(x, wide)), source.dtype)], x
        )

    def _slid(self, x: Value) -> Value:
        identity = self.identity(x.type.dtype)
        taps, inside, margins = [], [], []
        for axis, (w, k) in enumerate(
            zip(self.windows, self.window_dimensions, strict=True)
        ):
            if _meets_one(w, x.type.shape[axis], k):
                x = _repeat_along(x, axis, w, k, identity)
                w, k = Window(1, 0, 0, 1, 1), 1  # noqa: PLW2901  done with this axis
            taps.append(k)
            margins.append((w.low, w.high, w.lhs_dilation - 1))
            inside.append(Window(w.stride, 0, 0, 1, w.rhs_dilation))
        values = [_padded(x, tuple(margins), identity)]
        return slide(self._pairwise, values, inside, tuple(taps))[0]

    def _pairwise(self, x: Values, y: Values) -> Values:
        return [self.combine(x[0], y[0])]


class ReduceWindowSum(WindowReduction):
    """The sum of the elements in each window; integers wrap around."""

    def identity(self, dtype: DType) -> Any:
        return 0

    def widens(self, dtype: DType) -> bool:
        return is_short_float(dtype)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        if not ct.type.size or not x.type.size:
            return [zeros(x.type.strong())]
        axes = zip(self.windows, x.type.shape, self.window_dimensions, strict=True)
        back = [w.of_lhs(n, k) for w, n, k in axes]
        adjoint = ReduceWindowSum(
            self.window_dimensions,
            tuple([w.stride for w in back]),
            tuple([(w.low, w.high) for w in back]),
            tuple([w.lhs_dilation for w in back]),
            tuple([w.rhs_dilation for w in back]),
        )
        return [adjoint(ct)]


# -- windows that meet at most one element ---------------------------------------------


def _meets_one(window: Window, length: int, taps: int) -> bool:
    """Whether windows at consecutive positions meet at most one element each."""
    simple = window.stride == 1 and window.rhs_dilation == 1 and taps > 1
    return simple and length > 0 and (length == 1 or window.lhs_dilation >= taps)


def _repeat_along(x: Value, axis: int, window: Window, taps: int, value: Any) -> Any:
    """The element that each window meets along an axis, or the value where it is none.

    The windows that meet an element are side by side, as many as a window is long.
    """
    count = window.num_positions(x.type.shape[axis], taps)
    period = max(window.lhs_dilation, taps)
    return lay_out(x, axis, Copies(taps, period, window.low - (taps - 1), count), value)


class Copies(NamedTuple):
    """The positions that elements of an axis are copied to: ``count`` each.

    The first element begins at ``start``, the next ones a ``period`` later each; of all
    positions, ``length`` are kept, from 0 on.
    """

    count: int
    period: int
    start: int
    length: int


def lay_out(x: Value, axis: int, copies: Copies, value: Any) -> Value:
    """Elements copied along an axis, with a value where none is copied to."""
    count, period, start, length = copies
    shape = x.type.shape
    n, rank = shape[axis], len(shape)
    kept = tuple([k + (k > axis) for k in range(rank)])
    x = BroadcastInDim(insert(shape, axis + 1, count), kept)(x)
    gaps = insert(((0, 0, 0),) * rank, axis + 1, (0, period - count, 0))
    x = _padded(x, gaps, value)
    x = Reshape((*shape[:axis], n * period, *shape[axis + 1 :]))(x)
    after = length - start - n * period
    around = insert(((0, 0, 0),) * (rank - 1), axis, (start, after, 0))
    return _padded(x, around, value)


def _padded(x: Value, margins: Margins, value: Any) -> Value:
    if not any(map(any, margins)):
        return x
    return Pad(margins)(x, scalar(value, x.type.dtype))


# -- building windows ------------------------------------------------------------------

Pairwise = Callable[[Values, Values], Values]


def slide(
    combine: Pairwise, xs: Values, windows: Sequence[Window], taps: Shape
) -> Values:
    """The elements in each window combined, for arrays that combine together.

    Elements are combined in the order that they have in the window. There must be
    positions for the windows, and no gaps or margins to be made.
    """
    for axis in reversed(range(len(taps))):
        w, k = windows[axis], taps[axis]
        if w.stride > 1 or k > 1:
            xs = _slide_along(combine, xs, axis, w, k)
    return xs


def _slide_along(
    combine: Pairwise, xs: Values, axis: int, window: Window, taps: int
) -> Values:
    n = xs[0].type.shape[axis]
    count = window.num_positions(n, taps)
    end = (count - 1) * window.stride + 1

    def tap(k: int) -> Values:
        start = k * window.rhs_dilation
        return [cut(x, axis, start, start + end, window.stride) for x in xs]

    # One by one, taps cost their number at each position; doubled, its log everywhere.
    if taps <= window.stride * taps.bit_length():
        out = tap(0)
        for k in range(1, taps):
            out = combine(out, tap(k))
        return out
    doubled = _doubled(combine, xs, axis, window.rhs_dilation, taps)
    return [cut(x, axis, 0, end, window.stride) for x in doubled]


def _doubled(
    combine: Pairwise, xs: Values, axis: int, dilation: int, taps: int
) -> Values:
    """Windows at every position, joined from windows of 1, 2, 4, … taps."""
    out: Values = ()
    done, power = 0, 1
    while done < taps:
        if taps & power:
            out = _joined(combine, out, xs, axis, done * dilation) if done else xs
            done += power
        if done < taps:
            xs = _joined(combine, xs, xs, axis, power * dilation)
            power *= 2
    return out


def _joined(
    combine: Pairwise, first: Values, then: Values, axis: int, start: int
) -> Values:
    """Each element of ``first`` combined with that of ``then``, ``start`` later."""
    a, b = first[0].type.shape[axis], then[0].type.shape[axis] - start
    length = min(a, b)
    return combine(
        [cut(x, axis, 0, length) for x in first],
        [cut(x, axis, start, start + length) for x in then],
    )
