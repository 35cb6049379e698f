"""An operation has one value: what it gives under a transformation is what it gives.

The operations here are those with a structure: they carry a program, take several
operands, or have a derivative that is computed in another way than the value. Each is
tried with parameters for which the two ways could differ: initial values that are no
identity, functions that are not commutative, margins and gaps, ties, reversed axes.
"""

import functools
import itertools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, tree

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
TIED = np.rint(X).astype(np.float32)


def minus(a, b):
    """Neither commutative nor associative."""
    return a - b


def affine(f, g):
    """First f, then g, as maps v ↦ av + b: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def smooth_maximum(a, b):
    """Infinitely steep where both are -inf."""
    return cnp.logaddexp(a, b)


WINDOWS = {
    "valid": {},
    "same": {"padding": "SAME"},
    "holes": {
        "padding": ((1, 2), (0, 3)),
        "base_dilation": (2, 1),
        "window_dilation": (1, 2),
    },
    "cut off": {"padding": ((-1, 2), (0, 1)), "window_strides": (2, 1)},
}
COMBINERS = {
    "add": (lax.add, 3.0),
    "max": (lax.max, 0.2),
    "mul": (lax.mul, 2.0),
    "minus": (minus, 1.0),
    "smooth maximum": (smooth_maximum, -np.inf),
}


def windows(combiner, start, how):
    return lambda x: lax.reduce_window(x, np.float32(start), combiner, (2, 3), **how)


def of_pairs(reduce):
    """A reduction of maps, from a map that is no identity."""
    return lambda x: reduce((x, cnp.sin(x)), (np.float32(2), np.float32(3)), affine)


def while_(x):
    return lax.while_loop(lambda c: c.sum() < 50, lambda c: c * c + 1, x)


PROGRAMS = {
    **{
        f"reduce_window {name} {kind}": windows(*COMBINERS[name], WINDOWS[kind])
        for name, kind in [
            *itertools.product(("add", "minus"), WINDOWS),
            *zip(("max", "mul", "smooth maximum"), [*WINDOWS][1:], strict=True),
        ]
    },
    **{
        f"reduce {name}": lambda x, c=c, i=i: lax.reduce(x, np.float32(i), c, (1, 0))
        for name, (c, i) in COMBINERS.items()
    },
    "reduce of pairs": of_pairs(lambda x, i, f: lax.reduce(x, i, f, (0,))),
    "windows of pairs": of_pairs(
        lambda x, i, f: lax.reduce_window(x, i, f, (3, 2), padding="SAME")
    ),
    "scan": lambda x: lax.scan(lambda c, v: (c - v, c * v), x[0], x),
    "scan reversed": lambda x: lax.scan(minus_and_keep, x[0], x, reverse=True),
    "scan unrolled": lambda x: lax.scan(minus_and_keep, x[0], x, unroll=2),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda x: (x, x * 2), lambda x: (x, x), x),
    "switch": lambda x: lax.switch(1, [lambda x: x, cnp.sin, cnp.cos], x),
    "while": while_,
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, v: v - i * x, x),
    "map": lambda x: lax.map(cnp.sin, x),
    "map in batches": lambda x: lax.map(cnp.sin, x, batch_size=2),
    "associative_scan": lambda x: lax.associative_scan(affine, (x, x)),
    "associative_scan reversed": lambda x: lax.associative_scan(
        affine, (x, x), reverse=True, axis=1
    ),
    **{
        f"{f.__name__} {reverse=}": lambda x, f=f, r=reverse: f(x, 1, r)
        for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
        for reverse in (False, True)
    },
    "sort": lambda x: lax.sort((cnp.rint(x), x, cnp.sin(x)), num_keys=1),
    "sort by two keys": lambda x: lax.sort((cnp.rint(x), x), dimension=0, num_keys=2),
    "top_k": lambda x: lax.top_k(cnp.rint(x), 3),
    "extrema of ties": lambda x: (cnp.rint(x).max(0), cnp.rint(x).min(1)),
    "pooling of ties": lambda x: lax.reduce_window(
        x - x + TIED, -np.inf, lax.max, (2, 2), padding="SAME"
    ),
    "custom_root": lambda x: lax.custom_root(
        lambda r: r * 2 - x, x, lambda f, r: r - f(r) / 2, lambda g, y: y / 2
    ),
    "checkpoint": cv.checkpoint(lambda x: cnp.sin(cnp.sin(x))),
}


def minus_and_keep(carry, x):
    return carry - x, carry


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_value_is_the_same_beside_a_derivative_and_over_a_batch(name):
    f = PROGRAMS[name]
    x = cnp.asarray(X)
    ones = cnp.ones_like(x)

    def loss(x):
        out = f(x)
        return sum([leaf.sum() for leaf in tree.leaves(out)]), out

    plain = f(x)
    found = {
        "jit": cv.jit(f)(x),
        "jvp": cv.jvp(f, (x,), (ones,))[0],
        "linearize": cv.linearize(f, x)[0],
        "value_and_grad": cv.value_and_grad(loss, has_aux=True)(x)[0][1],
        "vmap": tree.map(lambda v: v[1], cv.vmap(f)(cnp.stack([-x, x]))),
    }
    for how, got in found.items():
        for a, b in zip(tree.leaves(plain), tree.leaves(got), strict=True):
            assert a.type.dtype == b.type.dtype
            np.testing.assert_allclose(b, a, 1e-5, 1e-6, err_msg=how)


def test_what_is_commutative_for_small_numbers_alone_keeps_the_order_of_elements():
    """The first that is out of range, or else the largest: associative."""

    def first_out_of_range(a, b):
        return cnp.where(a > 100, a, cnp.where(b > 100, b, cnp.maximum(a, b)))

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    x[2, 3], x[2, 5], x[6, 1] = 300, 200, 400
    for axes in ((0,), (1,), (0, 1)):

        def reduced(x, axes=axes):
            return lax.reduce(x, np.float32(-1), first_out_of_range, axes)

        rows = np.moveaxis(x, axes, range(len(axes))).reshape(
            -1, *np.delete(x.shape, axes)
        )
        wanted = functools.reduce(first_out_of_range, rows)
        np.testing.assert_array_equal(reduced(x), wanted)
        np.testing.assert_array_equal(cv.jit(reduced)(x), wanted)
        assert "stablehlo.reduce" not in cv.jit(reduced).lower(x).as_text()
    windows = lax.reduce_window(
        x.ravel(), np.float32(-1), first_out_of_range, (5,), (1,), "VALID"
    )
    for k, found in enumerate(windows):
        assert found == functools.reduce(first_out_of_range, x.ravel()[k : k + 5])
