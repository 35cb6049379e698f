"""Rows of the operations on random keys, and of ``multiply_add``."""

import itertools

import numpy as np

from covector.operations.multiply_add import multiply_add
from covector.operations.random import (
    Unrolled,
    random_fold_in,
    random_seed,
    random_unwrap,
    random_wrap,
)
from covector.operations.random_streams import RandomBits, RandomSplit, RandomWords
from tests.laws import KEY, Case

_WORD = 2**32


def threefry(key, block):
    """Threefry-2x32 with 20 rounds, on pairs of Python integers."""
    turns = itertools.cycle((13, 15, 26, 6, 17, 29, 16, 24))
    schedule = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = [(b + k) % _WORD for b, k in zip(block, key, strict=True)]
    for done in range(1, 21):
        turn = next(turns)
        x = (x + y) % _WORD
        y = (y << turn | y >> (32 - turn)) % _WORD ^ x
        if done % 4 == 0:
            step = done // 4
            x = (x + schedule[step % 3]) % _WORD
            y = (y + schedule[(step + 1) % 3] + step) % _WORD
    return x, y


def _halves(pair):
    return int(pair) % _WORD, int(pair) // _WORD


def _pair(words):
    return words[0] + _WORD * words[1]


def _each(fun, keys, shape, dtype):
    """What ``fun`` of the words of a key gives for each, in new trailing axes."""
    rows = [fun(_halves(k)) for k in keys.ravel()]
    return np.array(rows, dtype).reshape((*keys.shape, *shape))


def _bits(width, shape):
    def one(key):
        for i in range(int(np.prod(shape))):
            high, low = threefry(key, (0, i))
            yield high * _WORD + low if width == 64 else (high ^ low) % 2**width

    def reference(keys):
        dtype = f"uint{width}"
        return _each(lambda key: [*one(key)], keys, shape, dtype)

    return Case(RandomBits(width, shape), (_keys,), reference)


def _split(keys, shape):
    def reference(keys):
        count = range(int(np.prod(shape)))
        return _each(
            lambda key: [_pair(threefry(key, (0, i))) for i in count],
            keys,
            shape,
            np.uint64,
        )

    return Case(RandomSplit(shape), (keys,), reference)


def _words(count):
    def one(key):
        half = (count + 1) // 2
        second = [i if i < count else 0 for i in range(half, 2 * half)]
        pairs = [threefry(key, b) for b in zip(range(half), second, strict=True)]
        return [p[0] for p in pairs] + [p[1] for p in pairs][: count - half]

    def reference(keys):
        return _each(one, keys, (count,), np.uint32)

    return Case(RandomWords(count), (_keys,), reference)


def _fold_in(keys, data):
    keys, data = np.broadcast_arrays(keys, data)
    made = [
        _pair(threefry(_halves(k), (0, int(d))))
        for k, d in zip(keys.ravel(), data.ravel(), strict=True)
    ]
    return np.array(made, np.uint64).reshape(keys.shape)


def _seed(seed):
    bits = 64 if seed.dtype.itemsize == 8 else 32
    halves = [divmod(int(s) % 2**bits, _WORD) for s in seed.ravel()]
    return np.array([_pair(h) for h in halves], np.uint64).reshape(seed.shape)


_raw = np.array([[0, 1, 2**64 - 1], [2**63, 2**32, 0x0123456789ABCDEF]], np.uint64)
_keys, _key, _none = _raw.view(KEY), _raw[1, 2].view(KEY), _raw[:0].view(KEY)
_data = np.array([[0, 7, 2**32 - 1], [1, 2, 3]], np.uint32)
_seeds = np.array([0, 7, -1, -(2**31), 2**31 - 1, 123456789], np.int32)
_wide = np.array([2**40 + 7, -1, -(2**63), 2**63 - 1, 0], np.int64)
_x, _y, _z = np.array([[0.5, -1.25, 3.0], [2.0, 0.75, -0.125], [1.5, -2.5, 0.375]])


def _multiply_add(x, y, z):
    return x * y + z


CASES = [
    # -- keys and their words
    Case(random_seed, (_seeds,), _seed, upcast=False),
    Case(random_seed, (_wide,), _seed, upcast=False),
    Case(random_seed, (_wide.astype(np.uint64),), _seed, upcast=False),
    Case(random_seed, (np.int32(-5),), _seed, upcast=False),
    Case(random_seed, (_seeds[:0],), _seed, upcast=False),
    Case(random_unwrap, (_keys,), lambda k: k.view(np.uint32).reshape(*k.shape, 2)),
    Case(random_unwrap, (_key,), lambda k: np.array(_halves(k), np.uint32)),
    Case(random_unwrap, (_none,), lambda k: np.zeros((0, 3, 2), np.uint32)),
    Case(
        random_wrap,
        (_raw.view(np.uint32).reshape(2, 3, 2),),
        lambda x: np.ascontiguousarray(x).view(np.uint64)[..., 0],
        dtypes=(np.uint32,),
    ),
    # -- keys from keys
    Case(random_fold_in, (_keys, _data), _fold_in),
    Case(random_fold_in, (_key, _data), _fold_in, name="fold numbers into one key"),
    Case(random_fold_in, (_keys, _data[0, 1]), _fold_in, name="fold one number in"),
    Case(random_fold_in, (_key, _data[1, 2]), _fold_in),
    Case(random_fold_in, (_none, _data[:0]), _fold_in),
    _split(_keys, (2,)),
    _split(_key, (2, 3)),
    _split(_key, ()),
    _split(_key, (0,)),
    _split(_none, (2,)),
    # -- bits
    *[_bits(width, (5,)) for width in (8, 16, 32, 64)],
    _bits(32, ()),
    _bits(32, (2, 0)),
    _bits(16, (3, 2)),
    _words(6),
    _words(7),
    _words(1),
    _words(0),
    Case(Unrolled(RandomBits(32, (2,))), (_keys,), _bits(32, (2,)).reference),
    # -- x·y + z
    Case(multiply_add, (_x, _y, _z), _multiply_add),
    Case(multiply_add, (_x, np.float64(1.5), _z), _multiply_add, name="one factor"),
    Case(multiply_add, (np.float64(1.5), np.float64(2.5), _z), _multiply_add),
    Case(multiply_add, (_x[:0], _y[:0], _z[:0]), _multiply_add),
    Case(
        multiply_add,
        (
            np.array([np.inf, np.nan, 1e200, 0.0, -1.0]),
            np.array([0.0, 1.0, 1e100, -0.0, 1.0]),
            np.array([1.0, 2.0, -np.inf, 0.0, 1.0]),
        ),
        _multiply_add,
        name="multiply_add of the ends",
        derivative=False,
    ),
]
