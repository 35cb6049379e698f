"""``checkify``: failures of checks as values, through every operation with programs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import ArgumentError, CheckFailed, NotCheckified, TypeMismatch
from covector.experimental import checkify as ck
from tests import meshes


def said(error):
    """What an error says, without the line."""
    found = error.get()
    return None if found is None else found.split(" (`check`")[0].split(" at /")[0]


def positive(x):
    ck.check(x > 0, "needs a positive number, but got {x}", x=x)
    return cnp.log(x)


NUMBERS = lax.GatherDimensionNumbers((), (0,), (0,))
NEGATIVE = "needs a positive number, but got -1.0"


def test_a_check_of_known_values_raises_at_once():
    assert float(positive(1.0)) == 0
    with pytest.raises(
        CheckFailed, match=r"positive number, but got -1.0 .*checkify.py"
    ):
        positive(-1.0)
    with pytest.raises(ck.JaxRuntimeError, match=r"positive number, but got -2\.0"):
        cv.vmap(positive)(cnp.array([1.0, -2.0, -3.0]))
    with pytest.raises(CheckFailed, match="positive number"):
        cv.grad(positive)(-1.0)


def test_a_check_in_a_compiled_program_is_refused_without_checkify():
    def loop(x):
        return lax.scan(lambda c, _: (positive(c), None), x, None, 3)[0]

    for f in (cv.jit(positive), loop, loop):  # not only once a loop is compiled
        with pytest.raises(NotCheckified, match=r"checkify\(f\).*debug_check"):
            f(100.0)


def test_a_debug_check_is_left_out_without_checkify():
    def f(x):
        ck.debug_check(x > 0, "never seen")
        return x

    assert [float(g(-1.0)) for g in (f, cv.jit(f))] == [-1, -1]
    assert said(cv.jit(ck.checkify(f))(-1.0)[0]) == "never seen"


def test_the_failure_is_a_value_beside_the_result():
    checked = ck.checkify(positive)
    for f in (checked, cv.jit(checked), ck.checkify(cv.jit(positive))):
        error, out = f(-1.0)
        assert said(error) == NEGATIVE
        assert np.isnan(float(out))
        with pytest.raises(CheckFailed, match=NEGATIVE):
            error.throw()
        error, out = f(1.0)
        assert error.get() is None
        error.throw()
        assert float(out) == 0


def test_the_first_failure_in_the_order_of_the_program_wins():
    def f(x, y):
        ck.check(x > 0, "first {}", x)
        ck.check(y.sum() > 0, "second {}", y)
        return x

    checked = cv.jit(ck.checkify(f))
    good, bad = cnp.ones(2), -cnp.ones(2)
    assert said(checked(-1, bad)[0]) == "first -1"
    assert said(checked(-1, good)[0]) == "first -1"
    assert said(checked(1, bad)[0]) == "second [-1. -1.]"
    assert checked(1, good)[0].get() is None


def test_lanes_of_a_batch_fail_each_by_itself():
    xs = cnp.array([1.0, -1.0, -2.0])
    error, _ = cv.jit(cv.vmap(ck.checkify(positive)))(xs)
    assert [line.split(" (")[0] for line in error.get().split("\n")] == [
        "at mapped index 1: needs a positive number, but got -1.0",
        "at mapped index 2: needs a positive number, but got -2.0",
    ]
    assert said(ck.checkify(cv.vmap(positive))(xs)[0]) == NEGATIVE
    error, _ = cv.vmap(cv.vmap(ck.checkify(positive)))(-cnp.ones((1, 1)))
    assert error.get().startswith("at mapped index (0, 0): needs")


def loop_of_scan(xs):
    def step(c, x):
        ck.check(c < 3, "carry {} at {}", c, x)
        return c + x, c

    return lax.scan(step, 0.0, xs)


def loop_of_while(x):
    def test(c):
        ck.check(c < 50, "test {}", c)
        return c < 100

    def body(c):
        ck.check(c < 20, "body {}", c)
        return c * 2

    return lax.while_loop(test, body, x)


def branches(x):
    def taken(x):
        ck.check(x < 5, "above {}", x)
        return x

    def other(x):
        ck.check(x > -5, "below {}", x)
        return -x

    return lax.cond(x > 0, taken, other, x)


def test_checks_in_loops_and_branches_fail_at_the_step_that_is_run():
    for transform in (lambda f: f, cv.jit):
        f = transform(ck.checkify(loop_of_scan))
        assert said(f(cnp.arange(6.0))[0]) == "carry 3.0 at 3.0"
        f = transform(ck.checkify(loop_of_while))
        found = [said(f(x)[0]) for x in (3.0, 60.0, 200.0)]
        assert found == ["body 24.0", "test 60.0", "test 200.0"]
        f = transform(ck.checkify(branches))
        found = [said(f(x)[0]) for x in (1.0, -1.0, 6.0, -6.0)]
        assert found == [None, None, "above 6.0", "below -6.0"]


def test_a_lane_fails_only_in_what_it_runs():
    xs = cnp.array([3.0, 200.0])
    assert said(ck.checkify(cv.vmap(loop_of_while))(xs)[0]) == "body 24.0"
    xs = cnp.array([-1.0, 6.0, -6.0])
    assert said(ck.checkify(cv.vmap(branches))(xs)[0]) == "above 6.0"
    assert ck.checkify(cv.vmap(branches))(xs / 2)[0].get() is None


def test_derivatives_are_those_of_the_function():
    def value(x):
        error, y = ck.checkify(positive)(x)
        return y, error

    slope, error = cv.jit(cv.grad(value, has_aux=True))(2.0)
    assert (float(slope), error.get()) == (0.5, None)
    assert said(cv.grad(value, has_aux=True)(-1.0)[1]) == NEGATIVE
    assert said(cv.jit(ck.checkify(cv.grad(positive)))(-1.0)[0]) == NEGATIVE
    recomputed = cv.checkpoint(positive)
    assert said(ck.checkify(cv.grad(recomputed))(-1.0)[0]) == NEGATIVE


def test_rules_of_users_stay_the_rules_of_what_is_checked():
    @cv.custom_jvp
    def f(x):
        return positive(x)

    f.defjvp(lambda p, t: (f(*p), 7.0 * t[0]))

    def twice(x):
        error, y = ck.checkify(cv.jit(lambda x: 2 * f(x)))(x)
        return y, error

    for g in (twice, cv.jit(twice)):
        assert float(cv.grad(g, has_aux=True)(2.0)[0]) == 14
        assert float(cv.jvp(g, (2.0,), (1.0,), has_aux=True)[1]) == 14
        assert said(g(-1.0)[1]) == NEGATIVE
    error, slope = ck.checkify(cv.grad(f))(-1.0)
    assert (said(error), float(slope)) == (NEGATIVE, 7)


def test_checks_in_backward_rules_are_left_to_checkify_of_the_gradient():
    @cv.custom_vjp
    def f(x):
        return positive(x)

    def backward(x, ct):
        ck.check(ct < 5, "a large cotangent {}", ct)
        return (7 * ct,)

    f.defvjp(lambda x: (f(x), x), backward)

    def value(x):
        error, y = ck.checkify(f)(x)
        return 9 * y, error

    slope, error = cv.jit(cv.grad(value, has_aux=True))(2.0)
    assert (float(slope), error.get()) == (63, None)
    error, slope = ck.checkify(cv.grad(lambda x: 9 * f(x)))(2.0)
    assert (float(slope), said(error)) == (63, "a large cotangent 9.0")


@pytest.mark.parametrize("checked", [True, False])
def test_the_first_device_that_fails_is_heard(checked):
    mesh = meshes.mesh("4")

    def f(x):
        def step(total, v):
            ck.check(v < 5, "{} on device {}", v, lax.axis_index("x"))
            return total + v, None

        total, _ = lax.scan(step, x[0] * 0, x)
        return lax.psum(total, "x") * x

    f = cv.shard_map(
        f, mesh=mesh, in_specs=cv.P("x"), out_specs=cv.P("x"), check_vma=checked
    )
    f = cv.jit(ck.checkify(f))
    error, out = f(cnp.arange(8.0))
    assert said(error) == "5.0 on device 2"
    np.testing.assert_array_equal(out, 28 * np.arange(8.0))
    assert f(cnp.arange(8.0) / 2)[0].get() is None


def test_an_operation_that_makes_nan_of_numbers_is_named():
    def f(x):
        y = cnp.sqrt(x) + 1
        return lax.scan(lambda c, v: (c + v, cnp.log(v)), 0.0, y)

    f = cv.jit(ck.checkify(f, ck.nan_checks))
    assert f(cnp.ones(2))[0].get() is None
    error, _ = f(cnp.array([1.0, -1.0]))
    assert said(error) == "nan generated by primitive: sqrt"
    assert "test_checkify.py" in error.get()
    assert f(cnp.array([1.0, np.nan]))[0].get() is None  # it came in
    error, _ = ck.checkify(cv.grad(lambda x: cnp.sqrt(x * 0)), ck.nan_checks)(1.0)
    assert "nan generated by primitive: mul" in error.get()


def test_a_division_by_zero_is_named():
    f = cv.jit(ck.checkify(lambda x, y: x / y, ck.float_checks))
    assert said(f(1.0, cnp.array([1.0, 0.0]))[0]) == "division by zero, in div"
    assert f(0.0, cnp.ones(2))[0].get() is None
    error, _ = ck.checkify(lambda x: 1 % x, ck.div_checks)(0)
    assert said(error) == "division by zero, in rem"


def test_an_index_out_of_bounds_is_named():
    def pair(i):
        return cnp.stack([0 * i, i])

    functions = {
        "dynamic_slice": lambda x, i: x[0, i],
        "gather": lambda x, i: x[pair(i), pair(i)],
        "dynamic_update_slice": lambda x, i: lax.dynamic_update_index_in_dim(
            x, cnp.ones(2), i, 1
        ),
        "scatter": lambda x, i: x.at[0, pair(i)].set(1.0),
        "scatter-add": lambda x, i: x.at[0, pair(i)].add(1.0),
    }
    x = cnp.zeros((2, 3))
    for name, f in functions.items():
        f = cv.jit(ck.checkify(f, ck.index_checks))  # noqa: PLW2901
        wanted = "for axis 1 with size 3, in " + name
        if name == "gather":  # which the index of the other axis leaves first
            wanted = "for axis 0 with size 2, in gather"
        error = said(f(x, 5)[0])
        assert error.startswith(
            "out-of-bounds indexing for array of shape (2, 3): index 5 "
        )
        assert error.endswith(wanted)
        assert f(x, 1)[0].get() is None
    error, _ = cv.vmap(ck.checkify(lambda i: x[0, i], ck.index_checks))(cnp.arange(4))
    assert error.get().startswith("at mapped index 3: out-of-bounds")


def test_narrow_indices_and_none_at_all_are_looked_at():
    f = ck.checkify(lambda x, i: lax.gather(x, i, NUMBERS, (1,)), ck.index_checks)
    x = cnp.zeros(1000)
    assert f(x, cnp.array([[3]], "int8"))[0].get() is None
    assert "index -2 is out of bounds" in f(x, cnp.array([[3], [-2]], "int8"))[0].get()
    assert f(x, cnp.zeros((0, 1), int))[0].get() is None


def test_only_the_checks_that_are_wanted_are_made():
    def f(x, i):
        ck.check(x > 0, "user")
        return cnp.log(x) / x + cnp.arange(3.0)[i]

    def found(wanted, *args):
        return said(cv.jit(ck.checkify(f, wanted))(*args)[0])

    assert found(ck.user_checks, -1.0, 9) == "user"
    assert found(ck.nan_checks, -1.0, 9) == "nan generated by primitive: log"
    assert found(ck.index_checks, -1.0, 9).startswith("out-of-bounds")
    assert found(ck.div_checks, 0.0, 9) == "division by zero, in div"
    assert found(ck.all_checks, -1.0, 9) == "user"
    assert found(frozenset(), -1.0, 9) is None
    assert ck.automatic_checks | ck.user_checks == ck.all_checks


def test_a_failure_can_be_checked_again():
    error, _ = ck.checkify(positive)(-1.0)
    lanes, _ = cv.vmap(ck.checkify(positive))(cnp.array([1.0, -1.0]))
    for e in (error, lanes):
        with pytest.raises(CheckFailed, match=NEGATIVE):
            ck.check_error(e)

        def f(x, e=e):
            ck.check_error(e)
            return x

        assert said(cv.jit(ck.checkify(f))(1.0)[0]) == NEGATIVE
    ck.check_error(ck.init_error)
    assert ck.init_error.get() is None


def test_values_keep_their_places_in_messages_of_many_shapes():
    def f(x, flag):
        ck.check(~flag, "{b} {a}", a=x[:1], b=x)
        ck.check(x.sum() > 0, "{} {} {}", x, x[0], {"k": x + 1})
        return x

    f = cv.jit(ck.checkify(f))
    x = -cnp.arange(2)
    assert said(f(x, True)[0]) == "[ 0 -1] [0]"
    assert said(f(x, False)[0]) == "[ 0 -1] 0 {'k': array([1, 0], dtype=int32)}"


def test_errors_say_what_a_check_needs():
    with pytest.raises(
        TypeMismatch, match=r"check needs a scalar bool, but got bool\[2\]"
    ):
        ck.check(cnp.ones(2) > 0, "both")
    with pytest.raises(TypeMismatch, match="a message that is a string, but got 3"):
        ck.check(True, 3)
    with pytest.raises(TypeMismatch, match="check_error needs an Error, but got None"):
        ck.check_error(None)
    with pytest.raises(ArgumentError, match="errors must be a set such as"):
        ck.checkify(positive, "nan")


def test_after_an_exception_nothing_is_checked_any_more():
    def fails(x):
        ck.check(x > 0, "unseen")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ck.checkify(fails)(-1.0)
    with pytest.raises(CheckFailed):
        positive(-1.0)
