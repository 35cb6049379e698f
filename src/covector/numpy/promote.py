"""Promotion and broadcasting: how operands of different types meet.

The rule of the NumPy layer is: promote, broadcast, then one operation. Scalars need no
broadcasting, for elementwise operations take them as they are; Python numbers take the
element type of what they meet, so ``x * 2`` stays one operation.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from covector import options
from covector.core import promotion
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.types import ArrayType, Shape, show_types
from covector.errors import TypeMismatch
from covector.ops.broadcasting import BroadcastInDim
from covector.ops.casting import convert
from covector.ops.transposing import Reshape

_PYTHON = frozenset({bool, int, float, complex})


def promote(who: str, *args: Any) -> list[Any]:
    """Operands as arrays of one element type and one shape (or scalars)."""
    arrays = promote_dtypes(who, *args)
    shapes = {a.type.shape for a in arrays}
    shapes.discard(())
    if len(shapes) <= 1:
        if len(shapes) == 1 and options.current().numpy_rank_promotion != "allow":
            _check_ranks(who, [a.type for a in arrays])
        return arrays
    return broadcast(who, *arrays)


def promote_dtypes(who: str, *args: Any) -> list[Any]:
    """Operands as arrays of one element type."""
    if len(args) == 2:
        x, y = args
        if isinstance(x, Array) and isinstance(y, Array):
            if x.type.dtype is y.type.dtype:
                return [x, y]
        elif type(y) in _PYTHON and isinstance(x, Array):
            return list(_with_number(x, y))
        elif type(x) in _PYTHON and isinstance(y, Array):
            return list(_with_number(y, x))[::-1]
    opts = options.current()
    operands = [promotion.operand_type(a, opts.enable_x64) for a in args]
    dtype, weak = promotion.promote(
        *operands, x64=opts.enable_x64, mode=opts.numpy_dtype_promotion
    )
    return [
        scalar(a, dtype, weak and w)
        if type(a) in _PYTHON
        else convert(as_array(a, who), dtype, weak and w)
        for a, (_, w) in zip(args, operands, strict=True)
    ]


def _with_number(x: Array, number: Any) -> tuple[Any, Any]:
    """An array and a Python number in one element type."""
    dtype, weak = _meet(x.type.dtype, x.type.weak, type(number), options.current())
    value = scalar(number, dtype, type(number) is not bool)
    return (x if x.type.dtype is dtype else convert(x, dtype, weak)), value


@lru_cache(4096)
def _meet(dtype: Any, weak: bool, number: type, opts: options.Options) -> tuple[Any, bool]:
    return promotion.promote(
        (dtype, weak),
        promotion.python_scalar_type(number(0), opts.enable_x64),
        x64=opts.enable_x64,
        mode=opts.numpy_dtype_promotion,
    )


def broadcast_shapes(who: str, types: list[ArrayType]) -> Shape:
    """The shape to which the operands broadcast, by NumPy's rule."""
    try:
        return np.broadcast_shapes(*[t.shape for t in types])
    except ValueError:
        raise TypeMismatch(
            f"{who} cannot broadcast operands of types {show_types(types)}: seen from the "
            "right, each axis needs one length, or 1. Reshape one of them, for instance "
            "with x[:, None]."
        ) from None


def broadcast(who: str, *arrays: Any) -> list[Any]:
    """Arrays brought to one shape by NumPy's rule; scalars stay scalars."""
    types = [a.type for a in arrays]
    shape = broadcast_shapes(who, types)
    if options.current().numpy_rank_promotion != "allow":
        _check_ranks(who, types)
    return [a if a.type.shape == () else broadcast_to(a, shape) for a in arrays]


def broadcast_to(x: Any, shape: Shape) -> Any:
    """``x`` spread over ``shape``, to which it must broadcast."""
    if x.type.shape == shape:
        return x
    missing = len(shape) - x.type.ndim
    kept = [k for k, n in enumerate(x.type.shape) if n != 1 or shape[missing + k] == 1]
    if len(kept) < x.type.ndim:
        x = Reshape(tuple([x.type.shape[k] for k in kept]))(x)
    return BroadcastInDim(shape, tuple([missing + k for k in kept]))(x)


def _check_ranks(who: str, types: list[ArrayType]) -> None:
    if len({t.ndim for t in types if t.ndim}) > 1:
        message = (
            f"{who} would promote ranks: operands are {show_types(types)}, and the option "
            "numpy_rank_promotion does not allow it. Add the axes with x[None]."
        )
        if options.current().numpy_rank_promotion == "raise":
            raise TypeMismatch(message)
        warnings.warn(message, stacklevel=3)
