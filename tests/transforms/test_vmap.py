"""``vmap``: where the batch axis is found, and where it goes."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

A = np.arange(6, dtype=np.float32).reshape(2, 3)
TWO = np.array([10.0, 20.0], np.float32)


def loop(f, axis, *args):
    """What ``vmap`` means: one call after the other."""
    return np.stack([f(*[np.take(a, i, axis) for a in args]) for i in range(2)])


def test_an_axis_counted_from_the_end():
    assert cv.vmap(cnp.sum, in_axes=-1)(A).tolist() == A.sum(0).tolist()
    assert cv.vmap(cnp.sum, in_axes=-2)(A).tolist() == A.sum(1).tolist()


AXES = {
    "a tuple": ((0, None), (TWO, 2.0)),
    "a list": ([0, None], (TWO, 2.0)),
    "by name": ({"y": None}, (TWO, 2.0)),
    "by name, all": ({"x": 0, "y": None}, (TWO, 2.0)),
    "a shared array": ((0, None), (TWO, np.float32(2))),
}


@pytest.mark.parametrize(("in_axes", "args"), AXES.values(), ids=AXES)
def test_forms_of_in_axes(in_axes, args):
    def scaled(x, y):
        return x * y

    assert cv.vmap(scaled, in_axes=in_axes)(*args).tolist() == [20.0, 40.0]


def test_axes_inside_an_argument():
    def affine(x, p):
        return x * p["w"] + p["b"][0]

    mapped = cv.vmap(affine, in_axes=(0, {"w": None, "b": 0}))
    assert mapped(TWO, {"w": 2.0, "b": [np.ones(2, np.float32)]}).tolist() == [21, 41]
    mapped = cv.vmap(affine, in_axes=(0, {"w": None, "b": [1]}))
    assert mapped(TWO, {"w": 2.0, "b": [A[:, :2]]}).shape == (2, 2)


def test_one_axis_for_a_whole_argument():
    mapped = cv.vmap(lambda p: p["a"] + p["b"][0], in_axes=({"a": 0, "b": 1},))
    assert mapped({"a": TWO, "b": [A[:1, :2]]}).tolist() == [[10.0], [21.0]]


def test_keywords_are_mapped_over_axis_0_or_by_name():
    def added(x, y=1.0):
        return x + y

    assert cv.vmap(added)(TWO, y=TWO).tolist() == [20.0, 40.0]
    assert cv.vmap(added, in_axes={"y": None})(TWO, y=5.0).tolist() == [15.0, 25.0]
    assert cv.vmap(added)(TWO).tolist() == [11.0, 21.0]


def test_none_is_an_argument_without_leaves():
    assert cv.vmap(lambda x, n: x if n is None else 0, in_axes=(0, 0))(
        TWO, None
    ).tolist() == [10.0, 20.0]
    assert cv.vmap(lambda x: None)(TWO) is None


OUT = {
    "an int": (1, (1, 1)),
    "a tuple": ((1, 0), (1, 0)),
    "from the end": ((-1, -2), (1, 0)),
}


@pytest.mark.parametrize(("out_axes", "where"), OUT.values(), ids=OUT)
def test_forms_of_out_axes(out_axes, where):
    outs = cv.vmap(lambda x: (x, 2 * x), out_axes=out_axes)(A)
    for out, axis, k in zip(outs, where, (1, 2), strict=True):
        np.testing.assert_array_equal(out, np.moveaxis(k * A, 0, axis))


def test_results_that_are_the_same_for_the_whole_batch():
    out = cv.vmap(lambda x: {"x": x, "c": 3.0}, out_axes={"x": -1, "c": None})(A)
    assert (out["x"].shape, out["c"].shape) == ((3, 2), ())
    assert cv.vmap(lambda x: 3.0)(TWO).tolist() == [3.0, 3.0]
    total = cv.vmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(TWO)
    assert float(total) == 30.0


def test_axis_size_where_nothing_is_mapped():
    assert cv.vmap(lambda: 1.0, axis_size=3)().tolist() == [1.0] * 3
    indices = cv.vmap(
        lambda x: lax.axis_index("i") + x, in_axes=None, axis_size=3, axis_name="i"
    )
    assert indices(10).tolist() == [10, 11, 12]


def test_axis_size_must_be_that_of_the_arguments():
    with pytest.raises(errors.AxisError, match=r"(?s)of size 2, where axis_size is 3"):
        cv.vmap(lambda x: x, axis_size=3)(A)


def test_spmd_axis_name_is_accepted():
    assert cv.vmap(lambda x: x, spmd_axis_name="data")(TWO).tolist() == TWO.tolist()


def test_what_is_shared_by_the_batch_may_be_any_object():
    def apply(f, how, n, x):
        assert (how, type(n)) == ("twice", int)
        return f(f(x)) * n

    over = cv.vmap(apply, in_axes=(None, None, None, 0))
    out = over(cnp.sin, "twice", 2, cnp.arange(3.0))
    np.testing.assert_allclose(out, 2 * np.sin(np.sin(np.arange(3.0))), rtol=1e-6)
    table = cv.vmap(lambda t, i: t[i], in_axes=(None, 0))(np.arange(4), np.arange(2))
    assert table.tolist() == [0, 1]
    with pytest.raises(TypeError, match=r"vmap of .* needs an array or a number"):
        cv.vmap(lambda f, x: f(x))(cnp.sin, cnp.arange(3.0))


def test_nested_batches_are_outer_products():
    outer = cv.vmap(cv.vmap(lambda x, y: x * y, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_array_equal(outer(TWO, A[0]), np.outer(TWO, A[0]))


def test_empty_batches_and_batches_of_empty_arrays():
    assert cv.vmap(lambda x: x * 2)(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert cv.vmap(cnp.sum)(np.zeros((3, 0), np.float32)).tolist() == [0.0] * 3


def test_batched_indices_of_a_shared_array():
    assert (
        cv.vmap(lambda i: cnp.asarray(A)[i])(np.array([1, 0])).tolist()
        == A[::-1].tolist()
    )


def test_in_axes_that_are_neither_ints_nor_trees_of_them():
    with pytest.raises(errors.TypeMismatch, match="in_axes must be an int, None"):
        cv.vmap(lambda x: x, in_axes="x")
    with pytest.raises(errors.TypeMismatch, match="in_axes holds ints and None"):
        cv.vmap(lambda x: x, in_axes=("x",))(A)


def test_vmap_of_a_function_is_a_loop_over_its_calls():
    def f(x):
        return cnp.cumsum(x) * cnp.max(x)

    np.testing.assert_allclose(cv.vmap(f)(A), loop(f, 0, A))
    np.testing.assert_allclose(cv.jit(cv.vmap(f))(A), loop(f, 0, A))
