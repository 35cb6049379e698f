"""Type promotion: the result dtype of operands of several dtypes.

The dtypes form a graph whose arrows lead to what holds more, and operands meet at their
least upper bound. Python numbers, and arrays that are *weak* (computed from nothing
else), have nodes of their own, ``int``, ``float`` and ``complex``, low in the graph: a
weak operand gives way to any dtype of its kind, whatever the width.

    bool → int ┬→ u8 ┬→ u16 ┬→ u32 ┬→ u64 ─┬→ float ┬→ bf16 ┬→ f32 ┬→ f64 ┐
               │     └───┐  └───┐  └───┐   │        ├→ f16 ─┘      │      │
               ├→ i8 ──→ i16 ─→ i32 ─→ i64 ┘        ├→ complex ──→ c64 ─→ c128
               └→ i2 i4 u2 u4                       └→ f4… f6… f8…

The narrowest integers and floats lead nowhere: mixing them with others is an error.
Under the option ``numpy_dtype_promotion="strict"`` the only arrows are those that leave
weak nodes, so no dtype changes behind the reader's back.
"""

from functools import lru_cache
from typing import Any, Literal, TypeAlias, overload

from covector import options
from covector.core import dtypes
from covector.core.dtypes import DType, as_dtype, canonical, element_type, short_name
from covector.core.number_info import iinfo
from covector.errors import DTypeError, IntegerOverflow, TypePromotionError

#: a dtype, or a Python type for weak operands of that kind
Node: TypeAlias = DType | type[Any]

_NARROW_INTEGERS = (dtypes.int2, dtypes.int4, dtypes.uint2, dtypes.uint4)

_STANDARD: dict[Node, tuple[Node, ...]] = {
    dtypes.bool_: (int,),
    int: (dtypes.uint8, dtypes.int8, *_NARROW_INTEGERS),
    dtypes.uint8: (dtypes.uint16, dtypes.int16),
    dtypes.uint16: (dtypes.uint32, dtypes.int32),
    dtypes.uint32: (dtypes.uint64, dtypes.int64),
    dtypes.uint64: (float,),
    dtypes.int8: (dtypes.int16,),
    dtypes.int16: (dtypes.int32,),
    dtypes.int32: (dtypes.int64,),
    dtypes.int64: (float,),
    float: (dtypes.bfloat16, dtypes.float16, complex, *dtypes.NARROW_FLOATS),
    dtypes.bfloat16: (dtypes.float32,),
    dtypes.float16: (dtypes.float32,),
    dtypes.float32: (dtypes.float64, dtypes.complex64),
    dtypes.float64: (dtypes.complex128,),
    complex: (dtypes.complex64,),
    dtypes.complex64: (dtypes.complex128,),
}
_STRICT: dict[Node, tuple[Node, ...]] = {
    int: (*dtypes.SIGNED, *dtypes.UNSIGNED, float),
    float: (*dtypes.FLOATING, complex),
    complex: dtypes.COMPLEX,
}
_GRAPHS = {"standard": _STANDARD, "strict": _STRICT}


@lru_cache
def _upper_bounds(node: Node, mode: str) -> frozenset[Node]:
    """The node and all that its arrows lead to."""
    above = _GRAPHS[mode].get(node, ())
    return frozenset({node}).union(*(_upper_bounds(next_, mode) for next_ in above))


def _least_upper_bound(nodes: list[Node], mode: str) -> Node | None:
    first, *others = [_upper_bounds(node, mode) for node in nodes]
    common = first.intersection(*others)
    # The least of them is the one below all the others.
    return next((n for n in common if _upper_bounds(n, mode) == common), None)


def _node(dtype: DType, weak: bool) -> Node:
    return dtypes.python_type(dtype) if weak else dtype


def _default(kind: type, x64: bool) -> Any:
    if kind is int:
        return dtypes.default_int(x64)
    return dtypes.default_float(x64) if kind is float else dtypes.default_complex(x64)


@lru_cache(maxsize=4096)
def promote(
    *operands: tuple[DType, bool], x64: bool, mode: str = "standard"
) -> tuple[DType, bool]:
    """The dtype that operands ``(dtype, weak)`` have in common, and whether it is weak.

    Raises:
      TypePromotionError: the dtypes have no common dtype in this mode.

    >>> promote((dtypes.int32, False), (dtypes.float32, True), x64=False)
    (dtype('float32'), True)
    >>> promote((dtypes.bfloat16, False), (dtypes.float32, True), x64=False)
    (dtype(bfloat16), False)
    """
    if not operands:
        raise TypePromotionError(
            "no operand was given, and so there is no common dtype"
        )
    distinct = list(
        dict.fromkeys(
            (canonical(dtype, x64), weak and dtypes.is_numeric(dtype))
            for dtype, weak in operands
        )
    )
    if len(distinct) == 1:
        return distinct[0]
    common = _least_upper_bound([_node(*operand) for operand in distinct], mode)
    if common is None:
        raise TypePromotionError(_no_common_dtype(distinct, mode, x64))
    if isinstance(common, type):
        return _default(common, x64), True
    return canonical(common, x64), False


def _no_common_dtype(operands: list[tuple[DType, bool]], mode: str, x64: bool) -> str:
    shown = " with ".join(
        f"a weak {short_name(dtype)}" if weak else short_name(dtype)
        for dtype, weak in operands
    )
    found = [dtype for dtype, _ in operands]
    if any(map(dtypes.is_key, found)):
        return f"{shown}: random keys are not numbers, and mix with nothing else."
    if dtypes.float0 in found:
        return (
            f"{shown}: float0 is the derivative with respect to an integer or bool. "
            "It has no value to compute with."
        )
    if mode == "strict":
        try:
            target = promote(*operands, x64=x64)[0].name
        except TypePromotionError:
            target = "float32"
        return (
            f"{shown}: no dtype changes by itself under strict promotion. Convert "
            f"first, as in x.astype({target!r}), or set "
            "numpy_dtype_promotion='standard'."
        )
    narrow = [d for d in found if d in _NARROW_INTEGERS or d in dtypes.NARROW_FLOATS]
    if any(map(dtypes.is_floating, narrow)):
        rule = (
            "floats under 16 bits mix only with bool, i8 … u64 and real Python numbers"
        )
        target = "float32"
    else:
        rule = "integers under 8 bits mix only with bool and Python integers"
        target = "int32"
    return (
        f"{shown} has no common dtype: {rule}. "
        f"Convert first, as in x.astype({target!r})."
    )


# -- what a value brings to a promotion ------------------------------------------------


def python_scalar_type(x: Any, x64: bool) -> tuple[Any, bool]:
    """Dtype and weakness of a Python number; a bool is not weak.

    Raises:
      IntegerOverflow: an integer that the default integer dtype cannot hold.
      DTypeError: ``x`` is no Python number.
    """
    if isinstance(x, bool):
        return dtypes.bool_, False
    if isinstance(x, int):
        dtype = dtypes.default_int(x64)
        limits = iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise IntegerOverflow(_overflow(x, dtype))
        return dtype, True
    if isinstance(x, float):
        return dtypes.default_float(x64), True
    if isinstance(x, complex):
        return dtypes.default_complex(x64), True
    raise DTypeError(
        f"a Python number was wanted, but got {x!r} of type {type(x).__name__}"
    )


def _overflow(x: int, dtype: Any) -> str:
    wider = [dtypes.uint32, dtypes.int64, dtypes.uint64]
    fits = [d.name for d in wider if iinfo(d).min <= x <= iinfo(d).max]
    shown = str(x) if x.bit_length() < 256 else f"an integer of {x.bit_length()} bits"
    message = f"{shown} does not fit {short_name(dtype)}, the dtype of Python integers."
    if not fits:
        return f"{message} No integer dtype holds it; float(x) comes close."
    way_out = f"Name a dtype that holds it: covector.numpy.asarray(x, {fits[0]!r})"
    if dtype is dtypes.int32 and fits[0] != "uint32":
        way_out += ", inside covector.enable_x64(True)"
    return f"{message} {way_out}."


def operand_type(x: Any, x64: bool) -> tuple[Any, bool]:
    """Dtype and weakness of an array, a number, or the spelling of a dtype."""
    if x is int or x is float or x is complex:
        return _default(x, x64), True
    if isinstance(x, type | str | dtypes.KeyType):
        return canonical(as_dtype(x), x64), False
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return canonical(element_type(dtype), x64), getattr(x, "weak_type", False)
    if isinstance(x, int | float | complex):
        return python_scalar_type(x, x64)
    return canonical(as_dtype(x), x64), False


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...
@overload
def result_type(
    *args: Any, return_weak_type_flag: Literal[True]
) -> tuple[DType, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that the arguments have when they meet in one operation.

    Arguments are arrays, Python numbers, and dtypes in any spelling; ``int``, ``float``
    and ``complex`` stand for a Python number. The options ``enable_x64`` and
    ``numpy_dtype_promotion`` apply. With ``return_weak_type_flag`` the result is a pair
    of the dtype and whether it gives way to others.

    Args:
      args: arrays, Python numbers, and dtypes in any spelling.
      return_weak_type_flag: return a pair, as told above.

    Returns:
      A NumPy dtype.

    Raises:
      TypePromotionError: the arguments have no common dtype, or there are none.
      DTypeError: an argument is not an array, a number or a dtype.

    >>> result_type("int8", "float16"), result_type("uint8", 3)
    (dtype('float16'), dtype('uint8'))
    >>> result_type("int8", 3.0, return_weak_type_flag=True)
    (dtype('float32'), True)

    See also: ``promote_types``, ``can_cast``, ``issubdtype``.
    """
    now = options.current()
    operands = (operand_type(x, now.enable_x64) for x in args)
    dtype, weak = promote(*operands, x64=now.enable_x64, mode=now.numpy_dtype_promotion)
    return (dtype, weak) if return_weak_type_flag else dtype
