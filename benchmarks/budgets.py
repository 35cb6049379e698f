"""Ten programs within half of the memory that they would take: ``python -m
benchmarks.budgets``.

Each is compiled plainly, and with a budget of a part of its compiled peak (half, or the
part given as an argument). The table says what the compiled peak is then, whether the
results are the same, and how much more processor time a run takes: the least of
several, of both in turn.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import lax, nn

RUNS = 7


class Case(NamedTuple):
    """A program: plainly, and as one that takes a budget."""

    name: str
    plain: Callable[..., Any]
    within: Callable[[int], Callable[..., Any]]
    args: tuple[Any, ...]


def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Values of any kind: times and memory do not depend on them."""
    generator = np.random.default_rng(sum(shape))
    return (scale * generator.normal(size=shape)).astype(np.float32)


def of_gradient(name: str, loss: Callable[..., Any], *args: Any) -> Case:
    """The gradient of a loss with respect to its first argument."""
    return Case(name, cv.grad(loss), lambda m: cv.grad(loss, memory=m), args)


def of_batch(name: str, f: Callable[..., Any], in_axes: Any, *args: Any) -> Case:
    """A function of a lane over a batch."""
    within = lambda m: cv.vmap(f, in_axes, memory=m)  # noqa: E731
    return Case(name, cv.vmap(f, in_axes), within, args)


# -- gradients -------------------------------------------------------------------------


def mlp(weights, x):
    for w in weights:
        x = nn.gelu(x @ w)
    return cnp.mean(x**2)


def transformer(layers, x):
    for layer in layers:
        y = nn.standardize(x)
        q, k, v = [cnp.einsum("btd,dhe->bthe", y, w) for w in layer["qkv"]]
        x = x + nn.dot_product_attention(q, k, v).reshape(x.shape) @ layer["out"]
        x = x + nn.gelu(nn.standardize(x) @ layer["up"]) @ layer["down"]
    return cnp.mean(x**2)


def transformer_layers(count, width, heads):
    inside = (width, heads, width // heads)
    return [
        {
            "qkv": [normal(*inside, scale=width**-0.5) for _ in range(3)],
            "out": normal(width, width, scale=width**-0.5),
            "up": normal(width, 4 * width, scale=width**-0.5),
            "down": normal(4 * width, width, scale=0.5 * width**-0.5),
        }
        for _ in range(count)
    ]


def convnet(kernels, x):
    for kernel in kernels:
        axes = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=axes)
        x = nn.relu(x)
    return cnp.mean(x**2)


def rnn(weights, xs):
    def step(h, x):
        h = cnp.tanh(h @ weights["h"] + x @ weights["x"])
        return h, None

    start = cnp.zeros((xs.shape[1], weights["h"].shape[0]))
    return cnp.mean(lax.scan(step, start, xs)[0] ** 2)


def neural_ode(weights, start):
    def field(y):
        return cnp.tanh(y @ weights["in"]) @ weights["out"]

    def step(y, _):
        a = field(y)
        b = field(y + 0.05 * a)
        c = field(y + 0.05 * b)
        d = field(y + 0.1 * c)
        return y + 0.1 / 6 * (a + 2 * b + 2 * c + d), None

    return cnp.mean(lax.scan(step, start, None, length=64)[0] ** 2)


def rollout(velocities, positions, masses):
    def step(state, _):
        x, v = state
        apart = x[:, None] - x
        distance = cnp.sqrt((apart**2).sum(-1) + 0.1)
        force = -(masses[:, None] * apart / distance[..., None] ** 3).sum(1)
        v = v + 0.01 * force
        return (x + 0.01 * v, v), None

    (x, _), _ = lax.scan(step, (positions, velocities), None, length=100)
    return cnp.mean(x**2)


# -- batches ---------------------------------------------------------------------------


def gradient_norm(weights, x, y):
    """The norm of the gradient of one example, a sequence."""

    def loss(weights):
        h = x
        for w in weights[:-1]:
            h = cnp.tanh(h @ w)
        return cnp.mean((h @ weights[-1] - y) ** 2)

    return sum([(g**2).sum() for g in cv.grad(loss)(weights)])


def attend(query, keys, values):
    """The attention of a query to a long sequence."""
    return nn.softmax(keys @ query) @ values


def kernel_row(x, others):
    """A row of a matrix of kernels between small matrices."""
    products = cnp.einsum("ab,ncb->nac", x, others)
    return cnp.sqrt(nn.softmax(products).max(-1).sum(-1))


def member(weights, x):
    """The predictions of a member of an ensemble, and how sure it is."""
    for w in weights:
        x = cnp.tanh(x @ w)
    return nn.softmax(x).max(-1).mean()


def cases() -> list[Case]:
    """The ten programs."""
    recurrent = {"h": normal(128, 128, scale=0.08), "x": normal(64, 128, scale=0.1)}
    field = {"in": normal(64, 256, scale=0.1), "out": normal(256, 64, scale=0.1)}
    kernels = [normal(3, 3, 1, 16), *[normal(3, 3, 16, 16, scale=0.08)] * 9]
    weights = [normal(64, 128, scale=0.1), normal(128, 8, scale=0.1)]
    ensemble = [normal(64, 64, 64, scale=0.1) for _ in range(3)]
    return [
        of_gradient(
            "MLP, 16 layers",
            mlp,
            [normal(128, 128, scale=0.09)] * 16,
            normal(4096, 128),
        ),
        of_gradient(
            "transformer, 6 layers",
            transformer,
            transformer_layers(6, 128, 4),
            normal(8, 128, 128),
        ),
        of_gradient("convnet, 10 layers", convnet, kernels, normal(16, 48, 48, 1)),
        of_gradient("RNN, 128 steps", rnn, recurrent, normal(128, 128, 64)),
        of_gradient("neural ODE, 64 steps", neural_ode, field, normal(256, 64)),
        of_gradient(
            "physics, 100 steps", rollout, normal(64, 3), normal(64, 3), normal(64) ** 2
        ),
        of_batch(
            "per-example gradients",
            gradient_norm,
            (None, 0, 0),
            weights,
            normal(128, 96, 64),
            normal(128, 96, 8),
        ),
        of_batch(
            "attention, 4096 keys",
            attend,
            (0, None, None),
            normal(2048, 32),
            normal(4096, 32),
            normal(4096, 32),
        ),
        of_batch(
            "kernel matrix",
            kernel_row,
            (0, None),
            normal(256, 12, 16),
            normal(256, 12, 16),
        ),
        of_batch("ensemble of 64", member, (0, None), ensemble, normal(1024, 64)),
    ]


# -- measuring -------------------------------------------------------------------------


def compiled(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, int]:
    """The compiled program, and its peak."""
    made = cv.jit(f).lower(*args).compile()
    return made, made.runtime_executable().memory_use().peak


def seconds(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Of all cores, since others may use the machine as well."""
    start = time.process_time()
    cv.block_until_ready(f(*args))
    return time.process_time() - start


def difference(got: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest value of its array."""
    pairs = zip(cv.tree.leaves(got), cv.tree.leaves(wanted), strict=True)
    return max(float(abs(x - y).max() / (abs(y).max() + 1e-30)) for x, y in pairs)


def row(case: Case, part: float) -> list[str]:
    """A row of the table."""
    plain, before = compiled(case.plain, case.args)
    budget = int(part * before)
    start = time.perf_counter()
    known = [case.name, f"{before / 1e6:.1f}", f"{budget / 1e6:.1f}"]
    try:
        within, after = compiled(case.within(budget), case.args)
    except cv.errors.OverBudget as error:
        _, _, least = str(error).partition("that it can keep is ")
        return [*known, f"at least {least.partition(' (')[0]}", *["–"] * 4]
    took = time.perf_counter() - start
    wrong = difference(within(*case.args), plain(*case.args))
    given = [cv.tree.map(cnp.asarray, a) for a in case.args]
    times = [(seconds(plain, given), seconds(within, given)) for _ in range(RUNS)]
    one, other = [min(column) for column in zip(*times, strict=True)]
    ratio = f"{other / one:.2f}"
    shown = [f"{after / 1e6:.1f}", f"{wrong:.0e}", f"{1e3 * one:.0f}", ratio]
    return [*known, *shown, f"{took:.1f}"]


HEADS = (
    *("program", "peak, MB", "budget", "peak within"),
    *("difference", "ms", "time", "plan, s"),
)


def main() -> None:
    """Print the table."""
    part = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    print(f"| {' | '.join(HEADS)} |")
    print("|---" * len(HEADS) + "|")
    for case in cases():
        if case.name.startswith(tuple(sys.argv[2:]) or ""):
            print(f"| {' | '.join(row(case, part))} |", flush=True)


if __name__ == "__main__":
    main()
