"""Shared parts of ``custom_jvp`` and ``custom_vjp``: zeros, and checks of rules.

Nondifferentiated arguments, symbolic zeros, and the types and structures that rules
must return.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import PyTree
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import argument_names, argument_numbers, describe
from covector.core.source import function_line, function_name
from covector.core.types import ArrayType, HasType, show_types
from covector.errors import TypeMismatch, how_many
from covector.operations.broadcasting import zeros


def same_results(outs: Sequence[Any], types: Sequence[ArrayType], rule: str) -> None:
    """Raise where a rule returned another value than its function."""
    found = [(o.type.shape, o.type.dtype) for o in outs]
    if found != [(t.shape, t.dtype) for t in types]:
        raise TypeMismatch(
            f"{rule} must return a value of the types that the function returns, "
            f"{show_types(types)}, but it returned "
            f"{show_types([o.type for o in outs])}."
        )


class SymbolicZero(HasType):
    """Stands for a zero tangent or cotangent, in rules with ``symbolic_zeros``."""

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    @property
    def aval(self) -> ArrayType:
        return self.type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"


def absent(type: ArrayType, symbolic: bool) -> Any:
    """The zero tangent or cotangent that a rule is called with."""
    if symbolic:
        return SymbolicZero(type.tangent())
    return zeros(type.strong()) if type.inexact else np.zeros(type.shape, dtypes.float0)


def zero_from_primal(val: PyTree, symbolic_zeros: bool = False) -> PyTree:
    """The zero tangents of a tree of primals, as a rule would be handed them.

    >>> print(zero_from_primal(2.0))
    0.0
    """

    def zero(x: Any) -> Any:
        return absent(as_array(x).type, symbolic_zeros)

    return tree.map(zero, val)


def checked(
    values: Sequence[Any], types: Sequence[ArrayType], who: str, what: str
) -> list[Any]:
    """Tangents or cotangents that a rule returned; None where they are zero."""
    found: list[Any] = []
    for value, type in zip(values, types, strict=True):
        if value is None or isinstance(value, SymbolicZero) or not type.inexact:
            found.append(None)
            continue
        t = value if isinstance(value, Array) else as_array(value)
        if (t.type.shape, t.type.dtype) != (type.shape, type.dtype):
            raise TypeMismatch(
                f"{who} must return a {what} of type {type.strong()} for that value, "
                f"but it returned {t.type}."
            )
        found.append(t)
    return found


def pair(out: Any, what: str, wanted: str) -> tuple[Any, Any]:
    """The two parts of what a rule returned."""
    if not isinstance(out, tuple | list) or len(out) != 2:
        raise TypeMismatch(
            f"{what} must return a pair {wanted}, but it returned {describe(out)}."
        )
    return out[0], out[1]


def called(fun: Callable[..., Any]) -> str:
    """The name of a function in code that a message proposes."""
    name = function_name(fun, "f")
    return name if name.isidentifier() else "f"


def nondiff_indices(
    fun: Callable[..., Any], nums: Sequence[int], names: Sequence[str]
) -> tuple[int, ...]:
    """The indices of nondiff arguments, given by number or by name."""
    who = f"the derivative rule of {function_line(fun)}"
    nums = argument_numbers(who, "nondiff_argnums", nums)
    names = argument_names(who, "nondiff_argnames", names)
    if not names and all(n >= 0 for n in nums):
        return tuple(sorted(nums))
    parameters = [
        p.name
        for p in inspect.signature(fun).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    unknown = [n for n in names if n not in parameters]
    if unknown:
        raise TypeMismatch(
            f"{who} has nondiff_argnames {', '.join(unknown)}, but its positional "
            f"arguments are {', '.join(parameters)}."
        )
    count = len(parameters)
    for n in nums:
        if not -count <= n < count:
            raise TypeMismatch(
                f"{who} has nondiff_argnums {n}, but it takes "
                f"{how_many(count, 'positional argument')}."
            )
    indices = [n % count for n in nums]
    return tuple(sorted({*indices, *[parameters.index(n) for n in names]}))
