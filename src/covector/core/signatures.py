"""Signatures: a family of functions writes its parameters down once.

    @with_parameters_of(sum)
    def nansum(a: ArrayLike, *args: Any, **options: Any) -> Array:
        return sum(without_nan(a), *args, **options)

says that ``nansum`` takes just what ``sum`` takes. Editors, type checkers and ``help``
show the parameters of ``sum`` as those of ``nansum``, which hands them on as they come.
"""

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def with_parameters_of(
    model: Callable[P, R],
) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Decorator for a function that takes exactly what ``model`` takes.

    The function itself is what is called: the decorator adds nothing to a call.

    >>> def larger(x, y=0, *, strict=True): ...
    >>> @with_parameters_of(larger)
    ... def smaller(*args, **options): ...
    >>> inspect.signature(smaller)
    <Signature (x, y=0, *, strict=True)>
    """
    signature = inspect.signature(model)

    def decorate(function: Any) -> Any:
        function.__signature__ = signature
        return function

    return decorate
