"""``odeint``: values against closed forms and SciPy, derivatives in both modes."""

import math

import numpy as np
import pytest
import scipy.integrate

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, TreeMismatch, TypeMismatch
from covector.experimental.ode import dormand_prince
from covector.experimental.ode import odeint as solve


@pytest.fixture(autouse=True)
def _in_double_precision():
    with cv.enable_x64(True):
        yield


def oscillator(y, t, w):
    """A tree of states, which has the solution a cos(√w t)."""
    return {"x": y["v"], "v": -w * y["x"]}


def amplitudes(w, a, t):
    return solve(oscillator, {"x": a, "v": 0.0 * a}, t, w)["x"]


def exact(w, a, t):
    return a * cnp.cos(cnp.sqrt(w) * (t - t[0]))


POINT = 4.0, 1.5, np.array([0.3, 1.0, 2.5, 4.0])


def test_derivatives_are_those_of_the_solution_in_both_modes():
    for i in range(3):
        wanted = cv.jacfwd(exact, i)(*POINT)
        for transform in (cv.jacfwd, cv.jacrev):
            found = transform(amplitudes, i)(*POINT)
            np.testing.assert_allclose(found, wanted, atol=2e-7)


def test_second_derivatives_compose_both_modes_in_any_order():
    def total(f):
        return lambda w: f(w, *POINT[1:]).sum()

    wanted = cv.grad(cv.grad(total(exact)))(4.0)
    for outer, inner in [(cv.jacfwd, cv.jacrev), (cv.jacrev, cv.jacfwd)]:
        found = cv.jit(outer(inner(total(amplitudes))))(4.0)
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_batch_has_the_values_and_gradients_of_its_lanes():
    ws = np.array([1.0, 4.0, 30.0])
    f = cv.value_and_grad(lambda w: amplitudes(w, *POINT[1:]).sum())
    g = cv.value_and_grad(lambda w: exact(w, *POINT[1:]).sum())
    found, wanted = cv.jit(cv.vmap(f))(ws), cv.vmap(g)(ws)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_values_agree_with_scipy_where_the_field_depends_on_time():
    def field(y, t):
        return cnp.stack([y[1], -y[0] + cnp.sin(2 * t) - 0.2 * y[1] ** 3])

    t = np.linspace(0, 10, 23)
    found = solve(field, np.array([1.0, 0.0]), t, rtol=1e-10, atol=1e-10)
    wanted = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -y[0] + math.sin(2 * t) - 0.2 * y[1] ** 3],
        (0, 10),
        [1.0, 0.0],
        "DOP853",
        t,
        rtol=1e-12,
        atol=1e-12,
    ).y.T
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_times_that_decrease_lead_back_to_where_it_began():
    def field(y, t):
        return -y * cnp.cos(t)

    there = solve(field, 1.0, np.array([0.0, 3.0]))[-1]
    back = solve(field, there, np.array([3.0, 1.0, 0.0]))
    np.testing.assert_allclose(back[-1], 1.0, rtol=1e-7)
    np.testing.assert_allclose(back[1], math.exp(-math.sin(1)), rtol=1e-7)


def test_what_the_field_closes_over_is_differentiated():
    def end(w):
        return solve(lambda y, t: -w * y, 1.0, np.array([0.0, 2.0]))[-1]

    assert float(cv.grad(end)(0.5)) == pytest.approx(-2 * math.exp(-1), abs=1e-7)
    assert float(cv.jvp(end, (0.5,), (1.0,))[1]) == pytest.approx(-2 / math.e, abs=1e-7)


def test_a_state_at_rest_has_the_tangent_of_one_that_is_not():
    """The steps suit the tangent too: those for y = 0 alone could be of any length."""

    def end(y):
        return solve(lambda y, t: -3 * y, y, np.array([0.0, 10.0]))[-1]

    wanted = math.exp(-30)
    assert float(cv.jvp(end, (0.0,), (1.0,))[1]) == pytest.approx(wanted, abs=1e-8)
    assert float(cv.grad(end)(0.0)) == pytest.approx(wanted, abs=1e-8)


def test_gradients_of_a_small_loss_are_as_accurate_as_of_a_large_one():
    def end(w):
        return solve(lambda y, t: -w * y * y, 1.0, np.array([0.0, 2.0]))[-1]

    wanted = -2 / (1 + 2 * 0.7) ** 2
    found = cv.grad(lambda w: 1e-9 * end(w))(0.7)
    assert float(found) == pytest.approx(1e-9 * wanted, rel=1e-6)


def test_a_complex_field_makes_the_state_complex():
    def end(w):
        return solve(lambda y, t: 1j * w * y, 1.0, np.array([0.0, 1.0]))[-1]

    assert complex(end(2.0)) == pytest.approx(complex(np.exp(2j)), abs=1e-7)
    # The real part of exp(i w) has the derivative −sin w.
    for derivative in (cv.grad, cv.jacfwd):
        found = derivative(lambda w: end(w).real)(2.0)
        assert float(found) == pytest.approx(-math.sin(2), abs=1e-7)


def test_a_solution_that_does_not_reach_the_time_is_nan_there():
    t = np.array([0.0, 0.5, 2.0, 3.0])
    found = solve(lambda y, t: y * y, 1.0, t)  # infinite at t = 1
    np.testing.assert_allclose(found, [1, 2, math.nan, math.nan], rtol=1e-6)
    found = solve(lambda y, t: y, 1.0, t, mxstep=3)
    assert np.isnan(found).tolist() == [False, True, True, True]
    found = solve(lambda y, t: cnp.log(y - 2 * t), 1.0, t)
    assert np.isnan(found).tolist() == [False, True, True, True]
    found = cv.jit(lambda t: solve(lambda y, t: y, 1.0, t))(np.array([0, 2.0, 1.0]))
    assert np.isnan(found).tolist() == [False, True, False]


def test_the_field_is_not_asked_beyond_the_last_time():
    found = solve(
        lambda y, t: cnp.where(t <= 1, 1.0, cnp.nan), 0.0, np.array([0.0, 1.0])
    )
    np.testing.assert_allclose(found, [0.0, 1.0])


def test_one_time_equal_times_and_states_without_elements_are_solutions():
    found = cv.jacrev(lambda y: solve(lambda y, t: y, y, np.array([2.0])))(3.0)
    assert found.tolist() == [1.0]
    found = solve(lambda y, t: y, 1.0, np.array([0.0, 0.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, [1, 1, math.e, math.e], rtol=1e-6)
    empty = {"a": np.zeros((0, 2)), "b": ()}
    assert solve(lambda y, t: y, empty, np.array([0.0, 1.0]))["a"].shape == (2, 0, 2)


def test_states_keep_their_dtypes():
    y = {"a": np.float32(1), "b": np.ones(2, "bfloat16"), "c": 1, "d": np.float16(1)}
    found = solve(lambda y, t: y, y, np.array([0, 1]), rtol=1e-3, atol=1e-3)
    dtypes = {name: str(x.dtype) for name, x in found.items()}
    assert dtypes == {"a": "float32", "b": "bfloat16", "c": "float64", "d": "float16"}
    np.testing.assert_allclose(found["a"], [1, math.e], rtol=2e-3)


def test_the_gradient_of_narrow_arguments_is_summed_in_wide_ones():
    def end(w):
        return solve(lambda y, t: -w * y, np.float32(1.0), np.linspace(0, 2, 5))[-1]

    slope = cv.grad(end)(cnp.array(0.5, "bfloat16"))
    assert str(slope.dtype) == "bfloat16"
    assert float(slope) == pytest.approx(-2 / math.e, rel=2**-8)


def test_steps_and_the_polynomial_between_them_have_their_orders():
    """Halving the step divides the error by 2⁶, and by 2⁵ between steps."""

    def errors(size):
        limits = dormand_prince.Tolerances(1e9, 1e9, math.inf, size)
        one = cnp.ones(())
        zeros = cnp.zeros(())
        at = dormand_prince.Progress(
            zeros, [one], [one], size * one, zeros, [[one], *[[zeros]] * 4], 0
        )
        at = dormand_prince._advance(lambda y, t: y, at, cnp.array(9.0), limits)
        between = dormand_prince._evaluate(at.polynomial, cnp.array(0.3))
        return [
            abs(float(at.y[0]) - math.exp(size)),
            abs(float(between[0]) - math.exp(0.3 * size)),
        ]

    orders = np.log2(np.array(errors(0.2)) / np.array(errors(0.1)))
    np.testing.assert_allclose(orders, [6, 5], atol=0.2)


def test_errors_say_what_is_wrong_with_the_problem():
    t = np.array([0.0, 1.0])
    with pytest.raises(TreeMismatch, match="slopes in the structure of y0"):
        solve(lambda y, t: (y, y), 1.0, t)
    with pytest.raises(TypeMismatch, match=r"slopes like y0, f64\[\]"):
        solve(lambda y, t: cnp.ones(3) * y, 1.0, t)
    with pytest.raises(TypeMismatch, match=r"real times t of shape \[n\]"):
        solve(lambda y, t: y, 1.0, 2.0)
    with pytest.raises(ArgumentError, match="times t that increase, or that decrease"):
        solve(lambda y, t: y, 1.0, np.array([0.0, 2.0, 1.0]))
    with pytest.raises(ArgumentError, match="rtol must be a known number above zero"):
        solve(lambda y, t: y, 1.0, t, rtol=-1.0)


def test_options_of_the_user_do_not_reach_the_solver():
    with (
        cv.numpy_dtype_promotion("strict"),
        cv.numpy_rank_promotion("raise"),
    ):
        times = np.linspace(0.0, 1.0, 3)
        found = cv.jacrev(lambda y: solve(lambda y, t: -y, y, times)[-1])(cnp.ones(2))
    np.testing.assert_allclose(found, np.eye(2) / math.e, atol=1e-7)
