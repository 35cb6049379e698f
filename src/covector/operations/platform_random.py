"""``RngUniform``: numbers of the generator that a platform has, which keeps a state.

It is the one operation whose value is another each time. Everything else that is random
is a function of a key.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.effects import CALLS
from covector.core.primitive import Primitive, operation
from covector.core.types import ArrayType, Shape, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class RngUniform(Primitive):
    """Numbers of this shape from one scalar up to, and without, another."""

    shape: Shape

    # Not while a program is traced, which would make a constant of them.
    effects = CALLS

    def type_rule(self, low: ArrayType, high: ArrayType) -> Sequence[ArrayType]:
        if low.shape or high.shape or low.dtype != high.dtype:
            raise TypeMismatch(
                "rng_uniform needs two scalars of one dtype, but got "
                f"{show_types((low, high))}."
            )
        if not dtypes.is_real(low.dtype):
            raise DTypeError(f"rng_uniform draws real numbers, but got {low}.")
        return (ArrayType(self.shape, low.dtype),)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(transcendentals=outs[0].size)  # as XLA has it

    def lower(self, ctx: "Lowering", low: HloValue, high: HloValue) -> HloResults:
        length = ArrayType((len(self.shape),), dtypes.int64)
        return ctx.op(
            "stablehlo.rng",
            [low, high, ctx.constant(self.shape, length)],
            rng_distribution="#stablehlo<rng_distribution UNIFORM>",
        )
