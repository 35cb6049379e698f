"""The bodies of the scans that are the derivatives of a scan.

    jvp         body and derivative side by side, nothing kept
    linearize   a body that also returns the residuals of each step, and the linear body
                that takes them
    transpose   a linear body run backwards: the cotangents of the carry are its carry,
                and those of the consts are accumulated in it

``Scan`` knows nothing of how these are made. It asks here, and arranges its operands.
"""

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations, replaced
from covector.core.masks import Mask, drop, fixpoint, in_groups, indices, merge, select
from covector.operations.arithmetic import add
from covector.programs.control_flow.recomputation import Recomputed, computed_again
from covector.programs.control_flow.weight_gradients import (
    Factored,
    Product,
    factor_sums,
)
from covector.programs.higher_order.jaxpr_passes import (
    forward_slice,
    instantiate_zeros,
    jvp_jaxpr,
    needed_part,
)
from covector.programs.higher_order.partition import Partition, Policy, partition
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr


def dependent_carry(
    jaxpr: Jaxpr, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool]
) -> Mask:
    """The carry of a body that depends on the operands in these masks, after any number
    of steps.
    """

    def step(mask: Mask) -> tuple[None, Sequence[bool]]:
        found = forward_slice(jaxpr, (*consts, *mask, *xs))
        after = jaxpr.outputs[: len(carry)]
        return None, [type(o) is Var and o in found for o in after]

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
    sizes = num_consts, num_carry
    consts, carry, xs = in_groups(active, *sizes)
    no_ys = (False,) * (len(jaxpr.outputs) - num_carry)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(jvp_jaxpr, (*consts, *mask, *xs), (*mask, *no_ys), separate)
        return made, made[1][:num_carry]

    (both, nonzero), carry_mask = fixpoint(carry, step)
    values, tangents = in_groups(both.inputs, len(jaxpr.inputs))
    masks = (consts, carry_mask, xs)
    of_groups = in_groups(tangents, *map(sum, masks))
    pairs = zip(in_groups(values, *sizes), of_groups, strict=False)
    inputs = [v for values, moves in pairs for v in (*values, *moves)]
    sizes = num_carry, len(nonzero) - num_carry, sum(carry_mask)
    after, ys, of_carry, of_ys = in_groups(both.outputs, *sizes)
    outputs = [*after, *of_carry, *ys, *of_ys]
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
    consts, carry, xs = in_groups(active, num_consts, num_carry)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        split = jaxpr.memo(linearize_jaxpr, (*consts, *mask, *xs))
        return split, split.nonzero[:num_carry]

    split, carry_mask = fixpoint(carry, step)
    nonzero = (*carry_mask, *split.nonzero[num_carry:])
    types = [t.strong() for t in select(jaxpr.out_types, nonzero)]
    linear = instantiate_zeros(split.linear, select(split.nonzero, nonzero), types)
    counts, num_tangents = (num_consts, num_carry), (sum(consts), sum(carry_mask))
    parts = split._replace(linear=linear)
    masks = carry_mask, nonzero[num_carry:]
    return _with_residuals(parts, len(jaxpr.outputs), counts, num_tangents, masks)


def _with_residuals(
    split: LinearizedProgram[Jaxpr],
    count: int,
    counts: tuple[int, int],
    num_tangents: tuple[int, int],
    masks: tuple[Mask, Mask],
) -> LinearizedBody:
    """Both parts of a body with ``count`` outputs as bodies. ``counts`` are of consts
    and carry, ``num_tangents`` of those that have one.

    A residual that depends on consts alone is loop-invariant: it is hoisted, computed
    once before the loop. The others are stacked.
    """
    body, linear, (num_consts, num_carry) = split.primal, split.linear, counts
    const_vars, carry_vars, x_vars = in_groups(body.inputs, num_consts, num_carry)
    residuals = split.residuals(body.inputs, body.outputs)
    after_consts = [i >= num_consts for i in range(len(body.inputs))]
    changing = forward_slice(body, after_consts, impure=True)
    invariant = [v not in changing for v in residuals]
    known = {v: k for k, v in enumerate(const_vars)}
    hoisted = [v for v in select(residuals, invariant) if v not in known]
    known |= {v: num_consts + k for k, v in enumerate(hoisted)}
    # An element of xs or ys is stacked already.
    ys = enumerate(body.outputs[num_carry:count], num_carry)
    stacked = {v: ~k for k, v in ys if type(v) is Var}
    stacked |= {v: k for k, v in enumerate(x_vars)}
    further = [v for v in drop(residuals, invariant) if v not in stacked]
    recomputed = computed_again(body, further, {*known, *stacked})
    further = recomputed.saved
    stacked |= {v: ~(count + k) for k, v in enumerate(further)}
    outputs = [*body.outputs[:count], *further]
    pure = [e for e in body.equations if e.op.pure]
    before = needed_equations(pure, hoisted)
    rest = needed_equations(body.equations, outputs, hoisted)
    reads, linear = _with_recomputation(
        linear, residuals, recomputed, num_tangents, known
    )
    return LinearizedBody(
        Jaxpr(const_vars, before, hoisted, f"{body.name}_before"),
        Jaxpr([*const_vars, *hoisted, *carry_vars, *x_vars], rest, outputs, body.name),
        linear,
        [known[v] for v in reads if v in known],
        [stacked[v] for v in reads if v not in known],
        *masks,
    )


def _with_recomputation(
    linear: Jaxpr,
    residuals: Sequence[Var],
    recomputed: Recomputed,
    num_tangents: tuple[int, int],
    known: Container[Var],
) -> tuple[list[Var], Jaxpr]:
    """The variables of a body that its linear part reads if it computes some of its
    residuals again, and that part: first the known ones, which stand before the
    tangents of consts and carry, then the others, before those of xs.
    """
    sizes = len(residuals), *num_tangents
    inputs, of_consts, of_carry, of_xs = in_groups(linear.inputs, *sizes)
    names: dict[Var, Var] = {}
    twice: dict[Var, Var] = {}
    for v, name in zip(residuals, inputs, strict=True):
        if names.setdefault(v, name) is not name:
            twice[name] = names[v]
    equations = [
        Equation(e.op, replaced(twice, e.inputs), e.outputs, e.line)
        for e in [*recomputed.renamed(names), *linear.equations]
    ]
    made = {v for e in recomputed.equations for v in e.outputs}
    reads = [v for v in names if v not in made]
    before = [names[v] for v in reads if v in known]
    others = [names[v] for v in reads if v not in known]
    inputs = [*before, *of_consts, *of_carry, *others, *of_xs]
    outputs = replaced(twice, linear.outputs)
    return reads, Jaxpr(inputs, equations, outputs, linear.name)


# -- checkpoints -----------------------------------------------------------------------


def partition_body(
    jaxpr: Jaxpr, num_consts: int, num_carry: int, later: Mask, policy: Policy
) -> tuple[Partition, int, int]:
    """The body in two parts, and how many consts and how much of the carry the second
    has (memoise on the body).

    The steps run again with as much of the carry as they need.
    """
    sizes, ys = (num_consts, num_carry), later[num_carry:]
    keepable = (*[False] * num_carry, *[True] * len(ys))
    count = len(jaxpr.inputs)

    def step(carry_mask: Mask) -> tuple[Any, Sequence[bool]]:
        made = jaxpr.memo(partition, (*carry_mask, *ys), policy, keepable)
        return made, in_groups(made.reads(count), *sizes)[1]

    made, carry_mask = fixpoint(later[:num_carry], step)
    consts, read, xs = in_groups(made.reads(count), *sizes)
    body = made.recompute
    of_consts, of_carry, rest = in_groups(body.inputs, sum(consts), sum(read))
    unread = map(Var, in_groups(jaxpr.in_types, *sizes)[1])
    of_carry = select(merge(of_carry, read, unread), carry_mask)
    inputs = [*of_consts, *of_carry, *rest]
    recompute = Jaxpr(inputs, body.equations, body.outputs, body.name)
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
    sizes = num_consts, num_carry
    consts, carry, xs = in_groups(linear, *sizes)
    linear_carry = dependent_carry(jaxpr, consts, carry, xs)
    linear = (*consts, *linear_carry, *xs)

    def step(cts_out: Mask) -> tuple[Any, Sequence[bool]]:
        nonzero = (*cts_out, *nonzero_cts[num_carry:])
        made = jaxpr.memo(transpose_jaxpr, linear, nonzero)
        return made, in_groups(made[1], *sizes)[1]

    cts_out = [
        g and m for g, m in zip(nonzero_cts[:num_carry], linear_carry, strict=True)
    ]
    (program, nonzero), carry_mask = fixpoint(cts_out, step)
    const_mask, _, x_mask = in_groups(nonzero, *sizes)
    cts_in = [*const_mask, *carry_mask, *x_mask]
    full = instantiate_zeros(
        program,
        select(nonzero, cts_in),
        [t.strong() for t in select(jaxpr.in_types, cts_in)],
    )
    known = [[not m for m in group] for group in (consts, linear_carry, xs)]
    counts = [sum(group) for group in known]
    made = Factored(full, (None,) * sum(const_mask))
    if stacks:
        made = _with_products(full, sum(const_mask), counts, sum(carry_mask))
    accumulated = made.products.count(None)
    before = select(in_groups(jaxpr.inputs, *sizes)[1], known[1])
    after = select(jaxpr.outputs[:num_carry], known[1])
    return TransposedBody(
        needed_part(jaxpr, [m for group in known for m in group], [*after, *before]),
        _accumulating(made.program, counts, accumulated, sum(carry_mask)),
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
    sizes = known[0], known[1] + known[2], num_carry
    loop_invariant, stacked, _, y_cts = in_groups(program.inputs, *sizes)
    return factor_sums(program, num_sums, loop_invariant, [*stacked, *y_cts])


def _accumulating(
    program: Jaxpr, known: Sequence[int], num_sums: int, num_carry: int
) -> Jaxpr:
    """The body of a scan in which the first outputs of ``program`` are accumulated.

    ``known`` counts, by group, the inputs that are not cotangents; those come first.
    """
    sizes = *known, num_carry
    consts, known_carry, xs, carry, y_cts = in_groups(program.inputs, *sizes)
    equations, before, after = list(program.equations), [], []
    for cotangent in program.outputs[:num_sums]:
        type_ = cotangent.type.strong()
        total, total_after = Var(type_), Var(type_)
        equations.append(Equation(add, [total, cotangent], [total_after], None))
        before.append(total)
        after.append(total_after)
    return Jaxpr(
        [*consts, *before, *carry, *known_carry, *xs, *y_cts],
        equations,
        [*after, *program.outputs[num_sums:]],
        program.name,
    )
