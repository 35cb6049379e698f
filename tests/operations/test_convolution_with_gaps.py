"""Convolutions of what has gaps are computed without the zeros on CPUs."""

import re

import numpy as np
import pytest

import covector as cv
from covector import lax
from covector.operations import convolution_with_gaps
from tests.convolutions import (
    assert_derivatives_are_those_of_numpy,
    assert_result_is_that_of_numpy,
)

AXES = {
    "last": ("NDHWC", "DHWIO", "NDHWC"),
    "first": ("NCDHW", "OIDHW", "NCDHW"),
    "mixed": ("DNCHW", "HIDOW", "HWNDC"),
}


def case(seed):
    """Operands and fields of a convolution with gaps, of one to three axes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    spec = [
        "".join([k for k in s if k not in "DHW"[n:]])
        for s in AXES[["last", "first", "mixed"][seed % 3]]
    ]
    pick = lambda low, high: rng.integers(low, high, n).tolist()  # noqa: E731
    length, taps = pick(2, 7), pick(1, [9, 5, 4][n - 1])
    sizes = dict(zip("NCIO", rng.integers(1, 5, 4).tolist(), strict=True))
    sizes["I"] = sizes["C"]
    x = [sizes[k] if k in sizes else length["DHW".index(k)] for k in spec[0]]
    w = [sizes[k] if k in sizes else taps["DHW".index(k)] for k in spec[1]]
    padding = list(zip(pick(-1, 5), pick(-1, 5), strict=True))
    strides = pick(1, 3) if seed % 4 == 0 else [1] * n
    gaps = pick(1, 5)
    dtype = [np.float32, np.float64, np.int32][seed % 5 % 3]
    operands = [(rng.normal(size=s) * 5).astype(dtype) for s in (x, w)]
    return operands, (strides, padding, gaps, tuple(spec))


def convolution(fields):
    strides, padding, gaps, spec = fields
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation=gaps, dimension_numbers=spec
    )


@pytest.fixture
def always(monkeypatch):
    """The other way, however small the arrays."""
    for name in ("_MANY", "_MANY_OF_VOLUMES", "_FOR_EACH", "_PART"):
        monkeypatch.setattr(convolution_with_gaps, name, 0)


@pytest.mark.parametrize("seed", range(90))
@pytest.mark.usefixtures("always")
def test_the_result_is_that_of_numpy(seed):
    operands, fields = case(seed)
    with cv.enable_x64():
        assert_result_is_that_of_numpy(convolution(fields), operands)


@pytest.mark.parametrize("seed", [1, 2, 5, 7])
@pytest.mark.usefixtures("always")
def test_derivatives_are_those_of_numpy(seed):
    operands, fields = case(seed)
    x, w = [v.astype(np.float32) for v in operands]
    assert_derivatives_are_those_of_numpy(convolution(fields), x, w)


def gaps_in(fun, *args):
    """The gaps in the operand of each convolution of the lowered program."""
    text = cv.jit(fun).lower(*args).as_text()
    found = re.findall(r"lhs_dilate = \[([^]]*)\]", text)
    return [max(map(int, gaps.split(","))) - 1 for gaps in found]


def transposed(x, w, stride=2):
    n = w.ndim - 2
    spec = ("NDHWC", "DHWIO", "NDHWC")
    axes = ["".join([k for k in s if k not in "DHW"[n:]]) for s in spec]
    return lax.conv_transpose(x, w, (stride,) * n, "SAME", dimension_numbers=axes)


LARGE = {
    "few features": ((32, 16, 16, 32), (3, 3, 32, 32), False),
    "many features of few positions": ((8, 8, 8, 128), (3, 3, 128, 256), True),
    "few products": ((2, 8, 8, 16), (3, 3, 16, 16), True),
    "three axes": ((2, 8, 8, 8, 16), (3, 3, 3, 16, 16), False),
    "one axis": ((8, 500, 32), (4, 32, 32), False),
}


@pytest.mark.parametrize("name", LARGE)
def test_there_are_gaps_only_where_they_are_quicker(name):
    x, w, gaps = LARGE[name]
    args = np.ones(x, np.float32), np.ones(w, np.float32)
    assert gaps_in(transposed, *args) == [gaps]


@pytest.mark.parametrize("name", LARGE)
def test_the_adjoint_by_the_weights_has_no_gaps(name):
    x, w, _ = LARGE[name]
    args = np.ones(x, np.float32), np.ones(w, np.float32)

    def adjoint(x, w, ct):
        return cv.linear_transpose(lambda w: transposed(x, w), w)(ct)

    ct = np.ones(cv.eval_shape(transposed, *args).shape, np.float32)
    assert gaps_in(adjoint, *args, ct) == [0]
