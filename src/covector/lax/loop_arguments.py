"""Validation of the arguments of loops and branches: functions, lengths, bounds."""

import operator
from collections.abc import Sequence
from typing import Any

from covector import tree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.trace import Tracer
from covector.core.types import as_size
from covector.errors import TracerIntegerConversionError, TypeMismatch
from covector.numpy.promote import promote_dtypes
from covector.programs.control_flow.while_loop import CHECKPOINTS


def leading_length(xs: Any, length: Any, who: str, needed: str = "xs or length") -> int:
    """The number of steps, on which ``length`` and all of ``xs`` agree."""
    found = []
    for path, leaf in tree.leaves_with_path(xs):
        name = f"xs{tree.keystr(path)}"
        type_ = as_array(leaf, f"{who}: {name}").type
        if not type_.ndim:
            raise TypeMismatch(
                f"{who} steps through the leading axis of xs, but {name} is {type_}, "
                "which has none. What is the same at every step need not be passed: "
                "the function may close over it."
            )
        found.append((name, type_))
    if length is not None:
        steps, source = natural(length, "length", who), f"length is {length}"
    elif found:
        name, type_ = found[0]
        steps, source = type_.shape[0], f"{name} is {type_}"
    else:
        raise TypeMismatch(f"{who} needs {needed} to know the number of steps.")
    for name, type_ in found:
        if type_.shape[0] != steps:
            raise TypeMismatch(
                f"{who}: all of xs must have one length, but {name} is {type_} where "
                f"{source}."
            )
    return steps


def natural(x: Any, what: str, who: str) -> int:
    """An argument that must be a known integer, and not negative."""
    if isinstance(x, Tracer):
        raise TracerIntegerConversionError(
            f"{who}: {what} must be known while the program is traced, but it is "
            f"a traced {x.type}. {x.origin()} If it is an argument of a jitted "
            "function, make the argument static (static_argnums of jit); for a number "
            "of steps that is known only when the program runs there is "
            "lax.while_loop."
        )
    known: Any = x
    if not hasattr(x, "__index__") or (isinstance(x, Array) and x.type.shape):
        raise TypeMismatch(f"{who}: {what} must be an integer, but got {x!r}.")
    value = as_size(known)
    if value < 0:
        raise TypeMismatch(f"{who}: {what} must not be negative, but is {value}.")
    return value


def unrolled(unroll: int | bool, steps: int, who: str) -> int:
    """The number of steps unrolled in each iteration of a loop."""
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    return max(natural(unroll, "unroll", who), 1)


def kept_carries(checkpoints: int | None, who: str) -> int:
    """The number of carries that a reversed loop of unknown length keeps at a time."""
    if checkpoints is None:
        return CHECKPOINTS
    if isinstance(checkpoints, bool) or natural(checkpoints, "checkpoints", who) < 1:
        raise TypeMismatch(
            f"{who}: checkpoints must be an integer, at least 1, but is {checkpoints}. "
            "It says how many carries are kept at one time in reverse mode."
        )
    return operator.index(checkpoints)


def bounds(who: str, lower: Any, upper: Any) -> Sequence[Array]:
    """The bounds of a loop as scalars of one type: integers, unless they are floats
    that are not known.
    """
    found = []
    for name, bound in (("lower", lower), ("upper", upper)):
        x = as_array(bound, f"{who}: {name}")
        if x.type.shape or not dtypes.is_real(x.type.dtype):
            raise TypeMismatch(
                f"{who}: {name} must be a scalar integer, but got {x.type}. Convert it "
                "with .astype(int)."
            )
        if isinstance(x, ConcreteArray) and dtypes.is_floating(x.type.dtype):
            found.append(_whole(x, name, who))
        else:
            found.append(bound)
    return promote_dtypes(who, *found)


def _whole(x: ConcreteArray, name: str, who: str) -> int:
    value = float(x.item())
    if not value.is_integer():
        raise TypeMismatch(
            f"{who}: {name} must be a whole number, but is {value}. Convert it with "
            "int, or use covector.lax.while_loop."
        )
    return int(value)
