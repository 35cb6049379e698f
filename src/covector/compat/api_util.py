"""Functions of trees as functions of leaves: ``flatten_fun`` and its kin."""

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from covector import tree
from covector.compat.jaxprs import DebugInfo
from covector.compat.linear_util import (
    Store,
    WrappedFun,
    transformation2,
    transformation_with_aux2,
)
from covector.core.flat import argument_names, argument_numbers, function_line, who_of
from covector.errors import ArgumentError


def debug_info(traced_for: str, fun: Any, *_: Any, **__: Any) -> DebugInfo:
    """The words about a function that errors use."""
    return DebugInfo(traced_for, function_line(fun))


def _flattened(call: Callable[..., Any]) -> Any:
    """A function of a tree as one of its leaves, ``flattened(fun, in_tree)``, and the
    function that says the tree of its results, once it has run.
    """

    @transformation_with_aux2
    def flattened(fun: Any, store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
        outs, out_tree = tree.flatten(call(fun, in_tree.unflatten(leaves)))
        store.store(out_tree)
        return outs

    return flattened


#: of trees ``(args, kwargs)``, and of ``args`` alone
flatten_fun = _flattened(lambda fun, given: fun(*given[0], **given[1]))
flatten_fun_nokwargs = _flattened(lambda fun, args: fun(*args))


def argnums_partial(
    fun: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A function of those of its arguments that have these numbers, and these; the
    others are fixed.
    """
    numbers = argument_numbers("argnums_partial", "dyn_argnums", dyn_argnums)
    dynamic = {n % len(args) for n in numbers}
    fixed = tuple([(i, a) for i, a in enumerate(args) if i not in dynamic])
    if require_static_args_hashable:
        try:
            hash(fixed)
        except TypeError:
            raise ArgumentError(
                "argnums_partial: static arguments must be hashable, but got "
                f"{dict(fixed)}, by their numbers."
            ) from None
    return _with_fixed(fun, fixed), tuple([args[i] for i in sorted(dynamic)])


@transformation2
def _with_fixed(fun: Any, fixed: Any, *args: Any, **kwargs: Any) -> Any:
    everything = list(args)
    for i, a in fixed:
        everything.insert(i, a)
    return fun(*everything, **kwargs)


def flatten_axes(name: str, treedef: Any, axis_tree: Any, **_: Any) -> list[Any]:
    """The leaf of ``axis_tree``, a prefix of a tree, for each leaf of that; None is a
    leaf.
    """
    return tree.flatten_prefix(
        axis_tree, treedef, name, of="the tree", is_leaf=lambda x: x is None
    )


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of the same arguments, where one of the two is None."""
    names = list(sig.parameters)
    numbers = () if argnums is None else argument_numbers("", "argnums", argnums)
    given = () if argnames is None else argument_names("", "argnames", argnames)
    if argnums is None:
        numbers = tuple([names.index(n) for n in given if n in names])
    elif argnames is None:
        count = len(names)
        given = tuple([names[n] for n in numbers if -count <= n < count])
    return numbers, given


#: raises where what it is given is not a function that could be transformed
check_callable = partial(who_of, "a transformation")


def _ensure_index(x: Any) -> int | tuple[int, ...]:
    """An index, or a tuple of indices."""
    return x.__index__() if hasattr(x, "__index__") else tuple(map(operator.index, x))
