"""Cumulative operations as users call them, and the network that they also are."""

import numpy as np
import pytest

import covector
from covector.core.convert import as_array
from covector.core.key_types import KeyType
from covector.core.types import ArrayType
from covector.errors import DTypeError, TypeMismatch
from covector.lax import cumulative as lax
from covector.operations.cumulative import (
    Cumlogsumexp,
    Cummax,
    Cummin,
    Cumprod,
    Cumsum,
)
from covector.operations.tree_reduce import primal_only

NAMES = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
every_name = pytest.mark.parametrize("name", NAMES)


@pytest.mark.parametrize("op", [Cumsum, Cumprod, Cummax, Cummin, Cumlogsumexp])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_network_of_other_platforms_has_the_same_values(op, n, reverse):
    x = as_array(np.random.default_rng(n).uniform(0.5, 1.5, (2, n)).astype("f"))
    made = op(1, reverse)
    out, _ = made.by_tree(primal_only(made.combine), x)
    np.testing.assert_allclose(out, made(x), rtol=1e-5)


def test_a_sum_that_overflows_does_so_from_there_on():
    x = np.array([1.0, np.inf, 2.0, -np.inf, 3.0], np.float32)
    assert str(lax.cumsum(x)) == "[ 1. inf inf nan nan]"


def test_sums_in_sixteen_bits_do_not_stall():
    ones = np.ones(5000, np.float16)
    assert np.asarray(lax.cumsum(ones))[-1] == 5000.0
    assert np.asarray(covector.jit(lax.cumsum)(as_array(ones)))[-1] == 5000.0


@every_name
def test_an_axis_that_is_not_there_is_named(name):
    with pytest.raises(
        TypeMismatch, match=rf"{name} along axis 1 of f32\[3\]: it must"
    ):
        getattr(lax, name)(np.zeros(3, "f"), 1)


@every_name
def test_truth_values_cannot_be_accumulated(name):
    with pytest.raises(DTypeError, match=rf"{name} needs .*numbers, but got bool\[2\]"):
        getattr(lax, name)(np.array([True, False]))


@pytest.mark.parametrize("op", [Cumsum(0), Cummax(0)])
def test_random_keys_cannot_be_accumulated(op):
    with pytest.raises(DTypeError, match=rf"{op.name} needs numbers, but got key<fry>"):
        op.type_rule(ArrayType((4,), KeyType("threefry2x32")))


# -- beside jax ------------------------------------------------------------------------


@every_name
@pytest.mark.parametrize("reverse", [False, True])
def test_ties_share_the_derivative_as_in_jax(name, reverse):
    jax = pytest.importorskip("jax")
    x = np.array([1.0, 1.0, 2.0, 2.0, 0.5, 2.0, 2.0, 2.0, 3.0], np.float32)
    weights = np.arange(1, 10, dtype=np.float32)

    def loss(of):
        return lambda x: (of(x, reverse=reverse) * weights).sum()

    wanted = jax.grad(loss(getattr(jax.lax, name)))(x)
    got = covector.grad(
        lambda x: covector.numpy.sum(getattr(lax, name)(x, reverse=reverse) * weights)
    )(as_array(x))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
