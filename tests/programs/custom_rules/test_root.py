"""``custom_root``: its derivatives are those of the root, not of how it was found."""

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from tests.programs.transformed import TRANSFORMATIONS, assert_alike


def newton(f, x):
    """Newton's method for functions of each element."""

    def better(x):
        y, slope = cv.jvp(f, (x,), (cnp.ones_like(x),))
        return x - y / slope

    return lax.fori_loop(0, 30, lambda _, x: better(x), x)


def scalar_tangent(g, y):
    return y / g(cnp.ones_like(y))


def cube_root(a):
    f = lambda x: x**3 - a * a - 1  # noqa: E731
    return lax.custom_root(f, 1.5 + 0 * a, newton, scalar_tangent)


def steps(f, x):
    """A solver that no derivative could pass through."""
    going = lambda x: cnp.max(cnp.abs(f(x))) > 1e-12  # noqa: E731
    better = lambda x: x - f(x) / cnp.where(x > 0, 3 * x * x, 1.0)  # noqa: E731
    return lax.while_loop(going, better, x)


def cube_root_by_steps(a):
    f = lambda x: x**3 - a * a - 1  # noqa: E731
    return lax.custom_root(f, 1.5 + 0 * a, steps, scalar_tangent)


def written_out(a):
    return cnp.exp(cnp.log(a * a + 1) / 3)


VALUES = np.array([0.7, 1.0, 5.0])


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_it_is_the_root_under_every_transformation(name):
    assert_alike(cube_root, written_out, (VALUES,), name)


@pytest.mark.parametrize("name", ["value", "jit", "grad", "vmap"])
def test_a_solver_that_cannot_be_differentiated(name):
    assert_alike(cube_root_by_steps, written_out, (VALUES,), name)


def test_third_order():
    expected = cv.grad(cv.grad(cv.grad(written_out)))(2.0)
    third = cv.grad(cv.grad(cv.grad(cube_root)))
    np.testing.assert_allclose(third(2.0), expected, rtol=1e-4)
    mixed = cv.jit(cv.jacfwd(cv.jacrev(cv.jacfwd(cube_root))))
    np.testing.assert_allclose(mixed(2.0), expected, rtol=1e-4)


def system(p, q):
    """Where x² + y = p and x − y² = q."""

    def f(v):
        x, y = v["x"], v["y"]
        return {"x": x * x + y - p, "y": x - y * y - q}

    def solve(f, guess):
        def better(v):
            flat = cnp.stack([v["x"], v["y"]])
            unflat = lambda u: {"x": u[0], "y": u[1]}  # noqa: E731
            rows = lambda u: cnp.stack([f(unflat(u))["x"], f(unflat(u))["y"]])  # noqa: E731
            return unflat(flat - in_two(cv.jacfwd(rows)(flat), rows(flat)))

        return lax.fori_loop(0, 20, lambda _, v: better(v), guess)

    def tangent_solve(g, y):
        unit = lambda x, y: g({"x": cnp.float32(x), "y": cnp.float32(y)})  # noqa: E731
        columns = [unit(1, 0), unit(0, 1)]
        a = cnp.stack([cnp.stack([c["x"], c["y"]]) for c in columns], 1)
        u = in_two(a, cnp.stack([y["x"], y["y"]]))
        return {"x": u[0], "y": u[1]}

    found = lax.custom_root(f, {"x": 1.0, "y": 0.5}, solve, tangent_solve)
    return found["x"] * found["y"]


def in_two(a, b):
    (p, q), (r, s) = a
    return cnp.stack([s * b[0] - q * b[1], p * b[1] - r * b[0]]) / (p * s - q * r)


def test_a_system_in_a_tree_is_differentiated_in_what_its_functions_close_over():
    value = float(system(2.0, 1.0))
    for k in range(2):
        step = [0.0, 0.0]
        step[k] = 1e-2
        more, less = (
            float(system(2.0 + s * step[0], 1.0 + s * step[1])) for s in (1, -1)
        )
        slope = (more - less) / 2e-2
        for mode in (cv.grad, cv.jacfwd):
            np.testing.assert_allclose(mode(system, k)(2.0, 1.0), slope, rtol=1e-2)
    assert np.isfinite(value)
    np.testing.assert_allclose(
        cv.hessian(system, (0, 1))(2.0, 1.0),
        cv.jacrev(cv.jacrev(system, (0, 1)), (0, 1))(2.0, 1.0),
        rtol=1e-4,
    )
    batched = cv.vmap(cv.grad(system), (0, None))(cnp.array([2.0, 2.5]), 1.0)
    np.testing.assert_allclose(batched[1], cv.grad(system)(2.5, 1.0), rtol=1e-5)


def test_a_solve_inside_of_a_tangent_solve_is_transposed():
    a = np.array([[3.0, 1.0], [-0.5, 2.0]], "f")

    def f(b):
        def tangent_solve(g, y):
            by_matrix = lambda mv, y: in_two(cv.jacobian(mv)(y), y)  # noqa: E731
            return lax.custom_linear_solve(g, y, by_matrix, by_matrix)

        solve = lambda f, x: in_two(a, -f(cnp.zeros(2)))  # noqa: E731
        return lax.custom_root(lambda x: a @ x - b, cnp.zeros(2), solve, tangent_solve)

    found = cv.jit(cv.jacrev(f))(cnp.ones(2))
    np.testing.assert_allclose(found, np.linalg.inv(a), rtol=1e-4)
    np.testing.assert_allclose(cv.jacfwd(f)(cnp.ones(2)), found, rtol=1e-4)


def test_complex_roots_move_as_the_peers_do():
    def root(lib, np_, a):
        solve = lambda f, x: np_.sqrt(a)  # noqa: E731
        return lib.custom_root(
            lambda x: x * x - a, a, solve, lambda g, y: y / g(np_.ones_like(y))
        )

    a = np.complex64(1 + 2j)
    found = cv.grad(lambda a: root(lax, cnp, a).real)(a)
    expected = jax.grad(lambda a: root(jax.lax, jax.numpy, a).real)(a)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_aux_is_returned_and_does_not_move():
    def f(a):
        solve = lambda f, x: (newton(f, x), {"steps": 30, "guess": x})  # noqa: E731
        return lax.custom_root(
            lambda x: x * x - a, 1.0, solve, scalar_tangent, has_aux=True
        )

    x, aux = f(9.0)
    assert (float(x), int(aux["steps"]), float(aux["guess"])) == (3.0, 30, 1.0)
    (found, aux) = cv.grad(f, has_aux=True)(9.0)
    np.testing.assert_allclose(found, 1 / 6, rtol=1e-6)
    assert int(aux["steps"]) == 30
    assert cv.vmap(f)(cnp.array([4.0, 9.0]))[0].tolist() == [2.0, 3.0]


def test_the_guess_has_no_part_in_the_derivative():
    def f(guess):
        return lax.custom_root(lambda x: x * x - 4, guess, newton, scalar_tangent)

    assert float(cv.grad(f)(1.0)) == 0.0
    assert float(cv.jvp(f, (1.0,), (1.0,))[1]) == 0.0


def test_results_that_are_not_like_the_guess():
    good = (newton, scalar_tangent)
    with pytest.raises(errors.TreeMismatch, match=r"^f of custom_root .*initial_guess"):
        lax.custom_root(lambda x: (x, x), 1.0, *good)
    with pytest.raises(errors.TypeMismatch, match=r"^solve of .* f32\[\], .* f32\[2\]"):
        lax.custom_root(cnp.sin, 1.0, lambda f, x: cnp.ones(2), scalar_tangent)
    with pytest.raises(errors.TypeMismatch, match=r"^tangent_solve of .* f32\[2\]"):
        lax.custom_root(cnp.sin, 1.0, newton, lambda g, y: cnp.ones(2))
    with pytest.raises(errors.NotDifferentiable, match=r"initial_guess of floating"):
        lax.custom_root(cnp.sin, 1, *good)
    with pytest.raises(errors.TypeMismatch, match="a function for tangent_solve"):
        lax.custom_root(cnp.sin, 1.0, newton, 3)
