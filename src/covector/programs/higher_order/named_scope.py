"""``named_scope`` and ``named_call``: the user's names for parts of a computation.

The names are prefixes of the operations in compiled code (``a/b/sin``), where profilers
and dumps show them, and change nothing else. A name is part of an equation's source
line, so derivatives and batches of the equation inherit it.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from covector.core.annotations import decorating
from covector.core.source import scopes, wraps
from covector.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


class named_scope:
    """A context manager or decorator that names the operations traced in it.

    Blocks within each other give ``outer/inner``. What runs backwards has
    ``transpose(outer/inner)``. See them with ``lower(…).as_text(debug_info=True)``, or
    as ``op_name`` in the text of the compiled program.

    Raises:
      ArgumentError: ``name`` is not a text, or empty.

    >>> import covector as cv, covector.numpy as cnp
    >>> @cv.jit
    ... def f(x):
    ...     with cv.named_scope("encoder"):
    ...         return cnp.sin(x)
    >>> "encoder/sin" in f.lower(1.0).as_text(debug_info=True)
    True

    See also: ``named_call``, ``covector.profile``.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ArgumentError(
                f"named_scope needs a name, a str that is not empty, but got {name!r}."
            )
        self.name = name

    def __call__(self, fun: Callable[P, R]) -> Callable[P, R]:
        @wraps(fun)
        def named(*args: Any, **kwargs: Any) -> Any:
            with named_scope(self.name):  # a new one each time: fun may call itself
                return fun(*args, **kwargs)

        return named

    def __enter__(self) -> None:
        scopes.open(self, self.name)

    def __exit__(self, *_: object) -> None:
        scopes.close(self)


class outermost_scope:
    """In this block no names are in force yet: for what is traced once for all uses."""

    def __enter__(self) -> None:
        if scopes.innermost.get() is not None:
            scopes.open(self, None)

    def __exit__(self, *_: object) -> None:
        scopes.close(self)


@overload
def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]: ...
@overload
def named_call(
    fun: None = None, *, name: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@decorating
def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Any:
    """``fun``, in a ``named_scope`` of its own name, or of ``name``.

    >>> import covector as cv, covector.numpy as cnp
    >>> decode = cv.named_call(lambda x: cnp.cos(x), name="decoder")
    >>> "decoder/cos" in cv.jit(decode).lower(1.0).as_text(debug_info=True)
    True
    """
    return named_scope(name or getattr(fun, "__name__", type(fun).__name__))(fun)
