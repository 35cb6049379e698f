"""Type queries, ``astype``, and constants."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, DType, DTypeLike
from covector.core.array_like import API_VERSIONS, Array
from covector.core.array_like import Array as ndarray
from covector.core.convert import asked_dtype, to_be_cast, type_of
from covector.core.number_info import finfo, iinfo, issubdtype
from covector.core.promotion import operand_type, promote, result_type
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError
from covector.numpy.axes import canonical_axes
from covector.numpy.creation import from_sequence
from covector.operations.casting import convert
from covector.runtime import client

__all__ = [
    "ComplexWarning",
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "can_cast",
    "e",
    "euler_gamma",
    "finfo",
    "iinfo",
    "inf",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "nan",
    "ndarray",
    "ndim",
    "newaxis",
    "pi",
    "promote_types",
    "result_type",
    "shape",
    "size",
]

#: half the circumference of the unit circle, 3.14159…
pi: float = np.pi
#: the base of natural logarithms, 2.71828…
e: float = np.e
#: Euler's constant, the limit of 1 + 1/2 + … + 1/n − log n: 0.57721…
euler_gamma: float = np.euler_gamma
#: infinity, a Python float
inf: float = np.inf
#: not a number, a Python float that is equal to nothing
nan: float = np.nan
#: None, which stands for a new axis of length 1 in an index: ``x[:, newaxis]``
newaxis = None
#: the version of the array API standard that this namespace follows
__array_api_version__ = API_VERSIONS[-1]


def astype(
    x: ArrayLike,
    dtype: DTypeLike,
    /,
    *,
    copy: bool = False,
    device: ShardingLike | None = None,
) -> Array:
    """The values of ``x`` in another element type; None is the default float.

    Floats become integers by truncation, and what is out of range becomes the nearest
    end of the range, NaN zero. Complex numbers lose their imaginary part, with a
    warning. Gradients do not pass through integers.

    Raises:
      DTypeError: ``dtype`` is not an element type, or ``x`` holds random keys.

    >>> import covector.numpy as cnp
    >>> cnp.astype(cnp.array([-1.5, 300.0, cnp.nan]), "uint8").tolist()
    [0, 255, 0]

    See also: ``round``, ``asarray``, ``lax.bitcast_convert_type``.
    """
    to = asked_dtype(float if dtype is None else dtype, x)
    x = to_be_cast(x, "astype")
    if dtypes.is_complex(x.type.dtype) and not (
        dtypes.is_complex(to) or dtypes.is_bool(to)
    ):
        warnings.warn(
            f"astype of {x.type} to {dtypes.short_name(to)} drops the imaginary part; "
            "real(x) says that it is meant.",
            ComplexWarning,
            stacklevel=3,
        )
    out = convert(x, to)
    if copy and out is x:
        out = x.copy()
    return out if device is None else out.to_device(device)


# -- relations between dtypes ----------------------------------------------------------


def promote_types(a: ArrayLike, b: ArrayLike) -> DType:
    """The dtype in which arrays of two dtypes meet; ``int``, ``float`` … are weak.

    Unlike ``result_type`` it takes 64-bit dtypes for what they are, also where arrays
    do not have them.

    Raises:
      TypePromotionError: the two have no common dtype.

    >>> promote_types("int8", "bfloat16"), promote_types("float16", float)
    (dtype(bfloat16), dtype('float16'))
    """
    now = options.current()
    x64 = now.enable_x64 or any(_is_wide(x) for x in (a, b))
    found = [operand_type(x, x64) for x in (a, b)]
    return promote(*found, x64=x64, mode=now.numpy_dtype_promotion)[0]


def _is_wide(x: Any) -> bool:
    """Whether ``x`` spells a dtype of 64 bits, as the Python types do."""
    return dtypes.canonical(dtypes.as_dtype(x), False) is not dtypes.as_dtype(x)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a cast between dtypes, or of an array to a dtype, is one of this kind.

    Args:
      casting: "no", "equiv", "safe" (loses nothing), "same_kind" or "unsafe".

    >>> can_cast("bfloat16", "float32"), can_cast("float32", "bfloat16")
    (True, False)
    """
    if type(from_) in (int, float, complex):
        raise DTypeError(
            f"can_cast needs a dtype or an array, but got the number {from_!r}: "
            "numbers have no dtype of their own."
        )
    source: Any = dtypes.as_dtype(from_)
    target: Any = dtypes.as_dtype(to)
    return bool(np.can_cast(source, target, casting))


_KINDS = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed,
    "unsigned integer": dtypes.is_unsigned,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_floating,
    "complex floating": dtypes.is_complex,
    "numeric": dtypes.is_numeric,
}


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard.

    Args:
      kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating", "numeric", a dtype, or a tuple of these: any of them.

    Raises:
      ArgumentError: there is no such kind.

    >>> isdtype("bfloat16", "real floating"), isdtype("int8", ("bool", "int8"))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    found = dtypes.as_dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind](found)
    try:
        return found == dtypes.as_dtype(kind)
    except DTypeError:
        raise ArgumentError(
            f"isdtype knows the kinds {', '.join(map(repr, _KINDS))}, and dtypes, but "
            f"got {kind!r}."
        ) from None


# -- what a value is -------------------------------------------------------------------


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The lengths of the axes of an array, or of what would become one.

    They are Python integers, known under ``jit`` too.

    Args:
      a: an array, a number, or nested sequences.

    Returns:
      A tuple of Python integers.

    Raises:
      DTypeError: ``a`` is not an array, a number or a sequence of them.

    >>> shape(3.0), shape([[1, 2]])
    ((), (1, 2))

    See also: ``ndim``, ``size``, ``reshape``.
    """
    return _type_of("shape", a).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes, a Python integer.

    Args:
      a: an array, a number, or nested sequences.

    Returns:
      A Python integer; 0 for a number.

    Raises:
      TypeMismatch: sequences have different lengths.

    >>> ndim(3.0)
    0

    See also: ``shape``, ``expand_dims``.
    """
    return _type_of("ndim", a).ndim


def size(a: ArrayLike, axis: Axes = None) -> int:
    """The number of elements, in all or along one axis or several; a Python integer.

    Args:
      a: an array, a number, or nested sequences.
      axis: an axis, or several; None for all.

    Returns:
      A Python integer, known under ``jit`` too.

    Raises:
      AxisError: the array has no such axis.

    >>> import covector.numpy as cnp
    >>> size(cnp.zeros((2, 3))), size(cnp.zeros((2, 3)), 1)
    (6, 3)

    See also: ``shape``, ``count_nonzero``.
    """
    type = _type_of("size", a)
    return math.prod([type.shape[k] for k in canonical_axes("size", axis, type.ndim)])


def _type_of(who: str, x: Any) -> ArrayType:
    """The type of an array, or of what ``array`` would make of ``x``; that of no value
    is a scalar's.
    """
    if x is None:
        return ArrayType((), dtypes.float32)
    return type_of(from_sequence(who, x) if isinstance(x, list | tuple) else x, who)


def iscomplexobj(x: ArrayLike) -> bool:
    """Whether ``x``, an array or a dtype, is complex, whatever its values.

    Args:
      x: an array, a number or a dtype.

    Returns:
      A Python bool, known under ``jit`` too.

    Raises:
      DTypeError: ``x`` is none of these.

    >>> iscomplexobj(1j), iscomplexobj(1.0)
    (True, False)

    See also: ``isrealobj``, ``iscomplex`` (of each element), ``issubdtype``.
    """
    if isinstance(x, type | np.dtype):
        return dtypes.is_complex(dtypes.as_dtype(x))
    return dtypes.is_complex(_type_of("iscomplexobj", x).dtype)


def isrealobj(x: ArrayLike) -> bool:
    """Whether ``x`` has another dtype than a complex one.

    >>> isrealobj(1j), isrealobj(1.0)
    (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: ArrayLike) -> bool:
    """Whether ``element`` is a number, or an array without axes.

    >>> import covector.numpy as cnp
    >>> isscalar(3.0), isscalar(cnp.zeros(3))
    (True, False)
    """
    if isinstance(element, Array | np.ndarray):
        return element.ndim == 0
    return bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Whether ``y`` can be iterated over; arrays without axes cannot.

    >>> iterable([1, 2]), iterable(3)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


# -- what the array API standard asks a namespace --------------------------------------


_NARROW = ("int2", "int4", "uint2", "uint4")
_STANDARD = (
    dtypes.bool_,
    *[d for d in (*dtypes.SIGNED, *dtypes.UNSIGNED) if d.name not in _NARROW],
    dtypes.float32,
    dtypes.float64,
    *dtypes.COMPLEX,
)


class ArrayNamespaceInfo:
    """The capabilities and dtypes of this namespace, as the array API standard asks."""

    def capabilities(self) -> dict[str, Any]:
        """The capabilities of eager code. In ``jit`` shapes cannot depend on values."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> None:
        """None: an array goes where it is needed until a device is named."""

    def devices(self) -> tuple[Any, ...]:
        """None, for no device in particular, and every device of every platform."""
        clients = client.backends().values()
        return (None, *[d for each in clients for d in each.devices()])

    def default_dtypes(self, *, device: ShardingLike | None = None) -> dict[str, Any]:
        """The dtypes that results have where none is asked for."""
        x64 = options.current().enable_x64
        return {
            "real floating": dtypes.default_float(x64),
            "complex floating": dtypes.default_complex(x64),
            "integral": dtypes.default_int(x64),
            "indexing": dtypes.default_int(x64),
        }

    def dtypes(
        self,
        *,
        device: ShardingLike | None = None,
        kind: str | Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """The dtypes of the standard that arrays can have, by name."""
        kinds = (
            None if kind is None else tuple([kind] if isinstance(kind, str) else kind)
        )
        x64 = options.current().enable_x64
        return {
            d.name: d
            for d in _STANDARD
            if dtypes.canonical(d, x64) is d and (kinds is None or isdtype(d, kinds))
        }


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """The capabilities and dtypes of this namespace, as the array API standard asks.

    >>> __array_namespace_info__().default_dtypes()["integral"]
    dtype('int32')
    """
    return ArrayNamespaceInfo()
