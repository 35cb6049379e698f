"""A while loop in reverse is the computation written out, in bounded memory."""

from functools import partial
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
from covector import errors, lax, random, tree
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.convert import as_array, scalar
from covector.core.staging import stage
from covector.programs.control_flow.reverse_while import ReverseWhile
from covector.programs.control_flow.treeverse import visit_backwards
from covector.programs.control_flow.while_loop import CHECKPOINTS, While

X, W = np.array([0.7, -0.4, 1.1]), np.array([1.2, 0.3])


def looped(checkpoints=None):
    """``n`` steps of ``body(i, value)`` by a loop that does not know n."""

    def loop(n, body, value):
        def step(c):
            return c[0] + 1, body(*c)

        kept = checkpoints
        return lax.while_loop(lambda c: c[0] < n, step, (0, value), checkpoints=kept)[1]

    return loop


def written_out(n, body, value):
    for i in range(int(n)):
        value = body(i, value)
    return value


# -- programs, as functions of the loop, the number of steps, and two arrays -----------


def pair(loop, n, w, x):
    """Two arrays that move each other, constants that are differentiated, a counter."""

    def body(i, c):
        a, b, k = c
        return cnp.sin(a) * w[0] + b, b * 0.9 + w[1] * cnp.cos(a) * i, k + 1

    a, b, _ = loop(n, body, (x, x * 0.5, 0))
    return cnp.sum(a * a) + cnp.sum(b)


def accumulated(loop, n, w, x):
    """A sum that no slope depends on; a part of the carry that does not move."""

    def body(_, c):
        total, v, count = c["total"], c["v"], c["count"]
        return {"total": total + v * count, "v": v * w[0] + 0.1, "count": count + 1.0}

    out = loop(n, body, {"total": x * 0.0, "v": x, "count": 1.0})
    return cnp.sum(out["total"] * out["v"])


def one_constant(loop, n, w, x):
    return cnp.sum(loop(n, lambda i, v: v * cnp.cos(w[1] * v), x))


def swapped(loop, n, w, x):
    """What does not move at first comes to move."""
    a, b = loop(n, lambda i, c: (c[1] * 0.8, cnp.tanh(c[0]) + w[0]), (x, 0 * x + 0.2))
    return cnp.sum(a * b)


def linear(loop, n, w, x):
    """Nothing of the path is needed."""
    return cnp.sum(w[0] * loop(n, lambda i, v: v * 1.01 + 2.0, x))


def with_keys(loop, n, w, x):
    def body(_, c):
        key, v = c
        key, here = random.split(key)
        return key, v * random.uniform(here, (3,), v.dtype) + cnp.sin(w[1] * v)

    return cnp.sum(loop(n, body, (random.key(3), x))[1])


def nested(loop, n, w, x):
    def body(i, v):
        inner = loop(i % 3, lambda _, u: cnp.sin(u) * w[0] + v, v * 0.5)
        return cnp.tanh(inner + v)

    return cnp.sum(loop(n, body, x))


def around_others(loop, n, w, x):
    """A scan, a choice, a checkpoint and a custom rule in the body."""

    @cv.custom_vjp
    def doubled(v):
        return 2.0 * v

    doubled.defvjp(lambda v: (2.0 * v, None), lambda _, ct: (2.0 * ct,))

    def body(i, v):
        v = lax.scan(lambda c, _: (cnp.sin(c) * w[0], None), v, None, length=2)[0]
        v = lax.cond(v[0] > 0.2, lambda v: v * w[1], cnp.cos, v)
        return cv.checkpoint(cnp.tanh)(doubled(v))

    return cnp.sum(loop(n, body, x))


PROGRAMS = {
    f.__name__: f
    for f in (
        pair,
        accumulated,
        one_constant,
        swapped,
        linear,
        with_keys,
        nested,
        around_others,
    )
}


def assert_close(found, wanted, rtol=1e-12, atol=1e-13):
    found, wanted = tree.leaves(found), tree.leaves(wanted)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        a, b = np.asarray(x), np.asarray(y)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.fixture
def x64():
    with cv.options.override(enable_x64=True):
        yield


def gradient(f, loop, n):
    return cv.grad(partial(f, loop, n), argnums=(0, 1))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_the_gradient_is_that_of_the_steps_written_out(x64, name, steps):
    f = PROGRAMS[name]
    wanted = gradient(f, written_out, steps)(W, X)
    assert_close(gradient(f, looped(2), steps)(W, X), wanted)
    jitted = cv.jit(lambda n, w, x: gradient(f, looped(3), n)(w, x))
    assert_close(jitted(steps, W, X), wanted)


@pytest.mark.parametrize("checkpoints", [1, 2, 3, 5, 8])
def test_any_number_of_checkpoints_serves_any_number_of_steps(x64, checkpoints):
    c = checkpoints
    jitted = cv.jit(lambda n, w, x: gradient(swapped, looped(c), n)(w, x))
    for steps in (0, 1, 2, c - 1, c, c + 1, c + 2, 2 * c + 3, 40):
        wanted = gradient(swapped, written_out, steps)(W, X)
        assert_close(jitted(steps, W, X), wanted)


@pytest.mark.parametrize(("x64_", "rtol"), [(False, 2e-6), (True, 1e-12)])
@pytest.mark.parametrize("checkpoints", [7, None])
def test_a_thousand_steps(x64_, rtol, checkpoints):
    """Compared with a scan, which keeps all of them."""

    def contracting(loop, w, x):
        return cnp.sum(loop(lambda i, v: 0.9 * v + 0.2 * cnp.sin(w[0] * v + w[1]), x))

    def by_scan(body, x):
        return lax.fori_loop(0, 1000, body, x)

    with cv.options.override(enable_x64=x64_):
        x, w = [as_array(v.astype("d" if x64_ else "f")) for v in (X, W)]
        by_while = partial(looped(checkpoints), 1000)
        found = cv.jit(cv.grad(partial(contracting, by_while), (0, 1)))(w, x)
        wanted = cv.jit(cv.grad(partial(contracting, by_scan), (0, 1)))(w, x)
        assert_close(found, wanted, rtol, 1e-30)


def test_a_large_weight():
    """Its cotangent adds up: what it is the product of is not kept."""
    w = np.random.default_rng(0).normal(size=(256, 256)).astype("f") / 16
    x = np.ones(256, np.float32)

    def f(loop, w, x):
        return cnp.sum(loop(70, lambda _, v: cnp.tanh(v @ w), x))

    found = cv.jit(cv.grad(partial(f, looped()), (0, 1)))(w, x)
    by_scan = lambda n, body, x: lax.fori_loop(0, n, body, x)  # noqa: E731
    wanted = cv.jit(cv.grad(partial(f, by_scan), (0, 1)))(w, x)
    assert_close(found, wanted, 1e-4, 1e-6)


# -- dtypes ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_short_floats(dtype):
    x = cnp.asarray(X, dtype)
    f = lambda loop, x: cnp.sum(loop(4, lambda i, v: cnp.sin(v) * 1.5, x))  # noqa: E731
    found = cv.grad(partial(f, looped(2)))(x)
    assert found.dtype == x.dtype
    wanted = np.asarray(cv.grad(partial(f, written_out))(x), "f")
    np.testing.assert_allclose(np.asarray(found, "f"), wanted, rtol=2e-2)


def test_complex_numbers(x64):
    f = lambda loop, z: loop(5, lambda i, v: cnp.sin(v) * (1.1 - 0.2j), z)  # noqa: E731
    z = np.complex128(0.4 + 0.3j)
    wanted = cv.grad(partial(f, written_out), holomorphic=True)(z)
    assert_close(cv.grad(partial(f, looped(2)), holomorphic=True)(z), wanted)


def test_a_carry_that_is_widened_and_a_python_number():
    f = lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * x + 0.5, 1)  # noqa: E731
    assert float(cv.grad(f)(2.0)) == pytest.approx(3 * 4 + 0.5 * (2 * 2 + 1))


def test_integers_have_no_gradient_and_are_followed():
    def f(x, k):
        def body(c):
            n, k, v = c
            return n + 1, k * 3 % 7, v * k

        return lax.while_loop(lambda c: c[0] < 5, body, (0, k, x), checkpoints=2)[2]

    value, pull = cv.vjp(f, 2.0, 3)
    of_x, of_k = pull(1.0)
    assert (float(value), float(of_x)) == (2 * 3 * 2 * 6 * 4 * 5, 3 * 2 * 6 * 4 * 5)
    assert of_k.dtype == dtypes.float0


def test_no_elements_and_no_leaves():
    f = lambda x: cnp.sum(looped()(3, lambda i, v: v * 2.0, x))  # noqa: E731
    assert cv.grad(f)(np.ones((0, 2), "f")).shape == (0, 2)


# -- under transformations -------------------------------------------------------------


def total_of_gradient(f):
    def total(*args):
        return sum(cnp.sum(cnp.sin(g)) for g in cv.grad(f, (0, 1))(*args))

    return total


HIGHER = {
    "jacrev": lambda f: cv.jacrev(f, (0, 1)),
    "jacfwd": lambda f: cv.jacfwd(f, (0, 1)),
    "hessian": lambda f: cv.hessian(f, (0, 1)),
    "reverse over reverse": lambda f: cv.jacrev(cv.jacrev(f, (0, 1)), (0, 1)),
    "grad of grad": lambda f: cv.grad(total_of_gradient(f), (0, 1)),
    "forward over reverse": lambda f: (
        lambda w, x: cv.jvp(cv.grad(f, (0, 1)), (w, x), (w - 1, x * x))
    ),
    "reverse over forward": lambda f: cv.grad(
        lambda w, x: cv.jvp(f, (w, x), (w - 1, x * x))[1], (0, 1)
    ),
    "linearize": lambda f: lambda w, x: cv.linearize(f, w, x)[1](w - 1, x * x),
    "linearize of grad": lambda f: (
        lambda w, x: cv.linearize(cv.grad(f, (0, 1)), w, x)[1](w - 1, x * x)
    ),
    "third order": lambda f: cv.grad(total_of_gradient(total_of_gradient(f)), (0, 1)),
}


ROWS = [
    *[(pair, name) for name in HIGHER],
    *[(f, name) for f in (accumulated, nested) for name in ("hessian", "grad of grad")],
]


@pytest.mark.parametrize(("program", "name"), ROWS)
def test_derivatives_of_derivatives(x64, program, name):
    derived = HIGHER[name]
    found = cv.jit(derived(partial(program, looped(2), 4)))(W, X)
    assert_close(found, derived(partial(program, written_out, 4))(W, X), 1e-10, 1e-11)


COUNTS = np.array([3, 0, 6, 1])
BATCH = np.stack([X, X * 0.5, -X, X + 1])


def each(f, counts=COUNTS, batch=BATCH):
    """What vmap is compared with: the lanes, one by one."""
    found = [f(int(n), W, x) for n, x in zip(counts, batch, strict=True)]
    return tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *found)


@pytest.mark.parametrize("name", ["pair", "accumulated", "swapped", "nested"])
def test_the_gradient_of_each_lane_that_stops_when_it_is_done(x64, name):
    f = PROGRAMS[name]
    g = lambda loop: lambda n, w, x: gradient(f, loop, n)(w, x)  # noqa: E731
    wanted = each(g(written_out))
    found = cv.jit(cv.vmap(g(looped(2)), (0, None, 0)))(COUNTS, W, BATCH)
    assert_close(found, wanted)
    over_batch = cv.vmap(partial(f, looped(2)), (0, None, 0))
    both = cv.grad(lambda w, xs: cnp.sum(over_batch(COUNTS, w, xs)), (0, 1))
    of_w, of_x = cv.jit(both)(W, BATCH)
    assert_close((of_w, of_x), (wanted[0].sum(0), wanted[1]), 1e-11)


def test_lanes_that_take_as_many_steps(x64):
    wanted = each(lambda n, w, x: gradient(pair, written_out, 5)(w, x))
    found = cv.vmap(lambda x: gradient(pair, looped(2), 5)(W, x))(BATCH)
    assert_close(found, wanted)


def test_lanes_of_lanes(x64):
    counts = np.array([[3, 0], [6, 1], [2, 2]])
    batch = np.random.default_rng(0).normal(size=(3, 2, 3))
    weights = np.stack([W, W * 0.5, W + 1])
    inner = cv.vmap(partial(pair, looped(2)), (0, None, 0))
    by_row = cv.vmap(cv.grad(lambda w, n, x: cnp.sum(inner(n, w, x)), (0, 2)))
    for k, (of_w, of_x) in enumerate(zip(*by_row(weights, counts, batch), strict=True)):

        def row(w, xs, k=k):
            pairs = zip(counts[k], xs, strict=True)
            return sum(pair(written_out, n, w, x) for n, x in pairs)

        assert_close((of_w, of_x), cv.grad(row, (0, 1))(weights[k], batch[k]), 1e-11)


@pytest.mark.parametrize("order", ["hessian", "reverse over reverse"])
def test_second_derivatives_of_lanes(x64, order):
    over_batch = cv.vmap(partial(pair, looped(2)), (0, None, 0))
    found = cv.jit(HIGHER[order](lambda w, xs: cnp.sum(over_batch(COUNTS, w, xs))))

    def lane_by_lane(w, xs):
        return sum(pair(written_out, n, w, xs[k]) for k, n in enumerate(COUNTS))

    assert_close(found(W, BATCH), HIGHER[order](lane_by_lane)(W, BATCH), 1e-10, 1e-11)


def test_an_empty_batch():
    over_batch = cv.vmap(partial(pair, looped(2)), (0, None, 0))
    f = cv.grad(lambda w, xs: cnp.sum(over_batch(np.zeros(0, "i"), w, xs)), (0, 1))
    of_w, of_x = f(W.astype("f"), np.zeros((0, 3), "f"))
    assert of_w.tolist() == [0, 0]
    assert of_x.shape == (0, 3)


def towards_the_edge(t, x):
    """Beyond the edge, where a lane stops, is no slope: the root of what is below 0,
    or an infinite one.
    """
    return lax.while_loop(lambda v: v > 0.5, lambda v: v - t * cnp.sqrt(v - 0.4), x)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("outside", ["grad of vmap", "vmap of grad"])
def test_steps_that_are_not_taken_make_no_nan(shared, outside):
    x = np.array([3.0, 0.1, 0.9, 0.4, 2.0], np.float32)
    t = np.float32(0.7) if shared else np.full(5, 0.7, np.float32)
    axes = (None if shared else 0, 0)
    if outside == "vmap of grad":
        of_t, of_x = cv.vmap(cv.grad(towards_the_edge, (0, 1)), axes)(t, x)
    else:
        over_batch = cv.vmap(towards_the_edge, axes)
        f = cv.grad(lambda t, x: cnp.sum(over_batch(t, x)), (0, 1))
        of_t, of_x = cv.jit(f)(t, x)
    pull = [cv.grad(towards_the_edge, (0, 1))(np.float32(0.7), v) for v in x]
    wanted = np.array([float(p[0]) for p in pull])
    assert np.isfinite(wanted).all()
    if shared and outside == "grad of vmap":
        wanted = wanted.sum()
    np.testing.assert_allclose(of_t, wanted, rtol=1e-5)
    np.testing.assert_allclose(of_x, [float(p[1]) for p in pull], rtol=1e-5)
    assert of_x[1] == of_x[3] == 1


def test_lanes_of_lanes_that_have_stopped_make_no_nan():
    x = np.array([[3.0, 0.1, 0.9], [0.4, 0.4, 0.2]], np.float32)
    inner = cv.vmap(towards_the_edge, (None, 0))
    both = cv.vmap(inner, (None, 0))
    of_t = cv.grad(lambda t: cnp.sum(both(t, x)))(np.float32(0.7))
    each = [float(cv.grad(towards_the_edge)(np.float32(0.7), v)) for v in x.ravel()]
    assert float(of_t) == pytest.approx(sum(each), rel=1e-5)
    rows = cv.vmap(cv.grad(lambda t, x: cnp.sum(inner(t, x))), (None, 0))
    found = rows(np.float32(0.7), x)
    assert found.tolist() == pytest.approx([sum(each[:3]), sum(each[3:])], rel=1e-5)


def test_no_nan_in_second_order_either():
    x = np.array([3.0, 0.1, 0.9, 0.4, 2.0], np.float32)
    f = lambda t: cnp.sum(cv.vmap(towards_the_edge, (None, 0))(t, x))  # noqa: E731
    wanted = sum(float(cv.grad(cv.grad(towards_the_edge))(0.7, v)) for v in x)
    assert float(cv.grad(cv.grad(f))(0.7)) == pytest.approx(wanted, rel=1e-4)


def test_lanes_that_see_each_other():
    """What a lane stands with is seen by those that go."""

    def f(x, n):
        def step(c):
            return c[0] + 1, c[1] + 0.1 * lax.psum(c[1] * c[1], "i")

        return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]

    def by_hand(x):
        x = x + 0.1 * cnp.sum(x * x)
        x = x + 0.1 * cnp.sum(x * x)
        return cnp.stack([x[0], x[1] + 0.1 * cnp.sum(x * x)])

    x, counts = np.array([0.3, 0.5], "f"), np.array([2, 3])
    over_batch = lambda x: cv.vmap(f, axis_name="i")(x, counts)  # noqa: E731
    found = cv.grad(lambda x: cnp.sum(cnp.sin(over_batch(x))))(x)
    wanted = cv.grad(lambda x: cnp.sum(cnp.sin(by_hand(x))))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    alike = cv.vmap(cv.grad(lambda x: f(x, 2)), axis_name="i")(x)
    assert np.isfinite(np.asarray(alike)).all()


# -- ways to ask -----------------------------------------------------------------------


def test_a_pull_back_can_be_called_again(x64):
    _, pull = cv.vjp(partial(pair, looped(2), 5), W, X)
    once, twice = pull(1.0), pull(2.0)
    assert_close(twice, tree.map(lambda x: 2 * x, once))
    assert_close(once, gradient(pair, written_out, 5)(W, X))


def test_a_gradient_inside_of_loops(x64):
    """The step of one loop is a gradient through another."""

    def descent(loop, w, x):
        def step(_, w):
            return w - 0.1 * cv.grad(partial(pair, loop, 3))(w, x)

        return cnp.sum(loop(3, step, w))

    found = cv.jit(cv.grad(partial(descent, looped(2)), (0, 1)))(W, X)
    assert_close(found, cv.grad(partial(descent, written_out), (0, 1))(W, X), 1e-11)


def test_fori_loop_with_bounds_that_are_traced():
    f = cv.jit(
        cv.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x, checkpoints=2))
    )
    assert [float(f(2.0, n)) for n in (0, 1, 5)] == [1, 4, 6 * 32]


def test_checkpoints_make_a_loop_of_static_bounds_too():
    f = lambda x: lax.fori_loop(0, 9, lambda i, c: c * x, x, checkpoints=2)  # noqa: E731
    assert float(cv.grad(f)(2.0)) == 10 * 2**9
    program = stage(lambda x: [f(x)], [as_array(1.0).type]).jaxpr
    assert operations(program)[While]["checkpoints"] == 2


def test_a_linear_loop_is_transposed():
    def doubled(n, x):
        return lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, 2 * c[1]), (0, x)
        )

    def back(n, ct):
        return cv.linear_transpose(lambda x: doubled(n, x)[1], 1.0)(ct)[0]

    assert float(cv.jit(back)(5, 3.0)) == 96
    found = cv.vmap(back)(np.array([2, 0, 3]), np.array([1, 1, 2], "f"))
    assert found.tolist() == [4, 1, 16]


def test_forward_mode_is_one_loop_as_ever():
    f = lambda x: looped()(9, lambda i, v: v * x, x)  # noqa: E731
    program = stage(
        lambda *xs: list(cv.jvp(f, xs[:1], xs[1:])), [as_array(1.0).type] * 2
    )
    names = [e.op.name for e in program.jaxpr.equations]
    assert names.count("while") == 1
    assert "reverse_while" not in names


def test_effects_happen_in_the_forward_pass_only():
    seen = []

    def body(i, v):
        cv.debug.callback(lambda i: seen.append(int(i)), i)
        return cnp.sin(v)

    f = lambda x: looped(2)(5, body, x)  # noqa: E731
    assert float(cv.jit(cv.grad(f))(0.5)) == pytest.approx(float(cv.grad(f)(0.5)))
    cv.effects_barrier()
    assert sorted(seen) == sorted([*range(5)] * 2)


# -- what it costs ---------------------------------------------------------------------


def python_loop(test, step, *carry):
    while test(*carry).host():
        carry = step(*carry)
    return list(carry)


def steps_taken(count, checkpoints):
    """How many steps are computed again, counted; the visits are checked."""
    steps, visits = [], []

    def advance(k, state):
        (x,) = state
        assert int(x) == int(k)
        steps.append(int(k))
        return [scalar(int(x) + 1, dtypes.int32)]

    def visit(k, state, found):
        assert int(state[0]) == int(k)
        visits.append(int(k))
        return found

    count_, zero = scalar(count, dtypes.int32), scalar(0, dtypes.int32)
    visit_backwards(python_loop, count_, checkpoints, advance, visit, [zero], [])
    assert visits == list(reversed(range(count)))
    return steps


def least(count, checkpoints):
    """The number that Griewank and Walther show to be the least."""
    r = 0
    while comb(checkpoints + r, r) < count:
        r += 1
    return r * count - comb(checkpoints + r, r - 1) if r else 0


@pytest.mark.parametrize("checkpoints", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 9, 10, 19, 33, 60])
def test_no_more_steps_are_computed_again_than_need_be(count, checkpoints):
    steps = steps_taken(count, checkpoints)
    assert len(steps) == least(count, checkpoints)
    most = max([steps.count(k) for k in steps], default=0)
    assert comb(checkpoints + most, most) >= count or not count


@pytest.mark.parametrize(("count", "again"), [(65, 64), (200, 334)])
def test_with_the_usual_number_of_checkpoints(count, again):
    assert CHECKPOINTS == 64
    assert len(steps_taken(count, CHECKPOINTS)) == again == least(count, CHECKPOINTS)


SIZE = 256


def memory(checkpoints):
    def f(n, w, x):
        return cnp.sum(looped(checkpoints)(n, lambda i, v: cnp.tanh(v * w), x))

    x = np.ones(SIZE, np.float32)
    compiled = cv.jit(cv.grad(f, (1, 2))).lower(np.int32(3), x, x).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_memory_is_that_of_the_checkpoints():
    """The number of steps is an argument, so it cannot matter."""
    one = 4 * SIZE
    assert memory(1) <= 12 * one
    for checkpoints in (8, 32):
        assert memory(checkpoints) <= (checkpoints + 12) * one
        assert memory(checkpoints) >= checkpoints * one


def operations(jaxpr):
    """The parameters of the operations, by class."""
    return {type(e.op): e.op.parameters for e in jaxpr.equations}


CARRIED = {
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "cond": lambda f: lambda x: lax.cond(x > -5, f, cnp.cos, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0],
}


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_body_that_calls_programs(name, order):
    def f(step):
        loop = looped()
        found = lambda w: loop(2, lambda _, v: step(w * v), 0.7)  # noqa: E731
        for _ in range(order):
            found = cv.grad(found)
        return cv.jit(found)

    wave = lambda x: cnp.sin(x) + x  # noqa: E731
    step = CARRIED[name](wave)
    np.testing.assert_allclose(f(step)(0.4), f(wave)(0.4), rtol=1e-4)


def test_only_what_slopes_depend_on_is_kept():
    """Of three parts of the carry: not the sum, and not the count."""

    def f(x):
        def step(c):
            k, total, v = c
            return k + 1, total + v, cnp.sin(v)

        return lax.while_loop(lambda c: c[0] < 5, step, (0, x, x))[1]

    program = stage(lambda x: [cv.grad(f)(x)], [as_array(1.0).type]).jaxpr
    assert operations(program)[ReverseWhile]["num_primals"] == 1


def test_a_loop_that_does_not_move_is_not_taken_back():
    f = lambda x: x * looped()(4, lambda i, v: v * 2.0, 1.0)  # noqa: E731
    program = stage(lambda x: [cv.grad(f)(x)], [as_array(1.0).type]).jaxpr
    assert ReverseWhile not in operations(program)
    assert float(cv.grad(f)(3.0)) == 16


# -- words -----------------------------------------------------------------------------


class Case(NamedTuple):
    call: Any
    error: type
    words: str


def transposed_by_its_test(x):
    f = lambda x: lax.while_loop(lambda v: v < 3.0, lambda v: v * 2.0, x)  # noqa: E731
    return cv.jit(cv.linear_transpose(f, 1.0))(x)


def mixing(x, n):
    def step(c):
        return c[0] + 1, c[1] + lax.psum(c[1], "i")

    return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]


def simple(**kwargs):
    return lax.while_loop(lambda v: v < 3.0, lambda v: v * 2.0, 1.0, **kwargs)


WORDS = {
    "none": Case(
        lambda: simple(checkpoints=0),
        errors.TypeMismatch,
        r"while_loop of .*: checkpoints must be an integer, at least 1, but is 0. It "
        r"says how many carries are kept at one time in reverse mode",
    ),
    "negative": Case(
        lambda: simple(checkpoints=-2),
        ValueError,
        "checkpoints must not be negative, but is -2",
    ),
    "a bool": Case(
        lambda: simple(checkpoints=True),
        errors.TypeMismatch,
        "checkpoints must be an integer, at least 1, but is True",
    ),
    "a float": Case(
        lambda: simple(checkpoints=2.5),
        TypeError,
        "checkpoints must be an integer, but got 2.5",
    ),
    "fori_loop": Case(
        lambda: lax.fori_loop(0, 3, lambda i, c: c, 0, checkpoints=0),
        errors.TypeMismatch,
        "fori_loop of .*: checkpoints must be an integer, at least 1",
    ),
    "unroll": Case(
        lambda: lax.fori_loop(0, 3, lambda i, c: c, 0, unroll=2, checkpoints=2),
        errors.TypeMismatch,
        "unroll is for a loop that keeps every step, checkpoints for one that does "
        "not. Leave out one of them",
    ),
    "a test that is transposed": Case(
        lambda: transposed_by_its_test(1.0),
        errors.NotDifferentiable,
        r"needs a linear function, but while at .* is not linear in the arguments",
    ),
    "lanes that see each other": Case(
        lambda: cv.vmap(cv.grad(mixing), axis_name="i")(
            np.ones(2, "f"), np.array([2, 3])
        ),
        errors.NotDifferentiable,
        "communicates over the vmap axis 'i' in its body, where lanes of the batch "
        "take different numbers of steps. .*: grad of vmap, not vmap of grad",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_errors_say_what_is_wrong(name):
    call, error, words = WORDS[name]
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, errors.CovectorError)
