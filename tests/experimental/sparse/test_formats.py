"""``BCSR``, ``COO``, ``CSR``, ``CSC``, and arrays made from nothing."""

import numpy as np
import pytest
import scipy.sparse

import covector as cv
import covector.numpy as cnp
from covector import tree
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.experimental import sparse
from covector.experimental.sparse import BCOO, BCSR, COO, CSC, CSR
from tests.experimental.sparse.layouts import check, dense, made

X = np.array([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
V = np.arange(4.0, dtype=np.float32)


@pytest.mark.parametrize("format", [BCSR, COO, CSR, CSC])
def test_each_format_is_the_matrix_it_was_made_of(format):
    m = format.fromdense(X)
    assert (m.shape, m.nse, m.dtype) == ((3, 4), 4, np.float32)
    check(m, X)
    check(m.T, X.T)
    check(m @ V, X @ V)
    check(V[:3] @ m, V[:3] @ X)
    check(3 * m, 3 * X)
    check(m + m, 2 * X)
    check(m.to_bcoo(), X)
    check(m[0], X[0])
    check(m.sum(0), X.sum(0))
    check(tree.map(lambda leaf: leaf, m), X)
    check(cv.jit(lambda m: m.T @ V[:3])(m), X.T @ V[:3])
    assert repr(m) == f"{format.__name__}(float32[3, 4], nse=4)"


def test_rows_in_batches_with_duplicates_and_padding():
    for layout in [(0, 0), (1, 0)]:
        m = made(*layout, shape=(2, 3, 4)[1 - layout[0] :])
        rows = BCSR.from_bcoo(m)
        check(rows, dense(m))
        check(rows.sum_duplicates(), dense(m))
        check(sparse.bcsr_sum_duplicates(rows, nse=9), dense(m))
        check(cv.vmap(lambda m: m @ V)(rows) if layout[0] else rows @ V, dense(m) @ V)
    assert rows.n_batch == 1
    blocks = made(0, 1)
    check(BCSR.from_bcoo(blocks), dense(blocks))
    found = sparse.bcsr_extract(rows.indices, rows.indptr, dense(m))
    wanted = sparse.bcoo_extract(rows.to_bcoo(), dense(m), assume_unique=True).data
    np.testing.assert_array_equal(found, wanted)


def test_functions_of_rows():
    m = BCSR.from_scipy_sparse(scipy.sparse.csr_matrix(X))
    numbers = (([1], [0]), ([], []))
    check(sparse.bcsr_dot_general(m, V, dimension_numbers=numbers), X @ V)
    check(sparse.bcsr_concatenate([m, m], dimension=1), np.concatenate([X, X], 1))
    wide = sparse.bcsr_broadcast_in_dim(m, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
    check(wide, np.broadcast_to(X, (2, 3, 4)))
    check(sparse.bcsr_eliminate_zeros(0 * m), 0 * X)
    check(sparse.sparsify(cnp.sin)(m), np.sin(X))
    assert isinstance(sparse.sparsify(cnp.sin)(BCSR.fromdense(X)), BCSR)


def test_products_of_one_matrix():
    for m, matvec, matmat in [
        (COO.fromdense(X), sparse.coo_matvec, sparse.coo_matmat),
        (CSR.fromdense(X), sparse.csr_matvec, sparse.csr_matmat),
    ]:
        check(matvec(m, V), X @ V)
        check(matvec(m, V[:3], transpose=True), X.T @ V[:3])
        check(matmat(m, X.T), X @ X.T)
        check(matmat(m, X, transpose=True), X.T @ X)


def test_nothing_and_the_identity_in_each_format():
    for name in ("bcoo", "bcsr", "coo", "csr", "csc"):
        check(sparse.empty((3, 4), sparse_format=name), np.zeros((3, 4)))
        check(sparse.eye(3, 4, 1, sparse_format=name), np.eye(3, 4, 1))
    for options in [{"n_batch": 1}, {"n_dense": 1}, {"n_batch": 1, "n_dense": 1}]:
        made = sparse.eye(4, 3, -1, **options)
        assert (made.n_batch, made.n_dense) == tuple(
            options.get(k, 0) for k in ("n_batch", "n_dense")
        )
        check(made, np.eye(4, 3, -1))
    check(sparse.eye(2, 3, 7), np.zeros((2, 3)))
    batch = sparse.empty((2, 3, 4), int, n_batch=1, n_dense=1, nse=2)
    check(batch, np.zeros((2, 3, 4), int))


def test_random_elements_at_random_indices():
    key = cv.random.key(0)
    m = sparse.random_bcoo(key, (2, 30, 40, 3), nse=0.1, n_batch=1, n_dense=1)
    assert m.data.shape == (2, 120, 3)
    united = m.sum_duplicates()
    assert united.nse == 120, "indices are unique"
    first, second = m.indices
    assert (first != second).any()
    normal = sparse.random_bcoo(
        key, (9,), nse=5, sorted_indices=True, generator=cv.random.normal, dtype="f2"
    )
    assert (normal.nse, normal.dtype) == (5, np.float16)
    assert (cnp.diff(normal.indices[:, 0]) > 0).all()
    assert sparse.random_bcoo(key, (2,), nse=7, unique_indices=False).nse == 7


def test_what_formats_say_of_parts_that_do_not_fit():
    ones, at = np.ones(2, np.float32), np.zeros(2, np.int32)
    with pytest.raises(
        TypeMismatch, match=r"BCSR needs data \[\*batch, nse, \*dense\]"
    ):
        BCSR((ones, at, at), shape=(2, 2))
    with pytest.raises(DTypeError, match="BCSR needs indices that are integers"):
        BCSR((ones, ones, at), shape=(1, 2))
    with pytest.raises(TypeMismatch, match="has two sparse axes, but BCOO"):
        BCSR.from_bcoo(BCOO.fromdense(ones))
    with pytest.raises(TypeMismatch, match="has two axes, both sparse"):
        BCSR.from_scipy_sparse(scipy.sparse.eye(2), n_batch=1)
    with pytest.raises(TypeMismatch, match="COO needs data, row and col of one shape"):
        COO((ones, at, at[:1]), shape=(2, 2))
    with pytest.raises(TypeMismatch, match="CSR needs data and indices of one shape"):
        CSR((ones, at, at), shape=(2, 2))
    with pytest.raises(TypeMismatch, match="one entry more than axis 1"):
        CSC((ones, at, at), shape=(1, 2))
    with pytest.raises(TypeMismatch, match="bcsr_extract needs indices"):
        sparse.bcsr_extract(at, at, X)
    with pytest.raises(ArgumentError, match="one of bcoo, bcsr, coo, csr, csc, but"):
        sparse.eye(2, sparse_format="dia")
    with pytest.raises(TypeMismatch, match="without 3 axes or options; 'bcoo' has"):
        sparse.empty((1, 2, 3), sparse_format="csr")
    with pytest.raises(TypeMismatch, match="eye has two axes, but got n_batch=3"):
        sparse.eye(2, n_batch=3)
    with pytest.raises(TypeMismatch, match="cannot have n_batch=3"):
        sparse.empty((2,), n_batch=3)
    with pytest.raises(ArgumentError, match="is not between 0 and the 4 unique"):
        sparse.random_bcoo(cv.random.key(0), (2, 2), nse=5)
    with pytest.raises(TypeMismatch, match="cannot have 2 batch axes and 1 dense"):
        sparse.random_bcoo(cv.random.key(0), (2, 2), n_batch=2, n_dense=1)
