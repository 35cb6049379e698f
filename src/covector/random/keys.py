"""Random keys: made from seeds, split, folded with data, and unwrapped into bits.

    key(0)                          a key
    split(key)     →  two keys      each for one use
    fold_in(key, 7) →  a key        one for each number

A key is consumed, not updated: what is drawn from one key is the same every time, so
every draw needs a key of its own. Keys come in two forms, and every function takes
both: *typed* keys, arrays of an element type that tells their generator, as
``key<fry>`` does, and the older *raw* ones, ``u32[2]`` arrays of their words, which
``PRNGKey`` makes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, from_numpy, to_be_cast
from covector.core.flat import describe
from covector.core.key_types import IMPLEMENTATIONS, KeyType
from covector.core.types import Shape
from covector.errors import (
    ArgumentError,
    DTypeError,
    IntegerOverflow,
    TypeMismatch,
    did_you_mean,
)
from covector.operations.casting import convert
from covector.operations.random import RandomWrap, random_unwrap
from covector.random import generators
from covector.random.arguments import (
    is_typed,
    keyed,
    sample_shape,
    single_key,
    typed,
    words,
)
from covector.random.generators import default_key_type, generator

__all__ = [
    "PRNGKey",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "wrap_key_data",
]


def key(
    seed: int | ArrayLike, *, impl: str | None = None, dtype: DTypeLike | None = None
) -> Array:
    """A random key made of an integer: where all random numbers of a program come from.

    A key is an array, and functions of ``covector.random`` do not change it: the same
    key gives the same numbers each time. Make one key, and new ones with ``split``.

    Args:
      seed: a scalar integer of up to 64 bits, known or traced. A Python integer counts
        modulo 2³² unless ``enable_x64`` is on.
      impl: the generator: ``"threefry2x32"``, ``"rbg"``, ``"unsafe_rbg"`` or one of
        ``define_generator``; by default that of the option ``default_prng_impl``.
      dtype: the same, as the element type of keys.

    Returns:
      A scalar array whose dtype is that of keys.

    Raises:
      DTypeError: the seed is not an integer.
      TypeMismatch: it is not a scalar.
      IntegerOverflow: it needs more than 64 bits.

    >>> print(key(0).type)
    key<fry>[]
    >>> key_data(key(7)).tolist()
    [0, 7]
    >>> print(key(0, impl="rbg").type)
    key<rbg>[]

    See also: ``split``, ``fold_in``, ``key_data``.
    """
    kind = _key_type("key", impl, dtype)
    return generator(kind).seed(_seed("key", seed))


def PRNGKey(seed: int | ArrayLike, *, impl: str | None = None) -> Array:
    """A raw random key, made of an integer: its words, as an array of integers.

    It is ``u32[2]``, or ``u32[4]`` of the generators ``"rbg"`` and ``"unsafe_rbg"``. A
    raw key does not say which generator it is of: functions take it for one of the
    option ``default_prng_impl``. New programs use ``key``, whose keys do.

    Args:
      seed, impl: as for ``key``.

    Returns:
      A raw key.

    Raises:
      DTypeError: the seed is not an integer.
      TypeMismatch: it is not a scalar.

    >>> PRNGKey(7).tolist()
    [0, 7]

    See also: ``key``, ``wrap_key_data``.
    """
    kind = _key_type("PRNGKey", impl, None)
    return random_unwrap(generator(kind).seed(_seed("PRNGKey", seed)))


def _seed(who: str, seed: Any) -> Array:
    if isinstance(seed, int) and not isinstance(seed, np.generic):
        if not -(2**63) <= seed < 2**63:
            raise IntegerOverflow(
                f"{who}: the seed {seed} needs more than 64 bits. Use its remainder, "
                "as in seed % 2**63."
            )
        if options.current().enable_x64:
            return from_numpy(np.int64(seed))
        return from_numpy(np.uint32(seed & 0xFFFFFFFF))
    seed = _low_bits(seed, who)
    if not dtypes.is_integer(seed.type.dtype):
        raise DTypeError(f"{who} needs an integer for a seed, but got {seed.type}.")
    if seed.type.shape:
        raise TypeMismatch(
            f"{who} needs one integer for a seed, but got {seed.type}. For a key of "
            f"each, use covector.vmap({who})(seeds)."
        )
    return seed


def _low_bits(x: Any, who: str) -> Any:
    """An array; 64-bit integers of NumPy count modulo 2³² while x64 is off."""
    if isinstance(x, np.ndarray | np.generic):
        wide = to_be_cast(x, who)
        return convert(wide, dtypes.canonical(wide.dtype, options.current().enable_x64))
    return as_array(x, who)


def _key_type(who: str, impl: Any, dtype: DTypeLike | None) -> KeyType:
    """The type of keys that the arguments ``impl`` and ``dtype`` name."""
    if impl is not None and dtype is not None:
        raise ArgumentError(f"{who} takes one of impl and dtype, but got both.")
    named = dtype if impl is None else impl
    if named is None:
        return default_key_type()
    if isinstance(named, KeyType):
        return named
    if isinstance(named, str) and named in IMPLEMENTATIONS:
        return KeyType(named)
    raise ArgumentError(
        f"{who}: there is no random generator {named!r}."
        f"{did_you_mean(named, IMPLEMENTATIONS)} There are 'threefry2x32', 'rbg', "
        "'unsafe_rbg' and those of covector.random.define_generator."
    )


def split(key: ArrayLike, num: int | Shape = 2) -> Array:
    """``num`` new keys, independent of each other.

    Use each key once: a key that was split, or that numbers were drawn from, gives the
    same numbers when it is used again. Where it is needed later, keep one of the new
    ones: ``key, sub = split(key)``.

    Args:
      key: one key, typed or raw.
      num: how many, or the shape of the array of keys.

    Returns:
      Typed keys of the shape ``num``, or raw keys ``u32[num, 2]``.

    Raises:
      TypeMismatch: ``key`` is several keys: use ``vmap``.
      ArgumentError: ``num`` is negative.

    >>> first, second = split(key(0))
    >>> key_data(first).tolist()
    [1797259609, 2579123966]

    See also: ``fold_in`` for a key of each step of a loop.
    """
    shape = sample_shape("split", num, "num")
    return _as_given(lambda k: generators.split(k, shape), "split", key)


@keyed
def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """A new key made of ``key`` and the number ``data``; other numbers give other keys.

    Use it for the key of a step, a layer or a device, whose number may be traced.

    Args:
      key: one key, typed or raw.
      data: a scalar integer from 0 to 2³² − 1; an array's element counts modulo 2³².

    Returns:
      A key of the kind of ``key``, typed or raw.

    Raises:
      TypeMismatch: ``key`` is several keys, or ``data`` is not a scalar.
      DTypeError: ``data`` is not an integer.
      IntegerOverflow: ``data`` does not fit 32 bits.

    >>> key_data(fold_in(key(0), 7)).tolist()
    [2716826189, 292468403]

    See also: ``split``.
    """
    number = _folded(data)
    return _as_given(
        lambda k: generator(k.type.dtype).fold_in(k, number), "fold_in", key
    )


def _folded(data: Any) -> Array:
    if type(data) in (int, bool):
        if not 0 <= data < 2**32:
            raise IntegerOverflow(
                f"fold_in: the number {data} does not fit u32, which holds 0 to "
                "2**32 - 1. Use its remainder, as in data % 2**32."
            )
        return from_numpy(np.uint32(data))
    data = _low_bits(data, "fold_in")
    if not dtypes.is_integer(data.type.dtype):
        raise DTypeError(f"fold_in needs an integer, but got {data.type}.")
    if data.type.shape:
        raise TypeMismatch(
            f"fold_in needs one integer, but got {data.type}. For a key of each, use "
            "covector.vmap(fold_in, (None, 0))(key, data)."
        )
    return convert(data, dtypes.uint32)


def clone(key: ArrayLike) -> Array:
    """``key``, to be used once more on purpose.

    >>> key_data(clone(key(7))).tolist()
    [0, 7]
    """
    return key if is_typed(key) else words("clone", key)


# -- keys and bits ---------------------------------------------------------------------


def key_data(keys: ArrayLike) -> Array:
    """The words of keys, typed or raw, as integers: for instance to save them.

    Args:
      keys: keys ``[...]``, or raw keys.

    Returns:
      ``u32[..., 2]`` of threefry, ``u32[..., 4]`` of rbg.

    >>> print(key_data(split(key(0), 3)).type)
    u32[3,2]

    See also: ``wrap_key_data``, the inverse.
    """
    return random_unwrap(keys) if is_typed(keys) else words("key_data", keys)


def wrap_key_data(
    key_bits_array: Any, *, impl: str | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Typed keys with the given words: the inverse of ``key_data``.

    Args:
      key_bits_array: ``u32[..., 2]``, or as many words as the generator has.
      impl, dtype: the generator, as in ``key``.

    Raises:
      DTypeError: the words are not those of such keys.

    >>> print(wrap_key_data(PRNGKey(7)).type)
    key<fry>[]
    """
    kind = _key_type("wrap_key_data", impl, dtype)
    try:
        data = words("wrap_key_data", key_bits_array, kind)
    except DTypeError:
        wanted = f"the words of {kind} keys, u32[..., {kind.words}]"
        given = describe(key_bits_array)
        raise DTypeError(f"wrap_key_data needs {wanted}, but got {given}.") from None
    return RandomWrap(kind)(data)


def key_impl(keys: ArrayLike) -> str:
    """The name of the generator that keys belong to.

    >>> key_impl(key(0))
    'threefry2x32'
    """
    return typed("key_impl", keys).type.dtype.implementation


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The element type of the keys of a generator.

    >>> key_dtype()
    key<fry>
    """
    return _key_type("key_dtype", impl_spec, None)


def _as_given(made: Callable[[Any], Any], who: str, key: ArrayLike) -> Array:
    """New keys in the form, typed or raw, of the one they are made from."""
    keys = made(single_key(who, key))
    return keys if is_typed(key) else random_unwrap(keys)
