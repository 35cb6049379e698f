"""``linear_transpose``: the adjoint of a function that is linear as it stands."""

from collections.abc import Callable
from typing import Any

from covector import tree
from covector.core.convert import type_of
from covector.core.flat import FlatFunction, who_of
from covector.core.jaxpr import Jaxpr, Var
from covector.core.primitive import Linear, Primitive
from covector.core.staging import stage
from covector.errors import NotDifferentiable
from covector.transforms.derivatives import cotangents_of
from covector.transforms.linearize import moves
from covector.transforms.transpose import backward, instantiate


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()
) -> Callable[[Any], tuple]:
    """The transpose of ``fun``, which must be linear in all its arguments.

    Args:
      primals: examples of the arguments, of which only shapes and dtypes matter.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the
      arguments.

    Raises:
      NotDifferentiable: ``fun`` is not linear, or an argument is not floating point.

    >>> import covector as cv
    >>> double = cv.linear_transpose(lambda x: 2 * x, 1.0)
    >>> [float(ct) for ct in double(3.0)]
    [6.0]
    """
    who = who_of("linear_transpose", fun)
    leaves, in_tree = tree.flatten((primals, {}))
    types = [type_of(x) for x in leaves]
    for t in types:
        if not moves(t):
            raise NotDifferentiable(
                f"{who} needs floating-point arguments, but one is {t}. Close over "
                "what is not transposed."
            )
    flat = FlatFunction(fun, in_tree, who)
    staged = stage(flat, types, who)
    _check_linear(staged.jaxpr, len(staged.captured), who)

    def transposed(cotangent: Any) -> tuple:
        out_types = list(staged.jaxpr.out_types)
        arriving = cotangents_of(cotangent, flat.out_tree, out_types, who)
        args = [*staged.captured, *[Linear(t.strong()) for t in types]]
        leaving = backward(staged.jaxpr, args, arriving)[len(staged.captured) :]
        cts = [
            instantiate(ct, t.strong()) for ct, t in zip(leaving, types, strict=True)
        ]
        (result, _) = in_tree.unflatten(cts)
        return tuple(result)

    return transposed


def _check_linear(jaxpr: Jaxpr, known: int, who: str) -> None:
    """Raise where an operation on the arguments is not linear in them."""
    moving = set(jaxpr.inputs[known:])
    for equation in jaxpr.equations:
        args = [
            Linear(a.type) if type(a) is Var and a in moving else a
            for a in equation.inputs
        ]
        if Linear not in map(type, args):
            continue
        moving.update(equation.outputs)
        linear = [type(a) is Linear for a in args]
        product = equation.op.name in ("mul", "dot_general", "div") and sum(linear) > 1
        if product or type(equation.op).transpose is Primitive.transpose:
            where = f" at {equation.line}" if equation.line else ""
            raise NotDifferentiable(
                f"{who} needs a linear function, but {equation.op.name}{where} is not "
                "linear in the arguments. For the derivative at a point, use vjp."
            )
    if any(type(o) is not Var or o not in moving for o in jaxpr.outputs):
        raise NotDifferentiable(
            f"{who} needs a linear function, but a result does not depend on the "
            "arguments."
        )
