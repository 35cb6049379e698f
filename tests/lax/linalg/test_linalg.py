"""``covector.lax.linalg``: names, refusals, and what is more than an operation."""

import inspect
import re

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, options
from covector.lax import linalg

EYE = cnp.eye(2)


def test_the_namespace_has_every_function_of_jax():
    public = {n for n in dir(jax.lax.linalg) if not n.startswith("_")}
    assert {n for n in public if not n.endswith("_p")} <= {*linalg.__all__}


@pytest.mark.parametrize("name", linalg.__all__)
def test_functions_take_the_arguments_that_they_take_in_jax(name):
    wanted = inspect.signature(getattr(jax.lax.linalg, name)).parameters
    found = inspect.signature(getattr(linalg, name)).parameters
    assert [*wanted] == [*found]
    for parameter, ours in found.items():
        assert ours.default == wanted[parameter].default


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: linalg.cholesky(cnp.eye(2, dtype=int)),
            errors.DTypeError,
            "but got i32[2,2]",
        ),
        (
            lambda: linalg.cholesky(cnp.ones(2)),
            errors.TypeMismatch,
            "two axes at least",
        ),
        (
            lambda: linalg.eigh(EYE, subset_by_index=(0, 3)),
            errors.ArgumentError,
            "among 2 values",
        ),
        (
            lambda: linalg.svd(EYE, subset_by_index=(0, 1)),
            errors.ArgumentError,
            "full_matrices=False",
        ),
        (
            lambda: linalg.qdwh(cnp.ones((2, 3))),
            errors.TypeMismatch,
            "no more columns than rows",
        ),
        (
            lambda: linalg.qdwh(EYE, dynamic_shape=(1, 1)),
            errors.ArgumentError,
            "cut the matrix",
        ),
        (
            lambda: linalg.cholesky_update(EYE, cnp.ones(3)),
            errors.TypeMismatch,
            "as long as each matrix",
        ),
        (
            lambda: linalg.cholesky_update(EYE + 0j, cnp.ones(2) + 0j),
            errors.DTypeError,
            "needs real numbers",
        ),
        (
            lambda: linalg.symmetric_product(cnp.ones((2, 3)), cnp.eye(3)),
            errors.TypeMismatch,
            "a square one",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_known_values_that_have_no_factor_give_nan():
    assert np.isnan(linalg.cholesky(-EYE)).all()
    assert np.isnan(linalg.eigh(EYE * np.nan)[1]).all()
    assert linalg.lu(cnp.ones((2, 2)))[0].tolist() == [[1, 1], [1, 0]]
    zero = cnp.zeros(2)
    assert np.isnan(linalg.tridiagonal_solve(zero, zero, zero, EYE)).all()
    found = linalg.tridiagonal_solve(zero, zero, zero, EYE, perturb_singular=True)
    assert np.isfinite(found).all() and found[0, 0] > 1e30


def test_subsets_of_eigenvalues():
    x = cnp.diag(cnp.array([3.0, 1.0, 2.0]))
    v, w = linalg.eigh(x, subset_by_index=(1, 3))
    assert (v.shape, w.tolist()) == ((3, 2), [2.0, 3.0])
    assert linalg.svd(x, compute_uv=False, subset_by_index=(0, 1)).tolist() == [3.0]
    u, s, vh = linalg.svd(x, full_matrices=False, subset_by_index=(2, 3))
    assert (u.shape, s.tolist(), vh.shape) == ((3, 1), [1.0], (1, 3))


def test_a_vector_is_one_right_hand_side():
    a = cnp.array([[2.0, 0.0], [1.0, 4.0]])
    left = linalg.triangular_solve(a, cnp.ones(2), left_side=True, lower=True)
    right = linalg.triangular_solve(a, cnp.ones(2), lower=True)
    np.testing.assert_allclose(a @ left, np.ones(2))
    np.testing.assert_allclose(right @ a, np.ones(2))


def test_an_updated_factor_is_that_of_the_updated_matrix():
    rng = np.random.default_rng(0)
    with options.override(enable_x64=True):
        r = np.triu(rng.standard_normal((2, 4, 4))) + 3 * np.eye(4)
        w = rng.standard_normal((2, 4))
        wanted = np.swapaxes(r, 1, 2) @ r + w[:, :, None] * w[:, None]
        found = np.asarray(linalg.cholesky_update(r, w))
        np.testing.assert_allclose(np.swapaxes(found, 1, 2) @ found, wanted, rtol=1e-12)
        assert not np.tril(found, -1).any()
        other = lambda r, w: cnp.swapaxes(  # noqa: E731
            linalg.cholesky(r.mT @ r + w[:, :, None] * w[:, None]), 1, 2
        )
        tangents = np.triu(rng.standard_normal(r.shape)), rng.standard_normal(w.shape)
        for one, two in zip(
            cv.jvp(
                linalg.cholesky_update,
                (cnp.asarray(r), cnp.asarray(w)),
                tuple(map(cnp.asarray, tangents)),
            ),
            cv.jvp(
                other,
                (cnp.asarray(r), cnp.asarray(w)),
                tuple(map(cnp.asarray, tangents)),
            ),
            strict=True,
        ):
            np.testing.assert_allclose(one, two, atol=1e-10)


def test_a_factor_with_zeros_is_updated():
    found = linalg.cholesky_update(cnp.zeros((2, 2)), cnp.array([0.0, 2.0]))
    assert found.tolist() == [[0, 0], [0, 2]]
    update = lambda w: linalg.cholesky_update(cnp.zeros((2, 2)), w).sum()  # noqa: E731
    assert np.isfinite(cv.grad(update)(cnp.zeros(2))).all()


def test_polar_factors_have_derivatives_where_singular_values_are_equal():
    """d(U H) = dA, U stays orthonormal, and H symmetric."""
    with options.override(enable_x64=True):
        dx = np.random.default_rng(0).standard_normal((3, 3))
        factors = lambda a: linalg.qdwh(a)[:2]  # noqa: E731
        (u, h), (du, dh) = cv.jvp(factors, (2 * cnp.eye(3),), (cnp.asarray(dx),))
        np.testing.assert_allclose(du @ h + u @ dh, dx, atol=1e-12)
        np.testing.assert_allclose(dh, dh.T, atol=1e-12)
        np.testing.assert_allclose(u.T @ du, -(du.T @ u), atol=1e-12)


def test_algorithms_are_accepted_and_of_no_consequence():
    x = cnp.array([[2.0, 1.0], [1.0, 3.0]])
    calls = {
        linalg.eigh: {"implementation": linalg.EighImplementation.JACOBI},
        linalg.svd: {"algorithm": linalg.SvdAlgorithm.POLAR},
        linalg.qr: {"use_magma": False},
        linalg.eig: {
            "implementation": linalg.EigImplementation.LAPACK,
            "enable_eigvec_derivs": True,
            "use_magma": None,
        },
    }
    for function, named in calls.items():
        for found, wanted in zip(function(x, **named), function(x), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_eigenvalues_of_a_schur_form_are_not_sorted():
    with pytest.raises(
        errors.ArgumentError, match="leave sort_eig_vals and select_callable"
    ):
        linalg.schur(cnp.eye(2), sort_eig_vals=True)


def test_hessenberg_and_tridiagonal_forms_have_derivatives_of_second_order():
    rng = np.random.default_rng(0)
    x, v = [rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)) for _ in range(2)]

    def loss(t):
        a = x + t * v
        upper = [y[1:] for y in linalg.tridiagonal(a, lower=False)]
        outs = [*linalg.hessenberg(a), *upper]
        return sum(cnp.sin(y.real * 2 + y.imag + 1).sum() for y in outs)

    both = cv.jit(lambda t: cv.jvp(cv.value_and_grad(loss), (t,), (1.0,)))
    with cv.enable_x64(True):
        ((f, df), _), ((f2, df2), _) = both(-1e-6), both(1e-6)
        (_, reverse), (forward, second) = both(0.0)
    slopes = (f2 - f) / 2e-6, (f2 - f) / 2e-6, (df2 - df) / 2e-6
    np.testing.assert_allclose([reverse, forward, second], slopes, rtol=1e-7)


def test_traces_of_tridiagonal_matrices_are_differentiated_where_one_falls_apart():
    a = np.diag([1.0, 2.0, 3.0, 4.0])
    a[2, 0] = 0.5

    def cubes(a):
        _, d, e, _ = linalg.tridiagonal(a)
        return (d**3).sum() + 3 * (e**2 * (d[1:] + d[:-1])).sum()

    with cv.enable_x64(True):
        found = cv.grad(cubes)(a)
    full = a + np.tril(a, -1).T
    square = 3 * full @ full  # the elements below stand for those above, too
    np.testing.assert_allclose(found, np.tril(square) + np.tril(square, -1), atol=1e-14)
    for n in (0, 1):
        small = cnp.full((n, n), 2.0)
        _, (moved, *_) = cv.jvp(linalg.hessenberg, (small,), (small,))
        assert (moved == small).all()


def test_pivots_that_are_no_rows():
    with pytest.raises(
        errors.ArgumentError, match=r"pivots from 0 to 2, for 3 rows, but got"
    ):
        linalg.lu_pivots_to_permutation(cnp.array([0, 9]), 3)
