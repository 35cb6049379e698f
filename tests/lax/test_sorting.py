"""Sorting as users call it: ties, keys, beside jax, and what it says."""

import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector.core.convert import as_array
from covector.core.key_types import KeyType
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, DTypeKindError, TypeMismatch
from covector.lax import sorting as lax
from covector.operations.broadcasting import ReduceSum
from covector.operations.sorting import Sort
from covector.operations.top_k import TopK

rng = np.random.default_rng(0)
X = rng.permutation(12).reshape(3, 4).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint32", "bool", "bfloat16"])
@pytest.mark.parametrize("jitted", [False, True])
def test_equal_elements_keep_their_order(dtype, jitted):
    keys = covector.numpy.asarray(rng.integers(0, 3, 6000), dtype)
    indices = as_array(np.arange(6000, dtype=np.int32))
    sort = covector.jit(lax.sort_key_val) if jitted else lax.sort_key_val
    _, moved = sort(keys, indices)
    wanted = np.argsort(np.asarray(keys).astype("f"), kind="stable")
    np.testing.assert_array_equal(moved, wanted)


def test_zeros_keep_their_signs_and_order():
    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0, -1.0], np.float32)
    for sort in (lax.sort, covector.jit(lax.sort)):
        assert np.signbit(sort(as_array(x))).tolist() == [1, 0, 1, 1, 0, 0]


def test_subnormal_numbers_are_told_apart():
    x = np.array([3e-40, 1e-40, -2e-40, 2e-40], np.float32)
    got = covector.jit(lambda x: lax.sort_key_val(x, np.arange(4))[1])(as_array(x))
    assert got.tolist() == [2, 1, 3, 0]


def test_random_keys_move_with_what_they_are_sorted_by():
    keys = ArrayType((3,), KeyType("threefry2x32"))
    numbers = ArrayType((3,), "float32")
    assert Sort(0).type_rule(numbers, keys)[1] is keys


def test_top_k_has_no_more_than_it_was_asked_for():
    values, indices = lax.top_k(np.array([[1, 7, 7], [9, 2, 3]]), 2)
    assert values.tolist() == [[7, 7], [9, 3]]
    assert indices.tolist() == [[1, 2], [0, 2]]


def test_the_derivative_of_sort_puts_cotangents_back():
    weights = np.arange(4, dtype=np.float32)
    x = np.array([3.0, 1.0, 2.0, 0.0], np.float32)
    got = covector.grad(lambda x: ReduceSum((0,))(lax.sort(x) * weights))(as_array(x))
    assert got.tolist() == [3.0, 1.0, 2.0, 0.0]


# -- beside jax ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64"])
@pytest.mark.parametrize("num_keys", [1, 2])
@pytest.mark.parametrize("dimension", [0, -1])
def test_sort_is_that_of_jax(dtype, num_keys, dimension):
    jax = pytest.importorskip("jax")
    first = rng.integers(-2, 3, (40, 30)).astype(dtype)
    second = rng.standard_normal((40, 30)).astype(np.float32)
    third = np.arange(1200, dtype=np.int32).reshape(40, 30)
    operands = (first, second, third)
    wanted = jax.lax.sort(operands, dimension, num_keys=num_keys)
    got = lax.sort(operands, dimension, num_keys=num_keys)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
def test_top_k_is_that_of_jax(dtype):
    jax = pytest.importorskip("jax")
    x = rng.integers(0, 50, (30, 200)).astype(dtype)
    for g, w in zip(lax.top_k(x, 7), jax.lax.top_k(x, 7), strict=True):
        np.testing.assert_array_equal(g, w)


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: lax.sort(X, 2),
            TypeMismatch,
            r"sort along axis 2 of f32\[3,4\]: it must be an axis of the operand",
        ),
        (
            lambda: lax.sort((X, X[0])),
            TypeMismatch,
            r"sort needs operands of one shape, but got f32\[3,4\], f32\[4\]",
        ),
        (
            lambda: lax.sort((X, X), num_keys=3),
            TypeMismatch,
            r"sort by 3 keys needs at least one, and that many operands, but got "
            r"f32\[3,4\], f32\[3,4\]",
        ),
        (lambda: lax.sort(()), TypeMismatch, "sort needs at least one array"),
        (
            lambda: lax.top_k(X, 5),
            TypeMismatch,
            r"top_k of f32\[3,4\] along axis 1: there are no 5 largest of 4 elements",
        ),
        (
            lambda: lax.top_k(X, 2, axis=3),
            TypeMismatch,
            r"top_k along axis 3 of f32\[3,4\]: it must be an axis of the operand",
        ),
        (
            lambda: lax.top_k(X * 1j, 2),
            DTypeError,
            r"top_k needs real numbers or bools, but got c64\[3,4\]",
        ),
    ],
)
def test_what_cannot_be_sorted_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("op", [Sort(0), TopK(2, 0)])
def test_random_keys_have_no_order(op):
    with pytest.raises(DTypeError, match=rf"{op.name} needs .*, but got key<fry>\[4\]"):
        op.type_rule(ArrayType((4,), KeyType("threefry2x32")))


def test_the_least_elements_are_found_as_the_largest_are():
    x = cnp.array([[3.0, -1.0, cnp.inf, 2.0], [0.0, 5.0, 4.0, -cnp.inf]])
    values, indices = lax.approx_min_k(x, 2)
    assert values.tolist() == [[-1, 2], [-np.inf, 0]]
    assert indices.tolist() == [[1, 3], [3, 0]]
    values, _ = lax.approx_max_k(x, 1, reduction_dimension=0, recall_target=0.5)
    assert values.tolist() == [[3, 5, np.inf, 2]]
    with pytest.raises(
        DTypeKindError, match=r"floating-point numbers, but got i32\[2\]"
    ):
        lax.approx_max_k(cnp.arange(2), 1)
    with pytest.raises(ArgumentError, match="recall_target must be above 0"):
        lax.approx_min_k(x, 1, recall_target=0.0)
