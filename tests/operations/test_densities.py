"""Stirling's error in log densities of gamma, beta, binomial and Poisson numbers."""

import numpy as np
import pytest

import covector as cv
from covector.operations.densities import stirling_error

#: a, log Γ(a) − ((a − ½) log a − a + ½ log 2π), and its derivative, by mpmath
KNOWN = [
    (0.0625, 0.670185522761626385, -5.70626476782032313),
    (0.25, 0.272510401213432061, -0.841159172256374789),
    (1.0, 0.0810614667953272582, -0.0772156649015328606),
    (1.5, 0.0548141210519176539, -0.0356418007962545281),
    (3.5, 0.023746163656297496, -0.00674918499298195132),
    (7.96875, 0.0104520513279078864, -0.00131026441690921335),
    (8.0, 0.0104112652619720965, -0.00130006372422593172),
    (50.0, 0.00166664444698336551, -0.0000333320002538616648),
]


@pytest.mark.parametrize(("a", "value", "slope"), KNOWN)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stirlings_error_has_its_digits(dtype, a, value, slope):
    """As a difference of logarithms, at 7.97 it had lost three of float32's seven."""
    with cv.enable_x64(True):
        x = cv.numpy.asarray(a, dtype)
        wide = 1 if a >= 1 else 10
        tolerance = {"float32": 4e-7, "float64": 3e-13}[dtype] * wide
        found, found_slope = cv.jit(cv.value_and_grad(stirling_error))(x)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, value, rtol=tolerance)
        np.testing.assert_allclose(found_slope, slope, rtol=5 * tolerance)


def test_the_ends():
    found = stirling_error(cv.numpy.array([0.0, np.inf, np.nan]))
    np.testing.assert_array_equal(found, [np.inf, 0, np.nan])
