"""``Rewind``: a loop taken back, step by step, while something is pulled along.

    operands    count    how many steps the loop took
                consts   the same at every step
                path     the first state of the loop
                state    what is pulled, as it is after the last step
    results     the state, as it is before the first step

    forwards    path₀ → path₁ → … → pathₙ           by ``advance``, as often as it takes
    backwards   state₀ ← state₁ ← … ← stateₙ        stateₖ = pull(stateₖ₊₁, pathₖ)

It is what a while loop becomes in reverse. The path is the part of the carry that
slopes depend on; the state are cotangents of the rest, and of consts, which add up. No
more than ``checkpoints`` points of the path are kept at any time (``treeverse``). The
state moves linearly in itself, so derivatives of a Rewind are Rewinds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import drop, scatter, select
from covector.core.primitive import Linear, Primitive, operation
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import evaluate_compiled
from covector.ops.broadcasting import batched, zeros
from covector.ops.comparison import lt
from covector.programs.control_flow.divergent_control_flow import check_no_collectives
from covector.programs.control_flow.lanes import (
    UNBATCHED,
    Lanes,
    select_running,
    zero_stopped,
)
from covector.programs.control_flow.safe_operands import (
    communicates,
    with_safe_operands,
)
from covector.programs.control_flow.scan_rules import (
    fixpoint,
    jvp_body,
    tangents_of,
    transpose_body,
)
from covector.programs.control_flow.treeverse import visit_backwards
from covector.programs.control_flow.while_rules import adjoint, rewinding
from covector.programs.higher_order.call import named_axes
from covector.transforms.batch import batch_jaxpr, front_dims
from covector.transforms.linearize import together
from covector.transforms.transpose import instantiate

Values = list[Any]


class _Link:
    """The way up to loops; set once, where those are defined."""

    loop: Callable[..., Values]
    repeat: Callable[..., Values]


def link_loops(loop: Callable[..., Values], repeat: Callable[..., Values]) -> None:
    """``loop(test, step, *carry)`` runs functions, ``repeat(body, count, consts, carry,
    checkpoints, lanes)`` runs a program ``count`` times.
    """
    _Link.loop, _Link.repeat = staticmethod(loop), staticmethod(repeat)


def rewind(
    programs: tuple[Jaxpr, Jaxpr],
    count: Any,
    values: Sequence[Values],
    checkpoints: int,
    lanes: Lanes = UNBATCHED,
) -> Values:
    """The state before the first step; ``values`` are consts, path and state."""
    consts, path, state = values
    made = programs[0].memo(rewinding, programs[1], len(consts))
    path = select(path, made.path)
    kept = [*[True] * len(consts), *made.path, *[True] * len(state)]
    op = made.advance.memo(
        Rewind, made.pull, len(consts), len(path), checkpoints, lanes.select(kept)
    )
    return op(count, *consts, *path, *state)


def rewind_loop(
    body: Jaxpr,
    checkpoints: int,
    lanes: Lanes,
    count: Any,
    operands: tuple[Values, Values],
    cotangents: Sequence[Any],
) -> Values:
    """The cotangents of the consts and the carry of a loop over ``body`` that took
    ``count`` steps; None for those that are not ``Linear``.
    """
    consts, carry = operands
    linear = tuple([type(a) is Linear for a in (*consts, *carry)])
    given = tuple([ct is not None for ct in cotangents])
    made = body.memo(transpose_body, len(consts), len(carry), linear, given, False)
    known = [not m for m in linear[: len(consts)]]
    moving = (*made.consts, *made.carry)
    types = [t.strong() for t in select(body.in_types, moving)]
    cts_out = select([*[None] * len(consts), *cotangents], moving)
    values = (
        select(consts, known),
        select(carry, made.known_carry),
        [instantiate(ct, t) for ct, t in zip(cts_out, types, strict=True)],
    )
    lanes = lanes.reverse(known, made.known_carry, moving)
    programs = (made.forward, made.jaxpr)
    found = scatter(rewind(programs, count, values, checkpoints, lanes), moving)
    # A carry that starts known, at zero, has no cotangent to give back.
    return [ct if m else None for ct, m in zip(found, linear, strict=True)]


@operation
class Rewind(Primitive):
    """Run ``pull`` on consts, state and path for each step from the last to the first.

    ``advance`` takes consts and path. ``lanes`` has a mask of the operands after the
    count, which is per lane itself.
    """

    interned = False
    multiple_results = True

    advance: Jaxpr
    pull: Jaxpr
    num_consts: int
    num_path: int
    checkpoints: int
    lanes: Lanes = UNBATCHED

    def __repr__(self) -> str:
        return f"Rewind({self.pull.name})"

    def split(self, operands: Sequence[Any]) -> tuple[Values, Values, Values]:
        """Consts, path and state among what comes after the count."""
        start, end = self.num_consts, self.num_consts + self.num_path
        return [*operands[:start]], [*operands[start:end]], [*operands[end:]]

    @property
    def per_lane(self) -> tuple[Values, Values, Values]:
        """Masks of what is per lane among consts, path and state."""
        count = len(self.advance.inputs) + len(self.pull.outputs)
        return self.split(self.lanes.mask(0, count))

    def type_rule(self, count: ArrayType, *types: ArrayType) -> Sequence[ArrayType]:
        return [t.strong() for t in self.pull.out_types]

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        # Over the axes of the steps themselves devices took as many: that was checked.
        apart = types[0].varying.difference(self.advance.memo(named_axes))
        check_no_collectives("while_loop", "its test", [self.pull], apart)
        start, count = self.num_consts, len(self.pull.outputs)
        state = self.pull.in_types[start : start + count]
        return of_programs([types[0], *self.advance.in_types, *state])

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: Any) -> Sequence[Any]:
        return evaluate_compiled(self, self.plan(tuple([a.type for a in args])), args)

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.through(self._visit, *operands)

    def _visit(self, count: Any, *operands: Any) -> Values:
        consts, path, state = self.split(operands)
        lane_consts, lane_path, lane_state = self.per_lane
        shape = self.lanes.shape

        def advance(k: Any, path: Values) -> Values:
            after = run(self.advance, [*consts, *path])
            if not shape:
                return after
            return select_running(lane_path, lt(k, count), after, path)

        def pull(k: Any, path: Values, state: Values) -> Values:
            if not shape:
                return run(self.pull, [*consts, *state, *path])
            running, known = lt(k, count), [*consts, *path]
            if not all(lane_state):
                axes = [(o,) * len(shape) for o in (*lane_consts, *lane_path)]
                known = with_safe_operands(axes, running, known)
            consts_, path_ = known[: len(consts)], known[len(consts) :]
            given = zero_stopped(lane_state, running, state)
            before = run(self.pull, [*consts_, *given, *path_])
            return select_running(lane_state, running, before, state)

        most = self.lanes.most_steps(count)
        return visit_backwards(
            _Link.loop, most, self.checkpoints, advance, pull, path, state
        )

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> Any:
        """Where tangents are wanted at once, one way back gives both."""
        if not together(parent, tangent_trace):
            return super().differentiate(parent, tangent_trace, primals, tangents)
        current.trace = parent
        return self._beside(primals, tangents, apart=False)

    def linearize(self, active: Sequence[bool], *primals: Any) -> Any:
        """The derivative goes the way again, for it needs the values at each step."""
        outs = self(*primals)
        return outs, lambda *tangents: self._beside(primals, tangents, apart=True)[1]

    def _beside(
        self, primals: Any, tangents: Any, apart: bool
    ) -> tuple[Values, Values]:
        """The state and its tangents."""
        moved = self.split(tangents[1:])
        consts, path, state = [[d is not None for d in group] for group in moved]
        count = self.num_consts
        active = (*consts, *path)
        ahead = self.advance.memo(jvp_body, count, len(path), active, apart)
        active = (*consts, *state, *ahead.carry)
        back = self.pull.memo(jvp_body, count, len(state), active, apart)
        marks = (consts, ahead.carry, back.carry)
        groups = zip(self.split(primals[1:]), moved, marks, strict=True)
        values = [[*xs, *tangents_of(xs, ds, ms)] for xs, ds, ms in groups]
        outs = rewind(
            (ahead.jaxpr, back.jaxpr),
            primals[0],
            values,
            self.checkpoints,
            self.lanes.with_tangents(*marks),
        )
        given = iter(outs[len(state) :])
        return outs[: len(state)], [next(given) if m else None for m in back.carry]

    def transpose(self, cotangents: Any, count: Any, *args: Any) -> Any:
        """The cotangents of the state forwards, the others then backwards."""
        groups = self.split(args)
        linear = [tuple([type(a) is Linear for a in group]) for group in groups]
        made = self.advance.memo(adjoint, self.pull, *linear)
        marks = (linear[0], made.path, made.state)
        known = [drop(*pair) for pair in zip(groups, marks, strict=True)]
        types = [*self.advance.in_types, *self.pull.out_types]
        types = self.split([t.strong() for t in types])
        moved = [
            instantiate(ct, t)
            for ct, t, m in zip(cotangents, types[2], made.state, strict=True)
            if m
        ]
        lanes = self.lanes.adjoint(*marks)
        start = (known[0], [*known[1], *moved])
        settings = (self.checkpoints, lanes)
        ends = _Link.repeat(made.forward, count, *start, *settings)[len(known[1]) :]
        found: list[Values] = [[], [], ends]
        if any(made.path) or any(linear[0]):
            pairs = zip(types[:2], marks[:2], strict=True)
            totals = [zeros(t) for pair in pairs for t in select(*pair)]
            values = (*start, [*known[2], *totals])
            outs = rewind((made.forward, made.pull), count, values, *settings)
            split = len(known[2]) + sum(linear[0])
            found[:2] = outs[len(known[2]) : split], outs[split:]
        cts_in = [scatter(*pair) for pair in zip(found, marks, strict=True)]
        return [None, *[ct for group in cts_in for ct in group]]

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        """What is pulled is batched if it starts so, or is made so by another."""
        (count, *operands), (count_dim, *dims) = args, dims
        differ = count_dim is not None or bool(self.lanes.shape)
        mixes = [p.memo(communicates, axis) for p in (self.advance, self.pull)]
        if differ and any(mixes):
            raise _mixes(axis)
        forced = self.split(
            self.lanes.must_batch(differ, len(operands), self.num_consts)
        )
        groups = zip(self.split(dims), forced, strict=True)
        consts, path, state = [
            tuple([f or d is not None for d, f in zip(*pair, strict=True)])
            for pair in groups
        ]

        def ahead(marks: Any) -> Any:
            now = front_dims((*consts, *marks))
            made, found = self.advance.memo(batch_jaxpr, size, now, marks, axis)
            return made, [d is not None for d in found]

        def back(marks: Any) -> Any:
            now = front_dims((*consts, *marks, *path))
            made, found = self.pull.memo(batch_jaxpr, size, now, marks, axis)
            return made, [d is not None for d in found]

        advance, path = fixpoint(path, ahead)
        pull, state = fixpoint(state, back)
        marks = (*consts, *path, *state)
        columns = zip(operands, dims, marks, strict=True)
        values = [batched(size, x, d) if m else x for x, d, m in columns]
        count = batched(size, count, count_dim) if differ else count
        lanes = self.lanes.add_axis(size, marks) if differ else UNBATCHED
        over = advance.memo(
            Rewind, pull, self.num_consts, self.num_path, self.checkpoints, lanes
        )
        return over(count, *values), list(front_dims(state))

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        names = [*self.advance.memo(named_axes), *self.pull.memo(named_axes)]
        return tuple(dict.fromkeys(names))


def _mixes(axis: Any) -> NotDifferentiable:
    return NotDifferentiable(
        f"the reverse-mode derivative of a while_loop that communicates over the vmap "
        f"axis {axis!r} in its body, where lanes of the batch take "
        "different numbers of steps. Differentiate the whole batch: grad of vmap, not "
        "vmap of grad."
    )
