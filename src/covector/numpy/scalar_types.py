"""The names of element types in the NumPy namespace: ``float32``, ``int8``, ``bool_``.

Each name is a class with a ``dtype``. It equals that dtype and NumPy's class of
scalars, hashes like the class, and is accepted wherever a dtype is; NumPy's scalars are
instances of it. Called, it makes an array of that dtype out of a value, as the classes
of NumPy make scalars. How arrays are made is not known here: the array
constructor is handed over once, when the namespace is put together.
"""

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType
from covector.core.array_like import Array

__all__ = [
    "bfloat16",
    "bool",
    "bool_",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "flexible",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "inexact",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "number",
    "object_",
    "signedinteger",
    "single",
    "uint",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


class ScalarType(type):
    """The class of ``float32`` and its like: a dtype that makes arrays when called."""

    dtype: np.dtype
    _constructor: Callable[..., Any] | None = None

    def __new__(mcs, dtype: DType) -> "ScalarType":
        members = {"__doc__": _doc(dtype), "__module__": __name__, "dtype": dtype}
        return super().__new__(mcs, dtype.name, (), members)

    def __init__(cls, dtype: DType) -> None:
        super().__init__(dtype.name, (), {})

    def __call__(cls, x: Any) -> Array:
        """``x`` as an array of this dtype."""
        assert ScalarType._constructor is not None, "covector.numpy installs it"
        return ScalarType._constructor(x, dtype=cls.dtype)

    def __eq__(cls, other: Any) -> builtins.bool:
        # NumPy finds a dtype equal to more, as None, "float64" and float, whose hashes
        # are others.
        scalar_class = isinstance(other, type) and issubclass(other, np.generic)
        known = scalar_class or isinstance(other, np.dtype)
        return cls is other or (known and cls.dtype == other)

    def __hash__(cls) -> int:
        # That of NumPy's class of the same name, which equals this one.
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> builtins.bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"covector.numpy.{cls.__name__}"


def _doc(dtype: DType) -> str:
    wide = dtypes.canonical(dtype, x64=False) != dtype
    needs = (
        "It needs the option ``enable_x64``: without it, arrays get the type of half "
        "as many bits, with a warning. "
        if wide
        else ""
    )
    name = dtype.name
    return f"""The element type {name}. Called, it makes an array of it from a value.

Pass it wherever a dtype is taken. {needs}It equals NumPy's class of that name, and the
dtypes of arrays.

>>> import covector as cv, covector.numpy as cnp
>>> with cv.enable_x64({wide}):
...     cnp.ones(2, cnp.{name}).dtype == cnp.{name}
True

See also: ``finfo`` and ``iinfo`` (limits), ``astype``, ``result_type``.
"""


def install_constructor(constructor: Callable[..., Any]) -> None:
    """Say how a value becomes an array: ``constructor(x, dtype=…)``. Done once."""
    assert ScalarType._constructor in (None, constructor), "there is one constructor"
    ScalarType._constructor = constructor


bool_: ScalarType = ScalarType(dtypes.bool_)
bool: ScalarType = bool_
int2: ScalarType = ScalarType(dtypes.int2)
int4: ScalarType = ScalarType(dtypes.int4)
int8: ScalarType = ScalarType(dtypes.int8)
int16: ScalarType = ScalarType(dtypes.int16)
int32: ScalarType = ScalarType(dtypes.int32)
int64: ScalarType = ScalarType(dtypes.int64)
int_: ScalarType = int64
uint2: ScalarType = ScalarType(dtypes.uint2)
uint4: ScalarType = ScalarType(dtypes.uint4)
uint8: ScalarType = ScalarType(dtypes.uint8)
uint16: ScalarType = ScalarType(dtypes.uint16)
uint32: ScalarType = ScalarType(dtypes.uint32)
uint64: ScalarType = ScalarType(dtypes.uint64)
uint: ScalarType = uint64
float4_e2m1fn: ScalarType = ScalarType(dtypes.float4_e2m1fn)
float6_e2m3fn: ScalarType = ScalarType(dtypes.float6_e2m3fn)
float6_e3m2fn: ScalarType = ScalarType(dtypes.float6_e3m2fn)
float8_e3m4: ScalarType = ScalarType(dtypes.float8_e3m4)
float8_e4m3: ScalarType = ScalarType(dtypes.float8_e4m3)
float8_e4m3b11fnuz: ScalarType = ScalarType(dtypes.float8_e4m3b11fnuz)
float8_e4m3fn: ScalarType = ScalarType(dtypes.float8_e4m3fn)
float8_e4m3fnuz: ScalarType = ScalarType(dtypes.float8_e4m3fnuz)
float8_e5m2: ScalarType = ScalarType(dtypes.float8_e5m2)
float8_e5m2fnuz: ScalarType = ScalarType(dtypes.float8_e5m2fnuz)
float8_e8m0fnu: ScalarType = ScalarType(dtypes.float8_e8m0fnu)
bfloat16: ScalarType = ScalarType(dtypes.bfloat16)
float16: ScalarType = ScalarType(dtypes.float16)
float32: ScalarType = ScalarType(dtypes.float32)
single: ScalarType = float32
float64: ScalarType = ScalarType(dtypes.float64)
double: ScalarType = float64
float_: ScalarType = float64
complex64: ScalarType = ScalarType(dtypes.complex64)
csingle: ScalarType = complex64
complex128: ScalarType = ScalarType(dtypes.complex128)
cdouble: ScalarType = complex128
complex_: ScalarType = complex128

# The abstract classes, and NumPy's names for what is not an array of numbers.
#: NumPy's base class of all element types
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
#: NumPy's type of Python objects, which arrays of covector cannot hold
object_ = np.object_
#: NumPy's class of dtypes; ``dtype("float32")`` makes one
dtype = np.dtype
