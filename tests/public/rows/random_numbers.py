"""Rows of ``covector.random``: the numbers are those of JAX, whatever asks for them."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Key, Maker
from tests.public.table import rows

FLOATS = ("float32", "float16", "bfloat16")


def key(draw: Draw, shape: tuple[int, ...] = ()) -> Key:
    return Key(draw.integer(0, 1000), shape)


def drawn(*within: tuple[float, float], dtypes: tuple[str, ...] = FLOATS) -> Maker:
    """A key, parameters within bounds, and a shape that they broadcast to."""

    def make(draw: Draw) -> Any:
        shape = draw.shape((0, 2))
        parameters = [
            draw.array("f", draw.pick((), shape), bounds) for bounds in within
        ]
        return (key(draw), *parameters), {"shape": shape} | draw.some(dtype=dtypes)

    return make


PLAIN: dict[str, Any] = {"derivative": False, "rounding": 64.0}
SLOW: dict[str, Any] = {"derivative": False, "rounding": 2048.0}
POSITIVE = (0.4, 3.0)
rows("random", "normal uniform exponential laplace logistic gumbel cauchy maxwell",
     drawn(), **PLAIN)  # fmt: skip
rows("random", "rademacher", drawn(dtypes=("int32", "float32")), **PLAIN)
rows("random", "bits", drawn(dtypes=("uint8", "uint16", "uint32")), **PLAIN)
rows("random", "truncated_normal", drawn((-2, 0), (0.1, 2)), **PLAIN, cancels=True)
rows("random", "pareto rayleigh chisquare t generalized_normal",
     drawn(POSITIVE, dtypes=("float32",)), **SLOW)  # fmt: skip
rows("random", "gamma loggamma", drawn(POSITIVE, dtypes=("float32",)), **SLOW)
rows(
    "random",
    "beta weibull_min f",
    drawn(POSITIVE, POSITIVE, dtypes=("float32",)),
    **SLOW,
)
rows("random", "lognormal wald", drawn(POSITIVE, dtypes=("float32",)), **SLOW)
rows("random", "geometric", drawn((0.2, 0.9), dtypes=("int32",)), **PLAIN)
rows("random", "poisson", drawn((0.5, 20), dtypes=("int32",)), **PLAIN)


def bounded(draw: Draw) -> Any:
    low = draw.integer(-9, 3)
    names = ("int32", "int16", "uint8") if low >= 0 else ("int32", "int16", "int8")
    shape, high = draw.shape((0, 2)), low + draw.integer(1, 99)
    return (key(draw), shape, low, high), {"dtype": draw.pick(*names)}


def weighted(draw: Draw) -> Any:
    logits = draw.values("float32", draw.shape((1, 2), empty=False), (-2, 2))
    return (key(draw), logits), draw.some(axis=(-1, 0))


def flipped(draw: Draw) -> Any:
    shape = draw.shape((0, 2))
    return (key(draw), draw.values("float32", shape, (0, 1))), {"shape": shape}


def arranged(draw: Draw) -> Any:
    x = draw.pick(draw.integer(1, 9), draw.array("iuf", draw.shape((1, 2))))
    return (key(draw), x), draw.some(axis=(0, -1), independent=(True, False))


def picked(draw: Draw) -> Any:
    x = draw.pick(7, draw.array("iuf", (6, 2)))
    named = draw.some(replace=(True, False)) | {"shape": draw.pick((), (3,), (2, 2))}
    return (key(draw), x), named


def counted(draw: Draw) -> Any:
    trials = draw.values("float32", draw.shape((0, 1)), (1, 12)).round()
    return (key(draw), trials, draw.values("float32", (), (0.1, 0.9))), {}


def two_sided(draw: Draw) -> Any:
    shape = draw.shape((0, 2))
    loc, scale = (draw.values("float32", (), b) for b in ((-1, 1), POSITIVE))
    return (key(draw), loc, scale), {"shape": shape}


def shared_out(draw: Draw) -> Any:
    alpha = draw.values("float32", (*draw.shape((0, 1), empty=False), 3), POSITIVE)
    return (key(draw), alpha), {}


def outcomes(draw: Draw) -> Any:
    p = draw.values("float32", (4,), (0.1, 1.0))
    return (key(draw), draw.values("float32", (), (1, 9)).round(), p / p.sum()), {}


def in_ball(draw: Draw) -> Any:
    return (key(draw), draw.integer(1, 4)), draw.some(p=(1, 2), shape=((), (3,)))


def between(draw: Draw) -> Any:
    left, mode, right = (draw.values("float32", (), (k, k + 0.9)) for k in range(3))
    return (key(draw), left, mode, right), {"shape": draw.shape((0, 2))}


def correlated(draw: Draw) -> Any:
    root = draw.values("float32", (3, 3), (-1, 1)) + 2 * np.eye(3, dtype="float32")
    mean = draw.values("float32", draw.pick((3,), (2, 3)), (-2, 2))
    named = draw.some(method=("cholesky",), shape=((2,), (3, 2)))
    return (key(draw), mean, root @ root.T), named


def turned(draw: Draw) -> Any:
    named = draw.some(m=(2, 4), shape=((), (2,)), dtype=("float32", "complex64"))
    return (key(draw), draw.integer(1, 4)), named


rows("random", "multivariate_normal", correlated, **SLOW, cancels=True, shuffled=False)
rows("random", "orthogonal", turned, **SLOW)
rows("random", "randint", bounded, **PLAIN)
rows("random", "double_sided_maxwell", two_sided, **PLAIN)
rows("random", "categorical", weighted, **PLAIN)
rows("random", "bernoulli", flipped, **PLAIN)
rows("random", "permutation", arranged, **PLAIN)
rows("random", "choice", picked, **PLAIN)
rows("random", "binomial", counted, **PLAIN)
rows("random", "dirichlet", shared_out, **SLOW)
rows("random", "multinomial", outcomes, **PLAIN)
rows("random", "ball", in_ball, **SLOW)
rows("random", "triangular", between, **SLOW)


def keys_and_count(draw: Draw) -> Any:
    return key(draw), draw.pick(1, 3, (2, 2))


def keys_and_word(draw: Draw) -> Any:
    return key(draw), draw.values("uint32", (), (0, 99))


rows(
    "random", "key_data clone", lambda draw: (key(draw, draw.pick((), (2,))),), **PLAIN
)
rows("random", "split", keys_and_count, **PLAIN)
rows("random", "fold_in", keys_and_word, **PLAIN)
rows("random", "key PRNGKey", lambda draw: (draw.integer(0, 1 << 31),), **PLAIN)
rows("random", "wrap_key_data",
     lambda draw: (draw.values("uint32", (*draw.shape((0, 1)), 2), (0, 99)),),
     **PLAIN)  # fmt: skip


def state_and_shape(draw: Draw) -> Any:
    state = draw.values("uint32", (4,), (0, 99))
    return (state, draw.shape((0, 2))), draw.some(dtype=("uint8", "uint16", "uint32"))


rows("lax", "rng_bit_generator", state_and_shape, **PLAIN)
