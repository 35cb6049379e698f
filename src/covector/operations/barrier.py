"""``OptimizationBarrier``: nothing is moved or merged across it by the compiler."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core.annotations import BatchDims, Batched, Value, Values
from covector.core.array_like import Array
from covector.core.primitive import Linearized, ManyResults, Operand
from covector.core.types import ArrayType
from covector.lowering.hlo import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class OptimizationBarrier(ManyResults):
    """The operands themselves, all of them computed before any result is used.

    What lies before it and what lies after are optimised apart: nothing is moved past
    it, and nothing after it is found to be the same as something before.
    """

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


optimization_barrier = OptimizationBarrier()
