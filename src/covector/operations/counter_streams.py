"""Streams of blocks that a cipher makes of a state of 128 bits.

    PhiloxBlocks     Philox-4x32 with 10 rounds: blocks of four words
    ThreefryBlocks   Threefry-2x32 with 20 rounds: blocks of two words

Both are those of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as 1,
2, 3", 2011). The state is four words of 32 bits: two are the key of the cipher, two a
counter, the low word first. Block i is the encryption of the counter plus i, so it is
the same wherever and with whatever others it is computed. These are the streams of
StableHLO's ``rng_bit_generator``, which XLA expands in the same way on CPUs and GPUs,
and so of ``rbg`` keys.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.primitive import operation
from covector.core.types import ArrayType, Shape
from covector.errors import DTypeError
from covector.lowering.spelling import HloValue
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.random import Cipher
from covector.operations.slicing import Slice
from covector.operations.threefry import (
    ArrayWords,
    LoweredWords,
    Words,
    split_words,
    threefry2x32,
)
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)
PHILOX_STEPS = (0x9E3779B9, 0xBB67AE85)


@operation
class CounterStream(Cipher):
    """For each state, ``count`` blocks: ``first``, and then each ``stride``-th."""

    count: int
    first: int = 0
    stride: int = 1

    #: words of one block
    words = 0

    def type_rule(self, states: ArrayType) -> Sequence[ArrayType]:
        if states.dtype is not dtypes.uint32 or states.shape[-1:] != (4,):
            raise DTypeError(
                f"{self.name} needs states, u32[..., 4], but got {states}."
            )
        return (states.with_shape((*states.shape[:-1], self.count, self.words)),)

    @classmethod
    def needed(cls, width: int, shape: Shape) -> int:
        """The blocks needed for integers of ``width`` bits; narrow ones take a word."""
        return -(-prod(shape) * max(width, 32) // (32 * cls.words))

    def encrypt(self, on: Any, key: Words, counter: Words) -> Sequence[Any]:
        """The words of blocks, in words of the kind ``on``."""
        raise NotImplementedError

    def on_host(self, states: HostArray) -> HostArray:
        key, start = [
            np.ascontiguousarray(states[..., i : i + 2]).view(np.uint64) for i in (0, 2)
        ]
        steps = np.arange(self.count, dtype=np.uint64) * np.uint64(self.stride)
        counter = start + (steps + np.uint64(self.first))
        block = self.encrypt(HostWords, split_words(key), split_words(counter))
        return np.stack(np.broadcast_arrays(*block), -1)

    def num_blocks(self, out: ArrayType) -> int:
        return out.size // self.words

    def unrolled(self, ctx: "Lowering", states: HloValue) -> HloValue:
        (kind,), (out,) = ctx.in_types, ctx.out_types
        words = WideWords(ctx, out.shape[:-1])
        key = words.element(states, kind, 0), words.element(states, kind, 1)
        start = words.join(
            (words.element(states, kind, 2), words.element(states, kind, 3))
        )
        steps = words.op("iota", to=words.pair, iota_dimension=words.last)
        steps = words.op("multiply", steps, words.wide(self.stride), to=words.pair)
        steps = words.op("add", steps, words.wide(self.first), to=words.pair)
        counter = words.words(words.op("add", start, steps, to=words.pair))
        lane = out.with_shape((*out.shape[:-1], 1))
        block = [
            ctx.op("stablehlo.reshape", [w], [lane])
            for w in self.encrypt(words, key, counter)
        ]
        return ctx.op(
            "stablehlo.concatenate", block, dimension=f"{lane.ndim - 1} : i64"
        )


class PhiloxBlocks(CounterStream):
    """Blocks of Philox-4x32. The key is encrypted as well, as the upper half of what
    the counter is the lower half of.
    """

    words = 4
    #: ten rounds of two products of two words, four masks and, but for one, two sums
    steps = 10 * (2 * 2 + 4) + 9 * 2

    def encrypt(self, on: Any, key: Words, counter: Words) -> Sequence[Any]:
        a, b, c, d = *counter, *key
        for done in range(10):
            if done:
                key = tuple(map(on.add, key, map(on.constant, PHILOX_STEPS)))
            (high, low), (other_high, other_low) = map(
                on.product, (a, c), map(on.constant, PHILOX_FACTORS)
            )
            a, b = on.xor(on.xor(other_high, b), key[0]), other_low
            c, d = on.xor(on.xor(high, d), key[1]), low
        return a, b, c, d


class ThreefryBlocks(CounterStream):
    """Blocks of Threefry-2x32."""

    words = 2

    def encrypt(self, on: Any, key: Words, counter: Words) -> Sequence[Any]:
        return threefry2x32(on, key, counter)


def integers_of(blocks: Value, width: int, shape: Shape) -> Value:
    """Unsigned integers of ``width`` bits, of the words of each row of blocks in turn.

    Narrow ones are the low bits of a word, wide ones two words, the low one first.
    """
    *lanes, count, words = blocks.type.shape
    words *= count
    numbers = Reshape((*lanes, words))(blocks)
    if width == 64:
        words //= 2
        pairs = Reshape((*lanes, words, 2))(numbers)
        numbers = BitcastConvertType(dtypes.uint64)(pairs)
    if prod(shape) != words:
        numbers = Slice((0,) * (len(lanes) + 1), (*lanes, prod(shape)))(numbers)
    if width < 32:
        numbers = convert(numbers, dtypes.as_dtype(f"uint{width}"))
    return Reshape((*lanes, *shape))(numbers)


class HostWords(ArrayWords):
    """Arrays of ``uint32``, and their products."""

    @staticmethod
    def product(x: Any, y: Any) -> Words:
        """The high and the low word of a product."""
        low, high = split_words(np.multiply(x, y, dtype=np.uint64))
        return high, low


class WideWords(LoweredWords):
    """Words of the function that is being lowered, and their products."""

    def element(self, states: HloValue, kind: ArrayType, index: int) -> HloValue:
        """Word ``index`` of each state, for all of its blocks."""
        ends = [(0, n) for n in kind.shape[:-1]] + [(index, index + 1)]
        starts, limits = zip(*ends, strict=True)
        word = self.op(
            "slice",
            states,
            to=kind.with_shape((*kind.shape[:-1], 1)),
            start_indices=starts,
            limit_indices=limits,
            strides=(1,) * len(ends),
        )
        return self.op(
            "broadcast_in_dim", word, broadcast_dimensions=tuple(range(len(ends)))
        )

    def wide(self, value: int) -> HloValue:
        return self.ctx.constant(value, self.pair)

    def product(self, x: HloValue, y: HloValue) -> Words:
        """The high and the low word of a product."""
        x, y = [self.op("convert", word, to=self.pair) for word in (x, y)]
        low, high = self.words(self.op("multiply", x, y, to=self.pair))
        return high, low
