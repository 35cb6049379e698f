"""``vmap``, lane by lane: so that a program still knows what is a lane.

A batched program has no lanes in it: they are rows of its arrays, wherever its
operations move them. While the origin of a NaN is looked for, ``vmap`` is a loop over
its lanes instead, of which the derivatives are loops over lanes as well.
"""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from covector import options
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Equation, Jaxpr, Var, run
from covector.core.primitive import ManyResults, operation
from covector.core.references import has_references, values_of
from covector.core.source import user_line
from covector.core.staging import stage
from covector.core.trace import current
from covector.nonfinite.kinds import Kinds
from covector.nonfinite.origin import in_lane
from covector.nonfinite.origins import Computed
from covector.operations.broadcasting import batched, move_axis
from covector.programs.control_flow.observer import Observer
from covector.programs.control_flow.scan import Scan, stacked_type
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.programs.higher_order.program_primitive import Devices, Execution, Where
from covector.transforms.batch import BatchTrace, ShardedAxis, batch_flat


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
        return in_lane(i)


@operation
class LanesTogether(ManyResults):
    """Run ``jaxpr`` for all lanes of a batch at once, which communicate over ``axis``.

    It has no derivatives and no batches: where those are asked for, the program is
    replayed without lanes.
    """

    name = "vmap"
    interned = False

    jaxpr: Jaxpr
    axis: Any
    size: int
    dims: tuple[int | None, ...]

    def type_rule(self, *types: Any) -> Sequence[Any]:
        return [stacked_type(t, self.size) for t in self.jaxpr.out_types]

    def evaluate(self, *args: Any) -> Sequence[Any]:
        fun = functools.partial(_run, self.jaxpr)
        outs, dims = batch_flat(fun, self.size, args, self.dims, self.axis)
        return [batched(self.size, x, d) for x, d in zip(outs, dims, strict=True)]

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.through(self.evaluate, *operands)

    def executions(self, operands: Sequence[Any]) -> "Iterator[Execution]":
        fronts = tuple([() if d is None else (self.axis,) for d in self.dims])
        together = Devices(((self.axis, self.size),), fronts, "vmap")
        yield Execution(self.jaxpr, [*operands], Where("", "lane", -1), together)


def _run(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    return run(jaxpr, args)


@contextlib.contextmanager
def lanes_apart(apart: bool = True) -> "Iterator[Search]":
    """While the block runs, programs are traced afresh, and each ``vmap`` as a loop
    over its lanes, unless they are not to be ``apart``.
    """
    outer, current.observer = current.observer, Search(apart)
    try:
        with options.looking_into("lanes" if apart else "batches"):
            yield current.observer
    finally:
        current.observer = outer


class Search(Observer):
    """The observer that does so, and notes what made bad constants of a program."""

    def __init__(self, apart: bool) -> None:
        self.apart = apart
        #: whether a vmap was met, and became a loop over lanes
        self.has_lanes = False
        #: by identity: the value, kept alive, and what made it
        self.constants: dict[int, tuple[Any, Computed]] = {}

    def computed(self, op: Any, args: Any, values: Any) -> None:
        made = Computed(Equation(op, list(args), [], user_line()), values)
        for x in values:
            if Kinds(True, True).found_in(x):
                self.constants[id(x)] = x, made

    def maker(self, constant: Any) -> "Computed | None":
        """The maker of a bad constant, if it was computed."""
        found = self.constants.get(id(constant))
        return None if found is None else found[1]

    def batch(  # type: ignore[override]
        self,
        fun: FlatFunction,
        size: int,
        leaves: Sequence[Any],
        dims: Sequence[int | None],
        axis: Any,
        who: str,
    ) -> tuple[list[Any], list[int | None]]:
        """``batch_flat``, as an operation on lanes."""
        as_it_is = not self.apart or not size or isinstance(axis, ShardedAxis)
        if as_it_is or has_references(leaves):
            return batch_flat(fun, size, leaves, dims, axis, who)
        self.has_lanes = True

        def lane(*values: Any) -> list[Any]:
            rows = iter(values)
            pairs = zip(leaves, dims, strict=True)
            return fun(*[x if d is None else next(rows) for x, d in pairs])

        xs = [
            move_axis(x, d, 0)
            for x, d in zip(leaves, dims, strict=True)
            if d is not None
        ]
        types = [x.type.without_axis(0) for x in xs]
        if axis is not None and xs:
            return _together(lane, types, xs, axis, who)
        jaxpr, captured = stage(lane, types, who)[:2]
        op = jaxpr.memo(LaneByLane, size, len(captured), 0)
        outs = op(*values_of(captured), *xs)
        mask = [i >= len(captured) for i in range(len(jaxpr.inputs))]
        differs = forward_slice(jaxpr, mask)
        alike = [type(o) is not Var or o not in differs for o in jaxpr.outputs]
        values = [x[0] if a else x for x, a in zip(outs, alike, strict=True)]
        return values, [None if a else 0 for a in alike]


def _together(
    lane: Any, types: Sequence[Any], xs: Sequence[Any], axis: Any, who: str
) -> tuple[list[Any], list[int | None]]:
    """The results over a batch of a function of a lane that names its axis."""
    size, outer = xs[0].type.shape[0], current.trace
    current.trace = BatchTrace(outer, size, axis, who)
    try:
        jaxpr, captured = stage(lane, types, who)[:2]
    finally:
        current.trace = outer
    dims = (*[None] * len(captured), *[0] * len(xs))
    outs = LanesTogether(jaxpr, axis, size, dims)(*values_of(captured), *xs)
    return [*outs], [0] * len(outs)
