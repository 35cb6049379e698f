"""Integers in the order of other numbers, for what sorts and searches.

XLA:CPU compares integers several times faster than floats, and their order is what
users expect of numbers: −0 equals 0, and every NaN equals every other and comes last
(or first). The functions here work inside lowering rules, on StableHLO values:

    order_key    integers, as wide as the numbers, in their order
    packed       that and the place along an axis in one int64, for up to 32 bits;
                 no two are equal, so any sort of them is stable, and their minimum
                 tells which of several equal elements comes first
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.number_info import bit_width
from covector.core.types import ArrayType

_WIDE = 32


def packs(ctx: Any, dtype: Any) -> bool:
    """Whether a number of this dtype fits beside its place, and that is worth while."""
    return ctx.platform == "cpu" and bit_width(dtype) <= _WIDE


def order_key(ctx: Any, x: Any, type: ArrayType, nan_first: bool = False) -> Any:
    """Integers in the order of ``x``, and their type: int32, or int64 for 64 bits."""
    wide = bit_width(type.dtype) > _WIDE
    key = type.with_dtype(dtypes.int64 if wide else dtypes.int32)
    if dtypes.is_floating(type.dtype):
        return _float_key(ctx, x, type, key, nan_first), key
    if type.dtype in (dtypes.uint32, dtypes.uint64):
        bits = ctx.op("stablehlo.bitcast_convert", [x], [key])
        least = ctx.constant(np.iinfo(key.dtype).min, key)
        return ctx.op("stablehlo.xor", [bits, least], [key]), key
    return ctx.op("stablehlo.convert", [x], [key]), key


def _float_key(
    ctx: Any, x: Any, type: ArrayType, key: ArrayType, nan_first: bool
) -> Any:
    """The bits of floats, those of negative ones reversed. Bits are never flushed."""
    if type.dtype not in (
        dtypes.float64,
        dtypes.float32,
        dtypes.float16,
        dtypes.bfloat16,
    ):
        type = type.with_dtype(dtypes.float32)
        x = ctx.op("stablehlo.convert", [x], [type])
    width = bit_width(type.dtype)
    signed = type.with_dtype(f"int{width}")
    bits = ctx.op("stablehlo.bitcast_convert", [x], [signed])
    bits = bits if signed == key else ctx.op("stablehlo.convert", [bits], [key])
    top = ctx.constant(2 ** (width - 1) - 1, key)
    zero, sign_bits = ctx.constant(0, key), ctx.constant(bit_width(key.dtype) - 1, key)
    magnitude = ctx.op("stablehlo.and", [bits, top], [key])
    sign = ctx.op("stablehlo.shift_right_arithmetic", [bits, sign_bits], [key])
    flipped = ctx.op("stablehlo.and", [sign, top], [key])
    ordered = ctx.op("stablehlo.xor", [bits, flipped], [key])
    infinity = np.asarray(np.inf).astype(type.dtype).view(signed.dtype)
    limits = np.iinfo(key.dtype)
    nan = ctx.constant(limits.min if nan_first else limits.max, key)
    is_zero = compare(ctx, "EQ", magnitude, zero, key)
    is_nan = compare(ctx, "GT", magnitude, ctx.constant(infinity, key), key)
    ordered = ctx.op("stablehlo.select", [is_zero, zero, ordered], [key])
    return ctx.op("stablehlo.select", [is_nan, nan, ordered], [key])


def compare(ctx: Any, direction: str, a: Any, b: Any, type: ArrayType) -> Any:
    """Whether ``a`` and ``b``, of this type, stand in a relation such as ``LT``."""
    return ctx.op(
        "stablehlo.compare",
        [a, b],
        [type.with_dtype(dtypes.bool_)],
        comparison_direction=f"#stablehlo<comparison_direction {direction}>",
    )


def places(ctx: Any, type: ArrayType, axis: int) -> Any:
    """0, 1, 2, … along an axis."""
    return ctx.op("stablehlo.iota", [], [type], iota_dimension=f"{axis} : i64")


def packed(ctx: Any, key: Any, type: ArrayType, axis: int) -> tuple[Any, ArrayType]:
    """int64 of an int32 key, in the high bits, and the place along ``axis``."""
    both = type.with_dtype(dtypes.int64)
    high = ctx.op("stablehlo.convert", [key], [both])
    high = ctx.op("stablehlo.shift_left", [high, ctx.constant(_WIDE, both)], [both])
    low = places(ctx, both, axis)
    return ctx.op("stablehlo.or", [high, low], [both]), both


def unpacked_place(ctx: Any, both: Any, type: ArrayType, dtype: Any) -> Any:
    """The place in packed integers, as integers of ``dtype``."""
    mask = ctx.constant(2**_WIDE - 1, type)
    low = ctx.op("stablehlo.and", [both, mask], [type])
    return ctx.op("stablehlo.convert", [low], [type.with_dtype(dtype)])
