"""``covector.scipy.fft``: cosine transforms of every type, length and norm.

Samples of the functions are compared with SciPy in ``tests/public``, all dtypes there.
"""

import itertools
import re

import jax.scipy.fft
import numpy as np
import pytest
import scipy.fft

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy import fft

TYPES, NORMS = (1, 2, 3, 4), (None, "ortho", "forward")


def test_the_namespace_has_every_name_of_jax_and_those_of_numpy():
    public = {n for n in dir(jax.scipy.fft) if not n.startswith("_")}
    assert public | {*cnp.fft.__all__} <= {*fft.__all__}
    assert fft.rfft is cnp.fft.rfft


@pytest.mark.parametrize("n", [2, 7, 64, 1001])
def test_cosine_transforms_are_those_of_scipy_to_rounding(n):
    x = np.random.default_rng(n).standard_normal((2, n))
    with cv.options.override(enable_x64=True):
        for type_, norm in itertools.product(TYPES, NORMS):
            for name in ("dct", "idct"):
                wanted = getattr(scipy.fft, name)(x, type_, norm=norm)
                found = getattr(fft, name)(x, type_, norm=norm)
                scale = abs(wanted).max()
                np.testing.assert_allclose(found, wanted, 0, 1e-14 * scale)


def test_orthogonal_transforms_keep_lengths_and_are_undone():
    x = np.random.default_rng(0).standard_normal((3, 6)).astype("float32")
    for type_ in TYPES:
        y = fft.dctn(x, type_, norm="ortho")
        np.testing.assert_allclose(cnp.linalg.norm(y), np.linalg.norm(x), 1e-6)
        np.testing.assert_allclose(fft.idctn(y, type_, norm="ortho"), x, 1e-5, 1e-6)


def test_the_derivative_of_a_cosine_transform_is_its_matrix():
    matrix = cv.jacrev(cv.jit(fft.dct))(cnp.ones(5))
    np.testing.assert_allclose(matrix, scipy.fft.dct(np.eye(5), axis=0), 1e-5, 1e-6)
    np.testing.assert_allclose(cv.jacfwd(fft.dct)(cnp.ones(5)), matrix, 1e-5, 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "int32", "float32"])
def test_narrow_numbers_are_transformed_in_32_bits(dtype):
    assert fft.dct(cnp.ones(4, dtype)).dtype == "float32"
    assert fft.idct(cnp.ones(4, dtype) * 1j).dtype == "complex64"


def test_signals_without_elements_in_front_have_such_transforms():
    assert fft.dct(cnp.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: fft.dct(x, 5), errors.ArgumentError, "1, 2, 3 or 4, but got 5"),
        (lambda x: fft.dct(x, norm="l2"), errors.ArgumentError, "dct: norm must be"),
        (lambda x: fft.idct(x, n=0), errors.ArgumentError, "its length would be 0"),
        (lambda x: fft.dct(x, n=-1), errors.ArgumentError, "its length would be 0"),
        (lambda x: fft.dctn(x, 1), errors.ArgumentError, "two elements at least, but"),
        (lambda x: fft.idctn(x, s=(1, 2, 3)), errors.AxisError, "axes -3 is out of"),
        (
            lambda x: fft.dct(x, axis=2),
            errors.AxisError,
            "dct: axis 2 is out of bounds",
        ),
    ],
)
def test_errors_say_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(cnp.ones((1, 3)))
