"""The largest elements of rows, in each of the ways to find them: their places are
those of a stable sort, whatever is equal, infinite, subnormal or no number.
"""

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core.types import ArrayType
from covector.operations import top_k

#: rows, their length, how many are wanted, and the way in a program of one CPU
WAYS = {
    "one": (3, 50, 1, top_k._of_maximum),
    "a row": (1, 17_000, 1, top_k._of_maximum),
    "rounds": (7, 8, 4, top_k._by_rounds),
    "blocks": (4, 4096, 16, top_k._by_blocks),
    "blocks and a rest": (3, 6007, 9, top_k._by_blocks),
    "blocks of few": (300, 64, 3, top_k._by_blocks),
    "blocks in blocks": (1, 2**19 + 1, 40, top_k._by_blocks),
    "NumPy": (16, 512, 40, None),
    "sorting": (64, 60, 10, top_k._by_sorting),
    "XLA": (2, 100, 5, None),
}
DTYPES = ["?", "i1", "u2", "i4", "u4", "f2", ml_dtypes.bfloat16, "f4", "i8", "u8", "f8"]


def ordered_first(x, count):
    """The places of the ``count`` largest: as a stable sort of the mirror image has."""
    wide = x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x
    last = np.argsort(wide[..., ::-1], -1, kind="stable")[..., ::-1][..., :count]
    return x.shape[-1] - 1 - last


def numbers(dtype, shape, seed=0):
    """Numbers of which some are equal; of floats also what is special."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        ends = np.iinfo(dtype).min, np.iinfo(dtype).max
        found = rng.integers(*ends, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.3, found[..., :1], found)
    found = (rng.normal(size=shape) * rng.choice([-0.0, 0.1, 1], shape)).round(2)
    found = found.astype(dtype)
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    for special in (np.nan, -np.nan, np.inf, -np.inf, tiny, -tiny):
        found[rng.random(shape) < 0.02] = special
    return found


def bits(x):
    return np.asarray(x).view(f"u{np.asarray(x).dtype.itemsize}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_places_are_those_of_a_stable_sort(way, dtype):
    rows, length, count, _ = WAYS[way]
    with cv.enable_x64(True):
        x = numbers(dtype, (rows, length))
        values, places = cv.jit(lambda x: lax.top_k(x, count))(x)
        wanted = ordered_first(x, count)
        assert (np.asarray(places) == wanted).all()
        assert (bits(values) == bits(np.take_along_axis(x, wanted, -1))).all()


@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_taken(way):
    rows, length, count, found = WAYS[way]
    type_ = ArrayType((rows, length), np.dtype("float32"))
    assert top_k._way(count, type_, True) is found
    if found is None:
        assert top_k._is_much(count, type_) == (way == "NumPy")


@pytest.mark.parametrize("shape", [(3, 0), (0,), (0, 3), (3, 5)])
def test_none_of_a_row_are_none(shape):
    """Of rows without elements there was a division by zero."""
    x = np.zeros(shape, np.float32)
    for values in (cv.jit(lambda x: lax.top_k(x, 0))(x), lax.top_k(x, 0)):
        assert [v.shape for v in values] == [(*shape[:-1], 0)] * 2


@pytest.mark.parametrize("special", [0.0, -np.inf, np.inf, np.nan])
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_equal_elements_begin_with_the_first(way, special):
    rows, length, count, _ = WAYS[way]
    x = np.full((rows, length), special, np.float32)
    _, places = cv.jit(lambda x: lax.top_k(x, count))(x)
    assert (np.asarray(places) == np.arange(count)).all()


@pytest.mark.parametrize("way", WAYS)
def test_subnormal_numbers_are_larger_than_zero(way):
    rows, length, count, _ = WAYS[way]
    x = np.zeros((rows, length), np.float32)
    x[:, -count:] = np.float32(1e-45) * np.arange(1, count + 1)
    _, places = cv.jit(lambda x: lax.top_k(x, count))(x)
    assert (np.asarray(places) == length - 1 - np.arange(count)).all()


@pytest.mark.parametrize("length", [160, 161, 175, 4096, 4099, 10_000, 10_007])
@pytest.mark.parametrize("count", [2, 5, 10])
def test_blocks_of_any_length(length, count):
    for seed in range(3):
        x = numbers("f4", (2, length), seed)
        places = cv.jit(lambda x: top_k._by_blocks(x, count))(x)
        assert (np.asarray(places) == ordered_first(x, count)).all()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("way", ["one", "rounds", "blocks", "blocks and a rest"])
def test_batches_axes_and_derivatives(way, axis):
    rows, length, count, _ = WAYS[way]
    x = numbers("f4", (2, rows, length))
    x = np.where(np.isfinite(x), x, 1)
    moved = np.moveaxis(x, 2, axis + 1)
    found = cv.jit(cv.vmap(lambda x: lax.top_k(x, count, axis=axis)[1]))(moved)
    wanted = ordered_first(x, count)
    assert (np.moveaxis(np.asarray(found), axis + 1, 2) == wanted).all()

    def weighted(x):
        values = lax.top_k(x, count, axis=axis)[0]
        return (cnp.moveaxis(values, axis, 1) * cnp.arange(1.0, count + 1)).sum()

    slopes = np.zeros_like(x[0])
    np.put_along_axis(slopes, wanted[0], np.arange(1.0, count + 1, dtype="f4"), -1)
    found = cv.jit(cv.grad(weighted))(np.moveaxis(x[0], 1, axis))
    assert (np.moveaxis(np.asarray(found), axis, 1) == slopes).all()
