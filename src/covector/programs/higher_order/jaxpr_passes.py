"""Passes on programs that operations carry: cast outputs, add zeros, slice, jvp.

A loop needs a body whose results have exactly the types of its carry; branches need
the same results in the same order. These passes add the casts and the zeros for that,
and find which results of a body depend on which of its inputs.

Effects happen once, in the pass that computes the values. A recomputation (of a
checkpoint or a while loop, in reverse) runs the program ``without_effects``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    dependent,
    needed_equations,
    run,
)
from covector.core.masks import present, present_mask, scatter, select
from covector.core.primitive import Primitive
from covector.core.show import nested_programs
from covector.core.source import at_line
from covector.core.staging import restage
from covector.core.types import INVARIANT, ArrayType
from covector.errors import NotDifferentiable
from covector.operations.broadcasting import BroadcastInDim, zeros
from covector.operations.casting import ConvertElementType
from covector.operations.collectives import PVary
from covector.operations.selection import select_n
from covector.transforms.linearize import jvp_flat, linearize_jaxpr


def cast_outputs(jaxpr: Jaxpr, types: Sequence[ArrayType]) -> Jaxpr:
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
    equations: list[Equation], op: Primitive, atom: Atom, type: ArrayType
) -> Var:
    out = Var(type)
    equations.append(Equation(op, [atom], [out], None))
    return out


def with_inputs(jaxpr: Jaxpr, index: int, types: tuple[ArrayType, ...]) -> Jaxpr:
    """The program with further inputs of these types, which it ignores, from number
    ``index`` on (memoise on the program).
    """
    inputs = [*jaxpr.inputs[:index], *map(Var, types), *jaxpr.inputs[index:]]
    return Jaxpr(inputs, jaxpr.equations, jaxpr.outputs, jaxpr.name)


def instantiate_zeros(
    jaxpr: Jaxpr, mask: Sequence[bool], types: Sequence[ArrayType]
) -> Jaxpr:
    """The program with an output of each type: its outputs where the mask is true,
    zeros elsewhere.

    The zeros of a random key are a key like any other, of which no use is made.
    """
    if all(mask):
        return jaxpr
    equations, outputs = list(jaxpr.equations), []
    for out, type_ in zip(scatter(jaxpr.outputs, mask), types, strict=True):
        if out is not None:
            outputs.append(out)
            continue
        scalar = ArrayType((), type_.dtype, type_.weak)
        zero = ConcreteArray(scalar, np.zeros((), type_.storage))
        same = type_.with_varying(INVARIANT)
        zeros_ = _appended(equations, BroadcastInDim(type_.shape, ()), zero, same)
        if type_.varying:
            zeros_ = _appended(equations, PVary(type_.varying), zeros_, type_)
        outputs.append(zeros_)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def forward_slice(
    jaxpr: Jaxpr, mask: Sequence[bool], *, impure: bool = False
) -> set[Var]:
    """The inputs in the mask, and all variables that are computed from any of them.

    With ``impure``, also the results of impure operations, and what depends on them.
    """
    return dependent(jaxpr.equations, select(jaxpr.inputs, mask), impure)


def needed_part(jaxpr: Jaxpr, inputs: Sequence[bool], outputs: Sequence[Any]) -> Jaxpr:
    """The program that gives these of its atoms, which depend on no inputs but those in
    the mask.
    """
    equations = needed_equations(jaxpr.equations, outputs)
    return Jaxpr(select(jaxpr.inputs, inputs), equations, outputs, jaxpr.name)


def forwarded_inputs(programs: Sequence[Jaxpr], outputs: range) -> list[int | None]:
    """For each of these outputs, the input that all programs return there unchanged."""
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
    separate: bool,
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The program and its derivative in one (memoise on the program), and the mask of
    the outputs that have a tangent.

    It takes the inputs, then a tangent for each ``active`` one; it gives the outputs,
    then a tangent for each one in that mask, which includes ``force``. With
    ``separate`` it can be transposed: no operation computes both values and tangents.
    """
    nonzero: list[bool] = []
    count = len(jaxpr.inputs)

    def beside(*values: Value) -> list[Array]:
        primals, tangents = values[:count], scatter(values[count:], active)
        if separate:
            outs, push = jaxpr.memo(linearize_jaxpr, active).at(primals)
            out_tangents = push(*tangents)
        else:
            outs, out_tangents = jvp_flat(
                lambda *xs: run(jaxpr, xs), primals, tangents, jaxpr.name
            )
        out_tangents = [
            zeros(t.strong()) if d is None and f else d
            for d, f, t in zip(out_tangents, force, jaxpr.out_types, strict=True)
        ]
        nonzero[:] = present_mask(out_tangents)
        return [*outs, *present(out_tangents)]

    tangent_types = [t.strong() for t in select(jaxpr.in_types, active)]
    program = restage(beside, [*jaxpr.in_types, *tangent_types], f"{jaxpr.name}_jvp")
    return program, tuple(nonzero)


def select_per_lane(index: Value, values: Sequence[Value]) -> Value:
    """For each lane of a batch, the value that its index (or bool) selects."""
    shape = values[0].type.shape
    if len(shape) > 1:
        index = BroadcastInDim(shape, (0,))(index)
    return select_n(index, *values)


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """The program without its lasting effects (memoise on the program).

    Raises:
      NotDifferentiable: a result depends on what such an effect gave.
    """
    if all([e.op.pure for e in jaxpr.equations]):
        return jaxpr
    given = set(jaxpr.inputs)
    wanted = {a for a in jaxpr.outputs if type(a) is Var} - given
    kept = []
    for equation in reversed(jaxpr.equations):
        if not wanted.isdisjoint(equation.outputs):
            kept.append(_without_effects(equation))
            read = {a for a in equation.inputs if type(a) is Var}
            wanted |= read - given
    return Jaxpr(jaxpr.inputs, kept[::-1], jaxpr.outputs, jaxpr.name)


def _without_effects(equation: Equation) -> Equation:
    """An equation whose results are read, without effects."""
    op = equation.op
    if op.pure:
        return equation
    if not nested_programs(op):
        where = at_line(equation.line)
        raise NotDifferentiable(
            f"{op!r}{where} has an effect, which happens once, and a result that is "
            "needed again for a derivative, where the program around it is run again. "
            "Compute the result outside of checkpoint or while_loop and pass it in, or "
            "keep it by a policy (covector.checkpoint_policies)."
        )
    quiet = op.with_programs(lambda program: program.memo(without_effects))
    return Equation(quiet, equation.inputs, equation.outputs, equation.line)
