"""Sort keys: integers in the order of floats, bools or other integers.

Integers are compared several times faster than floats, and can be put in the order that
users expect of floats: −0 equals 0, and every NaN equals every other and comes last.

    order_key    integers, as wide as the numbers, in their order
    order_words  the same, and complex numbers, as int32 keys of which the first decides
    packed       such a key and the index of its element along an axis in one int64, for
                 numbers of up to 32 bits. No two are equal: any sort of them is stable,
                 and their minimum tells which of several equal elements comes first
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.convert import scalar
from covector.core.number_info import bit_width, finfo
from covector.operations.bitwise import (
    and_,
    not_,
    or_,
    shift_left,
    shift_right_arithmetic,
    xor,
)
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.comparison import eq, gt, lt, ne
from covector.operations.complex import imag, real
from covector.operations.creation import Iota
from covector.operations.reductions import ReduceOr
from covector.operations.selection import where

_UNSIGNED = {dtypes.uint32: dtypes.int32, dtypes.uint64: dtypes.int64}
_BITS_OF = {
    dtypes.float64: dtypes.int64,
    dtypes.float32: dtypes.int32,
    dtypes.float16: dtypes.int16,
    dtypes.bfloat16: dtypes.int16,
}


def is_packable(dtype: DType) -> bool:
    """Whether a real number or bool of this dtype fits beside its position."""
    return bit_width(dtype) <= 32


def order_key(x: Value, nan_first: bool = False) -> Value:
    """Integers in the order of real numbers or bools: int32, or int64 for 64 bits."""
    dtype = x.type.dtype
    key = dtypes.int32 if is_packable(dtype) else dtypes.int64
    if dtypes.is_floating(dtype):
        return _float_key(x, key, nan_first)
    if dtype not in _UNSIGNED:
        return convert(x, key)
    return xor(BitcastConvertType(key)(x), scalar(np.iinfo(key).min, key))


def order_words(x: Value) -> list[Any]:
    """Keys of 32 bits in the order of numbers or bools, the most significant first."""
    dtype = x.type.dtype
    if dtypes.is_complex(dtype):
        return [*order_words(real(x)), *order_words(imag(x))]
    key = order_key(x)
    if is_packable(dtype):
        return [key]
    word = dtypes.int32
    high = shift_right_arithmetic(key, scalar(32, dtypes.int64))
    low = xor(convert(key, word), scalar(np.iinfo(word).min, word))
    return [convert(high, word), low]


def is_plain(x: Value) -> Value:
    """Whether equal floats among these are the same bits, and none is subnormal: all
    zeros are positive, and there is no NaN.
    """
    dtype = x.type.dtype
    bits = BitcastConvertType(_BITS_OF[dtype])(x)
    key = bits.type.dtype
    tiny, infinity = [
        scalar(int(np.array(limit).astype(dtype).view(key)), key)
        for limit in (finfo(dtype).tiny, np.inf)
    ]
    magnitude = and_(bits, scalar(np.iinfo(key).max, key))
    odd = or_(lt(magnitude, tiny), gt(magnitude, infinity))
    odd = and_(odd, ne(bits, scalar(0, key)))
    return not_(ReduceOr(tuple(range(x.type.ndim)))(odd))


def _float_key(x: Value, key: np.dtype, nan_first: bool) -> Value:
    """The bits of floats, those of negative ones reversed.

    XLA:CPU takes subnormal numbers for zero, but not their bits.
    """
    if x.type.dtype not in _BITS_OF:
        x = convert(x, dtypes.float32)
    dtype = x.type.dtype
    short = _BITS_OF[dtype]
    bits = convert(BitcastConvertType(short)(x), key)
    top = scalar(np.iinfo(short).max, key)
    infinity = scalar(int(np.array(np.inf).astype(dtype).view(short)), key)
    nan = scalar(np.iinfo(key).min if nan_first else np.iinfo(key).max, key)
    zero, sign_position = scalar(0, key), scalar(bit_width(key) - 1, key)
    magnitude = and_(bits, top)
    reversal = and_(shift_right_arithmetic(bits, sign_position), top)
    ordered = where(eq(magnitude, zero), zero, xor(bits, reversal))
    return where(gt(magnitude, infinity), nan, ordered)


def packed(key: Value, axis: int) -> Value:
    """An int32 key, in the high bits, and the index along ``axis``, in the low ones."""
    wide = dtypes.int64
    high = shift_left(convert(key, wide), scalar(32, wide))
    return or_(high, Iota(wide, key.type.shape, axis)())


def position_of(both: Any, dtype: DType) -> Any:
    """The indices in packed integers, as integers of ``dtype``."""
    return convert(and_(both, scalar(2**32 - 1, dtypes.int64)), dtype)


def canonical(x: Value) -> Value:
    """Float32 or float64 with the order of ``x`` and nothing else of zeros and NaNs.

    Every zero is 0, and every NaN the one that is larger than all in total order.
    """
    return float_of_key(order_key(x), x.type.dtype)


def float_of_key(key: Value, dtype: DType) -> Value:
    """Float32 or float64, of which this is the key."""
    word = key.type.dtype
    top, sign_position = scalar(np.iinfo(word).max, word), bit_width(word) - 1
    sign = shift_right_arithmetic(key, scalar(sign_position, word))
    return BitcastConvertType(dtype)(xor(key, and_(sign, top)))
