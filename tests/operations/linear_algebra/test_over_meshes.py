"""Devices divide a stack of matrices among them, and never a matrix."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.lax import linalg

MESH = cv.make_mesh((2, 2), ("x", "y"))
RNG = np.random.default_rng(0)
ROOTS = RNG.standard_normal((4, 6, 6)).astype("f4")
STACK = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(6, dtype="f4")


def over(spec):
    return cv.NamedSharding(MESH, spec)


def factors(x):
    found = linalg.qr(x)[1], linalg.cholesky(x), linalg.eigh(x)[1]
    return (*found, linalg.svd(x, compute_uv=False), cnp.linalg.inv(x))


@pytest.fixture(scope="module")
def wanted():
    return factors(cnp.asarray(STACK))


def test_a_divided_stack_is_factored_where_its_matrices_are(wanted):
    x = cv.device_put(STACK, over(cv.P("x")))
    program = cv.jit(factors).lower(x).compile()
    assert "all-gather" not in program.as_text()
    for found, one in zip(program(x), wanted, strict=True):
        assert found.sharding.spec == cv.P("x")
        np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("spec", [cv.P("y", "x"), cv.P(None, "x", "y")])
def test_divided_matrices_are_gathered_before_they_are_factored(spec, wanted):
    """Also where their factors are to be divided again."""
    x = cv.device_put(STACK, over(spec))
    for found, one in zip(cv.jit(factors)(x), wanted, strict=True):
        np.testing.assert_array_equal(found, one)
    first = cv.jit(lambda x: factors(x)[:2], out_shardings=over(cv.P(None, "x", "y")))
    for found, one in zip(first(x), wanted, strict=False):
        np.testing.assert_array_equal(found, one)


def test_a_shard_map_factors_its_part(wanted):
    x = cv.device_put(STACK, over(cv.P("x", "y")))
    for names in ({"x"}, {"x", "y"}):
        mapped = cv.shard_map(
            factors,
            mesh=MESH,
            in_specs=cv.P("x"),
            out_specs=cv.P("x"),
            axis_names=names,
        )
        for found, one in zip(cv.jit(mapped)(x), wanted, strict=True):
            np.testing.assert_array_equal(found, one)


def test_a_divided_stack_of_many_small_matrices_stays_divided():
    roots = RNG.standard_normal((256, 3, 3)).astype("f4")
    stack = roots @ np.swapaxes(roots, 1, 2) + np.eye(3, dtype="f4")

    def values(x):
        return linalg.cholesky(x), cnp.linalg.inv(x)

    x = cv.device_put(stack, over(cv.P("x")))
    mapped = cv.shard_map(values, mesh=MESH, in_specs=cv.P("x"), out_specs=cv.P("x"))
    for fun in (values, mapped):
        program = cv.jit(fun).lower(x).compile()
        assert "all-gather" not in program.as_text()
        for found, one in zip(program(x), values(stack), strict=True):
            assert found.sharding.spec == cv.P("x")
            np.testing.assert_allclose(found, one, atol=1e-5)
