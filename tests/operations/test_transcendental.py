"""``operations/transcendental.py``, ``logarithms`` and ``powers``: digits."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp


def units(found: cv.Array, wanted: np.ndarray) -> float:
    """The largest error, in units in the last place."""
    found = np.asarray(found)
    error = found.astype(wanted.dtype) - wanted
    return float(np.max(np.abs(error) / np.spacing(np.abs(wanted).astype(found.dtype))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_hyperbolic_functions_lose_no_digits_far_from_zero(dtype):
    x = np.concatenate([np.logspace(-6, 1.9, 400), -np.logspace(-6, 1.9, 400)])
    x = x.astype(dtype)
    inside = np.concatenate([x[abs(x) < 1], -1 + np.logspace(-6, -1, 100)]).astype(
        dtype
    )
    with cv.enable_x64(True):
        for function, points in [("sinh", x), ("cosh", x), ("arctanh", inside)]:
            wanted = getattr(np, function)(points.astype(np.longdouble))
            assert units(cv.jit(getattr(cnp, function))(points), wanted) < 6


def test_hyperbolic_functions_are_finite_as_far_as_their_results():
    x = np.float32([89.4, -89.4, 90.0, np.inf, np.nan])
    for function in (cnp.sinh, cnp.cosh):
        with np.errstate(over="ignore"):
            wanted = getattr(np, function.__name__)(x)
        np.testing.assert_allclose(cv.jit(function)(x), wanted, rtol=1e-5)


def test_the_logarithm_of_one_plus_a_complex_number_keeps_its_digits():
    y = np.logspace(-3, -0.3, 200)
    z = (-(y**2) / 2 * (1 + 1e-4) + 1j * y).astype(np.complex64)  # |1 + z| is nearly 1
    x, y = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
    for log1p in cnp.log1p, cv.jit(cnp.log1p):
        found = np.asarray(log1p(z))
        assert units(found.real, np.log1p(2 * x + x * x + y * y) / 2) < 8
        assert units(found.imag, np.arctan2(y, 1 + x)) < 4


def test_a_known_half_is_an_exponent_of_complex_numbers_in_compiled_programs():
    z = np.array([1 + 2j, -3 + 0j], np.complex64)
    for exponent in (0.5, 1.5, -0.5):
        found = cv.jit(lambda z, exponent=exponent: z**exponent)(z)
        np.testing.assert_allclose(found, z**exponent, rtol=1e-5, atol=1e-6)
