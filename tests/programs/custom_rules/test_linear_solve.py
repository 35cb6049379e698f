"""``custom_linear_solve``: it cannot be told from a solve that is written out."""

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from tests.programs.transformed import TRANSFORMATIONS, assert_alike

A = np.array([[3.0, 1.0], [-0.5, 2.0]])
S = np.array([[3.0, 1.0], [1.0, 2.0]])
B = np.array([0.3, -1.2])


def dense(a, b):
    """The solution of two equations, by Cramer's rule."""
    (p, q), (r, s) = a
    x, y = b
    return cnp.stack([s * x - q * y, p * y - r * x]) / (p * s - q * r)


def by_matrix(matvec, b):
    """A solver that finds out the matrix."""
    return dense(cv.jacobian(matvec)(b), b)


def solution(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, by_matrix, by_matrix)


def symmetric(a, b):
    a = a + a.T
    return lax.custom_linear_solve(lambda x: a @ x, b, by_matrix, symmetric=True)


def symmetric_dense(a, b):
    return dense(a + a.T, b)


def iterated(a, b):
    """Jacobi's method, for a number of steps that only the values tell."""

    def solve(matvec, b):
        diagonal = cnp.stack([a[0, 0], a[1, 1]])

        def better(x):
            return x + (b - matvec(x)) / diagonal

        def going(x):
            return cnp.max(cnp.abs(b - matvec(x))) > 20 * cnp.finfo(b.dtype).eps

        return lax.while_loop(going, better, cnp.zeros_like(b))

    return lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)


CASES = {
    "general": (solution, dense, (A, B)),
    "symmetric": (symmetric, symmetric_dense, (A, B)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_solution_under_every_transformation(case, name):
    assert_alike(*CASES[case], name)


@pytest.mark.parametrize("name", ["value", "jit", "jvp", "linearize", "grad"])
def test_a_solver_that_cannot_be_differentiated(name):
    assert_alike(iterated, dense, (A, B), name)


def test_third_order():
    def third(f):
        g = lambda b: cnp.sum(cnp.sin(f(cnp.asarray(A, "f") * b[0], b)))  # noqa: E731
        return cv.jacfwd(cv.jacrev(cv.grad(g)))(cnp.asarray(B, "f"))

    np.testing.assert_allclose(third(solution), third(dense), rtol=1e-4, atol=1e-5)


def test_trees_of_which_each_part_has_its_own_shape():
    def solved(scale, b):
        def matvec(x):
            return {"u": scale * x["u"] + x["v"], "v": 2 * x["v"]}

        def solve(_, b):
            v = b["v"] / 2
            return {"u": (b["u"] - v) / scale, "v": v}

        def transposed(_, b):
            u = b["u"] / scale
            return {"u": u, "v": (b["v"] - cnp.sum(u)) / 2}

        return lax.custom_linear_solve(matvec, b, solve, transposed)

    def written_out(scale, b):
        v = b["v"] / 2
        return {"u": (b["u"] - v) / scale, "v": v}

    def flat(f):
        def of(scale, u, v):
            return f(scale, {"u": u, "v": v})

        return of

    args = np.float64(3), np.array([1.0, 2.0, 4.0]), np.float64(5)
    for name in ("value", "jvp", "grad", "vmap", "vmap of grad"):
        assert_alike(flat(solved), flat(written_out), args, name)


def test_a_tangent_of_one_part_alone():
    def solved(b):
        halves = lambda _, b: cv.tree.map(lambda x: x / 2, b)  # noqa: E731
        matvec = lambda x: cv.tree.map(lambda y: 2 * y, x)  # noqa: E731
        return lax.custom_linear_solve(matvec, (b, 4.0), halves, symmetric=True)

    assert [float(x) for x in cv.grad(lambda b: solved(b)[0])(3.0)[None]] == [0.5]
    assert float(cv.grad(lambda b: solved(b)[1])(3.0)) == 0.0


def test_complex_numbers_are_transposed_and_not_conjugated():
    a = (A + 1j * A[::-1]).astype(np.complex64)
    b = (B - 2j * B[::-1]).astype(np.complex64)

    def peer(a, b):
        solve = lambda mv, b: jax.numpy.linalg.solve(a, b)  # noqa: E731
        transposed = lambda mv, b: jax.numpy.linalg.solve(a.T, b)  # noqa: E731
        x = jax.lax.custom_linear_solve(lambda x: a @ x, b, solve, transposed)
        return (x[0] * x[1]).real

    def ours(a, b):
        solve = lambda _, b: dense(a, b)  # noqa: E731
        transposed = lambda _, b: dense(a.T, b)  # noqa: E731
        x = lax.custom_linear_solve(lambda x: a @ x, b, solve, transposed)
        return (x[0] * x[1]).real

    found, expected = cv.grad(ours, (0, 1))(a, b), jax.grad(peer, (0, 1))(a, b)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4)
    direct = cv.grad(lambda a, b: (dense(a, b)[0] * dense(a, b)[1]).real)(a, b)
    np.testing.assert_allclose(found[0], direct, rtol=1e-4)


def test_an_aux_is_returned_and_does_not_move():
    def f(a, b):
        def solve(matvec, b):
            x = by_matrix(matvec, b)
            return x, {"residual": b - matvec(x), "steps": 3}

        return lax.custom_linear_solve(lambda x: a @ x, b, solve, solve, has_aux=True)

    a, b = A.astype("f"), B.astype("f")
    x, aux = f(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-5)
    assert int(aux["steps"]) == 3
    np.testing.assert_allclose(aux["residual"], 0, atol=1e-6)
    (_, tangent) = cv.jvp(f, (a, b), (a, b))
    np.testing.assert_array_equal(tangent[1]["residual"], 0)
    found = cv.grad(lambda a: cnp.sum(f(a, b)[0]))(a)
    expected = cv.grad(lambda a: cnp.sum(dense(a, b)))(a)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    zero = cv.grad(lambda a: cnp.sum(f(a, b)[1]["residual"]))(a)
    np.testing.assert_array_equal(zero, 0)
    batched = cv.vmap(f, (None, 0))(a, cnp.stack([b, 2 * b]))
    np.testing.assert_allclose(batched[0][1], 2 * x, rtol=1e-5)
    assert batched[1]["steps"].tolist() == [3, 3]


def shapes_inside(f, *args):
    """The shapes of all products and divisors in the program, at any depth."""
    return str(cv.make_jaxpr(f)(*args))


def test_only_what_must_be_is_batched():
    a, bs = A.astype("f"), np.ones((5, 2), "f")
    program = shapes_inside(cv.vmap(solution, (None, 0)), a, bs)
    assert "f32[5,2,2]" not in program
    program = shapes_inside(cv.vmap(solution, (0, None)), np.stack([a] * 5), bs[0])
    assert "f32[5,2,2]" in program


def test_a_batch_of_one_part_leaves_the_others_alone():
    def solved(u, v):
        matvec = lambda x: (2 * x[0], 3 * x[1])  # noqa: E731
        solve = lambda _, b: (b[0] / 2, b[1] / 3)  # noqa: E731
        return lax.custom_linear_solve(matvec, (u, v), solve, symmetric=True)

    f = cv.vmap(solved, (0, None), out_axes=(0, None))
    u, v = f(cnp.arange(4.0), cnp.ones(3))
    assert (u.shape, v.shape) == ((4,), (3,))


def test_it_is_compiled_and_solves_only_once_more_for_a_gradient():
    solves = []

    def counted(matvec, b):
        solves.append(1)
        return by_matrix(matvec, b)

    def f(b):
        a = cnp.asarray(S, "f")
        return cnp.sum(
            lax.custom_linear_solve(lambda x: a @ x, b, counted, symmetric=True)
        )

    cv.jit(cv.grad(f))(cnp.ones(2))
    assert len(solves) == 1  # traced once; the same program serves backward


def test_it_runs_where_jit_is_switched_off():
    with cv.disable_jit():
        a, b = A.astype("f"), B.astype("f")
        np.testing.assert_allclose(iterated(a, b), np.linalg.solve(a, b), rtol=1e-4)


def test_a_closed_over_large_array_and_an_empty_one():
    a = cnp.asarray(np.eye(64, dtype="f") * 2)
    half = lambda _, b: b / 2  # noqa: E731
    f = lambda b: lax.custom_linear_solve(  # noqa: E731
        lambda x: a @ x, b, half, symmetric=True
    )
    np.testing.assert_array_equal(f(cnp.ones(64)), 0.5)
    np.testing.assert_array_equal(cv.grad(lambda b: cnp.sum(f(b)))(cnp.ones(64)), 0.5)
    g = lambda b: lax.custom_linear_solve(  # noqa: E731
        lambda x: 2 * x, b, half, symmetric=True
    )
    assert g(cnp.zeros((0,))).shape == (0,)
    assert cv.grad(lambda b: cnp.sum(g(b)))(cnp.zeros((0, 2))).shape == (0, 2)


def test_it_can_be_transposed_itself():
    solved = lambda b: solution(cnp.asarray(A, "f"), b)  # noqa: E731
    (found,) = cv.linear_transpose(solved, cnp.ones(2))(cnp.asarray(B, "f"))
    np.testing.assert_allclose(found, np.linalg.solve(A.T, B), rtol=1e-5, atol=1e-7)


# -- errors ----------------------------------------------------------------------------


def twice(x):
    return 2 * x


def half(_, b):
    return b / 2


def test_reverse_mode_without_a_transposed_solve():
    f = lambda b: lax.custom_linear_solve(twice, b, half)  # noqa: E731
    assert float(cv.jvp(f, (1.0,), (1.0,))[1]) == 0.5
    with pytest.raises(
        errors.NotDifferentiable,
        match=r"of custom_linear_solve of twice .*no transpose_solve was given",
    ):
        cv.grad(f)(1.0)


def test_results_that_are_not_like_b():
    b = {"a": 1.0, "b": 2.0}
    with pytest.raises(
        errors.TreeMismatch, match=r"matvec of custom_linear_solve .* structure of b"
    ):
        lax.custom_linear_solve(lambda x: x["a"], b, half)
    with pytest.raises(
        errors.TreeMismatch, match=r"solve of custom_linear_solve .* structure of b"
    ):
        lax.custom_linear_solve(lambda x: x, b, lambda _, b: b["a"])
    with pytest.raises(
        errors.TypeMismatch, match=r"transpose_solve of .* f32\[3\], but .* f32\[\]"
    ):
        lax.custom_linear_solve(twice, cnp.ones(3), half, lambda _, b: cnp.sum(b))
    with pytest.raises(errors.TypeMismatch, match="pair"):
        lax.custom_linear_solve(twice, 1.0, half, has_aux=True)
    with pytest.raises(errors.TypeMismatch, match=r"argument of vecmat"):
        lax.custom_linear_solve(
            twice, cnp.ones(3), half, lambda vecmat, b: vecmat(cnp.ones(2)) * b
        )


def test_arguments_that_will_not_do():
    with pytest.raises(errors.NotDifferentiable, match=r"of floating.* i32"):
        lax.custom_linear_solve(twice, 3, half)
    with pytest.raises(errors.TypeMismatch, match="a function for solve"):
        lax.custom_linear_solve(twice, 3.0, None)


def test_what_a_solver_prints_is_printed_in_order_and_once(capsys):
    def loud(matvec, b):
        cv.debug.print("solving {}", b[0], ordered=True)
        return by_matrix(matvec, b)

    def f(b):
        a = cnp.asarray(S, "f")
        cv.debug.print("before", ordered=True)
        x = lax.custom_linear_solve(lambda x: a @ x, b, loud, symmetric=True)
        cv.debug.print("after", ordered=True)
        return cnp.sum(x)

    cv.jit(f)(cnp.ones(2)).block_until_ready()
    assert capsys.readouterr().out.split("\n")[:3] == ["before", "solving 1.0", "after"]


def policies():
    found = cv.checkpoint_policies
    return [found.everything_saveable, found.dots_saveable, found.nothing_saveable]


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.__name__)
@pytest.mark.parametrize("solve", [solution, symmetric])
def test_values_saved_in_a_solver_do_not_answer_for_other_vectors(solve, policy):
    """Second derivatives solve again, by the program that a checkpoint has cut."""

    def curvature(f):
        def slope(b):
            slopes = cv.grad(lambda a: cnp.sum(cnp.sin(f(a, b))))(A + b[0])
            return cnp.vdot(slopes, A)

        return cv.grad(slope)(B)

    with cv.options.override(enable_x64=True):
        found = curvature(cv.checkpoint(solve, policy=policy))
        np.testing.assert_allclose(found, curvature(solve), rtol=1e-10)
