"""Powers: exponents that are halves, at special values and to the last places."""

import numpy as np
import pytest

import covector as cv


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_halves_are_right_at_special_values_and_to_two_units(dtype):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, -2.5, 2.25]
    exponents = np.linspace(-80, 80, 5000) if dtype == "float32" else [-300.0, 2.0, 300]
    x = np.concatenate([special, np.exp(exponents)]).astype(dtype)
    halves = (-1.5, -0.5, 0.5, 1.5, 2.5)
    with cv.enable_x64(dtype == "float64"):
        made = cv.jit(lambda x: [x**y for y in halves])(x)
    for y, power in zip(halves, made, strict=True):
        with np.errstate(all="ignore"):
            exact = np.power(x.astype(np.longdouble), y)
            exact = np.where(np.abs(exact) < np.finfo(dtype).tiny, 0, exact)
            wanted = exact.astype(dtype)
            wanted[:9] = np.power(x[:9], np.full(9, y, dtype))
        np.testing.assert_array_equal(np.signbit(power[:4]), np.signbit(wanted[:4]))
        np.testing.assert_array_max_ulp(np.asarray(power), wanted, 2)
        np.testing.assert_array_equal(power[:8], wanted[:8])
