"""Promotion and broadcasting of operands of different types.

The rule of the NumPy layer is: promote, broadcast, then one operation. Scalars need no
broadcasting, for elementwise operations take them as they are; Python numbers take the
element type of what they meet, so ``x * 2`` stays one operation.

An integer that this type does not have is an error where the result would have to hold
it. Where it is only compared, the answer is that of mathematics: ``promote_compared``
and ``promote_bounds``.

The options ``numpy_dtype_promotion`` and ``numpy_rank_promotion`` are about operands
that a user brings together: ``promote`` and its relatives, which public functions call
with their arguments, obey them. What a function then makes of its arguments is the
library's: its body is decorated with ``standard_promotion``, or its operands fit.
"""

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

import numpy as np

from covector import options
from covector.core import dtypes, promotion, types
from covector.core.annotations import ArrayLike, DType, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, python_scalar, scalar, to_be_cast
from covector.core.host_values import plain
from covector.core.number_info import iinfo
from covector.core.source import user_level
from covector.core.types import ArrayType, Shape, show_types
from covector.errors import IntegerOverflow, NonFiniteError, TypeMismatch
from covector.operations.broadcasting import BroadcastInDim, zeros
from covector.operations.casting import convert
from covector.operations.transposing import Reshape

P = ParamSpec("P")
R = TypeVar("R")

_PYTHON = frozenset({bool, int, float, complex})


def standard_promotion(fun: Callable[P, R]) -> Callable[P, R]:
    """``fun``, in which operands meet by NumPy's rules whatever the user's options.

    For bodies whose operands are the library's; none that calls a user's function.
    """

    @functools.wraps(fun)
    def run(*args: P.args, **kw: P.kwargs) -> R:
        if options.current().promotes:
            return fun(*args, **kw)
        with options.override(
            numpy_dtype_promotion="standard", numpy_rank_promotion="allow"
        ):
            return fun(*args, **kw)

    return run


def promote(who: str, *args: Any) -> Sequence[Array]:
    """Operands as arrays of one element type and one shape (or scalars)."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array):
            if type(y) in _PYTHON:  # a scalar, which is of any shape
                return _joined(x, y, False)
            if isinstance(y, Array) and x.type is y.type:
                return args
    return _one_shape(who, promote_dtypes(who, *args))


def promote_compared(who: str, x: Any, y: Any) -> Sequence[Array]:
    """Operands of a comparison, as ``promote`` gives them.

    In place of an array and an integer that its dtype does not have come two operands
    that compare alike: 0 for each element, and 1 or −1.
    """
    if isinstance(x, Array) and isinstance(y, Array) and x.type is y.type:
        return x, y
    try:
        return promote(who, x, y)
    except IntegerOverflow:
        pass
    if type(x) in _PYTHON and type(y) in _PYTHON:
        return python_scalar(int(x > y) - int(x < y)), python_scalar(0)
    if _is_known_integer(x) and _is_known_integer(y):
        x, y = np.asarray(x, object), np.asarray(y, object)
        above, below = [f(x, y).astype(np.int32) for f in (np.greater, np.less)]
        return as_array(above - below), python_scalar(0)
    if type(x) is int or isinstance(y, Array):
        return promote_compared(who, y, x)[::-1]
    if type(y) is not int:
        return _compared_with_wide(who, as_array(x, who), y)
    x, sign = as_array(x, who), 1 if y > 0 else -1
    if x.type.inexact:  # beyond all finite numbers; and NaN compares as NaN
        return promote(who, x, math.inf * sign)
    return zeros(ArrayType(x.type.shape, dtypes.int32)), scalar(sign, dtypes.int32)


def _is_known_integer(x: ArrayLike) -> bool:
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "iub"
    return isinstance(x, int)


def _compared_with_wide(who: str, x: Array, y: Value) -> Sequence[Any]:
    """An array, and 64-bit integers of NumPy cut off just beyond those of the array:
    both in 64 bits.
    """
    x = number(who, x)
    limits = iinfo(x.type.dtype)
    nearest = np.clip(plain(y), limits.min - 1, limits.max + 1).astype(np.int64)
    wide = to_be_cast(nearest, who)
    return _one_shape(who, [convert(x, wide.type.dtype), wide])


def promote_bounds(who: str, x: Any, y: Any, *, upper: bool) -> Sequence[Array]:
    """The operands of a minimum (``upper``) or a maximum, as ``promote`` gives them.

    An integer beyond the dtype, on the side where it bounds nothing, becomes the limit
    of the dtype. On the other side it would be the result, and is an error.
    """
    if isinstance(x, Array) and isinstance(y, Array) and x.type is y.type:
        return x, y
    try:
        return promote(who, x, y)
    except IntegerOverflow:
        if type(x) is type(y):
            raise
        if type(x) is int or isinstance(y, Array):
            return promote_bounds(who, y, x, upper=upper)[::-1]
        x = as_array(x, who)
        dtype = common_dtype(who, x, _of_its_dtype(y))[0]
        return promote(who, x, bound_in(y, dtype, upper=upper))


def promote_range(who: str, x: Array, low: Any, high: Any) -> Sequence[Array]:
    """An array and its lower and upper bound as arrays of one element type.

    Integers beyond the dtype are as in ``promote_bounds``.
    """
    dtype = common_dtype(who, x, _of_its_dtype(low), _of_its_dtype(high))[0]
    low, high = bound_in(low, dtype, upper=False), bound_in(high, dtype, upper=True)
    return promote_dtypes(who, x, low, high)


def _of_its_dtype(bound: Any) -> Any:
    """Something of the dtype of a bound that fits into any."""
    if type(bound) is int:
        return 0
    is_numpy = isinstance(bound, np.ndarray | np.generic)
    return np.zeros((), bound.dtype) if is_numpy else bound


def bound_in(bound: Any, dtype: DType, *, upper: bool) -> Any:
    """A bound, or in place of an integer that bounds nothing in this dtype the limit of
    the dtype, which bounds as little.
    """
    if not dtypes.is_integer(dtype):
        return bound
    limits = iinfo(dtype)
    if type(bound) is int:
        return min(bound, limits.max) if upper else max(bound, limits.min)
    if not isinstance(bound, np.ndarray | np.generic) or bound.dtype.kind not in "iu":
        return bound
    if upper:
        return np.minimum(bound, limits.max)
    return np.maximum(bound, limits.min) if bound.dtype.kind == "i" else bound


def promote_inexact(who: str, *args: Any) -> Sequence[Array]:
    """As ``promote``, integers and bools becoming floating-point numbers."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array):
            if type(y) in _PYTHON:
                return _joined(x, y, True)
            if isinstance(y, Array) and x.type is y.type and x.type.inexact:
                return args
    return _one_shape(who, promote_dtypes_inexact(who, *args))


def promote_dtypes(who: str, *args: Any) -> Sequence[Array]:
    """Operands as arrays of one element type."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array):
            if isinstance(y, Array):
                if x.type.dtype is y.type.dtype:
                    return args
            elif type(y) in _PYTHON:
                return _joined(x, y, False)
        elif type(x) in _PYTHON and isinstance(y, Array):
            return _joined(y, x, False)[::-1]
    dtype, weak, operands = _common(who, args)
    return [_cast(a, dtype, weak, who) for a in operands]


def promote_dtypes_inexact(who: str, *args: Any) -> Sequence[Array]:
    """Operands as arrays of one floating-point or complex element type."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array):
            if isinstance(y, Array):
                if x.type.inexact and x.type.dtype is y.type.dtype:
                    return args
            elif type(y) in _PYTHON:
                return _joined(x, y, True)
        elif type(x) in _PYTHON and isinstance(y, Array):
            return _joined(y, x, True)[::-1]
    dtype, weak, operands = _common(who, args, as_inexact=True)
    return [_cast(a, dtype, weak, who) for a in operands]


def inexact(who: str, x: ArrayLike) -> Array:
    """``x`` as an array of floating-point or complex numbers."""
    if not isinstance(x, Array):
        x = as_array(x, who)
    if x.type.inexact:
        return x
    return convert(x, inexact_dtype(x.type.dtype, x.type.weak), x.type.weak)


def single_or_double(who: str, x: ArrayLike) -> Array:
    """``x`` as floating-point or complex numbers with parts of 32 bits at least."""
    x = inexact(who, x)
    wide = dtypes.complex_of(x.type.dtype)
    is_complex = dtypes.is_complex(x.type.dtype)
    return convert(x, wide if is_complex else dtypes.real_part(wide))


def number(who: str, x: ArrayLike) -> Array:
    """``x`` as an array of numbers: bools become integers of the default dtype."""
    x = as_array(x, who)
    if x.type.dtype is not dtypes.bool_:
        return x
    return convert(x, dtypes.default_int(options.current().enable_x64))


def inexact_dtype(dtype: DType, weak: bool = False) -> DType:
    """The floating-point dtype in which functions of integers have their values.

    64-bit integers become f64 where there is one, narrower ones and bools f32; what is
    weak becomes the default. Inexact dtypes stay, and so do those of keys.
    """
    if dtypes.is_inexact(dtype) or dtypes.is_key(dtype):
        return dtype
    x64 = options.current().enable_x64
    return dtypes.default_float(x64 and (weak or dtype.itemsize == 8))


def common_dtype(who: str, *args: Any) -> tuple[Any, bool]:
    """The dtype that operands have in common, and whether it is weak."""
    dtype, weak, _ = _common(who, args)
    return dtype, weak


def _common(
    who: str, args: Sequence[Any], as_inexact: bool = False
) -> tuple[Any, bool, list[Any]]:
    """The dtype in which operands meet, an inexact one if it has to be; the operands,
    Python numbers as they are.
    """
    operands, overflow = [], None
    for a in args:
        operand = a
        if not isinstance(a, Array) and type(a) not in _PYTHON:
            try:
                operand = as_array(a, who)
            except IntegerOverflow as error:  # of NumPy; a float may hold it
                operand, overflow = to_be_cast(a, who), error
        operands.append(operand)
    now = options.current()
    dtype, weak = promotion.promote(
        # Of a Python number the kind counts: whether it fits, the common dtype decides.
        *[
            promotion.operand_type(type(a) if type(a) in _PYTHON else a, now.enable_x64)
            for a in operands
        ],
        x64=now.enable_x64,
        mode=now.numpy_dtype_promotion,
    )
    if as_inexact:  # at once: the integers in common might not hold them all
        dtype = inexact_dtype(dtype, weak)
    if overflow is not None and not dtypes.is_inexact(dtype):
        raise overflow
    return dtype, weak, operands


def _cast(a: Any, dtype: DType, weak: bool, who: str) -> Array:
    if type(a) in _PYTHON:
        return scalar(a, dtype, weak)
    try:
        return convert(a, dtype, weak)
    except NonFiniteError:
        # An integer beyond the largest float16: what is made of it is looked at.
        with options.override(debug_nans=False, debug_infs=False):
            return convert(a, dtype, weak)


def _joined(x: Array, number: Any, as_inexact: bool) -> tuple[Array, Array]:
    """An array and a number in one element type, an inexact one if it has to be."""
    type_, kind = x.type, type(number)
    # 0.0 and −0.0 are equal, and complex numbers with such parts: the text is not.
    text = "" if number and kind is not complex else repr(number)
    dtype, weak, value = _meet(
        type_.dtype, type_.weak, kind, number, text, options.current(), as_inexact
    )
    return (x if type_.dtype is dtype else convert(x, dtype, weak)), value


@lru_cache(1024)  # numbers of a loop are ever new: what is kept of them has an end
def _meet(
    dtype: DType,
    weak: bool,
    kind: type,
    number: Any,
    text: str,
    opts: options.Options,
    inexact: bool,
) -> tuple[Any, bool, Any]:
    """The dtype in which an array and a number meet, its weakness, and the number."""
    common, weak = promotion.promote(
        (dtype, weak),
        promotion.python_scalar_type(kind(0), opts.enable_x64),
        x64=opts.enable_x64,
        mode=opts.numpy_dtype_promotion,
    )
    if inexact:
        common = inexact_dtype(common, weak)
    return common, weak, scalar(number, common, weak)


# -- one shape -------------------------------------------------------------------------


def _one_shape(who: str, arrays: Sequence[Value]) -> Sequence[Array]:
    if len(arrays) == 2:
        s, t = arrays[0].type.shape, arrays[1].type.shape
        if s == t or not s or not t:
            return arrays
    elif len({a.type.shape for a in arrays} - {()}) <= 1:
        return arrays
    if not options.current().promotes:
        _check_ranks(who, [a.type for a in arrays])
    return broadcast(who, *arrays)


_broadcast_shapes = lru_cache(4096)(types.broadcast_shapes)


def broadcast_shapes(who: str, types: Sequence[ArrayType]) -> Shape:
    """The shape to which the operands broadcast, by NumPy's rule."""
    try:
        return _broadcast_shapes(*[t.shape for t in types])
    except ValueError:
        raise TypeMismatch(
            f"{who} got incompatible shapes for broadcasting: {show_types(types)}. "
            "Seen from the right, each axis needs one length, or 1. Reshape one of "
            "them, for instance with x[:, None].",
            page="shapes",
        ) from None


def broadcast(who: str, *arrays: Value) -> list[Array]:
    """Arrays brought to one shape by NumPy's rule; scalars stay scalars."""
    shape = broadcast_shapes(who, [a.type for a in arrays])
    return [a if a.type.shape == () else broadcast_to(a, shape) for a in arrays]


def broadcast_to(x: Value, shape: Shape) -> Array:
    """``x`` broadcast to ``shape``."""
    if x.type.shape == shape:
        return x
    reshape, repeated = _broadcast_operations(x.type.shape, shape)
    return repeated(x if reshape is None else reshape(x))


@lru_cache(4096)
def _broadcast_operations(
    shape: Shape, wanted: Shape
) -> tuple[Reshape | None, BroadcastInDim]:
    """The operations that broadcast a shape: a reshape drops the axes of length 1."""
    missing = len(wanted) - len(shape)
    kept = [k for k, n in enumerate(shape) if n != 1 or wanted[missing + k] == 1]
    reshape = (
        None if len(kept) == len(shape) else Reshape(tuple([shape[k] for k in kept]))
    )
    return reshape, BroadcastInDim(wanted, tuple([missing + k for k in kept]))


def _check_ranks(who: str, types: Sequence[ArrayType]) -> None:
    chosen = options.current().numpy_rank_promotion
    if chosen != "allow" and len({t.ndim for t in types if t.ndim}) > 1:
        message = (
            f"{who} would promote ranks: operands are {show_types(types)}, and the "
            "option numpy_rank_promotion does not allow it. Add the axes with x[None]."
        )
        if chosen == "raise":
            raise TypeMismatch(message)
        warnings.warn(message, stacklevel=user_level())
