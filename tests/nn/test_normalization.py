"""Softmax and its relatives against their formulas in NumPy, and against the peer."""

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, nn

SMALL = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
MATRIX = SMALL * 30
MASK = np.array([[True, False, True, True]] * 3)
#: what counts is in every row and every column
SPARSE = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0]], bool)


# -- formulas, in float64 --------------------------------------------------------------


def counted(x, where):
    return np.where(True if where is None else where, np.exp(x.astype(np.float64)), 0)


def softmax(x, axis, where=None):
    powers = counted(x, where)
    return powers / powers.sum(axis, keepdims=True)


def logsumexp(x, axis, where=None, b=1.0):
    return np.log((counted(x, where) * b).sum(axis))


def logmeanexp(x, axis, where=None):
    count = np.broadcast_to(True if where is None else where, x.shape).sum(axis)
    return logsumexp(x, axis, where) - np.log(count)


def standardize(x, axis, where=True):
    mean = x.mean(axis, keepdims=True, where=where)
    variance = x.var(axis, keepdims=True, where=where)
    return (x - mean) / np.sqrt(variance + 1e-5)


FORMULAS = {"softmax": softmax, "logsumexp": logsumexp, "logmeanexp": logmeanexp}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
@pytest.mark.parametrize("where", [None, SPARSE])
def test_values_are_those_of_the_formula(name, axis, where):
    got = getattr(nn, name)(SMALL, axis, where=where)
    wanted = FORMULAS[name](SMALL, axis, where)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_log_softmax_is_accurate_where_softmax_is_zero():
    x = np.array([0.0, -200.0], np.float32)
    assert nn.softmax(x)[1] == 0
    assert nn.log_softmax(x).tolist() == [0.0, -200.0]
    masked = nn.log_softmax(x, where=np.array([True, False]))
    assert masked.tolist() == [0.0, -np.inf]


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize_is_its_formula(algorithm):
    got = nn.standardize(SMALL, 0, algorithm=algorithm)
    np.testing.assert_allclose(got, standardize(SMALL, 0), rtol=1e-4)
    masked = nn.standardize(SMALL, where=MASK, algorithm=algorithm)
    np.testing.assert_allclose(masked, standardize(SMALL, -1, MASK), rtol=1e-4)


def test_standardize_takes_a_mean_and_a_variance():
    got = nn.standardize(SMALL, mean=1.0, variance=4.0, epsilon=0.0)
    np.testing.assert_allclose(got, (SMALL - 1) / 2, rtol=1e-6)


def test_standardize_says_which_algorithms_there_are():
    words = "standardize: algorithm is 'fast' or 'stable', but got 'quick'"
    with pytest.raises(errors.TypeMismatch, match=words):
        nn.standardize(SMALL, algorithm="quick")


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"]
)
def test_dtypes_of_floats_are_kept_and_integers_become_floats(name):
    function = getattr(nn, name)
    for dtype in "bfloat16", "float32":
        assert function(cnp.ones(3, dtype)).dtype == cnp.dtype(dtype)
    assert function(cnp.arange(3)).dtype == cnp.float32


def test_slopes_of_logsumexp_are_softmax():
    slopes = cv.grad(nn.logsumexp)(SMALL)
    np.testing.assert_allclose(slopes, softmax(SMALL, None), rtol=1e-5)


def test_slopes_of_softmax_are_those_of_the_formula():
    y = softmax(SMALL[0], -1)
    wanted = np.diag(y) - np.outer(y, y)
    slopes = cv.jacobian(nn.softmax)(SMALL[0])
    np.testing.assert_allclose(slopes, wanted, rtol=1e-4, atol=1e-7)


# -- against the peer ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
@pytest.mark.parametrize("where", [None, MASK])
def test_softmax_agrees_with_the_peer(name, axis, where):
    got = getattr(nn, name)(cnp.asarray(MATRIX), axis, where)
    expected = getattr(jax.nn, name)(MATRIX, axis, where)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)

    def weighted(module, numpy):
        def loss(x):
            y = getattr(module, name)(x, axis, where)
            return numpy.sum(numpy.where(numpy.isfinite(y), y, 0) * numpy.arange(4.0))

        return loss

    np.testing.assert_allclose(
        cv.grad(weighted(nn, cnp))(cnp.asarray(MATRIX)),
        jax.grad(weighted(jax.nn, jax.numpy))(MATRIX),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors_and_signs(keepdims):
    b = np.array([1.0, -2.0, 0.5, 1.0], np.float32)
    options = {"b": b, "keepdims": keepdims, "return_sign": True}
    got = nn.logsumexp(SMALL, -1, **options)
    expected = jax.nn.logsumexp(SMALL, -1, **options)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-5)


def test_one_hot_agrees_with_the_peer():
    for labels, options in (([1, 5, -1], {}), ([1, 0], {"axis": 0, "dtype": "int32"})):
        got = nn.one_hot(cnp.array(labels), 3, **options)
        expected = jax.nn.one_hot(np.array(labels), 3, **options)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_classes_of_one_hot_may_be_a_list():
    assert nn.one_hot([1, 2], 3).tolist() == [[0, 1, 0], [0, 0, 1]]


# -- infinities, and what does not count -----------------------------------------------


def test_infinite_elements_share_the_derivative_of_logsumexp():
    inf = np.inf
    x = np.array([[inf, 1, 2], [inf, 0, inf], [-inf] * 3, [-inf, 1, 1]], np.float32)
    half, third = 1 / 2, 1 / 3
    wanted = [[1, 0, 0], [half, 0, half], [third] * 3, [0, half, half]]
    slopes = cv.grad(lambda x: nn.logsumexp(x, 1).sum())
    np.testing.assert_allclose(slopes(x), wanted, 1e-6)
    np.testing.assert_allclose(cv.jit(slopes)(x), wanted, 1e-6)
    pairs = cv.grad(lambda x: cnp.logaddexp(x[:, 0], x[:, 2]).sum())(x)
    np.testing.assert_allclose(slopes(x[:, ::2]), pairs[:, ::2], 1e-6)
    values, signs = nn.logsumexp(x, 1, return_sign=True)
    np.testing.assert_allclose(values, [inf, inf, -inf, 1 + np.log(2)], 1e-6)
    assert signs.tolist() == [1, 1, 0, 1]
    counted = cv.grad(lambda x: nn.logsumexp(x[0], where=MASK[0, :3]))(x)
    assert np.isfinite(counted).all()


def test_softmax_of_infinities():
    x = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [-np.inf, 1.0]], np.float32)
    np.testing.assert_array_equal(nn.softmax(cnp.asarray(x[2])), [0.0, 1.0])
    np.testing.assert_array_equal(
        nn.logsumexp(cnp.asarray(x), 1), [np.inf, -np.inf, 1.0]
    )


def test_a_row_without_infinities_has_a_softmax_while_infinities_are_looked_for():
    x = np.array([1.0, 2.0], np.float32)
    with cv.options.override(debug_infs=True, debug_nans=True):
        for function in nn.softmax, nn.log_softmax, nn.logsumexp, nn.logmeanexp:
            assert np.isfinite(function(x)).all()


FIRST = np.array([True, False])
NONE = np.array([False, False])
MASKED = {
    "softmax": lambda x: nn.softmax(x, where=FIRST)[0],
    "log_softmax": lambda x: nn.log_softmax(x, where=FIRST)[0],
    "logsumexp": lambda x: nn.logsumexp(x, where=FIRST),
    "logsumexp with factors": lambda x: nn.logsumexp(x, b=np.array([1.0, 0.0])),
    "logmeanexp": lambda x: nn.logmeanexp(x, where=FIRST),
    "mean": lambda x: cnp.mean(x, where=FIRST),
    "var": lambda x: cnp.var(x, where=FIRST),
    "std": lambda x: cnp.std(x, where=FIRST),
    "sum": lambda x: cnp.sum(x, where=FIRST),
    "prod": lambda x: cnp.prod(x, where=FIRST),
    "max": lambda x: cnp.max(x, where=FIRST, initial=-np.inf),
    "softmax of none": lambda x: nn.softmax(x, where=NONE).sum(),
    "log_softmax of none": lambda x: cnp.exp(nn.log_softmax(x, where=NONE)[0]),
    "logsumexp of none": lambda x: cnp.exp(nn.logsumexp(x, where=NONE)),
}


@pytest.mark.parametrize("name", MASKED)
def test_gradients_are_finite_where_masked_entries_are_large_infinite_or_nan(name):
    function = MASKED[name]
    wanted = cv.grad(function)(np.array([36.0, 0.0], np.float32))
    assert np.isfinite(wanted).all()
    assert wanted[1] == 0
    for masked in 1e4, -1e4, 3e38, np.inf, -np.inf, np.nan:
        x = np.array([36.0, masked], np.float32)
        np.testing.assert_array_equal(cv.grad(function)(x), wanted)
        tangent = cv.jvp(function, (x,), (np.ones(2, np.float32),))[1]
        np.testing.assert_array_equal(tangent, wanted.sum())


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_what_does_not_count_has_no_part_in_the_slopes_of_standardize(algorithm):
    def first(x):
        return nn.standardize(x, where=mask, algorithm=algorithm)[0]

    mask = np.array([True, True, False])
    wanted = cv.grad(first)(np.array([1.0, 3.0, 0.0], np.float32))
    assert np.isfinite(wanted).all()
    for large in 1e10, 1e30, -3e38:
        x = np.array([1.0, 3.0, large], np.float32)
        np.testing.assert_allclose(cv.grad(first)(x), wanted, rtol=1e-6)


def test_softmax_and_logsumexp_of_many_keep_nan_beside_infinities():
    x = np.random.default_rng(0).normal(size=(16, 512)).astype(np.float32)
    x[0, 3] = x[1, 500] = np.nan
    x[1, :9] = np.inf
    x[2], x[2, 100] = -np.inf, np.nan
    x[3] = -np.inf
    x[4, 7] = np.inf
    total = cv.jit(lambda x: nn.logsumexp(x, -1))(x)
    with np.errstate(invalid="ignore"):
        reference = np.logaddexp.reduce(x.astype(float), -1)
    np.testing.assert_allclose(total, reference, rtol=1e-6)
    rows = np.isnan(cv.jit(nn.softmax)(x)).any(-1)
    np.testing.assert_array_equal(rows, [True] * 5 + [False] * 11)


def test_infinity_leaves_nothing_for_numbers_near_the_largest_float():
    x = cnp.array([3e38, 1.0, np.inf], cnp.float32)
    for softmax in (nn.softmax, cv.jit(nn.softmax)):
        np.testing.assert_array_equal(softmax(x), [0, 0, np.nan])


def test_the_gradient_of_softmax_negates_sums_and_not_all_elements():
    x = cnp.ones((64, 32))
    gradient = cv.jit(cv.grad(lambda x, y: (nn.softmax(x) * y).sum()))
    text = gradient.lower(x, x).compile().as_text()
    negated = [line for line in text.splitlines() if " negate(" in line]
    assert negated
    assert not [line for line in negated if "f32[64,32]" in line]


def test_logsumexp_of_factors_that_do_not_fit():
    with pytest.raises(
        errors.TypeMismatch, match=r"logsumexp got .* f32\[3\], f32\[4\]"
    ):
        nn.logsumexp(cnp.ones(3), b=cnp.ones(4))
