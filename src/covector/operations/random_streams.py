"""Streams of random bits, and the keys that are split off a key.

    RandomSplit     a key becomes many, independent of it and of each other
    RandomBits      a key becomes an array of bits

Element i of a stream is the encryption of i and of nothing else, so a stream is
computed in any parts. An older stream, where blocks are shared between elements, is
``RandomWords``; the option ``threefry_partitionable`` chooses between them.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.convert import scalar
from covector.core.primitive import operation
from covector.core.types import ArrayType, Shape
from covector.lowering.spelling import HloValue
from covector.operations.arithmetic import mul
from covector.operations.bitwise import or_, shift_left, shift_right_logical
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.joining import Split
from covector.operations.random import Cipher, random_wrap
from covector.operations.slicing import Slice
from covector.operations.threefry import (
    LoweredWords,
    Words,
    encrypt,
    join_words,
    split_words,
    threefry2x32,
)
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

_UNSIGNED = {
    8: dtypes.uint8,
    16: dtypes.uint16,
    32: dtypes.uint32,
    64: dtypes.uint64,
}
_32 = np.uint64(32)


@operation
class RandomSplit(Cipher):
    """For each key, ``shape`` new keys: key i is the encryption of i."""

    shape: Shape

    def type_rule(self, keys: ArrayType) -> Sequence[ArrayType]:
        self.require_keys(keys)
        return (keys.with_shape((*keys.shape, *self.shape)),)

    def on_host(self, keys: HostArray) -> HostArray:
        return _blocks(keys, prod(self.shape)).reshape((*keys.shape, *self.shape))

    def unrolled(self, ctx: "Lowering", keys: HloValue) -> HloValue:
        words, pair = _lower_blocks(ctx, keys, prod(self.shape))
        return ctx.op("stablehlo.reshape", [words.join(pair)])


@operation
class RandomBits(Cipher):
    """For each key, an array of random integers of ``width`` bits: 8, 16, 32 or 64.

    Element i is made of the encryption of i: of both words, or of their sum modulo 2,
    cut to its lowest bits.
    """

    width: int
    shape: Shape

    def type_rule(self, keys: ArrayType) -> Sequence[ArrayType]:
        self.require_keys(keys)
        return (ArrayType((*keys.shape, *self.shape), _UNSIGNED[self.width]),)

    def on_host(self, keys: HostArray) -> HostArray:
        high, low = split_words(_blocks(keys, prod(self.shape)))
        if self.width == 64:
            bits = join_words(low, high)
        else:
            bits = (high ^ low).astype(_UNSIGNED[self.width])
        return bits.reshape((*keys.shape, *self.shape))

    def unrolled(self, ctx: "Lowering", keys: HloValue) -> HloValue:
        words, (high, low) = _lower_blocks(ctx, keys, prod(self.shape))
        if self.width == 64:
            bits = words.join((low, high))
        else:
            flat = ctx.out_types[0].with_shape(words.type.shape)
            bits = words.op("convert", words.xor(high, low), to=flat)
        return ctx.op("stablehlo.reshape", [bits])


def _blocks(keys: HostArray, count: int) -> HostArray:
    """Per key, the numbers below ``count`` encrypted, their high words first."""
    numbers = np.arange(count, dtype=np.uint64)
    return encrypt(keys[..., None], (numbers << _32) | (numbers >> _32))


def _lower_blocks(
    ctx: "Lowering", keys: HloValue, count: int
) -> tuple[LoweredWords, Words]:
    words, key = _lower_keys(ctx, keys, count)
    if int(count) <= 1 << 32:
        block = words.constant(0), words.op("iota", iota_dimension=words.last)
    else:
        numbers = words.op("iota", to=words.pair, iota_dimension=words.last)
        block = words.words(numbers)[::-1]
    return words, threefry2x32(words, key, block)


def _lower_keys(
    ctx: "Lowering", keys: HloValue, count: int
) -> tuple[LoweredWords, Words]:
    """Words in ``count`` indices for each key, and the keys in all of them."""
    shape = ctx.in_types[0].shape
    each, words = LoweredWords(ctx, shape), LoweredWords(ctx, (*shape, count))
    axes = tuple(range(len(shape)))
    first, second = [ctx.broadcast(w, words.type, axes) for w in each.words(keys)]
    return words, (first, second)


# -- the older stream ------------------------------------------------------------------


@operation
class RandomWords(Cipher):
    """For each key, ``count`` words: those at i and i + ⌈count/2⌉ are one block."""

    count: int

    def type_rule(self, keys: ArrayType) -> Sequence[ArrayType]:
        self.require_keys(keys)
        return (ArrayType((*keys.shape, self.count), dtypes.uint32),)

    @property
    def half(self) -> int:
        return -(-self.count // 2)

    def on_host(self, keys: HostArray) -> HostArray:
        low = np.arange(self.half, dtype=np.uint64)
        # The index past an odd number of words is filled with 0.
        high = (low + np.uint64(self.half)) % np.uint64(max(self.count, 1))
        halves = split_words(encrypt(keys[..., None], low | (high << _32)))
        return np.concatenate(halves, -1)[..., : self.count]

    def num_blocks(self, out: ArrayType) -> int:
        return prod(out.shape[:-1]) * self.half

    def unrolled(self, ctx: "Lowering", keys: HloValue) -> HloValue:
        (out,) = ctx.out_types
        words, key = _lower_keys(ctx, keys, self.half)
        low = words.op("iota", iota_dimension=words.last)
        positions = words.constant(max(self.count, 1))
        high = words.op(
            "remainder", words.add(low, words.constant(self.half)), positions
        )
        halves = threefry2x32(words, key, (low, high))
        both = out.with_shape((*out.shape[:-1], 2 * self.half))
        joined = ctx.op("stablehlo.concatenate", halves, [both], dimension=words.last)
        ones = (1,) * out.ndim
        return ctx.op(
            "stablehlo.slice",
            [joined],
            start_indices=(0,) * out.ndim,
            limit_indices=out.shape,
            strides=ones,
        )


# -- the stream that the options ask for -----------------------------------------------


def split(keys: Value, shape: Shape) -> Value:
    """``shape`` new keys for each key."""
    if options.current().threefry_partitionable:
        return RandomSplit(shape)(keys)
    words = RandomWords(2 * prod(shape))(keys)
    return random_wrap(Reshape((*keys.type.shape, *shape, 2))(words))


def bits(keys: Value, width: int, shape: Shape) -> Value:
    """An array of random integers of ``width`` bits for each key."""
    if options.current().threefry_partitionable:
        return RandomBits(width, shape)(keys)
    count = prod(shape)
    words = RandomWords(-(-count * width // 32))(keys)
    if width == 64:
        words = _joined(words, count)
    elif width < 32:
        words = _cut(words, width, count)
    return Reshape((*keys.type.shape, *shape))(words)


def _joined(words: Any, count: int) -> Any:
    """64-bit numbers from the words before and after ``count``, the high ones first."""
    axis = words.type.ndim - 1
    high, low = [
        convert(half, dtypes.uint64) for half in Split((count, count), axis)(words)
    ]
    return or_(shift_left(high, scalar(32, dtypes.uint64)), low)


def _cut(words: Any, width: int, count: int) -> Any:
    """The first ``count`` pieces of words that are cut from the low bits upwards."""
    *shape, length = words.type.shape
    pieces = 32 // width
    cut = (*shape, length, pieces)
    repeated = BroadcastInDim(cut, tuple(range(len(cut) - 1)))(words)
    positions = mul(
        Iota(dtypes.uint32, cut, len(cut) - 1)(), scalar(width, dtypes.uint32)
    )
    parts = convert(shift_right_logical(repeated, positions), _UNSIGNED[width])
    flat = (*shape, length * pieces)
    first = Slice((0,) * len(flat), (*shape, count))
    return first(Reshape(flat)(parts))
