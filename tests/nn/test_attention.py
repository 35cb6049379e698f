"""Attention against its formula written out in NumPy, and against the peer."""

import jax
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, nn

RNG = np.random.default_rng(0)
QUERY = RNG.normal(size=(2, 5, 4, 8)).astype(np.float32)
KEY, VALUE = (RNG.normal(size=(2, 6, 2, 8)).astype(np.float32) for _ in range(2))
BIAS = RNG.normal(size=(1, 4, 5, 6)).astype(np.float32)
MASK = RNG.random((2, 1, 5, 6)) > 0.3
MASK[..., 0] = True  # every row attends to something

OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "local": {"local_window_size": (1, 0)},
    "local on both sides": {"local_window_size": 2},
    "masked": {"mask": MASK},
    "mask of two axes": {"mask": MASK[0, 0]},
    "biased": {"bias": BIAS},
    "biased by integers": {"bias": np.arange(6)},
    "lengths": {
        "query_seq_lengths": np.array([3, 5]),
        "key_value_seq_lengths": np.array([4, 6]),
    },
    "all": {"mask": MASK, "bias": BIAS, "is_causal": True, "scale": 2.0},
}


def by_formula(query, key, value, bias=0.0, **options):
    """Row for row, in float64: the outputs, and the logs of the denominators."""
    batch, t, heads, depth = query.shape
    s, groups = key.shape[1:3]
    shape = batch, heads, t, s
    bias = np.broadcast_to(bias, shape)
    mask = np.broadcast_to(options.get("mask", True), shape)
    scale = options.get("scale", depth**-0.5)
    left, right = np.broadcast_to(options.get("local_window_size", max(t, s)), 2)
    queries = options.get("query_seq_lengths", [t] * batch)
    keys = options.get("key_value_seq_lengths", [s] * batch)
    out = np.zeros((batch, t, heads, value.shape[-1]))
    logs = np.zeros((batch, t, heads))
    for b, i, h in np.ndindex(batch, t, heads):
        group = h // (heads // groups)
        logits = key[b, :, group].astype(np.float64) @ query[b, i, h]
        logits = logits * scale + bias[b, h, i]
        j = np.arange(s)
        allowed = mask[b, h, i] & (j >= i - left) & (j <= i + right) & (j < keys[b])
        allowed &= not options.get("is_causal") or j <= i
        powers = np.exp(logits) * allowed
        if i < queries[b]:
            out[b, i, h] = powers @ value[b, :, group] / powers.sum()
            logs[b, i, h] = np.log(powers.sum())
    return out, logs


@pytest.mark.parametrize("name", OPTIONS)
def test_attention_is_its_formula(name):
    options = OPTIONS[name]
    got = nn.dot_product_attention(QUERY, KEY, VALUE, **options)
    wanted, _ = by_formula(QUERY, KEY, VALUE, **options)
    assert got.dtype == cnp.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["lengths", "all"])
def test_attention_agrees_with_the_peer(name):
    options = OPTIONS[name]
    got = nn.dot_product_attention(QUERY, KEY, VALUE, **options)
    expected = jax.nn.dot_product_attention(QUERY, KEY, VALUE, **options)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_without_a_batch_it_is_the_first_of_a_batch_of_one():
    whole = nn.dot_product_attention(
        QUERY[:1], KEY[:1], VALUE[:1], return_residual=True
    )
    one = nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0], return_residual=True)
    for of_one, of_batch in zip(one, whole, strict=True):
        np.testing.assert_array_equal(of_one, of_batch[0])


def test_the_residual_is_the_log_of_the_denominators():
    out, residual = nn.dot_product_attention(
        QUERY, KEY, VALUE, BIAS, return_residual=True
    )
    wanted, logs = by_formula(QUERY, KEY, VALUE, BIAS)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(residual, logs, rtol=1e-5)


def test_results_and_residuals_of_bfloat16_are_computed_in_float32():
    query, key, value = (cnp.asarray(x, "bfloat16") for x in (QUERY, KEY, VALUE))
    out, residual = nn.dot_product_attention(query, key, value, return_residual=True)
    assert out.dtype == residual.dtype == query.dtype
    rounded = [np.asarray(x).astype(np.float32) for x in (query, key, value)]
    wanted, logs = by_formula(*rounded)
    np.testing.assert_allclose(residual.astype("float32"), logs, rtol=2**-8)
    np.testing.assert_allclose(out.astype("float32"), wanted, atol=2**-6)


def test_gradients_are_the_slopes_of_the_formula():
    def loss(attend, query, key, value, bias):
        out = attend(query, key, value, bias, mask=MASK[:, :, :1])
        return (out * weights).sum()

    def written_out(*args, **options):
        return by_formula(*args, **options)[0]

    weights = RNG.normal(size=QUERY.shape)
    args = QUERY, KEY, VALUE, BIAS
    directions = [RNG.normal(size=x.shape) for x in args]
    slopes = cv.grad(
        lambda *xs: loss(nn.dot_product_attention, *xs), argnums=(0, 1, 2, 3)
    )(*args)
    for n, (slope, direction) in enumerate(zip(slopes, directions, strict=True)):
        sides = []
        for step in 1e-4, -1e-4:
            moved = [*args]
            moved[n] = args[n] + step * direction
            sides.append(loss(written_out, *moved))
        wanted = (sides[0] - sides[1]) / 2e-4
        np.testing.assert_allclose((slope * direction).sum(), wanted, rtol=1e-3)


def test_what_is_masked_has_no_part_in_values_or_gradients():
    def loss(key):
        return nn.dot_product_attention(QUERY, key, VALUE, mask=mask).sum()

    mask = np.arange(6) < 4
    large = KEY.copy()
    large[:, 4:] = 1e30
    np.testing.assert_array_equal(loss(large), loss(KEY))
    slopes = cv.grad(loss)(large)
    np.testing.assert_array_equal(slopes, cv.grad(loss)(KEY))
    assert not slopes[:, 4:].any()


def test_a_batch_by_vmap_is_a_batch():
    alone = cv.vmap(lambda *xs: nn.dot_product_attention(*xs, is_causal=True))
    whole = nn.dot_product_attention(QUERY, KEY, VALUE, is_causal=True)
    np.testing.assert_allclose(alone(QUERY, KEY, VALUE), whole, rtol=1e-5, atol=1e-6)


def test_causal_attention_passes_while_infinities_are_looked_for():
    with cv.options.override(debug_infs=True, debug_nans=True):
        out = nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0], is_causal=True)
    assert np.isfinite(out).all()


REFUSED = {
    r"heads must be a multiple of groups.*but got f32\[2,5,3,8\]": {
        "query": QUERY[:, :, :3]
    },
    r"elements floating-point numbers, but got .* and i32\[2,6,2,8\]": {
        "value": VALUE.astype("i4")
    },
    r"mask of bools .* t, s\], here \(2, 4, 5, 6\), but got bool\[5,5\]": {
        "mask": MASK[0, 0, :, :5]
    },
    r"mask of bools that broadcasts .* but got f32\[2,1,5,6\]": {
        "mask": MASK.astype(np.float32)
    },
    r"bias of real numbers that .* but got f32\[3,1,1,1\]": {
        "bias": BIAS[0, :3, :1, :1, None]
    },
    r"bias of real numbers that .* but got c64\[6\]": {
        "bias": np.ones(6, np.complex64)
    },
    r"integers \[batch\], here 2, for the lengths of sequences, but got i32\[3\]": {
        "query_seq_lengths": np.array([1, 2, 3])
    },
    r"lengths of sequences, but got f32\[2\]": {
        "key_value_seq_lengths": np.array([1.0, 2.0], np.float32)
    },
    r"pair of ints for local_window_size, but got \(1, 2, 3\)": {
        "local_window_size": (1, 2, 3)
    },
    r"pair of ints for local_window_size, but got 'a'": {"local_window_size": "a"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_attention_says_what_it_wants_and_what_came(words):
    given = {"query": QUERY, "key": KEY, "value": VALUE} | REFUSED[words]
    with pytest.raises(errors.TypeMismatch, match=f"dot_product_attention.*{words}"):
        nn.dot_product_attention(**given)
