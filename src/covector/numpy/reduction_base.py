"""The base of reductions: axes, masks, initial values and kept axes.

A ``Reduction`` combines two elements; ``reduce`` converts the operand to what its
operation takes and the result to what NumPy promises:

    where=      masked elements become the identity (or ``initial``)
    initial=    combines with the result
    keepdims=   the axes stay, with length 1
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, DType, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.types import ArrayType, Shape
from covector.dispatch.debug_nans import as_one
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.numpy.axes import canonical_axes
from covector.numpy.promote import broadcast_to
from covector.operations.broadcasting import BroadcastInDim, filled
from covector.operations.casting import in_dtype
from covector.operations.comparison import ne
from covector.operations.selection import where as select
from covector.operations.transposing import Reshape, Transpose


@dataclass(frozen=True)
class Reduction:
    """A reduction: its operation, the combination of two elements, and the identity."""

    name: str
    operation: Any
    combine: Any
    #: the result for no elements; None where NumPy asks for ``initial``
    identity: Any = None
    #: of extrema: what brings ``initial`` to a number that the dtype has
    bound: Callable[[Any, DType], Any] | None = None


def reduce(
    reduction: Reduction,
    x: Value,
    axis: Axes,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike | None = None,
) -> Array:
    """``x``, in the element type of the result, reduced along ``axis`` (None: all)."""
    who = reduction.name
    axes = canonical_axes(who, axis, x.type.ndim)
    if initial is not None:
        start = _start(reduction, initial, x.type.dtype)
    else:
        start = None
        if reduction.identity is None:
            _check_nonempty(who, x.type, axes, where)
    if where is not None:
        neutral = start if reduction.identity is None else reduction.identity
        x = masked(who, x, where, neutral)
    op, reshape = _operations(reduction.operation, x.type, axes, bool(keepdims))
    if start is not None:
        out = as_one(lambda x: reduction.combine(op(x) if axes else x, start), x)
    else:
        out = op(x) if axes else x
    return reshape(out) if reshape is not None else out


@lru_cache(4096)
def _operations(
    operation: Any, type_: ArrayType, axes: tuple[int, ...], keepdims: bool
) -> tuple[Any, Any]:
    """The operation, and the reshape of its result that keeps the reduced axes."""
    op = operation(tuple(sorted(axes)))
    return op, Reshape(kept_shape(type_.shape, axes)) if keepdims and axes else None


def kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape with 1 for the length of each of the axes."""
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def keep(x: Value, shape: Shape, axes: tuple[int, ...]) -> Array:
    """A reduction of an array of ``shape`` over ``axes``, with these kept as length
    1.
    """
    return Reshape(kept_shape(shape, axes))(x)


def along(x: Value, shape: Shape, axes: tuple[int, ...]) -> Array:
    """A reduction of an array of ``shape`` over ``axes``, repeated to fill the
    shape.
    """
    kept = tuple([k for k in range(len(shape)) if k not in axes])
    return BroadcastInDim(shape, kept)(x)


def count_along(shape: Shape, axes: tuple[int, ...]) -> int:
    """The number of elements along the axes together."""
    return prod([shape[a] for a in axes])


def masked(who: str, x: Value, where: ArrayLike, value: Any) -> Array:
    """``x`` with ``value`` where the mask is false."""
    mask = mask_for(who, where, x.type)
    if not isinstance(value, int | float | complex):
        return select(mask, x, value)
    return select(mask, x, filled(value, ArrayType((), x.type.dtype)))


def without_nan(x: Value, neutral: Any) -> Array:
    """``x`` with a neutral number in place of NaN."""
    if not dtypes.is_inexact(x.type.dtype):
        return x
    return select(ne(x, x), scalar(neutral, x.type.dtype), x)


def mask_for(who: str, where: ArrayLike, type_: ArrayType) -> Array:
    """The argument ``where`` as a mask of this shape, or a scalar."""
    mask = as_array(where, who)
    if not dtypes.is_bool(mask.type.dtype):
        raise DTypeError(
            f"{who} needs a mask of bools for `where`, but got {mask.type}. For "
            "elements that are not zero, use where=mask != 0."
        )
    if mask.type.shape == () and type_.shape:
        return mask
    missing = type_.ndim - mask.type.ndim
    fits = missing >= 0 and all(
        n in (1, m) for n, m in zip(mask.type.shape, type_.shape[missing:], strict=True)
    )
    if not fits:
        raise TypeMismatch(
            f"{who} of {type_} needs a mask `where` that broadcasts to its shape, but "
            f"got {mask.type}."
        )
    return broadcast_to(mask, type_.shape)


def _start(reduction: Reduction, initial: Any, dtype: DType) -> Array:
    who, bound = reduction.name, reduction.bound
    start = in_dtype(initial if bound is None else bound(initial, dtype), dtype, who)
    if start.type.ndim:
        raise TypeMismatch(f"{who} needs a scalar for `initial`, but got {start.type}.")
    return start


def _check_nonempty(
    who: str, type_: ArrayType, axes: tuple[int, ...], where: Any
) -> None:
    """Raise where there may be no element to reduce: NumPy defines no result then."""
    if where is not None:
        raise ArgumentError(
            f"{who} with `where` may have no element to reduce, and {who} of nothing "
            "has no value: give `initial`."
        )
    if count_along(type_.shape, axes) == 0:
        raise ArgumentError(
            f"{who} of {type_} over axes {axes} has no element to reduce, and {who} of "
            "nothing has no value: give `initial`."
        )


# -- element types ---------------------------------------------------------------------


def sum_dtype(dtype: DType) -> DType:
    """The element type in which sums and products of ``dtype`` do not overflow at once.

    Bools and narrow integers become integers of the default width.
    """
    x64 = options.current().enable_x64
    default = dtypes.default_int(x64)
    if dtypes.is_bool(dtype):
        return default
    if dtypes.is_integer(dtype) and dtype.itemsize <= default.itemsize:
        return default if dtypes.is_signed(dtype) else dtypes.default_uint(x64)
    return dtype


def mean_dtype(dtype: DType) -> DType:
    """The element type of an average: floating, for integers and bools the default."""
    if dtypes.is_inexact(dtype):
        return dtype
    return dtypes.default_float(options.current().enable_x64)


@lru_cache(256)
def working_dtype(dtype: DType) -> DType:
    """The element type in which averages are computed: at least float32."""
    return dtypes.float32 if dtypes.is_floating(dtype) and dtype.itemsize < 4 else dtype


def weights_for(who: str, type_: ArrayType, w: Value, axis: Axes) -> Array:
    """A weight for each element: those of positions along ``axis`` are repeated.

    Raises:
      TypeMismatch: there is neither one per element, nor one per position.
    """
    if w.type.shape == type_.shape:
        return w
    axes = canonical_axes(who, axis, type_.ndim)
    if axis is None or w.type.shape != tuple([type_.shape[k] for k in axes]):
        raise TypeMismatch(
            f"{who} of {type_} over axes {axes if axis is not None else None} needs "
            "weights of its shape, or for given axes of their lengths, but got "
            f"{w.type}."
        )
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    w = Transpose(tuple(order))(w)
    shape = tuple([n if k in axes else 1 for k, n in enumerate(type_.shape)])
    return broadcast_to(Reshape(shape)(w), type_.shape)
