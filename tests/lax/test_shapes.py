"""Words of the functions of ``lax`` on shapes, of joining and of creation."""

import numpy as np
import pytest

import covector as cv
from covector import lax
from covector.errors import ArgumentError, AxisError, DTypeError, TypeMismatch
from covector.lax import creation, shapes

X = np.zeros((2, 3), np.float32)

WORDS = {
    "reshape": (
        lambda: shapes.reshape(X, (4,)),
        TypeMismatch,
        r"reshape of f32\[2,3\] \(6 elements\) to the shape \(4,\)",
    ),
    "reshape to what is left": (
        lambda: shapes.reshape(X, (-1,)),
        TypeMismatch,
        r"cannot have the shape \(-1,\)",
    ),
    "transpose": (
        lambda: shapes.transpose(X, (0, 0)),
        TypeMismatch,
        r"needs a permutation of its 2 axes, but got \(0, 0\)",
    ),
    "squeeze": (
        lambda: shapes.squeeze(X, (0,)),
        TypeMismatch,
        r"squeeze of f32\[2,3\] cannot leave out axes \(0,\): only axes of length 1",
    ),
    "collapse": (
        lambda: shapes.collapse(X, 1, 0),
        AxisError,
        "from axis 1 to 0: the second must not be before the first",
    ),
    "broadcast_in_dim": (
        lambda: shapes.broadcast_in_dim(X, (3, 3), (0, 1)),
        TypeMismatch,
        r"cannot broadcast f32\[2,3\] to the shape \(3, 3\)",
    ),
    "broadcast_like": (
        lambda: shapes.broadcast_like(X, X[0]),
        TypeMismatch,
        r"cannot broadcast f32\[2,3\] to the shape of f32\[3\]",
    ),
    "broadcast_shapes": (
        lambda: shapes.broadcast_shapes((2,), (3,)),
        TypeMismatch,
        "Incompatible shapes for broadcasting: broadcast_shapes got",
    ),
    "tile": (
        lambda: shapes.tile(X, (2,)),
        TypeMismatch,
        r"needs a count for each of its 2 axes, but got \(2,\)",
    ),
    "concatenate, dtypes": (
        lambda: shapes.concatenate([X, X.astype(np.int32)], 0),
        TypeMismatch,
        r"one dtype, but got f32\[2,3\], i32\[2,3\].*covector.numpy.concatenate",
    ),
    "concatenate, shapes": (
        lambda: shapes.concatenate([X, X[:, :1]], 0),
        TypeMismatch,
        r"agree in their other axes, but got f32\[2,3\], f32\[2,1\]",
    ),
    "concatenate, axis": (
        lambda: shapes.concatenate([X], 2),
        AxisError,
        "dimension 2 is out of bounds",
    ),
    "stack": (
        lambda: shapes.stack([X, X[0]]),
        TypeMismatch,
        r"operands of one shape, .* but got f32\[2,3\], f32\[3\]",
    ),
    "stack, nothing": (
        lambda: shapes.stack([]),
        TypeMismatch,
        "stack needs at least one operand, but got none",
    ),
    "split": (
        lambda: shapes.split(X, (1, 1), axis=1),
        TypeMismatch,
        r"split of f32\[2,3\] along axis 1 into sizes \(1, 1\): .* add up",
    ),
    "padding": (
        lambda: lax.padtype_to_pads((3,), (2,), (1,), "WIDE"),
        ArgumentError,
        "padding is 'SAME', 'SAME_LOWER', 'VALID', .* but got 'WIDE'",
    ),
    "iota, dtype": (
        lambda: creation.iota(bool, 3),
        DTypeError,
        "iota counts in numbers, but was asked for bool",
    ),
    "iota, axis": (
        lambda: creation.broadcasted_iota(int, (3,), 1),
        AxisError,
        "dimension 1 is out of bounds",
    ),
    "full": (
        lambda: creation.full((2,), X[0]),
        TypeMismatch,
        r"full needs a scalar as its value, but got f32\[3\]",
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), WORDS.values(), ids=WORDS.keys())
def test_an_error_says_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_axes_change_places_where_the_numbers_of_a_broadcast_do_not_ascend():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def turned(x):
        return shapes.broadcast_in_dim(x, (3, 4, 2), (2, 0))

    wanted = np.broadcast_to(x.T[:, None], (3, 4, 2))
    np.testing.assert_array_equal(turned(x), wanted)
    np.testing.assert_array_equal(cv.vmap(turned)(x[None])[0], wanted)
    weights = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2)
    slope = cv.grad(lambda x: (turned(x) * weights).sum())(x)
    np.testing.assert_array_equal(slope, weights.sum(1).T)


def test_one_case_may_be_chosen_from_by_a_bool():
    case = np.arange(3.0, dtype=np.float32)
    for which in (False, True, np.array([True, False, True])):
        assert lax.select_n(which, case).tolist() == [0, 1, 2]
