"""Passes on the branches of ``cond``: linearize, transpose and partition them together.

Branches may come to differ in their outputs (a tangent of one and none of another,
different residuals, values that a checkpoint saves); missing outputs are filled with
zeros, so that all branches keep the same type. Since only one branch runs, residuals
of equal type share an output slot.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, Var
from covector.core.masks import Mask, at_sources, select
from covector.core.types import INVARIANT, ArrayType, show_types
from covector.core.varying import Axes
from covector.errors import TypeMismatch
from covector.programs.control_flow.divergent_control_flow import make_varying
from covector.programs.higher_order.jaxpr_passes import instantiate_zeros
from covector.programs.higher_order.partition import Partition, Policy, partition
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr

Branches = tuple[Jaxpr, ...]


def common_type(types: Sequence[ArrayType]) -> ArrayType:
    """The common type of one result of all branches."""
    varying = INVARIANT.union(*[t.varying for t in types])
    types = [t.with_varying(varying) for t in types]
    first = types[0]
    if any([t.strong() is not first.strong() for t in types]):
        raise TypeMismatch(
            f"the branches of cond must give one type, but give {show_types(types)}."
        )
    return first if all([t.weak for t in types]) else first.strong()


def linearize_branches(
    first: Jaxpr, rest: Branches, active: Mask, varying: Axes
) -> LinearizedProgram[Branches]:
    """The derivative of a choice is the same choice among the derivatives (memoise on
    the first branch).
    """
    splits = [b.memo(linearize_jaxpr, active) for b in (first, *rest)]
    count = len(first.outputs)
    nonzero = tuple([any(c) for c in zip(*[s.nonzero for s in splits], strict=True)])
    columns = zip(*[s.primal.out_types[:count] for s in splits], strict=True)
    out_types = [*map(common_type, columns)]
    tangent_types = [t.strong() for t in select(out_types, nonzero)]
    linear = [
        instantiate_zeros(s.linear, select(s.nonzero, nonzero), tangent_types)
        for s in splits
    ]
    sources = [s.residual_sources for s in splits]
    primal = [s.primal for s in splits]
    parts = _with_common_residuals(primal, linear, sources, out_types, varying)
    return LinearizedProgram(*parts, nonzero)


def transpose_branches(
    first: Jaxpr, rest: Branches, linear: Mask, given: Mask
) -> tuple[Branches, Mask]:
    """The transposed branches, and which cotangents all of them give (memoise on the
    first branch).
    """
    pairs = [b.memo(transpose_jaxpr, linear, given) for b in (first, *rest)]
    nonzero = tuple([any(c) for c in zip(*[z for _, z in pairs], strict=True)])
    types = [t.strong() for t in select(first.in_types, nonzero)]
    branches = [instantiate_zeros(p, select(z, nonzero), types) for p, z in pairs]
    return tuple(branches), nonzero


def partition_branches(
    first: Jaxpr, rest: Branches, later: Mask, policy: Policy, varying: Axes
) -> Partition:
    """The partitioned branches (memoise on the first branch)."""
    count = len(later)
    made = [b.memo(partition, later, policy, (False,) * count) for b in (first, *rest)]
    forward, recompute, sources, _ = zip(*made, strict=True)
    parts = _with_common_residuals(
        forward, recompute, sources, first.out_types, varying
    )
    return Partition(*parts, later)


# -- slots -----------------------------------------------------------------------------


def _with_common_residuals(
    forward: Sequence[Jaxpr],
    later: Sequence[Jaxpr],
    sources: Sequence[Sequence[int]],
    out_types: Sequence[ArrayType],
    varying: Axes,
) -> tuple[Branches, Branches, tuple[int, ...]]:
    """Both parts of all branches, with residuals of all of them, and their sources: a
    branch without one gives zeros, and does not read it.

    With a predicate that is ``varying``, what a device has for a residual depends on
    the branch that it took.
    """
    count = len(out_types)
    slots: list[ArrayType] = []
    common: list[int] = []
    slotted, indices = [], []
    for program, wanted in zip(forward, sources, strict=True):
        taken = _allocate(program.out_types[count:], slots)
        slotted.append((program, taken))
        renamed = [p if p >= -count else ~(count + taken[~p - count]) for p in wanted]
        indices.append(_allocate(renamed, common))
    first = [_with_slots(p, count, taken, slots) for p, taken in slotted]
    types = at_sources(common, forward[0].in_types, [*out_types, *slots])
    second = [_with_residuals(*p, types) for p in zip(later, indices, strict=True)]
    if varying:
        first, second = [
            [make_varying(p, varying) for p in part] for part in (first, second)
        ]
    return tuple(first), tuple(second), tuple(common)


def _allocate(wanted: Sequence[Any], slots: list[Any]) -> list[int]:
    """For each thing wanted the index of an equal one, none twice; ``slots`` grows
    where there are too few.
    """
    free: dict[Any, list[int]] = {}
    for i in reversed(range(len(slots))):
        free.setdefault(slots[i], []).append(i)
    taken = []
    for thing in wanted:
        if not free.get(thing):
            free[thing] = [len(slots)]
            slots.append(thing)
        taken.append(free[thing].pop())
    return taken


def _with_slots(
    primal: Jaxpr, count: int, taken: Sequence[int], slots: Sequence[ArrayType]
) -> Jaxpr:
    """A primal program whose residuals lie in these slots, with zeros in the others."""
    residuals = dict(zip(taken, primal.outputs[count:], strict=True))
    outputs = [*primal.outputs[:count], *[residuals[k] for k in sorted(residuals)]]
    ordered = Jaxpr(primal.inputs, primal.equations, outputs, primal.name)
    given = [True] * count + [k in residuals for k in range(len(slots))]
    return instantiate_zeros(ordered, given, [*primal.out_types[:count], *slots])


def _with_residuals(
    linear: Jaxpr, placement: Sequence[int], types: Sequence[ArrayType]
) -> Jaxpr:
    """A linear program that takes the residuals of all branches, and reads its own."""
    inputs = [Var(t) for t in types]
    for v, index in zip(linear.inputs, placement, strict=False):
        inputs[index] = v
    tangents = linear.inputs[len(placement) :]
    return Jaxpr([*inputs, *tangents], linear.equations, linear.outputs, linear.name)
