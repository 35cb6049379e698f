"""``ravel_pytree``: a tree of arrays as one vector, and back."""

import numpy as np
import pytest

import covector.numpy as cnp
from covector import errors
from covector.flatten_util import ravel_pytree

MIXED = {"a": cnp.ones(2), "b": cnp.arange(2)}


def test_a_tree_comes_back_from_its_vector():
    vector, back = ravel_pytree(MIXED)
    assert (vector.dtype, vector.tolist()) == (np.float32, [1, 1, 0, 1])
    again = back(vector)
    assert again["b"].dtype == np.int32
    np.testing.assert_array_equal(again["b"], MIXED["b"])


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "complex64"])
def test_a_tree_of_one_dtype_takes_that_of_the_vector_it_comes_back_from(dtype):
    vector, back = ravel_pytree([cnp.ones(2), cnp.zeros((1, 2))])
    assert {str(x.dtype) for x in back(vector.astype(dtype))} == {dtype}


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "complex64"])
def test_a_tree_of_several_dtypes_comes_back_from_its_own_dtype_only(dtype):
    vector, back = ravel_pytree(MIXED)
    with pytest.raises(errors.TypeMismatch, match=r"like the one it gave, f32\[4\]"):
        back(vector.astype(dtype))


@pytest.mark.parametrize("length", [3, 5])
def test_a_vector_of_another_length_is_refused_and_not_cut_off(length):
    _, back = ravel_pytree(cnp.ones((2, 2)))
    with pytest.raises(errors.TypeMismatch, match=rf"but got f32\[{length}\]"):
        back(cnp.ones(length))


def test_a_tree_without_arrays_is_an_empty_vector():
    vector, back = ravel_pytree({"a": None})
    assert (vector.shape, back(vector)) == ((0,), {"a": None})
