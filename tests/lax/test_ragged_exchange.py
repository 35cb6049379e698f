"""Blocks of different lengths, sent between participants."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

#: three participants; row i: what i sends to each
SIZES = np.array([[1, 2, 0], [2, 0, 1], [0, 1, 1]])
START = np.cumsum(SIZES, 1) - SIZES
THERE = np.cumsum(SIZES, 0) - SIZES


def exchange(rows, out, start=START, sizes=SIZES):
    def send(*args):
        return lax.ragged_all_to_all(*args, axis_name="i")

    lanes = cv.vmap(send, axis_name="i")
    return lanes(rows, out, start, sizes, cnp.array(THERE), cnp.array(SIZES.T))


def expected(rows, out):
    out = np.array(out)
    for i in range(3):
        for j in range(3):
            n, a, b = SIZES[i, j], START[i, j], THERE[i, j]
            out[j, b : b + n] = rows[i, a : a + n]
    return out


def test_rows_arrive_where_the_sender_says():
    rows = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2)
    out = -np.ones((3, 5, 2), np.float32)
    np.testing.assert_array_equal(exchange(rows, out), expected(rows, out))


def test_rows_that_are_sent_pass_the_derivative_back():
    rows, out = cnp.ones((3, 4, 2)), cnp.zeros((3, 5, 2))
    weights = cnp.arange(30.0).reshape(3, 5, 2)

    def total(rows, out):
        return (weights * exchange(rows, out)).sum()

    of_rows, of_out = cv.grad(total, (0, 1))(rows, out)
    moved = exchange(cnp.arange(24.0).reshape(3, 4, 2) + 1, out)
    for k, row in np.ndindex(3, 5):
        if moved[k, row, 0]:
            position = int(moved[k, row, 0] - 1)
            assert of_rows.reshape(-1)[position] == weights[k, row, 0]
            assert of_out[k, row, 0] == 0
        else:
            assert of_out[k, row, 0] == weights[k, row, 0]


def test_tables_that_do_not_fit_are_refused():
    rows, out = cnp.ones((3, 4)), cnp.zeros((3, 5))
    with pytest.raises(errors.DTypeError, match=r"integer offsets .* got f32\[3\]"):
        exchange(rows, out, cnp.ones((3, 3)))
    with pytest.raises(
        errors.TypeMismatch, match=r"each of 3 participants, .* i32\[2\]"
    ):
        exchange(rows, out, START[:, :2])
    with pytest.raises(errors.TypeMismatch, match="rows of one type in the operand"):
        exchange(rows, cnp.zeros((3, 5), int))
