"""What the bodies of loops and branches need done to them before they can be carried.

A loop needs a body whose results have exactly the types of its carry, branches need
results in the same places. These passes add the conversions and the zeros that make it
so, and say which results of a body depend on which of its inputs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var, run
from covector.core.masks import scatter
from covector.core.primitive import Primitive
from covector.core.staging import restage
from covector.core.types import INVARIANT, ArrayType
from covector.ops.broadcasting import BroadcastInDim, zeros
from covector.ops.casting import ConvertElementType
from covector.ops.collectives import PVary
from covector.ops.selection import select_n
from covector.transforms.linearize import jvp_flat, linearize_jaxpr


def converted(jaxpr: Jaxpr, types: Sequence[ArrayType]) -> Jaxpr:
    """The program with its outputs converted to these types, of the same shapes."""
    if jaxpr.out_types == tuple(types):
        return jaxpr
    equations, outputs = list(jaxpr.equations), []
    for atom, type_ in zip(jaxpr.outputs, types, strict=True):
        out = atom
        same = type_.with_varying(out.type.varying)
        if out.type is not same:
            convert = ConvertElementType(type_.dtype, type_.weak)
            out = _appended(equations, convert, out, same)
        if out.type is not type_:
            missing = type_.varying - out.type.varying
            out = _appended(equations, PVary(missing), out, type_)
        outputs.append(out)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def _appended(
    equations: list[Equation], op: Primitive, atom: Any, type: ArrayType
) -> Var:
    out = Var(type)
    equations.append(Equation(op, [atom], [out], None))
    return out


def with_zeros(
    jaxpr: Jaxpr, given: Sequence[bool], types: Sequence[ArrayType]
) -> Jaxpr:
    """The program with an output of each type: its own where ``given``, zeros
    elsewhere.

    The zeros of a random key are a key like any other, of which no use is made.
    """
    if all(given):
        return jaxpr
    equations, outputs = list(jaxpr.equations), []
    found = iter(jaxpr.outputs)
    for is_given, type_ in zip(given, types, strict=True):
        if is_given:
            outputs.append(next(found))
            continue
        scalar = ArrayType((), type_.dtype, type_.weak)
        zero = ConcreteArray(scalar, np.zeros((), type_.storage))
        same = type_.with_varying(INVARIANT)
        out = _appended(equations, BroadcastInDim(type_.shape, ()), zero, same)
        if type_.varying:
            out = _appended(equations, PVary(type_.varying), out, type_)
        outputs.append(out)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def dependent(
    jaxpr: Jaxpr, marked: Sequence[bool], *, impure: bool = False
) -> set[Var]:
    """The marked inputs, and all variables that are computed from any of them.

    With ``impure``, also what must be run each time, and all that is computed from it.
    """
    found = {v for v, m in zip(jaxpr.inputs, marked, strict=True) if m}
    for equation in jaxpr.equations:
        if (impure and not equation.op.pure) or not found.isdisjoint(
            [a for a in equation.inputs if type(a) is Var]
        ):
            found.update(equation.outputs)
    return found


def forwarded(programs: Sequence[Jaxpr], outputs: range) -> list[int | None]:
    """For each of these outputs, the input that all programs give there as it is."""
    found = []
    for k in outputs:
        first, *others = [p.outputs[k] for p in programs]
        inputs = programs[0].inputs
        i = inputs.index(first) if first in inputs else None
        same = i is not None and all(
            [p.inputs[i] is o for p, o in zip(programs[1:], others, strict=True)]
        )
        found.append(i if same else None)
    return found


def jvp_jaxpr(
    jaxpr: Jaxpr,
    active: tuple[bool, ...],
    force: tuple[bool, ...],
    apart: bool = False,
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The program beside its derivative (memoise on the program), and what moves.

    It takes the inputs, then a tangent for each ``active`` one; it gives the outputs,
    then a tangent for each that the second result marks: those that ``force`` marks
    among them. ``apart``, it can be transposed: no operation has a part in both.
    """
    moving: list[bool] = []
    count = len(jaxpr.inputs)

    def beside(*values: Any) -> list[Any]:
        tangents = scatter(values[count:], active)
        both = _both_apart if apart else _both_at_once
        outs, moved = both(jaxpr, values[:count], tangents)
        moved = [
            zeros(t.strong()) if d is None and f else d
            for d, f, t in zip(moved, force, jaxpr.out_types, strict=True)
        ]
        moving[:] = [d is not None for d in moved]
        return [*outs, *[d for d in moved if d is not None]]

    tangent_types = [
        t.strong() for t, a in zip(jaxpr.in_types, active, strict=True) if a
    ]
    program = restage(beside, [*jaxpr.in_types, *tangent_types], f"{jaxpr.name}_jvp")
    return program, tuple(moving)


def _both_at_once(jaxpr: Jaxpr, primals: Any, tangents: Any) -> tuple[Any, Any]:
    return jvp_flat(lambda *xs: run(jaxpr, xs), primals, tangents, jaxpr.name)


def _both_apart(jaxpr: Jaxpr, primals: Any, tangents: Any) -> tuple[Any, Any]:
    split = jaxpr.memo(linearize_jaxpr, tuple([t is not None for t in tangents]))
    outs = run(split.primal, primals)
    given = [*split.residuals(primals, outs), *[t for t in tangents if t is not None]]
    tangents = scatter(run(split.linear, given), split.nonzero)
    return outs[: len(tangents)], tangents


def select_per_lane(index: Any, values: Sequence[Any]) -> Any:
    """For each lane of a batch, the value that its own index (or bool) chooses."""
    shape = values[0].type.shape
    if len(shape) > 1:
        index = BroadcastInDim(shape, (0,))(index)
    return select_n(index, *values)
