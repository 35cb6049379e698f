"""Polynomials, and interpolation between points."""

import warnings

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import (
    ArgumentError,
    AxisError,
    ConcretizationTypeError,
    DTypeError,
)

P, Q = np.array([1.0, -3.0, 2.0, 5.0]), np.array([2.0, 1.0])


def close(got, wanted, tolerance=1e-5):
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(got), wanted, tolerance, tolerance)


@pytest.mark.parametrize("wrap", [lambda f: f, cv.jit])
@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.polyadd(P, Q),
        lambda xp: xp.polysub(Q, P),
        lambda xp: xp.polymul(P, Q),
        lambda xp: xp.polydiv(P, Q)[0],
        lambda xp: xp.polyval(P, np.array([0.0, 1.0, -2.0])),
        lambda xp: xp.polyval(P, 3.0),
        lambda xp: xp.polyder(P),
        lambda xp: xp.polyder(P, 2),
        lambda xp: xp.polyder(P, 0),
        lambda xp: xp.polyint(P),
        lambda xp: xp.polyint(P, 2, k=np.array([1.0, 2.0])),
        lambda xp: xp.polyint(P, 2, k=3),
        lambda xp: xp.vander(Q, 3),
    ],
)
def test_polynomials_are_numpys(call, wrap):
    close(wrap(lambda: call(cnp))(), call(np))


def test_quotient_and_rest_make_the_dividend():
    quotient, rest = cnp.polydiv(cnp.asarray(P), Q)
    close(cnp.polyadd(cnp.polymul(quotient, Q), rest), P)
    quotient, rest = cnp.polydiv(Q, P)
    assert (quotient.tolist(), rest.tolist()) == ([0], [2, 1])
    _, rest = cnp.polydiv(
        np.array([1, 5, 6]), np.array([1, 2]), trim_leading_zeros=True
    )
    assert rest.tolist() == []
    product = cnp.polymul(
        np.array([0, 1, 2]), np.array([0, 1]), trim_leading_zeros=True
    )
    assert product.tolist() == [1, 2]


def test_a_polynomial_is_evaluated_for_several_coefficients():
    p = np.arange(6.0).reshape(3, 2)
    close(cnp.polyval(p, 2.0), [np.polyval(c, 2.0) for c in p.T])
    assert cnp.polyval(np.array([1, 2]), 3).dtype == np.int32
    slope = cv.grad(lambda x: cnp.polyval(P, x))(2.0)
    assert float(slope) == np.polyval(np.polyder(P), 2.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.polyadd(np.ones((2, 2)), Q),
            ValueError,
            "as a vector, the highest",
        ),
        (lambda: cnp.polyval(1.0, 2.0), ValueError, "needs coefficients along an axis"),
        (lambda: cnp.polydiv(P, np.ones(0)), ArgumentError, "without coefficients"),
        (lambda: cnp.polyder(P, -1), ArgumentError, "the order m must not be negative"),
        (lambda: cnp.polyint(P, 2, k=np.ones(3)), ArgumentError, "needs 2 constants"),
        (
            lambda: cv.jit(lambda p: cnp.polymul(p, p, trim_leading_zeros=True))(P),
            ConcretizationTypeError,
            "polymul leaves out leading zeros, and so needs known coefficients",
        ),
    ],
)
def test_words_of_polynomials(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


# -- interpolation ---------------------------------------------------------------------

RANDOM = np.random.RandomState(0)
XP, FP = np.sort(RANDOM.rand(6)).astype("f"), RANDOM.randn(6).astype("f")
X = np.linspace(-0.5, 1.5, 21).astype("f")


@pytest.mark.parametrize(
    "options",
    [{}, {"left": 7.0}, {"right": -3}, {"left": 1, "right": 2}, {"period": 0.7}],
)
def test_lines_between_points_are_numpys(options):
    wanted = np.interp(X, XP, FP, **options)
    close(cnp.interp(X, XP, FP, **options), wanted, 1e-4)
    close(
        cv.jit(lambda x, xp, fp: cnp.interp(x, xp, fp, **options))(X, XP, FP),
        wanted,
        1e-4,
    )
    assert cnp.interp(X.reshape(3, 7), XP, FP, **options).shape == (3, 7)


def test_lines_go_on_where_they_are_extrapolated():
    ends = {"left": "extrapolate", "right": "extrapolate"}
    got = cnp.interp(
        np.array([-1.0, 3.0]), np.array([0.0, 1.0]), np.array([1.0, 3.0]), **ends
    )
    assert got.tolist() == [-1, 7]


def test_points_in_one_place_make_a_jump():
    xp, fp = np.array([0, 1, 1, 2.0]), np.array([0, 1, 5, 6.0])
    got = cnp.interp(np.array([0.5, 1, 1.5]), xp, fp)
    assert got.tolist() == np.interp([0.5, 1, 1.5], xp, fp).tolist()
    assert float(cnp.interp(3.0, np.array([1.0]), np.array([5.0]))) == 5
    assert complex(cnp.interp(0.5, np.arange(2), np.array([0, 2j]))) == 1j


def test_the_slope_of_a_line_is_its_derivative():
    slope = cv.grad(cnp.interp)(0.5, cnp.array([0.0, 2.0]), cnp.array([0.0, 6.0]))
    assert float(slope) == 3


@pytest.mark.parametrize("period", [7, 8, 2 * np.pi])
def test_angles_are_unwrapped_as_in_numpy(period):
    whole = isinstance(period, int)
    angles = RANDOM.randint(0, 20, 50) if whole else (RANDOM.randn(50) * 5).astype("f")
    close(cnp.unwrap(angles, period=period), np.unwrap(angles, period=period), 1e-4)
    grid = angles.reshape(5, 10)
    options = {"axis": 0, "period": period, "discont": period / 2 + 1}
    close(cnp.unwrap(grid, **options), np.unwrap(grid, **options), 1e-4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: cnp.interp(X, XP, FP[1:]), ValueError, "two vectors of one length"),
        (
            lambda: cnp.interp(X, XP, FP, left="x"),
            ArgumentError,
            "left must be a number or",
        ),
        (
            lambda: cnp.interp(X * 1j, XP, FP),
            DTypeError,
            "interp needs real coordinates",
        ),
        (lambda: cnp.unwrap(1.0), ValueError, "unwrap needs an axis to go along"),
        (lambda: cnp.unwrap(X * 1j), DTypeError, "unwrap needs real angles"),
    ],
)
def test_words_of_interpolation(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


# -- zeros and fits --------------------------------------------------------------------


def test_zeros_of_a_polynomial_make_it_again():
    values = np.array([0.5, -2.0, 3.0])
    found = np.sort(np.asarray(cnp.roots(cnp.poly(values))).real)
    np.testing.assert_allclose(found, np.sort(values), 1e-5)
    close(
        cnp.poly(cnp.array([[1.0, 2.0], [3.0, 4.0]])), np.poly([[1.0, 2.0], [3.0, 4.0]])
    )
    assert cnp.poly(cnp.array([[1.0, 2.0], [-2.0, 1.0]])).dtype == cnp.float32
    assert cnp.poly(cnp.zeros(0)).tolist() == [1]


def test_zeros_at_the_ends_of_coefficients_are_left_out_or_nan():
    p = cnp.array([0.0, 0.0, 2.0, -6.0, 4.0, 0.0])
    assert np.allclose(np.sort(cnp.roots(p).real), [0, 1, 2], atol=1e-6)
    found = np.asarray(cv.jit(lambda p: cnp.roots(p, strip_zeros=False))(p))
    assert np.isnan(found[3:].real).all()
    assert np.allclose(np.sort(found[:3].real), [0, 1, 2], atol=1e-6)
    assert cnp.roots(cnp.zeros(3)).shape == cnp.roots(cnp.ones(1)).shape == (0,)
    assert np.isnan(cnp.roots(cnp.zeros(2), strip_zeros=False)).all()


def test_derivatives_of_a_zero_are_those_of_the_implicit_function():
    def largest(p):
        return cnp.max(cnp.roots(p, strip_zeros=False).real)

    # of x² − 3x + 2 at 2: dx = −(2² dp₀ + 2 dp₁ + dp₂) / (2·2 − 3)
    close(cv.grad(largest)(cnp.array([1.0, -3.0, 2.0])), [-4, -2, -1])


@pytest.mark.parametrize("wrap", [lambda f: f, cv.jit])
def test_fits_and_their_covariances_are_those_of_numpy(wrap):
    x = np.linspace(-1, 2, 7)
    y, w = np.stack([np.sin(3 * x), x**2], 1), np.linspace(1, 2, 7)
    for values, named in [
        (y, {}), (y, {"w": w}), (y[:, 0], {"cov": True}), (y, {"cov": True, "w": w}),
        (y[:, 1], {"cov": "unscaled"}), (y[:, 0], {"rcond": 0.3}),
    ]:  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            wanted = np.polyfit(x, values, 2, **named)
        found = wrap(lambda x, y, n=named: cnp.polyfit(x, y, 2, **n))(x, values)
        pairs = zip(found, wanted, strict=True) if "cov" in named else [(found, wanted)]
        for mine, theirs in pairs:
            close(mine, theirs, 1e-4)


def test_a_full_fit_says_how_well_it_fits():
    x, y = np.arange(5.0), np.array([0.0, 1.0, 0.0, 2.0, 1.0])
    found, wanted = cnp.polyfit(x, y, 1, full=True), np.polyfit(x, y, 1, full=True)
    for mine, theirs in zip(found[:4], wanted[:4], strict=True):
        close(mine, theirs)
    assert float(found[4]) == pytest.approx(5 * np.finfo("float32").eps)


def test_a_fit_to_points_of_one_abscissa_is_their_mean():
    close(cnp.polyfit(np.zeros(3), np.array([1.0, 2.0, 6.0]), 1), [0, 3])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: cnp.poly(cnp.ones((2, 3))), ValueError, r"got f32\[2,3\]"),
        (lambda: cnp.roots(cnp.ones((2, 3))), AxisError, r"as a vector.*f32\[2,3\]"),
        (lambda: cv.jit(cnp.roots)(P), ConcretizationTypeError, "roots leaves out"),
        (lambda: cnp.polyfit(P, Q, 1), TypeError, r"f32\[4\] and f32\[2\]"),
        (lambda: cnp.polyfit(P, P, -1), ArgumentError, "degree must not be negative"),
        (lambda: cnp.polyfit(Q, Q, 1, cov=True), ArgumentError, "at least 3 points"),
        (
            lambda: cnp.polyfit(P, P, 1, w=Q),
            TypeError,
            r"a weight for each .* f32\[2\]",
        ),
    ],
)
def test_words_of_zeros_and_fits(call, error, words):
    with pytest.raises(error, match=words):
        call()
