"""``inline_calls``: programs in which jitted functions stand where they are called."""

from collections.abc import Iterator

from covector.analysis.passes.programs import (
    as_program,
    on_programs,
    with_equations,
    with_parts,
)
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, read
from covector.core.source import Line
from covector.programs.higher_order.call import Call

__all__ = ["inline_calls"]


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the equations of jitted functions in place of calls of them.

    Functions that have derivative or batching rules of their own (``custom_vjp``,
    ``custom_jvp``, ``custom_vmap``, solvers), ``checkpoint`` and ``shard_map`` stay
    operations, since they mean more than their programs; calls inside of them, and of
    loops and branches, are inlined. What a checkpoint computes again stays a call too:
    it is compiled by itself.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.

    Returns:
      The program of the same inputs and outputs. Equations keep their lines, inside of
      the named scope of the call.

    Raises:
      ArgumentError: a function was given.

    >>> import covector as cv, covector.numpy as cnp
    >>> program = cv.make_jaxpr(cv.jit(lambda x: cnp.sin(x) + 1))(1.0)
    >>> [e.op.name for e in program.equations]
    ['jit']
    >>> [e.op.name for e in inline_calls(program).equations]
    ['sin', 'add']
    """
    return as_program("inline_calls", jaxpr).memo(_inlined)


def _inlined(jaxpr: Jaxpr) -> Jaxpr:
    values: dict[Var, Atom] = {v: v for v in jaxpr.inputs}
    equations: list[Equation] = []
    for e in jaxpr.equations:
        op = on_programs(e.op, lambda p: p.memo(_inlined))
        new = with_parts(e, op, read(values, e.inputs))
        if type(op) is Call and not op.separate:
            inside = dict(zip(op.jaxpr.inputs, new.inputs, strict=True))
            equations += _copies(op.jaxpr, inside, e.line)
            values.update(zip(e.outputs, read(inside, op.jaxpr.outputs), strict=True))
        else:
            equations.append(new)
            values.update(zip(e.outputs, e.outputs, strict=True))
    return with_equations(jaxpr, equations, read(values, jaxpr.outputs))


def _copies(
    jaxpr: Jaxpr, values: dict[Var, Atom], line: Line | None
) -> Iterator[Equation]:
    """The equations of a program that is called on this line, with new variables."""
    for e in jaxpr.equations:
        outputs = [Var(v.type) for v in e.outputs]
        yield Equation(e.op, read(values, e.inputs), outputs, _inside(line, e.line))
        values.update(zip(e.outputs, outputs, strict=True))


def _inside(around: Line | None, line: Line | None) -> Line | None:
    """A line of a function that is called on another, in the named scope of that."""
    if line is None or around is None or not around.scope:
        return line or around
    scopes = [scope for scope in (around.scope, line.scope) if scope]
    return line._replace(scope="/".join(scopes))
