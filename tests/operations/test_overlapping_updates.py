"""Arrays of which a part is overwritten with what is made of the same array."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

X = np.random.default_rng(0).integers(1, 9, 10).astype(np.float32)

#: ways to an array: what it is a part of is in memory, under this shape or another one
ARRAYS = {
    "the argument": lambda x: x,
    "a column": lambda x: x.reshape(-1, 1),
    "a row": lambda x: x.reshape(1, -1).reshape(-1),
    "running sums": cnp.cumsum,
    "a column of running sums": lambda x: cnp.cumsum(x)[:, None],
    "a sum of rows": lambda x: (x * cnp.ones((40, 1))).sum(0)[:, None],
    "a transpose": lambda x: x.reshape(1, -1).T,
}

#: updates of a part of an array by what was there
UPDATES = {
    "moved by one": lambda y, i: y.at[1:].set(2 * y[:-1]),
    "added to the next": lambda y, i: y.at[1:].add(y[:-1]),
    "a window": lambda y, i: lax.dynamic_update_slice_in_dim(y, y[:6] * 2, i, 0),
    "turned around": lambda y, i: lax.dynamic_update_slice_in_dim(
        y, cnp.flip(y, 0)[:6], i, 0
    ),
    "one number": lambda y, i: y.at[1:5].set(y[2] * 2),
    "of another shape": lambda y, i: lax.dynamic_update_slice_in_dim(
        y.reshape(-1), y[:6].reshape(-1) * 2, i, 0
    ),
    "a scatter of one window": lambda y, i: lax.scatter(
        y.reshape(-1),
        cnp.asarray([i]),
        y.reshape(-1)[:6] * 2,
        lax.ScatterDimensionNumbers((0,), (), (0,)),
    ),
    "in a function": lambda y, i: cv.jit(
        lambda y, u: lax.dynamic_update_slice_in_dim(y, u, i, 0)
    )(y, y[:6] * 2),
    "in a branch": lambda y, i: lax.cond(
        i > 0, lambda y: y.at[1:].set(2 * y[:-1]), lambda y: y, y
    ),
    "in a loop": lambda y, i: lax.fori_loop(
        0, 3, lambda _, y: cnp.cumsum(y, 0).at[1:].set(y[:-1]), y
    ),
    "in a step of one": lambda y, i: lax.scan(
        lambda y, u: (lax.dynamic_update_slice_in_dim(y, u, i, 0), None),
        y,
        y[None, :6] * 2,
    )[0],
}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("array", ARRAYS)
def test_what_was_just_written_is_not_read(array, update):
    """XLA:CPU does, where the array has another name: 1, 2, 4, 8 for 1, 2, 2, 2."""

    def updated(x, i):
        return UPDATES[update](ARRAYS[array](x), i)

    for i in (1, 3):
        found = cv.jit(updated)(X, i)
        np.testing.assert_array_equal(found, updated(cnp.asarray(X), cnp.asarray(i)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "bool", "complex64"])
def test_nor_is_it_in_arrays_of_other_dtypes(dtype):
    def moved(x):
        y = cnp.cumsum(x)[:, None].astype(dtype)
        return y.at[1:].set(y[:-1])

    found = cv.jit(moved)(X).astype("complex64")
    np.testing.assert_array_equal(found, moved(cnp.asarray(X)).astype("complex64"))


def test_what_is_made_of_numbers_alone_is_not_read_either():
    def updated(i):
        y = cnp.cumsum(cnp.arange(10.0) * i)[:, None]
        return y.at[1:].set(2 * y[:-1]), y.at[1:4].set(cnp.arange(3.0)[:, None])

    for found, wanted in zip(cv.jit(updated)(2), updated(cnp.asarray(2)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def is_written_before(fun, *args):
    return "@in_memory" in cv.jit(fun).lower(*args).as_text()


def test_what_is_made_of_others_is_a_part_of_the_kernel_that_writes_it():
    table, rows = cnp.zeros((300, 8)), cnp.ones((300, 8))

    def filled(table, rows):
        def step(i, a):
            return a.at[i].set(rows[i] * 2 + 1)

        return lax.fori_loop(0, 300, step, table)

    def summed(table, rows):
        return lax.fori_loop(0, 300, lambda i, a: a.at[i].add(rows[i] * 2), table)

    def once(table, rows):
        return lax.dynamic_update_slice(table, rows[:9] * 2, (3, 0))

    for fun in (filled, summed, once):
        assert not is_written_before(fun, table, rows)
    assert is_written_before(lambda x: x[:, None].at[1:].set(x[:-1, None]), X)


def test_elements_are_computed_in_place_of_what_was_there():
    def twice(x, i):
        def again(a, _):
            row = lax.dynamic_slice_in_dim(a, i, 3, 0)
            return lax.dynamic_update_slice_in_dim(a, row * 2 + 1, i, 0), None

        return lax.scan(again, x, None, length=4)[0]

    assert not is_written_before(twice, X, 1)
    wanted = twice(cnp.asarray(X), cnp.asarray(1))
    np.testing.assert_array_equal(cv.jit(twice)(X, 1), wanted)


@pytest.mark.parametrize("size", [20, 5000])
def test_a_loop_that_writes_what_it_looks_up_in_a_known_table_compiles(size):
    table = cnp.arange(7.0)

    def step(i, fields):
        x, y = fields
        return x.at[1:].set(table[x[1:].astype("int32") % 7] + y[1:]), y + x

    def run(x):
        return lax.fori_loop(0, 3, step, (x, x * 3))

    x = cnp.asarray(np.arange(size) % 7, np.float32)
    wanted = (x, x * 3)
    for i in range(3):
        wanted = step(i, wanted)
    for found, expected in zip(cv.jit(run)(x), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
