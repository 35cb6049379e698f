"""Rows of ``covector.numpy``: selecting, sorting, searching, sets and bits."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Maker
from tests.public.makers import of_array
from tests.public.table import rows

REAL, ANY = "biuf", "biufc"


def indices(draw: Draw, length: int, shape: Any = None) -> np.ndarray:
    """Indices of an axis, from either end."""
    shape = draw.shape((0, 2)) if shape is None else shape
    kind = draw.pick("i", "i", "u")
    return draw.array(kind, shape, (0 if kind == "u" else -length, length))


def taken(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    axis = draw.pick(None, draw.axis(x.ndim))
    length = x.size if axis is None else x.shape[axis]
    index = indices(draw, length)
    if draw.chance(0.3):  # outside, too
        return (x, draw.array("i", index.shape, (-9, 10))), {"axis": axis, "mode": draw.pick("wrap", "clip")}
    return (x, index), {"axis": axis} | draw.some(mode=("wrap", "clip"))


def taken_along(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    axis = draw.axis(x.ndim)
    shape = list(x.shape)
    shape[axis] = draw.integer(0, 4)
    return (x, indices(draw, x.shape[axis], tuple(shape))), {"axis": axis}


def written(draw: Draw) -> Any:
    """``put``: different indices, so that the order does not matter."""
    x = draw.array(ANY, draw.shape((1, 2), empty=False))
    count = draw.integer(1, x.size + 1)
    indices = draw.rng.permutation(x.size)[:count].astype(np.int32)
    return (x, indices, draw.values(x.dtype, (count,))), {"inplace": False}


def written_along(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 2), empty=False))
    axis = draw.axis(x.ndim)
    order = np.argsort(draw.rng.random(x.shape), axis).astype(np.int32)
    return (x, order, draw.values(x.dtype, x.shape), axis), {"inplace": False}


def in_place(name: str) -> Any:
    """NumPy's function that writes into its argument, as one that gives the result."""

    def write(x: np.ndarray, *args: Any, inplace: bool = False, **named: Any) -> Any:
        out = x.copy()
        getattr(np, name)(out, *args, **named)
        return out

    return write


rows("numpy", "take", taken)
rows("numpy", "take_along_axis", taken_along)
rows("numpy", "put", written, numpy=in_place("put"))
rows("numpy", "put_along_axis", written_along, numpy=in_place("put_along_axis"))
rows("numpy", "fill_diagonal",
     lambda d: ((x := d.array(ANY, d.shape((2, 2))), d.values(x.dtype, ())),
                {"inplace": False} | d.some(wrap=(True,))),
     numpy=in_place("fill_diagonal"))
rows("numpy", "place",
     lambda d: ((x := d.array(ANY, d.shape((1, 2))), d.array("b", x.shape),
                 d.values(x.dtype, (2,))), {"inplace": False}),
     numpy=in_place("place"))
rows("numpy", "select",
     lambda d: ([d.array("b", (3,)), d.array("b", (2, 3))],
                [d.array("iuf", (3,)), d.array("iuf", ())], d.scalar("i")))
rows("numpy", "choose",
     lambda d: ((d.array("i", d.shape((0, 2)), (0, 3)),
                 [d.array("f", ()) for _ in range(3)]),
                {"mode": d.pick("clip", "wrap")}))
rows("numpy", "piecewise",
     lambda d: (x := d.array("f", d.shape((0, 2))), [x < 0, x > 1],
                [-1, Function(lambda xp: lambda v: v / 2, "half"), 0]))
rows("numpy", "compress",
     lambda d: (d.array("b", (3,)), d.array(ANY, (2, 3)), 1), traced=False)
rows("numpy", "extract",
     lambda d: (d.array("b", (2, 3)), d.array(ANY, (2, 3))), traced=False)
rows("numpy", "nonzero flatnonzero argwhere",
     of_array(ANY, ndim=(1, 3)), traced=False)
rows("numpy", "unravel_index",
     lambda d: (d.array("iu", d.shape((0, 2)), (0, 12)), (d.pick(3, 4), 4)))
rows("numpy", "ravel_multi_index",
     lambda d: (((i := d.array("i", d.shape((0, 1)), (-2, 5))), i + 1), (3, 4),
                d.pick("wrap", "clip")))

SORTED = of_array(ANY, lambda d, x: (d.pick(None, d.axis(x.ndim)),), ndim=(1, 3))
STABLE = of_array(ANY, lambda d, x: (d.pick(None, d.axis(x.ndim)),), ndim=(1, 3),
                  stable=(True,))
rows("numpy", "sort", SORTED, zeros=False)  # zeros of either sign are equal
rows("numpy", "argsort", STABLE, numpy=lambda x, axis, stable=True: np.argsort(
    x, axis, stable=True))
rows("numpy", "sort_complex", of_array(ANY, ndim=(1, 2)))
rows("numpy", "lexsort",
     lambda d: (([d.array(REAL, (2, 4), d.pick(None, (0, 3))) for _ in range(d.integer(1, 4))],),
                d.some(axis=(0, 1, -1))))


def partitioned(draw: Draw) -> Any:
    """Three different numbers: beside the middle one, the order is certain."""
    x = draw.rng.permuted(np.tile([-1, 2, 5], (2, 1)), axis=1)
    return x.astype(draw.dtype("if")), draw.pick(1, -2)


rows("numpy", "partition argpartition", partitioned)


def searched(draw: Draw) -> Any:
    within = draw.pick(None, (0, 5))
    a = np.sort(draw.array("iuf", draw.shape((1, 1)), within))
    v = draw.values(a.dtype, draw.shape((0, 2)), within)
    named = draw.some(side=("left", "right"))
    if draw.chance(0.3):
        order = draw.rng.permutation(a.size)
        shuffled = np.empty_like(a)
        shuffled[order] = a
        return (shuffled, v), named | {"sorter": order.astype(np.int32)}
    return (a, v), named


def digitized(draw: Draw) -> Any:
    bins = np.sort(draw.array("iuf", (draw.integer(1, 5),)))
    x = draw.values(bins.dtype, draw.shape((0, 3)))
    return (x, bins[:: draw.pick(1, -1)]), draw.some(right=(True, False))


rows("numpy", "searchsorted", searched, shuffled=False)
rows("numpy", "digitize", digitized, shuffled=False)


def with_repeats(*keywords: str, count: int = 1, ndim: int = 2) -> Maker:
    """Arrays of few different values, and switches."""

    def make(draw: Draw) -> Any:
        draw.infinite = draw.huge = False
        style = draw.pick((0, 4), (0, 4), None)
        shapes = [draw.shape((1, ndim)) for _ in range(count)]
        arrays = [draw.array(REAL if style else ANY, s, style) for s in shapes]
        return tuple(
            [np.round(x) if x.dtype.kind == "f" else x for x in arrays]
        ), draw.some(**dict.fromkeys(keywords, (True, False)))

    return make


UNIQUE = ("return_index", "return_inverse", "return_counts", "equal_nan")
SETS = {"traced": False, "derivative": False, "zeros": False}
rows("numpy", "unique", with_repeats(*UNIQUE), **SETS)
rows("numpy", "unique_all unique_counts unique_inverse", with_repeats(), **SETS)
rows("numpy", "unique_values", with_repeats(), **SETS,
     numpy=lambda x: np.unique(x, equal_nan=False))  # NumPy's are not in order
rows("numpy", "isin", with_repeats("invert", count=2))
rows("numpy", "union1d", with_repeats(count=2), **SETS)
rows("numpy", "intersect1d setxor1d setdiff1d", with_repeats(count=2, ndim=1), **SETS)

rows("numpy", "packbits",
     of_array("bu", lambda d, x: (d.pick(None, d.axis(x.ndim)),), ndim=(1, 2), within=(0, 2),
              bitorder=("big", "little")))


def unpacked(x: np.ndarray, axis: Any = None, count: Any = None, **named: Any) -> Any:
    """With zeros after the bits: of no bytes NumPy's are whatever its memory held."""
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)
    more = 0 if count is None else max(0, count)
    padded = np.pad(x, [(0, more * (k == axis % x.ndim)) for k in range(x.ndim)])
    bits = 8 * x.shape[axis]
    length = bits if count is None else count if count >= 0 else max(0, bits + count)
    return np.take(np.unpackbits(padded, axis, **named), np.arange(length), axis)


rows("numpy", "unpackbits",
     lambda d: ((x := d.array("u", d.shape((1, 3)), (0, 255)).astype(np.uint8),),
                {"axis": d.pick(None, d.axis(x.ndim))}
                | d.some(bitorder=("big", "little"), count=(0, 5, -2, 11, 40))),
     numpy=unpacked)


def nearly(draw: Draw) -> Any:
    """Two arrays that are equal, or nearly so."""
    x = draw.array(ANY)
    return x, draw.pick(x, draw.values(x.dtype, x.shape), x[None], x + x.dtype.type(1))


def with_nan(draw: Draw) -> Any:
    return nearly(draw), draw.some(equal_nan=(True, False))


rows("numpy", "allclose array_equal", with_nan)
rows("numpy", "array_equiv", nearly)
rows("numpy", "shape ndim size iscomplexobj isrealobj", of_array(ANY), traced=True)
