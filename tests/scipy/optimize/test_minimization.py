"""Minimization: the classical test functions, and what ends a search."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy.optimize import minimize


def rosenbrock(x):
    return cnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x @ x) - 0.48 * x[0] * x[1]


def kinked(x):
    return cnp.sum(cnp.sqrt(1e-3 + (x - 1) ** 2))


CASES = [
    (rosenbrock, -np.ones(10), np.ones(10)),
    (himmelblau, np.ones(2), [3, 2]),
    (matyas, np.full(2, 3.0), [0, 0]),
    (kinked, np.full(5, 100.0), np.ones(5)),
]


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
def test_minima_of_the_classical_functions_are_found(method):
    with cv.enable_x64(True):
        for function, start, wanted in CASES:
            found = minimize(function, start, method=method, options={"ftol": 0} if
                             method == "L-BFGS" else None)  # fmt: skip
            assert bool(found.success) and int(found.status) == 0, function
            np.testing.assert_allclose(found.x, wanted, atol=1e-4)
            assert np.abs(found.jac).max() <= 1e-5
            assert int(found.nfev) == int(found.njev) < 150


def test_the_inverse_hessian_is_estimated():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    with cv.enable_x64(True):
        found = minimize(lambda x: x @ a @ x / 2 - x[0], np.zeros(2), method="BFGS")
        np.testing.assert_allclose(found.hess_inv, np.linalg.inv(a), atol=1e-3)
        assert minimize(matyas, np.ones(2), method="L-BFGS").hess_inv is None


def test_searches_run_compiled_and_as_lanes():
    starts = cnp.array([[0.0, 0.0], [-1.0, 2.0], [1.0, 1.0]])

    @cv.jit
    @cv.vmap
    def lanes(start):
        return minimize(rosenbrock, start, method="BFGS")

    found = lanes(starts)
    np.testing.assert_allclose(found.x, np.ones((3, 2)), atol=1e-3)
    alone = [int(minimize(rosenbrock, x, method="BFGS").nit) for x in starts[1:]]
    assert found.nit[1:].tolist() == alone
    assert alone[1] == 0  # it began at the minimum


def test_further_arguments_and_integers():
    found = minimize(lambda x, a, b: cnp.sum((x - a) ** 2) + b, cnp.zeros(2, int),
                     (cnp.array([1.0, 2.0]), 5.0), method="bfgs")  # fmt: skip
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-4)
    assert float(found.fun) == pytest.approx(5)


def test_what_ends_a_search_is_told():
    few = minimize(rosenbrock, cnp.zeros(2), method="BFGS", options={"maxiter": 3})
    assert (int(few.status), int(few.nit), bool(few.success)) == (1, 3, False)
    none = minimize(rosenbrock, cnp.zeros(2), method="BFGS", options={"maxiter": 0})
    assert (int(none.status), int(none.nit)) == (1, 0)
    few = minimize(rosenbrock, cnp.zeros(2), method="L-BFGS", options={"maxfun": 9})
    assert (int(few.status), bool(few.success)) == (2, False)
    fall = minimize(lambda x: x[0], cnp.zeros(1), method="BFGS")
    assert int(fall.status) == 1 and float(fall.x[0]) < -1e3
    fine = minimize(rosenbrock, cnp.zeros(2), method="BFGS", tol=1e-12)
    assert int(fine.status) in (0, 3)  # as far as float32 shows
    np.testing.assert_allclose(fine.x, [1, 1], atol=1e-3)
    barrier = minimize(lambda x: cnp.where(x[0] > 0, cnp.nan, x[0]), cnp.zeros(1),
                       method="BFGS", options={"line_search_maxiter": 4})  # fmt: skip
    assert float(barrier.x[0]) < 0


def test_a_function_that_is_undefined_beyond_a_wall_is_minimized_before_it():
    found = minimize(lambda x: x[0] - cnp.log(1 - x[0]) - 3 * x[0], cnp.zeros(1),
                     method="BFGS")  # fmt: skip
    np.testing.assert_allclose(found.x, [0.5], atol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: minimize(matyas, cnp.ones(2), method="CG"), errors.ArgumentError,
         "must be 'BFGS' or 'L-BFGS', but got 'CG'"),
        (lambda: minimize(matyas, cnp.ones((2, 1)), method="BFGS"), errors.AxisError,
         r"a vector to start from, but got f32\[2,1\]"),
        (lambda: minimize(matyas, cnp.ones(2) * 1j, method="BFGS"), TypeError,
         r"real variables, but got c64\[2\]"),
        (lambda: minimize(matyas, cnp.ones(2), 3.0, method="BFGS"), TypeError,
         "a tuple of further arguments, but args is 3.0"),
        (lambda: minimize(matyas, cnp.ones(2), method="BFGS", options={"maxls": 3}),
         errors.ArgumentError, r"BFGS has the options .* but got \('maxls',\)"),
        (lambda: minimize(lambda x: x, cnp.ones(2), method="BFGS"), errors.NotScalar,
         r"returned f32\[2\]"),
    ],
)  # fmt: skip
def test_words_of_minimize(call, error, words):
    with pytest.raises(error, match=words):
        call()
