"""One loop for several results: which share one, and that values stay the same."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn, random
from covector.lowering.element_loops import LARGE, steps_at_once
from covector.runtime import client

_RNG = np.random.default_rng(0)


def arrays(count, shape=(LARGE,), dtype="float32"):
    return [_RNG.uniform(0.5, 1.5, shape).astype(dtype) for _ in range(count)]


def adam(p, m, v, g, rate=1e-3):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - rate * m / (cnp.sqrt(v) + 1e-8), m, v


def lorenz(x, y, z):
    return x + 0.1 * (y - x), y + 0.01 * (x * (28 - z) - y), z + 0.01 * (x * y - 2 * z)


def loops(fun, *args, **options):
    """How many loops for several results the program has."""
    return cv.jit(fun, **options).lower(*args).as_text().count("reduce_window")


def kernels(fun, *args):
    """How many kernels XLA makes of the program."""
    text = cv.jit(fun).lower(*args).compile().as_text()
    return text[text.index("ENTRY") :].count(" fusion(")


def check_values(fun, *args, tolerance=1e-6):
    """Compiled is eager, which computes one result after the other."""
    found = cv.tree.leaves(cv.jit(fun)(*args))
    with cv.disable_jit():
        wanted = cv.tree.leaves(fun(*[cnp.asarray(x) for x in args]))
    for a, b in zip(found, wanted, strict=True):
        assert a.type.strong() == b.type.strong()
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# -- who shares a loop -----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(LARGE,), (LARGE // 64, 64), (4, LARGE // 128, 32)])
def test_results_that_read_the_same_arrays_are_one_kernel(shape):
    args = arrays(4, shape)
    assert loops(adam, *args) == 1
    assert kernels(adam, *args) == 1
    check_values(adam, *args)


def test_results_that_compute_the_same_are_one_kernel():
    def both(x):
        shared = cnp.exp(x)
        return shared * x, shared / x

    assert kernels(both, *arrays(1)) == 1
    check_values(both, *arrays(1))


def test_gradients_by_several_arguments_are_one_kernel():
    def price(s, k, t):
        return s * cnp.tanh(cnp.log(s / k) / cnp.sqrt(t)) - k * cnp.exp(-t)

    def gradients(*args):
        out, pull = cv.vjp(price, *args)
        return pull(cnp.ones_like(out))

    assert kernels(gradients, *arrays(3)) == 1
    check_values(gradients, *arrays(3), tolerance=1e-5)


def test_numbers_that_are_not_known_reach_each_element():
    def step(p, m, v, g, t):
        return adam(p, m, v, g, rate=1 / (1 + t))

    args = [*arrays(4), np.float32(3)]
    assert loops(step, *args) == 1
    check_values(step, *args)


def test_results_of_different_arrays_have_loops_of_their_own():
    def step(*args):
        return [adam(*args[k : k + 4]) for k in (0, 4, 8)]

    assert loops(step, *arrays(12)) == 3
    check_values(step, *arrays(12))


def test_what_is_added_up_as_well_is_computed_where_it_is_added_up():
    def step(x, y):
        a, b = cnp.exp(x) * y, cnp.exp(x) + y
        return a, b, a.sum(), (b * 2).max()

    assert loops(step, *arrays(2)) == 1
    check_values(step, *arrays(2), tolerance=1e-4)


def test_what_depends_on_a_sum_of_a_result_does_not_share_its_loop_in_a_circle():
    def step(x, y):
        a = x * y + x
        return a, x * y - a.sum(), y * a

    check_values(step, *arrays(2), tolerance=1e-4)


def test_the_same_result_twice_and_arguments_as_results():
    def step(x, y):
        a, b = x + y, x - y
        return a, a, b, x, (b, y)

    assert loops(step, *arrays(2)) == 1
    check_values(step, *arrays(2))


# -- who does not ----------------------------------------------------------------------


def test_small_arrays_are_left_to_xla():
    assert not loops(adam, *arrays(4, (LARGE // 2,)))


def test_short_rows_share_a_loop_as_one_row():
    args = arrays(4, (LARGE // 8, 8))
    assert loops(adam, *args) == 1
    assert kernels(adam, *args) == 1
    check_values(adam, *args)


def test_one_result_is_left_to_xla():
    assert not loops(lambda x, y: x * y + x, *arrays(2))


def test_what_is_broadcast_on_the_way_is_left_to_xla():
    def step(x, row):
        return x * row, x + row

    assert not loops(step, *arrays(1, (LARGE // 64, 64)), *arrays(1, (64,)))


def test_results_in_the_memory_of_arguments_are_left_to_xla():
    assert not loops(adam, *arrays(4), donate_argnums=(0, 1, 2))


def test_complex_numbers_and_sines_are_left_to_xla():
    x, y = arrays(2)
    assert not loops(lambda x, y: (x * y, x + y), x + 1j * y, y - 1j * x)
    assert not loops(lambda x: (cnp.sin(x) * x, cnp.sin(x) + x), x)


def test_programs_that_others_run_are_left_to_xla():
    exported = cv.export.export(cv.jit(adam))(*arrays(4))
    assert "reduce_window" not in exported.mlir_module()


# -- special values --------------------------------------------------------------------


def with_a_rule(fun):
    ruled = cv.custom_jvp(fun)
    ruled.defjvp(lambda primals, tangents: cv.jvp(fun, primals, tangents))
    return ruled


CALLED = {"jit": cv.jit, "custom_jvp": with_a_rule, "checkpoint": cv.checkpoint}


@pytest.mark.parametrize("called", CALLED.values(), ids=CALLED)
def test_what_calls_a_function_is_as_what_has_its_operations(called):
    """A function of elements that was jitted made loops over it seven times as slow."""
    args = arrays(4)
    inner = called(adam)
    assert loops(lambda *args: list(inner(*args)), *args) == 1
    check_values(lambda *args: list(inner(*args)), *args)

    def orbit(f):
        return lambda *xs: lax.fori_loop(0, 21, lambda _, xs: f(*xs), xs)

    args = arrays(3)
    assert loops(orbit(called(lorenz)), *args) == loops(orbit(lorenz), *args) > 0
    check_values(orbit(called(lorenz)), *args, tolerance=1e-5)


def test_calls_of_more_than_elements_stay_calls():
    @cv.jit
    def centred(x, y):
        return x - y.mean(), x + y

    def both(x, y):
        return (*centred(x, y), *centred(y, x))

    text = cv.jit(both).lower(*arrays(2)).as_text()
    assert "reduce_window" not in text
    assert text.count("call @centred") == 2


@pytest.mark.parametrize("x64", [False, True])
def test_special_values_are_those_of_a_kernel_for_each(x64):
    def both(x, y):
        c = cnp.where(x > y, x / y, cnp.maximum(x, y))
        return c * y, c + cnp.sign(x), cnp.minimum(x, c)

    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0, 3e38]
    x = np.resize(special, LARGE)
    y = np.resize(np.repeat(special, len(special)), LARGE)
    with cv.enable_x64(x64):
        dtype = "float64" if x64 else "float32"
        args = x.astype(dtype), y.astype(dtype)
        assert loops(both, *args) == 1
        found = cv.jit(both)(*args)
        alone = [cv.jit(lambda *a, k=k: both(*a)[k])(*args) for k in range(3)]
    for a, b in zip(found, alone, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


# -- loops of the user -----------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 3, 8, 21])
def test_steps_of_a_loop_over_elements_are_done_several_at_once(steps):
    def run(*state):
        return lax.fori_loop(0, steps, lambda _, s: lorenz(*s), state)

    check_values(run, *arrays(3), tolerance=1e-4)
    assert bool(loops(run, *arrays(3)))


def test_steps_of_smaller_arrays_share_a_loop_if_the_loop_is_no_kernel_anyway():
    def run(*state):
        return lax.fori_loop(0, 40, lambda _, s: lorenz(*s), state)

    assert loops(run, *arrays(3, (10_000,)))
    check_values(run, *arrays(3, (10_000,)), tolerance=1e-4)
    assert not loops(run, *arrays(3, (1000,)))


def test_steps_of_one_array_are_done_at_once_if_it_is_large():
    def run(x):
        return lax.fori_loop(0, 40, lambda _, x: 3.7 * x * (1 - x), x)

    def products(size):
        text = cv.jit(run).lower(np.full(size, 0.3, "float32")).as_text()
        return text.count("stablehlo.multiply")

    assert products(LARGE // 2) == 2
    assert products(LARGE) == 16
    check_values(lambda x: lax.fori_loop(0, 5, lambda _, x: 3.7 * x * (1 - x), x), 0.3)


def test_the_number_of_the_step_is_that_of_each_step():
    def run(x, y):
        def step(i, state):
            x, y = state
            return x + 0.01 * i * y, y - 0.01 * i

        return lax.fori_loop(2, 25, step, (x, y))

    check_values(run, *arrays(2), tolerance=1e-4)


def test_a_while_loop_has_one_kernel_for_its_arrays():
    def run(x, y, z):
        def step(state):
            return *lorenz(*state[:3]), state[3] + 1

        return lax.while_loop(lambda s: s[3] < 9, step, (x, y, z, 0))

    assert loops(run, *arrays(3)) == 1
    check_values(run, *arrays(3), tolerance=1e-4)


def test_derivatives_of_loops_over_elements():
    def run(x, y, z):
        return lax.fori_loop(0, 10, lambda _, s: lorenz(*s), (x, y, z))

    def slopes(*args):
        return cv.jvp(run, args, args)

    def gradient(*args):
        return cv.grad(lambda *a: sum([cnp.sum(x) for x in run(*a)]), (0, 1, 2))(*args)

    check_values(slopes, *arrays(3), tolerance=1e-4)
    check_values(gradient, *arrays(3), tolerance=1e-3)


def test_lines_of_a_loop_are_those_of_the_user():
    text = cv.jit(adam).lower(*arrays(4)).as_text(debug_info=True)
    line = adam.__code__.co_firstlineno
    assert f'test_element_loops.py":{line + 1}' in text
    assert f'test_element_loops.py":{line + 2}' in text


# -- loops over lanes ------------------------------------------------------------------


def halvings(x):
    """How often a number is halved until it is below one, and what is left."""
    step, start = lambda s: (s[0] + 1, s[1] / 2), (0.0, x)
    return lax.while_loop(lambda s: s[1] >= 1, step, start)


@pytest.mark.parametrize("x64", [False, True])
def test_each_lane_takes_its_own_number_of_steps_where_several_are_one_pass(x64):
    x = np.exp2(np.random.default_rng(1).uniform(-3, 21, LARGE))
    x[:4] = np.nan, np.inf, -np.inf, 0.0
    x[1] = 1e30
    with cv.enable_x64(x64):
        lanes = cv.vmap(halvings)
        x = cnp.asarray(x, float)
        assert loops(lanes, x) == 1
        counts, left = map(np.asarray, cv.jit(lanes)(x))
        wanted = np.ceil(np.log2(np.maximum(np.nextafter(np.asarray(x), np.inf), 1)))
    known = ~np.isnan(x)
    np.testing.assert_array_equal(counts[known], wanted[known])
    np.testing.assert_array_equal(left, np.asarray(x) / 2.0**counts)


def test_lanes_that_are_few_or_have_more_than_a_number_take_step_after_step():
    assert not loops(cv.vmap(halvings), cnp.ones(1000))

    def rows(x):
        return lax.while_loop(lambda s: s.sum() > 1, lambda s: s / 2, x)

    assert not loops(cv.vmap(rows), cnp.ones((LARGE, 2)))


def test_lanes_whose_carry_is_not_of_numbers_take_step_after_step():
    def above(key):
        def draw(s):
            key, _ = s
            key, now = random.split(key)
            return key, random.uniform(now)

        return lax.while_loop(lambda s: s[1] < 0.5, draw, (key, 0.0))[1]

    keys = random.split(random.key(0), LARGE)
    assert not loops(cv.vmap(above), keys)
    assert bool((cv.jit(cv.vmap(above))(keys) >= 0.5).all())

    def turned(z):
        return lax.while_loop(lambda z: z.real > 0, lambda z: z * (0.8 + 0.6j), z)

    z = cnp.exp(1j * cnp.linspace(-1.5, 1.5, LARGE))
    assert not loops(cv.vmap(turned), z)
    assert bool((cv.jit(cv.vmap(turned))(z).real <= 0).all())


def test_lanes_have_derivatives_and_further_batches_as_one_has_by_itself():
    def root(c):
        def newton(s):
            x, _ = s
            return x - (x**3 + x - c) / (3 * x * x + 1), x

        return lax.while_loop(lambda s: abs(s[0] - s[1]) > 1e-4, newton, (c, c + 1))[0]

    c = cnp.linspace(0.1, 9.0, 8192)
    lanes = cv.vmap(root)
    assert loops(lanes, c) == 1
    x = cv.jit(lanes)(c)
    np.testing.assert_allclose(x**3 + x, c, rtol=1e-5)
    slopes = cv.jit(lambda c: cv.jvp(lanes, (c,), (cnp.ones_like(c),))[1])(c)
    np.testing.assert_allclose(slopes, 1 / (3 * x * x + 1), rtol=1e-3)
    gradient = cv.jit(cv.grad(lambda c: lanes(c).sum()))(c)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3)
    square = cv.jit(cv.vmap(lanes))(c.reshape(64, 128))
    np.testing.assert_allclose(square.ravel(), x, rtol=1e-5)


@pytest.mark.parametrize(
    ("step", "size", "steps"),
    [
        (lambda x: 3.7 * x * (1 - x), LARGE, 8),
        (cnp.tanh, LARGE, 4),
        (cnp.exp, LARGE, 4),
        (nn.softplus, LARGE, 1),
        (nn.softplus, LARGE + 1, 8),  # a kernel for each would have no vectors
        (lambda x: x[::-1] + x, LARGE, 0),
    ],
)
def test_steps_that_are_done_at_once_are_few_where_they_are_long(
    step, size, steps, monkeypatch
):
    monkeypatch.setattr(client, "cores", lambda: 2)
    x = np.linspace(0.1, 0.9, size, dtype=np.float32)
    assert steps_at_once(cv.make_jaxpr(step)(x).jaxpr) == steps
    loop = cv.jit(lambda x: lax.fori_loop(0, 11, lambda i, x: step(x), x))
    wanted = x
    for _ in range(11):
        wanted = cv.jit(step)(wanted)
    np.testing.assert_allclose(loop(x), wanted, rtol=1e-3)
