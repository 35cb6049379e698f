"""``BCOO`` as a class: its parts, transformations of it, and what it says."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import covector as cv
import covector.numpy as cnp
from covector import lax, tree
from covector.errors import (
    AxisError,
    ConcretizationTypeError,
    DTypeError,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    TypeMismatch,
)
from covector.experimental import sparse
from covector.experimental.sparse import BCOO
from tests.experimental.sparse.layouts import check, dense, made

V = np.arange(4.0, dtype=np.float32)


def test_its_parts():
    m = made(1, 1)
    assert (m.shape, m.nse, m.ndim, m.size) == ((2, 3, 4), 5, 3, 24)
    assert (m.n_batch, m.n_sparse, m.n_dense) == (1, 1, 1)
    assert repr(m) == "BCOO(float32[2, 3, 4], nse=5, n_batch=1, n_dense=1)"
    assert len(m) == 2
    assert [x.shape for x in m] == [(3, 4), (3, 4)]
    assert isinstance(m, sparse.JAXSparse)
    assert m.block_until_ready() is m
    assert m.astype(int).dtype == cnp.asarray(1).dtype


def test_a_batch_axis_may_be_shared_by_data_and_indices():
    data, at = np.ones((1, 2), np.float32), np.array([[[0], [2]]])
    m = BCOO((data, at), shape=(3, 4))
    check(m, np.broadcast_to([1.0, 0, 1, 0], (3, 4)))
    assert m.indices.shape == (1, 2, 1)


def test_matrices_of_scipy_and_no_elements():
    coo = scipy.sparse.random(5, 4, 0.5, random_state=0, format="csr")
    check(BCOO.from_scipy_sparse(coo), coo.toarray())
    check(BCOO.from_scipy_sparse(coo, n_batch=1), coo.toarray())
    nothing = BCOO.fromdense(np.zeros((3, 4), np.float32))
    assert nothing.nse == 0
    check(nothing @ V, np.zeros(3))
    check(nothing @ nothing.T, np.zeros((3, 3)))
    check(nothing[1], np.zeros(4))
    check(nothing.sum_duplicates(), np.zeros((3, 4)))
    check(BCOO.fromdense(np.zeros((0, 4), np.float32)) @ V, np.zeros(0))
    check(BCOO.fromdense(np.zeros((3, 0), np.float32)) @ V[:0], np.zeros(3))
    check(BCOO.fromdense(np.float32(2)), 2.0)


def test_indices_without_a_sign():
    m = made(0, 0, shape=(3, 4))
    short = m.replace(indices=m.indices.astype(np.uint8))
    x = dense(m)
    check(short @ short.T, x @ x.T)
    check(short[1:, ::-1], x[1:, ::-1])
    check(short.sum_duplicates() * short, x * x)
    kernel = cnp.ones((1, 1, 2, 2))
    found = sparse.sparsify(lambda m: lax.conv(m[None, None], kernel, (1, 1), "SAME"))
    check(found(short), lax.conv(x[None, None], kernel, (1, 1), "SAME"))


def test_numpy_leaves_operators_to_it():
    m = made(0, 0, shape=(3, 4))
    check(np.ones((2, 3), np.float32) @ m, np.ones((2, 3)) @ dense(m))
    check(np.float32(2) * m, 2 * dense(m))
    check(cnp.ones((3, 4)) - m, 1 - dense(m))


def test_it_goes_through_transformations_and_loops():
    m = made(1, 0)
    x = dense(m)
    check(cv.vmap(lambda m: m @ V)(m), x @ V)
    check(cv.vmap(lambda m: 2 * m)(m), 2 * x)
    check(cv.jit(lambda m: -m)(m), -x)
    total, rows = lax.scan(lambda c, m: (c + (m @ V).sum(), m @ V), 0.0, m)
    check(rows, x @ V)
    check(total, (x @ V).sum())
    check(lax.fori_loop(0, 3, lambda i, m: 2 * m, m), 8 * x)
    check(lax.cond(True, lambda m: m, lambda m: 2 * m, m), x)
    assert cv.eval_shape(lambda m: m @ V, m).shape == (2, 3)
    first = tree.map(lambda leaf: leaf[0], m)
    check(first, x[0])
    check(pickle.loads(pickle.dumps(m)), x)
    check(copy.deepcopy(m), x)


def test_gradients_in_a_batch():
    m = made(1, 0)
    gradient = sparse.grad(lambda m: ((m @ V) ** 2).sum())
    found = cv.vmap(gradient)(m)
    assert found.shape == m.shape
    np.testing.assert_allclose(found.data, gradient(m).data, rtol=1e-6)


def test_eager_and_compiled_agree_on_the_order_of_elements():
    m = made(0, 0)
    eager, compiled = m.sum_duplicates(nse=4), cv.jit(lambda m: m.sum_duplicates(4))(m)
    np.testing.assert_array_equal(eager.indices, compiled.indices)
    np.testing.assert_array_equal(eager.data, compiled.data)


def test_extracting_gives_an_element_once():
    at = np.array([[1], [0], [1], [9]])
    m = BCOO((np.ones(4, np.float32), at), shape=(3,))
    x = np.array([5.0, 6, 7], np.float32)
    assert sparse.bcoo_extract(m, x).data.tolist() == [6, 5, 0, 0]
    again = sparse.bcoo_extract(m, x, assume_unique=True)
    assert again.data.tolist() == [6, 5, 6, 0]


def test_zeros_are_eliminated_and_too_few_elements_are_the_first():
    at = np.array([[2], [0], [1], [2]])
    m = BCOO((np.array([1.0, 0, 3, 4], np.float32), at), shape=(3,))
    assert m.sum_duplicates().indices.tolist() == [[1], [2]]
    assert m.sum_duplicates(remove_zeros=False).nse == 3
    assert m.sum_duplicates(nse=1).data.tolist() == [3]
    wide = m.sum_duplicates(nse=4)
    assert wide.indices.tolist() == [[1], [2], [3], [3]]


def test_what_it_says_of_parts_that_do_not_fit():
    data, at = np.ones(2, np.float32), np.zeros((2, 1), np.int32)
    with pytest.raises(TypeMismatch) as caught:
        BCOO((data, at), shape=(3, 4))
    assert str(caught.value) == (
        "BCOO needs data [*batch, nse, *dense] and indices [*batch, nse, n_sparse] for "
        "a shape (*batch, *sparse, *dense), but got data f32[2], indices i32[2,1] and "
        "the shape (3, 4)."
    )
    with pytest.raises(DTypeError, match=r"integers, but got data f32\[2\]"):
        BCOO((data, at.astype(float)), shape=(3,))
    with pytest.raises(DTypeError, match="do not reach all elements"):
        BCOO((data, at.astype(np.int8)), shape=(300,))
    with pytest.raises(DTypeError, match="do not reach all of"):
        BCOO.fromdense(np.zeros(300), index_dtype=np.int8)
    with pytest.raises(TypeMismatch, match=r"needs indices \[\*batch, nse, n_sparse\]"):
        BCOO((data, at[0]), shape=(3,))
    with pytest.raises(TypeMismatch, match="cannot have 2 batch axes and 1 dense"):
        BCOO.fromdense(np.eye(2), n_batch=2, n_dense=1)
    with pytest.raises(TypeMismatch, match="the shapes differ"):
        sparse.bcoo_extract(sparse.eye(2), np.ones(2))
    with pytest.raises(TypeMismatch, match="the truth of"):
        bool(sparse.eye(2))
    with pytest.raises(TypeError, match="has no length"):
        len(BCOO.fromdense(2.0))


def test_what_it_says_of_counts_that_are_not_known():
    with pytest.raises(ConcretizationTypeError, match=r"Give it as nse="):
        cv.jit(BCOO.fromdense)(np.eye(2))
    with pytest.raises(ConcretizationTypeError, match="bcoo_sum_duplicates: the numb"):
        cv.jit(lambda m: m.sum_duplicates())(sparse.eye(2))


def test_only_batch_axes_can_be_mapped():
    m = made(1, 0)
    with pytest.raises(AxisError) as caught:
        cv.vmap(lambda m: m @ V, in_axes=1)(m)
    assert "has 1 batch axis, so that it cannot be mapped over axis 1" in str(
        caught.value
    )
    with pytest.raises(TypeMismatch, match="only batch axes can be mapped"):
        cv.vmap(lambda m: m @ V)(made(0, 0))
    outer = cv.vmap(lambda m, v: m @ v, in_axes=(1, None))
    check(outer(made(2, 0), V), np.swapaxes(dense(made(2, 0)) @ V, 0, 1))


def test_a_layout_that_takes_more_memory_is_asked_for():
    m = sparse.eye(3)
    with pytest.raises(SparseEfficiencyError) as caught:
        m.update_layout(n_batch=1)
    assert str(caught.value) == (
        "bcoo_update_layout of BCOO(float32[3, 3], nse=3) to BCOO(float32[3, 3], "
        "nse=3, n_batch=1) stores 9 elements instead of 3. If that is meant, "
        "on_inefficient=None."
    )
    with pytest.warns(SparseEfficiencyWarning, match="stores 9 elements"):
        m.update_layout(n_dense=1, on_inefficient="warn")
    with pytest.raises(ValueError, match="'error', 'warn' and None, but got 'no'"):
        m.update_layout(on_inefficient="no")
    with pytest.raises(TypeMismatch, match="cannot make 2 axes batch and 1 dense"):
        m.update_layout(n_batch=2, n_dense=1)


def test_what_functions_of_shapes_say():
    m = made(1, 0)
    with pytest.raises(TypeMismatch, match="leaves batch, sparse and dense axes where"):
        m.transpose()
    with pytest.raises(TypeMismatch, match="axes are reshaped each for themselves"):
        sparse.bcoo_reshape(m, new_sizes=(24,))
    with pytest.raises(TypeMismatch, match="not all of"):
        sparse.bcoo_squeeze(m, dimensions=(1,))
    with pytest.raises(TypeMismatch, match="cannot broadcast"):
        sparse.bcoo_broadcast_in_dim(m, shape=(2,), broadcast_dimensions=(0,))
    with pytest.raises(TypeMismatch, match="needs arrays that agree"):
        sparse.bcoo_concatenate([m, made(0, 0)], dimension=0)
    with pytest.raises(TypeMismatch, match="needs BCOO arrays"):
        sparse.bcoo_concatenate([], dimension=0)
    with pytest.raises(TypeMismatch, match="0 ≤ start ≤ limit"):
        sparse.bcoo_slice(m, start_indices=(0,), limit_indices=(1,))
    with pytest.raises(TypeMismatch, match="an index and a size for each axis"):
        sparse.bcoo_dynamic_slice(m, (0,), (1,))
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    with pytest.raises(ValueError, match="fill_value is 0"):
        sparse.bcoo_gather(m, np.zeros((1, 1), int), numbers, (1, 3), fill_value=2)
    with pytest.raises(ValueError, match="a sparse array has no sharding"):
        sparse.bcoo_reshape(m, new_sizes=m.shape, sharding="x")
