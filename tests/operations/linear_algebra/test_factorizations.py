"""Factorizations are what they say, in all four types of LAPACK, for any shape."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.operations.linear_algebra.cholesky import cholesky
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.householder import (
    HouseholderMultiply,
    householder_product,
)
from covector.operations.linear_algebra.lu import lu
from covector.operations.linear_algebra.qr import QR, HouseholderQR
from covector.operations.linear_algebra.schur import Schur
from covector.operations.linear_algebra.solve import inverse, slogdet, solve
from covector.operations.linear_algebra.svd import SVD
from covector.operations.linear_algebra.tridiagonal import Tridiagonal, hessenberg

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(4, 3), (3, 4), (1, 1), (3, 0), (0, 3)]


@pytest.fixture(autouse=True)
def x64():
    with options.override(enable_x64=True):
        yield


def drawn(dtype, *shape):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal((2, *shape))
    x = x + 1j * rng.standard_normal(x.shape)
    return (x if dtype[0] == "c" else x.real).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def of(op, *operands):
    return [np.asarray(x) for x in op(*[cnp.asarray(x) for x in operands])]


def near(x, y):
    tolerance = 2e-4 if x.dtype in (np.float32, np.complex64) else 1e-11
    assert x.shape == y.shape
    assert np.abs(x - y).max(initial=0) < tolerance


def orthonormal(x):
    near(adjoint(x) @ x, np.broadcast_to(np.eye(x.shape[-1]), (2, *x.shape[-1:] * 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_and_svd_give_the_matrix_back(dtype):
    for shape in SHAPES if dtype in ("float64", "complex64") else SHAPES[:1]:
        x = drawn(dtype, *shape)
        k = min(shape)
        for full in (True, False):
            q, r = of(QR(full), x)
            near(q @ r, x)
            orthonormal(q)
            q, r, p = of(QR(full, pivoting=True), x)
            near(q @ r, np.take_along_axis(x, p[:, None, :], -1))
            u, s, vh = of(SVD(full), x)
            near((u[..., :k] * s[:, None]) @ vh[:, :k], x)
            orthonormal(u)
            orthonormal(adjoint(vh))
        assert s.dtype == x.real.dtype
        near(of(SVD(vectors=False), x)[0], s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_come_with_their_vectors(dtype):
    for n in (4, 1, 0) if dtype in ("float64", "complex64") else (4,):
        x = drawn(dtype, n, n)
        hermitian = x + adjoint(x)
        v, w = of(Eigh(), np.tril(hermitian))
        near(hermitian @ v, v * w[:, None])
        orthonormal(v)
        near(of(Eigh(vectors=False), hermitian)[0], w)
        w, u, v = of(Eig(True, True), x)
        near(x @ v, v * w[:, None])
        near(adjoint(x) @ u, u * np.conj(w)[:, None])
        t, z = of(Schur(), x)
        near(z @ t @ adjoint(z), x)
        orthonormal(z)
        near(of(Schur(vectors=False), x)[0], t)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_similar_matrices_are_what_their_reflections_make(dtype):
    x = drawn(dtype, 4, 4)
    h, taus = of(hessenberg, x)
    inner = np.concatenate([np.zeros_like(taus), h[:, 2:, :2].reshape(2, -1)], -1)
    assert taus.shape == (2, 3) and inner.any()
    reflections = np.tril(h[:, 1:, :3], -1)
    (small,) = of(householder_product, reflections, taus)
    q = np.zeros_like(x)
    q[:, 0, 0], q[:, 1:, 1:] = 1, small
    near(q @ np.triu(h, -1) @ adjoint(q), x)
    hermitian = x + adjoint(x)
    for lower in (True, False):
        triangle = np.tril if lower else np.triu
        _, d, e, taus = of(Tridiagonal(lower), triangle(hermitian))
        t = [
            np.diag(a) + np.diag(b, 1) + np.diag(b, -1)
            for a, b in zip(d, e, strict=True)
        ]
        near(np.linalg.eigvalsh(np.stack(t)), np.linalg.eigvalsh(hermitian))
        assert taus.shape == (2, 3)
    for op in (hessenberg, Tridiagonal()):
        first, *_, taus = of(op, hermitian[:, :1, :1])
        near(first, hermitian[:, :1, :1])
        assert taus.shape == (2, 0)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_products_with_reflections_are_those_with_their_matrix(dtype):
    x = drawn(dtype, 4, 2)
    found, taus = of(HouseholderQR(), x)
    whole = np.concatenate([found, np.zeros((2, 4, 2), x.dtype)], -1)
    (q,) = of(householder_product, whole, taus)
    orthonormal(q)
    for left in (True, False):
        c = drawn(dtype, 4, 3) if left else drawn(dtype, 3, 4)
        for inverted in (True, False):
            (out,) = of(HouseholderMultiply(left, inverted), found, taus, c)
            factor = adjoint(q) if inverted else q
            near(out, factor @ c if left else c @ factor)
    none = np.zeros((2, 4, 0), x.dtype), np.zeros((2, 0), x.dtype), drawn(dtype, 4, 3)
    near(of(HouseholderMultiply(), *none)[0], none[2])


def test_one_bad_matrix_of_a_stack_leaves_the_others_alone():
    x = drawn("float64", 3, 3)
    x = x @ adjoint(x) + np.eye(3)
    bad = np.array(x)
    bad[1] *= -1
    (good, nan) = np.asarray(cholesky(cnp.asarray(bad)))
    near(good, np.linalg.cholesky(x[0]))
    assert np.isnan(nan).all()
    bad[1, 2, 0] = np.nan
    for op in (Eigh(), SVD(), Eig(True, True), Schur()):
        for out, wanted in zip(of(op, bad), of(op, x), strict=True):
            near(out[0], wanted[0])
            assert np.isnan(out[1]).all()


def test_a_singular_matrix_has_no_finite_inverse():
    ones = np.ones((3, 3))
    assert not np.isfinite(of(inverse, ones)).all()
    assert not np.isfinite(np.asarray(solve(cnp.ones((3, 3)), cnp.ones((3, 1))))).any()
    sign, log = of(slogdet, ones)
    assert (sign, log) == (0, -np.inf)
    assert of(lu, ones)[0].tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_large_matrices_are_factored_as_exactly_as_small_ones():
    """LAPACK goes through them in blocks."""
    x = np.random.default_rng(0).standard_normal((150, 100))
    positive = x.T @ x + np.eye(100)
    q, r = of(QR(False), x)
    assert np.abs(q @ r - x).max() < 1e-12
    u, s, vh = of(SVD(False), x)
    assert np.abs((u * s) @ vh - x).max() < 1e-11
    v, w = of(Eigh(), positive)
    assert np.abs(positive @ v - v * w).max() < 1e-10
    factor = np.asarray(cholesky(cnp.asarray(positive)))
    assert np.abs(factor @ factor.T - positive).max() < 1e-11
    y = np.asarray(solve(cnp.asarray(positive), cnp.asarray(x.T)))
    assert np.abs(positive @ y - x.T).max() < 1e-11
    (out,) = of(HouseholderMultiply(), *of(HouseholderQR(), x), np.eye(150))
    assert np.abs(out[:, :100] - q).max() < 1e-12


def test_compiled_programs_give_what_eager_operations_give():
    x = cnp.asarray(drawn("float64", 3, 3))
    for op in (lu, QR(), SVD(), Eigh(), Eig()):
        for eager, compiled in zip(
            op(x), cv.jit(lambda x, op=op: op(x))(x), strict=True
        ):
            assert np.asarray(eager).tobytes() == np.asarray(compiled).tobytes()
