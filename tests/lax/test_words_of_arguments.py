"""Arguments that mean nothing are errors in words; none gives a number silently."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import CovectorError

IMAGE = np.ones((1, 2, 4), np.float32)
KERNEL = np.ones((1, 2, 2), np.float32)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def convolved(strides=(1,), **options):
    return lax.conv_general_dilated(IMAGE, KERNEL, strides, "SAME", **options)


WORDS = {
    "a stride of 1.5": (lambda: convolved((1.5,)), "window_strides must be integers"),
    "no strides": (
        lambda: convolved(None),
        "window_strides must be integers, but got N",
    ),
    "1.5 groups": (
        lambda: convolved(feature_group_count=1.5),
        "feature_group_count must be an integer",
    ),
    "a dilation of 1.5": (
        lambda: convolved(rhs_dilation=(1.5,)),
        "rhs_dilation must be integers, but got 1.5",
    ),
    "half a zero for padding": (
        lambda: lax.conv_general_dilated(IMAGE, KERNEL, (1,), [(1.5, 1)]),
        "needs padding as a string or as a pair",
    ),
    "patches with a negative stride": (
        lambda: lax.conv_general_dilated_patches(IMAGE, (1,), (-9,), "SAME"),
        r"patches: window_strides must be positive, but is \(-9,\)",
    ),
    "patches with a precision that is none": (
        lambda: lax.conv_general_dilated_patches(
            IMAGE, (1,), (1,), "SAME", precision="nonsense"
        ),
        "nonsense",
    ),
    "mulhi of two dtypes": (
        lambda: lax.mulhi(np.uint8(3), np.int32(70)),
        r"integers of one dtype, but got u8\[\] and i32\[\]",
    ),
    "index_take with indices of two shapes": (
        lambda: lax.index_take(X, (np.array([0, 1]), np.array([0])), (0, 1)),
        "integer indices of one shape",
    ),
    "index_take with floats": (
        lambda: lax.index_take(X, (np.array([0.5]),), (0,)),
        "integer indices of one shape",
    ),
    "cumsum along 'x'": (lambda: lax.cumsum(X, "x"), "axis must be an integer"),
    "argmax along 'x'": (
        lambda: lax.argmax(X, "x", "int32"),
        "axis must be an integer",
    ),
    "sort along 'x'": (lambda: lax.sort(X, dimension="x"), "dimension must be an int"),
    "transpose by 'x'": (lambda: lax.transpose(X, ("x", 0)), "transpose"),
    "rounding by no method": (
        lambda: lax.round(1.5, "nonsense"),
        "rounding_method must be one of .*, but got 'nonsense'",
    ),
    "top 1.5": (lambda: lax.top_k(X, 1.5), "k must be an integer"),
    "iota of 1.5": (lambda: lax.iota("int32", 1.5), "size must be an integer"),
    "a slice of 1.5": (
        lambda: lax.dynamic_slice_in_dim(X, 0, 1.5),
        "slice_size must be an integer",
    ),
    "one_hot of -1 classes": (
        lambda: cv.nn.one_hot(cnp.arange(2), -1),
        "num_classes must not be negative",
    ),
    "one_hot with an axis that is not there": (
        lambda: cv.nn.one_hot(cnp.arange(2), 3, axis=99),
        "axis 99 is out of bounds",
    ),
    "attention by nobody": (
        lambda: cv.nn.dot_product_attention(
            *[np.ones((2, 1, 3))] * 3, implementation="nonsense"
        ),
        "implementation must be None, 'xla' or 'cudnn'",
    ),
    "1.5 segments": (
        lambda: cv.ops.segment_sum(X, np.array([0, 1]), 1.5),
        "num_segments must be an integer",
    ),
    "-1 segments": (
        lambda: cv.ops.segment_sum(X, np.array([0, 1]), -1),
        "num_segments must not be negative, but is -1",
    ),
}


@pytest.mark.parametrize("call", WORDS)
def test_words_of_arguments(call):
    run, words = WORDS[call]
    with pytest.raises(CovectorError, match=words):
        run()
