"""Values in another order of axes: what follows a convolution, in any program."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

_RNG = np.random.default_rng(0)
IMAGES = _RNG.normal(size=(2, 3, 8, 6)).astype(np.float32)
WEIGHTS = [
    _RNG.normal(size=shape).astype(np.float32) / 4
    for shape in ((9, 3, 3, 3), (9, 9, 3, 3), (9, 1, 3, 3), (4, 9, 1, 1))
]


def network(weights, x):
    """A bias, a residual, standardization, pooling, groups, and what has no rule."""
    first, second, third, last = weights
    same = ((1, 1), "SAME")
    h = lax.conv_general_dilated(x, first, *same)
    h = cnp.maximum(h + cnp.arange(9.0)[:, None, None] / 9, 0)
    h = h + lax.conv_general_dilated(h, second, *same)
    mean = h.mean((0, 2, 3), keepdims=True)
    h = (h - mean) / cnp.sqrt(((h - mean) ** 2).mean((0, 2, 3), keepdims=True) + 1)
    h = lax.conv_general_dilated(h, third, *same, feature_group_count=9)
    window = (1, 1, 2, 2)
    h = lax.reduce_window(h, -np.inf, lax.max, window, window, "VALID")
    h = cnp.where(h > 0.1, h, cnp.sin(h)).astype("float32")
    h = cnp.concatenate([h[:, :, ::-1, 1:], h[..., 1:] * x[:, :1, ::2, 2::2]], 0)
    h = lax.conv_general_dilated(h, last, (1, 1), "VALID")
    return cnp.cumsum(h, 1), h.max((1, 2)), h.reshape(4, -1).sum(-1)


def test_networks_on_images_with_features_first_and_their_gradients():
    def loss(weights, x):
        outs = network(weights, x)
        return sum([(out * out).sum() for out in outs]), outs

    step = cv.value_and_grad(loss, (0, 1), has_aux=True)
    compiled = cv.tree.leaves(cv.jit(step)(WEIGHTS, IMAGES))
    with cv.disable_jit():
        wanted = cv.tree.leaves(step(WEIGHTS, IMAGES))
    for a, b in zip(compiled, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


def test_convolutions_follow_each_other_without_a_transpose_of_what_is_between():
    def layers(w, x):
        for _ in range(3):
            x = cnp.maximum(lax.conv_general_dilated(x, w, (1, 1), "SAME") + 1, 0)
        return x.sum((2, 3))

    text = cv.jit(layers).lower(WEIGHTS[1], np.ones((2, 9, 8, 8), "float32")).as_text()
    images = [
        line for line in text.splitlines() if "transpose" in line and "8x8" in line
    ]
    assert len(images) == 1


@pytest.mark.parametrize("kind", ["scan", "vmap", "cond", "checkpoint"])
def test_orders_of_axes_do_not_leave_the_programs_that_are_called(kind):
    w, x = WEIGHTS[1], _RNG.normal(size=(2, 9, 6, 5)).astype(np.float32)

    def layer(x):
        return cnp.tanh(lax.conv_general_dilated(x, w, (1, 1), "SAME")) * x

    def program(x):
        if kind == "scan":
            return lax.scan(lambda h, _: (layer(h), layer(h)[0]), x, None, length=2)
        if kind == "vmap":
            return cv.vmap(layer)(cnp.stack([x, -x]))
        if kind == "cond":
            h = lax.conv_general_dilated(x, w, (1, 1), "SAME")
            return lax.cond(x[0, 0, 0, 0] > 0, lambda: h * x, lambda: h)
        return cv.grad(lambda x: cv.checkpoint(layer)(x).sum())(x)

    compiled = cv.tree.leaves(cv.jit(program)(x))
    with cv.disable_jit():
        wanted = cv.tree.leaves(program(cnp.asarray(x)))
    for a, b in zip(compiled, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
