"""``LoopPrimitive``: the rules that scans and while loops have in common."""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import BatchDims
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask, fixpoint
from covector.core.trace import Trace, current
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import together


class LoopPrimitive(ProgramPrimitive):
    """A loop, which computes values and tangents side by side where both are wanted at
    once: then nothing has to be kept of any step.
    """

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results and their tangents, by one loop; None is a zero tangent."""
        raise self._missing("jvp", "forward-mode differentiation", primals)

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if not together(parent, tangent_trace):
            return super().differentiate(parent, tangent_trace, primals, tangents)
        current.trace = parent
        return self.jvp(primals, tangents)


def batch_step(
    body: Jaxpr, size: int, axis: Any, consts: BatchDims, carry: Mask, xs: BatchDims
) -> tuple[tuple[Jaxpr, BatchDims], Mask]:
    """A body over a batch, with the batch axes of its outputs, and the mask of the
    carry that is batched: at least the given one, and what comes back so from a step.
    """
    others = (False,) * (len(body.outputs) - len(carry))

    def step(mask: Mask) -> Any:
        dims = (*consts, *front_dims(mask), *xs)
        made = body.memo(batch_jaxpr, size, dims, (*mask, *others), axis)
        return made, [d is not None for d in made[1][: len(mask)]]

    return fixpoint(carry, step)
