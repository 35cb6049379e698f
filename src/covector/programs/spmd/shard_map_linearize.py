"""Linearize and partition the body of a ``shard_map``, and carry residuals across.

The primal and the linear part are two operations, so the residuals between them are
global arrays in between. A residual that varies leaves with a new leading axis, sharded
over all mesh axes that it varies over; the linear part removes it. An operand, or an
operand that was cast, does not leave: the linear part takes the operand again.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.masks import Mask
from covector.core.sharding.spec import PartitionSpec
from covector.core.source import user_line
from covector.core.types import ArrayType
from covector.operations.collectives import PVary
from covector.operations.transposing import Reshape
from covector.programs.higher_order.partition import Partition, Policy, partition
from covector.programs.spmd.manual import ManualAxes
from covector.transforms.linearize import LinearizedProgram, linearize_jaxpr

Specs = tuple[PartitionSpec, ...]


def linearize_manual(
    jaxpr: Jaxpr, manual: ManualAxes, active: Mask
) -> tuple[LinearizedProgram[Jaxpr], Specs]:
    """The two parts of a program, and the specs of the outputs that were added (memoise
    on the program).
    """
    with manual.inside():
        split = jaxpr.memo(linearize_jaxpr, active, "_jvp")
    return _with_frames(len(jaxpr.outputs), manual, split)


def partition_manual(
    jaxpr: Jaxpr, manual: ManualAxes, later: Mask, policy: Policy
) -> tuple[Partition, Specs]:
    """The forward and the recomputed part of a program per device, and the specs of the
    outputs that were added (memoise on the program).
    """
    with manual.inside():
        made = jaxpr.memo(partition, later, policy, (True,) * len(later))
    return _with_frames(len(jaxpr.outputs), manual, made)


Parts = TypeVar("Parts", LinearizedProgram[Jaxpr], Partition)


def _with_frames(count: int, manual: ManualAxes, parts: Parts) -> tuple[Parts, Specs]:
    """Both parts of a program with ``count`` outputs, changed to pass their residuals
    between them as global arrays, and the specs of the outputs that were added.
    """
    primal, linear, sources, mask = parts
    if manual.checked:
        sources = tuple(_nearest(primal, sources))
    # Where types do not say what varies, a result may be another on each device, and
    # the whole array does not say what this device had: it leaves a second time.
    first = count if manual.checked else 0
    passed = sorted({~i for i in sources if i < 0 and ~i >= first})
    over = [_axes_of(primal.out_types[k], manual) for k in passed]
    final = [~(count + passed.index(~i)) if ~i in passed else i for i in sources]
    framed = [i < 0 and ~i >= count and bool(over[~i - count]) for i in final]
    pairs = zip(final, framed, linear.in_types, strict=False)
    passed_on = [
        primal.in_types[i] if i >= 0 else t.with_axis(0, 1) if f else t
        for i, f, t in pairs
    ]
    made = _leaving_in_frames(primal, count, passed, over)
    back = _entering_from(passed_on, linear)
    specs = tuple([PartitionSpec(axes) if axes else PartitionSpec() for axes in over])
    return type(parts)(made, back, tuple(final), mask), specs


def _leaving_in_frames(
    primal: Jaxpr, count: int, passed: Sequence[int], over: Sequence[tuple[Any, ...]]
) -> Jaxpr:
    """The program with the outputs ``passed`` after its first ``count``; those that
    vary, ``over`` some axes, have an axis more.
    """
    equations, extra, line = list(primal.equations), [], user_line()
    for k, axes in zip(passed, over, strict=True):
        x = primal.outputs[k]
        if axes:
            framed = Var(x.type.with_axis(0, 1))
            equations.append(Equation(Reshape(framed.type.shape), [x], [framed], line))
            x = framed
        extra.append(x)
    outputs = [*primal.outputs[:count], *extra]
    return Jaxpr(primal.inputs, equations, outputs, primal.name)


def _entering_from(types: Sequence[ArrayType], linear: Jaxpr) -> Jaxpr:
    """The program with first inputs of these types, where they have an axis more than
    its own, or vary over fewer.
    """
    equations, inputs, line = [], list(linear.inputs), user_line()
    for k, (given, x) in enumerate(zip(types, linear.inputs, strict=False)):
        missing = x.type.varying - given.varying
        if given.ndim == x.type.ndim and not missing:
            continue
        op = PVary(missing) if missing else Reshape(x.type.shape)
        inputs[k] = Var(given)
        equations.append(Equation(op, [inputs[k]], [x], line))
    equations += linear.equations
    return Jaxpr(inputs, equations, linear.outputs, linear.name)


def _nearest(primal: Jaxpr, sources: Sequence[int]) -> list[int]:
    """The sources of residuals: an operand where one is that, or that operand cast."""
    operands: dict[Any, int] = {v: k for k, v in enumerate(primal.inputs)}

    def operand(atom: Atom, otherwise: int) -> int:
        return operands.get(atom, otherwise) if type(atom) is Var else otherwise

    for e in primal.equations:
        if isinstance(e.op, PVary):
            found = operand(e.inputs[0], -1)
            if found >= 0:
                operands[e.outputs[0]] = found
    return [i if i >= 0 else operand(primal.outputs[~i], i) for i in sources]


def _axes_of(type: ArrayType, manual: ManualAxes) -> tuple[Any, ...]:
    return manual.order(type.varying if manual.checked else manual.axes)
