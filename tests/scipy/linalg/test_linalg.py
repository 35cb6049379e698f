"""``covector.scipy.linalg`` beside SciPy: what the table of functions does not draw."""

import numpy as np
import pytest
import scipy.linalg

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.errors import ArgumentError, DTypeError, LinAlgError, TypeMismatch
from covector.scipy import linalg
from tests.operations.linear_algebra.test_equal_values import check

RNG = np.random.default_rng(0)
A, E = RNG.standard_normal((2, 4, 4))
SYMMETRIC = E + E.T
POSITIVE = A @ A.T + np.eye(4)
#: matrices with equal eigenvalues
REPEATED = [np.eye(4), np.diag([1.0, 1.0, 1.0, 4.0])]


@pytest.fixture(autouse=True)
def x64():
    with options.override(enable_x64=True):
        yield


def along(x):
    """The derivative of a function in a fixed direction, as a function."""
    return lambda fun: lambda a: cv.jvp(fun, (a,), (cnp.asarray(x),))[1]


# -- functions of matrices -------------------------------------------------------------


@pytest.mark.parametrize("x", [A, 5 * A, np.eye(4)])
def test_the_exponential_has_its_derivatives_of_first_and_second_order(x):
    check(linalg.expm, x, E, 1e-8 * np.exp(abs(x).max()))
    check(along(SYMMETRIC)(linalg.expm), x, E, 1e-7 * np.exp(abs(x).max()))


def test_the_exponential_is_as_exact_as_that_of_scipy_for_all_sizes_of_matrices():
    x = np.stack([1e-9 * A, A, 20 * A, np.zeros((4, 4)), np.triu(A) - 50 * np.eye(4)])
    for found, given in zip(linalg.expm(x), x, strict=True):
        wanted = scipy.linalg.expm(given)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14 * wanted.max())
    upper = linalg.expm(A, upper_triangular=True)
    np.testing.assert_allclose(upper, scipy.linalg.expm(np.triu(A)), rtol=1e-13)
    assert not np.tril(upper, -1).any()


def test_an_exponential_that_needs_too_many_squarings_is_nan():
    assert np.isnan(linalg.expm(1e3 * A, max_squarings=2)).all()
    assert np.isfinite(linalg.expm(A, max_squarings=2)).all()


@pytest.mark.parametrize("x", REPEATED)
def test_roots_and_functions_have_their_derivatives_where_eigenvalues_are_equal(x):
    """The matrices that matter: V f(w) Vᴴ of ``eigh`` has wrong ones there."""
    for fun in (
        lambda a: linalg.sqrtm(a).real,
        lambda a: linalg.funm(a, cnp.exp).real,
    ):
        check(fun, x, E, 1e-7)
        check(along(SYMMETRIC)(fun), x, E, 1e-6)

    def log(a):
        return linalg.funm(a, cnp.log, hermitian=True)

    check(log, x, SYMMETRIC)
    check(along(SYMMETRIC)(log), x, SYMMETRIC, 1e-6)
    check(along(A)(along(SYMMETRIC)(log)), x, SYMMETRIC, 1e-6)


def test_a_loss_of_a_hermitian_function_has_its_hessian_where_eigenvalues_are_equal():
    """Of tr f(A), f″ wherever the eigenvalues are: here tr A³, so 6 δ."""

    def cubed(a):
        return linalg.funm(a, lambda w: w**3, hermitian=True).trace()

    found = cv.hessian(cubed)(cnp.eye(2))
    wanted = cv.hessian(lambda a: cnp.trace((a + a.T) @ (a + a.T) @ (a + a.T)) / 8)(
        cnp.eye(2)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]]),
        np.diag([1.0, 1.0], 1),
        np.array([[1.0, 2, 5], [0, 2, 3], [0, 0, 1]]),
        A,
        np.array([[0.0, 1.0], [-1.0, 0.0]]),
    ],
)
def test_functions_of_matrices_without_a_basis_of_eigenvectors_are_right(x):
    """There Parlett's recurrence divides by zero, or by rounding errors."""
    found = linalg.funm(x, cnp.exp)
    np.testing.assert_allclose(found, scipy.linalg.expm(x), rtol=1e-8, atol=1e-9)


def test_the_root_is_that_of_scipy_also_where_eigenvalues_are_negative_or_zero():
    for x in (A, POSITIVE):
        np.testing.assert_allclose(
            linalg.sqrtm(x), scipy.linalg.sqrtm(x), rtol=1e-11, atol=1e-13
        )
    for x in (np.zeros((2, 2)), np.diag([1.0, 0.0])):
        np.testing.assert_array_equal(linalg.sqrtm(x), x)
    stack = np.stack([A, POSITIVE])
    found = linalg.sqrtm(stack)
    np.testing.assert_allclose(found @ found, stack, atol=1e-12)
    real = linalg.sqrtm(POSITIVE, hermitian=True)
    assert real.dtype == np.float64
    np.testing.assert_allclose(real @ real, POSITIVE, atol=1e-13)


def test_a_matrix_without_a_root_gives_no_number():
    assert not np.isfinite(linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))).any()


def test_the_error_of_a_function_is_estimated_as_scipy_does():
    found, error = linalg.funm(A, cnp.exp, disp=False)
    wanted, known = scipy.linalg.funm(A, np.exp, disp=False)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(error, known, rtol=1e-3)


def test_functions_of_matrices_are_batched_compiled_and_differentiated():
    stack = cnp.stack([cnp.asarray(POSITIVE), cnp.eye(4)])

    def loss(a):
        root = linalg.sqrtm(a).real.sum()
        return root + linalg.funm(a, cnp.tanh, hermitian=True).sum()

    one = cnp.stack([cv.grad(loss)(x) for x in stack])
    np.testing.assert_allclose(cv.jit(cv.vmap(cv.grad(loss)))(stack), one, atol=1e-12)


# -- equations -------------------------------------------------------------------------


def test_sylvester_equations_have_the_derivatives_of_all_three_matrices():
    b, c = POSITIVE[:3, :3], RNG.standard_normal((4, 3))
    check(lambda a: linalg.solve_sylvester(a, b, c), np.eye(4), E)
    check(lambda b: linalg.solve_sylvester(POSITIVE, b, c), b, E[:3, :3])
    check(lambda c: linalg.solve_sylvester(A, b, c), c, RNG.standard_normal((4, 3)))
    assert np.isnan(linalg.solve_sylvester(-b, b, c[:3])).all()


def test_what_is_assumed_of_a_matrix_says_which_elements_are_read():
    b = RNG.standard_normal(4)
    hidden = np.where(np.tri(4), POSITIVE, 7.0)  # the lower triangle alone is right
    for assume in ("sym", "her", "pos", "symmetric", "positive definite"):
        found = linalg.solve(hidden, b, lower=True, assume_a=assume)
        np.testing.assert_allclose(found, np.linalg.solve(POSITIVE, b), rtol=1e-10)
        found = linalg.solve(hidden.T, b, assume_a=assume)
        np.testing.assert_allclose(found, np.linalg.solve(POSITIVE, b), rtol=1e-10)
    lower = linalg.solve(POSITIVE, b, assume_a="lower triangular")
    np.testing.assert_allclose(POSITIVE * np.tri(4) @ lower, b, rtol=1e-10, atol=1e-12)
    middle = linalg.solve(POSITIVE, b, assume_a="diagonal")
    np.testing.assert_allclose(middle, b / np.diag(POSITIVE))
    turned = POSITIVE + 1j * (A - A.T)
    symmetric = POSITIVE + 1j * SYMMETRIC
    for matrix, assume in ((turned, "her"), (symmetric, "sym")):
        found = linalg.solve(matrix, b, assume_a=assume)
        np.testing.assert_allclose(matrix @ found, b, atol=1e-12)


def test_one_matrix_serves_many_right_hand_sides_and_one_side_many_matrices():
    sides = RNG.standard_normal((2, 4, 3))
    stack = np.stack([POSITIVE, 2 * POSITIVE])
    lower = np.tril(POSITIVE)
    for solve, matrix in (
        (lambda a, b: linalg.solve_triangular(a, b, lower=True), lower),
        (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), POSITIVE),
        (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), POSITIVE),
        (linalg.solve, POSITIVE),
    ):
        wanted = np.linalg.solve(matrix, sides)
        np.testing.assert_allclose(solve(matrix, sides), wanted, rtol=1e-9, atol=1e-12)
        found = solve(np.stack([matrix, 2 * matrix]), sides[0])
        assert found.shape == (2, 4, 3)
        assert solve(np.stack([matrix, 2 * matrix]), sides[0, :, 0]).shape == (2, 4)
    assert linalg.inv(stack).shape == stack.shape


# -- factorizations --------------------------------------------------------------------


@pytest.mark.parametrize("x", [A, A + 1j * E, A[:, :3], A[:3]])
def test_factors_give_the_matrix_back(x):
    p, lower, upper = linalg.lu(x)
    np.testing.assert_allclose(p @ lower @ upper, x, atol=1e-13)
    permuted, upper = linalg.lu(x, permute_l=True)
    np.testing.assert_allclose(permuted @ upper, x, atol=1e-13)
    q, r, order = linalg.qr(x, pivoting=True)
    np.testing.assert_allclose(q @ r, x[:, order], atol=1e-13)
    (raw, _), _ = linalg.qr(x, mode="raw")
    (wanted, _), _ = scipy.linalg.qr(x, mode="raw")
    np.testing.assert_allclose(raw, wanted, atol=1e-13)
    for side in ("left", "right"):
        u, h = linalg.polar(x, side)
        np.testing.assert_allclose(h @ u if side == "left" else u @ h, x, atol=1e-13)
    if x.shape == (4, 4):
        for output in ("real", "complex"):
            t, z = linalg.schur(x, output)
            np.testing.assert_allclose(z @ t @ z.conj().T, x, atol=1e-13)
            t, z = linalg.rsf2csf(t, z)
            np.testing.assert_allclose(z @ t @ z.conj().T, x, atol=1e-13)
            assert not np.tril(t, -1).any()
        h, q = linalg.hessenberg(x, calc_q=True)
        np.testing.assert_allclose(q @ h @ q.conj().T, x, atol=1e-13)


def test_generalized_eigenvalues_and_subsets_are_those_of_scipy():
    b = POSITIVE + np.diag([1.0, 2, 3, 4])
    for kind in (1, 2, 3):
        w, v = linalg.eigh(SYMMETRIC, b, type=kind, subset_by_index=(1, 2))
        wanted, vectors = scipy.linalg.eigh(
            SYMMETRIC, b, type=kind, subset_by_index=(1, 2)
        )
        np.testing.assert_allclose(w, wanted, rtol=1e-11)
        np.testing.assert_allclose(abs(v), abs(vectors), rtol=1e-9)
    check(lambda b: linalg.eigh(SYMMETRIC, b, eigvals_only=True), b, SYMMETRIC)


def test_eigenvalues_of_tridiagonal_matrices_are_selected():
    d, e = RNG.standard_normal(6), RNG.standard_normal(5)
    for select, chosen in (("a", None), ("i", (1, 3)), ("v", (-1.0, 1.0))):
        w, v = linalg.eigh_tridiagonal(d, e, select=select, select_range=chosen)
        wanted, vectors = scipy.linalg.eigh_tridiagonal(
            d, e, select=select, select_range=chosen
        )
        np.testing.assert_allclose(w, wanted, atol=1e-13)
        np.testing.assert_allclose(abs(v), abs(vectors), atol=1e-9)


def test_the_factors_of_the_polar_form_have_their_derivatives_for_equal_values():
    turn, _ = np.linalg.qr(A)
    for x in (np.eye(4), (turn * [2, 2, 2, 1]) @ turn.T):
        check(lambda a: linalg.polar(a)[1], x, E)


def test_matrices_without_elements_have_factors_and_functions():
    none, stack = np.zeros((0, 0)), np.zeros((0, 2, 2))
    for fun in (linalg.expm, linalg.sqrtm, linalg.inv, linalg.cholesky):
        assert fun(none).shape == (0, 0)
        assert fun(stack).shape == (0, 2, 2)
    assert linalg.funm(none, cnp.exp).shape == (0, 0)
    assert linalg.solve_sylvester(none, POSITIVE, np.zeros((0, 4))).shape == (0, 4)
    assert [x.shape for x in linalg.schur(none)] == [(0, 0), (0, 0)]
    assert [x.shape for x in linalg.qr(np.zeros((3, 0)))] == [(3, 3), (3, 0)]
    assert [x.shape for x in linalg.hessenberg(none, calc_q=True)] == [(0, 0)] * 2


# -- matrices with a name --------------------------------------------------------------


def test_named_matrices_of_vectors_take_stacks():
    c, r = RNG.standard_normal((2, 3)), RNG.standard_normal((2, 4))
    for fun in (linalg.toeplitz, linalg.hankel):
        found = fun(c, r)
        np.testing.assert_array_equal(found[1], fun(c[1], r[1]))
    for fun in (linalg.circulant, linalg.fiedler, linalg.companion):
        np.testing.assert_array_equal(fun(c)[1], fun(c[1]))
    np.testing.assert_array_equal(
        linalg.fiedler_companion(r)[1], linalg.fiedler_companion(r[1])
    )


def test_matrices_of_whole_numbers_are_exact():
    np.testing.assert_array_equal(linalg.invhilbert(11), scipy.linalg.invhilbert(11))
    np.testing.assert_array_equal(
        linalg.pascal(20), scipy.linalg.pascal(20, exact=True)
    )
    with options.override(enable_x64=False):
        found = linalg.invpascal(8) @ linalg.pascal(8)
    np.testing.assert_array_equal(found, np.eye(8))


def test_differences_of_unsigned_integers_do_not_wrap():
    x = np.array([1, 200, 3], np.uint8)
    found = linalg.fiedler(x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[0], [0, 199, 2])


# -- refusals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [  # a table: a row is a line
        (lambda: linalg.solve(A, A, assume_a="x"), ArgumentError, "assume_a='x'"),
        (lambda: linalg.solve_triangular(A, A, trans=3), ArgumentError, "trans=3"),
        (
            lambda: linalg.solve_triangular(A, A[:3]),
            TypeMismatch,
            "needs right-hand sides",
        ),
        (
            lambda: linalg.solve_triangular(np.zeros((2, 2)), np.ones(2)),
            LinAlgError,
            "zero on",
        ),
        (lambda: linalg.cho_factor(-POSITIVE), LinAlgError, "positive definite"),
        (lambda: linalg.inv(np.ones((2, 2))), LinAlgError, "singular"),
        (
            lambda: linalg.lu_solve((A, np.zeros(3, int)), A),
            TypeMismatch,
            "a pivot for each row",
        ),
        (
            lambda: linalg.solve_sylvester(A, A, A[:3]),
            TypeMismatch,
            r"matrices \[..., m, m\]",
        ),
        (
            lambda: linalg.solve_sylvester(A, A, A, method="x"),
            ArgumentError,
            "method 'x'",
        ),
        (lambda: linalg.polar(A, "up"), ArgumentError, "side='up'"),
        (lambda: linalg.polar(A, method="x"), ArgumentError, "method 'x'"),
        (lambda: linalg.qr(A, mode="x"), ArgumentError, "mode 'x'"),
        (lambda: linalg.qr_multiply(A, A, mode="x"), ArgumentError, "mode 'x'"),
        (
            lambda: linalg.qr_multiply(A, A[:, :2]),
            TypeMismatch,
            "to multiply from the right",
        ),
        (lambda: linalg.svd(A, lapack_driver="x"), ArgumentError, "lapack_driver='x'"),
        (lambda: linalg.schur(A, "x"), ArgumentError, "output='x'"),
        (lambda: linalg.rsf2csf(A, A[:3, :3]), TypeMismatch, "of one shape"),
        (lambda: linalg.eigh(A, type=4), ArgumentError, "type=4"),
        (
            lambda: linalg.eigh(A, subset_by_index=(1, 4)),
            ArgumentError,
            "among 4 values",
        ),
        (lambda: linalg.eigh_tridiagonal(A[0], A[0]), TypeMismatch, "needs diagonals"),
        (
            lambda: linalg.eigh_tridiagonal(1j * A[0], A[0, 1:]),
            DTypeError,
            "a real diagonal",
        ),
        (
            lambda: linalg.eigh_tridiagonal(A[0], A[0, 1:], select="x"),
            ArgumentError,
            "select='x'",
        ),
        (
            lambda: linalg.eigh_tridiagonal(A[0], A[0, 1:], select="i"),
            ArgumentError,
            "select_range",
        ),
        (lambda: linalg.expm(A[:3]), TypeMismatch, "expm needs square matrices"),
        (
            lambda: linalg.expm_frechet(A, A[:3, :3]),
            TypeMismatch,
            "of the shape of the matrix",
        ),
        (lambda: linalg.expm_frechet(A, A, method="x"), ArgumentError, "method 'x'"),
        (lambda: linalg.companion(np.ones(1)), TypeMismatch, "at least 2 coefficients"),
        (lambda: linalg.leslie(A[0], A[0]), TypeMismatch, "rates of survival"),
        (lambda: linalg.toeplitz(np.ones(0)), TypeMismatch, "vectors with an element"),
        (
            lambda: linalg.block_diag(np.ones((1, 1, 1))),
            TypeMismatch,
            "at most two axes",
        ),
        (
            lambda: linalg.convolution_matrix(A[0], 0),
            ArgumentError,
            "at least 1, but got 0",
        ),
        (lambda: linalg.convolution_matrix(A[0], 2, "x"), ArgumentError, "mode 'x'"),
        (lambda: linalg.dft(2, "x"), ArgumentError, "scale 'x'"),
        (lambda: linalg.dft(2, dtype=np.float32), DTypeError, "complex dtype"),
        (lambda: linalg.hadamard(3), ArgumentError, "power of two, but got 3"),
        (lambda: linalg.hadamard(2, bool), DTypeError, "dtype of numbers"),
        (lambda: linalg.pascal(2, "x"), ArgumentError, "kind 'x'"),
        (lambda: linalg.hilbert(-1), ArgumentError, "at least 0, but got -1"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_in_the_words_of_users(call, error, words):
    with pytest.raises(error, match=words):
        call()
