"""Rows of the operations in ``operations/counter_streams.py``."""

import numpy as np

from covector.operations.counter_streams import PhiloxBlocks, ThreefryBlocks
from tests.laws import Case
from tests.operations.cases.random import threefry

_WORD = 2**32


def philox(key, block):
    """Philox-4x32 with 10 rounds, on Python integers."""
    (k, m), (a, b, c, d) = key, block
    for _ in range(10):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b = second // _WORD ^ b ^ k, second % _WORD
        c, d = first // _WORD ^ d ^ m, first % _WORD
        k, m = (k + 0x9E3779B9) % _WORD, (m + 0xBB67AE85) % _WORD
    return a, b, c, d


def _blocks(cipher, op):
    """What the cipher makes of each counter, beside the operation."""

    def of_one(state):
        key, start = state[:2], state[2] + _WORD * state[3]
        for i in range(op.count):
            counter = (start + op.first + i * op.stride) % 2**64
            block = counter % _WORD, counter // _WORD
            yield cipher(key, (*block, *key) if cipher is philox else block)

    def reference(states):
        rows = [[*of_one(list(map(int, s)))] for s in states.reshape(-1, 4)]
        shape = (*states.shape[:-1], op.count, op.words)
        return np.array(rows, np.uint32).reshape(shape)

    return reference


_states = np.array(
    [[[1, 2, 3, 4], [5, 6, _WORD - 2, 8]], [[_WORD - 1] * 4, [0] * 4]], np.uint32
)


def _row(op, states, cipher):
    return Case(op, (states,), _blocks(cipher, op), upcast=False, dtypes=(np.uint32,))


CASES = [
    _row(kind(*stream), states, cipher)
    for kind, cipher in ((PhiloxBlocks, philox), (ThreefryBlocks, threefry))
    for stream, states in (
        ((3,), _states),
        ((2, 9, 10), _states[0, 0]),
        ((0,), _states),
        ((2,), _states[:0]),
    )
]
