"""XLA's generators of random bits, without keys; ``covector.random`` has draws."""

import enum
from math import prod
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, from_numpy
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import DTypeKindError, TypeMismatch
from covector.lax.operands import operands
from covector.numpy.axes import canonical_shape, with_out_sharding
from covector.operations.arithmetic import add
from covector.operations.broadcasting import move_axis
from covector.operations.casting import BitcastConvertType, convert
from covector.operations.counter_streams import (
    PhiloxBlocks,
    ThreefryBlocks,
    integers_of,
)
from covector.operations.platform_random import RngUniform
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of ``rng_bit_generator``; the default one is ``RNG_PHILOX``."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def rng_bit_generator(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike | None = None,
) -> tuple[Array, Array]:
    """The next state of a generator, and random bits of the old one.

    The bits are those of StableHLO's ``rng_bit_generator`` on CPUs and GPUs. Over a
    batch of states each is a generator by itself.

    Args:
      key: the state, ``u32[4]``, or with ``enable_x64`` ``u64[2]``: a key, and a
        counter of the blocks that were drawn.
      dtype: u8, u16, u32 or u64.

    Raises:
      TypeMismatch: ``key`` is no state. DTypeKindError: ``dtype`` is none of these.

    >>> import covector.numpy as cnp
    >>> state, drawn = rng_bit_generator(cnp.asarray([1, 2, 3, 4], "uint32"), (2,))
    >>> state.tolist(), drawn.tolist()
    ([1, 2, 4, 4], [512747620, 1298009047])
    """
    state = as_array(key, "rng_bit_generator")
    wide = state.type.dtype is dtypes.uint64
    if state.type.shape != (2 if wide else 4,) or state.type.dtype not in _STATES:
        raise TypeMismatch(
            "rng_bit_generator needs the state of a generator, u32[4] or u64[2], but "
            f"got {state.type}. covector.random draws from keys."
        )
    dtype = asked_dtype(dtype)
    if dtype not in dtypes.UNSIGNED or dtype in dtypes.SUB_BYTE:
        raise DTypeKindError(
            "rng_bit_generator draws unsigned integers of 8 to 64 bits, and "
            f"{dtypes.short_name(dtype)} is none."
        )
    shape = canonical_shape("rng_bit_generator", shape)
    words = Reshape((4,))(BitcastConvertType(dtypes.uint32)(state)) if wide else state
    three_fry = RandomAlgorithm(algorithm) is RandomAlgorithm.RNG_THREE_FRY
    draw = _threefry if three_fry else _philox
    blocks, drawn = draw(words, 8 * dtype.itemsize, shape)
    later = _advanced(words, blocks)
    if wide:
        later = BitcastConvertType(dtypes.uint64)(Reshape((2, 2))(later))
    return later, with_out_sharding(drawn, out_sharding)


_STATES = (dtypes.uint32, dtypes.uint64)


def _advanced(words: Value, blocks: int) -> Value:
    """The state after so many blocks."""
    numbers = BitcastConvertType(dtypes.uint64)(Reshape((2, 2))(words))
    high, low = divmod(blocks, 2**32)
    steps = from_numpy(np.array([[0, 0], [low, high]], np.uint32))
    later = add(numbers, BitcastConvertType(dtypes.uint64)(steps))
    return Reshape((4,))(BitcastConvertType(dtypes.uint32)(later))


def _philox(words: Value, width: int, shape: Shape) -> tuple[int, Any]:
    """Integers made of the words of each block in turn."""
    blocks = PhiloxBlocks.needed(width, shape)
    return blocks, integers_of(PhiloxBlocks(blocks)(words), width, shape)


def _threefry(words: Value, width: int, shape: Shape) -> tuple[int, Any]:
    """Integers of 64 bits made of a block each; shorter ones of one word of a block.

    The two words of a block then stand one after the other along an axis: the first of
    even length, or the longest, at the end of which one integer is left over.
    """
    if width == 64:
        count = prod(shape)
        return count, integers_of(ThreefryBlocks(count)(words), width, shape)
    lengths = shape or (1,)
    even = [axis for axis, n in enumerate(lengths) if n % 2 == 0]
    axis = even[0] if even else lengths.index(max(lengths))
    before, n, after = lengths[:axis], lengths[axis], lengths[axis + 1 :]
    count = prod((*before, -(-n // 2), *after))
    blocks = Reshape((*before, -(-n // 2), *after, 2))(ThreefryBlocks(count)(words))
    pairs = move_axis(blocks, len(lengths), axis + 1)
    drawn = Reshape((*before, n + n % 2, *after))(pairs)
    if n % 2:
        drawn = Slice((0,) * len(lengths), lengths)(drawn)
    return count, convert(Reshape(shape)(drawn), dtypes.as_dtype(f"uint{width}"))


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: ShapeLike) -> Array:
    """Numbers from ``a`` up to, and without, ``b``: other ones at each call.

    They come from the generator of the platform, which has a state of its own, so no
    run repeats another. ``covector.random.uniform`` is a function of a key.

    Args:
      a, b: scalars of one dtype of integers or floats.

    Raises:
      TypeMismatch: they are not scalars of one dtype. DTypeError: they are not real
        numbers. MissingRule: under ``vmap`` of the bounds, and under derivatives with
        respect to them.

    >>> x = rng_uniform(2.0, 3.0, (5,))
    >>> bool(((x >= 2) & (x < 3)).all())
    True
    """
    return RngUniform(canonical_shape("rng_uniform", shape))(
        *operands("rng_uniform", a, b)
    )
