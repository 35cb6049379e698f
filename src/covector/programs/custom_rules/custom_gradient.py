"""``custom_gradient``: a function that returns its value and its own pullback."""

from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.flat import FlatFunction, arrays, split_aux, who_of
from covector.core.jaxpr import run
from covector.core.source import wraps
from covector.core.staging import stage
from covector.programs.custom_rules.custom_derivative import custom_vjp


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function from one that returns ``(value, pull)``.

    ``pull(cotangent)`` gives the cotangent of the argument, or a tuple of them. It may
    close over what was computed for the value.

    >>> import covector as cv
    >>> @cv.custom_gradient
    ... def doubled_slope(x):
    ...     return x ** 2, lambda ct: 4 * x * ct
    >>> float(cv.grad(doubled_slope)(3.0))
    12.0

    See also: ``custom_vjp``, ``vjp``.
    """
    who = who_of("custom_gradient", fun)

    def value(*args: Any) -> Any:
        return split_aux(fun(*args), who)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        out, pull = split_aux(fun(*args), who)
        leaves = arrays(tree.leaves(out), who)
        flat = FlatFunction(pull, tree.structure(((out,), {})), who)
        jaxpr, captured, _ = stage(flat, [x.type.strong() for x in leaves], who)
        out_tree, count = flat.out_tree, len(args)

        def bwd_of(captured: Sequence[Any], cotangent: Any) -> tuple:
            outs = run(jaxpr, [*captured, *tree.leaves(cotangent)])
            result = out_tree.unflatten(outs)
            one = count == 1 and not isinstance(result, tuple)
            return (result,) if one else tuple(result)

        return out, (captured, bwd_of)

    def bwd(residuals: Any, cotangent: Any) -> tuple:
        captured, bwd_of = residuals
        return bwd_of(captured, cotangent)

    wrapped = custom_vjp(wraps(fun)(value))
    wrapped.defvjp(fwd, bwd)
    return wrapped
