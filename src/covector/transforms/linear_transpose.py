"""``linear_transpose``: the transpose of a linear function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.convert import type_of
from covector.core.flat import FlatFunction, who_of
from covector.core.jaxpr import Equation, Jaxpr, needed_equations, run, used_inputs
from covector.core.masks import drop
from covector.core.primitive import Linear
from covector.core.source import at_line
from covector.core.staging import Staged, stage
from covector.core.trace import Tracer, as_current
from covector.core.types import ArrayType, show_types
from covector.errors import NotDifferentiable
from covector.lowering.evaluate import base
from covector.operations.casting import convert
from covector.transforms.linear_functions import FunctionTypes, LinearFunction
from covector.transforms.pullback import cotangents_of
from covector.transforms.transpose import backward, instantiate, linear_outputs


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of ``fun``, which must be linear in all its arguments.

    Args:
      fun: linear, as written; a result may also be zero whatever the arguments are.
      primals: examples of the arguments, of which only shapes and dtypes matter: all
        floating point, or all integers.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the
      arguments.

    Raises:
      NotDifferentiable: ``fun`` is not linear, or has integers beside floats.

    >>> import covector as cv
    >>> double = cv.linear_transpose(lambda x: 2 * x, 1.0)
    >>> [float(ct) for ct in double(3.0)]
    [6.0]

    See also: ``vjp``, ``linearize``.
    """
    who = who_of("linear_transpose", fun)
    leaves, in_tree = tree.flatten((primals, {}))
    types = tuple([type_of(x) for x in leaves])
    flat = FlatFunction(fun, in_tree, who)
    staged = stage(flat, types, who)
    _check_types(who, types, staged.jaxpr.out_types)
    _check_linear(staged, who)
    signature = FunctionTypes(
        who, in_tree, types, flat.out_tree, staged.jaxpr.out_types
    )
    nonzero = (True,) * len(staged.jaxpr.outputs)
    return LinearTransposed(signature, staged.jaxpr, staged.captured, nonzero)


class LinearTransposed(LinearFunction):
    """The result of ``linear_transpose``: from cotangents of results to those of the
    arguments.
    """

    __slots__ = ()
    what = "the transpose"

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        who, in_tree, in_types, out_tree, out_types = self.of
        cts_out = cotangents_of(cotangent, out_tree, out_types, who, exact=True)
        args = [*self.residuals, *[Linear(t.strong()) for t in in_types]]
        cts_in = backward(self.jaxpr, args, cts_out)[len(self.residuals) :]
        cts = [
            convert(instantiate(ct, t.strong()), t.dtype, weak=True)
            if t.weak
            else instantiate(ct, t.strong())
            for ct, t in zip(cts_in, in_types, strict=True)
        ]
        (result, _) = in_tree.unflatten(cts)
        return tuple(result)


def _check_types(
    who: str, types: Sequence[ArrayType], out_types: Sequence[ArrayType]
) -> None:
    """Raise where integers are among floats, or values are not numbers."""
    everything = (*types, *out_types)
    numbers = all([dtypes.is_numeric(t.dtype) for t in everything])
    if not numbers or len({t.inexact for t in everything}) > 1:
        raise NotDifferentiable(
            f"{who} needs floating-point arguments and results, or integers for all "
            f"of them, but got {show_types(types)} -> {show_types(out_types)}. Close "
            "over what is not transposed."
        )


def _check_linear(staged: Staged, who: str) -> None:
    """Raise where an operation on the arguments is not linear in them."""
    jaxpr, count = staged.jaxpr, len(staged.captured)
    linear = [i >= count for i in range(len(jaxpr.inputs))]
    found = linear_outputs(jaxpr, tuple(linear))
    if isinstance(found, Equation):
        where = at_line(found.line)
        raise NotDifferentiable(
            f"{who} needs a linear function, but {found.op.name}{where} is not linear "
            "in the arguments. For the derivative at a point, use vjp."
        )
    if not all([_is_zero(o, staged) for o in drop(jaxpr.outputs, found)]):
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
    with as_current(base):
        return not np.any(np.asarray(run(alone, staged.captured)[0]))
