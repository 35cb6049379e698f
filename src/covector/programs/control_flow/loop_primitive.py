"""``LoopPrimitive``: the rules that scans and while loops have in common."""

from collections.abc import Sequence
from typing import Any

from covector.core.trace import Trace, current
from covector.programs.higher_order.program_primitive import ProgramPrimitive
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
