"""``linear_transpose``: the adjoint of a function that is linear as it stands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import tree
from covector.core.convert import type_of
from covector.core.flat import FlatFunction, who_of
from covector.core.jaxpr import Jaxpr, Var, needed_equations, run, used_inputs
from covector.core.primitive import Linear, Primitive
from covector.core.staging import Staged, stage
from covector.core.trace import Tracer, current
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import base
from covector.transforms.derivatives import cotangents_of
from covector.transforms.linearize import moves
from covector.transforms.transpose import backward, instantiate


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()
) -> Callable[[Any], tuple]:
    """The transpose of ``fun``, which must be linear in all its arguments.

    Args:
      fun: linear, as written; a result may also be zero whatever the arguments are.
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
    _check_linear(staged, who)

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


def _check_linear(staged: Staged, who: str) -> None:
    """Raise where an operation on the arguments is not linear in them."""
    jaxpr = staged.jaxpr
    moving = set(jaxpr.inputs[len(staged.captured) :])
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
    still = [o for o in jaxpr.outputs if type(o) is not Var or o not in moving]
    if not all([_is_zero(o, staged) for o in still]):
        raise NotDifferentiable(
            f"{who} needs a linear function, but a result does not depend on the "
            "arguments, and is not known to be zero."
        )


def _is_zero(output: Any, staged: Staged) -> bool:
    """Whether a result that does not depend on the arguments is known to be zero."""
    jaxpr, count = staged.jaxpr, len(staged.captured)
    equations = needed_equations(jaxpr.equations, [output])
    alone = Jaxpr(jaxpr.inputs[:count], equations, [output], jaxpr.name)
    used = zip(staged.captured, used_inputs(alone), strict=True)
    if any([u and isinstance(x, Tracer) for x, u in used]):
        return False
    before, current.trace = current.trace, base
    try:
        return not np.any(np.asarray(run(alone, staged.captured)[0]))
    finally:
        current.trace = before
