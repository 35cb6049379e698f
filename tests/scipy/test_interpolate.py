"""``covector.scipy.interpolate``: values between the points of a grid."""

import re

import numpy as np
import pytest
import scipy.interpolate

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy.interpolate import RegularGridInterpolator

RNG = np.random.default_rng(0)
GRID = (np.array([0.0, 1.0, 2.5, 4.0]), np.array([-1.0, 0.0, 3.0]))
XI = RNG.uniform(-1, 4.5, (40, 2))
ONES = np.ones((4, 3))


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [None, np.nan, 5.0])
def test_values_are_those_of_scipy(method, fill):
    values = RNG.standard_normal((4, 3, 2))
    with cv.options.override(enable_x64=True):
        for grid in (GRID, (GRID[0][::-1].copy(), GRID[1])):
            make = (grid, values, method, False, fill)
            wanted = scipy.interpolate.RegularGridInterpolator(*make)(XI)
            ours = RegularGridInterpolator(*make)
            np.testing.assert_allclose(cv.jit(ours)(XI), wanted, 1e-12, 1e-12)
            apart = ours((XI[:, 0], XI[:, 1]))
            np.testing.assert_allclose(apart, wanted, 1e-12, 1e-12)


def test_coordinates_that_are_nan_have_no_value():
    found = RegularGridInterpolator(GRID, ONES, fill_value=7.0)
    x = cnp.array([[1.0, cnp.nan], [9.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(found(x), [np.nan, 7.0, 1.0])


def test_it_is_differentiated_in_values_and_coordinates():
    grid = cnp.array([0.0, 1.0, 3.0])

    def at(values, x):
        return RegularGridInterpolator((grid,), values)(x).sum()

    values, x = cnp.array([0.0, 2.0, 8.0]), cnp.array([[0.5], [2.0]])
    dvalues, dx = cv.grad(at, (0, 1))(values, x)
    np.testing.assert_allclose(dx, [[2.0], [3.0]])
    np.testing.assert_allclose(dvalues, [0.5, 1.0, 0.5])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RegularGridInterpolator(GRID, np.ones((4, 2))), "the values f32[4,2]"),
        (lambda: RegularGridInterpolator(([0.0, 0, 1],), np.ones(3)), "axis 0 are not"),
        (lambda: RegularGridInterpolator(([0.0],), np.ones(1)), "two points at least"),
        (lambda: RegularGridInterpolator(GRID, ONES, "cubic"), "or 'nearest'"),
        (lambda: RegularGridInterpolator(GRID, ONES)(XI[:, :1]),
         "2 coordinates along the last axis, but got f32[40,1]"),
        (lambda: RegularGridInterpolator(GRID, ONES, bounds_error=True)(XI),
         "out of the grid, and was told to refuse"),
    ],
)  # fmt: skip
def test_errors_say_what_was_wanted_and_what_came(call, words):
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        call()
