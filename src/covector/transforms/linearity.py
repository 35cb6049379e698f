"""Linearity analysis: whether a program is linear in some of its inputs.

An operation says for itself in which operands it is linear (``Primitive.linear_in``);
one that carries programs asks here.
"""

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import Linear


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
