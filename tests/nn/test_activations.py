"""Activations and softmax agree with the peer in value and slope, and stay finite."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, nn

jax = pytest.importorskip("jax")

X = np.array(
    [-1e4, -88.0, -3.0, -1.0, -0.5, -1e-4, 1e-4, 0.5, 1.0, 2.5, 6.5, 88.0, 1e4]
)
X = X.astype(np.float32)
#: others have tests of their own below, or are another name of one of these
OTHERS = ("glu", "hard_swish", "log1mexp", "swish")
ELEMENTWISE = [name for name in nn.activations.__all__ if name not in OTHERS]


def smooth(x):
    """Points where both libraries have one and the same slope."""
    return x[~np.isin(x, [-3.0, -1.0, 0.0, 1.0])]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_agree_with_the_peer(name):
    expected = getattr(jax.nn, name)(X)
    np.testing.assert_allclose(
        getattr(nn, name)(cnp.asarray(X)), expected, rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_slopes_agree_with_the_peer_and_are_finite(name):
    points = smooth(X)
    got = cv.vmap(cv.grad(getattr(nn, name)))(cnp.asarray(points))
    expected = jax.vmap(jax.grad(getattr(jax.nn, name)))(points)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_small_floats_and_integers_are_accepted(name):
    fun = getattr(nn, name)
    half = cnp.array([0.5, -2.0], "bfloat16")
    assert fun(half).dtype == half.dtype
    expected = getattr(jax.nn, name)(jax.numpy.array([1.0, -2.0]))
    np.testing.assert_allclose(fun(cnp.array([1, -2])), expected, rtol=1e-5)


def test_relu_has_no_slope_at_zero_and_keeps_nan():
    assert float(cv.grad(nn.relu)(0.0)) == 0.0
    assert np.isnan(nn.relu(cnp.array(np.nan)))


def test_exact_gelu_and_log1mexp():
    x = X[4:9]
    np.testing.assert_allclose(
        nn.gelu(cnp.asarray(x), approximate=False),
        jax.nn.gelu(x, approximate=False),
        rtol=1e-5,
        atol=1e-7,
    )
    positive = np.array([1e-6, 0.1, 0.7, 5.0, 90.0], np.float32)
    np.testing.assert_allclose(
        nn.log1mexp(cnp.asarray(positive)),
        jax.nn.log1mexp(positive),
        rtol=1e-5,
        atol=1e-30,
    )


MATRIX = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32) * 30
MASK = np.array([[True, False, True, True]] * 3)


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


def test_softmax_of_infinities():
    x = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [-np.inf, 1.0]], np.float32)
    np.testing.assert_array_equal(nn.softmax(cnp.asarray(x[2])), [0.0, 1.0])
    np.testing.assert_array_equal(
        nn.logsumexp(cnp.asarray(x), 1), [np.inf, -np.inf, 1.0]
    )


@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors_and_signs(keepdims):
    b = np.array([1.0, -2.0, 0.5, 1.0], np.float32)
    got = nn.logsumexp(
        cnp.asarray(MATRIX / 30), -1, b=b, keepdims=keepdims, return_sign=True
    )
    expected = jax.nn.logsumexp(
        MATRIX / 30, -1, b=b, keepdims=keepdims, return_sign=True
    )
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-5)


def test_the_remaining_functions_agree_with_the_peer():
    x = MATRIX / 30
    pairs = [
        (nn.logmeanexp(cnp.asarray(x), 0), jax.nn.logmeanexp(x, 0)),
        (nn.standardize(cnp.asarray(x)), jax.nn.standardize(x)),
        (
            nn.standardize(cnp.asarray(x), algorithm="stable"),
            jax.nn.standardize(x, algorithm="stable"),
        ),
        (nn.glu(cnp.asarray(x)), jax.nn.glu(x)),
        (nn.one_hot(cnp.array([1, 5, -1]), 3), jax.nn.one_hot(np.array([1, 5, -1]), 3)),
        (
            nn.one_hot(cnp.array([1, 0]), 3, axis=0, dtype="int32"),
            jax.nn.one_hot(np.array([1, 0]), 3, axis=0, dtype="int32"),
        ),
    ]
    for got, expected in pairs:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


ATTENTION = [
    {},
    {"is_causal": True},
    {"scale": 0.3},
    {"local_window_size": (1, 0)},
    {"mask": np.random.default_rng(1).random((2, 1, 5, 6)) > 0.3},
    {"bias": np.random.default_rng(2).normal(size=(1, 4, 5, 6)).astype(np.float32)},
    {"query_seq_lengths": np.array([3, 5]), "key_value_seq_lengths": np.array([4, 6])},
]


@pytest.mark.parametrize("options", ATTENTION)
def test_attention_agrees_with_the_peer(options):
    rng = np.random.default_rng(0)
    query = rng.normal(size=(2, 5, 4, 8)).astype(np.float32)
    key, value = (rng.normal(size=(2, 6, 2, 8)).astype(np.float32) for _ in range(2))
    got = nn.dot_product_attention(
        cnp.asarray(query), cnp.asarray(key), cnp.asarray(value), **options
    )
    expected = jax.nn.dot_product_attention(query, key, value, **options)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_attention_says_which_shapes_it_wants():
    x = cnp.ones((2, 5, 4, 8))
    with pytest.raises(errors.TypeMismatch, match=r"query \[batch, t, heads, depth\]"):
        nn.dot_product_attention(x, cnp.ones((2, 5, 3, 8)), cnp.ones((2, 5, 3, 8)))
    with pytest.raises(errors.TypeMismatch, match="algorithm is 'fast' or 'stable'"):
        nn.standardize(x, algorithm="quick")


def test_classes_of_one_hot_may_be_a_list():
    assert nn.one_hot([1, 2], 3).tolist() == [[0, 1, 0], [0, 0, 1]]


MASK = np.array([True, False])
MASKED = {
    "softmax": lambda x: nn.softmax(x, where=MASK)[0],
    "log_softmax": lambda x: nn.log_softmax(x, where=MASK)[0],
    "logsumexp": lambda x: nn.logsumexp(x, where=MASK),
    "logsumexp with factors": lambda x: nn.logsumexp(x, b=np.array([1.0, 0.0])),
    "logmeanexp": lambda x: nn.logmeanexp(x, where=MASK),
    "mean": lambda x: cnp.mean(x, where=MASK),
    "var": lambda x: cnp.var(x, where=MASK),
    "std": lambda x: cnp.std(x, where=MASK),
    "sum": lambda x: cnp.sum(x, where=MASK),
    "prod": lambda x: cnp.prod(x, where=MASK),
    "max": lambda x: cnp.max(x, where=MASK, initial=-np.inf),
    "softmax of none": lambda x: nn.softmax(x, where=~MASK & MASK).sum(),
    "log_softmax of none": lambda x: cnp.exp(nn.log_softmax(x, where=~MASK & MASK)[0]),
    "logsumexp of none": lambda x: cnp.exp(nn.logsumexp(x, where=~MASK & MASK)),
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


def test_a_row_without_infinities_has_a_softmax_while_infinities_are_looked_for():
    x = np.array([1.0, 2.0], np.float32)
    with cv.options.override(debug_infs=True, debug_nans=True):
        for function in nn.softmax, nn.log_softmax, nn.logsumexp, nn.logmeanexp:
            assert np.isfinite(function(x)).all()
        q = np.ones((4, 2, 3), np.float32)
        assert nn.dot_product_attention(q, q, q, is_causal=True).shape == (4, 2, 3)


def test_the_residual_of_attention_has_the_dtype_of_the_query():
    q = cnp.ones((1, 4, 2, 8), "bfloat16")
    out, residual = nn.dot_product_attention(q, q, q, return_residual=True)
    assert out.dtype == residual.dtype == q.dtype


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


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_slopes_are_finite_at_the_ends_of_the_range(name):
    ends = np.array([1e19, -1e19, 1e30, -1e30, 3e38, -3e38], np.float32)
    for dtype in "float32", "bfloat16":
        slopes = cv.vmap(cv.grad(getattr(nn, name)))(cnp.asarray(ends, dtype))
        assert np.isfinite(slopes.astype("float32")).all(), name
