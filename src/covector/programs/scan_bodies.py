"""The bodies of the scans that are the derivatives of a scan.

    jvp         body and derivative side by side, nothing kept
    linearize   a body that also gives what its derivative needs of each step, and the
                linear body that takes it
    transpose   a linear body run backwards: the cotangents of the carry are its carry, and
                those of the consts add up in it

A scan knows nothing of how these are made. It asks here, and arranges its operands.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations
from covector.core.types import ArrayType
from covector.ops.arithmetic import add
from covector.programs.bodies import dependent, jvp_jaxpr, with_zeros
from covector.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr

Marks = tuple[bool, ...]


class Groups:
    """The inputs of a body in three groups: consts, carry, and one element of each xs."""

    def __init__(self, num_consts: int, num_carry: int) -> None:
        self.start, self.end = num_consts, num_consts + num_carry

    def split(self, items: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        return (
            [*items[: self.start]],
            [*items[self.start : self.end]],
            [*items[self.end :]],
        )


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


# -- forward ---------------------------------------------------------------------------


class JvpBody(NamedTuple):
    """``jaxpr`` has in each group the tangents after the values.

    ``carry`` marks what moves of the carry, ``ys`` what moves of the other outputs.
    """

    jaxpr: Jaxpr
    carry: Marks
    ys: Marks


def jvp_body(jaxpr: Jaxpr, num_consts: int, num_carry: int, active: Marks) -> JvpBody:
    """The body beside its derivative (memoise on the body)."""
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(active)
    still = (False,) * (len(jaxpr.outputs) - num_carry)

    def step(marks: Marks) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(jvp_jaxpr, (*consts, *marks, *xs), (*marks, *still))
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

    ``const_places`` says which of primal's consts are residuals, ``step_places`` where the
    others come from: xs (i ≥ 0), or result ``~i`` of the primal scan. ``carry`` and ``ys``
    mark what moves.
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
        return split, split.moving[:num_carry]

    split, moving_carry = least_carry(carry, step)
    residuals = _Residuals(split, groups, len(jaxpr.outputs))
    ys = split.moving[num_carry:]
    given = [
        g for g, m in zip(split.moving[:num_carry], moving_carry, strict=True) if m
    ]
    given += [True] * sum(ys)
    moved = zip(jaxpr.out_types, (*moving_carry, *ys), strict=True)
    linear = with_zeros(split.linear, given, [t.strong() for t, m in moved if m])
    tangents = iter(linear.inputs[len(split.residual_places) :])
    tangent_groups = [
        [next(tangents) for m in marks if m] for marks in (consts, moving_carry, xs)
    ]
    inputs = [
        *[linear.inputs[r] for r in residuals.steady],
        *tangent_groups[0],
        *tangent_groups[1],
        *[linear.inputs[r] for r in residuals.stepwise],
        *tangent_groups[2],
    ]
    return LinearizedBody(
        residuals.before(),
        residuals.primal(),
        Jaxpr(inputs, linear.equations, linear.outputs, linear.name),
        list(residuals.steady.values()),
        list(residuals.stepwise.values()),
        moving_carry,
        ys,
    )


class _Residuals:
    """Where the residuals of a step come from, and where the linear body finds them.

    What depends on consts alone is the same at every step: it is worked out once, before
    the loop. The rest is stacked, unless it is an element of xs or ys and so is already.
    """

    def __init__(self, split: LinearizedJaxpr, groups: Groups, count: int) -> None:
        body = split.primal
        self.body, self.groups, self.count = body, groups, count
        self.hoisted: list[Var] = []
        self.stacked: list[Var] = []
        #: by number of the residual: its place among primal's consts
        self.steady: dict[int, int] = {}
        #: by number of the residual: its place among xs, or ``~i`` for results
        self.stepwise: dict[int, int] = {}
        marks = [i >= groups.start for i in range(len(body.inputs))]
        changing = dependent(body, marks, impure=True)
        for r, place in enumerate(split.residual_places):
            var = body.inputs[place] if place >= 0 else body.outputs[~place]
            if 0 <= place < groups.start:
                self.steady[r] = place
            elif var not in changing:
                self.steady[r] = groups.start + _position(var, self.hoisted)
            elif place >= groups.end:
                self.stepwise[r] = place - groups.end
            elif groups.end - groups.start <= ~place < count:
                self.stepwise[r] = place
            else:
                self.stepwise[r] = ~(count + _position(var, self.stacked))

    def before(self) -> Jaxpr:
        """The program that is run once."""
        equations = needed_equations(self.body.equations, self.hoisted)
        return Jaxpr(
            self.body.inputs[: self.groups.start],
            [e for e in equations if e.op.pure],
            self.hoisted,
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


def _position(var: Var, variables: list[Var]) -> int:
    """The place of ``var`` among the variables, where it is added if need be."""
    if var not in variables:
        variables.append(var)
    return variables.index(var)


# -- backward --------------------------------------------------------------------------


class TransposedBody(NamedTuple):
    """A linear body backwards.

    ``forward``   the part of the body that is not linear: it takes what is known of each
                  group, and gives the carry that is known and, as ys, what it was before
    ``jaxpr``     consts: the known ones; carry: cotangents of the consts that ``consts``
                  marks, and of the carry that ``carry`` marks; xs: the known carry, the
                  known xs, and cotangents of ys. Its ys are cotangents of the xs that
                  ``xs`` marks.

    ``known_carry`` marks the carry that does not depend on anything linear.
    """

    forward: Jaxpr
    jaxpr: Jaxpr
    consts: Marks
    carry: Marks
    xs: Marks
    known_carry: Marks


def transpose_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, linear: Marks, given: Marks
) -> TransposedBody:
    """The linear body backwards (memoise on the body).

    ``linear`` marks operands of the scan, ``given`` those of its results that have a
    cotangent.
    """
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(linear)

    def spread(marks: Marks) -> tuple[None, Sequence[bool]]:
        found = dependent(jaxpr, (*consts, *marks, *xs))
        return None, [type(a) is Var and a in found for a in jaxpr.outputs[:num_carry]]

    _, linear_carry = least_carry(carry, spread)
    marks = (*consts, *linear_carry, *xs)

    def step(arriving: Marks) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(transpose_jaxpr, marks, (*arriving, *given[num_carry:]))
        return made, groups.split(made[1])[1]

    arriving = [g and m for g, m in zip(given[:num_carry], linear_carry, strict=True)]
    (program, nonzero), moving = least_carry(arriving, step)
    known = [[not m for m in group] for group in groups.split(marks)]
    accumulated = _accumulate(jaxpr, program, nonzero, moving, known, groups)
    const_marks, _, x_marks = groups.split(nonzero)
    return TransposedBody(
        _known_part(jaxpr, known, groups),
        accumulated,
        tuple(const_marks),
        moving,
        tuple(x_marks),
        tuple(known[1]),
    )


def _accumulate(
    jaxpr: Jaxpr,
    program: Jaxpr,
    nonzero: Sequence[bool],
    moving: Marks,
    known: Sequence[Sequence[bool]],
    groups: Groups,
) -> Jaxpr:
    """The transposed body as the body of a scan: the cotangents of consts add up."""
    inputs, outputs = iter(program.inputs), iter(program.outputs)
    known_inputs = [[next(inputs) for k in group if k] for group in known]
    carry_cotangents = [next(inputs) for m in moving if m]
    const_types, carry_types, _ = groups.split([t.strong() for t in jaxpr.in_types])
    const_marks, carry_marks, _ = groups.split(nonzero)
    equations, totals, sums = list(program.equations), [], []
    for type_, m in zip(const_types, const_marks, strict=True):
        if m:
            total, new = Var(type_), Var(type_)
            equations.append(Equation(add, [total, next(outputs)], [new], None))
            totals.append(total)
            sums.append(new)
    given = [g for g, m in zip(carry_marks, moving, strict=True) if m]
    types: list[ArrayType] = [t for t, m in zip(carry_types, moving, strict=True) if m]
    rest = list(outputs)
    body = Jaxpr(
        [
            *known_inputs[0],
            *totals,
            *carry_cotangents,
            *known_inputs[1],
            *known_inputs[2],
            *inputs,
        ],
        equations,
        [*sums, *rest],
        program.name,
    )
    x_types = [a.type for a in rest[sum(given) :]]
    every = [True] * len(sums) + given + [True] * len(x_types)
    return with_zeros(body, every, [*[v.type for v in sums], *types, *x_types])


def _known_part(jaxpr: Jaxpr, known: Sequence[Sequence[bool]], groups: Groups) -> Jaxpr:
    marks = [m for group in known for m in group]
    inputs = [v for v, m in zip(jaxpr.inputs, marks, strict=True) if m]
    before = [
        v for v, m in zip(groups.split(jaxpr.inputs)[1], known[1], strict=True) if m
    ]
    after = [a for a, m in zip(jaxpr.outputs, known[1], strict=False) if m]
    outputs = [*after, *before]
    equations = needed_equations(jaxpr.equations, outputs)
    return Jaxpr(inputs, equations, outputs, f"{jaxpr.name}_known")
