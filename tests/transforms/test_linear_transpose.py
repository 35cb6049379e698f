"""``linear_transpose``: the adjoint of a function that is linear as it stands."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

X = np.array([1.0, 2.0, 3.0], np.float32)


def test_the_adjoint_identity_holds_for_a_matrix():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.array([1.0, -1.0], np.float32)
    (found,) = cv.linear_transpose(lambda x: matrix @ x, X)(y)
    np.testing.assert_allclose(found, matrix.T @ y)


def test_the_transpose_is_not_conjugated():
    (found,) = cv.linear_transpose(lambda z: z * 2j, np.complex64(1))(np.complex64(1j))
    assert complex(found) == -2


def test_examples_need_no_values():
    double = cv.linear_transpose(lambda x: 2 * x, cv.ShapeDtypeStruct((3,), "float32"))
    assert double(X)[0].tolist() == [2.0, 4.0, 6.0]


def test_trees_of_arguments_and_results():
    def f(p, y):
        return {"sum": p["a"] + 2 * cnp.sum(y), "y": y}

    back = cv.linear_transpose(f, {"a": 1.0}, X)
    first, second = back({"sum": np.float32(3), "y": X})
    assert float(first["a"]) == 3.0
    assert second.tolist() == [7.0, 8.0, 9.0]


def test_an_argument_that_is_not_used_has_a_zero_cotangent():
    back = cv.linear_transpose(lambda x, y: 2 * x, 1.0, X)
    assert [np.asarray(ct).tolist() for ct in back(1.0)] == [2.0, [0.0, 0.0, 0.0]]


def test_the_transpose_of_the_transpose_is_the_function():
    def f(x):
        return cnp.cumsum(x) * 3

    back = cv.linear_transpose(f, X)
    again = cv.linear_transpose(lambda y: back(y)[0], X)
    np.testing.assert_allclose(again(X)[0], f(X))


PROGRAMS = {
    "jit": cv.jit(lambda x: x * 3),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c), 0 * x[0], x)[1] * 3,
    "checkpoint": cv.checkpoint(cnp.cumsum),
    "cond": lambda x: lax.cond(True, lambda x: 2 * x, lambda x: x, x),
    "vmap": cv.vmap(lambda x: 5 * x),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_linear_programs_inside_are_transposed(f):
    matrix = np.asarray(cv.jacfwd(f)(X))
    np.testing.assert_allclose(cv.linear_transpose(f, X)(X)[0], matrix.T @ X)
    compiled = cv.jit(lambda y: cv.linear_transpose(f, X)(y)[0])
    np.testing.assert_allclose(compiled(X), matrix.T @ X)
    batched = cv.vmap(lambda y: cv.linear_transpose(f, X)(y)[0])
    np.testing.assert_allclose(batched(X[None])[0], matrix.T @ X)


def test_it_can_be_differentiated_with_respect_to_what_it_closes_over():
    def through(a):
        return cv.linear_transpose(lambda x: a * x, 1.0)(2.0)[0]

    assert float(cv.grad(through)(3.0)) == 2.0


def test_a_constant_result_is_not_linear():
    with pytest.raises(errors.NotDifferentiable, match="does not depend"):
        cv.linear_transpose(lambda x: (x, cnp.ones(2)), 1.0)


def test_a_result_that_is_always_zero_takes_a_cotangent_and_passes_nothing_on():
    def f(x):
        return x * 3, cnp.zeros(2), cnp.zeros_like(x), 0.0, cnp.zeros(5000)

    def back(ct):
        given = (ct, cnp.ones(2), cnp.ones(3), 1.0, cnp.ones(5000))
        return cv.linear_transpose(f, X)(given)[0]

    assert back(X).tolist() == cv.jit(back)(X).tolist() == [3.0, 6.0, 9.0]
    nothing = cv.linear_transpose(lambda x: cnp.zeros(3), X)
    assert nothing(X)[0].tolist() == [0.0, 0.0, 0.0]


def test_a_result_that_is_known_only_later_is_not_known_to_be_zero():
    def back(y):
        return cv.linear_transpose(lambda x: (x, y), 1.0)((2.0, 3.0))[0]

    assert float(back(0.0)) == 2.0
    with pytest.raises(errors.NotDifferentiable, match="not known to be zero"):
        cv.jit(back)(0.0)


def test_integers_beside_floats_have_no_transpose():
    words = r"floating-point.*or integers for all.*i32\[\] -> f32\[\]"
    with pytest.raises(errors.NotDifferentiable, match=words):
        cv.linear_transpose(lambda i: i * 2.0, 1)


def test_a_function_of_integers_is_transposed_in_integers():
    back = cv.linear_transpose(lambda i: cnp.cumsum(i) * 2, np.arange(3))
    assert back(np.arange(1, 4))[0].tolist() == [12, 10, 6]


NONLINEAR = {
    "1/x": lambda x: 1 / x,
    "a square": lambda x: x * x,
    "a square in jit": cv.jit(lambda x: x * x),
    "a square in scan": lambda x: lax.scan(lambda c, v: (c, v * v), 0.0, x)[1],
    "a square by its carry": lambda x: lax.scan(lambda c, v: (v, c * v), x[0], x)[1],
    "a square in a loop": lambda x: lax.fori_loop(0, 2, lambda i, v: v * v, x),
    "a number of steps": lambda x: lax.while_loop(
        lambda c: c.sum() < 9, lambda c: 2 * c, x
    ),
    "a predicate": lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: -x, x),
    "a square in a branch": lambda x: lax.switch(0, [lambda x: x * x, lambda x: x], x),
    "a square in checkpoint": cv.checkpoint(lambda x: x * x),
    "a convolution with itself": lambda x: cnp.convolve(x, x),
    "a product with itself": lambda x: cnp.dot(x, x),
    "a choice": lambda x: cnp.where(x > 0, x, 0),
    "an index": lambda x: cnp.asarray(X)[x.astype(int)],
    "rounding": lambda x: x.astype(int).astype(cnp.float32),
    "a whole quotient": lambda x: x.astype(cnp.int32) // 2 * 1.0,
}


@pytest.mark.parametrize("f", NONLINEAR.values(), ids=NONLINEAR)
def test_a_function_that_is_not_linear_is_refused_in_words(f):
    words = "needs a linear function, but .* is not linear in the arguments"
    with pytest.raises(errors.NotDifferentiable, match=words):
        cv.linear_transpose(f, X)


def test_cotangents_are_checked():
    back = cv.linear_transpose(lambda x: 2 * x, X)
    with pytest.raises(errors.TypeMismatch, match=r"f32\[3\], but got f32\[2\]"):
        back(X[:2])


def test_the_transpose_of_a_function_of_a_python_number_gives_a_weak_one():
    for x in (2.0, np.float32(2)):
        (found,) = cv.linear_transpose(lambda x: x * 2.0, x)(3.0)
        assert found.weak_type == (type(x) is float) and float(found) == 6.0
