"""Kernels with sums do not share large broadcasts, nor what is cheap to compute of
them.
"""

import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.lowering.own_broadcasts import with_own_broadcasts

X = np.random.default_rng(0).standard_normal((512, 256)).astype(np.float32)
ROW = np.linspace(-1, 1, 256, dtype=np.float32)
ARGS = X, ROW, ROW, np.cos(X)


def layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5) * scale + shift


def loss(x, scale, shift, weights):
    return (layer_norm(x, scale, shift) * weights).sum()


gradients = cv.grad(loss, (0, 1, 2))


def written(fun, *args):
    """How many arrays like X the kernels of a program write."""
    text = cv.jit(fun).lower(*args).compile().as_text()
    main = text[text.index("ENTRY") :]
    return len(re.findall(r"= f32\[512,256\]\S* (?!parameter)", main))


def test_gradients_of_a_layer_norm_write_three_arrays():
    # Five, if kernels share broadcasts: the scale of rows, and what is scaled.
    assert written(gradients, *ARGS) == 3


def test_own_broadcasts_change_nothing_but_rounding():
    shared = cv.make_jaxpr(gradients)(*ARGS).jaxpr
    assert len(with_own_broadcasts(shared).equations) > len(shared.equations)
    found = cv.jit(gradients)(*ARGS)
    with cv.disable_jit():
        wanted = gradients(*map(cnp.asarray, ARGS))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


def shares(fun, *args):
    """Whether a program is left as it is."""
    program = cv.make_jaxpr(fun)(*args).jaxpr
    return len(with_own_broadcasts(program).equations) == len(program.equations)


def read_twice(x, y):
    """Two sums of products with the same array."""
    return (x * y).sum(0), (cnp.exp(x) * y).sum(0)


def many_sums(x):
    """So many that to compute them again takes longer than to read them."""
    for k in range(1500):
        x = x + cnp.broadcast_to(X[k % 512], X.shape)
    return x


SHARED = {
    "a broadcast": (
        lambda x: read_twice(x, cnp.broadcast_to(x[:, :1], x.shape)),
        False,
    ),
    "… of one number": (
        lambda x: read_twice(x, cnp.broadcast_to(x[0, 0], x.shape)),
        True,
    ),
    "what is centred": (lambda x: read_twice(x, x - x.mean(0)), False),
    "a product of broadcasts": (
        lambda x: read_twice(
            x, cnp.broadcast_to(x[:1], x.shape) * cnp.broadcast_to(x[:, :1], x.shape)
        ),
        False,
    ),
    "what takes longer": (lambda x: read_twice(x, cnp.exp(x - x.mean(0))), True),
    "of what is gathered": (
        lambda x: read_twice(x, x[cnp.argsort(x[:, 0])] * cnp.exp(x[0])),
        True,
    ),
    "a result": (lambda x: (read_twice(x, y := x - x.mean(0)), y), True),
    "much of little": (lambda x: read_twice(x, many_sums(x)), True),
    "few elements": (lambda x: read_twice(x[:9], x[:9] - x[:9].mean(0)), True),
    "short rows": (
        lambda x: read_twice(*[(y := x.reshape(-1, 8)), y - y.mean(0)]),
        True,
    ),
    "no sums": (lambda x: (x * (y := x - x[:1]), x / y), True),
    "in a product": (
        lambda x: (y := cnp.broadcast_to(x[:1], x.shape)) @ x.T * y.sum(),
        True,
    ),
}


def test_a_broadcast_that_many_read_has_a_copy_for_each():
    def fun(x):
        y = cnp.broadcast_to(x[:1], x.shape)
        return [(cnp.sin(x * k) * y).sum() for k in range(40)]

    program = cv.make_jaxpr(fun)(X).jaxpr
    assert len(with_own_broadcasts(program).equations) == len(program.equations) + 39


@pytest.mark.parametrize("name", SHARED)
def test_only_cheap_arrays_are_computed_again(name):
    fun, shared = SHARED[name]
    assert shares(fun, X) == shared
