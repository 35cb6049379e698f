"""A transformer that writes documentation.

A small decoder-only transformer learns to predict the next character of a text.
The text is in every Python installation: `pydoc_data.topics`, 465,000
characters of the language reference, which `help("for")` prints from.

The model is the usual one: embeddings, blocks of causal self-attention and a
perceptron, each behind a layer normalization, and a linear read-out. It is 40
lines, because it is written for one sequence, and `vmap` adds the batch.

The full program takes about 1 minute on two CPU cores.
"""

from pydoc_data.topics import topics
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.example_libraries import optimizers

# %%
# ## The text
#
# Characters are the tokens. Rare ones are left out, which leaves about 90.

TEXT = "\n\n".join(topics[name] for name in sorted(topics))
ALPHABET = [c for c in sorted(set(TEXT)) if TEXT.count(c) > 50]
TOKEN = {c: i for i, c in enumerate(ALPHABET)}


def encode(text: str) -> np.ndarray:
    """The tokens of a text."""
    return np.array([TOKEN[c] for c in text if c in TOKEN], np.int32)


TOKENS = encode(TEXT)


# %%
# ## The model
#
# `dot_product_attention` takes `[length, heads, width]`. `initialize` makes one
# block per key with `vmap`, so that the parameters of all blocks are stacked
# along a leading axis, and the model is a `lax.scan` over it: the program that
# XLA compiles has one block, however deep the network is.

LENGTH, WIDTH, HEADS, BLOCKS = 64, 64, 4, 3
Params = Any


def initialize(key: Array) -> Params:
    """Embeddings, stacked blocks, and a read-out."""
    normal = cv.nn.initializers.normal(0.02)
    lecun = cv.nn.initializers.lecun_normal()

    def block(key):
        qkv, out, up, down = cv.random.split(key, 4)
        return {
            "qkv": lecun(qkv, (WIDTH, 3 * WIDTH)),
            "out": lecun(out, (WIDTH, WIDTH)),
            "up": lecun(up, (WIDTH, 4 * WIDTH)),
            "down": lecun(down, (4 * WIDTH, WIDTH)),
            "scale": cnp.ones((2, WIDTH)),
        }

    tokens, positions, blocks, readout = cv.random.split(key, 4)
    return {
        "tokens": normal(tokens, (len(ALPHABET), WIDTH)),
        "positions": normal(positions, (LENGTH, WIDTH)),
        "blocks": cv.vmap(block)(cv.random.split(blocks, BLOCKS)),
        "readout": lecun(readout, (WIDTH, len(ALPHABET))),
    }


def logits(params: Params, tokens: Array) -> Array:
    """The logits of the token after each of ``tokens``, ``[length]``."""

    def block(x, weights):
        h = cv.nn.standardize(x) * weights["scale"][0]
        qkv = (h @ weights["qkv"]).reshape(len(x), 3, HEADS, WIDTH // HEADS)
        attended = cv.nn.dot_product_attention(
            qkv[:, 0], qkv[:, 1], qkv[:, 2], is_causal=True
        )
        x = x + attended.reshape(x.shape) @ weights["out"]
        h = cv.nn.standardize(x) * weights["scale"][1]
        return x + cv.nn.gelu(h @ weights["up"]) @ weights["down"], None

    x = params["tokens"][tokens] + params["positions"][: len(tokens)]
    x, _ = cv.lax.scan(block, x, params["blocks"])
    return cv.nn.standardize(x) @ params["readout"]


def loss(params: Params, windows: Array) -> Array:
    """The mean cross entropy of the next character, in nats."""
    predicted = cv.vmap(logits, in_axes=(None, 0))(params, windows[:, :-1])
    log_probabilities = cv.nn.log_softmax(predicted)
    following = windows[:, 1:, None]
    return -cnp.take_along_axis(log_probabilities, following, axis=-1).mean()


# %%
# ## Training
#
# A step draws random windows of the text and takes one step of Adam. `jit`
# compiles all of it into one program; `donate_argnums` lets the new state take
# the memory of the old one.


def windows(key: Array, tokens: Array, count: int) -> Array:
    """Random windows of the text, ``[count, LENGTH + 1]``."""
    starts = cv.random.randint(key, (count, 1), 0, len(tokens) - LENGTH)
    return tokens[starts + cnp.arange(LENGTH + 1)]


def train(key: Array, tokens: Array, steps: int, batch: int) -> tuple[Params, Any]:
    """The parameters after ``steps`` steps, and the loss of each."""
    init, update, get_params = optimizers.adam(
        lambda i: 3e-3 * cnp.minimum((i + 1) / 50, 1 - i / (steps + 1)), b2=0.98
    )

    @cv.jit(donate_argnums=1)
    def step(i, state):
        rows = windows(cv.random.fold_in(key, i), tokens, batch)
        value, gradient = cv.value_and_grad(loss)(get_params(state), rows)
        return update(i, optimizers.clip_grads(gradient, 1.0), state), value

    state = init(initialize(key))
    losses = []
    for i in range(steps):
        state, value = step(i, state)
        losses.append(value)
    return get_params(state), np.array(losses)


# %%
# ## Writing
#
# A sample is drawn character by character. The window always has the same
# length, so that the model is compiled once; `scan` carries it from one
# character to the next.


@cv.jit(static_argnames="length")
def write(params: Params, key: Array, start: Array, length: int) -> Array:
    """``length`` characters after ``start``, of at least ``LENGTH``."""

    def step(window, key):
        scores = logits(params, window)[-1]
        token = cv.random.categorical(key, scores / 0.7)
        return cnp.append(window[1:], token), token

    return cv.lax.scan(step, start[-LENGTH:], cv.random.split(key, length))[1]


class Result(NamedTuple):
    """The losses, and what the model writes."""

    losses: np.ndarray
    test_loss: float
    sample: str


def main(steps: int = 1200, batch: int = 32, length: int = 400) -> Result:
    """Train on the first nine tenths of the text, and continue a sentence."""
    cut = len(TOKENS) * 9 // 10
    train_tokens, test_tokens = cnp.array(TOKENS[:cut]), cnp.array(TOKENS[cut:])
    params, losses = train(cv.random.key(0), train_tokens, steps, batch)
    held_out = windows(cv.random.key(1), test_tokens, 256)
    test_loss = float(cv.jit(loss)(params, held_out))
    prompt = "The for statement is used to iterate over the elements of a sequence: "
    written = write(params, cv.random.key(2), cnp.array(encode(prompt)), length)
    sample = prompt + "".join(ALPHABET[i] for i in written.tolist())
    print(f"loss on held-out text: {test_loss:.2f} nats per character\n\n{sample}")
    return Result(losses, test_loss, sample)


# %%
# ## The figure
#
# For comparison: a model that knows how frequent each character is, and nothing
# else, reaches the dashed line.


def draw(result: Result) -> Figure:
    """The loss of each step, and that of guessing by frequency."""
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(result.losses, linewidth=0.4, alpha=0.5)
    span = max(1, len(result.losses) // 40)
    mean = np.convolve(result.losses, np.ones(span) / span, mode="valid")
    axes.plot(np.arange(len(mean)) + span / 2, mean, color="C0", label="training")
    frequency = np.bincount(TOKENS) / len(TOKENS)
    entropy = -np.sum(frequency * np.log(frequency))
    axes.axhline(entropy, linestyle="--", color="C1", label="character frequencies")
    axes.axhline(result.test_loss, color="C2", label="held-out text")
    axes.set(xlabel="step", ylabel="nats per character")
    axes.legend()
    return figure


if __name__ == "__main__":
    draw(main()).savefig("transformer.png")

# %%
# ## What to try next
#
# - Wrap `block` in `cv.checkpoint`: it is computed again in the backward pass
#   instead of kept, and the memory no longer grows with the width of the
#   perceptron.
# - Cast the parameters to `bfloat16` inside `loss`; the optimizer stays in
#   `float32`.
# - Keep the keys and values of earlier characters when writing, instead of
#   running the model over the whole window each time.
