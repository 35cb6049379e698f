"""``merge_common``: programs that compute nothing twice."""

from collections.abc import Hashable
from typing import Any

from covector.analysis.passes.programs import (
    as_program,
    on_programs,
    with_equations,
    with_parts,
)
from covector.core.effects import is_program
from covector.core.jaxpr import Equation, Jaxpr, Var, replaced
from covector.core.primitive import Primitive
from covector.operations.barrier import OptimizationBarrier
from covector.programs.higher_order.hash_consing import of_literal, structure

__all__ = ["merge_common"]


def merge_common(jaxpr: Jaxpr) -> Jaxpr:
    """Common-subexpression elimination: equal operations on equal operands become one.

    Two are equal where they are the same operation with the same parameters, on the
    same values, with results of the same types (also whether they are weak). Loops and
    calls are equal where their programs are, whatever lines they were written on; rules
    of users (``custom_vjp``) where they are the same objects.

    Nothing is merged that has effects, that draws from a generator which keeps a state,
    or that is an ``optimization_barrier``, which is there to prevent this.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.

    Returns:
      The program of the same inputs and outputs.

    Raises:
      ArgumentError: a function was given.

    >>> import covector as cv, covector.numpy as cnp
    >>> program = cv.make_jaxpr(lambda x: cnp.sin(x) * cnp.sin(x))(1.0)
    >>> merge_common(program)
    { <lambda>  a:f32[] .
        b:f32[] = sin a
        c:f32[] = mul b b
        return c }
    """
    return as_program("merge_common", jaxpr).memo(_merged)


def _merged(jaxpr: Jaxpr) -> Jaxpr:
    first: dict[Hashable, Equation] = {}
    instead: dict[Var, Any] = {}
    equations = []
    for e in jaxpr.equations:
        op = on_programs(e.op, lambda p: p.memo(_merged))
        new = with_parts(e, op, replaced(instead, e.inputs))
        same = first.setdefault(_key(new), new) if _can_be_merged(op) else new
        if same is new:
            equations.append(new)
        else:
            instead.update(zip(e.outputs, same.outputs, strict=True))
    return with_equations(jaxpr, equations, replaced(instead, jaxpr.outputs))


def _can_be_merged(op: Primitive) -> bool:
    return not op.effects and not isinstance(op, OptimizationBarrier)


def _key(e: Equation) -> Hashable:
    """The key that equal equations share."""
    operands = [a if type(a) is Var else of_literal(a) for a in e.inputs]
    return _operation_key(e), *operands, *[v.type for v in e.outputs]


def _operation_key(e: Equation) -> Hashable:
    op = e.op
    if op.interned:
        return op
    return type(op), *[_parameter_key(p) for p in op.parameters.values()]


def _parameter_key(value: Any) -> Hashable:
    if type(value) is tuple:
        return tuple(map(_parameter_key, value))
    if is_program(value):
        return structure(value, _operation_key)  # pyright: ignore[reportArgumentType]
    return type(value), value
