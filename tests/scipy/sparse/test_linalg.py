"""Iterative solvers: solutions as SciPy's and the peer's, derivatives as dense ones."""

import functools

import jax
import jax.scipy.sparse.linalg as peer
import numpy as np
import pytest
import scipy.sparse.linalg as reference

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy.sparse.linalg import bicgstab, cg, gmres

N = 6
rng = np.random.default_rng(0)
G = (rng.normal(size=(N, N)) / 4 + 2 * np.eye(N)).astype(np.float32)
S = (G @ G.T / 2 + np.eye(N)).astype(np.float32)
B = rng.normal(size=N).astype(np.float32)


def incremental(*args, **kwargs):
    return gmres(*args, solve_method="incremental", **kwargs)


def restarted(*args, **kwargs):
    return gmres(*args, restart=4, **kwargs)


SOLVERS = {
    "cg": (cg, S),
    "bicgstab": (bicgstab, G),
    "gmres": (gmres, G),
    "gmres incremental": (incremental, G),
    "gmres restarted": (restarted, G),
}
every = pytest.mark.parametrize(("solver", "matrix"), SOLVERS.values(), ids=SOLVERS)


@every
def test_the_solution_is_that_of_scipy_and_of_the_peer(solver, matrix):
    name = "gmres" if solver in (incremental, restarted) else solver.__name__
    x, info = solver(matrix, B, tol=1e-6)
    assert info == 0 if name == "gmres" else info is None
    expected, failed = getattr(reference, name)(matrix, B, rtol=1e-6)
    assert not failed
    np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-5)
    other, _ = getattr(peer, name)(matrix, B, tol=1e-6)
    np.testing.assert_allclose(x, other, rtol=1e-4, atol=1e-5)
    compiled, _ = cv.jit(solver)(matrix, B)
    np.testing.assert_allclose(compiled, expected, rtol=1e-3, atol=1e-4)


@every
def test_gradients_are_those_of_a_dense_solve(solver, matrix):
    def ours(a, b):
        return cnp.sum(cnp.sin(solver(lambda x: a @ x, b, tol=1e-7)[0]))

    def dense(a, b):
        return jax.numpy.sum(jax.numpy.sin(jax.numpy.linalg.solve(a, b)))

    found = cv.grad(ours, (0, 1))(matrix, B)
    expected = jax.grad(dense, (0, 1))(matrix, B)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)
    _, tangent = cv.jvp(ours, (matrix, B), (matrix, B))
    _, wanted = jax.jvp(dense, (matrix, B), (matrix, B))
    np.testing.assert_allclose(tangent, wanted, rtol=1e-3, atol=1e-4)


def test_gmres_says_whether_there_is_a_solution():
    for start, wanted in ((B, 0), (np.full_like(B, np.nan), -1)):
        _, info = cv.jit(gmres)(G, B, start)
        theirs = peer.gmres(G, B, start)[1]
        assert info.dtype == theirs.dtype and info.weak_type == theirs.weak_type
        assert int(info) == int(theirs) == wanted


@pytest.mark.parametrize(("solver", "matrix"), [(cg, S), (bicgstab, G), (gmres, G)])
def test_second_derivatives(solver, matrix):
    def loss(f):
        def of(b):
            return f(matrix * b[0] ** 2, b)[0] ** 3

        return of

    ours = loss(lambda a, b: solver(a, b, tol=1e-7)[0])
    dense = loss(jax.numpy.linalg.solve)
    found = cv.jit(cv.jacfwd(cv.grad(ours)))(B)
    expected = jax.hessian(dense)(B)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, rtol=1e-2, atol=1e-4)


@every
def test_over_a_batch_each_gets_its_own(solver, matrix):
    bs = np.stack([B, 3 * B, 0 * B])
    found = cv.vmap(lambda b: solver(matrix, b)[0])(bs)
    each = np.stack([solver(matrix, b)[0] for b in bs])
    np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)
    matrices = np.stack([matrix, matrix + np.eye(N, dtype="f")])
    found = cv.vmap(lambda a: solver(a, B, tol=1e-6)[0])(matrices)
    expected = np.linalg.solve(matrices, np.stack([B, B])[..., None])[..., 0]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@every
def test_trees_and_a_start(solver, matrix):
    def split(x):
        return {"a": x[:4], "b": (x[4:].reshape(2, 1),)}

    def joined(t):
        return cnp.concatenate([t["a"], cnp.ravel(t["b"][0])])

    expected = np.linalg.solve(matrix, B)
    x, _ = solver(lambda t: split(matrix @ joined(t)), split(B), tol=1e-6)
    assert x["b"][0].shape == (2, 1)
    np.testing.assert_allclose(joined(x), expected, rtol=1e-3, atol=1e-4)
    # From the solution there is no step to take.
    again, _ = solver(matrix, B, expected.astype("f"), maxiter=0)
    np.testing.assert_array_equal(again, expected.astype("f"))
    start = cv.grad(lambda s: cnp.sum(solver(matrix, B, s)[0]))(cnp.ones(N))
    np.testing.assert_array_equal(start, 0)


@every
def test_a_preconditioner_is_about_the_inverse(solver, matrix):
    scales = np.logspace(0, 3, N).astype("f")
    badly = scales[:, None] * matrix * (scales if solver is cg else 1)
    inverse = np.linalg.inv(badly).astype("f")
    inverse = (inverse + inverse.T) / 2 if solver is cg else inverse
    few = {"maxiter": 3} if solver is cg or solver is bicgstab else {"maxiter": 2}
    expected = np.linalg.solve(badly.astype(float), B)
    f = lambda b: solver(badly, b, M=inverse, tol=1e-5, **few)[0]  # noqa: E731
    np.testing.assert_allclose(f(B), expected, rtol=1e-2, atol=1e-4)
    # Backward the preconditioner is transposed, or three steps would not do.
    found = cv.grad(lambda b: cnp.sum(f(b)))(B)
    wanted = np.linalg.solve(badly.T.astype(float), np.ones(N))
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=1e-2, atol=1e-3)


@every
def test_complex_numbers(solver, matrix):
    a = (matrix + 0.2j * rng.normal(size=(N, N))).astype(np.complex64)
    a = (a @ a.conj().T + np.eye(N)).astype(np.complex64) if solver is cg else a
    b = (B + 1j * B[::-1]).astype(np.complex64)
    x, _ = solver(a, b, tol=1e-6)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-2, atol=1e-3)

    def ours(a, b):
        return cnp.sum(solver(a, b, tol=1e-6)[0]).real

    def dense(a, b):
        return jax.numpy.sum(jax.numpy.linalg.solve(a, b)).real

    found = cv.grad(ours, (0, 1))(a, b)
    expected = jax.grad(dense, (0, 1))(a, b)
    for p, q in zip(found, expected, strict=True):
        np.testing.assert_allclose(p, q, rtol=2e-2, atol=1e-3)


@every
def test_zeros_singular_matrices_and_one_equation(solver, matrix):
    np.testing.assert_array_equal(solver(matrix, 0 * B)[0], 0)
    found, _ = solver(np.full((1, 1), 4, "f"), np.ones(1, "f"))
    np.testing.assert_allclose(found, [0.25], rtol=1e-6)
    # Singular, but b is in its range.
    singular = np.diag([1.0, 2.0, 0.0]).astype("f")
    found, _ = solver(singular, np.array([1.0, 1.0, 0.0], "f"))
    np.testing.assert_allclose(found, [1, 0.5, 0], atol=1e-5)
    found, _ = solver(singular, np.array([1.0, 1.0, 1.0], "f"), maxiter=2)
    assert found.shape == (3,)


@every
def test_tolerances(solver, matrix):
    loose, _ = solver(matrix, B, tol=0.5)
    assert np.linalg.norm(B - matrix @ np.asarray(loose)) <= 0.5 * np.linalg.norm(B)
    nothing, _ = solver(matrix, B, atol=100.0)
    np.testing.assert_array_equal(nothing, 0)


def test_in_double_precision():
    with cv.enable_x64():
        for solver, matrix in SOLVERS.values():
            a, b = matrix.astype(float), B.astype(float)
            x, _ = solver(a, b, tol=1e-12, maxiter=200)
            assert x.dtype == np.float64
            np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-9)


def test_arguments_that_will_not_do():
    with pytest.raises(errors.TypeMismatch, match=r"cg needs A as .*f32\[2,3\]"):
        cg(np.ones((2, 3), "f"), np.ones(3, "f"))
    with pytest.raises(errors.TreeMismatch, match="bicgstab needs an x0 like b"):
        bicgstab(S, B, {"x": B})
    with pytest.raises(
        errors.TypeMismatch, match=r"x0 like b, .* f32\[2\] for f32\[6\]"
    ):
        cg(S, B, B[:2])
    with pytest.raises(errors.ArgumentError, match="'batched' and 'incremental'"):
        gmres(S, B, solve_method="other")
    with pytest.raises(errors.ArgumentError, match="restart must be at least 1"):
        gmres(S, B, restart=0)
    with pytest.raises(errors.TypeMismatch, match="matvec of custom_linear_solve"):
        cg(lambda x: x[:2], B)


@pytest.mark.parametrize("solve", [cg, bicgstab, gmres])
def test_an_object_with_a_matrix_product_is_an_operator(solve):
    class Tridiagonal:
        shape = (4, 4)

        def __matmul__(self, x):
            below, above = cnp.pad(x[:-1], (1, 0)), cnp.pad(x[1:], (0, 1))
            return 3 * x - below - above

    b = cnp.arange(4.0)
    x, _ = solve(Tridiagonal(), b)
    np.testing.assert_allclose(Tridiagonal() @ x, b, atol=1e-4)


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_the_solution_gives_way_to_other_dtypes_where_the_right_hand_side_does(solver):
    assert solver(lambda x: 2 * x, 1.0)[0].weak_type
    assert not solver(lambda x: 2 * x, np.float32(1))[0].weak_type


@pytest.mark.parametrize("method", ["batched", "incremental"])
def test_a_system_that_gmres_cannot_solve_is_not_reported_as_solved(method):
    solve = functools.partial(gmres, solve_method=method)
    singular, b = cnp.array([[1.0, 0.0], [0.0, 0.0]]), cnp.ones(2)
    for A in (singular, 0 * singular):
        x, info = solve(A, b)
        assert int(info) == -1
        assert cnp.vdot(b - A @ x, b - A @ x) <= cnp.vdot(b, b)
    x, info = solve(singular, cnp.array([1.0, 0.0]))
    assert (x.tolist(), int(info)) == ([1.0, 0.0], 0)
    A = cnp.arange(1.0, 10.0) * cnp.eye(9) + cnp.eye(9, k=1)
    for steps, expected in ((1, -1), (20, 0)):
        assert int(solve(A, cnp.ones(9), restart=2, maxiter=steps)[1]) == expected


def test_gmres_of_nan_is_nan():
    bad, good = cnp.array([cnp.nan, 1.0]), cnp.ones(2)
    for A, b in ((cnp.eye(2), bad), (cnp.diag(bad), good)):
        x, info = gmres(A, b)
        assert cnp.isnan(x).all() and int(info) == -1
