"""Steady state: jitted training steps, where XLA's own speed is what counts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import transformer
from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import both, normal, workload

TITLE = "Training"

Parameters = dict[str, Any]

RATE = 1e-3


def measures(tiny: bool) -> list[Measure]:
    return [*networks(tiny), *recurrent(tiny), *transformers(tiny), *optimizers(tiny)]


def networks(tiny: bool) -> list[Measure]:
    batch, width, images, rows = (4, 8, 2, 6) if tiny else (128, 512, 64, 100_000)
    flops = 6 * batch * (784 * width + width**2 + 10 * width)
    return [
        Measure(
            f"train step of an MLP, 784–{width}–{width}–10, batch {batch}",
            lambda cv: train(cv, perceptron(cv), *mlp_data(batch, width)),
            {"torch": lambda torch: torch_train(torch, *mlp_data(batch, width))},
            bound=Bound(flops=flops),
        ),
        Measure(
            "train step of a small MLP, 8–32–32–10, batch 32",
            lambda cv: train(cv, perceptron(cv), *mlp_data(32, 32, 8)),
            {"torch": lambda torch: torch_train(torch, *mlp_data(32, 32, 8))},
        ),
        Measure(
            "train step of a small MLP, 8–32–32–10, batch 32 in NumPy",
            lambda cv: train(cv, perceptron(cv), *mlp_data(32, 32, 8), in_numpy=True),
        ),
        Measure(
            f"train step of a convolutional net, NHWC, batch {images} of 28 × 28",
            lambda cv: train(cv, convolutional(cv), *conv_data(images)),
        ),
        Measure(
            f"train step of a convolutional net, NCHW, batch {images} of 28 × 28",
            lambda cv: train(
                cv, convolutional(cv, ("NCHW", "OIHW", "NCHW")), *channels_first(images)
            ),
            {
                "torch": lambda torch: torch_convolutional(
                    torch, *channels_first(images)
                )
            },
        ),
        workload(
            f"gradient of an MLP by example, {batch}, 16–32–1",
            lambda cv: cv.vmap(cv.grad(by_example(cv.numpy), (0, 1)), (None, None, 0)),
            normal((32, 16), (32,), (batch, 16)),
            others={
                "torch": lambda torch: torch.func.vmap(
                    torch.func.grad(by_example(torch), (0, 1)), (None, None, 0)
                )
            },
        ),
        workload(
            f"logistic regression, {rows:,} × 50, full gradient",
            lambda cv: logistic(lambda z: cv.numpy.logaddexp(0.0, z)),
            normal((50,), (rows, 50), (rows,)),
            wrt=0,
            others={"torch": lambda torch: logistic(torch.nn.functional.softplus)},
            bound=Bound(bytes=8 * rows * 50),
        ),
    ]


def recurrent(tiny: bool) -> list[Measure]:
    steps, units, batch = (3, 8, 2) if tiny else (64, 64, 16)
    lstm = 4 if tiny else 128
    return [
        Measure(
            f"gradient of an RNN, scan of {steps} steps, {units} units, batch {batch}",
            partial(rnn_gradient, steps=steps, units=units, batch=batch),
            {
                "torch": partial(
                    torch_rnn_gradient, steps=steps, units=units, batch=batch
                )
            },
        ),
        Measure(
            f"gradient of an RNN, scan of {steps} steps, 8 units, batch 1",
            partial(rnn_gradient, steps=steps, units=8, batch=1),
        ),
        workload(
            f"gradient of an LSTM, {lstm} units, {steps} steps, batch {2 * batch}",
            lstm_cost,
            normal(
                (2 * lstm, 4 * lstm), (steps, 2 * batch, lstm), scale=(2 * lstm) ** -0.5
            ),
            wrt=0,
            others={"torch": torch_lstm_cost},
            bound=Bound(flops=6 * steps * 2 * batch * 2 * lstm * 4 * lstm),
        ),
    ]


def transformers(tiny: bool) -> list[Measure]:
    sizes = transformer.TINY if tiny else transformer.Sizes()
    batch, length, width = (2, 3, 8) if tiny else (8, 128, 256)
    shapes = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
    weights = sum(a * b for a, b in shapes)
    return [
        workload(
            f"gradient of a transformer block, width {width}, {batch} × {length}",
            lambda cv: block(cv.numpy, cv.nn.softmax, cv.nn.gelu),
            both(normal(*shapes, scale=width**-0.5), normal((batch, length, width))),
            wrt=(0, 1, 2, 3),
            others={"torch": torch_block},
            bound=Bound(
                flops=6 * batch * length * weights + 12 * batch * length**2 * width
            ),
        ),
        Measure(
            f"gradient of a {sizes.layers}-layer transformer of jitted layers",
            partial(transformer_gradient, sizes=sizes),
        ),
    ]


def optimizers(tiny: bool) -> list[Measure]:
    many, side, entries = (3, 4, 20) if tiny else (200, 64, 1 << 22)
    return [
        Measure(
            f"Adam of {name}",
            partial(adam, shapes=shapes),
            {"torch": partial(torch_adam, shapes=shapes)},
            same="",
            bound=Bound(bytes=28 * sum(int(np.prod(shape)) for shape in shapes)),
        )
        for name, shapes in (
            (f"{many} arrays of {side}²", ((side, side),) * many),
            (f"one array of {entries:,}", ((entries,),)),
        )
    ]


# -- networks --------------------------------------------------------------------------


def train(  # noqa: PLR0913  a program, its inputs, and how they come
    cv: Any,
    scores: Callable,
    parameters: Parameters,
    x: np.ndarray,
    y: np.ndarray,
    *,
    in_numpy: bool = False,
) -> Callable[[], Any]:
    """Steps of gradient descent on cross-entropy, each from the parameters before.

    Examples are arrays of the peer, or, ``in_numpy``, given to each step as they are.
    """

    def loss(parameters: Parameters, x: Any, y: Any) -> Any:
        chances = cv.nn.log_softmax(scores(parameters, x))
        return -(chances * y).sum(axis=-1).mean()

    @cv.jit
    def step(parameters: Parameters, x: Any, y: Any) -> Parameters:
        slopes = cv.grad(loss)(parameters, x, y)
        return cv.tree.map(lambda p, slope: p - RATE * slope, parameters, slopes)

    parameters = cv.device_put(parameters)
    batch = (x, y) if in_numpy else cv.device_put((x, y))

    def run() -> Parameters:
        nonlocal parameters
        parameters = step(parameters, *batch)
        return parameters

    return run


def perceptron(cv: Any) -> Callable[[Parameters, Any], Any]:
    def scores(parameters: Parameters, x: Any) -> Any:
        x = cv.nn.relu(x @ parameters["w1"] + parameters["b1"])
        x = cv.nn.relu(x @ parameters["w2"] + parameters["b2"])
        return x @ parameters["w3"] + parameters["b3"]

    return scores


def convolutional(
    cv: Any, letters: tuple[str, str, str] = ("NHWC", "HWIO", "NHWC")
) -> Callable[[Parameters, Any], Any]:
    first = letters[0].index("H")

    def layer(x: Any, kernel: Any) -> Any:
        x = cv.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=letters
        )
        height, width = x.shape[first : first + 2]
        halves = height // 2, 2, width // 2, 2
        blocks = cv.nn.relu(x).reshape(*x.shape[:first], *halves, *x.shape[first + 2 :])
        return blocks.max(axis=(first + 1, first + 3))

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


def mlp_data(
    batch: int, width: int, inputs: int = 784
) -> tuple[Parameters, np.ndarray, np.ndarray]:
    shapes = {
        "w1": (inputs, width),
        "b1": (width,),
        "w2": (width, width),
        "b2": (width,),
        "w3": (width, 10),
        "b3": (10,),
    }
    return weights(**shapes), *examples((batch, inputs))


def conv_data(images: int) -> tuple[Parameters, np.ndarray, np.ndarray]:
    shapes = {"k1": (3, 3, 1, 16), "k2": (3, 3, 16, 32), "w": (1568, 10), "b": (10,)}
    return weights(**shapes), *examples((images, 28, 28, 1))


def channels_first(images: int) -> tuple[Parameters, np.ndarray, np.ndarray]:
    parameters, x, y = conv_data(images)
    for name in ("k1", "k2"):
        parameters[name] = parameters[name].transpose(3, 2, 0, 1).copy()
    return parameters, x.transpose(0, 3, 1, 2).copy(), y


def torch_train(
    torch: Any, parameters: Parameters, x: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    """The MLP's step in eager PyTorch."""

    def scores(held: Parameters, x: Any) -> Any:
        hidden = torch.relu(x @ held["w1"] + held["b1"])
        hidden = torch.relu(hidden @ held["w2"] + held["b2"])
        return hidden @ held["w3"] + held["b3"]

    return torch_descent(torch, scores, parameters, x, y)


def torch_convolutional(
    torch: Any, parameters: Parameters, x: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    functional = torch.nn.functional

    def layer(x: Any, kernel: Any) -> Any:
        x = functional.relu(functional.conv2d(x, kernel, padding=1))
        return functional.max_pool2d(x, 2)

    def scores(held: Parameters, x: Any) -> Any:
        x = layer(layer(x, held["k1"]), held["k2"])
        return x.flatten(1) @ held["w"] + held["b"]

    return torch_descent(torch, scores, parameters, x, y)


def torch_descent(
    torch: Any, scores: Callable, parameters: Parameters, x: np.ndarray, y: np.ndarray
) -> Callable[[], Any]:
    """Steps of gradient descent in eager PyTorch."""
    held = {name: torch.tensor(p, requires_grad=True) for name, p in parameters.items()}
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def run() -> dict[str, Any]:
        chances = torch.log_softmax(scores(held, inputs), dim=-1)
        loss = -(chances * labels).sum(dim=-1).mean()
        slopes = torch.autograd.grad(loss, list(held.values()))
        with torch.no_grad():
            for parameter, slope in zip(held.values(), slopes, strict=True):
                parameter.sub_(RATE * slope)
        return {name: parameter.detach() for name, parameter in held.items()}

    return run


def by_example(np: Any) -> Callable[..., Any]:
    return lambda w, v, x: np.tanh(np.tanh(w @ x) @ v)


def logistic(softplus: Callable[[Any], Any]) -> Callable[..., Any]:
    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (softplus(z) - y * z).mean()

    return loss


# -- recurrent networks ----------------------------------------------------------------


def lstm_cost(cv: Any) -> Callable[..., Any]:
    cnp = cv.numpy

    def cost(weights: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> tuple[Any, None]:
            hidden, cell = state
            gates = cnp.concatenate([x, hidden], 1) @ weights
            enter, forget, out, new = cnp.split(gates, 4, 1)
            cell = cv.nn.sigmoid(forget) * cell + cv.nn.sigmoid(enter) * cnp.tanh(new)
            return (cv.nn.sigmoid(out) * cnp.tanh(cell), cell), None

        zeros = cnp.zeros(inputs.shape[1:])
        (hidden, _), _ = cv.lax.scan(step, (zeros, zeros), inputs)
        return (hidden**2).sum()

    return cost


def torch_lstm_cost(torch: Any) -> Callable[..., Any]:
    def cost(weights: Any, inputs: Any) -> Any:
        hidden = cell = torch.zeros(inputs.shape[1:])
        for x in inputs:
            gates = torch.cat([x, hidden], 1) @ weights
            enter, forget, out, new = gates.chunk(4, 1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
        return (hidden**2).sum()

    return cost


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


def torch_rnn_gradient(
    torch: Any, steps: int, units: int, batch: int
) -> Callable[[], Any]:
    shapes = {"recurrent": (units, units), "incoming": (units, units), "b": (units,)}
    arrays = weights(**shapes)
    held = {name: torch.tensor(p, requires_grad=True) for name, p in arrays.items()}
    inputs = np.random.default_rng(1).standard_normal((steps, batch, units), np.float32)
    inputs = torch.tensor(inputs)

    def run() -> dict[str, Any]:
        state, cost = torch.zeros(batch, units), 0.0
        for incoming in inputs:
            driven = incoming @ held["incoming"] + held["b"]
            state = torch.tanh(state @ held["recurrent"] + driven)
            cost = cost + (state * state).mean()
        slopes = torch.autograd.grad(cost, list(held.values()))
        return dict(zip(held, slopes, strict=True))

    return run


# -- transformers ----------------------------------------------------------------------


def block(np: Any, softmax: Any, gelu: Any, heads: int = 4) -> Callable[..., Any]:
    """A loss of one block: attention, a network of two layers, norms before each."""

    def norm(x: Any) -> Any:
        centred = x - x.mean(-1)[..., None]
        return centred / np.sqrt((centred**2).mean(-1)[..., None] + 1e-5)

    def loss(mixed: Any, joined: Any, wide: Any, narrow: Any, x: Any) -> Any:
        batch, length, width = x.shape
        parts = (norm(x) @ mixed).reshape(batch, length, 3, heads, width // heads)
        q, k, v = (parts[:, :, i] for i in range(3))
        scores = np.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
        seen = np.einsum("bhqk,bkhd->bqhd", softmax(scores, -1), v)
        x = x + seen.reshape(batch, length, width) @ joined
        x = x + gelu(norm(x) @ wide) @ narrow
        return (x**2).mean()

    return loss


def torch_block(torch: Any) -> Callable[..., Any]:
    gelu = partial(torch.nn.functional.gelu, approximate="tanh")
    return block(torch, torch.softmax, gelu)


def transformer_gradient(cv: Any, sizes: transformer.Sizes) -> Callable[[], Any]:
    parameters = cv.device_put(transformer.parameters(sizes))
    tokens = cv.device_put(transformer.tokens(sizes))
    gradient = cv.jit(cv.value_and_grad(transformer.loss_function(cv, sizes)))
    return lambda: gradient(parameters, tokens)


# -- optimizers ------------------------------------------------------------------------


def drawn(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    return list(normal(*shapes)())


def adam(cv: Any, shapes: tuple[tuple[int, ...], ...]) -> Callable[[], Any]:
    """Updates with fixed gradients; what is replaced is donated."""

    @partial(cv.jit, donate_argnums=(0, 1, 2))
    def step(parameters: Any, means: Any, squares: Any, slopes: Any) -> Any:
        zipped = zip(parameters, means, squares, slopes, strict=True)
        found = []
        for p, m, s, slope in zipped:
            mean, square = 0.9 * m + 0.1 * slope, 0.999 * s + 0.001 * slope**2
            moved = p - RATE * mean / (cv.numpy.sqrt(square) + 1e-8)
            found.append((moved, mean, square))
        return tuple([list(part) for part in zip(*found, strict=True)])

    slopes = cv.device_put(drawn(shapes))
    state = tuple([cv.device_put(drawn(shapes)) for _ in range(3)])
    state = (*state[:2], [cv.numpy.abs(s) for s in state[2]])

    def run() -> Any:
        nonlocal state
        state = step(*state, slopes)
        return state[0]

    return run


def torch_adam(torch: Any, shapes: tuple[tuple[int, ...], ...]) -> Callable[[], Any]:
    parameters = [torch.nn.Parameter(torch.from_numpy(x)) for x in drawn(shapes)]
    for parameter, slope in zip(parameters, drawn(shapes), strict=True):
        parameter.grad = torch.from_numpy(slope)
    optimizer = torch.optim.Adam(parameters, RATE, foreach=True)

    def run() -> Any:
        optimizer.step()
        return None

    return run
