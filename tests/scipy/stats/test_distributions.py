"""Distributions and statistics: tails, edges of supports, arguments that are none."""

import numpy as np
import pytest
from scipy import stats as theirs

import covector as cv
import covector.numpy as cnp
from covector import errors, options, random
from covector.scipy import stats as ours

#: a distribution, and parameters for it
CONTINUOUS = [
    ("norm", ()), ("uniform", ()), ("expon", ()), ("laplace", ()), ("logistic", ()),
    ("cauchy", ()), ("pareto", (1.5,)), ("gumbel_r", ()), ("gumbel_l", ()),
    ("gamma", (0.3,)), ("gamma", (1.0,)), ("gamma", (300.0,)), ("chi2", (1.0,)),
    ("chi2", (30.0,)), ("beta", (0.5, 0.5)), ("beta", (1.0, 1.0)), ("beta", (2.0, 5.0)),
    ("t", (1.0,)), ("t", (3.5,)), ("gennorm", (0.7,)), ("gennorm", (8.0,)),
    ("vonmises", (50.0,)), ("wrapcauchy", (0.95,)), ("truncnorm", (-1.0, 2.0)),
    ("truncnorm", (-9.0, -5.0)), ("truncnorm", (25.0, 30.0)),
]  # fmt: skip
DISCRETE = [
    ("bernoulli", (0.3,)), ("bernoulli", (1.0,)), ("geom", (0.3,)), ("geom", (1.0,)),
    ("binom", (10, 0.3)), ("binom", (10, 0.0)), ("nbinom", (2.5, 0.9)),
    ("betabinom", (10, 2.0, 3.0)), ("poisson", (0.5,)), ("poisson", (0.0,)),
]  # fmt: skip
NUMBERS = np.array([-40, -9, -8.5, -3, -1, -0.3, 0, 0.05, 0.25, 0.5, 0.9, 1, 2, 3, 6,
                    10, 25.5, 28, 100, 1e5, np.nan])  # fmt: skip
COUNTS = np.array([-2.0, -1, 0, 1, 2, 3, 7, 10, 11, 60, 0.5, np.nan])
PARTS = np.array([-0.1, 0, 1e-9, 0.2, 0.5, 0.9, 1 - 1e-9, 1, 1.1, np.nan])


def methods(name):
    return [m for m in getattr(ours, name).__all__ if m not in ("entropy",)]


def points(method, counted):
    if method in ("ppf", "isf"):
        return PARTS
    return COUNTS if counted else NUMBERS


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS + DISCRETE)
def test_values_are_those_of_scipy_also_at_edges_and_in_tails(name, parameters):
    with cv.enable_x64(True), np.errstate(all="ignore"):
        for method in methods(name):
            x = points(method, (name, parameters) in DISCRETE)
            found = getattr(getattr(ours, name), method)(x, *parameters)
            wanted = getattr(getattr(theirs, name), method)(x, *parameters)
            # Some logarithms of SciPy are those of a probability that underflows.
            wanted = np.where(np.isinf(wanted) & np.isfinite(found), found, wanted)
            least = 1e-12 if "log" in method else 1e-300
            np.testing.assert_allclose(found, wanted, 3e-12, least, err_msg=method)


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS)
def test_slopes_of_densities_are_numbers_and_zero_outside_of_the_support(
    name, parameters
):
    with cv.enable_x64(True), np.errstate(all="ignore"):
        module = getattr(ours, name)
        x = NUMBERS[:-1]
        parts = [cnp.full(x.shape, float(p)) for p in parameters]
        for method in ("logpdf", "pdf"):
            found, pull = cv.vjp(getattr(module, method), cnp.array(x), *parts)
            slopes = np.asarray(pull(cnp.ones(x.shape))[0])
            value = np.asarray(found)
            known = np.isfinite(value)
            assert np.isfinite(slopes[known]).all(), method
            below = (value == -np.inf) if method == "logpdf" else (value == 0)
            assert (slopes[below & (np.abs(x) > 1)] == 0).all(), method


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda: ours.norm.logsf(40.0), -804.6084420137538),
        (lambda: ours.gamma.logsf(800.0, 1.0), -800.0),
        (lambda: ours.gamma.logsf(2000.0, 10.0), -1944.3891974582),
        (lambda: ours.gamma.logcdf(1.0, 300.0), -1415.9025221858),
        (lambda: ours.chi2.logsf(4000.0, 20.0), -1944.3891974582),
        (lambda: ours.beta.logcdf(1e-3, 150.0, 3.0), -1026.8172729),
        (lambda: ours.beta.logsf(1 - 2.0**-10, 3.0, 150.0), -1030.3746987948),
        (lambda: ours.gumbel_r.logsf(900.0), -900.0),
        (lambda: ours.truncnorm.logcdf(45.0, 40.0, 50.0), -2.4e-93),
        (lambda: ours.truncnorm.logsf(45.0, 40.0, 50.0), -212.6176522282),
        (lambda: ours.cauchy.logpdf(1e200), -2 * 200 * np.log(10) - np.log(np.pi)),
        (lambda: ours.cauchy.ppf(1e-12), -1e12 / np.pi),
        (lambda: ours.t.logpdf(1e200, 2.0), -3 * 200 * np.log(10)),
    ],
)  # fmt: skip
def test_logarithms_of_probabilities_that_underflow(found, wanted):
    with cv.enable_x64(True):
        assert float(found()) == pytest.approx(wanted, rel=1e-6, abs=1e-90)


def test_large_parameters_do_not_cancel_in_single_precision():
    for name, x, parameters in [
        ("gamma", 1e6, (1e6,)), ("poisson", 10000.0, (10100.0,)),
        ("binom", 5000.0, (10000.0, 0.5)), ("beta", 0.5, (1e5, 1e5)),
        ("t", 1.0, (1e6,)), ("nbinom", 4000.0, (1000.0, 0.25)),
    ]:  # fmt: skip
        method = "logpmf" if name in ("poisson", "binom", "nbinom") else "logpdf"
        found = getattr(getattr(ours, name), method)(np.float32(x), *parameters)
        wanted = getattr(getattr(theirs, name), method)(x, *parameters)
        assert float(found) == pytest.approx(wanted, rel=3e-6), name


def test_what_is_no_parameter_gives_nan():
    for value in [
        ours.norm.logpdf(1.0, 0.0, -1.0), ours.norm.cdf(1.0, 0.0, 0.0),
        ours.gamma.logpdf(1.0, -2.0), ours.beta.sf(0.5, -1.0, 2.0),
        ours.binom.pmf(1, 2.5, 0.5), ours.bernoulli.logpmf(1, 1.5),
        ours.poisson.logpmf(1, -1.0), ours.truncnorm.pdf(0.0, 1.0, -1.0),
        ours.expon.logsf(np.nan), ours.geom.logpmf(1, np.nan),
        ours.norm.ppf(1.5), ours.wrapcauchy.pdf(1.0, 1.5),
    ]:  # fmt: skip
        assert np.isnan(value)


def test_second_derivatives_of_log_densities():
    with cv.enable_x64(True):
        for name, slope in [("norm", -1.0), ("logistic", -0.5), ("cauchy", -2.0)]:
            second = cv.grad(cv.grad(getattr(ours, name).logpdf))(0.0)
            assert float(second) == pytest.approx(slope, rel=1e-12), name
        of_a = cv.grad(ours.gamma.logpdf, 1)(2.0, 3.0)  # log x − ψ(a)
        assert float(of_a) == pytest.approx(np.log(2) - 0.9227843350984671, rel=1e-9)


def test_entropies_of_poisson_are_sums_and_a_series():
    with cv.enable_x64(True):
        mu = np.array([0.0, 0.1, 5, 50, 99.9, 100.1, 1e3])
        np.testing.assert_allclose(
            ours.poisson.entropy(mu), theirs.poisson.entropy(mu), 1e-11
        )


def test_distributions_of_vectors():
    rng = np.random.default_rng(0)
    with cv.enable_x64(True):
        alpha = np.array([1.0, 2.0, 3.0])
        x = rng.dirichlet(alpha, 4).T
        wanted = theirs.dirichlet.logpdf(x, alpha)
        np.testing.assert_allclose(ours.dirichlet.logpdf(x, alpha), wanted)
        np.testing.assert_allclose(ours.dirichlet.logpdf(x[:2], alpha), wanted)
        assert ours.dirichlet.pdf(np.array([0.5, 0.6, -0.1]), alpha) == 0
        slopes = cv.grad(ours.dirichlet.logpdf)(cnp.array([0.0, 0.4, 0.6]), alpha)
        assert np.isfinite(slopes).all()

        counts, p = (
            np.array([[1, 2, 3], [0, 0, 6], [6, 1, 0]]),
            np.array([0.2, 0.3, 0.5]),
        )
        found = ours.multinomial.logpmf(counts, 6, p)
        np.testing.assert_allclose(found, theirs.multinomial.logpmf(counts, 6, p))

        cov, mean = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
        x = rng.normal(size=(5, 2))
        wanted = theirs.multivariate_normal.logpdf(x, mean, cov)
        for given in ((), (True,)):
            found = ours.multivariate_normal.logpdf(x, mean, cov, *given)
            np.testing.assert_allclose(found, wanted)
        wanted = theirs.multivariate_normal.logpdf(x, mean, 2.0)
        np.testing.assert_allclose(
            ours.multivariate_normal.logpdf(x, mean, 2.0), wanted
        )
        one = ours.multivariate_normal.logpdf(1.0, 0.0, 2.0)
        assert float(one) == pytest.approx(theirs.norm.logpdf(1, 0, 2**0.5))


def test_vectors_of_a_singular_covariance_lie_in_its_space():
    with cv.enable_x64(True):
        root = np.array([[1.0], [2.0]])
        x, cov = np.array([[0.5, 1.0], [1.0, 1.0]]), root @ root.T
        found = ours.multivariate_normal.logpdf(x, np.zeros(2), cov, True)
        law = theirs.multivariate_normal(np.zeros(2), cov, allow_singular=True)
        np.testing.assert_allclose(found, law.logpdf(x))


# -- samples ---------------------------------------------------------------------------


def test_ranks_and_modes_are_those_of_scipy():
    x = np.array([[3.0, 1, 3, 2], [1, 1, np.nan, 0]])
    for method in ("average", "min", "max", "dense", "ordinal"):
        for policy in ("propagate", "omit"):
            found = ours.rankdata(x, method, axis=1, nan_policy=policy)
            wanted = theirs.rankdata(x, method, axis=1, nan_policy=policy)
            np.testing.assert_array_equal(found, wanted, method)
    for policy in ("propagate", "omit"):
        for axis in (0, 1, None):
            found = ours.mode(x, axis, policy, keepdims=True)
            wanted = theirs.mode(x, axis, policy, keepdims=True)
            for mine, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(mine, other)
    assert np.isnan(ours.mode(cnp.zeros((0, 2))).mode).all()
    assert ours.mode(cnp.array([3, 0, 3]), keepdims=True).mode.tolist() == [3]
    assert ours.rankdata(cnp.zeros((0,))).shape == (0,)
    found = ours.sem(x, 1, nan_policy="omit")
    np.testing.assert_allclose(found, theirs.sem(x, 1, nan_policy="omit"), 1e-5)


def test_density_estimates_are_those_of_scipy():
    rng = np.random.default_rng(1)
    with cv.enable_x64(True):
        points, weights = rng.normal(size=(2, 7)), rng.uniform(1, 2, 7)
        for method in (None, "silverman", 0.4, lambda kde: 0.5):
            mine = ours.gaussian_kde(points, method, weights)
            other = theirs.gaussian_kde(points, method, weights)
            at = rng.normal(size=(2, 5))
            np.testing.assert_allclose(mine(at), other(at))
            np.testing.assert_allclose(mine.logpdf(at), other.logpdf(at))
            np.testing.assert_allclose(mine.inv_cov, other.inv_cov)
        area = np.eye(2) * 0.3
        found = mine.integrate_gaussian(np.ones(2), area)
        np.testing.assert_allclose(found, other.integrate_gaussian(np.ones(2), area))
        np.testing.assert_allclose(mine.integrate_kde(mine), other.integrate_kde(other))
        numbers = ours.gaussian_kde(points[0])
        wanted = theirs.gaussian_kde(points[0]).integrate_box_1d(-1, 0.5)
        np.testing.assert_allclose(numbers.integrate_box_1d(-1, 0.5), wanted)
        jitted = cv.jit(lambda kde, at: kde.pdf(at))(mine, at)
        np.testing.assert_allclose(jitted, mine(at))
        drawn = numbers.resample(random.key(0), (2000,))
    assert drawn.shape == (1, 2000)
    assert float(drawn.mean()) == pytest.approx(points[0].mean(), abs=0.1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ours.norm.pdf(np.ones(2), np.ones(3)), TypeError, "norm.pdf"),
        (lambda: ours.norm.pdf("x"), TypeError, "norm.pdf"),
        (lambda: ours.dirichlet.pdf(np.ones(5), np.ones(3)), errors.TypeMismatch,
         r"but got f32\[3\] and f32\[5\]"),
        (lambda: ours.multivariate_normal.pdf(np.ones(2), np.ones(2), np.eye(3)),
         errors.TypeMismatch, r"f32\[2\], f32\[2\] and f32\[3,3\]"),
        (lambda: ours.rankdata(np.ones(2), "first"), ValueError, "got 'first'"),
        (lambda: ours.mode(np.ones(2) * 1j), errors.DTypeKindError, r"got c64\[2\]"),
        (lambda: ours.sem(np.ones(2), nan_policy="raise"), errors.ArgumentError,
         "must be 'propagate' or 'omit', but got 'raise'"),
        (lambda: ours.gaussian_kde(np.ones(1)), errors.ArgumentError, "two points or"),
        (lambda: ours.gaussian_kde(np.ones(2) * 1j), TypeError, "real points"),
        (lambda: ours.gaussian_kde(np.ones(3), weights=np.ones(2)), errors.TypeMismatch,
         r"a weight for each of its 3 points, but got f32\[2\]"),
        (lambda: ours.gaussian_kde(np.arange(3), "scot"), ValueError, "'scot'"),
        (lambda: ours.gaussian_kde(np.arange(3), np.ones(2)), errors.ArgumentError,
         r"one number, but has the shape \(2,\)"),
        (lambda: ours.gaussian_kde(np.arange(3.0)).pdf(np.ones((2, 2))),
         errors.TypeMismatch, r"points \[1, m\]"),
        (lambda: ours.gaussian_kde(np.eye(2)[:, [0, 1, 1]] + np.eye(2, 3)
                                   ).integrate_box_1d(0, 1), errors.ArgumentError,
         "an estimate of numbers"),
    ],
)  # fmt: skip
def test_words_of_statistics(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "option", [{"numpy_rank_promotion": "raise"}, {"numpy_dtype_promotion": "strict"}]
)
def test_strict_promotion_is_about_the_operands_of_users(option):
    x = cnp.array(np.random.default_rng(0).normal(size=(2, 7)), "float32")
    with options.override(**option):
        estimate = ours.gaussian_kde(x)
        estimate.integrate_kde(estimate)
        estimate.resample(random.key(0), (3,))
        ours.rankdata(x, axis=1)
        ours.mode(x)
        ours.multivariate_normal.logpdf(x.T, cnp.ones((1, 2)), cnp.eye(2))
        ours.gamma.logsf(cnp.ones((2, 3)), cnp.float32(2))
        ours.poisson.entropy(cnp.ones((2, 2)))
