"""Composite operations: functions without a StableHLO operation, computed by others.

They are single operations to every transformation, so that their derivatives are
formulas and not the derivatives of an approximation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.array import ConcreteArray
from covector.core.convert import scalar
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.casting import convert
from covector.operations.partials import WithPartials
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: up to this many elements, some hundred eager operations are quicker than compiling
FEW = 64


def number(value: float, x: Value) -> Value:
    """A number in the element type of x."""
    return scalar(value, x.type.dtype)


class Composite(WithPartials):
    """A function of floats, by a formula in other operations, in at least 32 bits; as
    are its derivatives, so that both are rounded once.
    """

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def formula(self, *operands: Value) -> Any:
        """The value, by other operations."""
        raise self._missing("formula", "evaluation", [x.type for x in operands])

    def of_elements(self, *types: ArrayType) -> None:
        """None: a formula may be long, or have loops."""
        return

    def evaluate(self, *operands: Any) -> Sequence[Any]:
        """Few elements on the host, operation by operation; many compiled."""
        plan = self.plan(tuple([x.type for x in operands]))
        few = sum([x.type.size for x in operands]) <= FEW
        if few and all([x.on_host() for x in operands]):
            (out,) = self._computed(*operands)
            return (ConcreteArray(plan.outs[0], out.host(), None, out.placement),)
        return evaluate_compiled(self, plan, operands)

    def slopes(
        self, active: Sequence[bool], out: Value, *operands: Value
    ) -> list[Value | None]:
        dtype = out.type.dtype
        wide = [convert(x, _at_least_32(dtype)) for x in (out, *operands)]
        found = super().slopes(active, *wide)
        return [None if slope is None else convert(slope, dtype) for slope in found]

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(program=stage(self._computed, types).jaxpr)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.through(self._computed, *operands)

    def _computed(self, *operands: Value) -> Sequence[Any]:
        dtype = operands[0].type.dtype
        out = self.formula(*[convert(x, _at_least_32(dtype)) for x in operands])
        return [convert(out, dtype)]


def _at_least_32(dtype: DType) -> DType:
    return dtypes.float32 if dtype.itemsize < 4 else dtype


class WithEdges(Composite):
    """One formula inside of an open domain, and another at its edges and beyond."""

    #: a number that is inside, for every operand
    somewhere: float

    def formula(self, *operands: Value) -> Value:
        """The inner formula gets safe operands everywhere."""
        is_inside = self.is_inside(*operands)
        safe = [where(is_inside, x, number(self.somewhere, x)) for x in operands]
        return where(is_inside, self.inside(*safe), self.outside(*operands))

    def is_inside(self, *operands: Any) -> Value:
        """Whether the operands are in the open domain."""
        raise self._missing("is_inside", "evaluation", [x.type for x in operands])

    def inside(self, *operands: Any) -> Value:
        """The value there."""
        raise self._missing("inside", "evaluation", [x.type for x in operands])

    def outside(self, *operands: Any) -> Value:
        """The value elsewhere."""
        raise self._missing("outside", "evaluation", [x.type for x in operands])
