"""Branches and loops give what JAX's give: values, types, gradients.

Each row is a program of a NumPy-like module and a module of control flow; it is run
with covector's and with JAX's. Python numbers stay Python numbers, so that weak types
are compared too.
"""

import contextlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

X = np.array([0.3, -1.2, 2.0], np.float32)
M = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
N = np.arange(5, dtype=np.int32)
NONE = np.zeros((0, 3), np.float32)


class Row(NamedTuple):
    """A program, its arguments, and whether it has gradients (for the floating ones).

    ``wider``: JAX asks users to convert the carry, here it is done.
    """

    program: Any
    args: tuple
    gradient: bool = True
    wider: bool = False


def row(*args, gradient=True, wider=False):
    def add(program):
        ROWS[program.__name__] = Row(program, args, gradient, wider)
        return program

    return add


ROWS: dict[str, Row] = {}

# -- choices ---------------------------------------------------------------------------


@row(np.float32(0.5), X)
def cond_by_comparison(np_, lax_, a, x):
    return lax_.cond(a > 0, np_.sin, lambda x: x * a, x)


@row(np.int32(3), X)
def cond_by_a_number(np_, lax_, n, x):
    return lax_.cond(n, lambda x: x + n, lambda x: x, x)


@row(True, X)
def cond_of_one_operand(np_, lax_, p, x):
    return lax_.cond(p, lambda t: t["x"] * 2, lambda t: t["x"], operand={"x": x})


@row(False, X)
def cond_of_no_operand(np_, lax_, p, x):
    return lax_.cond(p, lambda t: (x, t), lambda t: (2 * x, t), operand=None)


@row(True, X)
def cond_closed_over(np_, lax_, p, x):
    return lax_.cond(p, lambda: {"a": x * x, "b": None}, lambda: {"a": x, "b": None})


@row(True, np.float16(1.5))
def cond_of_weak_results(np_, lax_, p, x):
    return lax_.cond(p, lambda: (1, 2.0, x), lambda: (2, 3.0, x))


@row(np.array([True, False, True]), X)
def cond_of_a_batch(np_, lax_, p, x):
    vmap = jax.vmap if np_ is jnp else cv.vmap
    return vmap(lambda p, x: lax_.cond(p, np_.sin, np_.cos, x))(p, x)


@row(np.int8(-7), X)
def switch_below(np_, lax_, k, x):
    return lax_.switch(k, [np_.sin, np_.cos, np_.tanh], x)


@row(np.uint32(2**31 - 1), X)
def switch_above(np_, lax_, k, x):
    return lax_.switch(k, [np_.sin, np_.cos, np_.tanh], x)


@row(np.array([-1, 0, 1, 7]), M)
def switch_of_a_batch(np_, lax_, k, x):
    vmap = jax.vmap if np_ is jnp else cv.vmap
    branches = [np_.sin, np_.cos, lambda x: x * x]
    return vmap(lambda k, x: lax_.switch(k, branches, x))(k, x)


@row(np.int32(0), X)
def switch_of_one(np_, lax_, k, x):
    return lax_.switch(k, [np_.sin], operand=x)


# -- scan ------------------------------------------------------------------------------


@row(X, M)
def scan_running(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (np_.sin(c) + x, c * x), c, xs)


@row(X, M)
def scan_backwards(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (np_.sin(c) + x, c * x), c, xs, reverse=True)


@row(X, M)
def scan_unrolled(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (np_.sin(c) + x, c * x), c, xs, unroll=3)


@row(X, M)
def scan_unrolled_whole(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (c * x, c), c, xs, unroll=True, reverse=True)


@row(X)
def scan_of_a_length(np_, lax_, c):
    return lax_.scan(lambda c, _: (c * c, None), c, None, length=3)


@row(X)
def scan_of_a_length_with_an_empty_tree(np_, lax_, c):
    return lax_.scan(lambda c, x: (c * c, x), c, {"a": None, "b": ()}, length=3)


@row(X, NONE)
def scan_of_nothing(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (c + x, {"y": c * x, "n": 1}), c, xs)


@row(X, NONE)
def scan_of_nothing_backwards_unrolled(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (c + x, c), c, xs, reverse=True, unroll=4)


@row(M)
def scan_without_a_carry(np_, lax_, xs):
    return lax_.scan(lambda c, x: (c, np_.sum(x)), None, xs)


@row(X, M)
def scan_of_trees(np_, lax_, c, xs):
    def step(carry, x):
        (a, _), k = carry["in"], carry["k"]
        return {"in": (a * x["a"], None), "k": k + 1}, (x["b"][0], None, k)

    return lax_.scan(step, {"in": (c, None), "k": 0}, {"a": xs, "b": [xs]})


@row(X, M)
def scan_of_a_length_and_xs(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (c + x, c), c, xs, length=4, _split_transpose=True)


@row(N)
def scan_of_integers(np_, lax_, xs):
    return lax_.scan(lambda c, x: (c + x, c * x), 1, xs)


@row(N)
def scan_of_bools(np_, lax_, xs):
    return lax_.scan(lambda c, x: (~c, c & (x > 2)), True, xs)


# -- while and fori --------------------------------------------------------------------


@row(X, gradient=False)
def while_small(np_, lax_, x):
    return lax_.while_loop(lambda v: np_.sum(v) < 100, lambda v: v * v + 1, x)


@row(np.int32(3), gradient=False)
def while_never(np_, lax_, n):
    return lax_.while_loop(lambda n: n < 0, lambda n: n - 1, n)


@row(np.int32(3), X, gradient=False)
def while_of_trees(np_, lax_, n, x):
    return lax_.while_loop(
        lambda c: c["n"] > 0,
        lambda c: {"n": c["n"] - 1, "x": [c["x"][0] * 2]},
        {"n": n, "x": [x]},
    )


@row(gradient=False)
def while_of_python_numbers(np_, lax_):
    return lax_.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0)
    )


@row(X)
def fori_static(np_, lax_, x):
    return lax_.fori_loop(1, 4, lambda i, v: v * i + np_.sin(v), x)


@row(X)
def fori_of_negative_bounds(np_, lax_, x):
    return lax_.fori_loop(-3, -1, lambda i, v: v * i, x)


@row(X)
def fori_of_no_steps(np_, lax_, x):
    return lax_.fori_loop(4, 1, lambda i, v: v * i, x)


@row(X)
def fori_unrolled(np_, lax_, x):
    return lax_.fori_loop(0, 7, lambda i, v: v + i * x, x, unroll=3)


@row(X)
def fori_unrolled_whole(np_, lax_, x):
    return lax_.fori_loop(0, 3, lambda i, v: v + i * x, x, unroll=True)


@row(np.int32(4), X, gradient=False)
def fori_dynamic(np_, lax_, n, x):
    return lax_.fori_loop(0, n, lambda i, v: v * i + x, x)


@row(np.uint8(2), np.uint8(5), X, gradient=False)
def fori_of_unsigned_bounds(np_, lax_, low, high, x):
    return lax_.fori_loop(low, high, lambda i, v: v + i, x)


@row()
def fori_of_python_numbers(np_, lax_):
    return lax_.fori_loop(0, 3, lambda i, v: (v[0] + i, v[1] * 2.0), (0, 1.0))


@row(gradient=False)
def fori_of_numpy_bounds(np_, lax_):
    return lax_.fori_loop(np.int16(1), np.int16(4), lambda i, v: v + i, np.int16(0))


# -- element by element ----------------------------------------------------------------


@row(M)
def map_rows(np_, lax_, xs):
    return lax_.map(lambda x: {"s": np_.sum(x * x), "x": np_.sin(x)}, xs)


@row(M)
def map_by_three(np_, lax_, xs):
    return lax_.map(lambda x: np_.sum(x * x), xs, batch_size=3)


@row(M)
def map_by_more_than_there_are(np_, lax_, xs):
    return lax_.map(lambda x: x * x, {"a": xs, "b": (xs, None)}["b"][0], batch_size=9)


@row(NONE)
def map_of_nothing(np_, lax_, xs):
    return lax_.map(np_.sum, xs)


@row(NONE)
def map_of_nothing_by_two(np_, lax_, xs):
    return lax_.map(np_.sum, xs, batch_size=2)


@row(M)
def map_to_python_numbers(np_, lax_, xs):
    return lax_.map(lambda x: (1, 2.0, True), xs)


@row(M)
def associative_products(np_, lax_, xs):
    return lax_.associative_scan(np_.multiply, xs, axis=1)


@row(M)
def associative_backwards(np_, lax_, xs):
    return lax_.associative_scan(lambda a, b: a * b + a, xs, reverse=True, axis=1)


# -- carries that find their type ------------------------------------------------------


@row(X, wider=True)
def carry_from_python_zero(np_, lax_, xs):
    return lax_.scan(lambda c, x: (c + x, c), 0, xs)


@row(X)
def carry_from_python_float(np_, lax_, xs):
    return lax_.scan(lambda c, x: (c + x, c * x), 0.0, xs)


@row(N, wider=True)
def carry_from_bool(np_, lax_, xs):
    return lax_.scan(lambda c, x: (c + x, c), True, xs)


@row(X.astype(np.float16), X, wider=True)
def carry_from_half(np_, lax_, c, xs):
    return lax_.scan(lambda c, x: (c * x, None), c, xs)


@row(np.float16(2), gradient=False)
def weak_carry_meets_half(np_, lax_, x):
    return lax_.fori_loop(0, 3, lambda i, v: v * x, 1.0)


@row(np.float32(2), gradient=False)
def while_from_python_zero(np_, lax_, x):
    return lax_.while_loop(lambda v: v < 9, lambda v: v + x, 0.0)


@row(X)
def carry_of_a_nested_loop(np_, lax_, xs):
    def step(c, x):
        return lax_.fori_loop(0, 2, lambda i, d: d + x, c), c * x

    return lax_.scan(step, 0.0, xs)


# -- the comparison --------------------------------------------------------------------


def leaves(library, out):
    """Values, and what is known of their types."""
    found = library.leaves(out)
    return [(np.asarray(x), _is_weak(x)) for x in found]


def _is_weak(x):
    return bool(x.type.weak if hasattr(x, "type") else x.weak_type)


def scalar(np_, tree, f):
    def total(*args):
        parts = [
            np_.sum(np_.sin(x)) for x in tree.leaves(f(*args)) if _is_inexact(np_, x)
        ]
        return sum(parts, np_.float32(0))

    return total


def _is_inexact(np_, x):
    return np_.issubdtype(np_.asarray(x).dtype, np_.floating)


def both_of(row):
    f, args = row.program, row.args
    ours = lambda *xs: f(cnp, lax, *xs)  # noqa: E731
    theirs = lambda *xs: f(jnp, jax.lax, *xs)  # noqa: E731
    if row.wider:
        theirs = lambda *xs: f(jnp, Widening, *xs)  # noqa: E731
    return ours, theirs, args


class Widening:
    """JAX's scan for users who convert the first carry themselves."""

    @staticmethod
    def scan(step, init, xs):
        while True:
            one = jax.tree.map(lambda x: x[0], xs)
            back = jax.eval_shape(lambda c, x: step(c, x)[0], init, one)
            wide = jnp.promote_types(jnp.result_type(init), back.dtype)
            if jnp.asarray(init).dtype == wide:
                return jax.lax.scan(step, jnp.asarray(init, wide), xs)
            init = jnp.asarray(init, wide)


@contextlib.contextmanager
def x64():
    jax.config.update("jax_enable_x64", True)
    try:
        with cv.enable_x64():
            yield
    finally:
        jax.config.update("jax_enable_x64", False)


def assert_same(ours, theirs, *, weak=True):
    assert len(ours) == len(theirs)
    for (x, one), (y, other) in zip(ours, theirs, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if weak:
            assert one == other
        np.testing.assert_allclose(x, y, rtol=2e-3 if x.dtype == "f2" else 1e-5)


@pytest.mark.parametrize("wide", [False, True], ids=["32 bit", "64 bit"])
@pytest.mark.parametrize("name", ROWS)
def test_values_and_types_are_those_of_jax(name, wide):
    row = ROWS[name]
    ours, theirs, args = both_of(row)
    with x64() if wide else contextlib.nullcontext():
        wanted = leaves(jax.tree, theirs(*args))
        assert_same(leaves(cv.tree, ours(*args)), wanted, weak=not row.wider)
        assert_same(leaves(cv.tree, cv.jit(ours)(*args)), wanted, weak=not row.wider)


def floating(args):
    return tuple(k for k, x in enumerate(args) if np.asarray(x).dtype.kind == "f")


SMOOTH = [name for name, row in ROWS.items() if row.gradient and floating(row.args)]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_those_of_jax(name):
    row = ROWS[name]
    ours, theirs, args = both_of(row)
    nums = floating(args)
    wanted = jax.grad(scalar(jnp, jax.tree, theirs), nums)(*args)
    slope = cv.grad(scalar(cnp, cv.tree, ours), nums)
    for transform in (lambda f: f, cv.jit):
        found = leaves(cv.tree, transform(slope)(*args))
        assert_same(found, leaves(jax.tree, wanted), weak=False)


# -- where JAX does otherwise ----------------------------------------------------------


def test_an_unsigned_index_too_large_for_an_i32_is_the_last_branch():
    """JAX converts it to a negative number."""
    k = np.uint32(2**32 - 1)
    assert float(lax.switch(k, [lambda: 1.0, lambda: 2.0])) == 2
    assert float(jax.lax.switch(k, [lambda: 1.0, lambda: 2.0])) == 1


def test_bounds_of_two_integer_types_are_promoted():
    low, high = np.int8(-2), np.int32(3)
    f = lambda a, b: lax.fori_loop(a, b, lambda i, v: v + i, 0)  # noqa: E731
    for out in (f(low, high), cv.jit(f)(low, high), f(0, np.int64(3))):
        assert out.dtype == np.int32
    assert int(f(low, high)) == 0
    with pytest.raises(TypeError, match="must have equal types"):
        jax.lax.fori_loop(low, high, lambda i, v: v + i, 0)


CARRIES = {
    "a Python 0 and floats": (lambda c: c + 1.5, 0),
    "a bool and integers": (lambda c: c + np.int32(1), np.bool_(True)),
    "half and single precision": (lambda c: c + np.float32(1), np.float16(1)),
    "single precision and a half": (lambda c: c.astype("float16"), np.float32(1)),
    "an integer and a bool": (lambda c: c > 0, np.int32(3)),
}


@pytest.mark.parametrize("name", CARRIES)
def test_a_carry_of_one_type_that_comes_back_as_another(name):
    """JAX raises, unless it starts as a Python number; here it has room for both."""
    step, start = CARRIES[name]
    wanted = cnp.promote_types(cnp.result_type(start), step(cnp.asarray(start)).dtype)
    loops = {
        "scan": lambda lax_: lax_.scan(lambda c, _: (step(c), None), start, length=2)[
            0
        ],
        "fori": lambda lax_: lax_.fori_loop(0, 2, lambda _, c: step(c), start),
        "while": lambda lax_: lax_.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, step(c[1])), (0, start)
        )[1],
    }
    for loop in loops.values():
        assert loop(lax).dtype == wanted
        assert cv.jit(lambda loop=loop: loop(lax))().dtype == wanted
    if isinstance(start, np.generic):
        with pytest.raises(TypeError):
            loops["scan"](jax.lax)
