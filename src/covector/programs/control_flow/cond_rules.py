"""Passes on the branches of ``cond``: linearize, transpose and partition them together.

Branches may come to differ in their outputs (a tangent of one and none of another,
different residuals, values that a checkpoint saves); missing outputs are filled with
zeros, so that all branches keep the same type. Since only one branch runs, residuals
of equal type share an output slot.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, Var
from covector.core.masks import Mask, indices, select
from covector.core.types import INVARIANT, ArrayType, show_types
from covector.core.varying import Axes
from covector.errors import TypeMismatch
from covector.programs.control_flow.divergent_control_flow import make_varying
from covector.programs.higher_order.jaxpr_passes import instantiate_zeros
from covector.programs.higher_order.partition import (
    Partition,
    Policy,
    partition,
)
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
    slots: list[ArrayType] = []
    sources: list[int] = []
    primals, residuals = [], []
    for split in splits:
        extra = split.primal.out_types[count:]
        taken = _allocate(extra, slots)
        primals.append((split.primal, taken))
        wanted = [
            p if p >= -count else ~(count + taken[~p - count])
            for p in split.residual_sources
        ]
        residuals.append(_allocate(wanted, sources))
    slotted = [_with_slots(p, count, taken, slots) for p, taken in primals]
    columns = zip(*[s.primal.out_types[:count] for s in splits], strict=True)
    out_types = [*map(common_type, columns)]
    types = [
        first.inputs[p].type if p >= 0 else [*out_types, *slots][~p] for p in sources
    ]
    tangent_types = [t.strong() for t in select(out_types, nonzero)]
    linear = []
    for split, numbers in zip(splits, residuals, strict=True):
        given = select(split.nonzero, nonzero)
        full = instantiate_zeros(split.linear, given, tangent_types)
        linear.append(_with_residuals(full, numbers, types))
    if varying:
        # What a device has for a residual depends on the branch that it took.
        slotted = [make_varying(p, varying) for p in slotted]
        linear = [make_varying(p, varying) for p in linear]
    return LinearizedProgram(tuple(slotted), tuple(linear), tuple(sources), nonzero)


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
    first: Jaxpr, rest: Branches, later: Mask, policy: Policy
) -> Partition:
    """The partitioned branches: values they save share slots, and a branch without one
    gives zeros (memoise on the first branch).
    """
    count = len(later)
    made = [b.memo(partition, later, policy, (False,) * count) for b in (first, *rest)]
    slots: list[ArrayType] = []
    taken = [_allocate(m.forward.out_types[count:], slots) for m in made]
    masks = [m.reads(len(first.inputs)) for m in made]
    reads = [any(column) for column in zip(*masks, strict=True)]
    forward, recompute = [], []
    for m, mask, numbers in zip(made, masks, taken, strict=True):
        forward.append(_with_slots(m.forward, count, numbers, slots))
        inputs = iter(m.recompute.inputs)
        pairs = zip(first.inputs, mask, strict=True)
        known = [next(inputs) if r else Var(v.type) for v, r in pairs]
        kept = [Var(t) for t in slots]
        for k, v in zip(m.saved, inputs, strict=True):
            kept[numbers[k - count]] = v
        body = m.recompute
        recompute.append(
            Jaxpr(
                [*select(known, reads), *kept], body.equations, body.outputs, body.name
            )
        )
    sources = (*indices(reads), *[~(count + k) for k in range(len(slots))])
    return Partition(tuple(forward), tuple(recompute), sources, later)


# -- slots -----------------------------------------------------------------------------


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
    in_order = [residuals[k] for k in sorted(residuals)]
    ordered = Jaxpr(
        primal.inputs,
        primal.equations,
        [*primal.outputs[:count], *in_order],
        primal.name,
    )
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
