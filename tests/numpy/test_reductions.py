"""Reductions, statistics, running sums, histograms: the values of NumPy."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from tests.numpy.agreement import (
    agrees,
    agrees_batched,
    agrees_compiled,
    assert_same,
    evaluate,
    lines,
)

_NAN = np.array([[1.0, np.nan, -3.0, 2.0], [np.nan] * 4, [4.0, 0.5, np.nan, np.inf]])
VALUES = {
    "x": np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32),
    "m": np.arange(12, dtype=np.int32).reshape(3, 4) - 4,
    "v": np.array([3.0, 1.0, 2.0, 5.0], np.float32),
    "n": _NAN.astype(np.float32),
    "b": np.array([[True, False, True, False]] * 2 + [[False] * 4]),
    "i": np.array([[100, 100], [-3, 0]], np.int8),
    "u": np.array([200, 100, 3], np.uint8),
    "c": np.array([[1 + 2j, 3 - 1j], [0, -2j]], np.complex64),
    "e": np.zeros((0, 3), np.float32),
    "s": np.array(2.5, np.float32),
}

REDUCTIONS = """
xp.sum(x)
xp.sum(x, axis=0)
xp.sum(x, axis=(0, -1), keepdims=True)
xp.sum(x, axis=())
xp.sum(s)
xp.sum(i)
xp.sum(u)
xp.sum(b, axis=1)
xp.sum(c, axis=0)
xp.sum(e, axis=0)
xp.sum(i, dtype="int8")
xp.sum(m, initial=10)
xp.sum(x, where=x > 0)
xp.sum(m, axis=1, where=b, initial=2, keepdims=True)
xp.sum(m, where=b[:1])
xp.prod(v)
xp.prod(m, axis=1)
xp.prod(u)
xp.prod(e, axis=0)
xp.prod(c)
xp.prod(v, where=v > 1, initial=2)
xp.max(x, axis=1)
xp.max(m)
xp.max(n, axis=1)
xp.max(b)
xp.max(c)
xp.max(e, axis=1)
xp.max(m, initial=100)
xp.max(m, axis=0, where=b, initial=-50)
xp.amax(v)
xp.min(x, axis=(0, 1))
xp.min(u)
xp.min(e, initial=3)
xp.amin(v)
xp.all(m, axis=0)
xp.all(e)
xp.all(b, where=b)
xp.any(b, axis=1)
xp.any(n)
xp.any(m, keepdims=True)
xp.any(e)
xp.count_nonzero(m, axis=1)
xp.count_nonzero(b)
xp.ptp(x, axis=1)
xp.ptp(m)
xp.argmax(x)
xp.argmax(x, axis=1)
xp.argmax(n, axis=1)
xp.argmax(b, axis=0)
xp.argmax(m, keepdims=True)
xp.argmin(x, axis=-1, keepdims=True)
xp.argmin(u)
xp.nanargmax(n[::2], axis=1)
xp.nanargmin(n[::2], axis=1)
xp.nanargmax(m)
"""

STATISTICS = """
xp.mean(x)
xp.mean(x, axis=(0, 2), keepdims=True)
xp.mean(m, axis=1)
xp.mean(b)
xp.mean(c, axis=0)
xp.mean(s)
xp.mean(x, where=x > 0)
xp.mean(m, dtype="float32")
xp.var(x)
xp.var(x, axis=1, ddof=1)
xp.var(m, axis=0)
xp.var(c)
xp.var(x, axis=1, where=x > -1, keepdims=True)
xp.var(v, mean=np.float32(1))
xp.var(v, correction=1)
xp.std(x, axis=0)
xp.std(m)
xp.std(v, ddof=1)
xp.average(x, axis=0)
xp.average(v, weights=v)
xp.average(m, axis=1, weights=v)
xp.average(m, axis=(0, 1), weights=m + 5)
xp.average(x, axis=(2, 0), weights=x[:, 0].T + 9)
xp.average(m, axis=0, returned=True)
xp.average(v, weights=v, returned=True, keepdims=True)
xp.cov(m)
xp.cov(v)
xp.cov(v, v[::-1])
xp.cov(m, rowvar=False)
xp.cov(m, bias=True)
xp.cov(m, ddof=0)
xp.cov(m, fweights=np.array([1, 2, 1, 3]))
xp.cov(m, aweights=v)
xp.cov(m, fweights=np.array([1, 2, 1, 3]), aweights=v)
xp.cov(c)
xp.corrcoef(x[0])
xp.corrcoef(v, v**2)
xp.corrcoef(c + np.array([[1, 2], [5, 7]]))
xp.corrcoef(v)
xp.nansum(n, axis=1)
xp.nansum(m)
xp.nanprod(n, axis=1)
xp.nanmax(n[::2], axis=1)
xp.nanmin(n[::2], axis=1)
xp.nanmax(n, initial=1)
xp.nanmean(n[::2, :3], axis=1)
xp.nanmean(n[::2, :3])
xp.nanmean(m)
xp.nanvar(n[::2, :3], axis=1)
xp.nanvar(n[0], ddof=1)
xp.nanstd(n[::2, :3])
xp.nanmean(n[0], where=n[0] > 0)
xp.quantile(x, 0.3)
xp.quantile(x, np.array([0.0, 0.25, 1.0], np.float32), axis=1)
xp.quantile(x, np.array([0.1, 0.6], np.float32), axis=(0, 2), keepdims=True)
xp.quantile(m, 0.4)
xp.quantile(n, 0.5, axis=1)
xp.quantile(v, 0.3, method="lower")
xp.quantile(v, 0.3, method="higher")
xp.quantile(v, 0.3, method="midpoint")
xp.quantile(v, 0.3, method="nearest")
xp.quantile(v, 0.3, method="inverted_cdf")
xp.quantile(v, 0.3, method="hazen")
xp.quantile(v, 0.9, method="weibull")
xp.quantile(v, 0.3, method="median_unbiased")
xp.quantile(v, 0.3, method="normal_unbiased")
xp.quantile(v, 0.3, method="interpolated_inverted_cdf")
xp.quantile(v, 0.3, weights=v, method="inverted_cdf")
xp.quantile(v, 0.0, weights=(v > 1) * np.float32(2), method="inverted_cdf")
xp.percentile(x, 30, axis=0)
xp.percentile(m, np.array([10, 90]))
xp.median(x)
xp.median(m, axis=1, keepdims=True)
xp.median(n, axis=1)
xp.nanmedian(n[::2, :3], axis=1)
xp.nanquantile(n[::2, :3], 0.3, axis=1)
xp.nanpercentile(n[::2, :3], 30)
"""

RUNNING = """
xp.cumsum(x)
xp.cumsum(x, axis=1)
xp.cumsum(m, axis=-1)
xp.cumsum(b, axis=1)
xp.cumsum(c, axis=0)
xp.cumsum(s)
xp.cumsum(e, axis=0)
xp.cumsum(v, dtype="int32")
xp.cumprod(v)
xp.cumprod(m, axis=1)
xp.nancumsum(n, axis=1)
xp.nancumprod(n, axis=0)
xp.cumulative_sum(u)
xp.cumulative_sum(m, axis=1, include_initial=True)
xp.cumulative_prod(v, include_initial=True)
xp.diff(v)
xp.diff(x, axis=0)
xp.diff(x, n=2)
xp.diff(v, n=0)
xp.diff(v, n=9)
xp.diff(b)
xp.diff(v, prepend=1, append=v[:2])
xp.diff(m, axis=0, prepend=m[:1])
xp.ediff1d(m)
xp.ediff1d(m, to_begin=np.array([1, 2], np.int32), to_end=np.int32(9))
xp.gradient(v)
xp.gradient(x, axis=1)
xp.gradient(x[0])
xp.gradient(x[0], 2.0, 3.0)
xp.gradient(v, np.array([0, 1, 3, 4], np.float32))
xp.gradient(v, 2.0, edge_order=2)
xp.gradient(v, np.array([0, 1, 3, 4], np.float32), edge_order=2)
xp.gradient(m.astype("float32"), np.array([0, 1, 3.0]), 1.5)
xp.trapezoid(v)
xp.trapezoid(x, dx=2.0, axis=1)
xp.trapezoid(v[:1])
xp.trapezoid(v[:0])
xp.trapezoid(v[:2])
xp.trapezoid(np.array([np.inf, 1.0, 2.0], np.float32))
xp.trapezoid(v, x=v)
xp.trapezoid(x, x=x**2)
xp.bincount(u)
xp.bincount(np.abs(m.ravel()), minlength=20)
xp.bincount(u // 50, weights=v[:3])
xp.digitize(v, np.array([1.0, 2.0, 4.0], np.float32))
xp.digitize(v, np.array([4.0, 2.0, 1.0], np.float32))
xp.digitize(v, np.array([4.0, 2.0, 1.0], np.float32), right=True)
xp.digitize(x, np.array([0.0], np.float32), right=True)
xp.histogram_bin_edges(v, 3)
xp.histogram_bin_edges(v[:1], 2)
xp.histogram_bin_edges(v, 3, (0, 9))
"""
#: counts are floats here, as in JAX
HISTOGRAMS = """
xp.histogram(x)
xp.histogram(x, 5, (-1, 1))
xp.histogram(v, np.array([0.0, 1.0, 3.0], np.float32), density=True)
xp.histogram(v, 3, weights=v)
xp.histogram(m, 4)
xp.histogram2d(v, v[::-1], 2)
xp.histogram2d(v, v, [2, np.array([0.0, 2.0, 6.0], np.float32)], density=True)
xp.histogramdd(m[:, :2], 2)[0]
xp.histogramdd(x.reshape((-1, 2)), (2, 3), weights=np.arange(12.0, dtype=np.float32))[0]
"""
TABLE = lines(REDUCTIONS + STATISTICS + RUNNING)
#: what depends on values needs known ones
KNOWN = ("bincount",)


@pytest.mark.parametrize("expression", TABLE)
@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"
)
def test_value_is_numpys(expression):
    agrees(expression, VALUES, np)


@pytest.mark.parametrize("expression", lines(HISTOGRAMS))
def test_histogram_is_numpys(expression):
    agrees(expression, VALUES, np, exact_dtype=False)


@pytest.mark.parametrize(
    "expression", [e for e in TABLE[::2] if not any(k in e for k in KNOWN)]
)
def test_compiled_is_eager(expression):
    agrees_compiled(expression, VALUES)


@pytest.mark.parametrize(
    "expression", [e for e in TABLE[1::2] if not any(k in e for k in KNOWN)]
)
def test_batch_is_each(expression):
    agrees_batched(expression, VALUES)


# -- where NumPy does otherwise --------------------------------------------------------

LIKE_JAX = """
xp.cumsum(i)
xp.cumprod(u)
xp.sum(i, promote_integers=False)
xp.sum(h)
xp.mean(h)
xp.var(h)
xp.mean(q)
xp.quantile(q, 0.3)
xp.max(q)
xp.cumsum(q)
xp.sum(v, dtype=bool)
xp.bincount(u, length=4)
xp.bincount(np.array([-1, 1], np.int32))
xp.average(v, weights=xp.zeros(4))
xp.mean(e)
xp.std(v, ddof=4)
xp.nanargmax(n, axis=1)
xp.nanmax(n, axis=1)
xp.nanmean(n, axis=1)
xp.histogram(x)[0]
xp.histogram2d(v, v, 2)[0]
xp.argmax(n)
"""


@pytest.mark.parametrize("expression", lines(LIKE_JAX))
def test_value_is_jaxs(expression):
    values = VALUES | {
        "h": np.full(100, 60000, np.float16),
        "q": np.array([1.5, 3.25, -2, 100], ml_dtypes.bfloat16),
    }
    theirs = evaluate(jnp, expression, {k: jnp.asarray(v) for k, v in values.items()})
    ours = evaluate(cnp, expression, {k: cnp.asarray(v) for k, v in values.items()})
    for found, wanted in zip(ours, theirs, strict=True):
        assert_same(found, wanted)


def test_nothing_left_has_no_statistics():
    nothing = cnp.zeros((0,))
    for f in (cnp.mean, cnp.median, cnp.var):
        assert np.isnan(f(nothing))
    assert np.isnan(cnp.nanmedian(cnp.array([np.nan])))


def test_infinities_have_quantiles():
    x = cnp.array([-np.inf, 1.0, np.inf, np.inf])
    assert [float(cnp.quantile(x, q)) for q in (0.0, 1 / 3, 0.8, 1.0)] == [
        -np.inf,
        1,
        np.inf,
        np.inf,
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_long_sums_of_short_floats_are_rounded_once(dtype):
    x = cnp.full((3, 40_000), 0.1, dtype)
    for run in (cnp.mean, cv.jit(cnp.mean)):
        assert float(run(x)) == pytest.approx(float(x[0, 0]), rel=1e-2)
    assert float(cnp.median(cnp.full(4, 60000, "float16"))) == 60000
    assert float(cnp.sum(x, axis=1)[0]) == pytest.approx(4000, rel=1e-2)


# -- derivatives -----------------------------------------------------------------------

SMOOTH = """
xp.sum(x * x, axis=1).sum()
xp.prod(v)
xp.max(x)
xp.mean(x, where=x > 0)
xp.var(x, axis=1).sum()
xp.std(v)
xp.average(x, axis=2, weights=v).sum()
xp.nanmean(x)
xp.nanvar(x)
xp.median(v)
xp.quantile(v, 0.3)
xp.ptp(x)
xp.cumprod(v).sum()
(xp.cumsum(x, 1) ** 2).sum()
(xp.diff(x) ** 2).sum()
(xp.gradient(v) ** 2).sum()
xp.trapezoid(x, dx=0.5).sum()
xp.cov(x[0]).sum()
"""


@pytest.mark.parametrize("expression", lines(SMOOTH))
def test_derivative_is_the_difference_quotient(expression):
    values = {k: cnp.asarray(VALUES[k]) for k in ("x", "v")}

    def f(name, x):
        return evaluate(cnp, expression, values | {name: x})[0]

    name = "v" if "(v" in expression else "x"
    x = values[name]
    found = cv.grad(lambda x: f(name, x))(x)
    step = np.random.default_rng(2).normal(size=x.shape).astype(np.float32) * 1e-2
    slope = (f(name, x + step) - f(name, x - step)) / 2
    assert float((found * step).sum()) == pytest.approx(
        float(slope), rel=2e-2, abs=2e-4
    )


def test_derivatives_are_finite_where_elements_do_not_count():
    n = cnp.asarray(VALUES["n"][[0, 2], :3])
    for f in (cnp.nansum, cnp.nanmean, cnp.nanvar, cnp.nanmax, cnp.nanstd):
        assert np.isfinite(cv.grad(f)(n)).all()
    zero = cv.grad(lambda x: cnp.sum(cnp.log(x), where=x > 1))(cnp.array([1.0, 2.0]))
    assert zero.tolist() == [0, 0.5]


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (
            lambda x: cnp.sum(x, axis=3),
            r"sum: axis 3 is out of bounds for an array with 3",
        ),
        (lambda x: cnp.sum(x, axis=(0, -3)), "names an axis more than once"),
        (lambda x: cnp.sum(x, axis=1.5), "must be an integer or a tuple of integers"),
        (lambda x: cnp.sum(x, out=x), "sum has no place to write to"),
        (lambda x: cnp.sum([1]), "sum needs an array, but got a list"),
        (lambda x: cnp.sum(x, where=1), r"mask of bools for `where`, but got i32\[\]"),
        (lambda x: cnp.sum(x, where=x[0] > 0, initial=x), "scalar for `initial`"),
        (
            lambda x: cnp.sum(x, where=np.ones(3, bool)),
            r"broadcasts to its shape, .*bool\[3\]",
        ),
        (lambda x: cnp.max(x[:0]), r"max of f32\[0,3,4\] .* no element to reduce"),
        (lambda x: cnp.max(x, where=x > 0), "give `initial`"),
        (lambda x: cnp.argmax(x[:0]), "argmax of .* there is no element"),
        (lambda x: cnp.var(x, ddof=1, correction=1), "two names for one number"),
        (lambda x: cnp.var(x * 1j, dtype="float32"), "is ambiguous"),
        (lambda x: cnp.average(x, weights=x[0]), "average of .* needs weights"),
        (cnp.cov, "at most two axes"),
        (lambda x: cnp.cov(x[0], fweights=x[0, 0]), "integers for fweights"),
        (lambda x: cnp.cov(x[0], aweights=x[0, 0, :2]), "needs a weight for each"),
        (lambda x: cnp.quantile(x, 0.5, method="best"), "method must be one of"),
        (lambda x: cnp.quantile(x * 1j, 0.5), "needs real numbers"),
        (lambda x: cnp.quantile(x, x[0]), "one axis of fractions q"),
        (lambda x: cnp.quantile(x, 0.5, weights=x), "inverted_cdf"),
        (lambda x: cnp.quantile(x, 2.0), r"0 and 1, but got 2\. .*percentile takes q"),
        (lambda x: cnp.nanquantile(x, np.float32([0.5, -0.5])), "but got -0.5. Bring"),
        (
            lambda x: cnp.percentile(x, np.array([50, 101])),
            "q between 0 and 100, but got 101",
        ),
        (lambda x: cnp.nanpercentile(x, cnp.asarray(-1)), "0 and 100, but got -1"),
        (cnp.cumulative_sum, "needs to know along which axis"),
        (lambda x: cnp.diff(x[0, 0, 0]), "at least one axis"),
        (lambda x: cnp.diff(x, n=-1), "not negative"),
        (lambda x: cnp.gradient(x, 1.0, 2.0), "one distance, or one for each axis"),
        (lambda x: cnp.gradient(x[:1]), "needs at least 2 elements"),
        (lambda x: cnp.gradient(x, edge_order=3), "edge_order must be 1 or 2"),
        (lambda x: cnp.gradient(x[0, 0], np.ones(3)), "the coordinate of each"),
        (lambda x: cnp.bincount(x[0, 0]), "counts integers"),
        (lambda x: cnp.bincount(np.ones((2, 2), int)), "one axis"),
        (
            lambda x: cnp.histogram(x, "auto"),
            "a number of bins, or edges, but got 'auto'",
        ),
        (lambda x: cnp.histogram(x, weights=x[0]), "needs a weight for each"),
        (cnp.histogramdd, "points in rows"),
        (lambda x: cnp.histogramdd(x[0], [2, 2]), "one of bins for each"),
        (lambda x: cnp.digitize(x, x), "edges along one axis"),
    ],
)
def test_words_of_reductions(run, words):
    with pytest.raises((TypeError, ValueError, IndexError), match=words) as info:
        run(cnp.asarray(VALUES["x"]))
    assert isinstance(info.value, cv.errors.CovectorError)


def test_words_of_lengths_that_depend_on_traced_values():
    with pytest.raises(cv.errors.ConcretizationTypeError, match="Say it with length="):
        cv.jit(cnp.bincount)(np.array([1, 2]))


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variance_of_integers_is_exact_in_float64_where_the_result_is(name):
    x = np.array([4294967288, 4294967294, 4], np.uint32)
    with cv.enable_x64(True):
        found = getattr(cnp, name)(x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, getattr(np, name)(x), rtol=1e-14)


@pytest.mark.parametrize("bins", [3, 7, 10])
def test_integers_on_the_edges_of_bins_are_counted_alike_eagerly_and_compiled(bins):
    in_one = cv.jit(lambda x: cnp.histogram(x, bins)[0])
    in_two = cv.jit(lambda x: cnp.histogram2d(x, x[::-1], bins)[0])
    for x in np.random.default_rng(0).integers(-9, 9, (40, 6)).astype(np.int32):
        wanted = np.histogram(x, bins)[0]
        np.testing.assert_array_equal(cnp.histogram(x, bins)[0], wanted)
        np.testing.assert_array_equal(in_one(x), wanted)
        wanted = np.histogram2d(x, x[::-1], bins)[0]
        np.testing.assert_array_equal(cnp.histogram2d(x, x[::-1], bins)[0], wanted)
        np.testing.assert_array_equal(in_two(x), wanted)


def test_large_arrays_have_the_histogram_of_small_ones():
    x = np.tile(np.array([1, 1, 3, 7, 4, 2], np.int32), 10_000)
    for bins in 3, 7, 9:
        wanted = np.histogram(x, bins)
        for got, want in zip(cnp.histogram(x, bins), wanted, strict=True):
            np.testing.assert_array_equal(got, want.astype(np.float32))


def test_edges_of_a_histogram_keep_their_dtype_whatever_the_weights_are():
    x, weights = np.array([1, 2, 2.5, 7], np.float16), np.ones(4, np.float32)
    whole = np.array([0, 2, 8], np.int32)
    for bins, given in (3, np.float16), (whole, np.int32):
        _, edges = cnp.histogram(x, bins, weights=weights)
        assert edges.dtype == given
        np.testing.assert_array_equal(edges, np.histogram(x, bins)[1])
        (edges,) = cnp.histogramdd(x[:, None], [bins], weights=weights)[1]
        assert edges.dtype == given


def weighted(q, weights, x=(0.3, -1.2, 2.5, 0.7), axis=None):
    x, weights = np.array(x, np.float32), np.array(weights, np.float32)
    how = {"weights": weights, "axis": axis, "method": "inverted_cdf"}
    eager = cnp.quantile(x, q, **how)
    np.testing.assert_array_equal(cv.jit(lambda x: cnp.quantile(x, q, **how))(x), eager)
    return eager


def test_what_has_no_weight_is_no_quantile():
    fractions = np.array([0.0, 0.3, 1.0], np.float32)
    for weights, only in ([1, 0, 0, 0], 0.3), ([0, 0, 2, 0], 2.5):
        np.testing.assert_allclose(weighted(fractions, weights), only)


@pytest.mark.parametrize("weights", [[1, -1, 0, 1], [0, 0, 0, 0], [1, np.nan, 1, 1]])
def test_weights_that_are_none_give_no_quantile(weights):
    assert np.isnan(weighted(0.5, weights))


@pytest.mark.parametrize(
    "weights", [{}, {"weights": np.ones(4), "method": "inverted_cdf"}]
)
@pytest.mark.parametrize("quantile", [cnp.quantile, cnp.nanquantile])
def test_traced_levels_beyond_all_quantiles_have_none(quantile, weights):
    def at(q):
        return quantile(np.arange(4.0, dtype=np.float32), q, **weights)

    levels = np.array([-0.1, 0, 1, 2, np.nan], np.float32)
    expected = np.array([np.nan, 0, 3, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(cv.jit(at)(levels), expected)
    np.testing.assert_array_equal(cv.vmap(at)(levels), expected)
    with cv.options.override(debug_nans=True), pytest.raises(FloatingPointError):
        cv.jit(at)(levels)


def test_weights_of_a_quantile_may_be_those_of_positions_along_the_axis():
    x = np.arange(12).reshape(4, 3)
    assert weighted(0.5, [1, 1, 0, 3], x, axis=0).tolist() == [9, 10, 11]
    assert weighted(0.5, [0, 3, 1], x, axis=1).tolist() == [1, 4, 7, 10]
    with pytest.raises(cv.errors.TypeMismatch, match="weights of its shape"):
        weighted(0.5, [1, 1, 0, 3], x)


def test_the_last_weighted_quantile_is_found_whatever_the_rounding_of_sums():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000).astype(np.float32)
    weights = rng.uniform(size=1000).astype(np.float32)
    out = cnp.quantile(x, 1.0, weights=weights, method="inverted_cdf")
    assert float(out) == x.max()


def test_the_deviation_of_equal_numbers_does_not_move():
    x = np.ones(3, np.float32)
    for deviation in cnp.std, cnp.nanstd:
        np.testing.assert_array_equal(cv.grad(deviation)(x), np.zeros(3))


def test_percentages_in_a_coarse_dtype_are_divided_as_precisely_as_the_array():
    x = np.arange(4, dtype="float32")
    for dtype in "bfloat16", "float16", "float32":
        level = cnp.array([18.375], dtype)
        for percentile in cnp.percentile, cnp.nanpercentile:
            np.testing.assert_array_equal(percentile(x, level), np.float32([0.55125]))


def test_the_median_of_an_infinite_and_a_finite_number_is_infinite():
    x = np.array([0.5, -np.inf], np.float32)
    for median in cnp.median, cnp.nanmedian, cv.jit(cnp.median):
        assert float(median(x)) == -np.inf


def test_a_correlation_of_the_same_length_is_centred_where_the_first_is_shorter():
    a, v = np.float32([3, 5]), np.float32([2, -1, 2, 7, 1])
    for window in v, v[:4], v[:3]:
        found = cnp.correlate(a, window, mode="same")
        np.testing.assert_allclose(found, np.correlate(a, window, "same"), rtol=1e-6)


def test_words_of_quantiles_of_what_is_not_real():
    x, z = cnp.ones(3), cnp.ones(3, "complex64")
    how = {"method": "inverted_cdf"}
    for run in (
        lambda: cnp.quantile(z, 0.5),
        lambda: cnp.quantile(x, z),
        lambda: cnp.percentile(x, z),
        lambda: cnp.quantile(x, 0.5, weights=z, **how),
    ):
        with pytest.raises(cv.errors.DTypeError, match=r"needs real .* c64\[3\]"):
            run()


def test_the_weight_of_an_average_is_where_the_average_is():
    device = cv.devices()[-1]
    x = cv.device_put(cnp.ones((2, 3)), device)
    for out in cnp.average(x, axis=1, returned=True):
        assert out.committed and out.devices() == {device}


def test_counts_of_an_empty_array_are_where_it_is():
    device = cv.devices()[-1]
    none = cv.device_put(cnp.zeros(0), device)
    numbers = cv.device_put(cnp.zeros(0, "uint8"), device)
    results = [
        cnp.bincount(numbers, minlength=3),
        *cnp.histogram(none, 3),
        *cnp.histogram2d(none, none, 3),
    ]
    wanted = [np.bincount([], minlength=3), *np.histogram([], 3)]
    wanted += np.histogram2d([], [], 3)
    for found, expected in zip(results, wanted, strict=True):
        assert found.committed and found.devices() == {device}
        np.testing.assert_allclose(found, expected)


def test_a_compiled_gradient_finds_the_minimum_of_what_is_computed_twice():
    """XLA computed it again beside the minimum, rounded in another way, so that no
    element was the least.
    """
    offsets = 0.5121370000000001 * np.arange(6.0).reshape(3, 2)

    def f(x):
        values = cnp.resize(cnp.arcsinh(x), (3, 2)) * 0.487137 + offsets
        return cnp.sum(cnp.cos(cnp.cos(cnp.min(values, axis=-2))))

    with cv.enable_x64(True):
        x = cnp.array([1.079, 1.052, -0.709])
        wanted = cv.grad(f)(x)
        assert all(wanted[:2] != 0)
        for g in (cv.jit(cv.grad(f)), cv.grad(cv.checkpoint(f))):
            np.testing.assert_allclose(g(x), wanted, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape, axis", [((40, 128), 0), ((2000, 3), 1), ((5000,), 0)])
def test_maxima_of_many_in_slices_keep_nan(dtype, shape, axis):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x = np.asarray(cnp.asarray(x).astype(dtype)).astype(np.float32)
    x.flat[[5, -1]] = np.nan
    for ours, theirs in ((cnp.max, np.max), (cnp.min, np.min)):
        made = cv.jit(lambda x, f=ours: f(x, axis))(cnp.asarray(x).astype(dtype))
        np.testing.assert_array_equal(made.astype("float32"), theirs(x, axis))
