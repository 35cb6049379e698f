"""``compose``: transformations applied in the order in which they are listed."""

from collections.abc import Callable
from typing import Any

from covector.errors import TypeMismatch


def compose(*transforms: Callable[..., Any]) -> Callable[..., Any]:
    """One transformation out of several: ``compose(jit, grad)(f)`` is ``jit(grad(f))``.

    Args:
      transforms: functions of a function; options go in with ``functools.partial``.

    >>> import covector as cv
    >>> second = cv.compose(cv.jit, cv.grad, cv.grad)
    >>> float(second(lambda x: x ** 3)(2.0))
    12.0
    """
    for t in transforms:
        if not callable(t):
            raise TypeMismatch(
                f"compose takes transformations, such as jit and grad, but got {t!r}."
            )

    def composed(fun: Callable[..., Any]) -> Callable[..., Any]:
        for t in reversed(transforms):
            fun = t(fun)
        return fun

    return composed
