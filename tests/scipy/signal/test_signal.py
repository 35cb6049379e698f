"""``covector.scipy.signal``: names, derivatives, dtypes, edge cases and errors.

Samples of the functions are compared with SciPy and JAX in ``tests/public``.
"""

import inspect
import re

import jax.scipy.signal
import numpy as np
import pytest
import scipy.signal

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.scipy import signal
from covector.scipy.signal.convolution import next_fast_length
from covector.scipy.signal.segments import frames, overlap_add
from covector.scipy.signal.windows import weights

RNG = np.random.default_rng(0)
JAX = sorted(n for n in dir(jax.scipy.signal) if not n.startswith("_"))


@pytest.mark.parametrize("name", JAX)
def test_functions_take_the_arguments_that_they_take_in_jax(name):
    wanted = inspect.signature(getattr(jax.scipy.signal, name)).parameters
    assert [*inspect.signature(getattr(signal, name)).parameters] == [*wanted]


# -- convolution -----------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [((3000,), (400,)), ((60, 50), (15, 14))])
def test_long_signals_are_convolved_by_transforms_as_accurately_as_in_scipy(shapes):
    x, y = [RNG.standard_normal(s) for s in shapes]
    with cv.options.override(enable_x64=True):
        for mode in ("full", "same", "valid"):
            wanted = scipy.signal.convolve(x, y, mode, "direct")
            for method in ("auto", "fft"):
                found = cv.jit(signal.convolve, static_argnums=(2, 3))(
                    x, y, mode, method
                )
                np.testing.assert_allclose(found, wanted, 0, 1e-12 * abs(wanted).max())
    text = str(cv.make_jaxpr(signal.convolve)(x, y))
    assert "fft" in text and "conv_general" not in text


def test_integers_are_convolved_exactly():
    x = np.arange(1000)
    found = signal.convolve(x, np.ones(200, int))
    assert (np.asarray(found) == np.convolve(x, np.ones(200))).all()


def test_where_the_window_is_longer_than_the_signal_boundaries_repeat():
    x, y = RNG.standard_normal((2, 3)), RNG.standard_normal((5, 8))
    with cv.options.override(enable_x64=True):
        for boundary in ("wrap", "symm"):
            wanted = scipy.signal.convolve2d(x, y, "same", boundary)
            found = signal.convolve2d(x, y, "same", boundary)
            np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


def test_convolution_is_differentiated_in_both_operands():
    x, y = cnp.array(RNG.standard_normal(20)), cnp.array(RNG.standard_normal(5))
    for method in ("direct", "fft"):

        def energy(x, y, method=method):
            return (signal.convolve(x, y, method=method) ** 2).sum()

        dx, dy = cv.jit(cv.grad(energy, (0, 1)))(x, y)
        out = np.convolve(x, y)
        np.testing.assert_allclose(dx, 2 * np.correlate(out, y, "valid"), 1e-4, 1e-4)
        np.testing.assert_allclose(dy, 2 * np.correlate(out, x, "valid"), 1e-4, 1e-4)


def test_numbers_without_axes_are_multiplied():
    assert signal.convolve(2.0, 3.0) == signal.fftconvolve(2.0, 3.0) == 6.0


def test_fast_lengths_have_small_factors_only():
    assert [next_fast_length(n) for n in (1, 7, 11, 97, 1025)] == [1, 8, 12, 100, 1080]


# -- segments and spectra --------------------------------------------------------------


def test_segments_are_cut_and_added_up_again():
    x = cnp.arange(17.0)
    for length, step in ((4, 2), (5, 2), (3, 5), (4, 4), (6, 1)):
        cut = np.lib.stride_tricks.sliding_window_view(x, length)[::step]
        found = frames(x, length, step)
        assert (np.asarray(found) == cut).all()
        n = (len(cut) - 1) * step + length
        counts = overlap_add(cnp.ones(cut.shape), step)
        assert counts.shape == (n,)
        pull = cv.vjp(lambda x, n=length, s=step: frames(x, n, s), x)[1]
        (back,) = pull(cnp.ones_like(cut))
        assert (np.asarray(back[:n]) == np.asarray(counts)).all()
        assert not np.asarray(back[n:]).any()


def test_what_stft_takes_apart_istft_puts_together():
    x = RNG.standard_normal((2, 1000)).astype("float32")
    for window, noverlap in (("hann", None), ("hamming", 48), (("tukey", 0.25), 40)):

        def round_trip(x, how=(window, 64, noverlap)):
            return signal.istft(signal.stft(x, 1.0, *how)[2], 1.0, *how)[1]

        np.testing.assert_allclose(cv.jit(round_trip)(x)[:, :1000], x, 1e-4, 1e-5)
    gradient = cv.grad(lambda x: (round_trip(x)[:, :1000] ** 2).sum())(x)
    np.testing.assert_allclose(gradient, 2 * x, 1e-4, 1e-4)


def test_the_defaults_are_those_of_scipy():
    x = RNG.standard_normal(1000)
    with cv.options.override(enable_x64=True):
        calls = {"stft": {}, "welch": {}, "csd": {"y": x[::-1].copy()}}
        for name, how in calls.items():
            wanted = getattr(scipy.signal, name)(x, **how)
            found = getattr(signal, name)(x, **how)
            for mine, theirs in zip(found, wanted, strict=True):
                np.testing.assert_allclose(mine, theirs, 1e-10, 1e-12)


def test_no_signals_have_no_spectra():
    spectra = signal.stft(cnp.zeros((0, 20)), nperseg=8)[2]
    assert spectra.shape == (0, 5, 6)
    assert signal.istft(spectra)[1].shape == (0, 20)


def test_a_short_signal_is_one_segment():
    frequencies, density = signal.welch(cnp.arange(6.0))
    assert frequencies.shape == density.shape == (4,)


def test_windows_may_be_arrays_and_trends_functions():
    x, taper = cnp.arange(12.0), cnp.array([0.5, 1.0, 1.0, 0.5])

    def demeaned(parts):
        return parts - parts.mean(-1, keepdims=True)

    found = signal.welch(x, window=taper, detrend=demeaned)[1]
    wanted = scipy.signal.welch(np.arange(12.0), window=np.asarray(taper))[1]
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


def test_narrow_floats_are_transformed_in_32_bits():
    frequencies, times, spectra = signal.stft(cnp.ones(8, "float16"), nperseg=4)
    assert frequencies.dtype == times.dtype == "float32"
    assert spectra.dtype == "complex64"


@pytest.mark.parametrize(
    "window",
    [
        *["boxcar", "triang", "bartlett", "hann", "hamming", "blackman", "nuttall"],
        *["blackmanharris", "flattop", "cosine", "bohman", "parzen", "barthann"],
        *[
            "tukey",
            ("tukey", 0.3),
            ("tukey", 0),
            ("kaiser", 5.0),
            ("gaussian", 3.0),
            8.6,
        ],
        *[("general_gaussian", 1.5, 2.0), ("general_cosine", (0.4, 0.5, 0.1))],
        *[("general_hamming", 0.6), ("exponential", None, 3.0)],
    ],
)
def test_windows_are_those_of_scipy(window):
    for n in (1, 2, 3, 8, 9):
        for periodic in (True, False):
            wanted = scipy.signal.get_window(window, n, periodic)
            found = weights("get_window", window, n, periodic)
            np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


def test_constants_have_no_trend():
    x = cnp.full((3, 5), 7.0)
    assert not signal.detrend(x, bp=(1, 2)).any()
    assert signal.detrend(cnp.zeros((0, 4))).shape == (0, 4)


# -- errors ----------------------------------------------------------------------------

X = cnp.ones((4, 4))
VALUE, TYPE = ValueError, TypeError


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: signal.convolve(X, X, "no"), VALUE, "mode must be 'full', 'same'"),
        (lambda: signal.convolve(X, X, method="no"), VALUE, "method must be 'auto'"),
        (lambda: signal.convolve(X, X[0]), TYPE, "as many axes, and elements"),
        (lambda: signal.correlate(X[:0], X), TYPE, "but got f32[0,4], f32[4,4]"),
        (lambda: signal.convolve(X[:2], X[:, :3], "valid"), TYPE, "nowhere longer"),
        (lambda: signal.convolve2d(X[0], X[0]), TYPE, "needs two matrices, but got"),
        (lambda: signal.correlate2d(X, X, boundary="no"), VALUE, "'fill', 'wrap'"),
        (lambda: signal.fftconvolve(X[:2], X[:3], axes=1), TYPE, "other than (1,)"),
        (lambda: signal.detrend(X, type="no"), VALUE, "'linear' or 'constant'"),
        (lambda: signal.detrend(X, bp=5), VALUE, "break points from 0 to 4"),
        (lambda: signal.detrend(X, overwrite_data=True), VALUE, "never written to"),
        (lambda: signal.stft(X, boundary="no"), VALUE, "None or one of zeros"),
        (lambda: signal.stft(X, nperseg=0), VALUE, "nperseg of at least 1"),
        (lambda: signal.stft(X, nperseg=3, noverlap=3), VALUE, "noverlap below it"),
        (lambda: signal.stft(X, nperseg=3, nfft=2), VALUE, "but got 3, 1 and 2"),
        (lambda: signal.stft(X, 1.0, cnp.ones(9), 9, boundary=None, padded=False),
         VALUE, "one segment at least, 9 elements, but got"),
        (lambda: signal.welch(X, window="no"), VALUE, "knows no window 'no'"),
        (lambda: signal.welch(X, window=("hann", 1, 2)), VALUE, "does not take the"),
        (lambda: signal.welch(X, window=X), VALUE, "vector of weights, but got f32[4"),
        (lambda: signal.welch(X, window=X[0], nperseg=3), VALUE, "as many weights"),
        (lambda: signal.welch(X, scaling="no"), VALUE, "scaling must be 'density'"),
        (lambda: signal.csd(X, X[:3]), TYPE, "csd got incompatible shapes"),
        (lambda: signal.istft(X, time_axis=0, freq_axis=-2), VALUE, "both are 0"),
        (lambda: signal.get_window("hann", 0), VALUE, "1 weight at least, not 0"),
    ],
)  # fmt: skip
def test_errors_say_what_was_wanted_and_what_came(call, error, words):
    with pytest.raises(errors.CovectorError, match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, error)
