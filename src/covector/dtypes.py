"""Element types: their abstract classes, limits, and how they are promoted.

A dtype is a ``numpy.dtype``; the ones NumPy lacks (``bfloat16``, the narrow floats and
integers) come from ml_dtypes, and random keys have a ``KeyType``. The dtypes by name,
``float32`` and so on, are in ``covector.numpy``.
"""

from typing import Any

from ml_dtypes import bfloat16

from covector import namespaces, options
from covector.core.dtypes import (
    KeyType,
    as_dtype,
    canonical,
    extended,
    float0,
    is_key,
    prng_key,
    python_type,
    short_name,
)
from covector.core.number_info import bit_width, finfo, iinfo, issubdtype
from covector.core.promotion import operand_type, result_type
from covector.errors import DTypeKindError, TypePromotionError

__all__ = [
    "KeyType",
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
__dir__ = namespaces.completions(globals())


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays asked for with ``dtype`` have.

    64-bit kinds become 32-bit ones unless ``enable_x64`` is on; None asks for the
    floating-point dtype of arrays.

    Raises:
      DTypeError: ``dtype`` is not an element type.
      DTypeKindError: it is the type of random keys, without ``allow_extended_dtype``.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    dtype = as_dtype(float if dtype is None else dtype)
    if is_key(dtype) and not allow_extended_dtype:
        raise DTypeKindError(
            f"canonicalize_dtype needs a dtype of numbers, but got {dtype}. "
            "With allow_extended_dtype=True it answers for keys too."
        )
    return canonical(dtype, options.current().enable_x64)


def itemsize_bits(dtype: Any) -> int:
    """Bits per element, counting 4 for ``int4`` although it is stored in a byte.

    Raises:
      DTypeError: ``dtype`` is not an element type.
      DTypeKindError: it is the type of random keys.

    >>> itemsize_bits("int4"), itemsize_bits(bool), itemsize_bits("complex64")
    (4, 8, 64)
    """
    dtype = as_dtype(dtype)
    if is_key(dtype):
        raise DTypeKindError(
            f"itemsize_bits needs a dtype of numbers, but got {short_name(dtype)}. "
            "The numbers behind a key are covector.random.key_data(key)."
        )
    return bit_width(dtype)


def scalar_type_of(x: Any) -> type:
    """The Python type of the elements of an array, number or dtype.

    Raises:
      DTypeError: ``x`` has no element type.
      DTypeKindError: its elements are not numbers.

    >>> scalar_type_of(2.5), scalar_type_of("uint8")
    (<class 'float'>, <class 'int'>)
    """
    return python_type(operand_type(x, options.current().enable_x64)[0])
