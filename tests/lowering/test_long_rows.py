"""Arrays of short rows are computed as one row, and their values stay the same."""

import random

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn
from covector.lowering.long_rows import LEAST, LEAST_IN_LOOPS
from covector.scipy import special

ROWS = LEAST // 5 + 1
X = np.linspace(0.05, 0.95, ROWS * 5, dtype=np.float32).reshape(ROWS, 5)
B = np.array([0.5, 0.6, 0.7, 0.8, 0.9], np.float32)
S = np.linspace(0.1, 1, ROWS, dtype=np.float32)
LARGE = np.resize(X, (LEAST_IN_LOOPS // 5 + 1, 5))
SPACE = np.resize(X, (ROWS, 2, 5))


def views(fun, *args, **options):
    """How often a compiled program looks at memory under another shape."""
    text = cv.jit(fun, **options).lower(*args).as_text()
    return text.count("call @view")


def check_values(fun, *args):
    """Compiled is eager, operation by operation on few elements at a time."""
    found = cv.tree.leaves(cv.jit(fun)(*args))
    with cv.disable_jit():
        wanted = cv.tree.leaves(fun(*[cnp.asarray(x) for x in args]))
    for a, b in zip(found, wanted, strict=True):
        assert a.type.strong() == b.type.strong()
        wide = np.float32 if a.dtype == ml_dtypes.bfloat16 else a.dtype
        pair = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
        np.testing.assert_allclose(*pair, rtol=2e-5, atol=2e-6)


# -- what is computed as one row -------------------------------------------------------


def test_a_function_of_short_rows_is_computed_as_one():
    assert views(special.erfinv, X) == 2
    text = cv.jit(special.erfinv).lower(X).compile().as_text()
    assert f"f32[{X.size}]{{0}} fusion" in text
    assert f"f32[{ROWS},5]{{1,0}} fusion" not in text


def test_views_take_no_memory():
    use = cv.jit(special.erfinv).lower(X).compile().memory_analysis()
    assert use.temp_size_in_bytes == 0
    donated = cv.jit(special.erfinv, donate_argnums=0).lower(X).compile()
    assert donated.memory_analysis().alias_size_in_bytes == X.nbytes
    assert " copy(" not in donated.as_text()


def test_an_array_is_viewed_once_however_often_it_is_read():
    assert views(lambda x, y: (cnp.exp(x) * y + x, cnp.sin(x) * y), X, X) == 4


def test_what_calls_compute_is_a_part_of_the_row():
    assert views(lambda x: nn.gelu(nn.softplus(x)) * 2, X) == 2


@pytest.mark.parametrize(
    "shape", [(ROWS, 5), (LEAST + 1, 1), (3, LEAST, 2), (40, 10, 5, 2), (9, 250)]
)
def test_shapes_of_short_rows(shape):
    x = np.resize(X, shape)
    assert views(cnp.exp, x) == 2
    check_values(lambda x: cnp.exp(x) * x, x)


@pytest.mark.parametrize(
    "shape", [(LEAST,), (LEAST // 64, 64), (8, 256), (9, 300), (20, 5), (0, 5)]
)
def test_other_shapes_are_computed_as_they_are(shape):
    x = np.resize(X, shape)
    assert views(cnp.exp, x) == 0
    check_values(lambda x: cnp.exp(x) * x, x)


def test_a_total_is_of_the_row():
    assert views(lambda x: nn.gelu(x).mean(), X) == 1
    check_values(lambda x: (nn.gelu(x).mean(), (x * x).max(), (x > 0.5).any()), X)


def test_the_same_number_everywhere_is_not_viewed():
    assert views(lambda x: cnp.ones(x.shape) * x + cnp.full(x.shape, 2.0), X) == 2


def test_what_is_broadcast_is_written_only_for_what_takes_long():
    assert views(lambda x, b: x * b, X, B) == 0
    assert views(lambda x, b: special.gammaln(x * b), X, B) == 3
    check_values(lambda x, b: special.gammaln(x * b), X, B)
    check_values(lambda x, s: special.gammaln(x * s[:, None]), X, S)


def test_what_a_sum_of_rows_reads_is_written_only_for_what_takes_long():
    assert views(lambda x: (x * x).sum(-1), X) == 0
    assert views(lambda x: special.gammaln(x).sum(-1), X) == 2
    check_values(lambda x: special.gammaln(x).sum(-1), X)


def test_products_and_sorts_take_it_from_memory():
    assert views(lambda x, w: nn.gelu(x) @ w, X, np.eye(5, 3, dtype=np.float32)) == 2
    check_values(lambda x: cnp.sort(cnp.exp(x) - 1, axis=-1) * 2, X)


def test_results_of_short_rows_share_a_loop():
    def adam(p, m, v, g):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 0.1 * m / (cnp.sqrt(v) + 1e-8), m, v

    args = [np.resize(X, (1 << 14, 5))] * 4
    text = cv.jit(adam).lower(*args).as_text()
    assert text.count("reduce_window") == 1
    assert text.count("call @view") == 7
    check_values(adam, *args)


def test_programs_over_a_mesh_are_lowered_as_before():
    mesh = cv.make_mesh((2,), ("rows",))
    x = cv.device_put(np.resize(X, (LEAST, 5)), cv.NamedSharding(mesh, cv.P("rows")))
    assert views(special.erfinv, x) == 0
    np.testing.assert_allclose(
        cv.jit(special.erfinv)(x), special.erfinv(np.asarray(x)), rtol=1e-6
    )


# -- loops -----------------------------------------------------------------------------


def counted(step):
    return lambda x: lax.fori_loop(0, 7, lambda _, x: step(x), x)


def until(step):
    def fun(x):
        start = (0, x)
        return lax.while_loop(
            lambda s: s[0] < 7, lambda s: (s[0] + 1, step(s[1])), start
        )[1]

    return fun


def stored(step):
    return lambda x: lax.scan(lambda c, _: (step(c), c * 2), x, None, length=3)


def of_slices(step):
    return lambda x: lax.scan(lambda c, y: (step(c + y), None), x, cnp.stack([x, x]))[0]


@pytest.mark.parametrize("loop", [counted, until, stored, of_slices])
def test_steps_of_loops_are_computed_as_one_row(loop):
    def step(x):
        return 0.5 + 0.1 * special.erfinv(x / 4)

    assert views(loop(step), LARGE) > 0
    assert views(loop(step), X[:6]) == 0
    check_values(loop(step), LARGE)


def test_steps_of_loops_copy_nothing():
    def loop(x):
        return lax.while_loop(
            lambda s: s[0] < 7, lambda s: (s[0] + 1, nn.gelu(s[1])), (0, x)
        )[1]

    text = cv.jit(loop).lower(LARGE).compile().as_text()
    assert text[: text.index("ENTRY")].count(f"{LARGE.shape[0]},5]{{1,0}} copy") == 0


def test_branches_and_gradients():
    def branch(x):
        return lax.cond(x[0, 0] > 0, special.erfinv, cnp.exp, x)

    check_values(lambda x: branch(nn.gelu(x)) * 2, X)
    check_values(cv.grad(lambda x: (branch(x) * nn.softplus(x)).sum()), X)
    check_values(cv.grad(lambda x: counted(nn.gelu)(x).sum()), LARGE)


# -- elements --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int32", "uint16", "float16", "bfloat16", "float32", "complex64"],
)
def test_all_kinds_of_elements(dtype):
    x = cnp.asarray(X * 20).astype(dtype)
    assert views(lambda x: x + x, x) == 2
    check_values(lambda x: (x + x, x != 0, cnp.where(x != 0, x, x * x)), x)


def test_64_bits():
    with cv.enable_x64():
        x = X.astype(np.float64)
        assert views(cnp.tanh, x) == 2
        check_values(lambda x: cnp.tanh(x) * 2, x)


def test_nan_infinities_and_zeros_stay():
    x = np.resize(np.float32([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 3]), (ROWS, 5))
    found = cv.jit(lambda x: -x)(x)
    np.testing.assert_array_equal(np.asarray(found).view(np.int32), (-x).view(np.int32))


# -- programs that were drawn ----------------------------------------------------------

_UNARY = [cnp.exp, cnp.tanh, special.erf, nn.gelu, cnp.abs, lambda x: x * 0.5 - 1]
_BINARY = [cnp.add, cnp.multiply, cnp.maximum, lambda a, b: cnp.where(a > b, a, b)]
_MOVES = [
    lambda x: x[::-1],
    lambda x: x.reshape(5, -1).reshape(x.shape),
    lambda x: cnp.broadcast_to(x[:1], x.shape),
    lambda x: cnp.broadcast_to(x.sum(0), x.shape) / x.shape[0],
    lambda x: x - x.mean(-1, keepdims=True),
    lambda x: cnp.sort(x, axis=0),
    lambda x: x @ cnp.eye(5) * 0.5,
    lambda x: x / (1 + x.max()),
    lambda x: cnp.concatenate([x[1:], x[:1]]),
    lambda x: x.T.reshape(x.shape),
    cv.jit(lambda x: special.erf(x) + x),
]


def drawn(seed):
    """A function of two arrays, and a few of what it computes as results."""
    rng = random.Random(seed)
    steps = [rng.choice(["unary", "unary", "binary", "move"]) for _ in range(9)]
    choices = [rng.random() for _ in range(4 * len(steps))]
    kept = rng.sample(range(2, 2 + len(steps)), 3)

    def fun(x, y):
        there, left = [x, y], iter(choices)

        def pick(values):
            return values[int(next(left) * len(values))]

        for kind in steps:
            if kind == "binary":
                there.append(cnp.clip(pick(_BINARY)(pick(there), pick(there)), -3, 3))
            else:
                f = pick(_UNARY if kind == "unary" else _MOVES)
                there.append(cnp.clip(f(pick(there)), -3, 3))
        return [there[k] for k in kept]

    return fun


@pytest.mark.parametrize("seed", range(24))
def test_values_of_drawn_programs(seed):
    check_values(drawn(seed), X, X[::-1] - 0.5)
