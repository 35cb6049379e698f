"""Convolutions of three axes and more are convolutions of planes on CPUs."""

import numpy as np
import pytest

import covector as cv
from covector import lax
from covector.operations import convolution_of_volumes
from tests.convolutions import (
    assert_derivatives_are_those_of_numpy,
    assert_result_is_that_of_numpy,
)

ORDERS = [
    ("NDHWC", "DHWIO", "NDHWC"),
    ("NCDHW", "OIDHW", "NCDHW"),
    ("DNCHW", "HIDOW", "HWNDC"),
    ("NWXYZC", "WXYZIO", "CNWXYZ"),
]


def case(seed):
    """Operands and fields of a convolution of three or four axes."""
    rng = np.random.default_rng(seed)
    spec = ORDERS[seed % 4]
    first = "WXYZ" if seed % 4 == 3 else "DHW"
    n = len(first)
    pick = lambda low, high: rng.integers(low, high, n).tolist()  # noqa: E731
    length, taps, gaps = pick(3, 7), pick(1, 4), pick(1, 3)
    sizes = dict(zip("NIO", rng.integers(1, 5, 3).tolist(), strict=True))
    sizes["C"] = sizes["I"]
    x = [length[first.index(k)] if k in first else sizes[k] for k in spec[0]]
    w = [taps[first.index(k)] if k in first else sizes[k] for k in spec[1]]
    padding = list(zip(pick(-1, 4), pick(-1, 4), strict=True))
    strides = pick(1, 3)
    operands = [(rng.normal(size=s) * 5).astype(np.float32) for s in (x, w)]

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, rhs_dilation=gaps, dimension_numbers=spec
        )

    return operands, convolve


@pytest.fixture
def always(monkeypatch):
    """The other way, however small the arrays."""
    monkeypatch.setattr(convolution_of_volumes, "_MANY", 0)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("always")
def test_the_result_is_that_of_numpy(seed):
    operands, fun = case(seed)
    assert_result_is_that_of_numpy(fun, operands)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("always")
def test_derivatives_are_those_of_numpy(seed):
    (x, w), fun = case(seed)
    assert_derivatives_are_those_of_numpy(fun, x, w)


def spatial_axes(x, w):
    """How many spatial axes the convolution of the lowered program has."""
    args = np.ones(x, np.float32), np.ones(w, np.float32)
    spec = ("NDHWC", "DHWIO", "NDHWC")
    fun = cv.jit(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1, 1), "SAME", dimension_numbers=spec
        )
    )
    text = fun.lower(*args).as_text()
    (line,) = [s for s in text.splitlines() if "stablehlo.convolution" in s]
    return line.split("stride = [")[1].split("]")[0].count(",") + 1


def test_only_what_pays_is_of_planes():
    assert spatial_axes((2, 16, 16, 16, 8), (3, 3, 3, 8, 8)) == 2
    assert spatial_axes((1, 3, 3, 3, 8), (3, 3, 3, 8, 8)) == 3
    assert spatial_axes((1, 70, 4, 4, 8), (65, 3, 3, 8, 8)) == 3
