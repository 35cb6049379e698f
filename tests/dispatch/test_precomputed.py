"""What programs compute of captured arrays alone: once, and the same numbers."""

import gc
import threading
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.dispatch.precomputed import in_parts

POINTS = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
QUERY = np.random.default_rng(1).normal(size=(16,)).astype(np.float32)


def program_of(f, *args):
    """The program that calls of a jitted function run."""
    f(*args)
    (program,) = f.programs.values()
    return program.for_calls()


def names(jaxpr):
    return [e.op.name for e in jaxpr.equations]


def distances(points):
    return cv.jit(lambda q: q @ q + (points**2).sum(1) - 2 * points @ q)


def test_norms_of_captured_points_are_computed_once():
    points = cnp.array(POINTS)
    f = distances(points)
    program = program_of(f, QUERY)
    assert "reduce_sum" not in names(program.jaxpr)
    # 2 · points is read by a product, which cannot compute it.
    assert [x.shape for x in program.captured] == [(300, 16), (300,)]
    assert_allclose(f(QUERY), ((POINTS - QUERY) ** 2).sum(1), rtol=1e-4)
    assert program_of(f, QUERY).captured[1] is program.captured[1]


def test_functions_that_are_equal_share_what_was_computed():
    points = cnp.array(POINTS)
    first = program_of(distances(points), QUERY)
    second = program_of(distances(points), QUERY)
    assert second.captured[0] is first.captured[0]
    other = program_of(distances(cnp.array(2 * POINTS)), QUERY)
    assert_allclose(other.captured[1], (4 * POINTS**2).sum(1), rtol=1e-5)


def test_what_was_computed_goes_with_the_function():
    points = cnp.array(POINTS)
    f = distances(points)
    results = [weakref.ref(x) for x in program_of(f, QUERY).captured]
    del f, points
    gc.collect()
    assert [ref() for ref in results] == [None, None]


def test_calls_that_occur_once_are_looked_into():
    points = cnp.array(POINTS)
    f = distances(points)
    slope = cv.jit(cv.grad(lambda q: cnp.sin(f(q)).sum()))
    assert "integer_pow" not in names(program_of(slope, QUERY).jaxpr)
    wanted = cv.grad(lambda q: cnp.sin(f.fun(q)).sum())(QUERY)
    assert_allclose(slope(QUERY), wanted, rtol=1e-4, atol=1e-4)


def test_checks_of_captured_indices_are_made_once():
    indices = cnp.array(np.arange(2000).reshape(1000, 2) % 50)
    inside = cv.jit(
        lambda x: cnp.where((indices < 40).all(1), x[indices[:, 1]], 0.0).sum()
    )
    program = program_of(inside, cnp.arange(50.0))
    assert "reduce_and" not in names(program.jaxpr)
    wanted = np.where((np.arange(2000).reshape(1000, 2) % 50 < 40).all(1), 1.0, 0.0)
    wanted = (wanted * (np.arange(2000).reshape(1000, 2) % 50)[:, 1]).sum()
    assert float(inside(cnp.arange(50.0))) == wanted


UNCHANGED = {
    # as quick as to read it
    "a cheap function": lambda big: lambda x: (x + 2 * big).sum(),
    # too large, and free where it is read
    "copies of rows": lambda big: lambda x: cnp.tanh(x + big[:, None, :]),
    "a view": lambda big: lambda x: x[:16] @ big.T,
    "what the argument is part of": lambda big: lambda x: cnp.exp(big * x[0]).sum(),
    "what is held back": lambda big: (
        lambda x: x[0] * cnp.exp(lax.optimization_barrier(big)).sum()
    ),
    "a loop": lambda big: (
        lambda x: x[0] * lax.fori_loop(0, 9, lambda i, s: cnp.sin(s), big).sum()
    ),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_other_programs_stay_as_they_are(case):
    f = UNCHANGED[case](cnp.array(POINTS))
    x = cnp.ones((16,))
    program = program_of(cv.jit(f), x)
    assert not program.computed
    assert_allclose(cv.jit(f)(x), f(x), rtol=1e-4)


def test_functions_of_python_are_called_each_time():
    seen = []

    def look(x):
        seen.append(x.shape)
        return np.sum(x, keepdims=True).ravel()

    points, one = cnp.array(POINTS), cv.ShapeDtypeStruct((1,), np.float32)
    f = cv.jit(lambda x: x + cv.pure_callback(look, one, points))
    for _ in range(3):
        assert_allclose(f(cnp.zeros((1,))), POINTS.sum().reshape(1), rtol=1e-3)
    assert seen == [(300, 16)] * 3


def test_prints_stay_where_they_are(capsys):
    points = cnp.array(POINTS)

    @cv.jit
    def f(x):
        total = cnp.exp(points).sum()
        cv.debug.print("{}", total > 0)
        return x + total

    for _ in range(3):
        f(1.0).block_until_ready()
    cv.effects_barrier()
    assert capsys.readouterr().out == "True\n" * 3


def test_what_is_printed_of_the_argument_is_not_computed_before(capsys):
    points = cnp.array(POINTS)

    @cv.jit
    def f(x):
        cv.debug.print("{}", x * 2)
        return x + cnp.exp(points).sum()

    for k in range(2):
        f(float(k)).block_until_ready()
    cv.effects_barrier()
    assert capsys.readouterr().out == "0.0\n2.0\n"
    assert f.programs


def test_large_results_are_computed_in_each_call():
    big = cnp.zeros((1 << 22, 8), np.uint8)
    f = cv.jit(lambda x: cnp.exp(big.astype(cnp.float32)) @ x)
    assert not program_of(f, cnp.ones((8,))).computed


def test_an_argument_on_another_device_takes_what_was_computed_there():
    f = distances(cnp.array(POINTS))
    near, far = cv.devices()[0], cv.devices()[3]
    for device in (near, far, near):
        got = f(cv.device_put(QUERY, device))
        assert got.devices() == {device}
        assert_allclose(got, ((POINTS - QUERY) ** 2).sum(1), rtol=1e-4)


def test_a_captured_array_on_a_device_takes_the_program_there():
    device = cv.devices()[2]
    f = distances(cv.device_put(POINTS, device))
    assert f(QUERY).devices() == {device}
    assert f(QUERY).devices() == {device}
    with pytest.raises(cv.errors.DeviceMismatch, match="put on cpu:1, cpu:2"):
        f(cv.device_put(QUERY, cv.devices()[1]))


def test_captured_arrays_over_several_devices_stay_there():
    mesh = cv.make_mesh((4,), ("i",))
    points = cv.device_put(
        POINTS, cv.NamedSharding(mesh, cv.sharding.PartitionSpec("i"))
    )
    f = distances(points)
    assert_allclose(f(QUERY), ((POINTS - QUERY) ** 2).sum(1), rtol=1e-4)
    assert not program_of(f, QUERY).computed


def test_arguments_over_several_devices_meet_what_was_computed():
    mesh = cv.make_mesh((4,), ("i",))
    many = np.stack([QUERY, 2 * QUERY, 3 * QUERY, -QUERY])
    over = cv.device_put(many, cv.NamedSharding(mesh, cv.P("i")))
    points = cnp.array(POINTS)
    f = cv.jit(cv.vmap(distances(points).fun))
    for _ in range(2):
        got = f(over)
        assert len(got.devices()) == 4
        wanted = ((POINTS - many[:, None]) ** 2).sum(-1)
        assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_memory_of_an_argument_is_given_up_beside_what_was_computed():
    points = cnp.array(POINTS)
    f = cv.jit(lambda x, y: x + cnp.exp(points).sum(0) * y, donate_argnums=0)
    x, y = cnp.ones((16,)), cnp.full((16,), 2.0)
    for _ in range(3):
        given, x = x, f(x, y)
        assert given.is_deleted()
        assert not y.is_deleted()
    assert_allclose(x, 1 + 6 * np.exp(POINTS).sum(0), rtol=1e-5)


def test_a_nan_is_found_where_it_is_computed():
    points = cnp.array(POINTS)
    f = cv.jit(lambda x: x + cnp.log(points).sum())
    with cv.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        f(1.0)
    assert np.isnan(f(1.0))


def test_threads_that_call_first_at_once_get_the_same():
    f, results = distances(cnp.array(POINTS)), []
    threads = [
        threading.Thread(target=lambda: results.append(np.asarray(f(QUERY))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got in results:
        assert_allclose(got, ((POINTS - QUERY) ** 2).sum(1), rtol=1e-4)
    assert len(results) == 4


def test_a_program_is_what_was_traced():
    points = cnp.array(POINTS)
    f = distances(points)
    f(QUERY)
    assert "reduce_sum" in names(f.trace(QUERY).jaxpr)
    assert_allclose(f.lower(QUERY).compile()(QUERY), f(QUERY), rtol=1e-5)


def test_constants_alone_are_left_to_the_compiler():
    def f(big, x):
        return x * cnp.exp(cnp.arange(2000.0)).sum() + big[0, 0]

    jaxpr = cv.make_jaxpr(f)(POINTS, 1.0)
    assert in_parts(jaxpr, 1) is None


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_of_captured_arrays(seed):
    """jit = eager, whatever is made of captured arrays and arguments."""
    rng = np.random.default_rng(seed)
    known = [cnp.array(rng.normal(size=(40, 40)).astype(np.float32)) for _ in range(2)]
    unary = [
        cnp.tanh,
        cnp.transpose,
        lambda x: x.sum(0),
        lambda x: x.sum(1, keepdims=True),
        lambda x: cnp.sort(x, 0),
        lambda x: x.reshape(20, 80)[:, :40].repeat(2, 0),
        lambda x: x[::-1, 3:4],
        cv.jit(cnp.cos),
        lambda x: cnp.cumsum(x, 1) / 9,
    ]
    binary = [
        cnp.add,
        cnp.multiply,
        lambda x, y: cnp.tanh((x + cnp.zeros((40, 40))) @ (y + cnp.zeros((40, 40)))),
        lambda x, y: cnp.where(x > 0, x, y),
    ]
    steps = [
        (int(rng.integers(2)), rng.integers(99), rng.integers(1 << 30, size=2))
        for _ in range(14)
    ]

    def f(x):
        values = [*known, x]
        for two, which, places in steps:
            a, b = [values[place % len(values)] for place in places]
            if two:
                values.append(binary[which % len(binary)](a, b))
            elif a.shape == (40, 40):
                values.append(unary[which % len(unary)](a))
        return values[-3:]

    x = rng.normal(size=(40, 40)).astype(np.float32)
    jitted = cv.jit(f)
    for _ in range(2):
        for got, wanted in zip(jitted(x), f(cnp.array(x)), strict=True):
            assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)
