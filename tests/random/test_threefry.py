"""The cipher: published vectors, and its three kinds of words."""

import numpy as np
import pytest

from covector.operations.threefry import (
    PACKED_LIMIT,
    ArrayWords,
    PackedWords,
    encrypt,
    join_words,
    split_words,
    threefry2x32,
)

#: key, block and result of 20 rounds: known answers of the authors' Random123
VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((2**32 - 1,) * 2, (2**32 - 1,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def pair(words):
    return np.array([words[0] | words[1] << 32], np.uint64)


@pytest.mark.parametrize(("key", "block", "wanted"), VECTORS)
def test_the_published_vectors_come_out(key, block, wanted):
    assert encrypt(pair(key), pair(block)) == pair(wanted)
    arrays = threefry2x32(ArrayWords, split_words(pair(key)), split_words(pair(block)))
    assert join_words(*arrays) == pair(wanted)
    packed = PackedWords(1)
    words = packed.words(pair(key), (1,)), packed.words(pair(block), (1,))
    assert packed.unpack(threefry2x32(packed, *words)) == pair(wanted)


@pytest.mark.parametrize(
    ("keys", "blocks"),
    [
        ((), ()),
        ((1,), (5,)),
        ((3, 1), (5,)),
        ((3,), ()),
        ((2, 3, 1), (1,)),
        ((2, 0), (1,)),
        ((1,), (PACKED_LIMIT,)),
        ((1,), (PACKED_LIMIT + 1,)),
        ((PACKED_LIMIT, 1), (2,)),
    ],
)
def test_keys_and_blocks_broadcast(keys, blocks):
    """Few blocks in one Python integer, many in arrays: each is encrypted by itself."""
    rng = np.random.default_rng(0)
    key = rng.integers(0, 2**64, keys, np.uint64)
    block = rng.integers(0, 2**64, blocks, np.uint64)
    both = np.broadcast_arrays(key, block)
    alone = [
        encrypt(np.array([k]), np.array([b]))[0]
        for k, b in zip(*[x.ravel() for x in both], strict=True)
    ]
    wanted = np.array(alone, np.uint64).reshape(both[0].shape)
    np.testing.assert_array_equal(encrypt(key, block), wanted)
