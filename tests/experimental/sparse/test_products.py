"""Products of sparse and dense arrays, and their derivatives."""

import numpy as np
import pytest
import scipy.sparse

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.experimental import sparse
from covector.experimental.sparse import BCOO, bcoo_dot_general
from tests.experimental.sparse.layouts import LAYOUTS, check, dense, made

#: what is contracted and what is paired, of a [2, 3, 4] and another array; its shape
PRODUCTS = [
    ((([2], [0]), ([], [])), (4, 5)),
    ((([0, 2], [2, 0]), ([], [])), (4, 3, 2)),
    ((([1], [1]), ([0], [0])), (2, 3)),
    ((([0], [0]), ([2, 1], [1, 2])), (2, 4, 3)),
    ((([], []), ([0], [1])), (2, 2)),
]


@pytest.mark.parametrize("numbers, shape", PRODUCTS)
def test_products_are_those_of_dense_arrays(numbers, shape):
    (left, right), (paired, with_) = numbers
    y = np.random.default_rng(1).integers(-3, 4, shape).astype(np.float32)
    for layout in LAYOUTS:
        m = made(*layout)
        wanted = lax.dot_general(dense(m), y, numbers)
        check(bcoo_dot_general(m, y, dimension_numbers=numbers), wanted)
        turned = (right, left), (with_, paired)
        wanted = lax.dot_general(y, dense(m), turned)
        check(bcoo_dot_general(y, m, dimension_numbers=turned), wanted)


#: layouts of both operands of a product in ``PRODUCTS``
PAIRS = [
    ((0, 0), (0, 1)),
    ((1, 0, "indices"), (0, 0)),
    ((1, 1), (1, 0)),
    ((0, 0), (0, 0)),
    ((1, 0), (1, 0)),
]


def test_products_of_two_sparse_arrays():
    for (numbers, shape), (left, right) in zip(PRODUCTS, PAIRS, strict=True):
        m, y = made(*left), made(*right, shape=shape, seed=1)
        wanted = lax.dot_general(dense(m), dense(y), numbers)
        check(bcoo_dot_general(m, y, dimension_numbers=numbers), wanted)


def test_sampled_products_have_the_elements_that_are_asked_for():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 5))
    numbers = ([2], [1]), ([0], [0])
    full = np.asarray(lax.dot_general(x, y, numbers))
    for layout in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        m = made(*layout, shape=(2, 3, 5))
        found = sparse.bcoo_dot_general_sampled(
            x, y, m.indices, dimension_numbers=numbers
        )
        wanted = sparse.bcoo_extract(m, full, assume_unique=True).data
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_matmul_of_every_rank():
    m = made(0, 0, shape=(3, 4))
    x, v = dense(m), np.arange(4.0, dtype=np.float32)
    y = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)
    check(m @ v, x @ v)
    check(v[:3] @ m, v[:3] @ x)
    check(m @ y, x @ y)
    check(y @ m, y @ x)
    check(m @ m.T, x @ x.T)
    check(cv.jit(lambda a, b: a @ b)(m, m.T), x @ x.T)
    batched = made(1, 0, shape=(2, 3, 4))
    check(batched @ v, dense(batched) @ v)
    check(batched @ y, dense(batched) @ y)


def test_a_product_of_two_matrices_has_an_element_for_each_pair_that_meets():
    a, b = [scipy.sparse.random(300, 300, 0.01, random_state=i) for i in (0, 1)]
    x, y = map(BCOO.from_scipy_sparse, (a, b))
    product = x @ y
    pairs = np.asarray(abs(a).sign().sum(0)).ravel() @ np.asarray(abs(b).sign().sum(1))
    assert product.nse == int(pairs.item())
    np.testing.assert_allclose(product.todense(), (a @ b).toarray(), rtol=1e-5)


def test_derivatives_are_those_of_the_dense_product():
    for layout in [LAYOUTS[0], LAYOUTS[2]]:
        m = made(*layout)
        y = np.random.default_rng(2).normal(size=(4, 5)).astype(np.float32)

        def loss(data, y, m=m):
            return cnp.sin(m.with_data(data) @ y).sum()

        def of_dense(x, y):
            return cnp.sin(x @ y).sum()

        of_data, of_y = cv.jit(cv.grad(loss, (0, 1)))(m.data, y)
        wanted, wanted_y = cv.grad(of_dense, (0, 1))(dense(m), y)
        check(of_y, wanted_y)
        x = cv.grad(lambda d, m=m, w=wanted: (m.with_data(d).todense() * w).sum())
        np.testing.assert_allclose(of_data, x(m.data), rtol=1e-4, atol=1e-5)
        pushed = cv.jvp(lambda d, m=m, y=y: m.with_data(d) @ y, (m.data,), (m.data,))
        check(pushed[1], dense(m) @ y)
    cv.check_rule(lambda d: (m.with_data(d) @ y) ** 2, m.data)


def test_the_derivative_of_padding_is_zero():
    at = np.array([[0, 1], [3, 0], [1, 3]], np.int32)
    m = BCOO((np.array([2.0, np.nan, np.inf], np.float32), at), shape=(3, 3))
    v = np.array([np.inf, 1.0, 2.0], np.float32)
    check(m @ v, [2.0, 0.0, 0.0])
    gradient = sparse.grad(lambda m: (m @ v).sum())(m)
    assert gradient.data.tolist() == [1.0, 0.0, 0.0]
    divided = sparse.grad(lambda m: (m / np.zeros(3, np.float32)).todense().sum())
    assert divided(m).data.tolist() == [np.inf, 0.0, 0.0]


def test_short_floats_are_added_in_32_bits():
    ones = np.ones((1, 4096), np.float16)
    m = BCOO.fromdense(ones)
    assert (m @ np.ones(4096, np.float16)).tolist() == [4096.0]
    assert (m.T @ np.ones(1, np.float16)).dtype == np.float16


@pytest.mark.parametrize("dtype", [np.int32, np.complex64, np.bool_, np.float16])
def test_other_dtypes(dtype):
    x = np.array([[0, 2, 0], [3, 0, 1]]).astype(dtype)
    m = BCOO.fromdense(x)
    y = np.array([1, 0, 1]).astype(dtype)
    check(m @ y, x @ y)
    check(m * y, x * y)
    check(m.todense(), x)
    assert m.dtype == (m @ y).dtype == dtype


def test_convolutions_are_those_of_dense_arrays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 6, 5)) * (rng.random((2, 4, 6, 5)) < 0.3)
    w = rng.normal(size=(6, 2, 3, 2)) * (rng.random((6, 2, 3, 2)) < 0.5)
    options = {
        "window_strides": (2, 1),
        "padding": ((1, 2), (0, 1)),
        "lhs_dilation": (1, 2),
        "rhs_dilation": (2, 1),
        "feature_group_count": 2,
    }
    wanted = lax.conv_general_dilated(x, w, **options)
    for kernel in (w, BCOO.fromdense(w)):
        found = sparse.bcoo_conv_general_dilated(BCOO.fromdense(x), kernel, **options)
        np.testing.assert_allclose(found.todense(), wanted, atol=1e-5)


def test_jax_has_the_same_products():
    jax_sparse = pytest.importorskip("jax.experimental.sparse")
    m = made(1, 0, shape=(2, 3, 4))
    theirs = jax_sparse.BCOO((np.asarray(m.data), np.asarray(m.indices)), shape=m.shape)
    y = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    np.testing.assert_allclose(m @ y, theirs @ y, rtol=1e-6)
    np.testing.assert_allclose((m * 3).data, (theirs * 3).data)


def test_what_products_say_of_shapes_that_do_not_fit():
    m = sparse.eye(2, 3)
    with pytest.raises(ValueError, match=r"matmul of f32\[2,3\] and f32\[2\]"):
        m @ np.ones(2, np.float32)
    with pytest.raises(ValueError) as caught:
        bcoo_dot_general(m, m, dimension_numbers=(([1], [0]), ([], [])))
    assert str(caught.value) == (
        "bcoo_dot_general of BCOO(float32[2, 3], nse=2) and BCOO(float32[2, 3], "
        "nse=2): the axes (1,) and (0,) that are contracted, and () and () that are "
        "paired, must be axes of the same lengths."
    )
    with pytest.raises(ValueError, match="needs a BCOO, but got"):
        bcoo_dot_general(np.eye(2), np.eye(2), dimension_numbers=(([1], [0]), ([], [])))
    with pytest.raises(ValueError, match="can be broadcast to its shape"):
        sparse.bcoo_multiply_dense(m, np.ones(2))
    with pytest.raises(ValueError, match="the shapes differ"):
        sparse.bcoo_multiply_sparse(m, m.T)
    with pytest.raises(ValueError, match="into a product of the shape"):
        sparse.bcoo_dot_general_sampled(
            np.ones(3),
            np.ones(3),
            np.ones((1, 1), int),
            dimension_numbers=(([0], [0]), ([], [])),
        )
    with pytest.raises(ValueError, match="groups of batches"):
        sparse.bcoo_conv_general_dilated(
            m, m, window_strides=(), padding=(), batch_group_count=2
        )
    with pytest.raises(ValueError, match="has no out_sharding"):
        bcoo_dot_general(m, m, dimension_numbers=(([1], [1]), ([], [])), out_sharding=1)
