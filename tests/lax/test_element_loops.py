"""One function for all elements along an axis."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
from covector import errors
from covector import numpy as cnp
from covector.core.convert import as_array
from covector.lax.element_loops import associative_scan
from covector.lax.element_loops import map as lax_map
from covector.operations.arithmetic import add, mul
from covector.operations.extrema import max_
from covector.operations.joining import Stack
from covector.transforms.vmap import vmap


@pytest.mark.parametrize("batch_size", [None, 1, 3, 7, 50])
def test_map_applies_the_function_to_each_element(batch_size):
    xs = {
        "a": np.arange(7, dtype=np.float32),
        "b": np.arange(14, dtype=np.float32).reshape(7, 2),
    }
    out = lax_map(lambda x: (x["a"] * 2.0, x["b"] + x["a"]), xs, batch_size=batch_size)
    np.testing.assert_array_equal(out[0], xs["a"] * 2)
    np.testing.assert_array_equal(out[1], xs["b"] + xs["a"][:, None])


@pytest.mark.parametrize("batch_size", [None, 2])
def test_map_over_nothing_has_the_right_shape(batch_size):
    out = lax_map(
        lambda x: Stack(0)(x, x), np.zeros(0, np.float32), batch_size=batch_size
    )
    assert out.shape == (0, 2)


def test_map_has_derivatives():
    xs = np.arange(5, dtype=np.float32)
    slopes = cv.grad(lambda xs: cnp.sum(lax_map(cnp.sin, xs, batch_size=2)))(xs)
    np.testing.assert_allclose(slopes, np.cos(xs), rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31])
@pytest.mark.parametrize("reverse", [False, True])
def test_partial_sums_are_numpy_cumulative_sums(n, reverse):
    x = np.random.default_rng(0).integers(-9, 9, n).astype(np.int32)
    flip = slice(None, None, -1 if reverse else 1)
    wanted = np.cumsum(x[flip])[flip]
    f = lambda x: associative_scan(add, x, reverse=reverse)  # noqa: E731
    np.testing.assert_array_equal(f(x), wanted)
    np.testing.assert_array_equal(cv.jit(f)(x), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_partial_maxima_along_any_axis(axis, reverse):
    x = np.random.default_rng(0).normal(size=(5, 3, 4)).astype(np.float32)
    flipped = np.flip(x, axis) if reverse else x
    wanted = np.maximum.accumulate(flipped, axis)
    wanted = np.flip(wanted, axis) if reverse else wanted
    np.testing.assert_array_equal(associative_scan(max_, x, reverse, axis), wanted)


@pytest.mark.parametrize("n", [1, 2, 6, 11])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_linear_recurrence_is_a_scan_of_pairs(n, reverse):
    """x ↦ a·x + b, composed: not commutative, so the order counts."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, n))

    def then(f, g):
        return {"a": mul(f["a"], g["a"]), "b": add(mul(f["b"], g["a"]), g["b"])}

    with cv.options.override(enable_x64=True):
        out = associative_scan(then, {"a": a, "b": b}, reverse=reverse)
    x, wanted = 0.0, []
    for k in reversed(range(n)) if reverse else range(n):
        x = a[k] * x + b[k]
        wanted.append(x)
    np.testing.assert_allclose(
        out["b"], wanted[::-1] if reverse else wanted, rtol=1e-12
    )


def test_associative_scan_has_derivatives_and_batches():
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    weights = np.arange(5, dtype=np.float32)
    f = lambda x: cnp.sum(associative_scan(add, x) * weights)  # noqa: E731
    wanted = np.cumsum(weights[::-1])[::-1]
    np.testing.assert_allclose(cv.grad(f)(x[0]), wanted, rtol=1e-6)
    np.testing.assert_allclose(vmap(cv.grad(f))(x), np.stack([wanted] * 3), rtol=1e-6)
    np.testing.assert_allclose(
        vmap(lambda x: associative_scan(add, x), 1, 1)(x), np.cumsum(x, 0), rtol=1e-5
    )


def test_nothing_to_scan_is_no_error():
    assert associative_scan(lambda x, y: x, {}) == {}


class Case(NamedTuple):
    call: Any
    error: type
    words: str


X = np.ones((3, 2), np.float32)
WORDS = {
    "lengths": Case(
        lambda: associative_scan(lambda x, y: x, (X, X[:2])),
        errors.TypeMismatch,
        r"one length along axis 0, but they are f32\[3,2\], f32\[2,2\]",
    ),
    "axis": Case(
        lambda: associative_scan(add, X, axis=2),
        errors.AxisError,
        r"f32\[3,2\] has no axis 2 to scan along",
    ),
    "shape": Case(
        lambda: associative_scan(lambda x, y: cnp.sum(x), X),
        errors.TypeMismatch,
        r"must combine f32\[1,2\] and f32\[1,2\] to the same type, but gave f32\[\]",
    ),
    "dtype": Case(
        lambda: associative_scan(lambda x, y: x * 1.5, np.arange(3)),
        errors.TypeMismatch,
        r"to the same type, but gave f32\[1\]",
    ),
    "structure": Case(
        lambda: associative_scan(lambda x, y: (x, y), X),
        errors.TreeMismatch,
        "must keep the structure, but an element is a leaf where the combination of "
        "two is "
        "a tuple of 2",
    ),
    "batch size": Case(
        lambda: lax_map(lambda x: x, X, batch_size=-1),
        ValueError,
        "must not be negative",
    ),
    "batch size is not an integer": Case(
        lambda: lax_map(lambda x: x, X, batch_size=1.5),
        TypeError,
        "batch_size must be an integer, but got 1.5",
    ),
    "map of a scalar": Case(
        lambda: lax_map(lambda x: x, as_array(1.0)),
        TypeError,
        r"steps through the leading axis of xs, but xs is f32\[\], which has none",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_errors_say_what_is_wrong(name):
    call, error, words = WORDS[name]
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, errors.CovectorError)
