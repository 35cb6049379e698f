"""Conversion of Python and NumPy values to arrays; nothing else makes them.

Python scalars are weak: they give way to the element type of what they meet. 64-bit
values narrow to 32 bits unless ``enable_x64`` is on: silently, but with a warning where
a program named a 64-bit dtype (``asked_dtype``).
"""

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import DType, DTypeLike
from covector.core.array import ConcreteArray, from_buffer
from covector.core.array_like import Array
from covector.core.host_values import refuse_masks, with_dtype
from covector.core.number_info import iinfo
from covector.core.promotion import python_scalar_type
from covector.core.sharding.as_sharding import Format
from covector.core.sharding.transfer import guard
from covector.core.source import user_level
from covector.core.trace import current
from covector.core.types import AbstractRef, ArrayType, HasType
from covector.errors import (
    DTypeError,
    IntegerOverflow,
    TruncatedDTypeWarning,
    TypeMismatch,
)
from covector.runtime import buffers, memory

#: how many bits an integer may have to be a Python float
LARGEST_FLOAT_BITS = 1023

PYTHON_NUMBERS: tuple[type, ...] = (bool, int, float, complex)
_EXACT = frozenset(PYTHON_NUMBERS)
_OF_NUMPY: tuple[type, ...] = (np.ndarray, np.generic)
#: the classes themselves: a subclass may hold more than values, as masks
_ARRAYS_OF_NUMPY = frozenset({np.ndarray, *[d.type for d in dtypes.NUMBERS]})
#: what ``operand_on`` takes by its class alone, of which none is a tree
OPERANDS: frozenset[type] = frozenset({ConcreteArray}) | _EXACT | _ARRAYS_OF_NUMPY
#: sequences of Python, which are not converted
SEQUENCES: tuple[type, ...] = (list, tuple)


def asked_dtype(dtype: DTypeLike, values: Any = None) -> DType:
    """The dtype that arrays asked for with ``dtype`` have: 64 bits only under x64.

    Args:
      values: what the array is made of, if that may be integers of NumPy.

    Raises:
      IntegerOverflow: 32 bits do not hold the values, and ``dtype`` names 64 bits or
        is ``int``. One that names 32 bits asks for the low ones.

    Warns:
      TruncatedDTypeWarning: ``dtype`` names one of 64 bits, and x64 is off. The types
        of Python, which have no width, do not.
    """
    named = dtypes.as_dtype(dtype)
    found = dtypes.canonical(named, options.current().enable_x64)
    if found is named:
        return found
    of_integers = isinstance(values, _OF_NUMPY) and values.dtype.kind in "iu"
    if of_integers and dtypes.is_integer(found):
        check_narrowed(values, values.astype(found))
    if dtype is float or dtype is int or dtype is complex:
        return found
    warnings.warn(
        f"Explicitly requested dtype {named} is not available, and will be truncated "
        f"to dtype {found}. For 64 bits, set COVECTOR_ENABLE_X64=1 or call "
        "covector.config.update('enable_x64', True) before arrays are made.",
        TruncatedDTypeWarning,
        stacklevel=user_level(),
    )
    return found


@lru_cache(1024)
def _scalar(
    kind: type, text: str, value: Any, dtype: Any, weak: bool
) -> tuple[ArrayType, Any]:
    if kind is int:
        _check_fits(value, dtype)
    elif dtypes.is_integer(dtype):
        value = _truncated(value, iinfo(dtype))
    elif kind is complex and not dtypes.is_complex(dtype):
        value = bool(value) if dtypes.is_bool(dtype) else value.real
    type_ = ArrayType((), dtype, weak)
    values = np.asarray(value).astype(type_.storage)
    values.flags.writeable = False
    return type_, values


def _check_fits(value: int, dtype: Any) -> None:
    if dtypes.is_integer(dtype):
        limits = iinfo(dtype)
        if limits.min <= value <= limits.max:
            return
        holds = f"{limits.min} to {limits.max}"
    else:
        if dtypes.is_bool(dtype) or value.bit_length() <= LARGEST_FLOAT_BITS:
            return
        holds = "numbers below 2**1024, before it rounds them"
    shown = value if value.bit_length() < 256 else f"of {value.bit_length()} bits"
    raise IntegerOverflow(
        f"the Python integer {shown} does not fit {dtypes.short_name(dtype)}, which "
        f"holds {holds}. Convert the array it meets to a wider dtype, or the number to "
        "an array of its own."
    )


def _truncated(value: float | complex, limits: Any) -> int:
    """A number as an integer dtype has it: towards 0, within its limits; NaN is 0."""
    value = value.real
    if math.isfinite(value):
        return min(max(int(value), limits.min), limits.max)
    return 0 if math.isnan(value) else limits.max if value > 0 else limits.min


def scalar(value: object, dtype: Any, weak: bool = False) -> ConcreteArray:
    """A Python number as a scalar array of the given dtype.

    Floats become integers as by ``astype``: truncated, and the nearest that the dtype
    has. An integer that it does not have raises IntegerOverflow.
    """
    if type(value) not in _EXACT and isinstance(value, int):
        in_dtype = getattr(value, "in_dtype", None)
        if in_dtype is not None:  # a symbolic size
            return in_dtype(dtype, weak)
    # 0.0 and -0.0 are equal keys and different numbers: the text tells them apart.
    text = repr(value) if not value or type(value) is complex else ""
    return ConcreteArray(*_scalar(type(value), text, value, dtype, weak))


def python_scalar(value: bool | int | float | complex) -> ConcreteArray:
    """A Python number as a weak scalar array of its default dtype."""
    dtype, weak = python_scalar_type(value, options.current().enable_x64)
    return scalar(value, dtype, weak)


#: the dtypes that arrays have under all options, by those that equal them: NumPy has
#: equal dtypes that are different objects
_KEPT = {d: d for d in dtypes.NUMBERS if dtypes.canonical(d, x64=False) is d}


@lru_cache(256)
def _held_as(dtype: Any, x64: bool) -> Any:
    return dtypes.canonical(dtypes.element_type(dtype), x64)


def from_numpy(
    values: np.ndarray | np.generic, placement: Any = None, *, wide: bool = False
) -> ConcreteArray:
    """A copy of a NumPy array, narrowed to 32 bits unless x64 is on or it is to stay
    ``wide``.

    Raises:
      IntegerOverflow: an integer does not fit 32 bits.
    """
    if type(values) is not np.ndarray and isinstance(values, np.ndarray):
        refuse_masks(values)
    dtype = _KEPT.get(values.dtype)
    try:
        if dtype is not None:
            host = np.array(values, order="C")
        else:
            dtype = _held_as(values.dtype, wide or options.current().enable_x64)
            if dtype is dtypes.float0:
                host = np.zeros(values.shape, dtypes.bool_)
                return ConcreteArray(
                    ArrayType(host.shape, dtype), host, None, placement
                )
            host = np.array(values, dtype, order="C")
            if dtype.itemsize < values.dtype.itemsize and values.dtype.kind in "iu":
                check_narrowed(values, host)
    except MemoryError as error:
        raise memory.out_of_memory(error) from None
    if host.dtype is not dtype:
        host = with_dtype(host, dtype)
    return ConcreteArray(ArrayType(host.shape, dtype), host, None, placement)


#: elements up to which lists of Python are compared more quickly than arrays
_FEW = 32


def check_narrowed(values: Any, host: Any) -> None:
    """Raise where ``host`` lost high bits of integers of NumPy."""
    if values.size <= _FEW and values.tolist() == host.tolist():
        return
    limits = iinfo(host.dtype)
    for extreme in (int(values.max()), int(values.min())):
        if not limits.min <= extreme <= limits.max:
            shape = ",".join(map(str, values.shape))
            raise IntegerOverflow(
                f"{extreme} in values of NumPy ({values.dtype}[{shape}]) does not fit "
                f"{dtypes.short_name(host.dtype)}, the dtype of 64-bit integers while "
                "enable_x64 is off. Name a dtype: covector.numpy.asarray(x, 'float32') "
                "rounds, 'int32' keeps the low bits, and 'int64' inside "
                "covector.enable_x64(True) keeps all."
            )


def check_implicit(x: Any, who: str) -> None:
    """Raise where values of the host are not to become arrays without being asked."""
    trace = current.trace
    while trace is not None:
        if trace.stages:
            return  # a constant of a program, which moves when that is compiled
        trace = trace.parent
    dtype = getattr(x, "dtype", type(x).__name__)
    what = f"{dtype}{list(np.shape(x))} for {who}"
    guard.check("host_to_device", what, "Put it there: covector.device_put(x).")


def as_array(x: Any, who: str = "this operation") -> Array:
    """``x`` as an array; arrays and tracers are returned unchanged."""
    if isinstance(x, Array):
        return x
    if isinstance(x, _OF_NUMPY):  # np.float64 is a Python float as well
        if guard.on:
            check_implicit(x, who)
        return from_numpy(x)
    if type(x) not in PYTHON_NUMBERS and hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__(), who)
    if isinstance(x, PYTHON_NUMBERS):
        return python_scalar(x)
    if hasattr(x, "refused_as_array"):
        raise x.refused_as_array(who)
    if hasattr(x, "__array__"):
        return from_numpy(np.asanyarray(x))
    if hasattr(x, "__dlpack__"):
        return _from_tensor(x)
    if isinstance(x, SEQUENCES):
        raise DTypeError(
            f"{who} needs an array, but got a {type(x).__name__}. Python sequences are "
            "not converted silently, since that is slow for long ones: use "
            "covector.numpy.array(...)."
        )
    raise DTypeError(
        f"{who} needs an array or a number, but got {x!r} of type {type(x).__name__}. "
        f"{if_of_arrays(x)}".rstrip(),
        page=page_of_class(x),
    )


def to_be_cast(x: Any, who: str) -> Array:
    """``x`` as an array that is cast to a dtype at once: values of NumPy keep their 64
    bits until then, for 2**32 is a float32, and not an int32.
    """
    if isinstance(x, _OF_NUMPY):
        if guard.on:
            check_implicit(x, who)
        return from_numpy(x, wide=True)
    return as_array(x, who)


@lru_cache(1024)
def _number_on(
    device: Any, kind: type, text: str, value: Any, x64: bool
) -> tuple[ArrayType, Any, Any]:
    dtype, weak = python_scalar_type(value, x64)
    type_, host = _scalar(kind, text, value, dtype, weak)
    return type_, host, buffers.put(host, device)


def operand_on(x: object, device: Any) -> Array:
    """``x`` as an array for a program on a device: as by ``as_array``, but quickly for
    numbers that were passed before, whose buffers are kept, and for NumPy arrays.

    It must not be donated, and nobody but the program may see it.
    """
    if type(x) is ConcreteArray:
        return x
    kind = type(x)
    if kind in _EXACT:
        text = repr(x) if not x or kind is complex else ""
        x64 = options.current().enable_x64
        return ConcreteArray(*_number_on(device, kind, text, x, x64))
    if kind in _ARRAYS_OF_NUMPY:
        values = np.asarray(x)
        dtype = _KEPT.get(values.dtype)
        if dtype is values.dtype and values.flags.c_contiguous:
            type_ = ArrayType(values.shape, dtype)
            return ConcreteArray(type_, None, buffers.put(values, device))
    return as_array(x)


def _from_tensor(x: Any) -> ConcreteArray:
    values = buffers.from_dlpack(x)
    if isinstance(values, _OF_NUMPY):
        return from_numpy(values)
    return from_buffer(values).copy()


def type_of(x: Any, who: str = "this operation") -> ArrayType:
    """The type that ``x`` has, or would have as an array, without making one."""
    if isinstance(x, Array | ShapeDtypeStruct):
        return x.type
    if isinstance(x, ArrayType):
        return x
    if isinstance(x, PYTHON_NUMBERS) and not isinstance(x, _OF_NUMPY):
        dtype, weak = python_scalar_type(x, options.current().enable_x64)
        return ArrayType((), dtype, weak)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        if isinstance(x, _OF_NUMPY) and type(x) is not np.ndarray:
            refuse_masks(x)
        dtype = dtypes.canonical(
            dtypes.element_type(x.dtype), options.current().enable_x64
        )
        return ArrayType(tuple(x.shape), dtype, bool(getattr(x, "weak_type", False)))
    return as_array(x, who).type


class ShapeDtypeStruct(HasType):
    """A shape and dtype standing for an array, where only its type matters.

    ``eval_shape``, ``jit(f).lower`` and ``pure_callback`` take it.

    Args:
      shape: the shape.
      dtype: the dtype.
      sharding: how such an array is divided over devices, if that matters.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    See also: ``eval_shape``, ``typeof``.
    """

    __slots__ = ("sharding", "type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        is_ref: bool = False,
        **_: Any,
    ) -> None:
        if dtype is None:
            raise TypeMismatch("ShapeDtypeStruct needs a dtype, but got None")
        type_ = ArrayType(tuple(shape), dtypes.as_dtype(dtype), weak_type)
        self.type: Any = AbstractRef(type_) if is_ref else type_
        self.sharding: Any = sharding

    @property
    def is_ref(self) -> bool:
        """Whether it stands for a reference to an array."""
        return type(self.type) is AbstractRef

    @property
    def format(self) -> Format:
        """The sharding, with a layout that is left open."""
        return Format(None, self.sharding)

    def update(self, **changes: Any) -> "ShapeDtypeStruct":
        """The same, with other ``shape``, ``dtype``, ``sharding``, ``weak_type`` or
        ``is_ref``.
        """
        now: dict[str, Any] = {
            "shape": self.shape,
            "dtype": self.dtype,
            "sharding": self.sharding,
            "weak_type": self.weak_type,
            "is_ref": self.is_ref,
        }
        return ShapeDtypeStruct(**(now | changes))

    def __len__(self) -> int:
        return len(self.type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.type, self.sharding) == (
            other.type,
            other.sharding,
        )

    def __hash__(self) -> int:
        return hash((self.type, self.sharding))

    def __repr__(self) -> str:
        more = ", weak_type=True" if self.weak_type else ""
        if self.sharding is not None:
            more += f", sharding={self.sharding}"
        if self.is_ref:
            more += ", is_ref=True"
        name = getattr(self.dtype, "name", self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{more})"


def page_of_class(x: object) -> str | None:
    """The page about ``x``, not an array, if its class is the user's."""
    return None if type(x).__module__ == "builtins" else "unregistered-class"


def if_of_arrays(x: object) -> str:
    """The way out for a value of such a class."""
    return (
        "If arrays are inside, make the class a pytree: "
        "covector.tree_util.register_dataclass. "
        if page_of_class(x)
        else ""
    )
