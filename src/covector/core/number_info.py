"""Facts about dtypes: limits, widths, lossless casts, and kinds that they are of."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from covector.core import dtypes
from covector.core.dtypes import (
    FLOATING,
    SIGNED,
    UNSIGNED,
    KeyType,
    as_dtype,
    no_element_type,
    short_name,
)
from covector.errors import DTypeError, DTypeKindError


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating dtype, as Python numbers: they take the dtype of the arrays
    that they meet. The fields are those of ``numpy.finfo``.
    """

    dtype: np.dtype
    bits: int
    eps: float
    epsneg: float
    iexp: int
    machep: int
    max: float
    maxexp: int
    min: float
    minexp: int
    negep: int
    nexp: int
    nmant: int
    precision: int
    resolution: float
    smallest_normal: float
    smallest_subnormal: float
    tiny: float


def finfo(dtype: Any) -> FloatInfo:
    """Limits of a floating dtype; of its parts, for a complex one.

    The result has the fields of ``numpy.finfo``: ``bits``, ``eps``, ``max``, ``min``,
    ``tiny``, ``nmant``, …, as Python numbers.

    Args:
      dtype: a dtype in any spelling, or an array.

    Returns:
      An object with these fields.

    Raises:
      DTypeKindError: the dtype is not inexact.

    >>> finfo("bfloat16").eps, finfo("complex64").dtype
    (0.0078125, dtype('float32'))

    See also: ``iinfo``, ``nextafter``, ``spacing``.
    """
    dtype = as_dtype(dtype)
    if not dtypes.is_inexact(dtype):
        way_out = "iinfo describes integers." if dtypes.is_integer(dtype) else ""
        raise DTypeKindError(
            "finfo needs a floating or complex dtype, "
            f"but got {short_name(dtype)}. {way_out}".rstrip()
        )
    return _float_info(dtypes.real_part(dtype))


def iinfo(dtype: Any) -> ml_dtypes.iinfo:
    """Limits of an integer dtype: ``bits``, ``min``, ``max``, as Python integers.

    Raises:
      DTypeKindError: the dtype is not an integer one.

    >>> iinfo("int4").max, iinfo("uint8").bits
    (7, 8)
    """
    dtype = as_dtype(dtype)
    if not dtypes.is_integer(dtype):
        inexact = dtypes.is_inexact(dtype)
        way_out = "finfo describes floats." if inexact else ""
        raise DTypeKindError(
            f"iinfo needs an integer dtype, but got {short_name(dtype)}. "
            f"{way_out}".rstrip()
        )
    return _integer_info(dtype)


#: that of ml_dtypes, whose annotations leave open what it returns
_finfo: Callable[[np.dtype], np.finfo] = ml_dtypes.finfo


@lru_cache
def _float_info(dtype: np.dtype) -> FloatInfo:
    found = _finfo(dtype)
    numbers: dict[str, Any] = {
        f.name: (int if f.type is int else float)(getattr(found, f.name))
        for f in fields(FloatInfo)[1:]
    }
    return FloatInfo(dtype, **numbers)


@lru_cache
def _integer_info(dtype: np.dtype) -> ml_dtypes.iinfo:
    return ml_dtypes.iinfo(dtype)


def bit_width(dtype: Any) -> int:
    """Bits per element: 4 for ``i4`` although NumPy stores it in a byte; bool has 8."""
    if dtypes.is_integer(dtype):
        return _integer_info(dtype).bits
    if dtypes.is_floating(dtype):
        return _float_info(dtype).bits
    return 8 * dtype.itemsize


@lru_cache(maxsize=1024)
def can_cast_losslessly(source: Any, target: Any) -> bool:
    """Whether ``target`` holds every value of ``source``, infinities and NaN included.

    A dtype that holds the extreme values holds the others: the largest asks for the
    widest mantissa and exponent, the smallest for the finest spacing.
    """
    if source is target:
        return True
    if source not in dtypes.NUMBERS or target not in dtypes.NUMBERS:
        return False
    if _generality(source) > _generality(target):
        return False
    target = dtypes.real_part(target)
    if dtypes.is_integer(target):
        limits = _integer_info(target)
        return all(limits.min <= x <= limits.max for x in _extremes(source))
    extremes = _extremes(dtypes.real_part(source))
    # float64 holds what any floating target holds, and it casts to every one of them.
    with np.errstate(all="ignore"):
        cast = np.array(extremes, np.float64).astype(target).astype(np.float64)
    # Python compares integers with floats exactly, where NumPy would round them first.
    return all(
        x == y or (np.isnan(x) and np.isnan(y))
        for x, y in zip(extremes, cast.tolist(), strict=True)
    )


def _generality(dtype: np.dtype) -> int:
    """Position in bool, integer, floating, complex: casts only lead upwards."""
    return (bool, int, float, complex).index(dtypes.python_type(dtype))


def _extremes(dtype: np.dtype) -> list[Any]:
    """The values of a real dtype that are hardest to hold, as Python numbers."""
    if dtypes.is_bool(dtype):
        return [0, 1]
    if dtypes.is_integer(dtype):
        return [_integer_info(dtype).min, _integer_info(dtype).max]
    info = _float_info(dtype)
    values = [
        info.max,
        info.min,
        info.smallest_subnormal,
        1 + info.eps,
        0,
        np.inf,
        np.nan,
    ]
    # What the dtype lacks (zero, say, or infinity) becomes some value that it has.
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype).astype(np.float64).tolist()


#: where the scalar classes that ml_dtypes defines belong in NumPy's hierarchy
_NUMPY_PARENT: dict[type, type] = {
    dtype.type: parent
    for parent, dtypes in (
        (np.signedinteger, SIGNED),
        (np.unsignedinteger, UNSIGNED),
        (np.floating, FLOATING),
    )
    for dtype in dtypes
}


#: the classes of what spells an element type by itself, and not by its ``dtype``
_SPELLING_CLASSES: tuple[type, ...] = (type, np.dtype, str, KeyType)


def issubdtype(a: Any, b: Any) -> bool:
    """Whether ``a`` is ``b`` or of the kind ``b``.

    Each is a dtype in any spelling, an abstract class of NumPy (``np.floating``, …),
    ``extended`` or ``prng_key``. As in NumPy, ``float`` and None mean float64: to ask
    for any floating dtype pass ``floating``.

    Args:
      a: a dtype in any spelling.
      b: a dtype, or a kind of dtypes.

    Returns:
      A Python bool, known under ``jit`` too.

    Raises:
      DTypeError: a name is that of no dtype.

    >>> from covector.dtypes import prng_key
    >>> issubdtype("bfloat16", np.floating), issubdtype(KeyType("rbg"), prng_key)
    (True, True)

    See also: ``isdtype``, ``result_type``.
    """
    return _issubdtype(_hashable(a), _hashable(b))


def _hashable(x: Any) -> Hashable:
    # An array or a tracer must not be kept alive by a cache: its dtype stands for it.
    if x is None or isinstance(x, _SPELLING_CLASSES):
        return x
    if not hasattr(x, "dtype"):
        raise DTypeError(no_element_type(x))
    return x.dtype


@lru_cache(maxsize=1024)
def _issubdtype(a: Hashable, b: Hashable) -> bool:
    if isinstance(b, KeyType):
        return a is b
    a, b = _scalar_class(a), _scalar_class(b)
    return issubclass(a, b) or issubclass(_NUMPY_PARENT.get(a) or a, b)


def _is_scalar_class(x: object) -> bool:
    return isinstance(x, type) and issubclass(x, np.generic)


def _scalar_class(x: Any) -> type:
    if _is_scalar_class(x):
        return x
    if isinstance(x, KeyType):
        return x.type
    try:
        return np.dtype(x).type
    except TypeError as error:
        raise DTypeError(no_element_type(x)) from error
