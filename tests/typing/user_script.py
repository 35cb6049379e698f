# pyright: strict
"""What a user writes, under the strictest rules of a type checker.

``test_types_of_users.py`` checks it: no annotation of a public function may be missing.
"""

from typing import NamedTuple

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import Array, lax, nn, random
from covector.typing import ArrayLike


class Params(NamedTuple):
    """One hidden layer."""

    hidden: Array
    bias: Array
    output: Array


def start(key: Array, width: int) -> Params:
    """Small random weights."""
    first, second = random.split(key)
    scale = 1 / cnp.sqrt(width)
    hidden = random.normal(first, (2, width)) * scale
    output = random.uniform(second, (width,), minval=-0.5, maxval=0.5)
    return Params(hidden, cnp.zeros(width, dtype="float32"), output)


def predict(params: Params, x: Array) -> Array:
    """The probability of one point, and of each of several."""
    inner = nn.relu(cnp.matmul(x, params.hidden) + params.bias)
    return nn.sigmoid(cnp.dot(inner, params.output))


def loss(params: Params, x: Array, y: Array) -> Array:
    """The cross entropy, and a little for large weights."""
    p = cnp.clip(predict(params, x), 1e-6, 1 - 1e-6)
    entropy = -cnp.mean(cnp.where(y > 0, cnp.log(p), cnp.log1p(-p)))
    return entropy + 1e-4 * cnp.sum(cnp.square(params.output))


@cv.jit
def step(params: Params, x: Array, y: Array) -> Params:
    """One step down the gradient."""
    slope: Params = cv.grad(loss)(params, x, y)
    moved = [p - 0.1 * cnp.tanh(s) for p, s in zip(params, slope, strict=True)]
    return Params(*moved)


def summary(values: ArrayLike) -> dict[str, float]:
    """Numbers about an array, a list of which NumPy made, or a number."""
    x = cnp.ravel(cnp.asarray(values))
    x = cnp.concatenate([x, cnp.flip(x)]).astype(cnp.float32)
    order = lax.sort(cnp.abs(x))
    rows = cnp.stack([cnp.cumsum(x), cnp.exp(-x), cnp.arange(x.size) / 2])
    return {
        "largest": float(cnp.max(x)),
        "spread": float(cnp.std(x)),
        "middle": float(order[x.size // 2]),
        "place": int(cnp.argmax(x)),
        "norm": float(lax.rsqrt(cnp.var(rows) + 1.0)),
        "log": float(nn.logsumexp(cnp.transpose(rows)).sum()),
    }


def main() -> str:
    """Learn which points lie right of a line."""
    points = random.normal(random.key(1), (64, 2))
    labels = cnp.greater(points[:, 0], points[:, 1]).astype("float32")
    params = start(random.key(0), 8)
    for _ in range(20):
        params = step(params, points, labels)
    value, _ = cv.value_and_grad(loss)(params, points, labels)
    batched = cv.vmap(predict, in_axes=(None, 0))(params, points)
    near = cnp.isclose(batched, predict(params, points), atol=1e-5)
    known: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = np.asarray(batched)
    text = step.lower(params, points, labels).as_text()
    return f"{float(value)} {bool(cnp.all(near))} {summary(known)} {len(text)}"
