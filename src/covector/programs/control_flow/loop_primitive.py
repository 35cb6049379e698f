"""``LoopPrimitive``: the rules that scans and while loops have in common."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from covector.core.annotations import AxisName, BatchDims, Tangents, Value, Values
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask, fixpoint, present_mask, scatter
from covector.core.trace import Trace, current
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import together
from covector.transforms.transpose import instantiate


class LoopPrimitive(ProgramPrimitive):
    """A loop, which computes values and tangents side by side where both are wanted at
    once: then nothing has to be kept of any step.
    """

    def split(self, operands: Sequence[Any]) -> list[list[Any]]:
        """The operands, or what is known of each, in groups."""
        raise self._missing("split", "differentiation", operands)

    def with_tangents(self, groups: Sequence[Sequence[bool]], separate: bool) -> Any:
        """The loop in which each group of operands, and of results, is followed by the
        tangents of some, and masks of these, by group. ``groups`` are masks of operands
        that have one at first. With ``separate`` it can be transposed: no operation
        computes both values and tangents.
        """
        raise self._missing("with_tangents", "forward-mode differentiation", [])

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], separate: bool = False
    ) -> tuple[list[Any], list[Any]]:
        """The results and their tangents, by one loop; None is a zero tangent."""
        given = self.split(tangents)
        active = [present_mask(group) for group in given]
        loop, masks, result_masks = self.with_tangents(active, separate)
        columns = zip(self.split(primals), given, masks, strict=True)
        both = [(*xs, *tangents_of(xs, ds, mask)) for xs, ds, mask in columns]
        rest = iter(loop(*[x for group in both for x in group]))
        outs, out_tangents = [], []
        for mask in result_masks:
            outs += islice(rest, len(mask))
            out_tangents += scatter(rest, mask)
        return outs, out_tangents

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        if not together(parent, tangent_trace):
            return super().differentiate(parent, tangent_trace, primals, tangents)
        current.trace = parent
        return self.jvp(primals, tangents)


def tangents_of(
    xs: Sequence[Value], tangents: Tangents, mask: Sequence[bool]
) -> list[Array]:
    """Tangents of the values in the mask; zeros where one is nonzero only later."""
    columns = zip(xs, tangents, mask, strict=True)
    return [instantiate(d, x.type.strong()) for x, d, m in columns if m]


def batch_step(
    body: Jaxpr,
    size: int,
    axis: AxisName,
    consts: BatchDims,
    carry: Mask,
    xs: BatchDims,
) -> tuple[tuple[Jaxpr, BatchDims], Mask]:
    """A body over a batch, with the batch axes of its outputs, and the mask of the
    carry that is batched: at least the given one, and what comes back so from a step.
    """
    others = (False,) * (len(body.outputs) - len(carry))

    def step(mask: Mask) -> Any:
        dims = (*consts, *front_dims(mask), *xs)
        made = body.memo(batch_jaxpr, size, dims, (*mask, *others), axis)
        return made, present_mask(made[1][: len(mask)])

    return fixpoint(carry, step)
