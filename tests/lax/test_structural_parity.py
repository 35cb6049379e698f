"""Slices, windows and shapes of ``lax`` compared with jax: values and types."""

import numpy as np
import pytest

import covector
from covector.core.convert import as_array
from covector.lax import creation, gathering, shapes, slicing

jax = pytest.importorskip("jax")

X = np.arange(24.0, dtype=np.float32).reshape(4, 6)
V = np.arange(7, dtype=np.int32) * 10
PLACES = np.array([[1], [3], [-1], [9], [1]], np.int32)
PAIRS = np.array([[1, 5], [0, 0], [3, 7], [-1, 2]], np.int32)
ROWS = ((1,), (0,), (0,))
POINTS = ((), (0, 1), (0, 1))


class Ours:
    """The functions of ``lax`` that are compared, under one name."""

    def __getattr__(self, name):
        for room in (slicing, gathering, shapes, creation):
            if name in room.__all__:
                return getattr(room, name)
        raise AttributeError(name)


def gather(numbers, sizes, indices, **options):
    return lambda lax: lax.gather(
        X, indices, lax.GatherDimensionNumbers(*numbers), sizes, **options
    )


def scatter(name, numbers, indices, updates, **options):
    return lambda lax: getattr(lax, name)(
        as_peer(lax, X),
        as_peer(lax, indices),
        as_peer(lax, np.asarray(updates, np.float32)),
        lax.ScatterDimensionNumbers(*numbers),
        **options,
    )


def as_peer(lax, x):
    return jax.numpy.asarray(x) if lax is jax.lax else as_array(x)


SCATTERS = [
    "scatter",
    "scatter_add",
    "scatter_sub",
    "scatter_mul",
    "scatter_min",
    "scatter_max",
]
NEW_ROWS = X[[1, 0, 2, 3, 0]] * 2 - 20

CALLS = {
    "slice": lambda lax: lax.slice(X, (1, 0), (4, 6), (2, 5)),
    "slice without strides": lambda lax: lax.slice(X, (1, 0), (4, 6)),
    "slice_in_dim": lambda lax: lax.slice_in_dim(X, 1, -1, 2, axis=1),
    "slice_in_dim, open": lambda lax: lax.slice_in_dim(X, None, None, axis=-1),
    "index_in_dim": lambda lax: lax.index_in_dim(X, -1, 1),
    "index_in_dim, dropped": lambda lax: lax.index_in_dim(X, 2, keepdims=False),
    "dynamic_slice": lambda lax: lax.dynamic_slice(X, (1, 9), (2, 2)),
    "dynamic_slice, negative": lambda lax: lax.dynamic_slice(X, (-2, -3), (2, 2)),
    "dynamic_slice, array": lambda lax: lax.dynamic_slice(X, np.int32([1, -1]), (1, 2)),
    "dynamic_slice, clamped": lambda lax: lax.dynamic_slice(
        X, as_peer(lax, np.int32([-2, -3])), (2, 2), allow_negative_indices=False
    ),
    "dynamic_slice, either": lambda lax: lax.dynamic_slice(
        X,
        as_peer(lax, np.int32([-2, -3])),
        (2, 2),
        allow_negative_indices=(True, False),
    ),
    "dynamic_slice_in_dim": lambda lax: lax.dynamic_slice_in_dim(X, -4, 2, axis=1),
    "dynamic_index_in_dim": lambda lax: lax.dynamic_index_in_dim(X, -1, 1),
    "dynamic_index_in_dim, dropped": lambda lax: lax.dynamic_index_in_dim(
        X, np.uint8(200), 1, keepdims=False
    ),
    "dynamic_update_slice": lambda lax: lax.dynamic_update_slice(
        X, -X[:2, :3], (-2, 9)
    ),
    "dynamic_update_slice_in_dim": lambda lax: lax.dynamic_update_slice_in_dim(
        X, -X[:2], 1, axis=0
    ),
    "dynamic_update_index_in_dim": lambda lax: lax.dynamic_update_index_in_dim(
        X, -X[:, 0], 2, axis=1
    ),
    "dynamic_update_index_in_dim, kept": lambda lax: lax.dynamic_update_index_in_dim(
        X, -X[:, :1], -1, axis=1
    ),
    "pad": lambda lax: lax.pad(X, np.float32(7), ((1, -2, 1), (-1, 3, 0))),
    "rev": lambda lax: lax.rev(X, (0, 1)),
    "gather": gather(ROWS, (1, 6), PLACES),
    "gather, fill": gather(ROWS, (1, 6), PLACES, mode="fill"),
    "gather, clip": gather(ROWS, (1, 6), PLACES, mode="clip"),
    "gather, promised": gather(ROWS, (1, 6), PLACES[:2], mode="promise_in_bounds"),
    "gather, filled": gather(ROWS, (1, 6), PLACES, mode="fill", fill_value=-0.0),
    "gather, points": gather(POINTS, (1, 1), PAIRS, mode="drop"),
    "gather, windows": gather(((1, 2), (), (0, 1)), (2, 3), PAIRS, mode="clip"),
    "gather of integers": lambda lax: lax.gather(
        V, PLACES, lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill"
    ),
    "gather of truth values": lambda lax: lax.gather(
        V > 20, PLACES, lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill"
    ),
    "gather in step": lambda lax: lax.gather(
        X,
        np.int32([[1], [5], [0], [2]]),
        lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,)),
        (1, 1),
    ),
    "index_take": lambda lax: lax.index_take(
        X, (np.int32([0, 5, -1]), np.int32([7, 2, -9])), (0, 1)
    ),
    "index_take, one axis": lambda lax: lax.index_take(X, (np.int32([0, 5]),), (1,)),
    **{name: scatter(name, ROWS, PLACES, NEW_ROWS) for name in SCATTERS},
    **{
        f"{name}, clip": scatter(name, POINTS, PAIRS, [3, -5, 7, 99], mode="clip")
        for name in SCATTERS
    },
    "scatter_apply": lambda lax: lax.scatter_apply(
        as_peer(lax, X),
        as_peer(lax, PLACES),
        lambda x: 2 * x + 1,
        lax.ScatterDimensionNumbers(*ROWS),
        update_shape=(5, 6),
    ),
    "scatter_apply, unique": lambda lax: lax.scatter_apply(
        as_peer(lax, X),
        as_peer(lax, PLACES[:4]),
        lambda x: 2 * x + 1,
        lax.ScatterDimensionNumbers(*ROWS),
        update_shape=(4, 6),
        unique_indices=True,
    ),
    "reshape": lambda lax: lax.reshape(X, (3, 8)),
    "reshape, axes reordered": lambda lax: lax.reshape(X, (3, 8), (1, 0)),
    "transpose": lambda lax: lax.transpose(X, (1, 0)),
    "squeeze": lambda lax: lax.squeeze(X[:1, :, None], (0, -1)),
    "expand_dims": lambda lax: lax.expand_dims(X, (0, -1)),
    "collapse": lambda lax: lax.collapse(X[None], 1),
    "collapse, nothing": lambda lax: lax.collapse(X, 1, 1),
    "collapse, all but one": lambda lax: lax.collapse(X[None], 0, -1),
    "broadcast": lambda lax: lax.broadcast(X, (2, 1)),
    "broadcast_in_dim": lambda lax: lax.broadcast_in_dim(X[:1], (3, 6, 2), (0, 1)),
    "broadcast_to_rank": lambda lax: lax.broadcast_to_rank(X, 3),
    "broadcast_like": lambda lax: lax.broadcast_like(X[0], X),
    "tile": lambda lax: lax.tile(X, (2, 3)),
    "concatenate": lambda lax: lax.concatenate([X, X[:1]], 0),
    "stack": lambda lax: lax.stack([X, X + 1], -1),
    "split": lambda lax: lax.split(X, (2, 0, 4), axis=-1),
    "unstack": lambda lax: lax.unstack(X, axis=-1),
    "iota": lambda lax: lax.iota("int16", 5),
    "broadcasted_iota": lambda lax: lax.broadcasted_iota("float32", (2, 3), 1),
    "full": lambda lax: lax.full((2, 3), 1.5),
    "full in a dtype": lambda lax: lax.full((2, 3), 1, "uint8"),
    "full_like": lambda lax: lax.full_like(X, 7, shape=(2,)),
    "full_like in a dtype": lambda lax: lax.full_like(X, 7, "int8"),
    "empty": lambda lax: lax.empty((2, 3), "int8"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_values_and_types_are_those_of_the_peer(call):
    ours, theirs = call(Ours()), call(jax.lax)
    if not isinstance(theirs, list | tuple):
        ours, theirs = [ours], [theirs]
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("name", ["scatter_min", "scatter_max"])
def test_ties_share_the_derivative_as_in_the_peer(name):
    x = np.float32([1, 2, 3, 4])
    updates = np.float32([2, 2, 9, 4])
    indices = np.int32([[1], [1], [0], [3]])

    def total(lax, x, updates):
        numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        return getattr(lax, name)(x, indices, updates, numbers).sum()

    wanted = jax.grad(lambda *a: total(jax.lax, *a), (0, 1))(x, updates)
    got = covector.grad(lambda *a: total(Ours(), *a), (0, 1))(x, updates)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
