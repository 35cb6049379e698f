"""Flat functions: user functions on pytrees, called with lists of leaves.

Public functions flatten what they are given, hand the engine a ``FlatFunction``, and
unflatten what comes back. Inside the engine everything is flat.
"""

import contextlib
import functools
import inspect
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.array_like import Array
from covector.core.convert import SEQUENCES, as_array, if_of_arrays, page_of_class
from covector.core.references import Ref, has_references
from covector.core.source import function_line, is_own, users_function, wraps
from covector.core.trace import current
from covector.errors import (
    ArgumentError,
    CovectorError,
    DTypeError,
    RefError,
    TypeMismatch,
)
from covector.tree.nodes import register_pytree_node


class FlatFunction:
    """A function of flat leaves, which remembers the tree of its last result."""

    __slots__ = ("aux", "fun", "has_aux", "in_tree", "out_tree", "who")

    def __init__(
        self, fun: Callable[..., Any], in_tree: Any, who: str, has_aux: bool = False
    ) -> None:
        self.fun = fun
        self.in_tree: Any = in_tree
        self.who: str = who
        self.has_aux: bool = has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(leaves)
        out = self.fun(*args, **kwargs)
        if self.has_aux:
            out, aux = split_aux(out, self.who)
            self.aux = tree.map(current.trace.value, aux)
        outs, self.out_tree = tree.flatten(out)
        return [x if isinstance(x, Array) else self._output(x, out) for x in outs]

    def input_name(self, i: int) -> str:
        """Leaf i of its arguments: ``the argument n of power (train.py:5)``."""
        fun = users_function(_without_fixed(self.fun)[0])
        code = getattr(fun, "__code__", None)
        if code is None or is_own(code.co_filename):
            return f"an argument of {self.who}"
        where = argument_path(self.in_tree, i, self.fun)
        return f"the {where} of {function_line(fun)}"

    def _output(self, x: Any, out: Any) -> Any:
        if isinstance(x, Ref):
            raise RefError(
                f"{self.who} returns a reference, {x.type!r}, but a reference stays in "
                "the function that makes it: the caller has those that it passed. "
                "Return what it holds, ref[...]."
            )
        try:
            return as_array(x)
        except CovectorError:
            paths = [p for p, leaf in tree.leaves_with_path(out) if leaf is x]
            where = f" at {tree.keystr(paths[0])}" if paths and paths[0] else ""
            raise TypeMismatch(
                f"{self.who} must return arrays and numbers, but its result{where} is "
                f"{x!r} of type {type(x).__name__}. {if_of_arrays(x)}Return it as "
                "static data beside the function, or not at all.",
                page=page_of_class(x),
            ) from None


def split_aux(out: Any, who: str) -> tuple[Any, Any]:
    """``(result, aux)`` of a function with ``has_aux``."""
    if not isinstance(out, SEQUENCES) or len(out) != 2:
        raise TypeMismatch(
            f"{who} with has_aux=True needs a function that returns a pair (result, "
            f"aux), but it returned {describe(out)}."
        )
    return out[0], out[1]


def describe(x: Any) -> str:
    """A value in the words of messages: its type if it is an array."""
    if isinstance(x, Array):
        return str(x.type)
    if isinstance(x, SEQUENCES):
        return f"a {type(x).__name__} of {len(x)}"
    return f"{x!r}"


def describe_given(x: Any) -> str:
    """What was given for something else: its type if it is an array, and otherwise the
    value and its class.
    """
    if isinstance(x, Array):
        return str(x.type)
    return f"{x!r} of type {type(x).__name__}"


def argument_path(in_tree: Any, i: int, fun: Any = None) -> str:
    """Leaf i of ``(args, kwargs)`` in words: ``argument 0['w']``, or ``argument
    params['w']`` of a function; ``keyword argument x``.
    """
    return path_in_call(tree.leaf_path(in_tree, i), fun)


def path_in_call(path: tuple[Any, ...], fun: Any = None) -> str:
    """A path into ``(args, kwargs)``, as ``argument_path`` has it."""
    if path[0].idx == 0:
        k = path[1].idx
        return f"argument {parameter(fun, k) or k}{tree.keystr(path[2:])}"
    return f"keyword argument {path[1].key}{tree.keystr(path[2:])}"


def chosen_path(
    in_tree: Any, i: int, argnums: int | Sequence[int], fun: Any = None
) -> str:
    """Leaf i of the arguments that ``argnums`` names, as ``argument_path`` has it."""
    path = tree.leaf_path(in_tree, i)
    position: int = path[1].idx
    n = argnums if isinstance(argnums, int) else argnums[position]
    name = parameter(fun, n) if n >= 0 else None
    return f"argument {name or n}{tree.keystr(path[2:])}"


def argument_numbers(who: str, option: str, given: Any) -> tuple[int, ...]:
    """The positional arguments that an option names: an integer, or a sequence."""
    if hasattr(given, "__index__"):
        return (operator.index(given),)
    try:
        if isinstance(given, str):
            raise TypeError
        return tuple([operator.index(n) for n in given])
    except TypeError:
        raise ArgumentError(
            f"{who}: {option} must be an integer or a sequence of integers, the "
            f"positions of arguments, but got {given!r}."
        ) from None


def argument_names(who: str, option: str, given: Any) -> tuple[str, ...]:
    """The arguments that an option names: a string, or several."""
    if isinstance(given, str):
        return (given,)
    try:
        names: tuple[Any, ...] = tuple(given)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            f"{who}: {option} must be a string or a sequence of strings, the names of "
            f"arguments, but got {given!r}."
        )
    return names


def parameters_of(fun: Callable[..., Any]) -> list[str]:
    """The names of the parameters of a function; none where they are not known."""
    signature = _signature(fun)
    return [] if signature is None else list(signature.parameters)


def parameter(fun: Any, k: int) -> str | None:
    """The name of the parameter that takes argument k, if it is known."""
    fun, fixed = _without_fixed(fun)
    signature = _signature(fun)
    if signature is None:
        return None
    names = [
        name
        for i, (name, p) in enumerate(signature.parameters.items())
        if p.kind in _BY_POSITION and i not in fixed and name not in fixed
    ]
    return names[k] if k < len(names) else None


_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return _signatures[fun]
    except (KeyError, TypeError):  # not seen yet, or neither hashed nor held weakly
        pass
    try:
        found = inspect.signature(fun)
    except Exception:  # noqa: BLE001  whatever attributes of a user's object raise
        found = None
    with contextlib.suppress(TypeError):
        _signatures[fun] = found
    return found


#: of functions, which are not kept alive
_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature | None] = (
    weakref.WeakKeyDictionary()
)


def bind_arguments(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments by position, keywords and defaults among them.

    What can only be passed by keyword is left to its default.
    """
    signature = _signature(fun)
    if signature is None or (not kwargs and len(args) >= len(signature.parameters)):
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    refused = [name for name in bound.kwargs if name in kwargs]
    if refused:
        raise TypeMismatch(
            f"{function_line(fun)} has a rule of its own, which takes arguments by "
            f"position, but {', '.join(refused)} can only be passed by keyword."
        )
    return bound.args


def with_fixed(fun: Callable[..., Any], fixed: dict[Any, Any]) -> Callable[..., Any]:
    """``fun`` as a function of the arguments that are not fixed by position or name."""
    return functools.partial(_with_fixed, fun, fixed)


def _with_fixed(
    fun: Callable[..., Any], fixed: dict[Any, Any], /, *args: Any, **kwargs: Any
) -> Any:
    everything = list(args)
    for i in sorted([k for k in fixed if isinstance(k, int)]):
        everything.insert(i, fixed[i])
    named = {k: v for k, v in fixed.items() if not isinstance(k, int)}
    return fun(*everything, **kwargs, **named)


def _without_fixed(fun: Any) -> tuple[Any, dict[Any, Any]]:
    """The function of ``with_fixed``, and what is fixed; any other as it is."""
    partial: Any = functools.partial
    if isinstance(fun, partial) and fun.func is _with_fixed:
        return fun.args[0], fun.args[1]
    return fun, {}


#: calls of such functions return before their code has run
_NO_RESULT = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def who_of(transform: str, fun: Any) -> str:
    """``grad of loss (train.py:31)``: the subject of messages.

    Raises where there is no function that could be transformed.
    """
    if not callable(fun):
        raise _not_a_function(f"{transform} needs a function", fun)
    code = getattr(fun, "__code__", None)
    if code is not None and code.co_flags & _NO_RESULT:
        raise TypeMismatch(
            f"{transform} needs a function that returns its result, but "
            f"{function_line(fun)} is a generator or a coroutine, whose code runs only "
            "later. Return a tuple or an array of what it yields."
        )
    return f"{transform} of {function_line(fun)}"


def check_functions(transform: str, **functions: Any) -> None:
    """Raise where an argument that must be a function is none."""
    for name, f in functions.items():
        if not callable(f):
            raise _not_a_function(f"{transform} needs a function for {name}", f)


def _not_a_function(wanted: str, given: Any) -> TypeMismatch:
    return TypeMismatch(
        f"{wanted}, but got {describe(given)} of type {type(given).__name__}. Hand it "
        "the function itself, without calling it."
    )


def arrays(
    leaves: Sequence[Any], who: str, path: Callable[[int], str] | None = None
) -> list[Any]:
    """Leaves as arrays and tracers; ``path`` tells which leaf is none, by its index."""
    try:
        return [x if isinstance(x, Array) else as_array(x, who) for x in leaves]
    except DTypeError as error:
        if path is not None:
            first = next(i for i, x in enumerate(leaves) if not _becomes_array(x))
            error.add_note(f"It is {path(first)}.")
        raise


def _becomes_array(x: Any) -> bool:
    try:
        as_array(x)
    except DTypeError:
        return False
    return True


# -- references among arguments --------------------------------------------------------


class _Hidden:
    """A reference in a tree of arguments, where it is not a leaf."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


def _hidden(x: Any) -> Any:
    return _Hidden(x) if type(x) is Ref else x


def _shown(x: Any) -> Any:
    return x.ref if type(x) is _Hidden else x


register_pytree_node(
    _Hidden, lambda hidden: ((), hidden.ref), lambda ref, _: _Hidden(ref)
)


def hide(args: Any, *functions: Any) -> tuple[Any, Sequence[Any]]:
    """Arguments in which references are no leaves, and functions of such arguments,
    which are called with the very same references. None is for no function.
    """
    if not has_references(tree.leaves(args)):
        return args, functions
    return tree.map(_hidden, args), [f and _on_hidden(f) for f in functions]


def _on_hidden(fun: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fun)
    def on_hidden(*args: Any) -> Any:
        return fun(*tree.map(_shown, args, is_leaf=lambda x: type(x) is _Hidden))

    return on_hidden
