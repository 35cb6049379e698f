"""Derivatives where eigenvalues or singular values are equal, or zero.

Functions that do not depend on which vectors are chosen have their derivatives; others
have finite ones.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.errors import NotDifferentiable
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import adjoint, matmul
from covector.operations.linear_algebra.pseudo_inverse import (
    least_squares,
    pseudo_inverse,
)
from covector.operations.linear_algebra.qr import QR
from covector.operations.linear_algebra.schur import Schur
from covector.operations.linear_algebra.solve import determinant
from covector.operations.linear_algebra.svd import SVD

RNG = np.random.default_rng(0)
ROTATION, _ = np.linalg.qr(RNG.standard_normal((4, 4)))
#: eigenvalues 1, 1, 1, 3, up to rounding; and exactly
REPEATED = {
    "rounded": (ROTATION * [1, 1, 1, 3]) @ ROTATION.T,
    "exact": np.diag([1.0, 1.0, 1.0, 3.0]),
}


@pytest.fixture(autouse=True)
def x64():
    with options.override(enable_x64=True):
        yield


def quotient(fun, x, dx, step=1e-4):
    at = [np.asarray(fun(cnp.asarray(x + k * step * dx))) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)


def check(fun, x, dx, tolerance=1e-7):
    """Forward and reverse mode agree with the difference quotient."""
    out, moved = cv.jvp(fun, (cnp.asarray(x),), (cnp.asarray(dx),))
    wanted = quotient(fun, x, dx)
    np.testing.assert_allclose(moved, wanted, atol=tolerance)
    weight = RNG.standard_normal(np.shape(out))
    (pulled,) = cv.vjp(fun, cnp.asarray(x))[1](cnp.asarray(weight))
    pairing = np.real(np.sum(np.asarray(pulled) * dx))
    np.testing.assert_allclose(pairing, np.sum(weight * wanted), atol=10 * tolerance)


def symmetric(x):
    return x + x.T


@pytest.mark.parametrize("x", REPEATED.values(), ids=REPEATED)
def test_sums_over_eigenvalues_have_their_derivatives(x):
    dx = symmetric(RNG.standard_normal((4, 4)))
    check(lambda a: cnp.exp(Eigh()(a)[1]).sum(), x, dx)
    check(lambda a: cnp.log(Eigh(False)(a)[0]).sum(), x, dx)


@pytest.mark.parametrize("x", REPEATED.values(), ids=REPEATED)
def test_the_projection_on_equal_eigenvalues_has_its_derivative(x):
    def projection(a):
        v = Eigh()(a)[0][:, :3]
        return matmul(v, adjoint(v))

    check(projection, x, symmetric(RNG.standard_normal((4, 4))))


def test_eigenvalues_that_differ_by_more_than_rounding_are_not_equal():
    """d √A is dA / 2 near the identity: nearly all of it comes from the vectors."""
    n = 100
    turn, _ = np.linalg.qr(RNG.standard_normal((n, n)))
    x = (turn * (1 + 1e-9 * np.arange(n))) @ turn.T
    dx = symmetric(RNG.standard_normal((n, n)))

    def root(a):
        v, w = Eigh()(a)
        return matmul(v * cnp.sqrt(w), adjoint(v))

    moved = cv.jvp(root, (cnp.asarray(x),), (cnp.asarray(dx),))[1]
    np.testing.assert_allclose(moved, dx / 2, atol=1e-4)


def test_what_depends_on_the_choice_of_vectors_has_a_finite_derivative():
    loss = lambda a: Eigh()(a)[0][0].sum()  # noqa: E731
    for x in (np.eye(3), np.zeros((3, 3))):
        assert np.isfinite(cv.grad(loss)(cnp.asarray(x))).all()
        assert np.isfinite(cv.hessian(loss)(cnp.asarray(x))).all()
        for take in (0, 2):
            one = lambda a, take=take: SVD()(a)[take][0].sum()  # noqa: E731
            assert np.isfinite(cv.grad(one)(cnp.asarray(x))).all()


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 5)])
def test_the_nearest_orthonormal_matrix_has_its_derivative_where_values_are_equal(
    shape,
):
    u, _, vh = np.linalg.svd(RNG.standard_normal(shape), full_matrices=False)
    x, dx = (u * [2, 2, 2, 1]) @ vh, RNG.standard_normal(shape)

    def polar(a):
        u, _, vh = SVD(False)(a)
        return matmul(u, vh)

    check(polar, x, dx)
    check(lambda a: SVD(False, False)(a)[0].sum(), x, dx)


def test_of_a_complex_matrix_only_what_phases_leave_alone_is_determined():
    x = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
    dx = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))

    def magnitudes(a):
        u, s, vh = SVD()(a)
        return cnp.concatenate([abs(u).ravel(), s, abs(vh).ravel()])

    def of_hermitian(a):
        v, w = Eigh()(a)
        return cnp.concatenate([abs(v).ravel(), w])

    for fun, along in ((magnitudes, dx), (of_hermitian, dx + dx.conj().T)):
        moved = cv.jvp(fun, (cnp.asarray(x),), (cnp.asarray(along),))[1]
        np.testing.assert_allclose(moved, quotient(fun, x, along), atol=1e-7)


def test_full_matrices_keep_their_columns_orthonormal():
    """What they add to the reduced ones is another basis of the same space."""
    x, dx = RNG.standard_normal((5, 2)), RNG.standard_normal((5, 2))
    for op, k in ((SVD(), 0), (QR(), 0)):

        def rest(a, op=op, k=k):
            u = op(a)[k][:, 2:]
            return matmul(u, adjoint(u))

        check(rest, x, dx)
        u, du = cv.jvp(lambda a, op=op: op(a)[0], (cnp.asarray(x),), (cnp.asarray(dx),))
        turn = np.asarray(u).T @ np.asarray(du)
        np.testing.assert_allclose(turn, -turn.T, atol=1e-10)
    check(lambda a: matmul(*QR()(a)), x, dx)
    check(lambda a: SVD()(a)[2][2:].T @ SVD()(a)[2][2:], x.T, dx.T)


def test_a_pseudo_inverse_has_its_derivative_at_any_rank_and_for_equal_values():
    fun = lambda a: pseudo_inverse(a, cnp.array(1e-9))[0]  # noqa: E731
    check(fun, np.eye(3), RNG.standard_normal((3, 3)))
    side = cnp.asarray(RNG.standard_normal((3, 1)))
    nearest = lambda a: least_squares(a, side, cnp.array(1e-9))[0]  # noqa: E731
    check(nearest, np.eye(3), RNG.standard_normal((3, 3)))
    low, other = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3))
    # Directions in which the rank stays two.
    dx = low @ RNG.standard_normal((2, 3)) + RNG.standard_normal((4, 2)) @ other
    exact = cv.jvp(fun, (cnp.asarray(low @ other),), (cnp.asarray(dx),))[1]
    step = 1e-6
    moved = low @ other + step * dx
    u, s, vh = np.linalg.svd(moved)
    near = (vh[:2].T / s[:2]) @ u[:, :2].T
    u, s, vh = np.linalg.svd(low @ other - step * dx)
    before = (vh[:2].T / s[:2]) @ u[:, :2].T
    np.testing.assert_allclose(
        exact, (near - before) / (2 * step), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0]]),
        np.array([[0.0, 1.0], [0.0, 0.0]]),
        np.array([[0.0, 1.0], [0.0, 1.0]]),
        np.ones((3, 3)),
        np.zeros((2, 2)),
        np.zeros((1, 1)),
    ],
)
def test_the_determinant_of_a_singular_matrix_has_its_gradient(x):
    """The matrix of cofactors, which is a polynomial of the elements."""
    n = len(x)
    wanted = np.empty_like(x)
    for i, j in np.ndindex(n, n):
        minor = np.delete(np.delete(x, i, 0), j, 1)
        wanted[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1)
    found = cv.grad(determinant)(cnp.asarray(x))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_equal_eigenvalues_of_a_general_matrix_have_finite_derivatives():
    def loss(a):
        w, v = Eig()(a)
        return abs(w).sum() + abs(v).sum()

    assert np.isfinite(cv.grad(loss)(2 * cnp.eye(3))).all()
    trace = cv.grad(lambda a: Eig()(a)[0].real.sum())(2 * cnp.eye(3))
    np.testing.assert_allclose(trace, np.eye(3), atol=1e-12)


def test_the_schur_form_of_a_matrix_with_blocks_gives_the_matrix_back():
    """Also where LAPACK finds the eigenvalues in another order than they stand in."""
    x = np.array([[0.0, 1, 0, 0], [-2, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 5]])
    dx = RNG.standard_normal((4, 4))
    (t, z), (dt, dz) = cv.jvp(Schur(), (cnp.asarray(x),), (cnp.asarray(dx),))
    t, z, dt, dz = [np.asarray(v) for v in (t, z, dt, dz)]
    np.testing.assert_allclose(
        dz @ t @ z.T + z @ dt @ z.T + z @ t @ dz.T, dx, atol=1e-12
    )
    np.testing.assert_allclose(z.T @ dz, -dz.T @ z, atol=1e-12)
    assert not np.tril(dt, -2).any()
    assert dt[0, 0] == pytest.approx(dt[1, 1])


def test_of_a_complex_schur_form_only_what_phases_leave_alone_is_determined():
    x = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))
    dx = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))
    fun = lambda a: cnp.concatenate([abs(o).ravel() for o in Schur()(a)])  # noqa: E731
    moved = cv.jvp(fun, (cnp.asarray(x),), (cnp.asarray(dx),))[1]
    np.testing.assert_allclose(moved, quotient(fun, x, dx), atol=1e-7)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_the_schur_form_of_equal_eigenvalues_has_finite_derivatives(n):
    loss = lambda a: sum(o.sum() for o in Schur()(a))  # noqa: E731
    assert np.isfinite(cv.grad(loss)(2 * cnp.eye(n))).all()


# -- the option check_vector_choice ----------------------------------------------------


WEIGHTS = RNG.standard_normal((4, 4))
CHOSEN = {
    "eigh": lambda a: (Eigh()(a)[0] * WEIGHTS).sum(),
    "svd": lambda a: (SVD()(a)[0] * WEIGHTS).sum(),
}
DETERMINED = {
    "eigenvalues": lambda a: cnp.exp(Eigh()(a)[1]).sum(),
    "projection": lambda a: matmul(v := Eigh()(a)[0][:, :3], adjoint(v))[0].sum(),
    "polar": lambda a: matmul(*SVD()(a)[::2])[0].sum(),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_gradients_that_depend_on_the_choice_of_vectors_are_refused_where_asked(name):
    fun, x = CHOSEN[name], cnp.asarray(REPEATED["exact"])
    with cv.check_vector_choice(True):
        with pytest.raises(NotDifferentiable, match=f"a function of {name}.*chosen"):
            cv.grad(fun)(x)
        assert np.isnan(cv.jit(cv.grad(fun))(x)).any()
        both = cnp.stack([x, cnp.diag(cnp.arange(1.0, 5.0))])
        bad = np.isnan(cv.jit(cv.vmap(cv.grad(fun)))(both)).any((1, 2))
        np.testing.assert_array_equal(bad, [True, False])
    assert np.isfinite(cv.grad(fun)(x)).all()


@pytest.mark.parametrize("name", DETERMINED)
def test_gradients_that_do_not_depend_on_the_choice_of_vectors_pass(name):
    for x in REPEATED.values():
        wanted = cv.grad(DETERMINED[name])(cnp.asarray(x))
        with cv.check_vector_choice(True):
            found = cv.grad(DETERMINED[name])(cnp.asarray(x))
        np.testing.assert_allclose(found, wanted, atol=1e-12)
