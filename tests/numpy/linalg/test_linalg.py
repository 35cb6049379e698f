"""``covector.numpy.linalg``: names, errors where values are known, and edge cases.

What the functions give is compared with NumPy and JAX in ``tests/public``.
"""

import inspect
import re

import jax.numpy as jnp
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors

linalg = cnp.linalg
ONES, EYE = cnp.ones((2, 2)), cnp.eye(2)
NAN = cnp.array([[1.0, cnp.nan], [cnp.nan, 1.0]])
#: parameters of JAX that are not taken
UNUSED = {"out_sharding"}


def test_the_namespace_has_every_name_of_jax_and_numpy():
    public = {n for n in dir(jnp.linalg) if not n.startswith("_")}
    assert public <= {*linalg.__all__}
    assert {*np.linalg.__all__} <= {*linalg.__all__}


@pytest.mark.parametrize("name", [n for n in dir(jnp.linalg) if not n.startswith("_")])
def test_functions_take_the_arguments_that_they_take_in_jax(name):
    wanted = inspect.signature(getattr(jnp.linalg, name)).parameters
    found = inspect.signature(getattr(linalg, name)).parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY,)
    for parameter in wanted.values():
        if parameter.kind not in positional and parameter.name not in UNUSED:
            assert parameter.name in found


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: linalg.cholesky(-EYE),
            "needs positive definite matrices, but got f32",
        ),
        (lambda: linalg.inv(ONES), "inv needs matrices that have inverses"),
        (lambda: linalg.solve(ONES, EYE[0]), "of which one is singular"),
        (lambda: linalg.matrix_power(ONES, -2), "lstsq and pinv take any"),
        (lambda: linalg.tensorinv(ONES.reshape(2, 1, 2)), "is singular"),
        (lambda: linalg.eig(NAN), "eig needs finite matrices, but got f32[2,2] with"),
        (lambda: linalg.eigvals(NAN), "eigvals needs finite matrices"),
        (lambda: linalg.svd(NAN), "svd needs finite matrices"),
        (lambda: linalg.pinv(NAN), "pinv needs finite matrices"),
        (lambda: linalg.lstsq(NAN, EYE), "lstsq needs finite matrices"),
        (lambda: linalg.matrix_rank(NAN, hermitian=True), "matrix_rank needs finite"),
        (lambda: linalg.cond(cnp.ones((0, 0))), "empty matrices have none"),
        (lambda: linalg.inv(cnp.ones((2, 3))), "square matrices, but got f32[2,3]"),
        (lambda: linalg.det(cnp.ones(3)), "with two axes at least, but got f32[3]"),
    ],
)
def test_what_numpy_refuses_is_a_linalg_error_where_values_are_known(call, words):
    with pytest.raises(linalg.LinAlgError, match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert isinstance(caught.value, errors.CovectorError)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: linalg.cholesky(EYE.astype("float16")), "cholesky needs float32"),
        (lambda: linalg.qr(EYE, "economic"), "got the mode 'economic'"),
        (lambda: linalg.svd(EYE, subset_by_index=(0, 1)), "pass full_matrices=False"),
        (
            lambda: linalg.svd(EYE, False, subset_by_index=(1, 3)),
            "among 2 values",
        ),
        (lambda: linalg.eigh(EYE, "M"), "eigh got UPLO='M'"),
        (lambda: linalg.solve(EYE, cnp.ones(3)), "right-hand sides [2] or [..., 2, m]"),
        (lambda: linalg.solve(EYE[None], cnp.ones((3, 2))), "but got f32[3,2]"),
        (lambda: linalg.lstsq(EYE[None], cnp.ones(2)), "use covector.vmap"),
        (lambda: linalg.pinv(EYE, 0.1, rcond=0.1), "both rtol and rcond"),
        (lambda: linalg.matrix_rank(EYE, 0.1, tol=0.1), "both rtol and tol"),
        (lambda: linalg.slogdet(EYE, method="svd"), "the method 'svd'"),
        (lambda: linalg.matrix_power(EYE, 0.5), "a whole number, but got 0.5"),
        (
            lambda: linalg.multi_dot([EYE, cnp.ones((3, 2))]),
            "but got f32[2,2], f32[3",
        ),
        (lambda: linalg.pinv(EYE, cnp.ones(3)), "one for each matrix, but got f32[3]"),
        (lambda: linalg.inv(EYE.astype("float16")), "inv needs float32, float64"),
        (lambda: linalg.multi_dot([EYE]), "two matrices or more"),
        (lambda: linalg.multi_dot([EYE, EYE[0], EYE]), "the first and the last may"),
        (lambda: linalg.tensorinv(EYE, 0), "a positive number of axes"),
        (
            lambda: linalg.tensorinv(cnp.ones((2, 3)), 1),
            "as many elements in its first",
        ),
        (lambda: linalg.tensorsolve(EYE, cnp.ones(3)), "whose first axes are those"),
        (lambda: linalg.norm(EYE, 3), "there are 'fro', 'nuc', 1, -1, 2, -2"),
        (lambda: linalg.norm(EYE[0], "fro"), "which is not a norm of vectors"),
        (lambda: linalg.norm(cnp.ones((2, 2, 2)), 2), "of matrices, along two"),
        (lambda: linalg.outer(EYE, EYE), "covector.numpy.outer flattens"),
        (lambda: linalg.cross(EYE, EYE), "vectors of three components"),
    ],
)
def test_words_of_refusals(call, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, errors.CovectorError)


def test_what_is_not_known_gives_nan_or_infinity():
    for fun, x in (
        (linalg.cholesky, -EYE),
        (linalg.inv, ONES),
        (lambda a: linalg.solve(a, EYE), ONES),
        (linalg.eigvalsh, NAN),
        (linalg.svdvals, NAN),
    ):
        assert not np.isfinite(cv.jit(fun)(x)).all()
        assert not np.isfinite(cv.vmap(fun)(x[None])).all()
        assert not np.isfinite(cv.grad(lambda a, fun=fun: fun(a).sum())(x)).all()


def test_nan_in_an_operand_is_no_singular_matrix():
    assert np.isnan(linalg.inv(NAN)).all()
    assert np.isnan(linalg.det(NAN))
    assert np.isnan(linalg.cholesky(NAN)).any()
    assert np.isnan(linalg.eigh(NAN).eigenvectors).all()
    assert np.isnan(linalg.eigvalsh(NAN)).all()


def test_one_matrix_and_a_stack_of_right_hand_sides_are_solved_together():
    a, b = cnp.array([[2.0, 1.0], [0.0, 4.0]]), cnp.ones((3, 2, 2, 2))
    np.testing.assert_allclose(a @ linalg.solve(a, b), b)
    program = str(cv.make_jaxpr(linalg.solve)(a, b))
    assert "f32[2,12]" in program
    over = cv.vmap(linalg.solve, in_axes=(None, 0))
    np.testing.assert_allclose(over(a, b), linalg.solve(a, b), rtol=1e-6)


def test_the_triangle_that_is_read():
    x = cnp.array([[4.0, 100.0], [2.0, 5.0]])
    lower = np.array([[4.0, 2.0], [2.0, 5.0]])
    upper = np.array([[4.0, 100.0], [100.0, 5.0]])
    for uplo, wanted in ((None, lower), ("L", lower), ("U", upper)):
        w = linalg.eigh(x, uplo, symmetrize_input=False).eigenvalues
        np.testing.assert_allclose(w, np.linalg.eigvalsh(wanted), rtol=1e-5)
    found = linalg.cholesky(x, symmetrize_input=False)
    np.testing.assert_allclose(found, np.linalg.cholesky(lower), rtol=1e-6)
    found = linalg.cholesky(x.T, symmetrize_input=False, upper=True)
    np.testing.assert_allclose(found, np.linalg.cholesky(lower).T, rtol=1e-6)
    whole = linalg.eigvalsh(x)
    np.testing.assert_allclose(whole, np.linalg.eigvalsh((x + x.T) / 2), rtol=1e-5)
    ranks = linalg.matrix_rank(cnp.array([[1.0, 5.0], [0.0, 0.0]]), hermitian=True)
    assert ranks == 1
    np.testing.assert_allclose(
        linalg.pinv(x, hermitian=True), np.linalg.inv(lower), rtol=1e-5
    )


@pytest.mark.parametrize("kind", [float, complex])
def test_the_singular_values_of_hermitian_matrices_descend(kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 4)) + 1j * rng.standard_normal((2, 4, 4))
    x = x if kind is complex else x.real
    x = x + np.conj(np.swapaxes(x, 1, 2))
    u, s, vh = linalg.svd(cnp.asarray(x), hermitian=True)
    np.testing.assert_allclose((u * s[:, None]) @ vh, x, atol=1e-4)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-4)
    values = linalg.svd(cnp.asarray(x), hermitian=True, compute_uv=False)
    np.testing.assert_allclose(values, s, rtol=1e-4)


def test_subsets_of_singular_values():
    x = cnp.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    u, s, vh = linalg.svd(x, full_matrices=False, subset_by_index=(1, 2))
    assert (u.shape, s.tolist(), vh.shape) == ((3, 1), [2.0], (1, 2))
    assert linalg.svd(x, compute_uv=False, subset_by_index=(0, 1)).tolist() == [3.0]


def test_results_have_the_names_of_the_array_api():
    assert linalg.svd(EYE)._fields == ("U", "S", "Vh")
    assert linalg.qr(EYE)._fields == ("Q", "R")
    assert linalg.eigh(EYE)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.eig(EYE)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.slogdet(EYE)._fields == ("sign", "logabsdet")
    doubled = cv.jit(lambda x: cv.tree.map(lambda a: 2 * a, linalg.qr(x)))(EYE)
    assert type(doubled).__name__ == "QRResult"


def test_integers_are_promoted():
    x = cnp.array([[2, 1], [1, 3]])
    for fun in (linalg.inv, linalg.det, linalg.cholesky, linalg.norm, linalg.svdvals):
        assert fun(x).dtype == np.float32
    assert linalg.matrix_power(x, 3).dtype == np.int32
    assert linalg.eigvals(x).dtype == np.complex64


def test_raw_reflections_make_the_matrix():
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("f4")
    h, tau = linalg.qr(x, mode="raw")
    wanted, wanted_tau = np.linalg.qr(x, mode="raw")
    np.testing.assert_allclose(h, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tau, wanted_tau, rtol=1e-4)


def test_empty_matrices():
    for shape in ((0, 3), (3, 0), (0, 0)):
        x = cnp.ones(shape)
        for ord in (None, "fro", "nuc", 1, 2, np.inf):
            assert linalg.norm(x, ord) == 0
        u, _, vh = linalg.svd(x)
        assert (u.tolist(), vh.tolist()) == (
            np.eye(shape[0]).tolist(),
            np.eye(shape[1]).tolist(),
        )
        assert linalg.pinv(x).shape == shape[::-1]
        assert linalg.matrix_rank(x) == 0
        found, _, rank, _ = linalg.lstsq(x, cnp.ones(shape[0]))
        assert (found.tolist(), rank) == ([0.0] * shape[1], 0)
    none = cnp.ones((2, 0, 0))
    assert linalg.det(none).tolist() == [1, 1]
    assert linalg.slogdet(none).logabsdet.tolist() == [0, 0]
    for fun in (linalg.inv, linalg.cholesky, linalg.eigvals, linalg.eigvalsh):
        assert fun(none).size == 0
    assert linalg.matrix_power(none, 3).shape == none.shape


@pytest.mark.parametrize("ord", [None, 2, 1, 3, 0.5, np.inf, 0, "fro", "nuc"])
def test_a_norm_has_the_derivative_zero_at_zero(ord):
    for shape in ((3,), (2, 3)):
        if isinstance(ord, str) != (len(shape) == 2) and ord not in (
            None,
            1,
            2,
            np.inf,
        ):
            continue
        found = cv.grad(lambda x: linalg.norm(x, ord))(cnp.zeros(shape))
        assert np.isfinite(found).all()
        if ord in (None, "fro"):
            assert not found.any()


def test_residuals_of_least_squares_are_those_of_numpy_where_asked_for():
    x, y = cnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), cnp.array([1.0, 2.0, 0.0])
    for a in (x, x[:2], x[:, :1] @ cnp.ones((1, 2))):
        ours = linalg.lstsq(a, y[: len(a)], numpy_resid=True)
        theirs = np.linalg.lstsq(np.asarray(a), np.asarray(y[: len(a)]))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert linalg.lstsq(x[:2], y[:2])[1].shape == (1,)
    assert linalg.lstsq(x, y, -1)[2] == 2 and linalg.lstsq(x, y, 0.9)[2] == 1


def test_least_squares_of_a_nearly_singular_matrix_leave_no_residual():
    """Multiplied by its pseudo-inverse, b would be missed by 1e-5."""
    rng = np.random.default_rng(0)
    u, v = [np.linalg.qr(rng.standard_normal((n, 20)))[0] for n in (60, 20)]
    a = (u * np.geomspace(1, 1e-13, 20)) @ v.T
    b = a @ rng.standard_normal(20)
    with cv.enable_x64(True):
        x = np.asarray(linalg.lstsq(a, b)[0])
    assert np.abs(a @ x - b).max() < 1e-14


def test_the_condition_of_a_singular_matrix_is_infinite():
    for p in (None, 2, 1, "fro", np.inf):
        assert linalg.cond(cnp.zeros((2, 2)), p) == np.inf
        assert np.isnan(cv.jit(lambda x, p=p: linalg.cond(x, p))(NAN))
