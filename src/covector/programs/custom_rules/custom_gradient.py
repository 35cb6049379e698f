"""``custom_gradient``: a function that returns its value and its own pullback."""

import functools
from collections.abc import Callable
from typing import Any

from covector import tree
from covector.core.flat import FlatFunction, arrays, split_aux, who_of
from covector.core.jaxpr import run
from covector.core.staging import stage
from covector.programs.custom_rules.custom_vjp import custom_vjp


class _Static:
    """Carries a traced rule past the residuals that are arrays."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__ = parts


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
    """
    who = who_of("custom_gradient", fun)

    def value(*args: Any) -> Any:
        return split_aux(fun(*args), who)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        out, pull = split_aux(fun(*args), who)
        leaves = tree.leaves(out)
        flat = FlatFunction(pull, tree.structure(((out,), {})), who)
        staged = stage(flat, [x.type.strong() for x in arrays(leaves, who)], who)
        rule = _Static(jaxpr=staged.jaxpr, out_tree=flat.out_tree, count=len(args))
        return out, (staged.captured, rule)

    def bwd(residuals: Any, cotangent: Any) -> tuple:
        captured, rule = residuals
        outs = run(rule.jaxpr, [*captured, *tree.leaves(cotangent)])
        result = rule.out_tree.unflatten(outs)
        return (
            (result,)
            if rule.count == 1 and not isinstance(result, tuple)
            else tuple(result)
        )

    wrapped = custom_vjp(functools.wraps(fun)(value))
    wrapped.defvjp(fwd, bwd)
    return wrapped
