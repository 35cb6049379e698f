"""``covector.image``: names, dtypes, derivatives, edge cases and errors.

Samples of the functions are compared with JAX in ``tests/public``.
"""

import inspect
import re

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, image

METHODS = ["linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"]
X = cnp.array(np.random.default_rng(0).uniform(size=(4, 6)).astype("float32"))


def test_the_namespace_and_its_methods_are_those_of_jax():
    public = {n for n in dir(jax.image) if not n.startswith("_")}
    assert public == {*image.__all__}
    ours = {m.name: m.value for m in image.ResizeMethod}
    assert ours == {m.name: m.value for m in jax.image.ResizeMethod}
    for name in ("resize", "scale_and_translate"):
        wanted = inspect.signature(getattr(jax.image, name)).parameters
        assert [*inspect.signature(getattr(image, name)).parameters] == [*wanted]


def test_a_method_has_several_names():
    for name in ("linear", "bilinear", "trilinear", "triangle"):
        assert image.ResizeMethod.from_string(name) is image.ResizeMethod.LINEAR


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_image_stays_constant(method):
    for shape in ((9, 3), (2, 13), (4, 6)):
        for antialias in (True, False):
            found = image.resize(cnp.full((4, 6), 3.0), shape, method, antialias)
            np.testing.assert_allclose(found, np.full(shape, 3.0), 1e-6)


def test_a_shift_by_whole_elements_moves_them():
    shift = cnp.array([1.0, -2.0])
    for method in ("linear", "cubic", "area"):
        found = image.scale_and_translate(X, (4, 6), (0, 1), cnp.ones(2), shift, method)
        np.testing.assert_allclose(found[1:, :4], X[:3, 2:], 1e-5, 1e-6)
        assert not found[0].any() and not found[:, 4:].any()


def test_ends_are_aligned_as_the_documentation_says():
    n, m = 11, 6
    scale = cnp.array([(n - 1) / (m - 1)])
    row = cnp.arange(6.0)
    found = image.scale_and_translate(
        row, (n,), (0,), scale, 0.5 * (1 - scale), "linear"
    )
    np.testing.assert_allclose(found, np.linspace(0, 5, n), 1e-5, 1e-6)


def test_traced_scales_give_what_known_ones_give():
    scale, shift = cnp.array([1.7, 0.4]), cnp.array([-1.3, 0.6])
    kinds = {"linear": True, "lanczos3": True, "cubic-pytorch": False, "area": False}
    for how in kinds.items():

        def at(scale, shift, how=how):
            return image.scale_and_translate(X, (7, 5), (0, 1), scale, shift, *how)

        np.testing.assert_allclose(
            cv.jit(at)(scale, shift), at(scale, shift), 1e-4, 1e-5
        )


def test_places_are_differentiated_in_scale_and_translation():
    row = cnp.arange(20.0)

    def middle(scale, shift):
        moved = image.scale_and_translate(row, (20,), (0,), scale, shift, "linear")
        return moved[10]

    # Element 10, at 10.5, shows what was at (10.5 − shift) / scale.
    scale, shift = cnp.array([1.25]), cnp.array([0.3])
    dscale, dshift = cv.grad(middle, (0, 1))(scale, shift)
    np.testing.assert_allclose(dshift, [-1 / 1.25], 1e-5)
    np.testing.assert_allclose(dscale, [-(10.5 - 0.3) / 1.25**2], 1e-5)


def test_dtypes_are_kept_where_they_can_hold_means():
    assert image.resize(cnp.arange(4), (2,), "nearest").dtype == "int32"
    assert image.resize(cnp.arange(4), (2,), "linear").dtype == "float32"
    for dtype in ("float16", "bfloat16", "complex64"):
        assert image.resize(X.astype(dtype), (2, 2), "cubic").dtype == dtype


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_nearest_elements_are_those_of_the_places(n):
    x = np.arange(2 * n, dtype=np.float32).reshape(2, n) ** 2
    for count in (1, 2, 3, 4, 6, 7, 12, 14, 15):
        places = (2 * np.arange(count) + 1) * n // (2 * count)
        found = image.resize(x, (2, count), "nearest")
        np.testing.assert_array_equal(found, x[:, places])
        back = cv.grad(
            lambda x, count=count: (image.resize(x, (2, count), "nearest") ** 2).sum()
        )(x)
        wanted = np.zeros_like(x)
        np.add.at(wanted, (slice(None), places), 2 * x[:, places])
        np.testing.assert_array_equal(back, wanted)


def test_the_gradient_of_an_image_made_larger_by_an_integer_is_no_scatter():
    def loss(x):
        return (image.resize(x, (8, 12), "nearest") ** 2).sum()

    text = cv.jit(cv.grad(loss)).lower(np.ones((4, 4), np.float32)).as_text()
    assert "scatter" not in text


def test_images_without_elements_have_no_methods_to_disagree():
    for method in ("nearest", "linear", "area"):
        assert image.resize(X, (0, 3), method).shape == (0, 3)
        assert image.resize(cnp.ones((0, 2)), (0, 4), method).shape == (0, 4)


ONE, TWO = cnp.ones(1), cnp.ones(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: image.resize(X, (3,), "linear"), "but got f32[4,6] and the shape"),
        (lambda: image.resize(X[:0], (2, 2), "linear"), "an image with elements"),
        (lambda: image.resize(X, (-1, 2), "linear"), "image of the shape (-1, 2)"),
        (lambda: image.resize(X, (2, 2), "no"), "resize: method must be one of"),
        (lambda: image.scale_and_translate(X, (2, 2), (0,), ONE, ONE, "linear"),
         "axis that is not one of spatial_dims=(0,)"),
        (lambda: image.scale_and_translate(X, (2, 6), (0,), TWO, ONE, "linear"),
         "each of the axes (0,), but got f32[2], f32[1]"),
        (lambda: image.scale_and_translate(X, (2, 6), (0,), ONE, ONE, "nearest"),
         "has no method 'nearest'"),
    ],
)  # fmt: skip
def test_errors_say_what_was_wanted_and_what_came(call, words):
    with pytest.raises(errors.CovectorError, match=re.escape(words)):
        call()
