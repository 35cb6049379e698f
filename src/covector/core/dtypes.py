"""Element types: their names, classes and relations.

An element type is an ``np.dtype`` (NumPy's own, or one that ml_dtypes adds for the
narrow kinds) or a ``KeyType``, the type of a random key. All are singletons, and
``as_dtype`` turns every accepted spelling into the one object: inside the system
dtypes are compared with ``is``, and a question about one is a look-up in a table made
here. How two dtypes meet in one operation is the subject of ``promotion``.
"""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from covector.core.key_types import KeyType, extended, prng_key
from covector.errors import DTypeError, DTypeKindError, did_you_mean

bool_ = np.dtype(np.bool_)
int2, int4 = np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.int4)
int8, int16 = np.dtype(np.int8), np.dtype(np.int16)
int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
uint2, uint4 = np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4)
uint8, uint16 = np.dtype(np.uint8), np.dtype(np.uint16)
uint32, uint64 = np.dtype(np.uint32), np.dtype(np.uint64)
float4_e2m1fn = np.dtype(ml_dtypes.float4_e2m1fn)
float6_e2m3fn = np.dtype(ml_dtypes.float6_e2m3fn)
float6_e3m2fn = np.dtype(ml_dtypes.float6_e3m2fn)
float8_e3m4 = np.dtype(ml_dtypes.float8_e3m4)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = np.dtype(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = np.dtype(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = np.dtype(ml_dtypes.float8_e8m0fnu)
bfloat16, float16 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)
float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)

#: the dtype of tangents of integers and bools, which are all zero: no bytes per element
float0: np.dtype[np.void] = np.dtype([("float0", np.void, 0)])

SIGNED = (int2, int4, int8, int16, int32, int64)
UNSIGNED = (uint2, uint4, uint8, uint16, uint32, uint64)
#: floats too narrow to mix with other floats
NARROW_FLOATS = (
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
)
FLOATING = (*NARROW_FLOATS, bfloat16, float16, float32, float64)
COMPLEX = (complex64, complex128)
#: integers of which a byte holds several
SUB_BYTE = frozenset({int2, int4, uint2, uint4})
#: numbers, and bools, in the widths in which processors compute with vectors of them
MACHINE_FLOATS = frozenset({float32, float64})
MACHINE_NUMBERS = MACHINE_FLOATS | {bool_, int32, int64, uint32, uint64}
#: every dtype an array of numbers can have
NUMBERS = (bool_, *SIGNED, *UNSIGNED, *FLOATING, *COMPLEX)
_OF_NUMPY = frozenset(d for d in NUMBERS if d.type.__module__ == "numpy")


DType: TypeAlias = np.dtype | KeyType


# -- names -----------------------------------------------------------------------------


def _short(dtype: np.dtype) -> str:
    for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c")):
        if dtype.name.startswith(long):
            return short + dtype.name.removeprefix(long)
    return dtype.name.replace("uint", "u").replace("int", "i")


_SHORT: dict[Any, str] = {dtype: _short(dtype) for dtype in NUMBERS}
_SHORT[float0] = "float0"


def short_name(dtype: Any) -> str:
    """The dtype as it is written in types: ``f32``, ``u8``, ``bf16``, ``key<fry>``."""
    return _SHORT.get(dtype) or str(dtype)


_SPELLINGS: dict[Any, DType] = {
    bool: bool_,
    int: int64,
    float: float64,
    complex: complex128,
    float0: float0,
}
for _dtype in NUMBERS:
    _SPELLINGS.update(dict.fromkeys((_dtype, _dtype.type, _dtype.name), _dtype))

#: classes that stand for a kind of element type, not for one
_ABSTRACT = frozenset(
    {
        np.generic,
        np.number,
        np.integer,
        np.signedinteger,
        np.unsignedinteger,
        np.inexact,
        np.floating,
        np.complexfloating,
        np.flexible,
        np.character,
        extended,
        prng_key,
    }
)


def as_dtype(x: Any) -> DType:
    """The element type that ``x`` spells, as the one object that stands for it.

    Accepts a dtype, a scalar class of NumPy, ml_dtypes or covector, ``bool``, ``int``,
    ``float``, ``complex``, a name, a ``KeyType``, and anything with a ``dtype``.

    Raises:
      DTypeError: ``x`` is not an element type, or one that arrays cannot have.

    >>> as_dtype("bfloat16"), as_dtype(float), as_dtype(np.zeros(3, np.int8))
    (dtype(bfloat16), dtype('float64'), dtype('int8'))
    """
    try:
        known = _SPELLINGS.get(x)
    except TypeError:  # unhashable, as arrays are
        known = None
    return _resolve(x) if known is None else known


def _resolve(x: Any) -> DType:
    if isinstance(x, KeyType):
        return x
    if x is None or (isinstance(x, type) and x in _ABSTRACT):
        raise DTypeError(no_element_type(x))
    if not isinstance(x, type) and hasattr(x, "dtype"):
        return element_type(x.dtype)
    try:
        dtype = np.dtype(x)
    except (TypeError, ValueError) as error:
        raise DTypeError(no_element_type(x)) from error
    if dtype.kind == "O" and isinstance(x, type) and x not in (object, np.object_):
        raise DTypeError(no_element_type(x))  # NumPy takes any class for object
    if dtype not in _SPELLINGS:
        raise DTypeError(f"{dtype} is not an element type of arrays. {_way_out(dtype)}")
    return _SPELLINGS[dtype]


def element_type(dtype: Any) -> DType:
    """The element type of an array that has this dtype, without its byte order.

    Raises:
      DTypeError: elements that arrays here cannot have.
    """
    swapped = isinstance(dtype, np.dtype) and not dtype.isnative
    return as_dtype(dtype.newbyteorder("=") if swapped else dtype)


def no_element_type(x: Any) -> str:
    """The words of the error for what is no element type of arrays."""
    shown = getattr(x, "__name__", None) or repr(x)
    if isinstance(x, type) and x in _ABSTRACT:
        example = "key.dtype" if issubclass(x, extended) else "'float32' or 'int32'"
        return (
            f"{shown} is a kind of element types, and one of them was wanted. "
            f"Name it, say {example}."
        )
    message = f"{shown} is not an element type."
    names = [name for name in _SPELLINGS if isinstance(name, str)]
    if isinstance(x, str) and (hint := did_you_mean(x, names)):
        return message + hint
    return f"{message} Give a dtype, its name such as 'float32', or bool, int, float."


_NUMBER_STRINGS = "Number the strings: numpy.unique(x, return_inverse=True)[1]."
#: per kind of NumPy: what to do with data that is not of numbers, or of other numbers
_WAYS_OUT = {
    "O": "If all elements are numbers, convert them: numpy.asarray(x, 'float32').",
    "M": "Count from an origin: (x - origin) / numpy.timedelta64(1, 's').",
    "m": "Count a unit: x / numpy.timedelta64(1, 's').",
    "f": "Convert it: x.astype('float64').",
    "c": "Convert it: x.astype('complex128').",
    "W": "Convert it: x.astype('complex64').",
    **dict.fromkeys("UST", _NUMBER_STRINGS),
}


def _way_out(dtype: np.dtype) -> str:
    if not dtype.names and not dtype.isnative:
        return f"Arrays have no order of bytes to choose: name it {dtype.name!r}."
    if dtype.names:
        return "Make a dict of its fields: {name: x[name] for name in x.dtype.names}."
    if dtype.type is np.void:
        return "Look at its bytes: x.view('uint8')."
    return _WAYS_OUT.get(dtype.kind, "Convert it: x.astype('int8').")


# -- kinds -----------------------------------------------------------------------------

_SIGNED, _UNSIGNED = frozenset(SIGNED), frozenset(UNSIGNED)
_INTEGER, _FLOATING = _SIGNED | _UNSIGNED, frozenset(FLOATING)
_COMPLEX = frozenset(COMPLEX)
_INEXACT = _FLOATING | _COMPLEX
_NUMERIC = _INTEGER | _INEXACT


def is_bool(dtype: DType) -> bool:
    """Whether the elements are truth values."""
    return dtype is bool_


def is_integer(dtype: DType) -> bool:
    """Whether the elements are integers; bool is not."""
    return dtype in _INTEGER


def is_signed(dtype: DType) -> bool:
    """Whether the elements are integers with a sign."""
    return dtype in _SIGNED


def is_unsigned(dtype: DType) -> bool:
    """Whether the elements are integers without a sign."""
    return dtype in _UNSIGNED


def is_floating(dtype: DType) -> bool:
    """Whether the elements are real floating-point numbers."""
    return dtype in _FLOATING


def is_complex(dtype: DType) -> bool:
    """Whether the elements are complex numbers."""
    return dtype in _COMPLEX


def is_inexact(dtype: DType) -> bool:
    """Whether the elements are real or complex floating-point numbers."""
    return dtype in _INEXACT


def is_real(dtype: DType) -> bool:
    """Whether the elements are real numbers, integers or floats; bool is not."""
    return dtype in _NUMERIC and dtype not in _COMPLEX


def is_numeric(dtype: DType) -> bool:
    """Whether the elements are numbers; bool, float0 and keys are not."""
    return dtype in _NUMERIC


def is_of_numpy(dtype: DType) -> bool:
    """Whether NumPy itself defines the elements, and can order, view and print them;
    those that ml_dtypes adds it only stores.
    """
    return dtype in _OF_NUMPY


def is_key(dtype: DType) -> bool:
    """Whether the elements are random keys."""
    return type(dtype) is KeyType


def is_wide_key(dtype: DType) -> bool:
    """Whether the elements are random keys of more bits than an integer has."""
    return type(dtype) is KeyType and dtype.is_wide


# -- widths and defaults ---------------------------------------------------------------

_IN_32_BITS: dict[DType, DType] = {
    int64: int32,
    uint64: uint32,
    float64: float32,
    complex128: complex64,
}


def canonical(dtype: DType, x64: bool) -> DType:
    """The dtype as arrays have it: 64-bit kinds become 32-bit ones unless ``x64``."""
    return dtype if x64 else _IN_32_BITS.get(dtype, dtype)


def default_int(x64: bool) -> np.dtype:
    """The dtype of Python integers."""
    return int64 if x64 else int32


def default_uint(x64: bool) -> np.dtype:
    """The unsigned dtype of default width."""
    return uint64 if x64 else uint32


def default_float(x64: bool) -> np.dtype:
    """The dtype of Python floats."""
    return float64 if x64 else float32


def default_complex(x64: bool) -> np.dtype:
    """The dtype of Python complex numbers."""
    return complex128 if x64 else complex64


def python_type(dtype: DType) -> type:
    """The Python type whose values the elements are: bool, int, float or complex."""
    if is_bool(dtype):
        return bool
    if is_integer(dtype):
        return int
    if is_floating(dtype):
        return float
    if is_complex(dtype):
        return complex
    raise DTypeKindError(
        f"no Python number stands for an element of {short_name(dtype)}: "
        "bool, integer, float and complex dtypes have one."
    )


# -- relations -------------------------------------------------------------------------


_REAL_PART: dict[np.dtype, np.dtype] = {complex64: float32, complex128: float64}


def real_part(dtype: Any) -> np.dtype:
    """The dtype of the real part: ``f32`` for ``c64``; a real dtype is its own."""
    part = _REAL_PART.get(dtype)
    return dtype if part is None else part


def complex_of(dtype: DType) -> np.dtype:
    """The narrowest complex dtype that holds every number of an inexact dtype."""
    if not is_inexact(dtype):
        raise DTypeKindError(
            f"no complex dtype has parts of {short_name(dtype)}: "
            "a floating dtype was wanted. Convert first: x.astype('float32')."
        )
    return complex128 if dtype in (float64, complex128) else complex64


def tangent_dtype(dtype: Any) -> np.dtype:
    """The dtype of a small change: its own if inexact, else ``float0``."""
    return dtype if dtype in _INEXACT else float0
