"""``fold_constants``: programs in which what is known is computed."""

from collections.abc import Sequence
from typing import Any

from covector.analysis.passes.programs import (
    as_program,
    on_programs,
    with_equations,
    with_parts,
)
from covector.core.jaxpr import Equation, Jaxpr, Var, replaced
from covector.core.staging import LITERAL_LIMIT, is_known
from covector.core.trace import current
from covector.dispatch.inspection import ensure_compile_time_eval
from covector.programs.control_flow.cond import Cond
from covector.programs.higher_order.call import call

__all__ = ["fold_constants"]


def fold_constants(jaxpr: Jaxpr, limit: int = LITERAL_LIMIT) -> Jaxpr:
    """The program in which operations on constants alone are computed.

    Tracing does the same for arrays of up to 128 elements; more constants come to light
    when calls are inlined (``inline_calls``), which stay whole here.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      limit: the most elements that an operand or a result may have. What is larger
        would make the program large, and is computed quickly.

    Returns:
      The program of the same inputs and outputs. Operations with effects, those that
      communicate over named axes, loops and calls are not computed. A choice whose
      number is known becomes a call of its branch.

    Raises:
      ArgumentError: a function was given.

    >>> import covector as cv, covector.numpy as cnp
    >>> program = cv.make_jaxpr(lambda x: x * cnp.sum(cnp.sqrt(cnp.arange(500.0))))(1.0)
    >>> [e.op.name for e in program.equations]
    ['sqrt', 'reduce_sum', 'mul']
    >>> [e.op.name for e in fold_constants(program).equations]
    ['mul']
    """
    return as_program("fold_constants", jaxpr).memo(_folded, limit)


def _folded(jaxpr: Jaxpr, limit: int) -> Jaxpr:
    known: dict[Var, Any] = {}
    equations = []
    for e in jaxpr.equations:
        op = on_programs(e.op, lambda p: p.memo(_folded, limit))
        new = _chosen(with_parts(e, op, replaced(known, e.inputs)))
        values = _values(new, limit)
        known.update(zip(e.outputs, values, strict=False))
        if not values:
            equations.append(new)
    return with_equations(jaxpr, equations, replaced(known, jaxpr.outputs))


def _chosen(e: Equation) -> Equation:
    """Of a choice that is known, a call of the branch."""
    if not isinstance(e.op, Cond) or type(e.inputs[0]) is Var:
        return e
    index, *operands = e.inputs
    return Equation(call(e.op.branch_at(index)), operands, e.outputs, e.line)


def _values(e: Equation, limit: int) -> Sequence[Any]:
    """The values of the results, if they may be computed now; else none."""
    types = [a.type for a in e.inputs]
    outs = [v.type for v in e.outputs]
    if e.op.regions or not is_known(e.op, e.inputs, types, outs, limit):
        return ()
    with ensure_compile_time_eval():
        values = current.trace.process(e.op, e.inputs)
    # A value that varies over the axes of a mesh is no constant.
    return values if [x.type for x in values] == outs else ()
