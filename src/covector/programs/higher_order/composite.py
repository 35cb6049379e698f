"""``Composite``: a program as one operation that a compiler may know by name.

In StableHLO it is ``stablehlo.composite``, with the program beside it for compilers
that do not know it. Its derivatives and batches are those of the program.
"""

from typing import TYPE_CHECKING

from covector.core.primitive import operation
from covector.lowering.spelling import HloResults, HloValue
from covector.programs.higher_order.call import Call

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Composite(Call):
    """Run ``jaxpr`` on the operands, or what the compiler knows as ``known_as``."""

    name = "composite"

    known_as: str = ""
    #: the attributes, in the spelling of MLIR
    attributes: str = "{}"
    version: int = 0

    # Around a program with fewer operands it would be another operation.
    rebuild = None  # pyright: ignore[reportAssignmentType]
    # Written out, no compiler would know it.
    in_place = None  # pyright: ignore[reportAssignmentType]

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        from covector.lowering import hlo  # noqa: PLC0415  it imports MLIR

        made = hlo.operation(
            "stablehlo.composite",
            [hlo.tensor_type(t) for t in ctx.out_types],
            operands,
            {
                "name": hlo.attribute(hlo.spelled(self.known_as)),
                "composite_attributes": hlo.attribute(self.attributes),
                "decomposition": ctx.module.symbol(self.jaxpr),
                "version": hlo.attribute(f"{self.version} : i32"),
            },
            ctx.location,
            ctx.point,
        )
        return list(made.results)
