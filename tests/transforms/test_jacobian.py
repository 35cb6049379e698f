"""Jacobians in each mode agree; ``jacobian`` takes the cheapest cover of all blocks."""

import functools

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors

MODES = {"jacfwd": cv.jacfwd, "jacrev": cv.jacrev, "jacobian": cv.jacobian}
X = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    return request.param


def test_a_block_has_the_shape_of_the_result_and_then_of_the_argument(mode):
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(mode(lambda x: weights @ x)(X), weights)
    found = mode(lambda x: cnp.outer(x, x))(X)
    expected = np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum(
        "jk,i->ijk", np.eye(3), X
    )
    np.testing.assert_allclose(found, expected)


def test_trees_of_results_and_arguments(mode):
    def f(p, y):
        return {"s": p["a"] * y, "t": (cnp.sum(p["b"]), y)}

    given = {"a": np.float32(2), "b": X}, X[:2]
    found = mode(f, argnums=(0, 1))(*given)
    np.testing.assert_allclose(found["s"][0]["a"], X[:2])
    np.testing.assert_allclose(found["s"][0]["b"], np.zeros((2, 3)))
    np.testing.assert_allclose(found["s"][1], 2 * np.eye(2))
    np.testing.assert_allclose(found["t"][0][0]["b"], np.ones(3))
    np.testing.assert_allclose(found["t"][1][1], np.eye(2))
    assert found["t"][0][0]["a"].shape == ()


def test_empty_arrays_have_empty_jacobians(mode):
    assert mode(lambda x: x * 2)(np.zeros((0, 2), np.float32)).shape == (0, 2, 0, 2)
    assert mode(cnp.sum)(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_results_that_do_not_depend_on_the_argument(mode):
    found = mode(lambda x: cnp.ones(2))(X)
    assert found.tolist() == np.zeros((2, 3)).tolist()


def test_a_holomorphic_jacobian(mode):
    z = np.array([1 + 2j, 3], np.complex64)
    np.testing.assert_allclose(
        mode(lambda z: z * z, holomorphic=True)(z), np.diag(2 * z)
    )


def test_jacobians_compose_with_the_other_transformations(mode):
    def f(x):
        return cnp.sin(x) * x[0]

    expected = mode(f)(X)
    np.testing.assert_allclose(cv.jit(mode(f))(X), expected, rtol=1e-6)
    np.testing.assert_allclose(cv.vmap(mode(f))(X[None])[0], expected, rtol=1e-6)
    assert mode(mode(f))(X).shape == (3, 3, 3)


def test_integer_results_are_refused(mode):
    with pytest.raises(errors.NotDifferentiable, match=r"floating-point results.*i32"):
        mode(cnp.argmax)(X)


# -- complex numbers -------------------------------------------------------------------


def turned(x):
    return cnp.sum(x * (1 + 2j)).reshape(1)


def squared(z):
    return cnp.real(z * cnp.conj(z))


def test_complex_results_of_real_arguments_are_pushed_though_pulling_is_cheaper():
    np.testing.assert_allclose(cv.jacobian(turned)(X), [[1 + 2j] * 3])
    assert cv.jacobian(turned).plan(X).forward == ("argument 0",)
    np.testing.assert_allclose(cv.jacfwd(turned)(X), [[1 + 2j] * 3])
    with pytest.raises(
        errors.NotDifferentiable, match=r"per complex number of c64\[1\]"
    ):
        cv.jacrev(turned)(X)


def test_real_results_of_complex_arguments_are_pulled():
    z = np.array([1 + 2j, 3], np.complex64)
    expected = np.diag([2 - 4j, 6])
    np.testing.assert_allclose(cv.jacobian(squared)(z), expected)
    np.testing.assert_allclose(cv.jacrev(squared)(z), expected)
    with pytest.raises(errors.NotDifferentiable, match=r"holomorphic=True.*jacrev"):
        cv.jacfwd(squared)(z)


def test_complex_results_of_complex_arguments_need_holomorphic():
    with pytest.raises(errors.NotDifferentiable, match="holomorphic=True"):
        cv.jacobian(lambda z: z * 2)(np.ones(2, np.complex64))


# -- the plan --------------------------------------------------------------------------


def arrow(a, xs, b):
    """A long result of a short argument, and a short one of a long argument."""
    return a * cnp.arange(50.0), cnp.sum(xs) + b


def test_the_plan_mixes_modes_where_that_is_cheapest():
    args = (np.float32(1), np.ones(50, np.float32), np.float32(2))
    whole = cv.jacobian(arrow, argnums=(0, 1, 2))
    plan = whole.plan(*args)
    assert plan.forward == ("argument 0",)
    assert plan.reverse == ("result[1]",)
    assert plan.passes == 2
    assert (
        str(plan) == "forward over argument 0 and reverse over result[1]: 2 directions"
    )
    for one, other in zip(
        cv.tree.leaves(whole(*args)),
        cv.tree.leaves(cv.jacrev(arrow, argnums=(0, 1, 2))(*args)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_the_plan_of_a_tall_and_of_a_wide_function():
    assert cv.jacobian(lambda x: cnp.tile(x, 5)).plan(X).reverse == ()
    assert cv.jacobian(cnp.sum).plan(X).forward == ()
    assert (
        str(cv.jacobian(lambda x: cnp.ones(2)).plan(X)) == "nothing to do: 0 directions"
    )


def test_the_plan_names_leaves_of_arguments():
    plan = cv.jacobian(lambda p: cnp.tile(p["w"], 5) + p["i"] * 0, allow_int=True).plan(
        {"w": X, "i": 3}
    )
    assert plan.forward == ("argument 0['w']",)


def test_more_leaves_than_all_covers_are_tried_for():
    many = [np.float32(i) for i in range(14)]
    found = cv.jacobian(lambda xs: cnp.stack(xs) * 2)(many)
    np.testing.assert_array_equal(np.stack(found, 1), 2 * np.eye(14))


# -- hessian ---------------------------------------------------------------------------


def test_the_hessian_of_several_arguments():
    def f(x, y):
        return cnp.sum(x * x) * y

    found = cv.hessian(f, argnums=(0, 1))(X, 3.0)
    np.testing.assert_allclose(found[0][0], 6 * np.eye(3))
    np.testing.assert_allclose(found[0][1], 2 * X)
    np.testing.assert_allclose(found[1][0], 2 * X)
    assert float(found[1][1]) == 0.0


def test_the_hessian_of_a_holomorphic_function():
    assert complex(cv.hessian(lambda z: z**3, holomorphic=True)(2 + 1j)) == 12 + 6j


def test_errors_of_a_hessian_speak_of_the_hessian():
    with pytest.raises(errors.TypeMismatch, match=r"^hessian needs a function"):
        cv.hessian(3)
    with pytest.raises(errors.NotDifferentiable, match=r"^hessian of .* i32\[3\]"):
        cv.hessian(cnp.sum)(cnp.ones(3, int))
    with pytest.raises(errors.TypeMismatch, match=r"^hessian of .* argument 4"):
        cv.hessian(cnp.sum, argnums=4)(1.0)


def test_an_option_is_offered_by_those_that_have_it():
    for name in ("jacrev", "jacobian", "jacfwd", "hessian"):
        with pytest.raises(errors.NotDifferentiable, match=f"^{name} ") as refused:
            getattr(cv, name)(cnp.sum)(cnp.ones(3, int))
        has_option = name.startswith("jacr") or name == "jacobian"
        assert ("allow_int=True" in str(refused.value)) == has_option


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_the_jacobian_at_a_python_number_is_as_weak_as_that_of_jax(name):
    functions = [
        lambda x, np: np.exp(x) ** 2,
        lambda x, np: 0 * x + 3.0,
        lambda x, np: x * np.ones(3, "float32"),
    ]
    for f in functions:
        for x in (2.0, np.float32(2)):
            found = getattr(cv, name)(functools.partial(f, np=cnp))(x)
            wanted = getattr(jax, name)(functools.partial(f, np=jax.numpy))(x)
            assert found.dtype == wanted.dtype
            assert found.weak_type == wanted.weak_type
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_unit_vectors_select():
    """A cast makes XLA divide the operation that uses it among processors."""
    matrix = cnp.ones((100, 100))
    rows = cv.jit(cv.jacrev(lambda x: cnp.tanh(matrix @ x)))
    text = rows.lower(cnp.ones(100)).as_text()
    assert "stablehlo.select" in text and "ui8" not in text
    text = cv.jit(lambda x: cnp.eye(100) * x + cnp.tri(100)).lower(matrix).as_text()
    assert text.count("stablehlo.select") == 2 and "ui8" not in text
