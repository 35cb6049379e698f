"""A plain pre-norm transformer in the public API, its layer jitted by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """How large; ``epsilon`` is the layer norm's, and makes a program unlike others."""

    layers: int = 12
    width: int = 128
    heads: int = 4
    vocabulary: int = 512
    batch: int = 4
    length: int = 64
    epsilon: float = 1e-5


TINY = Sizes(layers=2, width=8, heads=2, vocabulary=16, batch=2, length=4)


def parameters(sizes: Sizes) -> dict[str, Any]:
    """Random weights, the same for every peer."""
    generator = np.random.default_rng(0)
    width = sizes.width

    def weight(*shape: int) -> np.ndarray:
        scale = 1 / np.sqrt(shape[0])
        return (generator.standard_normal(shape) * scale).astype(np.float32)

    def dense(inputs: int, outputs: int) -> dict[str, np.ndarray]:
        return {"weight": weight(inputs, outputs), "bias": np.zeros(outputs, "f4")}

    def norm() -> dict[str, np.ndarray]:
        return {"scale": np.ones(width, "f4"), "bias": np.zeros(width, "f4")}

    def layer() -> dict[str, dict[str, np.ndarray]]:
        return {
            "projections": dense(width, 3 * width),
            "mixed": dense(width, width),
            "wide": dense(width, 4 * width),
            "narrow": dense(4 * width, width),
            "norm_attention": norm(),
            "norm_feedforward": norm(),
        }

    return {
        "embedding": weight(sizes.vocabulary, width),
        "layers": [layer() for _ in range(sizes.layers)],
        "norm": norm(),
        "head": dense(width, sizes.vocabulary),
    }


def tokens(sizes: Sizes) -> np.ndarray:
    """Random tokens, one more than the length: inputs and targets overlap."""
    generator = np.random.default_rng(1)
    shape = (sizes.batch, sizes.length + 1)
    return generator.integers(0, sizes.vocabulary, shape, dtype=np.int32)


def loss_function(cv: Any, sizes: Sizes) -> Callable[[Any, Any], Any]:
    """``loss(parameters, tokens)``: mean cross-entropy of the next token."""
    cnp = cv.numpy
    per_head = (sizes.batch, sizes.length, sizes.heads, sizes.width // sizes.heads)
    causal = np.tril(np.ones((sizes.length, sizes.length), np.bool_))

    def dense(x: Any, part: Any) -> Any:
        return x @ part["weight"] + part["bias"]

    def norm(x: Any, part: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        unit = centred * cv.lax.rsqrt(variance + sizes.epsilon)
        return unit * part["scale"] + part["bias"]

    def attention(x: Any, layer: Any) -> Any:
        parts = cnp.split(dense(x, layer["projections"]), 3, axis=-1)
        query, key, value = (p.reshape(per_head).swapaxes(1, 2) for p in parts)
        scores = query @ key.swapaxes(2, 3) / per_head[-1] ** 0.5
        weights = cv.nn.softmax(cnp.where(causal, scores, -1e9), axis=-1)
        joined = (weights @ value).swapaxes(1, 2).reshape(x.shape)
        return dense(joined, layer["mixed"])

    @cv.jit
    def apply(layer: Any, x: Any) -> Any:
        x = x + attention(norm(x, layer["norm_attention"]), layer)
        hidden = dense(norm(x, layer["norm_feedforward"]), layer["wide"])
        return x + dense(cv.nn.gelu(hidden), layer["narrow"])

    def loss(parameters: Any, tokens: Any) -> Any:
        x = parameters["embedding"][tokens[:, :-1]]
        for layer in parameters["layers"]:
            x = apply(layer, x)
        scores = dense(norm(x, parameters["norm"]), parameters["head"])
        targets = cnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
        return (cv.nn.logsumexp(scores, axis=-1) - targets).mean()

    return loss
