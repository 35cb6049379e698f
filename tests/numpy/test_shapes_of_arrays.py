"""Shapes, orders, joining, splitting, repeating, padding: the values of NumPy."""

import math

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from tests.numpy.agreement import agrees, agrees_batched, agrees_compiled, lines

VALUES = {
    "x": np.arange(24.0, dtype=np.float32).reshape(2, 3, 4),
    "m": np.arange(12, dtype=np.int32).reshape(3, 4),
    "v": np.array([3.0, 1.0, 2.0, 5.0], np.float32),
    "s": np.float32(2.5) * np.ones((), np.float32),
    "e": np.zeros((0, 3), np.float32),
    "b": np.array([[True, False], [False, True]]),
    "c": np.array([1 + 2j, 3 - 1j], np.complex64),
}

SHAPES = """
xp.reshape(x, (4, -1))
xp.reshape(x, -1)
xp.reshape(x, (6, 4), order="F")
xp.reshape(x, (-1, 3, 2), order="F")
xp.reshape(e, (3, 0))
xp.reshape(s, (1, 1))
xp.ravel(m)
xp.ravel(x, order="F")
xp.squeeze(m[None, :, None])
xp.squeeze(m[None, :, None], axis=(0, -2))
xp.squeeze(s)
xp.expand_dims(m, (0, -1))
xp.expand_dims(s, 0)
xp.atleast_1d(s, v)
xp.atleast_2d(s, v, x)
xp.atleast_3d(s, v, m, x)
xp.broadcast_to(v, (2, 3, 4))
xp.broadcast_to(s, (2, 2))
xp.broadcast_to(m[:, :1], (2, 3, 4))
xp.broadcast_to(e[:0], (0, 3))
xp.broadcast_arrays(v, m, s)
xp.resize(v, (2, 3))
xp.resize(v, (2,))
xp.resize(e, (2, 2))
xp.transpose(x)
xp.transpose(x, (1, 0, 2))
xp.transpose(x, (-1, 0, 1))
xp.permute_dims(m, (1, 0))
xp.matrix_transpose(x)
xp.swapaxes(x, 0, -1)
xp.moveaxis(x, 0, -1)
xp.moveaxis(x, [0, 1], [-1, -2])
xp.rollaxis(x, 2)
xp.rollaxis(x, 0, 3)
xp.rollaxis(x, 1, -1)
xp.flip(x)
xp.flip(x, (0, -1))
xp.flip(s)
xp.flipud(m)
xp.fliplr(m)
xp.rot90(m)
xp.rot90(m, 2)
xp.rot90(m, -1)
xp.rot90(x, 1, (1, 2))
xp.roll(v, 1)
xp.roll(v, -5)
xp.roll(m, 2)
xp.roll(m, (1, -1), (0, 1))
xp.roll(m, (1, 2), 1)
xp.roll(m, 1, (0, 1))
xp.roll(e, 1)
xp.roll(s, 1)
xp.concatenate([m, m[:1]])
xp.concatenate([m, v[None]], axis=-2)
xp.concatenate([m, v], axis=None)
xp.concatenate([b, m[:2, :2]], axis=1)
xp.concatenate([e, m[:, :3]])
xp.concatenate([c, v])
xp.concatenate(x, axis=1)
xp.concatenate(m)
xp.concat([v, v])
xp.stack([v, v], axis=1)
xp.stack([s, s])
xp.stack(m, axis=-1)
xp.stack([b[0], c])
xp.vstack([v, m])
xp.vstack([s, s])
xp.vstack(x)
xp.hstack([v, v])
xp.hstack([m, m[:, :1]])
xp.hstack([s, s])
xp.dstack([v, v])
xp.dstack([m, m])
xp.column_stack([v, m.T])
xp.append(v, s)
xp.append(m, m[:1], axis=0)
xp.block([[m, m[:, :1]], [v, s]])
xp.block([v, v])
xp.block(v)
xp.split(v, 2)
xp.split(m, [1, 3], axis=1)
xp.split(x, 3, 1)
xp.array_split(v, 3)
xp.array_split(v, 6)
xp.hsplit(m, 2)
xp.hsplit(v, [1])
xp.vsplit(m, 3)
xp.dsplit(x, [1])
xp.unstack(m, axis=1)
xp.tile(v, 2)
xp.tile(m, (2, 1, 2))
xp.tile(s, 3)
xp.tile(m, ())
xp.tile(e, (2, 2))
xp.tile(m, 0)
xp.repeat(v, 2)
xp.repeat(m, 2)
xp.repeat(m, 3, axis=1)
xp.repeat(m, np.array([2, 0, 1]), axis=0)
xp.repeat(v, np.array([2]))
xp.repeat(s, 3)
xp.repeat(v, 0)
xp.repeat(v[:0], [])
xp.insert(v, 1, 9)
xp.insert(v, -1, 9)
xp.insert(v, np.array([2, 0]), np.array([7, 8], np.float32))
xp.insert(v, np.array([1, 1]), 5)
xp.insert(v, slice(0, 4, 2), 5)
xp.insert(m, 1, np.array([7, 8, 9]), axis=1)
xp.insert(m, 1, np.array([[7], [8]]), axis=0)
xp.insert(m, np.array([0, 3]), 5, axis=1)
xp.insert(m, 4, 5)
xp.delete(v, 1)
xp.delete(v, -1)
xp.delete(v, np.array([0, 0, 2]))
xp.delete(v, slice(None, None, 2))
xp.delete(m, np.array([True, False, True]), axis=0)
xp.delete(m, 3)
"""

PADS = """
xp.pad(v, 2)
xp.pad(v, (1, 2))
xp.pad(m, ((1, 0), (0, 2)))
xp.pad(m, 1, constant_values=7)
xp.pad(m, 1, constant_values=((1, 2), (3, 4)))
xp.pad(v, 1, constant_values=(5, 6))
xp.pad(m, {-1: (1, 2)})
xp.pad(v, 0)
xp.pad(m, 2, mode="edge")
xp.pad(m, ((1, 2), (3, 0)), mode="wrap")
xp.pad(v, (9, 10), mode="wrap")
xp.pad(v, (2, 3), mode="reflect")
xp.pad(v, (9, 10), mode="reflect")
xp.pad(v, (2, 3), mode="symmetric")
xp.pad(v, (9, 10), mode="symmetric")
xp.pad(v[:1], 2, mode="reflect")
xp.pad(v, (2, 3), mode="reflect", reflect_type="odd")
xp.pad(v, (2, 3), mode="symmetric", reflect_type="odd")
xp.pad(m, 2, mode="reflect", reflect_type="odd")
xp.pad(v, 2, mode="linear_ramp")
xp.pad(m, 2, mode="linear_ramp", end_values=((1, 2), (30, 40)))
xp.pad(m, (2, 1), mode="maximum")
xp.pad(m, (2, 1), mode="minimum", stat_length=2)
xp.pad(v, (2, 1), mode="mean")
xp.pad(m, (2, 1), mode="mean", stat_length=((1, 2), (2, 3)))
xp.pad(v, (2, 1), mode="median", stat_length=3)
xp.pad(e, ((1, 1), (0, 0)))
"""


@pytest.mark.parametrize("expression", lines(SHAPES + PADS))
def test_value_is_numpys(expression):
    # NumPy joins integers and float32 to float64, which is float32 here.
    agrees(expression, VALUES, np)


@pytest.mark.parametrize("expression", lines(SHAPES + PADS)[::2])
def test_compiled_is_eager(expression):
    agrees_compiled(expression, VALUES)


@pytest.mark.parametrize("expression", lines(SHAPES + PADS)[1::2])
def test_batch_is_each(expression):
    agrees_batched(expression, VALUES)


def test_empty_padding_is_anything_around_the_array():
    out = cnp.pad(cnp.arange(3), 1, mode="empty")
    assert out.shape == (5,)
    assert out[1:4].tolist() == [0, 1, 2]


def test_padding_function_gets_rows_and_their_widths():
    def fill(row, width, axis, options):
        before, after = width
        return row.at[:before].set(options["value"]).at[len(row) - after :].set(axis)

    out = cnp.pad(cnp.ones((1, 2)), ((1, 0), (0, 1)), fill, value=7.0)
    np.testing.assert_array_equal(out, [[7, 7, 1], [1, 1, 1]])


def test_traced_shift_rolls():
    roll = cv.jit(cnp.roll)
    for k in (-7, -1, 0, 2, 9):
        np.testing.assert_array_equal(roll(cnp.arange(5), k), np.roll(np.arange(5), k))
    both = cv.jit(lambda x, k: cnp.roll(x, k, (0, 1)))
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(both(x, np.array([1, 2])), np.roll(x, (1, 2), (0, 1)))


@pytest.mark.parametrize("total", [2, 3, 6])
def test_traced_repeats_fill_the_given_length(total):
    counts = np.array([1, 2, 0])
    out = cv.jit(
        lambda n: cnp.repeat(cnp.array([5, 6, 7]), n, total_repeat_length=total)
    )
    # What is more is cut off; what is missing repeats the last index.
    wanted = [5, 6, 6, 7, 7, 7][:total]
    assert out(counts).tolist() == wanted
    known = cnp.repeat(cnp.array([5, 6, 7]), counts, total_repeat_length=total)
    assert known.tolist() == wanted


def test_traced_indices_are_inserted_before_and_deleted():
    x = np.arange(5)
    indices = np.array([3, 0])
    insert = cv.jit(lambda i: cnp.insert(x, i, np.array([8, 9])))
    np.testing.assert_array_equal(insert(indices), np.insert(x, indices, [8, 9]))
    one = cv.jit(lambda i: cnp.delete(x, i))
    np.testing.assert_array_equal(one(-2), np.delete(x, -2))
    some = cv.jit(lambda i: cnp.delete(x, i, assume_unique_indices=True))
    np.testing.assert_array_equal(some(indices), np.delete(x, indices))


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
def test_zeros_are_trimmed(trim):
    x = np.array([0, 0, 1, 0, 2, 0])
    np.testing.assert_array_equal(cnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    assert cnp.trim_zeros(np.zeros(3), trim).shape == (0,)
    m = np.array([[0, 0, 0], [0, 3, 0]])
    assert cnp.trim_zeros(m).tolist() == [[3]]
    assert cnp.trim_zeros(m, axis=1).tolist() == [[0], [3]]


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "bfloat16", "float8_e4m3fn", "complex64"]
)
def test_elements_of_every_type_are_moved(dtype):
    x = cnp.asarray(np.array([[1, 0], [1, 1]]), dtype)
    moved = cnp.roll(cnp.concatenate([x.T, cnp.flip(x, 0)]), 1, 0)
    assert moved.dtype == x.dtype
    np.testing.assert_array_equal(
        moved.astype(cnp.complex64), np.array([[1, 0], [1, 1], [0, 1], [1, 1]])
    )


def test_derivatives_follow_the_elements():
    x = cnp.arange(6.0).reshape(2, 3)
    w = np.arange(1.0, 100.0, dtype=np.float32)

    def weighted(f):
        return lambda x: (f(x).ravel() * w[: f(x).size]).sum()

    table = {
        "pad": lambda x: cnp.pad(x, 1, mode="reflect"),
        "edge": lambda x: cnp.pad(x, 2, mode="edge"),
        "tile": lambda x: cnp.tile(x, (2, 2)),
        "roll": lambda x: cnp.roll(x, 1, 1),
        "repeat": lambda x: cnp.repeat(x, np.array([1, 3]), axis=0),
        "insert": lambda x: cnp.insert(x, 1, 0.0, axis=1),
        "block": lambda x: cnp.block([[x, x], [x, x]]),
        "rot90": cnp.rot90,
    }
    for name, f in table.items():
        found = cv.grad(weighted(f))(x)
        for index in ((0, 0), (1, 2)):
            step = np.zeros((2, 3), np.float32)
            step[index] = 1
            # Linear, so a difference is the derivative.
            slope = weighted(f)(x + step) - weighted(f)(x)
            assert float(found[index]) == pytest.approx(float(slope), rel=1e-4), name


@pytest.mark.parametrize("name", ["concatenate", "stack", "vstack", "hstack", "dstack"])
def test_an_array_of_numpy_is_the_list_of_its_parts(name):
    x = np.arange(6.0, dtype="float32").reshape(2, 3)
    got = getattr(cnp, name)(x, dtype="int32")
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, getattr(np, name)(list(x)))


def test_new_axes_may_be_a_range():
    assert cnp.expand_dims(cnp.ones(2), range(2)).shape == (1, 1, 2)


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2), (4, 3, 2, 5)])
def test_an_array_of_parts_is_not_taken_apart(name, shape):
    """The rows of a matrix were slices, joined again: thirty times as slow."""
    stack = getattr(cnp, name)
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    wanted = getattr(np, name)(list(x))
    found = cv.jit(stack)(x)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)
    assert not {"slice", "concatenate", "unstack"} & {
        e.op.name for e in cv.make_jaxpr(stack)(x).jaxpr.equations
    }
