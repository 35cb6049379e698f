"""Rows of the operations in ``operations/broadcasting.py``."""

import numpy as np

from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.0, 1.5]])
_z = _x[:, :2] + 1j * _x[:, 1:]


def _total(axes):
    return lambda x: np.sum(x, axes, dtype=x.dtype)


CASES = [
    Case(BroadcastInDim((2, 3), ()), (1.5,), lambda x: np.broadcast_to(x, (2, 3))),
    Case(BroadcastInDim((2, 3), (0,)), (_x[:, 0],), lambda x: np.stack([x] * 3, 1)),
    Case(BroadcastInDim((2, 3), (1,)), (_x[0],), lambda x: np.stack([x] * 2)),
    Case(BroadcastInDim((2, 2), (1,)), (_z[0],), lambda x: np.stack([x] * 2)),
    Case(
        BroadcastInDim((4, 2, 3), (1, 2)),
        (_x[:, :1],),
        lambda x: np.broadcast_to(x, (4, 2, 3)),
        name="broadcast_in_dim with a repeated axis",
    ),
    Case(BroadcastInDim((2, 3), (0, 1)), (_x,), lambda x: x),
    Case(BroadcastInDim((1, 3), (0, 1)), (_x[:1],), lambda x: x),
    Case(BroadcastInDim((0, 3), (1,)), (_x[0],), lambda x: np.empty((0, 3))),
    Case(BroadcastInDim((0, 3), (0, 1)), (_x[:1],), lambda x: np.empty((0, 3))),
    Case(BroadcastInDim((), ()), (1.5,), lambda x: x),
    Case(ReduceSum((0,)), (_x,), _total((0,))),
    Case(ReduceSum((1,)), (_x,), _total((1,))),
    Case(ReduceSum((0, 1)), (_x,), _total((0, 1))),
    Case(ReduceSum((0, 2)), (np.arange(24.0).reshape(2, 3, 4),), _total((0, 2))),
    Case(ReduceSum((1,)), (_z,), _total((1,))),
    Case(ReduceSum(()), (_x,), lambda x: x),
    Case(ReduceSum(()), (1.5,), lambda x: x),
    Case(ReduceSum((0,)), (np.zeros((0, 2)),), _total((0,))),
    Case(ReduceSum((1,)), (np.zeros((0, 2)),), _total((1,))),
    Case(
        ReduceSum((0,)),
        (np.array([2**31 - 1, 1, 2**30], np.int32),),
        _total((0,)),
        name="reduce_sum that wraps around",
    ),
    Case(
        ReduceSum((1,)),
        (np.array([[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 0.0]]),),
        _total((1,)),
        name="reduce_sum of special values",
        derivative=False,
    ),
    Case(
        ReduceSum((0,)),
        (np.full(4096, 1.0 / 3),),
        _total((0,)),
        name="reduce_sum of many",
        rtol=3e-5,  # the host adds pairwise, XLA in another order
        second_order=False,
    ),
]
