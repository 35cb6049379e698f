"""``custom_gradient``: a function that returns its value and its own pullback."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors


@cv.custom_gradient
def scaled_sine(x, y):
    value = cnp.sin(x) * y
    return value, lambda ct: (100.0 * ct * y * value, ct * x)


def test_the_pullback_is_used_and_may_close_over_the_computation():
    value = np.sin(1.0) * 2
    assert float(scaled_sine(1.0, 2.0)) == pytest.approx(value)
    assert float(scaled_sine(1.0, y=2.0)) == pytest.approx(value)
    found = cv.grad(scaled_sine, argnums=(0, 1))(1.0, 2.0)
    np.testing.assert_allclose(found, [200 * value, 1.0], rtol=1e-6)
    compiled = cv.jit(cv.grad(scaled_sine))(1.0, 2.0)
    np.testing.assert_allclose(compiled, 200 * value, rtol=1e-6)
    np.testing.assert_allclose(cv.grad(cv.jit(scaled_sine))(1.0, 2.0), 200 * value)


def test_under_vmap():
    found = cv.vmap(cv.grad(scaled_sine), in_axes=(None, 0))(1.0, cnp.arange(3.0))
    np.testing.assert_allclose(found, 100 * np.sin(1) * np.arange(3.0) ** 2, rtol=1e-6)


def test_the_pullback_can_be_differentiated():
    # d/dx of 100 y² sin x
    second = cv.grad(cv.grad(scaled_sine))(1.0, 2.0)
    np.testing.assert_allclose(second, 400 * np.cos(1), rtol=1e-6)


def test_a_single_argument_needs_no_tuple():
    @cv.custom_gradient
    def f(x):
        return x * 2, lambda ct: ct * cnp.where(x > 0, 1.0, 7.0)

    assert cv.vmap(cv.grad(f))(cnp.array([-1.0, 1.0])).tolist() == [7.0, 1.0]


def test_trees_of_arguments_and_results():
    @cv.custom_gradient
    def f(p):
        return {"out": p["a"] * p["b"]}, lambda ct: {"a": 5 * ct["out"], "b": ct["out"]}

    found = cv.grad(lambda p: f(p)["out"])({"a": 1.0, "b": 2.0})
    assert cv.tree.map(float, found) == {"a": 5.0, "b": 1.0}


def test_a_function_that_returns_no_pair():
    with pytest.raises(errors.TypeMismatch, match="pair"):
        cv.custom_gradient(lambda x: x)(1.0)
