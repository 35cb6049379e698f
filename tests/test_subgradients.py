"""Derivatives where there is none: the page and the code agree, in every mode."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
import covector.scipy.special

PAGE = Path(__file__).parent.parent / "docs" / "subgradients.md"
ROWS = re.findall(
    r"^\| `(.+?)` \| (\S+) \| (\S+) \| (\S+) \|", PAGE.read_text("utf-8"), re.M
)
OURS = SimpleNamespace(
    cnp=cnp, nn=cv.nn, lax=cv.lax, special=cv.scipy.special, grad=cv.grad, jvp=cv.jvp
)
THEIRS = SimpleNamespace(
    cnp=jnp,
    nn=jax.nn,
    lax=jax.lax,
    special=jax.scipy.special,
    grad=jax.grad,
    jvp=jax.jvp,
)


def function(text, library):
    return eval(f"lambda x: {text}", dict(vars(library)))


def forward(f, x, library):
    x = library.cnp.asarray(x, "float32")
    return library.jvp(f, (x,), (library.cnp.ones_like(x),))[1]


def test_the_page_has_rows():
    assert len(ROWS) > 40
    assert {"cnp.abs(x)", "x**x", "nn.hard_tanh(x)"} <= {text for text, *_ in ROWS}


@pytest.mark.parametrize(("text", "at", "wanted", "_"), ROWS)
def test_the_derivative_is_that_of_the_page_in_every_mode(text, at, wanted, _):
    f, x = function(text, OURS), float(at)
    found = [
        cv.grad(f)(x),
        cv.jit(cv.grad(f))(x),
        forward(f, x, OURS),
        cv.vmap(cv.grad(f))(cnp.array([x]))[0],
    ]
    np.testing.assert_allclose(np.asarray(found), float(wanted), rtol=1e-6)


def test_the_page_tells_the_derivatives_of_jax():
    with jax.default_device(jax.devices("cpu")[0]):
        for text, at, _, theirs in ROWS:
            got = float(THEIRS.grad(function(text, THEIRS))(float(at)))
            assert math.isclose(got, float(theirs), rel_tol=1e-5) or (
                math.isnan(got) and theirs == "nan"
            ), (text, at, got)


def test_hypot_of_infinite_operands_moves_with_them():
    x, y = cnp.array([math.inf, -math.inf, 2.0, math.inf]), cnp.array([1.0] * 3 + [0.0])
    by_x, by_y = cv.grad(lambda x, y: cnp.hypot(x, y).sum(), (0, 1))(x, y)
    assert by_x.tolist()[:2] == [1, -1]
    assert by_y.tolist()[:2] == [0, 0]
    assert by_x.tolist()[3] == 1
    assert cnp.hypot(cnp.nan, cnp.inf) == cnp.inf


def test_copysign_keeps_the_sign_of_zeros_and_nan():
    x = np.array([0.0, -0.0, 2.0, -3.0, np.nan, np.inf], "float32")
    for y in (1.0, -1.0, -0.0):
        got = np.asarray(cv.jit(cnp.copysign)(x, y))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(np.full(6, y)))


def test_hard_silu_beyond_its_bend_is_zero_or_the_identity():
    x = cnp.array([-math.inf, -4.0, 0.0, 4.0, math.inf, math.nan])
    got = cv.nn.hard_silu(x)
    np.testing.assert_array_equal(got, [0, 0, 0, 4, math.inf, math.nan])
