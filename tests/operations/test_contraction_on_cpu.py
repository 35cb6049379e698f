"""Products of many short rows and one small matrix are formed term by term."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

_RNG = np.random.default_rng(0)


def numbers(*shape, dtype="float32"):
    return (_RNG.normal(size=shape) * 4).astype(dtype)


def is_term_by_term(fun, *args):
    return "dot_general" not in cv.jit(fun).lower(*args).as_text()


@pytest.mark.parametrize(
    ("rows", "terms", "columns", "is_narrow"),
    [
        *((200, 3, 3, True), (200, 8, 8, True), (128, 1, 1, True), (200, 3, 32, True)),
        *((200, 9, 3, False), (200, 4, 9, False), (127, 3, 3, False)),
        *((200, 3, 33, False), (200, 0, 3, False), (200, 3, 0, False)),
    ],
)
def test_which_products_are_formed_term_by_term(rows, terms, columns, is_narrow):
    x, w = numbers(rows, terms), numbers(terms, columns)
    assert is_term_by_term(cnp.matmul, x, w) == is_narrow
    found = cv.jit(cnp.matmul)(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-5, atol=1e-5)


def test_a_matrix_times_each_vector_of_many_is_formed_so():
    x, w = numbers(200, 3), numbers(3, 3)
    rotated = cv.vmap(lambda r: w @ r)
    assert is_term_by_term(rotated, x)
    np.testing.assert_allclose(cv.jit(rotated)(x), x @ w.T, rtol=1e-5, atol=1e-5)


def test_long_rows_and_transposed_ones_are_left_to_xla():
    x, w = numbers(3, 200), numbers(3, 3)
    for fun in (lambda x: w @ x, lambda x: x.T @ w, lambda x: x @ x.T):
        assert not is_term_by_term(fun, x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int32", "uint32"])
def test_narrow_products_of_other_elements(dtype):
    x = cnp.asarray(numbers(200, 3)).astype(dtype)
    w = cnp.asarray(numbers(3, 3)).astype(dtype)
    assert is_term_by_term(cnp.matmul, x, w)
    found = cv.jit(cnp.matmul)(x, w)
    with cv.disable_jit():
        wanted = cnp.matmul(x[:100], w)  # few rows
    assert found.type.dtype == wanted.type.dtype
    np.testing.assert_array_equal(np.asarray(found)[:100], np.asarray(wanted))


def test_nan_and_infinities_reach_the_rows_that_they_are_in():
    x, w = numbers(200, 3), numbers(3, 2)
    x[5, 1], x[9, 2], x[9, 0] = np.nan, np.inf, -np.inf
    found = np.asarray(cv.jit(cnp.matmul)(x, w))
    assert np.isnan(found[5]).all()
    rest = np.delete(np.arange(200), [5, 9])
    np.testing.assert_allclose(found[rest], x[rest] @ w, rtol=1e-5, atol=1e-5)


def test_what_is_multiplied_is_computed_once():
    x, w = numbers(200, 3), numbers(3, 3)
    text = cv.jit(lambda x: cnp.tanh(x) @ cnp.exp(w)).lower(x).compile().as_text()
    assert text.count("tanh(") == 1


def test_gradients_of_narrow_products():
    x, w = numbers(200, 3) / 4, numbers(3, 3) / 4

    def loss(x, w):
        return (cnp.tanh(x @ w) ** 2).sum()

    for found, wanted in zip(
        cv.jit(cv.grad(loss, (0, 1)))(x, w), cv.grad(loss, (0, 1))(x, w), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


# -- axes that become one --------------------------------------------------------------

#: shapes, axes that are summed over, and whether the operands become matrices
MATRICES = {
    "a vector of two axes, and trailing axes": (
        *((4, 5), (6, 7, 4, 5), (0, 1), (2, 3)),
        True,
    ),
    "leading axes, and a matrix": ((4, 5, 6), (20, 4, 5), (0, 1), (1, 2), True),
    "pairs in another order": ((5, 4, 6), (7, 4, 5), (1, 0), (1, 2), False),
    "both as XLA has them": ((6, 7, 4, 5), (4, 5, 8), (2, 3), (0, 1), False),
    "matrices already": ((4, 6), (7, 4), (0,), (1,), False),
    "an axis in the middle": ((6, 4, 7), (8, 4), (1,), (1,), False),
    "no axes": ((6, 2, 7), (8, 4), (), (), False),
    "no free axes": ((4, 5, 3), (4, 5, 3), (0, 1, 2), (0, 1, 2), False),
    "nothing to sum": ((0, 5), (6, 7, 0, 5), (0, 1), (2, 3), True),
}


@pytest.mark.parametrize("name", MATRICES)
def test_axes_that_are_summed_over_become_one_where_xla_would_copy(name):
    left, right, ones, others, merged = MATRICES[name]
    rng = np.random.default_rng(1)
    x, y = [rng.integers(-5, 5, s).astype(np.float32) for s in (left, right)]

    def fun(x, y):
        return lax.dot_general(x, y, ((ones, others), ((), ())))

    np.testing.assert_array_equal(cv.jit(fun)(x, y), np.tensordot(x, y, (ones, others)))
    text = cv.jit(fun).lower(x, y).as_text()
    if 0 not in (*left, *right):
        assert ("stablehlo.reshape" in text) == merged
