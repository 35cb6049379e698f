"""Effects happen once each time, in order, and never while something is traced."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.core.effects import CALLS, LASTS, NONE, ORDERED
from covector.experimental import io_callback
from covector.programs.higher_order.jaxpr_passes import without_effects

X = np.array([0.5, -1.0, 2.0], np.float32)


class Log:
    """What was seen, in order; ``log(x)`` in a program adds the value of x."""

    def __init__(self, ordered=False):
        self.seen = []
        self.ordered = ordered

    def add(self, x):
        self.seen.append(np.asarray(x).tolist())

    def __call__(self, x):
        cv.debug.callback(self.add, x, ordered=self.ordered)

    def of(self, f, *args):
        """What running ``f`` adds."""
        self.seen = []
        f(*args)
        cv.effects_barrier()
        return self.seen


@pytest.fixture(params=[False, True], ids=["unordered", "ordered"])
def log(request):
    return Log(request.param)


def both(f):
    """By itself, and jitted: twice, for the second call takes another way."""
    jitted = cv.jit(f)
    return [f, f, jitted, jitted]


# -- order -----------------------------------------------------------------------------


def through_everything(log):
    """A function that logs wherever an effect can be."""

    def body(i, c):
        log(10 * c)
        return lax.cond(
            i % 2 == 0, lambda c: (log(20 * c), c + 1)[1], lambda c: c + 1, c
        )

    def test(c):
        log(c + 0.5)
        return c < 6

    @cv.jit
    def inner(x):
        log(100 * x)
        return x + 1

    def f(x):
        log(x)
        x = lax.fori_loop(0, 3, body, x)
        x = inner(inner(x))
        x, _ = lax.scan(lambda c, _: (log(c), (c, None))[1], x, None, length=2)
        x = lax.while_loop(test, lambda c: (log(-c), c + 1)[1], x)
        x = cv.checkpoint(lambda x: (log(1000 * x), x)[1])(x)
        x = lax.switch(2, [lambda x: x, lambda x: x, inner], x)
        return lax.map(lambda y: (log(y), y)[1], cnp.stack([x, 2 * x]))

    return f


EVERYTHING = [
    *[1.0, 10.0, 20.0, 20.0, 30.0, 60.0, 400.0, 500.0, 6.0, 6.0],
    *[6.5, 6000.0, 600.0, 7.0, 14.0],
]


def test_everything_in_order(log):
    for f in both(through_everything(log)):
        assert log.of(f, 1.0) == EVERYTHING


def test_everything_in_order_in_a_derivative(log):
    f = through_everything(log)
    for g in both(lambda x: cv.jvp(f, (x,), (x,))):
        assert log.of(g, 1.0) == EVERYTHING


def test_a_test_with_ordered_effects_runs_once_more_than_the_body(log):
    def test(c):
        log(c)
        return c < 3

    for f in both(lambda x: lax.while_loop(test, lambda c: (log(-c), c + 1)[1], x)):
        assert log.of(f, 1.0) == [1.0, -1.0, 2.0, -2.0, 3.0]
        assert log.of(f, 5.0) == [5.0]


def test_effects_of_unrelated_values_keep_their_order(log):
    def f(x):
        y = x
        for _ in range(20):
            y = cnp.tanh(y @ y)
        log(y[0, 0] * 0)
        for k in range(1, 10):
            log(x[0, 0] * 0 + k)

    f = cv.jit(f)
    for _ in range(5):
        assert log.of(f, cnp.eye(100)) == list(range(10))


@pytest.mark.parametrize("unroll", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_step_by_step(log, reverse, unroll):
    def f(x):
        return lax.scan(
            lambda c, x: (log(x), (c, x))[1], 0, x, reverse=reverse, unroll=unroll
        )

    wanted = X.tolist()[::-1] if reverse else X.tolist()
    for g in both(f):
        assert log.of(g, X) == wanted


def test_many_steps_are_compiled_and_in_order(log):
    f = both(lambda x: lax.fori_loop(0, 500, lambda i, c: (log(i), c)[1], x))
    for g in f:
        assert log.of(g, 1.0) == list(range(500))


# -- once ------------------------------------------------------------------------------


def times(log, x):
    log(x)
    return cnp.sin(x) * x


def scanned(f):
    return lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0]


ONCE = {
    "plain": lambda f: f,
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "checkpoint_everything": lambda f: cv.checkpoint(
        f, policy=cv.checkpoint_policies.everything_saveable
    ),
    "nested_checkpoint": lambda f: cv.checkpoint(lambda x: cv.checkpoint(f)(x) + 1),
    "checkpoint_of_jit": lambda f: cv.checkpoint(cv.jit(f)),
    "cond": lambda f: lambda x: lax.cond(x > -9, f, lambda x: x, x),
}
THRICE = {
    "scan": scanned,
    "checkpoint_in_scan": lambda f: scanned(cv.checkpoint(f)),
    "scan_in_checkpoint": lambda f: cv.checkpoint(scanned(f)),
    "checkpoint_of_cond_in_scan": lambda f: scanned(
        cv.checkpoint(lambda x: lax.cond(x > -9, f, lambda x: x, x))
    ),
}
DERIVATIVES = {
    "grad": cv.grad,
    "jacfwd": cv.jacfwd,
    "grad_of_grad": lambda f: cv.grad(cv.grad(f)),
    "linearize": lambda f: lambda x: cv.linearize(f, x)[1](x),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("wrapper", [*ONCE, *THRICE])
def test_an_effect_happens_once_with_the_primal(wrapper, derivative):
    log = Log(ordered=derivative == "grad_of_grad")
    wrap = {**ONCE, **THRICE}[wrapper]
    f = wrap(lambda x: times(log, x))
    g = wrap(lambda x: cnp.sin(x) * x)
    count = 3 if wrapper in THRICE else 1
    for h in both(DERIVATIVES[derivative](f)):
        seen = log.of(h, cnp.float32(0.5))
        assert len(seen) == count
        assert seen[0] == 0.5
    wanted = DERIVATIVES[derivative](g)(0.5)
    for a, b in zip(cv.tree.leaves(h(0.5)), cv.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_an_effect_in_a_while_loop_happens_once_per_step():
    log = Log()

    def f(x):
        return lax.while_loop(lambda c: c < 4, lambda c: (log(c), 2 * c)[1], x)

    for g in both(lambda x: cv.jvp(f, (x,), (x,))):
        assert log.of(g, 1.0) == [1.0, 2.0]


def test_what_is_known_is_not_run_while_tracing(log):
    def f(x):
        log(3.0)
        cv.jit(lambda: log(4.0))()
        lax.fori_loop(0, 2, lambda i, c: (log(5.0), c)[1], 0)
        cv.pure_callback(log.add, None, 6.0)
        return x

    assert log.of(cv.make_jaxpr(f), 1.0) == []
    assert log.of(cv.jit(f).lower, 1.0) == []
    jitted = cv.jit(f)
    for _ in range(3):
        assert log.of(jitted, 1.0) == [3.0, 4.0, 5.0, 5.0]


def test_a_result_that_nobody_reads_takes_its_effects_along(log):
    def f(x):
        lax.scan(lambda c, _: (log(c), (c + 1, c))[1], x, None, length=2)
        lax.cond(x > 0, lambda x: (log(7 * x), x)[1], lambda x: x, x)
        return 0

    for g in both(f):
        assert log.of(g, 1.0) == [1.0, 2.0, 7.0]


# -- batches ---------------------------------------------------------------------------


def test_once_for_each_member():
    log = Log()
    for f in both(cv.vmap(lambda x: times(log, x))):
        assert log.of(f, X) == X.tolist()
    for f in both(cv.vmap(cv.vmap(lambda x: times(log, x)), in_axes=1)):
        assert log.of(f, np.stack([X, -X])) == np.stack([X, -X]).T.ravel().tolist()
    for f in both(cv.vmap(cv.grad(lambda x: times(log, x)))):
        assert log.of(f, X) == X.tolist()


def test_once_for_what_all_lanes_share(log):
    for f in both(cv.vmap(lambda x: (log(3.0), x)[1])):
        assert log.of(f, X) == [3.0]


def test_only_lanes_that_take_the_branch():
    log = Log()

    def lane(x, y):
        return lax.cond(x > 0, lambda y: (log(y), 2 * y)[1], lambda y: y, y)

    for f in both(cv.vmap(lane, in_axes=(0, None))):
        assert log.of(f, X, 7.0) == [7.0, 7.0]
    for f in both(cv.vmap(lane)):
        assert log.of(f, X, X) == [0.5, 2.0]
        np.testing.assert_array_equal(f(X, X), np.where(X > 0, 2 * X, X))
    for f in both(cv.grad(lambda x: cnp.sum(cv.vmap(lane)(x, x)))):
        assert log.of(f, X) == [0.5, 2.0]
        np.testing.assert_array_equal(f(X), [2, 1, 2])


def test_only_lanes_that_still_go():
    log = Log()

    def lane(x):
        return lax.while_loop(lambda c: c < 2, lambda c: (log(c), c + 1)[1], x)

    for f in both(cv.vmap(lane)):
        assert log.of(f, X) == [0.5, 1.5, -1.0, 0.0, 1.0]
        np.testing.assert_array_equal(f(X), [2.5, 2, 2])


def test_ordered_branches_have_no_batch():
    log = Log(ordered=True)

    def lane(x):
        return lax.cond(x > 0, lambda x: (log(1.0), x)[1], lambda x: x, x)

    with pytest.raises(errors.ArgumentError, match="cond has ordered effects, and an"):
        cv.vmap(lane)(X)


def test_lanes_that_differ_and_do_things_do_not_communicate():
    log = Log()

    def lane(x):
        def branch(x):
            log(x)
            return lax.psum(x, "i")

        return lax.cond(x > 0, branch, lambda x: x, x)

    with pytest.raises(
        errors.ArgumentError, match="cannot communicate over the axis 'i'"
    ):
        cv.vmap(lane, axis_name="i")(X)


# -- what programs say of themselves ---------------------------------------------------


def effects(f):
    return cv.make_jaxpr(f)(1.0).effects


def test_a_program_has_the_effects_of_its_programs():
    def pure(x):
        return cv.pure_callback(np.sin, x, x)

    def lasting(x):
        return io_callback(np.sin, x, x)

    def ordered(x):
        return io_callback(np.sin, x, x, ordered=True)

    wraps = [
        lambda f: f,
        cv.jit,
        cv.checkpoint,
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3),
        lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
        lambda f: lambda x: lax.while_loop(lambda c: c < 3, f, x),
        lambda f: lambda x: lax.while_loop(lambda c: f(c) < 3, lambda c: c, x),
    ]
    for wrap in wraps:
        assert effects(wrap(lambda x: x)) == NONE
        assert effects(wrap(pure)) == CALLS
        assert effects(wrap(lasting)) == LASTS
        assert effects(wrap(ordered)) == ORDERED


def test_a_silent_program_computes_the_same_and_does_nothing():
    log = Log()
    jaxpr = cv.make_jaxpr(scanned(lambda x: times(log, x)))(1.0)
    assert jaxpr.memo(without_effects).effects == NONE
    assert log.of(jaxpr.memo(without_effects), cnp.float32(1)) == []
    for program in (jaxpr, jaxpr.memo(without_effects)):
        np.testing.assert_allclose(program(cnp.float32(1))[0], 0.368333, rtol=1e-5)
    pure = cv.make_jaxpr(cnp.sin)(1.0)
    assert without_effects(pure) is pure


def test_a_result_of_an_effect_cannot_be_computed_again():
    def f(x):
        return cnp.sin(x * io_callback(np.float32, cnp.float32(1), 2.0))

    with pytest.raises(
        errors.NotDifferentiable,
        match=r"(?s)io_callback.*has an effect, which happens once.*by a policy",
    ):
        cv.grad(cv.checkpoint(f))(1.0)
    kept = cv.checkpoint(f, policy=cv.checkpoint_policies.everything_saveable)
    np.testing.assert_allclose(cv.grad(kept)(1.0), 2 * np.cos(2.0), rtol=1e-6)


@pytest.mark.parametrize("callback", ["pure", "debug"])
def test_what_combines_elements_does_nothing_else(callback):
    def combine(a, b):
        if callback == "debug":
            cv.debug.print("{}", a)
            return a + b
        return cv.pure_callback(np.add, a, a, b)

    for reduce in (
        lambda x: lax.reduce(x, cnp.float32(0), combine, (0,)),
        lambda x: lax.reduce_window(x, cnp.float32(0), combine, (2,), (1,), "VALID"),
    ):
        with pytest.raises(
            errors.ArgumentError,
            match=r"(?s)in any order and as often as it likes.*cannot call Python",
        ):
            cv.jit(reduce)(X)


def test_a_while_loop_in_reverse_repeats_nothing(log):
    def f(x):
        return lax.while_loop(
            lambda c: (log(-c), c < 9)[1], lambda c: (log(c), c * c + 1)[1], x
        )

    wanted = [-1.0, 1.0, -2.0, 2.0, -5.0, 5.0, -26.0]
    for g in both(f):
        assert log.of(g, 1.0) == wanted
    for g in (*both(cv.grad(f)), *both(cv.grad(cv.checkpoint(f)))):
        assert log.of(g, 1.0) == wanted
        assert float(g(1.0)) == 80.0


def test_a_custom_rule_with_an_effect_runs_it_once(log):
    @cv.custom_jvp
    def f(x):
        log(x)
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        log(-primals[0])
        return primals[0] ** 2, 2 * primals[0] * tangents[0]

    for g in both(f):
        assert log.of(g, 3.0) == [3.0]
    for g in both(cv.grad(f)):
        assert log.of(g, 3.0) == [-3.0]
    for g in both(cv.checkpoint(f)):
        assert log.of(g, 3.0) == [3.0]


def test_the_barrier_is_quiet_where_nothing_runs():
    assert cv.effects_barrier() is None


def test_functions_that_write_into_lists_of_their_own_are_not_taken_for_one():
    def noting(seen):
        return cv.jit(lambda x: cv.debug.callback(lambda v: seen.append(float(v)), x))

    first, second = [], []
    one, other = noting(first), noting(second)
    for f, x in ((one, 1.0), (other, 2.0), (one, 3.0)):
        f(x)
    assert (first, second) == ([1.0, 3.0], [2.0])


# -- several devices -------------------------------------------------------------------


def sharded():
    """An array over two devices, and how it is sharded."""
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    mesh = cv.make_mesh((2,), ("x",), devices=cv.devices()[:2])
    whole = cv.NamedSharding(mesh, cv.sharding.PartitionSpec("x"))
    return cv.device_put(cnp.arange(4.0), whole), mesh


def test_one_device_of_several_has_the_effects(log):
    x, _ = sharded()

    def f(x):
        log(x)
        x = lax.cond(x[0] < 1, lambda x: (log(x + 1), x)[1], lambda x: x, x)
        x = lax.while_loop(lambda c: cnp.sum(c) < 20, lambda c: (log(c), 2 * c)[1], x)
        return io_callback(lambda x: 10 * x, x, x)

    jitted = cv.jit(f)
    for _ in range(2):
        seen = log.of(jitted, x)
        assert [row[1] for row in seen] == [1.0, 2.0, 1.0, 2.0]
        np.testing.assert_array_equal(jitted(x), 40 * np.arange(4))


def test_each_device_has_the_effects_of_its_part():
    x, mesh = sharded()
    log = Log()
    spec = cv.sharding.PartitionSpec("x")

    def f(x):
        log(x)
        return cv.pure_callback(np.negative, x, x)

    mapped = cv.jit(cv.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec))
    for _ in range(2):
        assert sorted(log.of(mapped, x)) == [[0.0, 1.0], [2.0, 3.0]]
        np.testing.assert_array_equal(mapped(x), -np.arange(4.0))


def test_an_order_over_parts_is_refused():
    x, mesh = sharded()
    log, spec = Log(ordered=True), cv.sharding.PartitionSpec("x")
    mapped = cv.shard_map(log, mesh=mesh, in_specs=spec, out_specs=None)
    for f in (mapped, cv.jit(mapped)):
        with pytest.raises(errors.ArgumentError, match=r"2 devices, .* no order\."):
            f(x)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("compile", [cv.jit, lambda f: f])
def test_effects_of_a_shard_map_on_one_device_keep_their_order(compile, ordered):
    mesh, log = cv.make_mesh((1,), ("x",)), Log(ordered=ordered)

    def f(x):
        log(x)
        log(2 * x)
        return x

    spec = cv.P("x")
    mapped = compile(cv.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec))
    assert log.of(mapped, cnp.ones(2)) == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("compile", [cv.jit, lambda f: f])
def test_an_effect_in_a_shard_map_over_some_axes_happens_once_for_each_part(compile):
    mesh, log = cv.make_mesh((2, 2), ("x", "y")), Log()

    def f(x):
        log(x)
        return cv.lax.fori_loop(0, 2, lambda i, x: (log(x + i), 2 * x)[1], x)

    spec = cv.P("x")
    mapped = cv.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"x"})
    out = []
    seen = log.of(lambda x: out.append(compile(mapped)(x)), cnp.arange(2.0))
    assert sorted(seen) == [[0.0], [0.0], [1.0], [1.0], [1.0], [3.0]]
    assert out[0].tolist() == [0.0, 4.0]


def test_a_result_that_one_device_of_several_would_have_is_refused():
    mesh = cv.make_mesh((2, 2), ("x", "y"))
    spec = cv.P("x")

    def over(f):
        return cv.shard_map(
            f, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"x"}
        )

    with pytest.raises(errors.ArgumentError, match=r"leaves the axes \['y'\] to the"):
        over(lambda x: cv.experimental.io_callback(np.negative, x, x))(cnp.ones(2))
    pure = over(lambda x: cv.pure_callback(np.negative, x, x))
    assert pure(cnp.ones(2)).tolist() == cv.jit(pure)(cnp.ones(2)).tolist() == [-1, -1]


def test_a_failure_on_several_devices_is_told():
    x, _ = sharded()

    def fail(x):
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):  # as on one device
        cv.jit(lambda x: (cv.debug.callback(fail, x), x + 1)[1])(x)
    cv.effects_barrier()
