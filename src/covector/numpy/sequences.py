"""Conversion of nested Python sequences to arrays.

    only Python numbers         NumPy reads them
    NumPy scalars and arrays    NumPy reads them, the dtype is promoted as ours are
    arrays and tracers          they are stacked, level by level

Types of elements are collected first, by C loops over each innermost list, so that long
lists of numbers cost little more than NumPy takes for them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import DType, HostArray, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.core.convert import as_array, check_narrowed
from covector.core.number_info import iinfo
from covector.core.promotion import operand_type, promote
from covector.core.types import show_types
from covector.errors import DTypeError, IntegerOverflow, TypeMismatch
from covector.operations.casting import convert
from covector.operations.joining import Stack

_PYTHON = frozenset({bool, int, float, complex})


def from_sequence(who: str, x: Sequence[Any], dtype: Any = None) -> Array:
    """A nested sequence as an array, of the given dtype or that of its elements."""
    kinds = _kinds(x)
    if kinds <= _PYTHON:
        return _from_numbers(who, x, kinds, dtype)
    if all(k in _PYTHON or k is np.ndarray or issubclass(k, np.generic) for k in kinds):
        # What is cast at once keeps 64 bits until then: 2**32 is a float32.
        found = _common(who, _distinct(x, kinds), wide=dtype is not None)
        read = _read(who, x, None)
        values = read.astype(found)
        if dtype is None and read.dtype.kind in "iu" and dtypes.is_integer(found):
            check_narrowed(read, values)
        out = from_host(values)
        return out if dtype is None else convert(out, dtype)
    parts = [as_array(leaf, who) for leaf in _leaves(x)]
    found = _common(who, parts) if dtype is None else dtype
    return _stack(who, x, iter([convert(part, found) for part in parts]))


def _kinds(x: Sequence[Any]) -> set[type]:
    """The types of all that is not a list or tuple."""
    kinds = set(map(type, x))
    nested = {k for k in kinds if issubclass(k, list | tuple)}
    if nested:
        kinds -= nested
        for part in x:
            if type(part) in nested:
                kinds |= _kinds(part)
    return kinds


def _leaves(x: Sequence[Any]) -> Iterator[Any]:
    for part in x:
        if isinstance(part, list | tuple):
            yield from _leaves(part)
        else:
            yield part


def _from_numbers(who: str, x: Any, kinds: set[type], dtype: Any) -> Array:
    x64 = options.current().enable_x64
    if complex in kinds:
        natural = dtypes.default_complex(x64)
    elif float in kinds or not kinds:
        natural = dtypes.default_float(x64)
    else:
        natural = dtypes.default_int(x64) if int in kinds else dtypes.bool_
    # Integers are read as the dtype they are for, which may be wider than the default.
    whole = kinds <= {int, bool}
    values = _read(who, x, dtype if whole and dtype is not None else natural)
    out = from_host(values)
    return out if dtype is None else convert(out, dtype)


def _read(who: str, x: Any, dtype: Any) -> np.ndarray:
    try:
        values = np.array(x, dtype)
    except OverflowError:
        limits = f", which holds {iinfo(dtype).min} to {iinfo(dtype).max}"
        raise IntegerOverflow(
            f"{who}: a Python integer in the sequence does not fit "
            f"{dtypes.short_name(dtype)}{limits if dtypes.is_integer(dtype) else ''}. "
            "Name a wider dtype."
        ) from None
    except ValueError:
        raise TypeMismatch(
            f"{who} needs sequences of one length at each depth, but got "
            f"{_shown(x)}, which is ragged. Fill up the shorter ones."
        ) from None
    return values


def _distinct(x: Sequence[HostArray], kinds: set[type]) -> list[DType]:
    """The operands of promotion among the elements, once each."""
    found: list[Any] = [k for k in kinds if k is int or k is float or k is complex]
    found += [k for k in kinds if k is bool or issubclass(k, np.generic)]
    if any(issubclass(k, np.ndarray) for k in kinds):
        arrays = (leaf for leaf in _leaves(x) if isinstance(leaf, np.ndarray))
        found += {dtypes.element_type(leaf.dtype) for leaf in arrays}
    return found


def _common(who: str, leaves: Sequence[Any], wide: bool = False) -> Any:
    now = options.current()
    x64 = wide or now.enable_x64
    try:
        operands = dict.fromkeys(operand_type(leaf, x64) for leaf in leaves)
    except DTypeError as error:
        error.add_note(f"while reading a sequence for {who}")
        raise
    return promote(*operands, x64=x64, mode=now.numpy_dtype_promotion)[0]


def _stack(who: str, x: Any, leaves: Iterator[Any]) -> Array:
    """The leaves, which have one dtype, put together as they stand in ``x``."""
    if not isinstance(x, list | tuple):
        return next(leaves)
    parts = [_stack(who, part, leaves) for part in x]
    if len({part.type.shape for part in parts}) > 1:
        raise TypeMismatch(
            f"{who} needs elements of one shape at each depth, but got arrays of types "
            f"{show_types(dict.fromkeys(part.type for part in parts))} side by side."
        )
    return Stack(0)(*parts)


def _shown(x: Value) -> str:
    text = repr(x)
    return text if len(text) < 60 else f"{text[:56]} …"
