"""The bodies of the scans that are the derivatives of a scan.

    jvp         body and derivative side by side, nothing kept
    linearize   a body that also returns the residuals of each step, and the linear body
                that takes them
    transpose   a linear body run backwards: the cotangents of the carry are its carry,
                and those of the consts are accumulated in it

``Scan`` knows nothing of how these are made. It asks here, and arranges its operands.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations
from covector.core.masks import Mask, fixpoint, indices, select
from covector.ops.arithmetic import add
from covector.programs.control_flow.weight_gradients import (
    Factored,
    Product,
    factor_sums,
)
from covector.programs.higher_order.jaxpr_passes import (
    forward_slice,
    instantiate_zeros,
    jvp_jaxpr,
)
from covector.programs.higher_order.partition import (
    Partition,
    Policy,
    partition,
)
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr
from covector.transforms.transpose import instantiate, transpose_jaxpr


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
    xs: Sequence[Value], tangents: Sequence[Value | None], mask: Sequence[bool]
) -> list[Array]:
    """Tangents of the values in the mask; zeros where one is nonzero only later."""
    columns = zip(xs, tangents, mask, strict=True)
    return [instantiate(d, x.type.strong()) for x, d, m in columns if m]


def dependent_carry(
    jaxpr: Jaxpr, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> Mask:
    """The carry of a body that depends on the operands in these masks, after any number
    of steps.
    """

    def step(mask: Mask) -> tuple[None, Sequence[bool]]:
        found = forward_slice(jaxpr, (*consts, *mask, *xs))
        return None, [
            type(o) is Var and o in found for o in jaxpr.outputs[: len(carry)]
        ]

    return fixpoint(carry, step)[1]


# -- forward ---------------------------------------------------------------------------


class JvpBody(NamedTuple):
    """``jaxpr`` has in each group the tangents after the values.

    ``carry`` and ``ys`` are masks of the carry, and of the other outputs, that have a
    tangent.
    """

    jaxpr: Jaxpr
    carry: Mask
    ys: Mask


def jvp_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, active: Mask, separate: bool = False
) -> JvpBody:
    """The body and its derivative in one (memoise on the body); with ``separate`` no
    operation computes both values and tangents.
    """
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(active)
    no_ys = (False,) * (len(jaxpr.outputs) - num_carry)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(jvp_jaxpr, (*consts, *mask, *xs), (*mask, *no_ys), separate)
        return made, made[1][:num_carry]

    (both, nonzero), carry_mask = fixpoint(carry, step)
    count = len(jaxpr.inputs)
    tangents = iter(both.inputs[count:])
    inputs: list[Var] = []
    masks = groups.split([*consts, *carry_mask, *xs])
    for values, mask in zip(groups.split(both.inputs[:count]), masks, strict=True):
        inputs += [*values, *islice(tangents, sum(mask))]
    outs, out_tangents = both.outputs[: len(nonzero)], both.outputs[len(nonzero) :]
    split = sum(carry_mask)
    outputs = [
        *outs[:num_carry],
        *out_tangents[:split],
        *outs[num_carry:],
        *out_tangents[split:],
    ]
    body = Jaxpr(inputs, both.equations, outputs, both.name)
    return JvpBody(body, carry_mask, tuple(nonzero[num_carry:]))


class LinearizedBody(NamedTuple):
    """A body in three parts.

    ``before``  takes the consts, and returns the residuals hoisted out of the loop
    ``primal``  takes these as further consts, and returns residuals as further ys
    ``linear``  takes residuals and then tangents, in the groups consts and xs

    ``const_indices`` says which of primal's consts are residuals, ``step_indices``
    where the per-step ones come from: xs (i ≥ 0), or result ``~i`` of the primal scan.
    ``carry`` and ``ys`` are masks of what has a tangent.
    """

    before: Jaxpr
    primal: Jaxpr
    linear: Jaxpr
    const_indices: list[int]
    step_indices: list[int]
    carry: Mask
    ys: Mask


def linearize_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, active: Mask
) -> LinearizedBody:
    """The body, split into a primal and a linear one (memoise on the body)."""
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(active)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        split = jaxpr.memo(linearize_jaxpr, (*consts, *mask, *xs))
        return split, split.nonzero[:num_carry]

    split, carry_mask = fixpoint(carry, step)
    nonzero = (*carry_mask, *split.nonzero[num_carry:])
    residuals = _Residuals(split, groups, len(jaxpr.outputs))
    types = [t.strong() for t in select(jaxpr.out_types, nonzero)]
    linear = instantiate_zeros(split.linear, select(split.nonzero, nonzero), types)
    return LinearizedBody(
        residuals.before(),
        residuals.primal(),
        residuals.linear(linear, [sum(mask) for mask in (consts, carry_mask, xs)]),
        list(residuals.loop_invariant.values()),
        list(residuals.per_step.values()),
        carry_mask,
        nonzero[num_carry:],
    )


class _Residuals:
    """The residuals of a step: their sources, and their indices in the linear body.

    A residual that depends on consts alone is loop-invariant: it is hoisted, computed
    once before the loop. The others are stacked, unless they are elements of xs or ys
    and so are stacked already.
    """

    def __init__(
        self, split: LinearizedProgram[Jaxpr], groups: Groups, count: int
    ) -> None:
        body = split.primal
        self.body, self.groups, self.count = body, groups, count
        #: with their indices: the results of ``before``, and further ys of each step
        self.hoisted: dict[Var, int] = {}
        self.stacked: dict[Var, int] = {}
        #: by number of the residual: its index among primal's consts
        self.loop_invariant: dict[int, int] = {}
        #: by number of the residual: its index among xs, or ``~i`` for results
        self.per_step: dict[int, int] = {}
        mask = [i >= groups.start for i in range(len(body.inputs))]
        changing = forward_slice(body, mask, impure=True)
        for r, index in enumerate(split.residual_sources):
            var = body.inputs[index] if index >= 0 else body.outputs[~index]
            if 0 <= index < groups.start:
                self.loop_invariant[r] = index
            elif var not in changing:
                position = self.hoisted.setdefault(var, len(self.hoisted))
                self.loop_invariant[r] = groups.start + position
            elif index >= groups.end:
                self.per_step[r] = index - groups.end
            elif groups.end - groups.start <= ~index < count:
                self.per_step[r] = index
            else:
                position = self.stacked.setdefault(var, len(self.stacked))
                self.per_step[r] = ~(count + position)

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
        rest = iter(linear.inputs[len(self.loop_invariant) + len(self.per_step) :])
        consts, carry, xs = [[*islice(rest, count)] for count in tangents]
        loop_invariant = [linear.inputs[r] for r in self.loop_invariant]
        per_step = [linear.inputs[r] for r in self.per_step]
        inputs = [*loop_invariant, *consts, *carry, *per_step, *xs]
        return Jaxpr(inputs, linear.equations, linear.outputs, linear.name)


# -- checkpoints -----------------------------------------------------------------------


def partition_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, later: Mask, policy: Policy
) -> tuple[Partition, int, int]:
    """The body in two parts, and how many consts and how much of the carry the second
    has (memoise on the body).

    The steps run again with as much of the carry as they need.
    """
    groups = Groups(num_consts, num_carry)
    ys = later[num_carry:]
    keepable = (*[False] * num_carry, *[True] * len(ys))
    count = len(jaxpr.inputs)

    def step(carry_mask: Mask) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(partition, (*carry_mask, *ys), policy, keepable)
        return made, groups.split(made.reads(count))[1]

    made, carry_mask = fixpoint(later[:num_carry], step)
    consts, read, xs = groups.split(made.reads(count))
    inputs = iter(made.recompute.inputs)
    const_inputs = [next(inputs) for r in consts if r]
    pairs = zip(groups.split(jaxpr.in_types)[1], read, strict=True)
    carry_inputs = select([next(inputs) if r else Var(t) for t, r in pairs], carry_mask)
    body = made.recompute
    recompute = Jaxpr(
        [*const_inputs, *carry_inputs, *inputs], body.equations, body.outputs, body.name
    )
    reads = indices([*consts, *carry_mask, *xs])
    parts = Partition(
        made.forward,
        recompute,
        (*reads, *[~k for k in made.saved]),
        (*carry_mask, *made.gives[num_carry:]),
    )
    return parts, sum(consts), sum(carry_mask)


# -- backward --------------------------------------------------------------------------


class TransposedBody(NamedTuple):
    """A linear body backwards, in two parts.

    ``forward``  the part that is not linear: takes the known operands of each group,
                 returns the known carry and, as ys, its value before each step
    ``jaxpr``    consts: the known ones; carry: cotangents of consts and of the carry;
                 xs: the known carry, the known xs, and cotangents of ys. Its ys are
                 cotangents of xs.

    ``consts``, ``carry`` and ``xs`` are masks of what has a cotangent, ``known_carry``
    of the carry that depends on nothing linear. ``products`` are, for each const with a
    cotangent, the products after the loop that compute it, whose factors are the last
    ys; None where the cotangent is accumulated in the loop.
    """

    forward: Jaxpr
    jaxpr: Jaxpr
    consts: Mask
    carry: Mask
    xs: Mask
    known_carry: Mask
    products: tuple[tuple[Product, ...] | None, ...]


def transpose_body(
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    linear: Mask,
    nonzero_cts: Mask,
    stacks: bool = True,
) -> TransposedBody:
    """The linear body backwards (memoise on the body).

    ``linear`` is a mask of the operands of the scan, ``nonzero_cts`` of its results
    that have a cotangent. A loop that ``stacks`` nothing has no products after it.
    """
    groups = Groups(num_consts, num_carry)
    consts, carry, xs = groups.split(linear)

    linear_carry = dependent_carry(jaxpr, consts, carry, xs)
    linear = (*consts, *linear_carry, *xs)

    def step(cts_out: Mask) -> tuple[Any, Sequence[bool]]:
        nonzero = (*cts_out, *nonzero_cts[num_carry:])
        made = jaxpr.memo(transpose_jaxpr, linear, nonzero)
        return made, groups.split(made[1])[1]

    cts_out = [
        g and m for g, m in zip(nonzero_cts[:num_carry], linear_carry, strict=True)
    ]
    (program, nonzero), carry_mask = fixpoint(cts_out, step)
    const_mask, _, x_mask = groups.split(nonzero)
    cts_in = [*const_mask, *carry_mask, *x_mask]
    full = instantiate_zeros(
        program,
        select(nonzero, cts_in),
        [t.strong() for t in select(jaxpr.in_types, cts_in)],
    )
    known = [[not m for m in group] for group in groups.split(linear)]
    sizes = [sum(group) for group in known]
    made = Factored(full, (None,) * sum(const_mask))
    if stacks:
        made = _with_products(full, sum(const_mask), sizes, sum(carry_mask))
    accumulated = made.products.count(None)
    return TransposedBody(
        _known_part(jaxpr, known, groups),
        _accumulating(made.program, sizes, accumulated, sum(carry_mask)),
        tuple(const_mask),
        carry_mask,
        tuple(x_mask),
        tuple(known[1]),
        made.products,
    )


def _with_products(
    program: Jaxpr, num_sums: int, known: Sequence[int], num_carry: int
) -> Factored:
    """The body without the sums that products after the loop can compute."""
    loop_invariant, rest = program.inputs[: known[0]], program.inputs[known[0] :]
    start = known[1] + known[2]
    per_step = [*rest[:start], *rest[start + num_carry :]]
    return factor_sums(program, num_sums, loop_invariant, per_step)


def _accumulating(
    program: Jaxpr, known: Sequence[int], num_sums: int, num_carry: int
) -> Jaxpr:
    """The body of a scan in which the first outputs of ``program`` are accumulated.

    ``known`` counts, by group, the inputs that are not cotangents; those come first.
    """
    inputs = iter(program.inputs)
    consts, known_carry, xs = [[*islice(inputs, count)] for count in known]
    carry = [*islice(inputs, num_carry)]
    equations, before, after = list(program.equations), [], []
    for cotangent in program.outputs[:num_sums]:
        type_ = cotangent.type.strong()
        total, total_after = Var(type_), Var(type_)
        equations.append(Equation(add, [total, cotangent], [total_after], None))
        before.append(total)
        after.append(total_after)
    return Jaxpr(
        [*consts, *before, *carry, *known_carry, *xs, *inputs],
        equations,
        [*after, *program.outputs[num_sums:]],
        program.name,
    )


def _known_part(jaxpr: Jaxpr, known: Sequence[Sequence[bool]], groups: Groups) -> Jaxpr:
    """The nonlinear part of a body: the known carry after a step, and before it."""
    inputs = select(jaxpr.inputs, [m for group in known for m in group])
    _, carry, _ = groups.split(jaxpr.inputs)
    before = select(carry, known[1])
    after = select(jaxpr.outputs[: len(carry)], known[1])
    outputs = [*after, *before]
    equations = needed_equations(jaxpr.equations, outputs)
    return Jaxpr(inputs, equations, outputs, f"{jaxpr.name}_known")
