"""Transpose: run a linear program backwards, from output to input cotangents.

The program is linear in the inputs that are ``Linear`` and arbitrary in the others.
Equations that do not depend on a Linear input are simply run, which is also how
checkpointing recomputes. A cotangent that is ``None`` is zero.

An operation says for itself in which operands it is linear (``Primitive.linear_in``);
for programs ``is_linear`` does.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import Linear
from covector.core.source import Line, at_line, attributes_lines_of_equations, running
from covector.core.staging import restage
from covector.core.trace import current
from covector.core.varying import cotangent_of
from covector.errors import NonFiniteError
from covector.operations.arithmetic import add
from covector.operations.broadcasting import zeros


@attributes_lines_of_equations(Line.transposed)
def backward(jaxpr: Jaxpr, args: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the Linear entries of ``args``, None elsewhere and for zero."""
    env: dict[Var, Any] = dict(zip(jaxpr.inputs, args, strict=True))
    linear = _forward(jaxpr, env)
    totals: dict[Var, Any] = {}
    checked_axes = current.trace.checked_axes
    for i, cotangent in enumerate(cotangents):
        atom = jaxpr.outputs[i]
        if cotangent is not None and type(atom) is Var and type(env[atom]) is Linear:
            ct = cotangent_of(cotangent, atom.type) if checked_axes else cotangent
            known = totals.get(atom)
            totals[atom] = ct if known is None else add(known, ct)
    outer = running.equation
    try:
        while linear:
            equation, operands = linear.pop()
            if totals.keys().isdisjoint(equation.outputs):
                continue
            running.equation = equation
            cts_out: list[Any] = []
            for v in equation.outputs:
                cts_out.append(totals.pop(v, None))  # noqa: PERF401  quicker
            try:
                cts_in = equation.op.transpose(cts_out, *operands)
            except NonFiniteError as error:
                line = at_line(equation.line, ", made")
                error.add_note(f"in the backward pass of {equation.op.name}{line}")
                raise
            for i, ct_in in enumerate(cts_in):
                if ct_in is not None and type(operands[i]) is Linear:
                    atom = equation.inputs[i]
                    ct = cotangent_of(ct_in, atom.type) if checked_axes else ct_in
                    known = totals.get(atom)
                    totals[atom] = ct if known is None else add(known, ct)
    finally:
        running.equation = outer
    return list(map(totals.get, jaxpr.inputs))


@attributes_lines_of_equations()
def _forward(jaxpr: Jaxpr, env: dict[Var, Any]) -> list[tuple[Equation, list[Any]]]:
    """Run the equations that are not linear; return those that are, with their
    operands.
    """
    linear: list[Any] = []
    outer = running.equation
    try:
        for equation in jaxpr.equations:
            operands: list[Any] = []
            for a in equation.inputs:
                operands.append(env[a] if type(a) is Var else a)  # noqa: PERF401  quicker
            if Linear in map(type, operands):
                linear.append((equation, operands))
                for v in equation.outputs:
                    env[v] = Linear(v.type)
            else:
                running.equation = equation
                outs = current.trace.process(equation.op, operands)
                env.update(zip(equation.outputs, outs, strict=True))
    finally:
        running.equation = outer
    return linear


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], given: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The transposed program (memoise on the program), and which cotangents it gives.

    It takes the inputs that are not linear, then a cotangent for each output that
    ``given`` masks; it gives the cotangents of those linear inputs that the second
    result masks.
    """
    known_types = [t for t, m in zip(jaxpr.in_types, linear, strict=True) if not m]
    cotangent_types = [
        t.strong() for t, g in zip(jaxpr.out_types, given, strict=True) if g
    ]
    nonzero: list[bool] = []

    def transposed(*values: Any) -> list[Any]:
        known = iter(values[: len(known_types)])
        cts_out = iter(values[len(known_types) :])
        args = [
            Linear(t) if m else next(known)
            for t, m in zip(jaxpr.in_types, linear, strict=True)
        ]
        cts_in = backward(jaxpr, args, [next(cts_out) if g else None for g in given])
        nonzero[:] = [ct is not None for ct in cts_in]
        return [ct for ct in cts_in if ct is not None]

    program = restage(
        transposed, [*known_types, *cotangent_types], f"{jaxpr.name}_transposed"
    )
    return program, tuple(nonzero)


def instantiate(cotangent: Any, type: Any) -> Any:
    """A cotangent as a value: zeros where it is absent."""
    return zeros(type) if cotangent is None else cotangent


def linear_outputs(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> list[bool] | Equation:
    """The mask of outputs that depend on the ``linear`` inputs; or the first equation
    that is not linear in them (memoise on the program).

    All results of an equation count, as they do for ``backward``.
    """
    linear_vars = {v for v, m in zip(jaxpr.inputs, linear, strict=True) if m}
    for equation in jaxpr.equations:
        args = [
            Linear(a.type) if type(a) is Var and a in linear_vars else a
            for a in equation.inputs
        ]
        if Linear not in map(type, args):
            continue
        if not equation.op.linear_in(args):
            return equation
        linear_vars.update(equation.outputs)
    return [type(o) is Var and o in linear_vars for o in jaxpr.outputs]


def is_linear(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> bool:
    """Whether a program is linear in these inputs (memoise on the program)."""
    return type(jaxpr.memo(linear_outputs, linear)) is list
