"""Removal of effects from jaxprs that a derivative runs again.

Effects happen once, in the pass that computes the values. A recomputation (of a
checkpoint or a while loop, in reverse) runs the jaxpr ``without_effects``.
"""

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.show import nested_programs
from covector.errors import NotDifferentiable


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
        where = f" at {equation.line}" if equation.line is not None else ""
        raise NotDifferentiable(
            f"{op!r}{where} has an effect, which happens once, and a result that is "
            "needed again for a derivative, where the program around it is run again. "
            "Compute the result outside of checkpoint or while_loop and pass it in, or "
            "keep it by a policy (covector.checkpoint_policies)."
        )
    quiet = op.with_programs(lambda program: program.memo(without_effects))
    return Equation(quiet, equation.inputs, equation.outputs, equation.line)
