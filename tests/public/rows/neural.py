"""Rows of ``covector.nn``: activations, and what normalises."""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.makers import elementwise, reduction
from tests.public.table import rows

rows("nn", "celu", elementwise("f"), rounding=128, zeros=False)
# The tails of gelu are differences of numbers that are nearly equal.
rows("nn", "gelu", elementwise("f"), rounding=128, cancels=True)
rows("nn", "elu hard_sigmoid hard_silu hard_swish hard_tanh log_sigmoid "
     "mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid "
     "squareplus swish tanh identity", elementwise("f"), rounding=128)  # fmt: skip
rows("nn", "leaky_relu", elementwise("f", negative_slope=(0.1, 0.3)))
rows("nn", "log1mexp", elementwise("f", within=(0.1, 5.0)), rounding=256)


def gated(draw: Draw) -> Any:
    x = draw.array("f", (draw.integer(0, 3), 2 * draw.integer(1, 4)))
    return (x,), draw.some(axis=(-1, 1))


rows("nn", "glu", gated, rounding=128)


def normalized(draw: Draw) -> Any:
    """Along one axis, with a mask now and then."""
    x = draw.array("f", draw.shape((1, 3), empty=False), (-5, 5))
    named = {"axis": draw.axis(x.ndim)} if draw.chance(0.6) else {}
    if draw.chance(0.3) and not draw.smooth:
        named["where"] = draw.array("b", x.shape)
    return (x,), named


rows("nn", "softmax log_softmax", normalized, rounding=128, cancels=True)
rows("nn", "standardize",
     lambda draw: ((draw.array("f", (3, 4), (-3, 3)),), draw.some(axis=(0, -1, (0, 1)), epsilon=(0.1,))),
     rounding=512, cancels=True)  # fmt: skip
rows("nn", "logsumexp logmeanexp", reduction("f", within=(-5, 5), empty=False),
     rounding=128, cancels=True)  # fmt: skip


def labelled(draw: Draw) -> Any:
    classes = draw.integer(1, 5)
    x = draw.array("iu", within=(0, classes + 1))
    return (x, classes), draw.some(axis=(0, -1), dtype=("float32", "int32"))


def attended(draw: Draw) -> Any:
    """Query, key and value, with one batch axis or none."""
    heads, size = draw.integer(1, 3), draw.integer(1, 4)
    batch = draw.pick((), (2,))
    dtype = draw.dtype("f")
    shapes = [(*batch, n, heads, size) for n in (3, 4, 4)]
    return tuple([draw.values(dtype, s, (-1, 1)) for s in shapes]), draw.some(
        is_causal=(True, False), scale=(0.5,)
    )


rows("nn", "one_hot", labelled, derivative=False)
rows("nn", "dot_product_attention", attended, rounding=512, cancels=True)


def scaled(draw: Draw) -> Any:
    dtype = "float64" if draw.smooth else "float32"
    shapes = (2, 3, 4), (2, 5, 4), (2, 3, 2), (2, 5, draw.pick(1, 4))
    return tuple([draw.values(dtype, s, (0.5, 2)) for s in shapes])


def scaled_matmul(a: Any, b: Any, s: Any, t: Any) -> Any:
    a, b = (x * np.repeat(v, 4 // v.shape[2], 2) for x, v in ((a, s), (b, t)))
    return np.einsum("bmk,bnk->bmn", a, b)


# JAX has them on some GPUs alone.
rows("nn", "scaled_matmul", scaled, numpy=scaled_matmul, jax=None, derivative=False)
rows("nn", "scaled_dot_general",
     lambda draw: (*scaled(draw)[:2], (((2,), (2,)), ((0,), (0,)))), numpy=None, jax=None,
     derivative=False)  # fmt: skip
