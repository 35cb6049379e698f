"""``dce``: programs without what nobody reads."""

from collections.abc import Sequence

from covector.analysis.passes.programs import (
    as_program,
    chosen,
    on_programs,
    with_equations,
    with_parts,
)
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.masks import Mask
from covector.programs.higher_order.dead_code import trimmed_equation, without_dead

__all__ = ["dce"]


def dce(jaxpr: Jaxpr, outputs: Sequence[int] | None = None) -> Jaxpr:
    """Dead-code elimination: the program without equations that nobody reads.

    Loops, branches and calls lose results that nobody reads, and operands that they do
    not need then. What has lasting effects (a print, a callback) stays.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      outputs: the numbers of the outputs to keep; all by default.

    Returns:
      The program of the same inputs, that gives these outputs.

    Raises:
      ArgumentError: a function was given, or an output that there is not.

    >>> import covector as cv, covector.numpy as cnp
    >>> program = cv.make_jaxpr(lambda x: (cnp.sin(x), cnp.cos(x)))(1.0)
    >>> dce(program, outputs=[1])
    { <lambda>  a:f32[] .
        b:f32[] = cos a
        return b }
    """
    program = as_program("dce", jaxpr)
    return program.memo(
        _eliminated, chosen("dce", "outputs", outputs, len(program.outputs))
    )


def _eliminated(jaxpr: Jaxpr, wanted: Mask) -> Jaxpr:
    made = without_dead(jaxpr, wanted, _remaining)
    return with_equations(jaxpr, made.equations, made.outputs)


def _remaining(e: Equation, used: Mask) -> Equation:
    if not e.op.regions:
        return e
    op = on_programs(
        e.op, lambda p: p.memo(_eliminated, tuple([True] * len(p.outputs)))
    )
    return trimmed_equation(with_parts(e, op, e.inputs), used)
