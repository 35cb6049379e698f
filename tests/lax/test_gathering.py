"""Gather and scatter as users call them: derivatives, modes and words."""

import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector.errors import ArgumentError, DTypeError, NotDifferentiable, TypeMismatch
from covector.lax import gathering as lax

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)
PLACES = np.array([[2], [0]], np.int32)
READ = lax.GatherDimensionNumbers((1,), (0,), (0,))
WRITE = lax.ScatterDimensionNumbers((1,), (0,), (0,))
ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def test_lists_will_do_for_axes():
    numbers = lax.GatherDimensionNumbers([1], [0], [0])
    assert lax.gather(X, PLACES, numbers, [1, 4]).tolist() == X[[2, 0]].tolist()


@pytest.mark.parametrize("mode", ["clip", "fill", "drop", "promise_in_bounds"])
def test_modes_have_names(mode):
    assert lax.gather(X, PLACES, READ, (1, 4), mode=mode).shape == (2, 4)
    assert lax.scatter(X, PLACES, -X[:2], WRITE, mode=mode).shape == (3, 4)


def test_a_fill_value_keeps_its_sign():
    filled = lax.gather(X, -PLACES - 1, READ, (1, 4), mode="fill", fill_value=-0.0)
    assert np.signbit(np.asarray(filled)).all()
    filled = lax.gather(X, -PLACES - 1, READ, (1, 4), mode="fill", fill_value=0.0)
    assert not np.signbit(np.asarray(filled)).any()


def test_one_of_overlapping_updates_wins_and_has_the_derivative():
    indices = np.array([[1], [0], [1], [1]], np.int32)
    updates = np.float32([1, 2, 3, 4])

    def write(x, updates):
        return lax.scatter(x, indices, updates, ELEMENTS)

    weights = np.float32([10, 20, 30])
    out, pull = covector.vjp(write, np.float32([7, 8, 9]), updates)
    assert out.tolist() == [2, 4, 9]
    assert [ct.tolist() for ct in pull(cnp.asarray(weights))] == [
        [0, 0, 30],
        [0, 10, 0, 20],
    ]


def test_applying_has_a_derivative_where_windows_do_not_overlap():
    def total(x):
        out = lax.scatter_apply(
            x,
            PLACES,
            lambda x: x * x,
            ELEMENTS,
            update_shape=(2,),
            unique_indices=True,
        )
        return cnp.sum(out)

    assert covector.grad(total)(cnp.asarray([3.0, 4.0, 5.0])).tolist() == [6, 1, 10]


def test_applying_counts_how_often_a_place_is_named():
    indices = np.array([[1], [0], [1], [7], [1]], np.int32)
    double = lax.scatter_apply(
        cnp.asarray([3, 4, 5]), indices, lambda x: 2 * x, ELEMENTS, update_shape=(5,)
    )
    assert double.tolist() == [6, 32, 5]


def test_multiplying_twice_has_no_derivative_of_the_updates_here():
    def total(updates):
        return cnp.sum(lax.scatter_mul(X[0], PLACES, updates, ELEMENTS))

    words = r"scatter-mul .* \(f32\[2\]\) only where .*unique_indices=True"
    with pytest.raises(NotDifferentiable, match=words):
        covector.grad(total)(cnp.ones(2))


def test_truth_values_cannot_be_added():
    with pytest.raises(
        DTypeError, match=r"scatter-add needs numbers, but got bool\[3\]"
    ):
        lax.scatter_add(np.ones(3, bool), PLACES, np.ones(2, bool), ELEMENTS)


def gathered(numbers, sizes=(1, 4), indices=PLACES):
    return lambda: lax.gather(X, indices, lax.GatherDimensionNumbers(*numbers), sizes)


WORDS = {
    "indices that are not integers": (
        gathered(READ, indices=PLACES.astype(np.float32)),
        DTypeError,
        r"gather needs integers as indices, but got f32\[2,1\]",
    ),
    "too many entries in an index": (
        gathered(READ, indices=np.zeros((2, 3), np.int32)),
        TypeMismatch,
        r"gather of f32\[3,4\], i32\[2,3\] .* one entry per axis of start_index_map",
    ),
    "indices without an axis": (
        gathered(READ, indices=np.int32(1)),
        TypeMismatch,
        "one entry per axis of start_index_map",
    ),
    "an axis named twice": (
        gathered(((1,), (0,), (0, 0)), indices=np.zeros((2, 2), np.int32)),
        TypeMismatch,
        "different axes of the operand",
    ),
    "a window too large": (
        gathered(READ, (1, 5)),
        TypeMismatch,
        r"slice sizes \(1, 5\) must be at most the lengths",
    ),
    "a wide collapsed axis": (
        gathered(READ, (2, 4)),
        TypeMismatch,
        r"collapsed axes need slice size 1, but the slice sizes are \(2, 4\)",
    ),
    "no index for the window": (
        gathered(((), (0,), (0,))),
        TypeMismatch,
        "offset_dims must be 1 ascending axis of the result",
    ),
    "half a pair": (
        gathered(((1,), (0,), (0,), (), (0,))),
        TypeMismatch,
        "must come in pairs",
    ),
    "a pair of two lengths": (
        gathered(((), (1,), (1,), (0,), (0,)), (1, 1)),
        TypeMismatch,
        "must have the same lengths",
    ),
    "updates of another shape": (
        lambda: lax.scatter(X, PLACES, X, WRITE),
        TypeMismatch,
        r"scatter of .* updates for these indices have the shape \(2, 4\)",
    ),
    "updates of another dtype": (
        lambda: lax.scatter_add(X, PLACES, np.ones((2, 4), np.int32), WRITE),
        TypeMismatch,
        r"one dtype, but got f32\[3,4\], i32\[2,4\]",
    ),
    "no such mode": (
        lambda: lax.gather(X, PLACES, READ, (1, 4), mode="wrap"),
        ArgumentError,
        "no gather or scatter mode 'wrap': give 'clip', 'fill'",
    ),
    "indices for an axis missing": (
        lambda: lax.index_take(X, (PLACES[:, 0],), (0, 1)),
        TypeMismatch,
        r"for each of the axes \(0, 1\), but got 1",
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), WORDS.values(), ids=WORDS.keys())
def test_an_error_says_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(error, match=words):
        call()
