"""``covector.numpy.fft``: names, lengths of any kind, derivatives and errors.

What the functions give is compared with NumPy and JAX in ``tests/public``.
"""

import inspect
import re

import jax.numpy as jnp
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.operations.fft import FFT, FftType

fft = cnp.fft
RNG = np.random.default_rng(0)


def test_the_namespace_has_every_name_of_jax_and_numpy():
    public = {n for n in dir(jnp.fft) if not n.startswith("_")}
    assert public | {*np.fft.__all__} <= {*fft.__all__}


@pytest.mark.parametrize("name", [n for n in dir(jnp.fft) if not n.startswith("_")])
def test_functions_take_the_arguments_that_they_take_in_jax(name):
    wanted = inspect.signature(getattr(jnp.fft, name)).parameters
    assert [*inspect.signature(getattr(fft, name)).parameters] == [*wanted]


@pytest.mark.parametrize("n", [1, 2, 97, 1000, 4099])
def test_transforms_of_any_length_are_accurate(n):
    x = RNG.standard_normal((2, n))
    z = x + 1j * RNG.standard_normal((2, n))
    for bits, error in ((32, 1e-6), (64, 2e-15)):
        with cv.options.override(enable_x64=bits == 64):
            real, complex_ = f"float{bits}", f"complex{2 * bits}"
            for name, signal in {"fft": z, "ifft": z, "rfft": x}.items():
                wanted = getattr(np.fft, name)(signal)
                a = cnp.asarray(signal.astype(complex_ if signal is z else real))
                for found in (getattr(fft, name)(a), cv.jit(getattr(fft, name))(a)):
                    assert found.dtype == complex_
                    scale = np.abs(wanted).max()
                    assert np.abs(found - wanted).max() < error * scale
            back = cv.jit(lambda x, n=n: fft.irfft(fft.rfft(x), n))(x.astype(real))
            np.testing.assert_allclose(back, x, 0, 10 * error)


def test_more_than_three_axes_are_transformed_at_once():
    x = RNG.standard_normal((2, 3, 2, 4, 3))
    with cv.options.override(enable_x64=True):
        for name in ("fftn", "ifftn", "rfftn"):
            wanted = getattr(np.fft, name)(x)
            np.testing.assert_allclose(getattr(fft, name)(x), wanted, 1e-12, 1e-12)
        back = fft.irfftn(fft.rfftn(x), x.shape, range(5))
        np.testing.assert_allclose(back, x, 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool", "float32"])
def test_narrow_numbers_are_transformed_in_32_bits(dtype):
    x = cnp.ones(4, dtype)
    assert fft.fft(x).dtype == fft.rfft(x).dtype == fft.ihfft(x).dtype == "complex64"
    assert fft.irfft(x).dtype == fft.hfft(x).dtype == "float32"
    assert not fft.fft(x).weak_type


def test_a_length_of_minus_one_is_that_of_the_signal():
    x = RNG.standard_normal((3, 4)).astype("float32")
    np.testing.assert_array_equal(fft.fft2(x, (5, -1)), fft.fft2(x, (5, 4)))


def test_no_axes_are_no_transform():
    x = cnp.array([1.0, 2.0])
    assert fft.fftn(x, axes=()).tolist() == [1, 2]
    assert fft.ifftn(cnp.float32(3.0)).dtype == "complex64"


def test_signals_without_elements_in_front_have_such_transforms():
    x = cnp.zeros((0, 4))
    for transform in (fft.rfft, cv.jit(fft.rfft)):
        assert transform(x).type == cnp.zeros((0, 3), "complex64").type
    assert cv.vmap(fft.fft)(x).shape == (0, 4)


def test_the_imaginary_parts_that_no_real_signal_has_are_not_read():
    z = np.array([1 + 5j, 2 + 1j, 3 + 7j], "complex64")
    wanted = np.fft.irfft(z)
    np.testing.assert_allclose(fft.irfft(z), wanted, 1e-6)
    np.testing.assert_allclose(cv.jit(fft.irfft)(z), wanted, 1e-6)
    gradient = cv.grad(lambda z: (fft.irfft(z) ** 2).sum())(z)
    assert gradient[0].imag == gradient[2].imag == 0


def test_frequencies_are_differentiated_in_the_distance_of_samples():
    slope = cv.grad(lambda d: fft.rfftfreq(4, d)[1])(0.5)
    assert slope == -1.0
    assert fft.fftfreq(3, dtype="float16").dtype == "float16"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: fft.fft(x, 0), errors.ArgumentError, "but its length would be 0"),
        (lambda x: fft.irfft(x[:, :1]), errors.ArgumentError, "of c64[2,1], but"),
        (lambda x: fft.fft(x, norm="no"), errors.ArgumentError, "fft: norm must be"),
        (lambda x: fft.hfft(x, norm=1), errors.ArgumentError, "hfft: norm must be"),
        (lambda x: fft.fft(x, axis=2), errors.AxisError, "axis 2 is out of bounds"),
        (lambda x: fft.fft2(x[0]), errors.AxisError, "axes -2 is out of bounds"),
        (lambda x: fft.fftn(x, axes=(0, -2)), errors.AxisError, "more than once"),
        (lambda x: fft.fftn(x, (1, 2), (0,)), errors.ArgumentError, "got s=(1, 2)"),
        (lambda x: fft.rfftn(x, axes=()), errors.ArgumentError, "one axis at least"),
        (
            lambda x: fft.rfft(x + 1j),
            errors.DTypeError,
            "real numbers, but got c64[2,3]",
        ),
        (lambda x: fft.ihfft(x + 1j), errors.DTypeError, "or take x.real"),
        (lambda x: fft.fftfreq(0), errors.ArgumentError, "n of at least 1, but got 0"),
        (lambda x: fft.fftfreq(2.5), errors.ArgumentError, "n must be an integer"),
        (lambda x: fft.rfftfreq(2, dtype=int), errors.ArgumentError, "cannot be i"),
        (lambda x: fft.fftshift(x, 2), errors.AxisError, "fftshift: axes 2 is out"),
        (
            lambda x: lax.fft(x, "DCT", 3),
            errors.ArgumentError,
            "FFT, IFFT, RFFT, IRFFT",
        ),
        (lambda x: lax.fft(x, "FFT", 3), errors.DTypeError, "complex64 or complex128"),
        (
            lambda x: lax.fft(x, "RFFT", 4),
            errors.TypeMismatch,
            "needs (4,) as the last",
        ),
        (lambda x: lax.fft(x, "RFFT", ()), errors.TypeMismatch, "one, two or three"),
    ],
)
def test_errors_say_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(cnp.ones((2, 3)))


def test_transforms_of_sharded_signals_are_those_of_the_whole():
    mesh = cv.make_mesh((2,), ("x",))
    x = RNG.standard_normal((4, 6)).astype("float32")
    shards = cv.device_put(x, cv.NamedSharding(mesh, cv.P("x")))
    found = cv.jit(fft.rfft)(shards)
    assert found.sharding.spec == cv.P("x")
    np.testing.assert_allclose(found, np.fft.rfft(x), 1e-5, 1e-5)

    halves = cv.device_put(x[:, :2], cv.NamedSharding(mesh, cv.P(None, "x")))
    found = cv.jit(fft.irfft)(halves)  # XLA would abort
    np.testing.assert_allclose(found, np.fft.irfft(x[:, :2]), 1e-5, 1e-5)

    def loss(x):
        return (abs(fft.irfft(fft.rfft(x) ** 2, 6)) ** 2).sum()

    each = cv.shard_map(
        cv.grad(loss), mesh=mesh, in_specs=cv.P("x"), out_specs=cv.P("x")
    )
    np.testing.assert_allclose(cv.jit(each)(x), cv.grad(loss)(x), 1e-3, 1e-3)


def test_an_operation_shows_its_transform_and_lengths():
    assert repr(FFT(FftType.RFFT, (4,))) == "FFT(RFFT, (4,))"
