"""``ReduceWindow``: the elements in sliding windows, combined by a program.

The program combines two scalars, as that of ``Reduce`` does. Positions around the
operands and in their gaps hold the initial values, from which the combination starts as
well. XLA reduces with the program as it is; derivatives, and batches of initial values,
are those of the same windows built up from slices (``slide``).
"""

from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive, operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.ops.arithmetic import Add
from covector.ops.broadcasting import BroadcastInDim, align
from covector.ops.extrema import Max, Min
from covector.ops.slicing import Pad
from covector.ops.window_reductions import ReduceWindowSum, Windowed, slide
from covector.ops.window_selection import ReduceWindowMax, ReduceWindowMin
from covector.programs.call import call
from covector.programs.reduce import (
    REDUCTIONS,
    combined,
    is_known,
    single_operation,
    unbatched_type,
)

_REDUCTIONS: dict[type[Primitive], Any] = {
    Add: ReduceWindowSum,
    Max: ReduceWindowMax,
    Min: ReduceWindowMin,
}


def reduce_windows_flat(
    jaxpr: Jaxpr, operands: Sequence[Any], initial: Sequence[Any], fields: Sequence[Any]
) -> Sequence[Any]:
    """Windows of operands reduced by a combining program, from these initial values."""
    op = single_operation(jaxpr)
    if op and type(op) in _REDUCTIONS and not _is_complex_extremum(op, operands):
        _, identity = REDUCTIONS[type(op)]
        if is_known(initial[0], identity(operands[0].type.dtype)):
            return [_REDUCTIONS[type(op)](*fields)(*operands)]
    return jaxpr.memo(_make, *fields)(*operands, *initial)


@operation
class ReduceWindow(Windowed):
    """k operands of one shape and k initial scalars, reduced over sliding windows."""

    interned = False
    multiple_results = True

    jaxpr: Jaxpr

    def __repr__(self) -> str:
        return f"ReduceWindow({self.jaxpr.name}, {self.window_dimensions})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        shape = self.places(types[0])
        return [ArrayType(shape, t.dtype) for t in types[: len(types) // 2]]

    def linearize(self, active: Any, *primals: Any) -> Any:
        types = tuple([x.type for x in primals])
        return self._by_slices(types).linearize(active, *primals)

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        k = len(args) // 2
        if set(dims[k:]) != {None}:
            types = [
                a.type if d is None else unbatched_type(a.type, d)
                for a, d in zip(args, dims, strict=True)
            ]
            return self._by_slices(tuple(types)).batch(size, args, dims)
        operands = align(size, args[:k], dims[:k])
        return self.over_batch(0)(*operands, *args[k:]), [0] * k

    def over_batch(self, dim: int) -> "ReduceWindow":
        fields = list(super().over_batch(dim).parameters.values())
        return self.jaxpr.memo(_make, *fields[:5])

    def lower(self, ctx: Any, *operands: Any) -> Any:
        elements = [ArrayType((), t.dtype) for t in ctx.out_types]
        rank = len(self.window_dimensions)
        pairs = ", ".join(f"[{low}, {high}]" for low, high in self.padding)
        padding = f"dense<[{pairs}]>" if rank else "dense<>"
        op = ctx.op(
            "stablehlo.reduce_window",
            operands,
            ctx.out_types,
            regions=1,
            window_dimensions=self.window_dimensions,
            window_strides=self.window_strides,
            base_dilations=self.base_dilation,
            window_dilations=self.window_dilation,
            padding=f"{padding} : tensor<{rank}x2xi64>",
        )
        ctx.region(op, 0, elements * 2, lambda inner, *xy: inner.inline(self.jaxpr, xy))
        return op.results

    def _by_slices(self, types: tuple[ArrayType, ...]) -> Any:
        fields = list(self.parameters.values())[:5]
        return call(self.jaxpr.memo(sliding_program, *fields, types))


def _make(jaxpr: Jaxpr, *fields: Any) -> ReduceWindow:
    return ReduceWindow(*fields, jaxpr)


def _is_complex_extremum(op: Any, operands: Sequence[Any]) -> bool:
    return type(op) is not Add and dtypes.is_complex(operands[0].type.dtype)


def sliding_program(jaxpr: Jaxpr, *fields_and_types: Any) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    *fields, types = fields_and_types
    op, k = _make(jaxpr, *fields), len(types) // 2
    out_types = op.type_rule(*types)

    def reduced(*args: Any) -> list[Any]:
        starts = [
            BroadcastInDim(t.shape, ())(i)
            for i, t in zip(args[k:], out_types, strict=True)
        ]
        if not out_types[0].size:
            return starts
        padded = [
            Pad(op.margins)(x, i) for x, i in zip(args[:k], args[k:], strict=True)
        ]
        whole = slide(
            lambda a, b: combined(jaxpr, a, b), padded, op.inside, op.window_dimensions
        )
        return combined(jaxpr, starts, whole)

    return stage(reduced, types, f"reduce_window_{jaxpr.name}").jaxpr
