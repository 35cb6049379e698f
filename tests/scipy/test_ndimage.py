"""``covector.scipy.ndimage``: coordinates between and beyond elements.

Samples are compared with JAX in ``tests/public``.
"""

import re

import numpy as np
import pytest
import scipy.ndimage

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy.ndimage import map_coordinates

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_values_are_those_of_scipy_with_what_lies_beyond_on_the_grid(mode, order):
    x = RNG.standard_normal((4, 5))
    at = RNG.uniform(-3, 9, (2, 50))
    grid = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(mode, mode)
    wanted = scipy.ndimage.map_coordinates(x, at, order=order, mode=grid, cval=2.0)
    with cv.options.override(enable_x64=True):
        found = cv.jit(map_coordinates, static_argnums=(2, 3))(
            x, [*at], order, mode, 2.0
        )
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


def test_an_image_is_differentiated_in_coordinates_and_elements():
    x = cnp.array([0.0, 1.0, 4.0, 9.0])
    at = cnp.array([0.25, 1.5, 2.75])
    slopes, weights = cv.grad(lambda at, x: map_coordinates(x, [at], 1).sum(), (0, 1))(
        at, x
    )
    np.testing.assert_allclose(slopes, [1, 3, 5])
    np.testing.assert_allclose(weights, [0.75, 0.75, 0.75, 0.75])


def test_integers_stay_integers_and_are_rounded():
    x = cnp.array([0, 1, -3])
    found = map_coordinates(x, [cnp.array([0.5, 1.5, 0.25])], 1)
    assert found.dtype == "int32"
    assert found.tolist() == [1, -1, 0]


def test_an_axis_of_one_element_is_its_own_mirror_image():
    for mode in ("mirror", "reflect", "wrap"):
        found = map_coordinates(
            cnp.array([7.0]), [cnp.array([-2.5, 0.0, 3.0])], 1, mode
        )
        assert found.tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (([0.0], 1), "coordinates for each axis, but got 1 for f32[2,2]"),
        (([0.0, 0.0], 3), "order must be 0 or 1, but got 3"),
        (([0.0, 0.0], 1, "no"), "one of constant, nearest, wrap, mirror, reflect"),
    ],
)
def test_errors_say_what_was_wanted_and_what_came(args, words):
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        map_coordinates(cnp.ones((2, 2)), *args)
