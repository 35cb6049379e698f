"""Slices and padding as users call them: indices, traced and not, and words."""

import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector.errors import DTypeError, InvalidIndex, TypeMismatch
from covector.lax import slicing as lax

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("start", "dtype"),
    [
        *[
            (k, dtype)
            for k in (-9, -4, -1, 0, 1, 3, 9)
            for dtype in (np.int8, np.int32)
        ],
        *[(k, dtype) for k in (0, 1, 3, 9) for dtype in (np.uint8, np.uint32)],
    ],
)
def test_a_traced_start_reads_what_the_same_number_does(start, dtype):
    def read(start):
        return lax.dynamic_slice_in_dim(X, start, 2, axis=1)

    wanted = read(start).tolist()
    assert read(np.asarray(start, dtype)).tolist() == wanted
    assert covector.jit(read)(cnp.asarray(start, dtype)).tolist() == wanted


@pytest.mark.parametrize("start", [2**40, -(2**40)])
def test_a_start_that_fits_no_dtype_is_far_outside(start):
    wanted = X[:, 2:] if start > 0 else X[:, :2]
    assert lax.dynamic_slice_in_dim(X, start, 2, axis=1).tolist() == wanted.tolist()


def test_starts_of_several_dtypes_meet():
    starts = (np.uint8(1), cnp.asarray(2), 1)
    cube = np.arange(60).reshape(3, 4, 5)
    got = lax.dynamic_slice(cube, starts, (1, 1, 1))
    assert got.tolist() == [[[cube[1, 2, 1]]]]


def test_a_start_from_outside_jit_is_no_reason_to_compile_again():
    seen = []

    @covector.jit
    def read(x, i):
        seen.append(i)
        return lax.dynamic_index_in_dim(x, i, keepdims=False)

    rows = [read(X, i).tolist() for i in range(3)]
    assert rows == X.tolist()
    assert len(seen) == 1


def test_numbers_take_the_dtype_of_what_they_are_put_into():
    x = cnp.zeros(3, "bfloat16")
    assert lax.pad(x, 1, [(1, 0, 0)]).dtype == x.dtype
    assert lax.dynamic_update_index_in_dim(x, 2, 1, 0).tolist() == [0, 2, 0]


WORDS = {
    "slice outside": (
        lambda: lax.slice(X, (0, 0), (3, 5)),
        TypeMismatch,
        r"slice of f32\[3,4\] along axis 1 from 0 to 5 in steps of 1: .* ≤ limit ≤ 4",
    ),
    "slice, one start missing": (
        lambda: lax.slice(X, (0,), (3,)),
        TypeMismatch,
        r"needs a start, a limit and a stride for each of its 2 axes, but got \(0,\)",
    ),
    "slice, no stride": (
        lambda: lax.slice(X, (0, 0), (3, 4), (1, 0)),
        TypeMismatch,
        "in steps of 0: .* a positive stride",
    ),
    "index": (
        lambda: lax.index_in_dim(X, 3),
        InvalidIndex,
        r"there is no element 3 along axis 0 of f32\[3,4\]",
    ),
    "starts missing": (
        lambda: lax.dynamic_slice(X, (0,), (1, 1)),
        TypeMismatch,
        "needs one start for each of its 2 axes, but got 1",
    ),
    "starts as a matrix": (
        lambda: lax.dynamic_slice(X, np.zeros((2, 1), np.int32), (1, 1)),
        TypeMismatch,
        r"needs 2 starts, scalars or an array of that length, but got i32\[2,1\]",
    ),
    "starts that are not integers": (
        lambda: lax.dynamic_slice(X, (0.0, 1), (1, 1)),
        DTypeError,
        r"dynamic_slice starts at integer scalars, but got f32\[\].*astype\(int\)",
    ),
    "window too large": (
        lambda: lax.dynamic_slice(X, (0, 0), (1, 5)),
        TypeMismatch,
        r"there is no window of sizes \(1, 5\) in it",
    ),
    "update of another dtype": (
        lambda: lax.dynamic_update_slice(X, np.ones((1, 1), np.int32), (0, 0)),
        TypeMismatch,
        r"of the same dtype and number of axes, but got f32\[3,4\], i32\[1,1\]",
    ),
    "update too large": (
        lambda: lax.dynamic_update_slice(X, np.ones((4, 1), np.float32), (0, 0)),
        TypeMismatch,
        r"there is no window of sizes \(4, 1\) in it",
    ),
    "padding for an axis missing": (
        lambda: lax.pad(X, 0, [(1, 1, 0)]),
        TypeMismatch,
        r"needs \(low, high, interior\) for each of its 2 axes",
    ),
    "padding without interior": (
        lambda: lax.pad(X, 0, [(1, 1), (0, 0)]),
        TypeMismatch,
        r"needs three integers \(low, high, interior\) for each axis",
    ),
    "padding that cuts off too much": (
        lambda: lax.pad(X, 0, [(-2, -2, 0), (0, 0, 0)]),
        TypeMismatch,
        r"by \(-2, -2, 0\) along axis 0: .* no more can be cut off",
    ),
    "padding of another dtype": (
        lambda: lax.pad(X, np.int32(0), [(0, 0, 0)] * 2),
        TypeMismatch,
        r"a scalar of the same dtype, but got f32\[3,4\], i32\[\]",
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), WORDS.values(), ids=WORDS.keys())
def test_an_error_says_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(error, match=words):
        call()
