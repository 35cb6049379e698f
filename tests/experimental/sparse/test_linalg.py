"""Direct solutions of sparse equations, and extreme eigenvalues."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, TypeMismatch
from covector.experimental.sparse import BCOO
from covector.experimental.sparse.linalg import lobpcg_standard, spsolve

N = 30
A = (scipy.sparse.random(N, N, 0.1, random_state=0) + 3 * scipy.sparse.eye(N)).tocsr()
A = A.astype(np.float32)
AT = A.indices, A.indptr
B = np.random.default_rng(0).normal(size=N).astype(np.float32)


def test_solutions_are_those_of_scipy():
    wanted = scipy.sparse.linalg.spsolve(A, B)
    for reorder in (0, 1, 3):
        found = spsolve(A.data, *AT, B, reorder=reorder)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    both = np.stack([B, 2 * B], 1)
    np.testing.assert_allclose(
        cv.jit(spsolve)(A.data, *AT, both)[:, 1], 2 * wanted, rtol=1e-4, atol=1e-5
    )
    rows = cv.vmap(lambda b: spsolve(A.data, *AT, b))(both.T)
    np.testing.assert_allclose(rows[1], 2 * wanted, rtol=1e-4, atol=1e-5)
    turned = spsolve(A.data.astype(np.complex64) * 1j, *AT, B)
    np.testing.assert_allclose(turned, wanted / 1j, rtol=1e-4, atol=1e-6)


def test_derivatives_are_those_of_the_equation():
    def of_sparse(data, b):
        return (spsolve(data, *AT, b) ** 2).sum()

    def of_dense(a, b):
        return (cnp.linalg.solve(a, b) ** 2).sum()

    of_data, of_b = cv.jit(cv.grad(of_sparse, (0, 1)))(A.data, B)
    wanted, wanted_b = cv.grad(of_dense, (0, 1))(A.toarray(), B)
    coo = A.tocoo()
    np.testing.assert_allclose(of_data, wanted[coo.row, coo.col], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(of_b, wanted_b, rtol=1e-3, atol=1e-5)
    slope = cv.jvp(lambda d: of_sparse(d, B), (A.data,), (A.data,))[1]
    np.testing.assert_allclose(slope, of_data @ A.data, rtol=1e-3)


def test_padding_nothing_and_singular_matrices():
    data, columns = np.append(A.data, 7), np.append(A.indices, 0)
    found = spsolve(data, columns, A.indptr, B)
    np.testing.assert_allclose(found, spsolve(A.data, *AT, B))
    alone = spsolve(
        np.ones(1, "f"), np.array([0]), np.array([0, 1, 1]), np.ones(2, "f")
    )
    assert cnp.isnan(alone).all()
    empty = np.zeros(0, np.float32)
    assert spsolve(empty, empty.astype(int), np.array([0]), empty).shape == (0,)


def test_what_spsolve_says():
    with pytest.raises(TypeMismatch, match=r"and b \[n\] or \[n, k\], but got f32"):
        spsolve(A.data, *AT, B[1:])
    with pytest.raises(ArgumentError, match="reorder must be 0, 1, 2 or 3, but is 4"):
        spsolve(A.data, *AT, B, reorder=4)


@pytest.mark.parametrize("kind", ["sparse", "dense", "function"])
def test_the_largest_eigenvalues_first(kind):
    matrix = (A + A.T).toarray()
    given = {
        "sparse": BCOO.fromdense(matrix),
        "dense": matrix,
        "function": lambda x: matrix @ x,
    }[kind]
    start = np.random.default_rng(1).normal(size=(N, 3)).astype(np.float32)
    theta, vectors, steps = lobpcg_standard(given, start)
    wanted = np.linalg.eigvalsh(matrix)[::-1][:3]
    np.testing.assert_allclose(theta, wanted, rtol=1e-5)
    residual = matrix @ np.asarray(vectors) - np.asarray(vectors * theta)
    assert abs(residual).max() < 1e-3
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-5)
    assert 0 < int(steps) < 100
    if kind == "dense":
        assert int(lobpcg_standard(given, start, m=2)[2]) == 2


def test_eigenvalues_are_found_where_they_are_equal_and_of_an_invariant_start():
    theta, *_ = lobpcg_standard(
        np.eye(9, dtype=np.float32), np.eye(9, 3, dtype=np.float32)
    )
    np.testing.assert_allclose(theta, np.ones(3), rtol=1e-6)
    loose = lobpcg_standard(np.diag(np.arange(9.0)), np.ones((9, 1)), tol=1e-2)
    assert int(loose[2]) < 20


def test_what_lobpcg_says():
    with pytest.raises(TypeMismatch, match=r"needs an X \[n, k\], but got f32\[3\]"):
        lobpcg_standard(np.eye(3), np.ones(3, np.float32))
    with pytest.raises(ArgumentError, match="at least one column and at most n / 3"):
        lobpcg_standard(np.eye(3), np.ones((3, 2), np.float32))
    with pytest.raises(TypeMismatch, match=r"needs an A \[n, n\]"):
        lobpcg_standard(np.eye(3), np.ones((4, 1), np.float32))
    with pytest.raises(TypeMismatch, match="A times"):
        lobpcg_standard(lambda x: x[:2], np.ones((4, 1), np.float32))
