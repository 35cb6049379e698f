"""``inline_calls``: programs in which jitted functions stand where they are called."""

from covector.analysis.passes.programs import (
    as_program,
    on_programs,
    with_equations,
    with_parts,
)
from covector.core.jaxpr import Jaxpr
from covector.programs.higher_order.call import without_calls

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
    written = jaxpr.memo(without_calls)
    equations = [
        with_parts(e, on_programs(e.op, lambda p: p.memo(_inlined)), e.inputs)
        for e in written.equations
    ]
    return with_equations(written, equations, written.outputs)
