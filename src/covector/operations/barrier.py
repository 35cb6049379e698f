"""What keeps programs from being changed: nothing is moved or merged across an
``OptimizationBarrier``, and nothing that a ``DceSink`` takes is dropped.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import BatchDims, Batched, HostArray, Value, Values
from covector.core.array_like import Array
from covector.core.effects import LASTS
from covector.core.primitive import Linearized, ManyResults, Operand
from covector.core.types import ArrayType
from covector.core.work import costs_nothing
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class OptimizationBarrier(ManyResults):
    """The operands themselves, all of them computed before any result is used.

    What lies before it and what lies after are optimised apart: nothing is moved past
    it, and nothing after it is found to be the same as something before.
    """

    work = costs_nothing

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return types

    def evaluate(self, *args: Value) -> Sequence[Array]:
        return args

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        def push(*tangents: Value | None) -> Sequence[Array | None]:
            return self._of_present(tangents)

        return self(*primals), push

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Array | None]:
        return self._of_present(cotangents)

    def _of_present(self, values: Sequence[Value | None]) -> list[Array | None]:
        present = iter(self(*[x for x in values if x is not None]))
        return [None if x is None else next(present) for x in values]

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return self(*args), dims

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.op("stablehlo.optimization_barrier", operands)


class DceSink(ManyResults):
    """Takes operands, so that they count as used."""

    effects = LASTS
    work = costs_nothing

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return ()

    def on_host(self, *operands: HostArray) -> Sequence[HostArray]:
        return ()

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        return self(*primals), lambda *tangents: ()

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return self(*args), ()

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return []


optimization_barrier, dce_sink = OptimizationBarrier(), DceSink()
