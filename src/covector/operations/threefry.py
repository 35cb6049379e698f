"""Threefry-2x32, the block cipher behind random bits.

Random numbers are the encryption of 0, 1, 2, …: each is found without the ones before
it, on any device, in any order. The cipher is 20 rounds of add, rotate and xor on
32-bit words (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
3", 2011). It is written once, over words that can be

    ArrayWords     NumPy arrays
    PackedWords    a few words in one Python integer, 64 bits apart: NumPy needs
                   50 µs for the 160 steps however small the arrays, and this a tenth
    LoweredWords   values of the program being lowered; unrolled, since XLA runs a
                   loop of small steps many times slower than their sequence

On the host, a key and a block are ``uint64``, the first word in the low half.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray
from covector.core.types import ArrayType
from covector.lowering.spelling import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
#: operations on words for one block: 20 rounds of five, keys added six times
STEPS = 20 * 5 + 2 + 2 + 5 * 3
#: words up to which one Python integer is quicker than NumPy
PACKED_LIMIT = 256

Words = tuple[Any, Any]


def threefry2x32(on: Any, key: Words, block: Words) -> Words:
    """The encryption of ``block`` under ``key``, in words of the kind ``on``."""
    keys = (*key, on.xor(on.xor(*key), on.constant(PARITY)))
    x, y = on.add(block[0], key[0]), on.add(block[1], key[1])
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x = on.add(x, y)
            y = on.xor(on.rotate(y, distance), x)
        x = on.add(x, keys[(group + 1) % 3])
        y = on.add(on.add(y, keys[(group + 2) % 3]), on.constant(group + 1))
    return x, y


def encrypt(key: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Blocks encrypted on the host: ``uint64`` arrays that broadcast, into another."""
    result = np.broadcast(key, block)
    if result.size <= PACKED_LIMIT:
        packed = packed_words(result.size)
        words = threefry2x32(
            packed, packed.words(key, result.shape), packed.words(block, result.shape)
        )
        return packed.unpack(words).reshape(result.shape)
    first, second = threefry2x32(ArrayWords, split_words(key), split_words(block))
    return join_words(first, second)


def split_words(pairs: HostArray) -> Words:
    """The low and the high halves of 64-bit numbers."""
    return pairs.astype(np.uint32), (pairs >> np.uint64(32)).astype(np.uint32)


def join_words(low: HostArray, high: HostArray) -> HostArray:
    """64-bit numbers from their low and their high halves."""
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


class ArrayWords:
    """Arrays of ``uint32``."""

    constant = staticmethod(np.uint32)
    add = staticmethod(np.add)
    xor = staticmethod(np.bitwise_xor)

    @staticmethod
    def rotate(x: Any, distance: int) -> Any:
        return (x << np.uint32(distance)) | (x >> np.uint32(32 - distance))


class PackedWords:
    """``count`` words in one integer: each in the low half of 64 bits of its own."""

    def __init__(self, count: int) -> None:
        self.count = count
        #: 1 in each word
        self.ones = ((1 << 64 * count) - 1) // 0xFFFFFFFFFFFFFFFF
        self.mask = 0xFFFFFFFF * self.ones

    def words(self, pairs: np.ndarray, shape: tuple[int, ...]) -> Words:
        """The halves of 64-bit numbers that broadcast to ``shape``."""
        if pairs.size == 1:
            high, low = divmod(int(pairs.item()), 1 << 32)
            return low * self.ones, high * self.ones
        if pairs.size < self.count:
            pairs = np.broadcast_to(pairs, shape)
        packed = int.from_bytes(pairs.tobytes(), "little")
        return packed & self.mask, (packed >> 32) & self.mask

    def unpack(self, words: Words) -> np.ndarray:
        packed = words[0] | (words[1] << 32)
        return np.frombuffer(packed.to_bytes(8 * self.count, "little"), np.uint64)

    def constant(self, value: int) -> int:
        return value * self.ones

    def add(self, x: int, y: int) -> int:
        return (x + y) & self.mask

    def xor(self, x: int, y: int) -> int:
        return x ^ y

    def rotate(self, x: int, distance: int) -> int:
        return ((x << distance) | (x >> (32 - distance))) & self.mask


packed_words = lru_cache(PACKED_LIMIT + 1)(PackedWords)


class LoweredWords:
    """Values of type ``u32[shape]`` in the function that is being lowered."""

    def __init__(self, ctx: "Lowering", shape: tuple[int, ...]) -> None:
        self.ctx = ctx
        self.type = ArrayType(shape, dtypes.uint32)
        self.pair = ArrayType(shape, dtypes.uint64)
        self._constants: dict[int, Any] = {}

    def words(self, pairs: Any) -> Words:
        """The halves of 64-bit numbers."""
        high = self.op("shift_right_logical", pairs, self.shift, to=self.pair)
        return self.op("convert", pairs), self.op("convert", high)

    def join(self, words: Words) -> HloValue:
        """64-bit numbers from their halves."""
        low, high = [self.op("convert", w, to=self.pair) for w in words]
        high = self.op("shift_left", high, self.shift, to=self.pair)
        return self.op("or", low, high, to=self.pair)

    @property
    def shift(self) -> HloValue:
        return self.ctx.constant(32, self.pair)

    @property
    def last(self) -> str:
        """The last axis, as an attribute."""
        return f"{self.type.ndim - 1} : i64"

    def op(
        self, name: str, *operands: Any, to: ArrayType | None = None, **attributes: Any
    ) -> HloValue:
        types = [self.type if to is None else to]
        return self.ctx.op(f"stablehlo.{name}", operands, types, **attributes)

    def constant(self, value: int) -> Any:
        if value not in self._constants:
            self._constants[value] = self.ctx.constant(value, self.type)
        return self._constants[value]

    def add(self, x: Any, y: Any) -> Any:
        return self.op("add", x, y)

    def xor(self, x: Any, y: Any) -> Any:
        return self.op("xor", x, y)

    def rotate(self, x: Any, distance: int) -> Any:
        left = self.op("shift_left", x, self.constant(distance))
        right = self.op("shift_right_logical", x, self.constant(32 - distance))
        return self.op("or", left, right)
