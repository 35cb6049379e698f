"""A symbolic size as a value of a program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.jaxpr import Equation, Var
from covector.core.primitive import Primitive, operation
from covector.core.staging import StagedTracer, StagingTrace
from covector.core.types import ArrayType
from covector.core.work import costs_nothing
from covector.errors import InconclusiveDimensionOperation
from covector.lowering.spelling import HloResults

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class SizeOfDimension(Primitive):
    """The number that a symbolic size is where the program runs.

    In a program that is being written it is an unknown value, also where an integer of
    Python would be known.
    """

    interned = False
    work = costs_nothing

    #: a ``Dimension``
    dimension: Any
    dtype: Any
    weak: bool

    def type_rule(self) -> Sequence[ArrayType]:
        return (ArrayType((), self.dtype, self.weak),)

    def stage(self, trace: StagingTrace, args: Sequence[Any]) -> Any:  # type: ignore[override]
        out = Var(self.type_rule()[0])
        trace.equations.append(Equation(self, [], [out], None))
        return [StagedTracer(trace, out, None)]

    def evaluate(self) -> Sequence[Any]:
        raise InconclusiveDimensionOperation(
            f"the symbolic size {self.dimension} has no value outside of a function "
            "that is being exported."
        )

    def lower(self, ctx: "Lowering") -> HloResults:
        # A product of sizes may need all bits before it is cut off.
        wide = ArrayType((), np.dtype(np.int64))
        value = ctx.constant(int.__index__(self.dimension), wide)
        return ctx.op("stablehlo.convert", [value])
