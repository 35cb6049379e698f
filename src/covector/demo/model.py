"""The network: two convolutions and two dense layers.

It is written for one image. ``covector.vmap`` makes it a function of a batch, and the
parameters are an ordinary dictionary, which every transformation takes apart and puts
together again.
"""

from typing import TypeAlias

import covector as cv
import covector.numpy as cnp
from covector import Array

Layer: TypeAlias = dict[str, Array]
Params: TypeAlias = dict[str, Layer]

CLASSES = 10
PIXELS = 8


def initialize(key: Array) -> Params:
    """Random weights of a variance that keeps the signal's size, and biases of zero."""
    shapes = {
        "conv1": (3, 3, 1, 32),
        "conv2": (3, 3, 32, 64),
        "hidden": (4 * 4 * 64, 128),
        "output": (128, CLASSES),
    }
    he_normal = cv.nn.initializers.he_normal()
    keys = cv.random.split(key, len(shapes))
    return {
        name: {"weights": he_normal(key, shape), "biases": cnp.zeros(shape[-1])}
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def convolve(layer: Layer, image: Array, stride: int) -> Array:
    """``[h, w, channels]`` to ``[h / stride, w / stride, filters]``."""
    out = cv.lax.conv_general_dilated(
        image[None],
        layer["weights"],
        window_strides=(stride, stride),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return cnp.squeeze(out, axis=0) + layer["biases"]


def dense(layer: Layer, features: Array) -> Array:
    """``[features]`` to ``[outputs]``."""
    return features @ layer["weights"] + layer["biases"]


def logits(params: Params, image: Array) -> Array:
    """The logits of the digits, ``[10]``, for an image ``[8, 8]``."""
    x = image[:, :, None]
    x = cv.nn.gelu(convolve(params["conv1"], x, stride=1))
    x = cv.nn.gelu(convolve(params["conv2"], x, stride=2))
    x = cv.nn.gelu(dense(params["hidden"], x.ravel()))
    return dense(params["output"], x)


def cross_entropy(params: Params, image: Array, label: Array) -> Array:
    """The cross entropy of one example: minus the log-probability of its label."""
    return -cv.nn.log_softmax(logits(params, image)) @ cv.nn.one_hot(label, CLASSES)


def loss(params: Params, images: Array, labels: Array) -> Array:
    """The mean cross entropy over a batch."""
    return cv.vmap(cross_entropy, in_axes=(None, 0, 0))(params, images, labels).mean()


def shift(key: Array, image: Array) -> Array:
    """The image, moved by up to one pixel each way: it still shows the same digit."""
    offsets = cv.random.randint(key, (2,), 0, 3)
    return cv.lax.dynamic_slice(cnp.pad(image, 1), tuple(offsets), (PIXELS, PIXELS))


@cv.jit
def probabilities(params: Params, images: Array) -> Array:
    """``[n, 10]``: how likely each image shows each digit."""
    return cv.nn.softmax(cv.vmap(logits, in_axes=(None, 0))(params, images))


@cv.jit
def gradient_norms(params: Params, images: Array, labels: Array) -> Array:
    """``[n]``: the norm of the gradient of each example by itself.

    The gradient of one example is ``grad``; of every example at once, ``vmap`` of it.
    """
    gradients = cv.vmap(cv.grad(cross_entropy), in_axes=(None, 0, 0))(
        params, images, labels
    )
    squares = [
        cnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in cv.tree.leaves(gradients)
    ]
    return cnp.sqrt(sum(squares))
