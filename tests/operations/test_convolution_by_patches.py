"""Adjoints of convolutions whose windows lie side by side are products on CPUs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

#: the shape of the image and of the weights, and the order of axes
SHAPES = {
    "one axis": ((2, 12, 3), (4, 3, 5), ("NWC", "WIO", "NWC")),
    "a rest behind the last window": ((2, 14, 3), (4, 3, 5), ("NWC", "WIO", "NWC")),
    "two axes": ((2, 12, 8, 3), (3, 2, 3, 5), ("NHWC", "HWIO", "NHWC")),
    "features first": ((2, 3, 13, 9), (5, 3, 4, 3), None),
    "axes in another order": ((12, 2, 3, 8), (3, 5, 2, 3), ("HNCW", "HOWI", "WHNC")),
    "one long window": ((2, 7, 8, 3), (7, 2, 3, 5), ("NHWC", "HWIO", "NHWC")),
    "three axes": ((2, 4, 6, 5, 3), (2, 3, 2, 3, 5), ("NDHWC", "DHWIO", "NDHWC")),
}


def numbers(shape, dtype=np.float32):
    values = np.sin(np.arange(np.prod(shape)) * 1.7).reshape(shape)
    return (values * 4).astype(dtype)


def strides(weights, axes):
    """The lengths of the window, by which it moves."""
    spec = axes[1] if axes else "OIHW"
    return tuple([weights.shape[spec.index(k)] for k in spec if k not in "IO"])


def cotangents(name, dtype=np.float32):
    image, weights, axes = SHAPES[name]
    x, w = numbers(image, dtype), numbers(weights, dtype)

    def convolve(x, w):
        steps = strides(w, axes)
        return lax.conv_general_dilated(x, w, steps, "VALID", dimension_numbers=axes)

    def pull(x, w):
        out, back = cv.vjp(convolve, x, w)
        return back(cnp.asarray(numbers(out.shape, dtype)))

    return pull, x, w


@pytest.mark.parametrize("name", SHAPES)
def test_adjoints_are_those_of_numpy(name):
    pull, x, w = cotangents(name)
    with cv.disable_jit():
        wanted = pull(cnp.array(x), cnp.array(w))
    for found, exact in zip(cv.jit(pull)(x, w), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", SHAPES)
def test_no_window_with_gaps_is_left(name):
    pull, x, w = cotangents(name)
    text = cv.jit(lambda x, w: pull(x, w)[0]).lower(x, w).as_text()
    assert "lhs_dilate" not in text
    if name == "three axes":
        text = cv.jit(lambda x, w: pull(x, w)[1]).lower(x, w).as_text()
        assert "rhs_dilate" not in text


def test_numbers_of_16_bits_are_summed_in_32():
    pull, x, w = cotangents("two axes", cnp.bfloat16)
    found = cv.jit(pull)(x, w)
    wide, *_ = cotangents("two axes")
    wanted = cv.jit(wide)(x.astype(np.float32), w.astype(np.float32))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == cnp.bfloat16
        error = np.abs(np.asarray(a, np.float32) - b)
        assert error.max() <= 0.02 * np.abs(np.asarray(b)).max()


def test_a_transposed_convolution_writes_patches():
    x, w = numbers((2, 5, 6, 3)), numbers((2, 2, 3, 4))

    def grown(x, w):
        return lax.conv_transpose(x, w, (2, 2), "VALID")

    with cv.disable_jit():
        wanted = grown(cnp.array(x), cnp.array(w))
    assert "stablehlo.convolution" not in cv.jit(grown).lower(x, w).as_text()
    np.testing.assert_allclose(cv.jit(grown)(x, w), wanted, rtol=1e-5, atol=1e-5)
