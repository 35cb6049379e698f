"""Random keys: the operations on which ``covector.random`` is built.

    RandomSeed      an integer becomes a key
    RandomFoldIn    a key and a number become a key
    RandomWrap, RandomUnwrap    a key and its words, as bits

They are those of the generator threefry; the keys of others have the last two
(``random/generators.py``). A key of threefry is one ``uint64``: two words, the first in
the low half. Each operation takes keys of any shape, and what it makes of one key
stands in new trailing axes: so over a batch each is itself, and gives what a loop over
the keys would. None has a derivative. What is drawn with a key is in
``random_streams``.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, Values
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.key_types import KeyType
from covector.core.primitive import Primitive, operation
from covector.core.types import ArrayType
from covector.core.work import Work, moves
from covector.errors import DTypeError, TypeMismatch
from covector.lowering import wide_keys
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align_elementwise, move_axis
from covector.operations.threefry import STEPS, LoweredWords, encrypt, threefry2x32

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

THREEFRY = KeyType("threefry2x32")

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
        return wide_keys.joined(ctx, (low, high), out)


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
            for half in wide_keys.halves(ctx, keys, kind)
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


random_seed, random_wrap, random_unwrap = RandomSeed(), RandomWrap(), RandomUnwrap()
random_fold_in = RandomFoldIn()
