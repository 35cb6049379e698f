"""Partial: a function with some of its arguments, as a pytree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from covector.tree.nodes import register_pytree_with_keys
from covector.tree.registry import GetAttrKey


class Partial(functools.partial):
    """``functools.partial`` whose bound arguments are children of a pytree.

    So it may be passed to, and returned from, transformed functions: the function is
    static, the bound arguments are data. Binding more arguments to a Partial extends
    it. A plain ``functools.partial`` inside stays whole, as a function with its
    closure.

    >>> add = Partial(lambda x, y: x + y, 1)
    >>> add(2)
    3
    >>> from covector.tree.functions import leaves
    >>> leaves(Partial(add, 5))
    [1, 5]

    See also: ``covector.tree_util.register_dataclass`` for objects with more methods.
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kw: Any) -> Partial:
        if isinstance(func, Partial):
            return cls(func.func, *func.args, *args, **{**func.keywords, **kw})
        self = super().__new__(cls, func, *args, **kw)
        if isinstance(func, functools.partial):
            # The base class has merged the inner partial, whose arguments are not data.
            state = (func, args, kw, None)
            self.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]
        return self


def _flatten_with_keys(partial: Partial) -> tuple[tuple, Callable[..., Any]]:
    args = (GetAttrKey("args"), partial.args)
    keywords = (GetAttrKey("keywords"), partial.keywords)
    return (args, keywords), partial.func


register_pytree_with_keys(
    Partial,
    _flatten_with_keys,
    lambda func, children: Partial(func, *children[0], **children[1]),
    lambda partial: ((partial.args, partial.keywords), partial.func),
)
