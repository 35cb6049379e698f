"""Stacks of many small matrices, which LAPACK does not compute."""

import itertools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.numpy import linalg
from covector.operations.linear_algebra.cholesky import cholesky
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.solve import inverse, solve
from covector.operations.linear_algebra.svd import SVD
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.linear_algebra.unrolled import LARGEST, MANY, MANY_LARGER

RNG = np.random.default_rng(0)


def hard(n, dtype):
    """Matrices of each kind that is difficult, and how many there are of each."""
    count = MANY // 8
    x = RNG.standard_normal((count, n, n))
    turn, _ = np.linalg.qr(x)
    kinds = [
        x,
        x * 10.0 ** (-3 * np.arange(n)),  # graded
        (turn * np.where(np.arange(n) < 2, 1, 3)) @ np.swapaxes(turn, 1, 2),  # equal
        x[:, :, :1] @ x[:, :1],  # of rank one
        np.eye(n) + 1e-5 * x,
        x * 1e34,
        x * 1e-33,
        np.broadcast_to(np.eye(n) * np.arange(count)[:, None, None], x.shape),
    ]
    return np.concatenate(kinds).astype(dtype)


def within(found, wanted, size, dtype, units=24):
    """The largest difference, in roundings of the largest element of each matrix."""
    difference = abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64))
    ratio = difference.reshape(len(size), -1).max(1) / np.where(size, size, 1)
    assert ratio.max() < units * np.finfo(dtype).eps


@pytest.mark.parametrize(
    ("n", "dtype"), [(2, np.float32), (3, np.float64), (4, np.float32)]
)
def test_decompositions_of_many_small_matrices_are_as_exact_as_those_of_lapack(
    n, dtype
):
    with options.override(enable_x64=True):
        x = hard(n, dtype)
        size = abs(x).max((1, 2)).astype(np.float64)
        u, s, vh = [np.asarray(r, np.float64) for r in SVD()(cnp.asarray(x))]
        one = np.broadcast_to(np.eye(n), x.shape)
        within((u * s[:, None]) @ vh, x, size, dtype)
        within(s, np.linalg.svd(x.astype(np.float64))[1], size, dtype)
        for q in (u, vh):
            within(np.swapaxes(q, 1, 2) @ q, one, np.ones(len(x)), dtype)
        x = (x + np.swapaxes(x, 1, 2)) / 2
        v, w = [np.asarray(r, np.float64) for r in Eigh()(cnp.asarray(x))]
        within((v * w[:, None]) @ np.swapaxes(v, 1, 2), x, size, dtype)
        within(w, np.linalg.eigvalsh(x.astype(np.float64)), size, dtype)
        within(np.swapaxes(v, 1, 2) @ v, one, np.ones(len(x)), dtype)


@pytest.mark.parametrize(("n", "count"), [(1, MANY), (4, MANY), (LARGEST, MANY_LARGER)])
def test_many_systems_are_solved_as_exactly_as_by_lapack(n, count):
    x = RNG.standard_normal((count, n, n)).astype(np.float32)
    b = RNG.standard_normal((count, n, 2)).astype(np.float32)
    found = np.asarray(solve(cnp.asarray(x), cnp.asarray(b)))
    size = n * abs(x).max((1, 2)) * abs(found).max((1, 2))
    within(x @ found, b, size, np.float32)
    wide = x.astype(np.float64)
    size = np.linalg.cond(wide) * abs(np.linalg.inv(wide)).max((1, 2))
    within(inverse(cnp.asarray(x)), np.linalg.inv(wide), size, np.float32)
    size = abs(x).max((1, 2)).astype(np.float64) ** n
    within(linalg.det(x), np.linalg.det(wide), size, np.float32)
    sign, log = linalg.slogdet(x)
    np.testing.assert_array_equal(sign, np.linalg.slogdet(wide)[0])
    sane = (n < LARGEST) | (np.linalg.cond(wide) < 1e3)
    np.testing.assert_allclose(log[sane], np.linalg.slogdet(wide)[1][sane], atol=1e-3)
    positive = x @ np.swapaxes(x, 1, 2) + np.eye(n, dtype=np.float32)
    lower = np.asarray(cholesky(cnp.asarray(positive)))
    size = abs(positive).max((1, 2))
    within(lower @ np.swapaxes(lower, 1, 2), positive, size, np.float32)
    assert not np.triu(lower, 1).any()


@pytest.mark.parametrize("op", range(8))
def test_many_triangular_systems_are_solved(op):
    left, lower, transposed = [bool(op & k) for k in (1, 2, 4)]
    unit = lower != left
    n = 3
    x = RNG.standard_normal((MANY, n, n)).astype(np.float32) + 3 * np.eye(n, dtype="f4")
    b = RNG.standard_normal((MANY, *((n, 2) if left else (2, n)))).astype(np.float32)
    solve = TriangularSolve(left, lower, transposed, unit_diagonal=unit)
    read = np.tril(x) if lower else np.triu(x)
    if unit:
        read[:, range(n), range(n)] = 1
    a = np.swapaxes(read, 1, 2) if transposed else read
    found = np.asarray(solve(cnp.asarray(x), cnp.asarray(b)))
    size = np.linalg.cond(read) * abs(b).max((1, 2)) * abs(found).max((1, 2))
    within(a @ found if left else found @ a, b, size, np.float32)


def test_determinants_of_up_to_three_rows_are_as_exact_as_their_products():
    """Of one matrix, and of many; nearly singular ones too."""
    for n in (1, 2, 3):
        x = hard(n, np.float32) if n > 1 else RNG.standard_normal((MANY, 1, 1))
        x = x.astype(np.float32)
        x[abs(x).max((1, 2)) > 1e30] *= np.float32(1e-30)
        wide = x.astype(np.float64)
        rows = [[p[i] for i in range(n)] for p in itertools.permutations(range(n))]
        products = [np.prod(wide[:, range(n), row], axis=1) for row in rows]
        wanted, size = np.linalg.det(wide), sum(map(abs, products))
        found = np.asarray(linalg.det(x), np.float64)
        assert (
            abs(found - wanted) <= 4 * np.finfo(np.float32).eps * size + 1e-37
        ).all()
        np.testing.assert_array_equal(found[0], linalg.det(x[0]))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_derivative_of_a_determinant_is_its_adjugate(n):
    """Exact where the matrix is singular, also the second one."""
    x = cnp.asarray(RNG.integers(-4, 5, (n, n)).astype(np.float32)).at[-1].set(0)
    expected = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(np.asarray(x), i, 0), j, 1)
            expected[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(cv.grad(linalg.det)(x), expected, atol=1e-5)
    hessian = cv.jacfwd(cv.grad(linalg.det))(x)
    step = 1.0
    for k in range(n):
        moved = cv.grad(linalg.det)(x.at[0, k].add(step)) - cv.grad(linalg.det)(x)
        np.testing.assert_allclose(hessian[:, :, 0, k], moved, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (1, 3)])
def test_vectors_have_the_signs_that_they_have_one_by_one(shape):
    """They must not depend on how many matrices there are."""
    x = RNG.standard_normal((MANY, *shape)).astype(np.float32)
    full = abs(shape[0] - shape[1]) < 2
    ops = [SVD(full)]
    if shape == (3, 3):
        ops.append(lambda a: Eigh()(a + a.mT))
        tied = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 7]], np.float32)
        x[0] = x[1] = tied / 2
    for op in ops:
        many = op(cnp.asarray(x))
        some = [op(cnp.asarray(one)) for one in x[:5]]
        batched = cv.vmap(op)(cnp.asarray(x))
        for i, out in enumerate(many):
            np.testing.assert_allclose(out[:5], [r[i] for r in some], atol=2e-4)
            np.testing.assert_allclose(batched[i], out, atol=0)


def test_what_is_not_finite_or_not_positive_spoils_its_own_matrix_alone():
    x = np.broadcast_to(2 * np.eye(3, dtype=np.float32), (MANY, 3, 3)).copy()
    x[1, 2, 1] = x[1, 1, 2] = np.nan
    x[2, 0, 0] = np.inf
    x[3] = -x[3]
    x[4, 0, 0] = 0
    expected = {
        cholesky: {1, 3, 4},
        (lambda a: Eigh()(a)[0]): {1, 2},
        (lambda a: Eigh(False)(a)[0]): {1, 2},
        (lambda a: SVD()(a)[0]): {1, 2},
        (lambda a: SVD()(a)[1]): {1, 2},
    }
    for op, spoiled in expected.items():
        bad = np.isnan(np.asarray(op(cnp.asarray(x)))).reshape(MANY, -1)
        assert set(np.flatnonzero(bad.all(1))) - {2} == spoiled - {2}
        assert set(np.flatnonzero(bad.any(1))) - {2} == spoiled - {2}
    found = np.asarray(cv.jit(linalg.inv)(x))
    assert not np.isfinite(found[4]).all()
    assert np.isfinite(found[5:]).all()


def test_the_determinant_of_many_singular_matrices_is_zero():
    x = np.broadcast_to(np.ones((3, 3), np.float32), (MANY, 3, 3))
    np.testing.assert_array_equal(linalg.det(x), np.zeros(MANY))
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.inv(x)


def test_many_small_matrices_have_the_derivatives_of_single_ones():
    x = RNG.standard_normal((MANY, 3, 3)).astype(np.float32)
    x = x @ np.swapaxes(x, 1, 2) + np.eye(3, dtype=np.float32)

    def loss(a):
        w, v = linalg.eigh(a)
        u, s, vh = linalg.svd(linalg.inv(a))
        return (v * cnp.log(w)[..., None, :]).sum() + (u * s[..., None, :] @ vh).sum()

    many = cv.grad(loss)(cnp.asarray(x))
    for i in range(2):
        one = cv.grad(loss)(cnp.asarray(x[i]))
        np.testing.assert_allclose(many[i], one, rtol=2e-3, atol=2e-4)
