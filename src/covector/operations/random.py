"""Random keys and random bits: the operations on which ``covector.random`` is built.

    RandomSeed      an integer becomes a key
    RandomSplit     a key becomes many, independent of it and of each other
    RandomFoldIn    a key and a number become a key
    RandomBits      a key becomes an array of bits
    RandomWrap, RandomUnwrap    a key and its words, as bits

They are those of the generator threefry; the keys of others have the last two
(``random/generators.py``). A key of threefry is one ``uint64``: two words, the first in
the low half. Each operation takes keys of any shape, and what it makes of one key
stands in new trailing axes: so over a batch each is itself, and gives what a loop over
the keys would. None has a derivative.

Element i of a stream is the encryption of i and of nothing else, so a stream is
computed in any parts. An older stream, where blocks are shared between elements, is
``RandomWords``; the option ``threefry_partitionable`` chooses between them.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, Value, Values
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.key_types import KeyType
from covector.core.primitive import Primitive, Work, moves, operation
from covector.core.types import ArrayType, Shape
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.hlo import HloResults, HloValue
from covector.operations.arithmetic import mul
from covector.operations.bitwise import or_, shift_left, shift_right_logical
from covector.operations.broadcasting import (
    BroadcastInDim,
    align_elementwise,
    move_axis,
)
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.joining import Split
from covector.operations.slicing import Slice
from covector.operations.threefry import (
    STEPS,
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

THREEFRY = KeyType("threefry2x32")

_UNSIGNED = {
    8: dtypes.uint8,
    16: dtypes.uint16,
    32: dtypes.uint32,
    64: dtypes.uint64,
}
_32 = np.uint64(32)


class KeyOperation(Primitive):
    """An operation on keys of any shape, each by itself."""

    work = moves

    def require_keys(self, keys: ArrayType) -> None:
        if keys.dtype is not THREEFRY:
            raise self._no_keys(keys, str(THREEFRY))

    def _no_keys(self, found: ArrayType, wanted: str) -> DTypeError:
        return DTypeError(
            f"{self.name} needs random keys, {wanted}[...], but got {found}. "
            "covector.random.key makes a key of a seed, wrap_key_data of bits."
        )

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(move_axis(args[0], dims[0], 0)),), (0,)


class Cipher(KeyOperation):
    """An operation that encrypts: in a program, a function for all calls of one type.

    The cipher is long. Ten splits of a key would be ten thousand operations to compile,
    and ten masks in one loop over their elements more than fit the registers.
    """

    op_count = 128
    #: operations on words for one block
    steps = STEPS

    def unrolled(self, ctx: "Lowering", *operands: HloValue) -> HloValue:
        """The operation lowered where it stands."""
        raise self._missing("unrolled", "compilation", ctx.in_types)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=self.steps * self.num_blocks(outs[0]))

    def num_blocks(self, out: ArrayType) -> int:
        """The number of blocks that are encrypted for a result."""
        return out.size

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.call(_function(self, *ctx.in_types), operands)


@operation
class Unrolled(Primitive):
    """``cipher`` as it stands in the function that is made for it."""

    cipher: Cipher
    op_count = Cipher.op_count

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.cipher.type_rule(*types)

    def on_host(self, *operands: HostArray) -> HostArray:
        return self.cipher.on_host(*operands)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return self.cipher.batch(size, args, dims)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return self.cipher.work(types, outs)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return self.cipher.unrolled(ctx, *operands)


@lru_cache(1024)
def _function(cipher: Cipher, *types: ArrayType) -> Jaxpr:
    """The program of one operation: the same one each time, so that calls share it."""
    inputs, outputs = [[Var(t) for t in ts] for ts in (types, cipher.type_rule(*types))]
    equation = Equation(Unrolled(cipher), inputs, outputs, None)
    return Jaxpr(inputs, [equation], outputs, cipher.name)


# -- keys and their bits ---------------------------------------------------------------


class RandomSeed(KeyOperation):
    """The key of an integer: its high and its low 32 bits are the words of the key."""

    def type_rule(self, seed: ArrayType) -> Sequence[ArrayType]:
        if not dtypes.is_integer(seed.dtype):
            raise DTypeError(
                f"a seed of random keys must be an integer, but got {seed}."
            )
        return (ArrayType(seed.shape, THREEFRY),)

    def on_host(self, seed: HostArray) -> HostArray:
        if seed.dtype.itemsize < 8:
            return seed.astype(np.uint32).astype(np.uint64) << _32
        seed = seed.astype(np.uint64)
        return (seed << _32) | (seed >> _32)

    def lower(self, ctx: "Lowering", seed: HloValue) -> HloResults:
        words = LoweredWords(ctx, ctx.in_types[0].shape)
        if ctx.in_types[0].dtype.itemsize < 8:
            return words.join((words.constant(0), words.op("convert", seed)))
        low, high = words.words(words.op("convert", seed, to=words.pair))
        return words.join((high, low))


@operation
class RandomWrap(KeyOperation):
    """The keys of type ``kind`` whose words stand along the last axis."""

    kind: KeyType = THREEFRY

    def type_rule(self, data: ArrayType) -> Sequence[ArrayType]:
        words = self.kind.words
        if data.dtype is not dtypes.uint32 or data.shape[-1:] != (words,):
            raise TypeMismatch(
                f"the data of random keys, {self.kind}, must be u32[..., {words}], but "
                f"got {data}."
            )
        return (ArrayType(data.shape[:-1], self.kind),)

    def on_host(self, data: HostArray) -> HostArray:
        keys = np.ascontiguousarray(data).view(self.kind.storage)
        return keys.reshape(data.shape[:-1])

    def lower(self, ctx: "Lowering", data: HloValue) -> HloResults:
        (out,) = ctx.out_types
        if self.kind.words == 1:
            return ctx.op("stablehlo.reshape", [data])
        if not self.kind.is_wide:
            return ctx.op("stablehlo.bitcast_convert", [data])
        numbers = ArrayType((*out.shape, 2, 2), dtypes.uint32)
        numbers = ctx.op("stablehlo.reshape", [data], [numbers])
        both = ArrayType((*out.shape, 2), dtypes.uint64)
        both = ctx.op("stablehlo.bitcast_convert", [numbers], [both])
        low, high = [_at(ctx, both, out.with_dtype(dtypes.uint64), i) for i in range(2)]
        return ctx.joined((low, high), out)


def _at(ctx: "Lowering", x: HloValue, out: ArrayType, index: int) -> HloValue:
    """The elements at ``index`` of the last axis."""
    ends = [(0, n) for n in out.shape] + [(index, index + 1)]
    starts, limits = zip(*ends, strict=True)
    taken = ctx.op(
        "stablehlo.slice",
        [x],
        [out.with_shape((*out.shape, 1))],
        start_indices=starts,
        limit_indices=limits,
        strides=(1,) * len(ends),
    )
    return ctx.op("stablehlo.reshape", [taken], [out])


class RandomUnwrap(KeyOperation):
    """The words of keys, along a new last axis."""

    def type_rule(self, keys: ArrayType) -> Sequence[ArrayType]:
        if not dtypes.is_key(keys.dtype):
            raise self._no_keys(keys, "key<...>")
        return (ArrayType((*keys.shape, keys.dtype.words), dtypes.uint32),)

    def on_host(self, keys: HostArray) -> HostArray:
        words = np.ascontiguousarray(keys)[..., None].view(np.uint32)
        return words.reshape((*keys.shape, words.shape[-1]))

    def lower(self, ctx: "Lowering", keys: HloValue) -> HloResults:
        (kind,) = ctx.in_types
        if kind.dtype.words == 1:
            return ctx.op("stablehlo.reshape", [keys])
        if not kind.dtype.is_wide:
            return ctx.op("stablehlo.bitcast_convert", [keys])
        pair = ArrayType((*kind.shape, 2), dtypes.uint32)
        parts = [
            ctx.op("stablehlo.bitcast_convert", [half], [pair])
            for half in ctx.halves(keys, kind)
        ]
        return ctx.op("stablehlo.concatenate", parts, dimension=f"{kind.ndim} : i64")


class RandomFoldIn(Cipher):
    """Keys made of keys and 32-bit numbers: the encryption of the number."""

    def type_rule(self, keys: ArrayType, data: ArrayType) -> Sequence[ArrayType]:
        self.require_keys(keys)
        if data.dtype is not dtypes.uint32:
            raise DTypeError(f"{self.name} folds in u32 numbers, but got {data}.")
        if keys.shape != data.shape and keys.shape and data.shape:
            raise TypeMismatch(
                f"{self.name} needs keys and numbers of one shape (or scalars), but "
                f"got {keys} and {data}."
            )
        return (keys.with_shape(keys.shape or data.shape),)

    def on_host(self, keys: HostArray, data: HostArray) -> HostArray:
        return encrypt(keys, data.astype(np.uint64) << _32)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        aligned, dim = align_elementwise(size, args, dims)
        return (self(*aligned),), (dim,)

    def unrolled(self, ctx: "Lowering", keys: HloValue, data: HloValue) -> HloValue:
        (out,), types = ctx.out_types, ctx.in_types
        words = LoweredWords(ctx, out.shape)
        keys = ctx.broadcast_scalar(keys, types[0], out.shape)
        data = ctx.broadcast_scalar(data, types[1], out.shape)
        block = words.constant(0), data
        return words.join(threefry2x32(words, words.words(keys), block))


# -- streams ---------------------------------------------------------------------------


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


random_seed, random_wrap, random_unwrap = RandomSeed(), RandomWrap(), RandomUnwrap()
random_fold_in = RandomFoldIn()
