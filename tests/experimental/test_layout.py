"""Formats of arrays and programs, and values in another layout inside of programs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError
from covector.experimental.layout import Format, Layout, with_layout_constraint

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ROWS = Layout((0, 1))


def test_arrays_and_programs_tell_their_formats():
    x = cnp.asarray(X)
    assert x.format == Format(ROWS, x.sharding)
    assert cv.device_put(X, x.format).format == x.format
    compiled = cv.jit(lambda p: {"sum": p["x"].sum(0)}).lower({"x": x}).compile()
    assert compiled.input_formats == (({"x": x.format},), {})
    assert compiled.output_formats == {"sum": Format(Layout((0,)), x.sharding)}
    struct = cv.ShapeDtypeStruct((2, 3), "float32", sharding=x.sharding)
    assert struct.format == Format(None, x.sharding)


def test_a_value_in_another_layout_stays_what_it_is():
    columns = Layout((1, 0))

    def f(x):
        return with_layout_constraint({"a": x * 2}, columns)["a"] + 1

    np.testing.assert_array_equal(f(X), 2 * X + 1)
    lowered = cv.jit(f).lower(X)
    assert "@LayoutConstraint" in lowered.as_text()
    assert "dense<[0, 1]>" in lowered.as_text()
    np.testing.assert_array_equal(cv.jit(f)(X), 2 * X + 1)
    total = cv.jit(cv.grad(lambda x: cv.vmap(f, in_axes=2)(x).sum()))
    np.testing.assert_array_equal(total(cnp.ones((2, 3, 4))), np.full((2, 3, 4), 2))


def test_layouts_that_do_not_fit():
    with pytest.raises(ArgumentError, match=r"axes 0 to 1 in some order.*\(0, 2\)"):
        Layout((0, 2))
    with pytest.raises(ArgumentError, match=r"2 axes for f32.2,3., but got Layout"):
        with_layout_constraint(X, Layout((0,)))
    with pytest.raises(ArgumentError, match="needs a sharding, but got None"):
        Format(ROWS)
    columns = Format(Layout((1, 0)), cnp.ones(1).sharding)
    with pytest.raises(ArgumentError, match="arrays are row-major"):
        cv.device_put(X, columns)
