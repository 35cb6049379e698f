"""Steady state: jitted training steps, where XLA's own speed is what counts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import transformer
from benchmarks.measure import NO_SLOWER, Measure

TITLE = "Steps of jitted programs, steady state"

Parameters = dict[str, Any]

RATE = 1e-3


def measures(tiny: bool) -> list[Measure]:
    batch, width, images, steps = (4, 8, 2, 3) if tiny else (128, 512, 64, 64)
    sizes = transformer.TINY if tiny else transformer.Sizes()
    return [
        Measure(
            f"train step of an MLP, 784–{width}–{width}–10, batch {batch}",
            lambda cv: train(cv, perceptron(cv), *mlp_data(batch, width)),
            {"torch": lambda torch: torch_train(torch, *mlp_data(batch, width))},
            goals=(NO_SLOWER,),
        ),
        Measure(
            f"train step of a convolutional net, batch {images} of 28 × 28",
            lambda cv: train(cv, convolutional(cv), *conv_data(images)),
            goals=(NO_SLOWER,),
        ),
        Measure(
            f"gradient of a {sizes.layers}-layer transformer of jitted layers",
            partial(transformer_gradient, sizes=sizes),
            goals=(NO_SLOWER,),
        ),
        Measure(
            f"gradient of an RNN, scan of {steps} steps, 64 units, batch 16",
            partial(rnn_gradient, steps=steps, units=64, batch=16),
            goals=(NO_SLOWER,),
            reason="not yet understood: the compiled program has as many loops, dots "
            "and fusions as JAX's, and needs as much memory",
        ),
        Measure(
            f"gradient of an RNN, scan of {steps} steps, 8 units, batch 1",
            partial(rnn_gradient, steps=steps, units=8, batch=1),
            goals=(NO_SLOWER,),
        ),
    ]


def train(
    cv: Any, scores: Callable, parameters: Parameters, x: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    """Steps of gradient descent on cross-entropy, each from the parameters before."""

    def loss(parameters: Parameters, x: Any, y: Any) -> Any:
        chances = cv.nn.log_softmax(scores(parameters, x))
        return -(chances * y).sum(axis=-1).mean()

    @cv.jit
    def step(parameters: Parameters, x: Any, y: Any) -> Parameters:
        slopes = cv.grad(loss)(parameters, x, y)
        return cv.tree.map(lambda p, slope: p - RATE * slope, parameters, slopes)

    parameters, x, y = cv.device_put((parameters, x, y))

    def run() -> Parameters:
        nonlocal parameters
        parameters = step(parameters, x, y)
        return parameters

    return run


def perceptron(cv: Any) -> Callable[[Parameters, Any], Any]:
    def scores(parameters: Parameters, x: Any) -> Any:
        x = cv.nn.relu(x @ parameters["w1"] + parameters["b1"])
        x = cv.nn.relu(x @ parameters["w2"] + parameters["b2"])
        return x @ parameters["w3"] + parameters["b3"]

    return scores


def convolutional(cv: Any) -> Callable[[Parameters, Any], Any]:
    def layer(x: Any, kernel: Any) -> Any:
        dimensions = ("NHWC", "HWIO", "NHWC")
        x = cv.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=dimensions
        )
        rows, height, width, channels = x.shape
        blocks = cv.nn.relu(x).reshape(rows, height // 2, 2, width // 2, 2, channels)
        return blocks.max(axis=(2, 4))

    def scores(parameters: Parameters, x: Any) -> Any:
        x = layer(layer(x, parameters["k1"]), parameters["k2"])
        return x.reshape(x.shape[0], -1) @ parameters["w"] + parameters["b"]

    return scores


def weights(**shapes: tuple[int, ...]) -> Parameters:
    """Random matrices and kernels, zero biases, the same for every peer."""
    generator = np.random.default_rng(0)
    return {
        name: (
            generator.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))
            if len(shape) > 1
            else np.zeros(shape)
        ).astype(np.float32)
        for name, shape in shapes.items()
    }


def examples(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Random inputs and one-hot labels of ten classes."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 10, shape[0])
    x = generator.standard_normal(shape).astype(np.float32)
    return x, np.eye(10, dtype=np.float32)[labels]


def mlp_data(batch: int, width: int) -> tuple[Parameters, np.ndarray, np.ndarray]:
    shapes = {
        "w1": (784, width),
        "b1": (width,),
        "w2": (width, width),
        "b2": (width,),
        "w3": (width, 10),
        "b3": (10,),
    }
    return weights(**shapes), *examples((batch, 784))


def conv_data(images: int) -> tuple[Parameters, np.ndarray, np.ndarray]:
    shapes = {"k1": (3, 3, 1, 16), "k2": (3, 3, 16, 32), "w": (1568, 10), "b": (10,)}
    return weights(**shapes), *examples((images, 28, 28, 1))


def torch_train(
    torch: Any, parameters: Parameters, x: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    """The MLP's step in eager PyTorch."""
    held = {name: torch.tensor(p, requires_grad=True) for name, p in parameters.items()}
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def run() -> list[Any]:
        hidden = torch.relu(inputs @ held["w1"] + held["b1"])
        hidden = torch.relu(hidden @ held["w2"] + held["b2"])
        chances = torch.log_softmax(hidden @ held["w3"] + held["b3"], dim=-1)
        loss = -(chances * labels).sum(dim=-1).mean()
        slopes = torch.autograd.grad(loss, list(held.values()))
        with torch.no_grad():
            for parameter, slope in zip(held.values(), slopes, strict=True):
                parameter.sub_(RATE * slope)
        return [parameter.detach() for parameter in held.values()]

    return run


def transformer_gradient(cv: Any, sizes: transformer.Sizes) -> Callable[[], Any]:
    parameters = cv.device_put(transformer.parameters(sizes))
    tokens = cv.device_put(transformer.tokens(sizes))
    gradient = cv.jit(cv.value_and_grad(transformer.loss_function(cv, sizes)))
    return lambda: gradient(parameters, tokens)


def rnn_gradient(cv: Any, steps: int, units: int, batch: int) -> Callable[[], Any]:
    cnp = cv.numpy
    shapes = {"recurrent": (units, units), "incoming": (units, units), "b": (units,)}
    parameters = cv.device_put(weights(**shapes))
    inputs = np.random.default_rng(1).standard_normal((steps, batch, units), np.float32)

    def loss(parameters: Parameters, inputs: Any) -> Any:
        def step(state: Any, incoming: Any) -> tuple[Any, Any]:
            driven = incoming @ parameters["incoming"] + parameters["b"]
            state = cnp.tanh(state @ parameters["recurrent"] + driven)
            return state, (state * state).mean()

        _, costs = cv.lax.scan(step, cnp.zeros((batch, units)), inputs)
        return costs.sum()

    gradient = cv.jit(cv.grad(loss))
    inputs = cv.device_put(inputs)
    return lambda: gradient(parameters, inputs)
