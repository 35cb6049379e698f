"""Generators: what keys of each type are made into.

threefry2x32   the default: splits and draws encrypt with Threefry-2x32
rbg            splits as threefry does; draws encrypt with Philox-4x32, in fewer steps
unsafe_rbg     splits by Philox as well, from whose stream draws could take the same

The four functions of a generator take typed keys of any shape, and what they make of
one key stands in new trailing axes. ``define_generator`` adds one of the user's.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.key_types import IMPLEMENTATIONS, STORAGE, Implementation, KeyType
from covector.core.types import Shape
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.fingerprints.fingerprint import fingerprint_of
from covector.operations import random as operations
from covector.operations import random_streams
from covector.operations.bitwise import xor
from covector.operations.broadcasting import move_axis
from covector.operations.counter_streams import PhiloxBlocks, integers_of
from covector.operations.joining import Concatenate
from covector.operations.random import THREEFRY, RandomWrap, random_unwrap
from covector.operations.transposing import Reshape
from covector.transforms.vmap import vmap

__all__ = ["define_generator"]


@dataclass(frozen=True)
class Generator:
    """The sources of keys of one type, and their form."""

    #: ``seed(integer)``: a key
    seed: Callable[[Value], Value]
    #: ``split(keys, shape)``: keys, independent of each other and of the old ones
    split: Callable[[Value, Shape], Value]
    #: ``fold_in(keys, number)``: a key for each u32
    fold_in: Callable[[Value, Value], Value]
    #: ``bits(keys, width, shape)``: integers of 8, 16, 32 or 64 random bits
    bits: Callable[[Value, int, Shape], Value]


def generator(kind: KeyType) -> Generator:
    """The generator that keys of this type belong to."""
    return _generators[kind]


def split(keys: Value, shape: Shape) -> Value:
    """``shape`` new keys for each key."""
    return _generators[keys.type.dtype].split(keys, shape)


def bits(keys: Value, width: int, shape: Shape) -> Value:
    """An array of random integers of ``width`` bits for each key."""
    return _generators[keys.type.dtype].bits(keys, width, shape)


def default_key_type() -> KeyType:
    """The type of keys where nothing else is asked for, and of raw ones."""
    return KeyType(options.current().default_prng_impl)


# -- rbg: two keys of threefry, which are the key and the counter of Philox ------------

RBG, UNSAFE_RBG = KeyType("rbg"), KeyType("unsafe_rbg")
_WORDS = RBG.words


def _as_pairs(keys: Value) -> Value:
    """The two threefry keys that a key consists of, along a new last axis."""
    words = random_unwrap(keys)
    return RandomWrap(THREEFRY)(Reshape((*keys.type.shape, 2, 2))(words))


def _of_pairs(kind: KeyType, pairs: Value) -> Value:
    """The keys that consist of the threefry keys along the last axis."""
    words = random_unwrap(pairs)
    return RandomWrap(kind)(Reshape((*pairs.type.shape[:-1], _WORDS))(words))


def _seed(kind: KeyType, seed: Value) -> Value:
    words = random_unwrap(operations.random_seed(seed))
    return RandomWrap(kind)(Concatenate(words.type.ndim - 1)(words, words))


def _split(keys: Value, shape: Shape) -> Value:
    pairs = random_streams.split(_as_pairs(keys), shape)
    return _of_pairs(RBG, move_axis(pairs, keys.type.ndim, pairs.type.ndim - 1))


def _fold_in(keys: Value, data: Value) -> Value:
    return _of_pairs(RBG, operations.random_fold_in(_as_pairs(keys), data))


def _bits(keys: Value, width: int, shape: Shape) -> Value:
    blocks = PhiloxBlocks(PhiloxBlocks.needed(width, shape))(random_unwrap(keys))
    return integers_of(blocks, width, shape)


def _unsafe_split(keys: Value, shape: Shape) -> Value:
    # Each tenth block: the published stream was wide of the draws from the new keys.
    blocks = PhiloxBlocks(prod(shape), 0, 10)(random_unwrap(keys))
    words = Reshape((*keys.type.shape, *shape, _WORDS))(blocks)
    return RandomWrap(UNSAFE_RBG)(words)


def _unsafe_fold_in(keys: Value, data: Value) -> Value:
    old, made = random_unwrap(keys), random_unwrap(_seed(UNSAFE_RBG, data))
    block = Reshape(made.type.shape)(PhiloxBlocks(1, 9)(made))
    return RandomWrap(UNSAFE_RBG)(xor(old, block))


_generators = {
    THREEFRY: Generator(
        operations.random_seed,
        random_streams.split,
        operations.random_fold_in,
        random_streams.bits,
    ),
    RBG: Generator(functools.partial(_seed, RBG), _split, _fold_in, _bits),
    UNSAFE_RBG: Generator(
        functools.partial(_seed, UNSAFE_RBG), _unsafe_split, _unsafe_fold_in, _bits
    ),
}


# -- generators of users ---------------------------------------------------------------


def define_generator(
    *,
    name: str = "",
    key_shape: Shape,
    seed: Callable[[Array], Any],
    split: Callable[[Array, Shape], Any],
    random_bits: Callable[[Array, int, Shape], Any],
    fold_in: Callable[[Array, Array], Any],
    tag: str | None = None,
) -> KeyType:
    """The type of the keys of a new generator, made of four functions.

    They take and give the words of one key, ``u32[key_shape]``, and are batched with
    ``vmap``.

    Args:
      name: how the generator is called, as in ``random.key(0, impl=name)``; without
        one, it is known by what is returned alone.
      key_shape: the shape of a key's words, of which there are 1, 2 or 4.
      seed: ``seed(integer)`` gives a key.
      split: ``split(key, shape)`` gives keys, ``u32[*shape, *key_shape]``.
      random_bits: ``random_bits(key, width, shape)`` gives unsigned integers of 8, 16,
        32 or 64 bits.
      fold_in: ``fold_in(key, number)`` gives a key for each u32.
      tag: how keys are printed, by default by name.

    Raises:
      ArgumentError: there is another generator of this name, or a key has another
        number of words.

    >>> from covector import numpy as cnp, random
    >>> kind = random.define_generator(
    ...     name="counting",
    ...     key_shape=(1,),
    ...     seed=lambda n: n.astype("uint32")[None],
    ...     split=lambda key, shape: random.bits(random.key(key[0]), (*shape, 1)),
    ...     random_bits=lambda k, width, shape: cnp.full(shape, k[0], f"uint{width}"),
    ...     fold_in=lambda key, number: key + number,
    ... )
    >>> print(random.key(3, impl=kind).type)
    key<counting>[]
    >>> random.bits(random.fold_in(random.key(3, impl="counting"), 4), (2,)).tolist()
    [7, 7]
    """
    if not name:
        name, tag = f"unnamed_{len(_defined)}", tag or "?"
    functions = (tuple(key_shape), seed, split, random_bits, fold_in)
    said = functions[0], *[fingerprint_of(f)[0] or f for f in functions[1:]]
    if name in IMPLEMENTATIONS:
        if _defined.get(name) == said:
            return KeyType(name)
        raise ArgumentError(
            f"define_generator: there is a generator {name!r} already. Programs with "
            "its keys may be compiled, so another one needs another name."
        )
    count = prod(key_shape)
    if count not in STORAGE:
        raise ArgumentError(
            f"define_generator: a key of shape {tuple(key_shape)} has "
            f"{how_many(count, 'word')}, but there are keys of "
            f"{', '.join(map(str, STORAGE))} words only."
        )
    IMPLEMENTATIONS[name] = Implementation(tag or name, count)
    kind = KeyType(name)
    _defined[name] = said
    _generators[kind] = _of_user(kind, *functions)
    return kind


#: what the functions of each generator say, for one that is defined again
_defined: dict[str, tuple[Any, ...]] = {}


def _of_user(
    kind: KeyType,
    key_shape: Shape,
    seed: Any,
    split: Any,
    random_bits: Any,
    fold_in: Any,
) -> Generator:
    """A generator of typed keys, by functions of the words of one."""

    def checked(result: Any, shape: Shape, dtype: Any, what: str) -> Array:
        found = as_array(result, what)
        wanted = found.type.with_shape(shape).with_dtype(dtype)
        if found.type.shape != shape or found.type.dtype != dtype:
            raise TypeMismatch(
                f"the function {what} of the generator {kind.implementation!r} should "
                f"give {wanted}, but gave {found.type}."
            )
        return found

    def keys_of(result: Any, shape: Shape, what: str) -> Value:
        words = checked(result, (*shape, *key_shape), dtypes.uint32, what)
        return RandomWrap(kind)(Reshape((*shape, kind.words))(words))

    def each(function: Callable[[Any], Any], keys: Value) -> Value:
        for _ in range(keys.type.ndim):
            function = vmap(function)
        return function(random_unwrap(keys))

    def of_one(words: Value) -> Value:
        return Reshape(key_shape)(words)

    def made_bits(words: Value, width: int, shape: Shape) -> Value:
        found = random_bits(of_one(words), width, shape)
        return checked(found, shape, dtypes.as_dtype(f"uint{width}"), "random_bits")

    return Generator(
        lambda n: keys_of(seed(n), (), "seed"),
        lambda keys, shape: each(
            lambda words: keys_of(split(of_one(words), shape), shape, "split"), keys
        ),
        lambda keys, data: each(
            lambda words: keys_of(fold_in(of_one(words), data), (), "fold_in"), keys
        ),
        lambda keys, width, shape: each(
            lambda words: made_bits(words, width, shape), keys
        ),
    )
