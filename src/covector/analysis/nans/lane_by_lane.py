"""``vmap``, lane by lane: so that a program still knows what is a lane.

A batched program has no lanes in it: they are rows of its arrays, wherever its
operations move them. While the origin of a NaN is looked for, ``vmap`` is a loop over
its lanes instead, of which the derivatives are loops over lanes as well.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from covector.core.flat import FlatFunction
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import operation
from covector.core.references import has_references, values_of
from covector.core.source import user_line
from covector.core.staging import stage
from covector.core.trace import current
from covector.operations.broadcasting import move_axis
from covector.programs.control_flow.observer import Observer
from covector.programs.control_flow.scan import Scan
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.programs.higher_order.program_primitive import Where
from covector.programs.nonfinite.kinds import Kinds
from covector.programs.nonfinite.origins import Computed
from covector.transforms.batch import batch_flat


@operation
class LaneByLane(Scan):
    """Run ``jaxpr`` for each lane of a batch. What a step hands on is a sum over them,
    for which no order is better than another: the first is the first.
    """

    name = "vmap"  # type: ignore[assignment]

    def like(
        self, jaxpr: Jaxpr, num_consts: int, num_carry: int, flip: bool = False
    ) -> Scan:
        return jaxpr.memo(LaneByLane, self.length, num_consts, num_carry)

    def at_step(self, i: int) -> Where:
        return Where(f" in lane {i} of vmap", "lane", i)


@contextlib.contextmanager
def lanes_apart(apart: bool = True) -> "Iterator[Search]":
    """While the block runs, each ``vmap`` is traced as a loop over its lanes, unless
    they are not to be ``apart``.
    """
    outer, current.observer = current.observer, Search(apart)
    try:
        yield current.observer
    finally:
        current.observer = outer


class Search(Observer):
    """The observer that does so, and notes what made bad constants of a program."""

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        #: by identity: the value, kept alive, and what made it
        self.constants: dict[int, tuple[Any, Computed]] = {}

    def computed(self, op: Any, args: Any, values: Any) -> None:
        made = Computed(Equation(op, list(args), [], user_line()), values)
        for x in values:
            if Kinds(True, True).found_in(x):
                self.constants[id(x)] = x, made

    def maker(self, constant: Any) -> "Computed | None":
        """What made a bad constant, if it was computed."""
        found = self.constants.get(id(constant))
        return None if found is None else found[1]

    def batch(  # type: ignore[override]  # noqa: PLR0913, PLR0917  as ``batch_flat``
        self,
        fun: FlatFunction,
        size: int,
        leaves: Sequence[Any],
        dims: Sequence[int | None],
        axis: Any,
        who: str,
    ) -> tuple[list[Any], list[int | None]]:
        """``batch_flat``, of lanes that do not communicate."""
        if not self.apart or axis is not None or not size or has_references(leaves):
            return batch_flat(fun, size, leaves, dims, axis, who)

        def lane(*values: Any) -> list[Any]:
            rows = iter(values)
            pairs = zip(leaves, dims, strict=True)
            return fun(*[x if d is None else next(rows) for x, d in pairs])

        xs = [
            move_axis(x, d, 0)
            for x, d in zip(leaves, dims, strict=True)
            if d is not None
        ]
        types = [x.type.with_shape(x.type.shape[1:]) for x in xs]
        jaxpr, captured = stage(lane, types, who)[:2]
        op = jaxpr.memo(LaneByLane, size, len(captured), 0)
        outs = op(*values_of(captured), *xs)
        mask = [i >= len(captured) for i in range(len(jaxpr.inputs))]
        differs = forward_slice(jaxpr, mask)
        alike = [type(o) is not Var or o not in differs for o in jaxpr.outputs]
        values = [x[0] if a else x for x, a in zip(outs, alike, strict=True)]
        return values, [None if a else 0 for a in alike]
