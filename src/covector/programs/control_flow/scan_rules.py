"""The bodies of the scans that are the derivatives of a scan.

    jvp         body and derivative side by side, nothing kept
    linearize   a body that also gives what its derivative needs of each step, and the
                linear body that takes it
    transpose   a linear body run backwards: the cotangents of the carry are its carry,
                and those of the consts add up in it

A scan knows nothing of how these are made. It asks here, and arranges its operands.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations
from covector.ops.arithmetic import add
from covector.programs.control_flow.weight_gradients import (
    Contracted,
    Product,
    contracted,
)
from covector.programs.higher_order.jaxpr_passes import (
    forward_slice,
    instantiate_zeros,
    jvp_jaxpr,
)
from covector.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from covector.transforms.transpose import instantiate, transpose_jaxpr

Marks = tuple[bool, ...]


class Groups:
    """The inputs of a body in three groups: consts, carry, and elements of xs."""

    def __init__(self, num_consts: int, num_carry: int) -> None:
        self.start, self.end = num_consts, num_consts + num_carry

    def split(self, items: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        return (
            [*items[: self.start]],
            [*items[self.start : self.end]],
            [*items[self.end :]],
        )


def tangents_of(
    xs: Sequence[Any], tangents: Sequence[Any], marks: Sequence[bool]
) -> list[Any]:
    """Tangents of the values that move; zeros where one starts to move only later."""
    columns = zip(xs, tangents, marks, strict=True)
    return [instantiate(d, x.type.strong()) for x, d, m in columns if m]


def least_carry(
    carry: Sequence[bool], step: Callable[[Marks], tuple[Any, Sequence[bool]]]
) -> tuple[Any, Marks]:
    """The least marks of the carry, at or above the given ones, that a step keeps.

    ``step`` makes something for given marks, and says which of the carry it marks.
    """
    marks = tuple(carry)
    while True:
        made, marked = step(marks)
        grown = tuple([a or b for a, b in zip(marks, marked, strict=True)])
        if grown == marks:
            return made, marks
        marks = grown


def moving_carry(
    jaxpr: Jaxpr, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> Marks:
    """Which of the carry of a body depends on what moves, after any number of steps."""

    def step(marks: Marks) -> tuple[None, Sequence[bool]]:
        found = forward_slice(jaxpr, (*consts, *marks, *xs))
        return None, [
            type(o) is Var and o in found for o in jaxpr.outputs[: len(carry)]
        ]

    return least_carry(carry, step)[1]


# -- forward ---------------------------------------------------------------------------


class JvpBody(NamedTuple):
    """``jaxpr`` has in each group the tangents after the values.

    ``carry`` marks what moves of the carry, ``ys`` what moves of the other outputs.
    """

    jaxpr: Jaxpr
    carry: Marks
    ys: Marks


def jvp_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, active: Marks, apart: bool = False
) -> JvpBody:
    """The body beside its derivative (memoise on the body); ``apart``, no operation has
    a part in both.
    """
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(active)
    still = (False,) * (len(jaxpr.outputs) - num_carry)

    def step(marks: Marks) -> tuple[Any, Sequence[bool]]:
        force = (*marks, *still)
        made = jaxpr.memo(jvp_jaxpr, (*consts, *marks, *xs), force, apart)
        return made, made[1][:num_carry]

    (both, moving), moving_carry = least_carry(carry, step)
    count = len(jaxpr.inputs)
    tangents = iter(both.inputs[count:])
    inputs: list[Var] = []
    marked = groups.split([*consts, *moving_carry, *xs])
    for values, marks in zip(groups.split(both.inputs[:count]), marked, strict=True):
        inputs += [*values, *[next(tangents) for m in marks if m]]
    outs, moved = both.outputs[: len(moving)], both.outputs[len(moving) :]
    split = sum(moving_carry)
    outputs = [*outs[:num_carry], *moved[:split], *outs[num_carry:], *moved[split:]]
    body = Jaxpr(inputs, both.equations, outputs, both.name)
    return JvpBody(body, moving_carry, tuple(moving[num_carry:]))


class LinearizedBody(NamedTuple):
    """A body in three parts.

    ``before``  takes the consts, and gives what is the same at every step
    ``primal``  takes that as further consts, and gives residuals as further ys
    ``linear``  takes residuals and then tangents, in the groups consts and xs

    ``const_places`` says which of primal's consts are residuals, ``step_places`` where
    the others come from: xs (i ≥ 0), or result ``~i`` of the primal scan. ``carry`` and
    ``ys`` mark what moves.
    """

    before: Jaxpr
    primal: Jaxpr
    linear: Jaxpr
    const_places: list[int]
    step_places: list[int]
    carry: Marks
    ys: Marks


def linearize_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, active: Marks
) -> LinearizedBody:
    """The body, split into values and how they move (memoise on the body)."""
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(active)

    def step(marks: Marks) -> tuple[Any, Sequence[bool]]:
        split = jaxpr.memo(linearize_jaxpr, (*consts, *marks, *xs))
        return split, split.nonzero[:num_carry]

    split, moving_carry = least_carry(carry, step)
    moving = (*moving_carry, *split.nonzero[num_carry:])
    residuals = _Residuals(split, groups, len(jaxpr.outputs))
    given = [g for g, m in zip(split.nonzero, moving, strict=True) if m]
    types = [t.strong() for t, m in zip(jaxpr.out_types, moving, strict=True) if m]
    linear = instantiate_zeros(split.linear, given, types)
    return LinearizedBody(
        residuals.before(),
        residuals.primal(),
        residuals.linear(linear, [sum(marks) for marks in (consts, moving_carry, xs)]),
        list(residuals.steady.values()),
        list(residuals.stepwise.values()),
        moving_carry,
        moving[num_carry:],
    )


class _Residuals:
    """Where the residuals of a step come from, and where the linear body finds them.

    What depends on consts alone is the same at every step: it is worked out once,
    before the loop. The rest is stacked, unless it is an element of xs or ys and so is
    already.
    """

    def __init__(self, split: LinearizedJaxpr, groups: Groups, count: int) -> None:
        body = split.primal
        self.body, self.groups, self.count = body, groups, count
        #: with their places: what is given by ``before``, and by each step
        self.hoisted: dict[Var, int] = {}
        self.stacked: dict[Var, int] = {}
        #: by number of the residual: its place among primal's consts
        self.steady: dict[int, int] = {}
        #: by number of the residual: its place among xs, or ``~i`` for results
        self.stepwise: dict[int, int] = {}
        marks = [i >= groups.start for i in range(len(body.inputs))]
        changing = forward_slice(body, marks, impure=True)
        for r, place in enumerate(split.residual_places):
            var = body.inputs[place] if place >= 0 else body.outputs[~place]
            if 0 <= place < groups.start:
                self.steady[r] = place
            elif var not in changing:
                position = self.hoisted.setdefault(var, len(self.hoisted))
                self.steady[r] = groups.start + position
            elif place >= groups.end:
                self.stepwise[r] = place - groups.end
            elif groups.end - groups.start <= ~place < count:
                self.stepwise[r] = place
            else:
                position = self.stacked.setdefault(var, len(self.stacked))
                self.stepwise[r] = ~(count + position)

    def before(self) -> Jaxpr:
        """The program that is run once."""
        pure = [e for e in self.body.equations if e.op.pure]
        return Jaxpr(
            self.body.inputs[: self.groups.start],
            needed_equations(pure, self.hoisted),
            tuple(self.hoisted),
            f"{self.body.name}_before",
        )

    def primal(self) -> Jaxpr:
        """The body that is run at each step."""
        consts, carry, xs = self.groups.split(self.body.inputs)
        outputs = [*self.body.outputs[: self.count], *self.stacked]
        return Jaxpr(
            [*consts, *self.hoisted, *carry, *xs],
            needed_equations(self.body.equations, outputs, self.hoisted),
            outputs,
            self.body.name,
        )

    def linear(self, linear: Jaxpr, tangents: Sequence[int]) -> Jaxpr:
        """The linear program as a body; ``tangents`` counts them, by group."""
        rest = iter(linear.inputs[len(self.steady) + len(self.stepwise) :])
        consts, carry, xs = [[*islice(rest, count)] for count in tangents]
        steady = [linear.inputs[r] for r in self.steady]
        stepwise = [linear.inputs[r] for r in self.stepwise]
        inputs = [*steady, *consts, *carry, *stepwise, *xs]
        return Jaxpr(inputs, linear.equations, linear.outputs, linear.name)


# -- backward --------------------------------------------------------------------------


class TransposedBody(NamedTuple):
    """A linear body backwards, in two parts.

    ``forward``  the part that is not linear: takes what is known of each group, gives
                 the known carry and, as ys, what it was before
    ``jaxpr``    consts: the known ones; carry: cotangents of consts and of the carry;
                 xs: the known carry, the known xs, and cotangents of ys. Its ys are
                 cotangents of xs.

    ``consts``, ``carry`` and ``xs`` mark what has a cotangent, and ``known_carry`` the
    carry that does not depend on anything linear. ``products`` says, for each of the
    consts that have one, by which products after the loop the cotangent is found, of
    which factors are the last ys; None where it adds up in the loop.
    """

    forward: Jaxpr
    jaxpr: Jaxpr
    consts: Marks
    carry: Marks
    xs: Marks
    known_carry: Marks
    products: tuple[tuple[Product, ...] | None, ...]


def transpose_body(
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    linear: Marks,
    given: Marks,
    stacks: bool = True,
) -> TransposedBody:
    """The linear body backwards (memoise on the body).

    ``linear`` marks operands of the scan, ``given`` those of its results that have a
    cotangent. A loop that ``stacks`` nothing has no products after it.
    """
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(linear)

    linear_carry = moving_carry(jaxpr, consts, carry, xs)
    marks = (*consts, *linear_carry, *xs)

    def step(arriving: Marks) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(transpose_jaxpr, marks, (*arriving, *given[num_carry:]))
        return made, groups.split(made[1])[1]

    arriving = [g and m for g, m in zip(given[:num_carry], linear_carry, strict=True)]
    (program, nonzero), moving = least_carry(arriving, step)
    const_marks, _, x_marks = groups.split(nonzero)
    leaving = [*const_marks, *moving, *x_marks]
    full = instantiate_zeros(
        program,
        [z for z, m in zip(nonzero, leaving, strict=True) if m],
        [t.strong() for t, m in zip(jaxpr.in_types, leaving, strict=True) if m],
    )
    known = [[not m for m in group] for group in groups.split(marks)]
    sizes = [sum(group) for group in known]
    made = Contracted(full, (None,) * sum(const_marks))
    if stacks:
        made = _with_products(full, sum(const_marks), sizes, sum(moving))
    running = made.products.count(None)
    return TransposedBody(
        _known_part(jaxpr, known, groups),
        _accumulating(made.program, sizes, running, sum(moving)),
        tuple(const_marks),
        moving,
        tuple(x_marks),
        tuple(known[1]),
        made.products,
    )


def _with_products(
    program: Jaxpr, totals: int, known: Sequence[int], moving: int
) -> Contracted:
    """The body with what may be found by products after the loop left to those."""
    steady, rest = program.inputs[: known[0]], program.inputs[known[0] :]
    start = known[1] + known[2]
    return contracted(program, totals, steady, [*rest[:start], *rest[start + moving :]])


def _accumulating(
    program: Jaxpr, known: Sequence[int], totals: int, moving: int
) -> Jaxpr:
    """The body of a scan in which the first outputs of ``program`` add up.

    ``known`` counts, by group, the inputs that are not cotangents; those come first.
    """
    inputs = iter(program.inputs)
    consts, known_carry, xs = [[*islice(inputs, count)] for count in known]
    carry = [*islice(inputs, moving)]
    equations, before, after = list(program.equations), [], []
    for cotangent in program.outputs[:totals]:
        type_ = cotangent.type.strong()
        total, total_after = Var(type_), Var(type_)
        equations.append(Equation(add, [total, cotangent], [total_after], None))
        before.append(total)
        after.append(total_after)
    return Jaxpr(
        [*consts, *before, *carry, *known_carry, *xs, *inputs],
        equations,
        [*after, *program.outputs[totals:]],
        program.name,
    )


def _known_part(jaxpr: Jaxpr, known: Sequence[Sequence[bool]], groups: Groups) -> Jaxpr:
    """What is not linear in a body: the known carry after a step, and before it."""
    marks = [m for group in known for m in group]
    inputs = [v for v, m in zip(jaxpr.inputs, marks, strict=True) if m]
    _, carry, _ = groups.split(jaxpr.inputs)
    before = [v for v, m in zip(carry, known[1], strict=True) if m]
    after = [a for a, m in zip(jaxpr.outputs, known[1], strict=False) if m]
    outputs = [*after, *before]
    equations = needed_equations(jaxpr.equations, outputs)
    return Jaxpr(inputs, equations, outputs, f"{jaxpr.name}_known")
