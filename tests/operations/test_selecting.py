"""Selecting in NumPy: what a stable sort would put there, whatever the sample says."""

import importlib

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.operations.ranks import PlacesOfRanks
from covector.operations.sorting_on_host import first_of, places_of_ranks

N = 100_003
RANKS = np.array([0, 1, 5, N // 2, N // 2 + 1, N - 1], np.int32)
_rng = np.random.default_rng(0)
ROWS = {
    "random": _rng.integers(-(2**31), 2**31 - 1, N, np.int32),
    "ties": _rng.integers(-3, 3, N, np.int32),
    "equal": np.full(N, 2**31 - 1, np.int32),
    "ascending": np.arange(N, dtype=np.int32),
    # a sample of which has the largest elements only
    "periodic": np.where(np.arange(N) % 13, np.arange(N), 2**31 - 1).astype(np.int32),
}


@pytest.mark.parametrize("kind", ROWS)
def test_elements_of_given_ranks_are_those_of_a_stable_sort(kind):
    keys = np.stack([ROWS[kind], ROWS[kind][::-1]])
    wanted = np.argsort(keys, 1, "stable")[:, RANKS]
    ranks = np.broadcast_to(RANKS, (2, len(RANKS)))
    np.testing.assert_array_equal(places_of_ranks(keys, ranks), wanted)


@pytest.mark.parametrize("count", [10_000, N - 1, N])
@pytest.mark.parametrize("kind", ROWS)
def test_many_first_elements_are_those_of_a_stable_sort(kind, count):
    keys = np.stack([ROWS[kind], ROWS["random"]])
    wanted = np.argsort(keys, 1, "stable")[:, :count]
    np.testing.assert_array_equal(first_of(keys, count), wanted)


def test_ranks_in_columns_of_a_batch():
    x = _rng.normal(size=(40_000, 2)).astype(np.float32)
    places = cv.vmap(PlacesOfRanks(), in_axes=(1, None))(x, np.int32([7, 39_999]))
    wanted = np.argsort(x, 0, "stable")[[7, 39_999]].T
    np.testing.assert_array_equal(places, wanted)


def odd_numbers(kind):
    x = _rng.normal(size=(2, 40_001)).astype(np.float32)
    if kind == "zeros":
        x = np.round(x / 3) * _rng.choice(np.float32([-1, 1]), x.shape)
    if kind == "special":
        x[0, 5], x[1, :300], x[1, -300:] = np.nan, np.inf, -np.inf
        x[1, 7:9000] = 1e-42 * np.arange(8993)
    return x


@pytest.mark.parametrize("kind", ["plain", "zeros", "special"])
@pytest.mark.parametrize("run", ["eager", "compiled"])
def test_quantiles_of_long_rows_are_those_by_sorting(kind, run, monkeypatch):
    x = odd_numbers(kind)

    def quantiles(x):
        q = cnp.asarray([0.0, 0.25, 1.0])
        return cnp.median(x, 1), cnp.quantile(x, q, 1), cnp.nanmedian(x, 1)

    assert "places of ranks" in cv.jit(quantiles).lower(x).as_text()

    def again(x):
        return quantiles(x)

    found = (cv.jit(quantiles) if run == "compiled" else quantiles)(x)
    module = importlib.import_module("covector.numpy.order_statistics")
    monkeypatch.setattr(module, "is_worth_selecting", lambda *_: False)
    assert "places of ranks" not in cv.jit(again).lower(x).as_text()
    by_sorting = (cv.jit(again) if run == "compiled" else again)(x)
    for ours, wanted in zip(found, by_sorting, strict=True):
        np.testing.assert_array_equal(ours, wanted)
        assert (np.signbit(ours) == np.signbit(wanted))[~np.isnan(wanted)].all()


def test_the_gradient_of_a_median_is_at_its_element():
    x = _rng.normal(size=N).astype(np.float32)
    for gradient in (cv.grad(cnp.median), cv.jit(cv.grad(cnp.median))):
        slope = np.asarray(gradient(x))
        assert np.flatnonzero(slope).tolist() == [np.argsort(x)[N // 2]]
        assert slope.sum() == 1
