"""``OptimizationBarrier``: nothing is moved or merged across it by the compiler."""

from collections.abc import Sequence
from typing import Any

from covector.core.primitive import ManyResults
from covector.core.types import ArrayType


class OptimizationBarrier(ManyResults):
    """The operands as they are, all of them computed before any result is used.

    What lies before it and what lies after are optimised apart: nothing is moved past
    it, and nothing after it is found to be the same as something before.
    """

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return types

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return args

    def linearize(self, active: Any, *primals: Any) -> Any:
        def push(*tangents: Any) -> Sequence[Any]:
            return self._of_present(tangents)

        return self(*primals), push

    def transpose(self, cotangents: Any, *args: Any) -> Sequence[Any]:
        return self._of_present(cotangents)

    def _of_present(self, values: Sequence[Any]) -> list[Any]:
        present = iter(self(*[x for x in values if x is not None]))
        return [None if x is None else next(present) for x in values]

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self(*args), dims

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.op("stablehlo.optimization_barrier", operands)


optimization_barrier = OptimizationBarrier()
