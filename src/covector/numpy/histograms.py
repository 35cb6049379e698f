"""Histograms and counts: ``bincount``, ``histogram``, ``digitize``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, HostArray, Shape, Value
from covector.core.array_like import Array, link
from covector.core.convert import as_array, scalar
from covector.core.host_values import plain
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    TypeMismatch,
    how_many,
)
from covector.numpy.axes import as_count, as_integer, beside, with_out_sharding
from covector.numpy.concatenation import stack
from covector.numpy.differences import diff
from covector.numpy.fuse import fuse
from covector.numpy.indexing import index
from covector.numpy.promote import (
    inexact,
    inexact_dtype,
    promote_dtypes,
    promote_dtypes_inexact,
)
from covector.numpy.ranges import linspace
from covector.numpy.reshaping import ravel, reshape
from covector.numpy.searching import index_dtype, searchsorted
from covector.numpy.updating import at
from covector.numpy.xp_function import XpArray, xp_function
from covector.operations.arithmetic import div, mul, sub
from covector.operations.bitwise import and_
from covector.operations.broadcasting import ReduceSum, filled, zeros
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, le
from covector.operations.extrema import max_
from covector.operations.families import widened
from covector.operations.selection import where
from covector.operations.transposing import Rev

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The counts of 0, 1, 2, … in ``x``; negative numbers count as 0.

    Args:
      x: integers along one axis.
      weights: what each counts; by default 1.
      minlength: the least length of the result, which otherwise is max(x) + 1.
      length: the length of the result, which is needed where ``x`` is traced; larger
        numbers are left out.
      out_sharding: where the result is to be.

    Raises:
      ConcretizationTypeError: ``x`` is traced, and there is no ``length``.
      DTypeError: ``x`` holds no integers.
      TypeMismatch: ``x`` has not one axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.bincount(cnp.array([1, 3, 1])))
    [0 2 0 1]

    See also: ``histogram``, ``digitize``, ``ops.segment_sum``.
    """
    numbers = as_array(x, "bincount")
    if not (
        dtypes.is_integer(numbers.type.dtype) or dtypes.is_bool(numbers.type.dtype)
    ):
        raise DTypeError(f"bincount counts integers, but got {numbers.type}.")
    if numbers.type.ndim != 1:
        raise TypeMismatch(
            f"bincount needs an array with one axis, but got {numbers.type}."
        )
    dtype = index_dtype()
    numbers = max_(convert(numbers, dtype), scalar(0, dtype))
    if length is None:
        length = _bincount_length(numbers, as_count("bincount", minlength, "minlength"))
    else:
        length = as_count("bincount", length, "length")
    if weights is None:
        each = scalar(1, dtype)
    else:
        each = as_array(weights, "bincount")
        if each.type.shape != numbers.type.shape:
            raise TypeMismatch(
                f"bincount of {numbers.type} needs a weight for each number, but got "
                f"{each.type}."
            )
    counts = _totals("bincount", (length,), (numbers,), each)
    return with_out_sharding(counts, out_sharding)


def _totals(who: str, shape: Shape, cells: tuple[Array, ...], each: Array) -> Array:
    """The sum of ``each`` in the cells of an array, which is where they are."""
    none = beside(who, zeros(ArrayType(shape, each.type.dtype)), *cells)
    return at(none)[cells].add(each)


def _bincount_length(numbers: Value, minlength: int) -> int:
    if isinstance(numbers, Tracer):
        raise ConcretizationTypeError(
            f"bincount of traced numbers ({numbers.type}): the largest, and so the "
            f"length of the result, is not known. {numbers.origin()} Say it with "
            "length=."
        )
    values = np.asarray(numbers)
    largest = int(values.max()) + 1 if values.size else 0
    return largest if largest > minlength else minlength


def digitize(
    x: ArrayLike,
    bins: int | ArrayLike | Sequence[Any],
    right: bool = False,
    *,
    method: str | None = None,
) -> Array:
    """The number of the bin that each element lies in, 0 standing for before the first.

    Args:
      bins: edges along one axis, ascending or descending. If they are traced, that
        is not checked.
      right: whether a bin includes its right edge instead of its left one.
      method: how to search; see ``searchsorted``.

    >>> import covector.numpy as cnp
    >>> print(cnp.digitize(cnp.array([0.5, 2.0, 9.0]), cnp.array([1.0, 2.0, 3.0])))
    [0 2 3]
    """
    values, edges = promote_dtypes("digitize", x, bins)
    if edges.type.ndim != 1:
        raise TypeMismatch(
            f"digitize needs edges along one axis, but got {edges.type}."
        )
    _check_edges("digitize", edges, either_way=True)
    how = "scan" if method is None else method
    n = edges.type.size
    side = "left" if right else "right"
    up = searchsorted(edges, values, side, method=how)
    if not n:
        return up
    turned = Rev((0,))(edges)
    down = searchsorted(turned, values, side, method=how)
    down = sub(scalar(n, down.type.dtype), down)
    return where(ge(index(edges, -1), index(edges, 0)), up, down)


def _check_edges(who: str, edges: Value, either_way: bool = False) -> None:
    """Raise where edges that are known do not ascend, nor descend if they may."""
    if isinstance(edges, Tracer) or edges.type.size < 2:
        return
    values = np.asarray(edges)
    before, after = values[:-1], values[1:]
    if (before <= after).all() or (either_way and (before >= after).all()):
        return
    order = "ascend or descend" if either_way else "ascend"
    raise ArgumentError(f"{who} needs edges that {order}, but got {values.tolist()}.")


# -- histograms ------------------------------------------------------------------------


def histogram_bin_edges(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The edges of the bins that ``histogram`` counts in.

    Args:
      bins: how many, of equal width; or the edges.
      range: where the first begins and the last ends; by default the extrema of ``a``,
        and 0 and 1 where it is empty.
      weights: not used.

    >>> import covector.numpy as cnp
    >>> print(cnp.histogram_bin_edges(cnp.array([0.0, 1.0, 4.0]), 2))
    [0. 2. 4.]
    """
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram_bin_edges needs a number of bins, or edges, but got {bins!r}: "
            "how many bins suit the values would be a shape that depends on them."
        )
    values = as_array(a, "histogram_bin_edges")
    given = as_array(bins, "histogram_bin_edges")
    if given.type.ndim == 1:
        _check_edges("histogram_bin_edges", given)
        return given
    if range is None and values.type.size:
        working = inexact_dtype(values.type.dtype, values.type.weak)
        low, high = _extrema(values, dtype=working)
    else:
        bounds = (0, 1) if range is None else range
        _check_range(bounds)
        _, low, high = promote_dtypes_inexact("histogram_bin_edges", values, *bounds)
        low, high = _apart(link.numpy, low, high)
    count = as_integer("histogram_bin_edges", bins, "bins")
    if count < 1:
        raise ArgumentError(
            f"histogram_bin_edges needs one bin at least, but got bins={count}."
        )
    edges = linspace(low, high, count + 1, dtype=low.type.dtype)
    return beside("histogram_bin_edges", edges, values)


def _check_range(bounds: Sequence[Any]) -> None:
    """Raise where known bounds are not finite, or not in order."""
    if len(bounds) != 2:
        raise ArgumentError(f"histograms need a range of two bounds, but got {bounds}.")
    if any([isinstance(bound, Tracer) for bound in bounds]):
        return
    low, high = [np.asarray(bound, np.float64) for bound in bounds]
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise ArgumentError(
            "histograms need a range of two finite numbers, the smaller one first, but "
            f"got {tuple([bound.tolist() for bound in (low, high)])}."
        )


@xp_function
def _extrema(xp: Any, x: XpArray, *, dtype: DType) -> tuple[Any, Any]:
    """The least and the largest element in this dtype, or numbers around both."""
    return _apart(xp, x.min().astype(dtype), x.max().astype(dtype))


def _apart(xp: Any, low: XpArray, high: XpArray) -> tuple[Any, Any]:
    """Two bounds, half a unit to each side of them where they are equal."""
    same, half = low == high, low.dtype.type(0.5)
    return xp.where(same, low - half, low), xp.where(same, high + half, high)


def histogram(
    a: ArrayLike,
    bins: int | ArrayLike | Sequence[Any] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """The number of elements in each bin, and the edges of the bins.

    A bin includes its left edge; the last one includes both.

    Args:
      bins, range: as for ``histogram_bin_edges``.
      weights: what each element counts; of the shape of ``a``.
      density: whether counts are divided by their sum and by the widths of the bins.

    >>> import covector.numpy as cnp
    >>> counts, edges = cnp.histogram(cnp.array([0.0, 1.0, 4.0]), 2)
    >>> print(counts, edges)
    [2. 1.] [0. 2. 4.]
    """
    edges = histogram_bin_edges(a, bins, range)
    if weights is None:
        values = ravel(inexact("histogram", a))
        each = filled(1, values.type.strong())
    else:
        values, each = [
            ravel(x) for x in promote_dtypes_inexact("histogram", a, weights)
        ]
    if each.type.shape != values.type.shape:
        raise TypeMismatch(
            f"histogram of {how_many(values.type.size, 'element')} needs a weight for "
            f"each, but got {each.type.size}."
        )
    values, common = promote_dtypes("histogram", values, inexact("histogram", edges))
    return _counts(values, common, each, density=bool(density)), edges


def _counts_on_host(
    values: HostArray, edges: HostArray, each: HostArray, *, density: bool
) -> HostArray:
    """``_counts`` of NumPy arrays."""
    position = np.searchsorted(widened(edges), widened(values), "right") - 1
    position[values == edges[-1]] = len(edges) - 2
    inside = (values >= edges[0]) & (values <= edges[-1])
    inside &= (position >= 0) & (position < len(edges) - 1)  # unless there is none
    counts = np.zeros(len(edges) - 1, each.dtype)
    np.add.at(counts, position[inside], each[inside])
    if not density:
        return counts
    widths = (edges[1:] - edges[:-1]).astype(counts.dtype)
    return counts / (widths * ReduceSum((0,)).on_host(counts))


@fuse(host=_counts_on_host)
def _counts(values: Value, edges: Value, each: Value, *, density: bool) -> Array:
    """The total weight of the values in each bin."""
    position, inside = _bin_of(values, edges)
    each = where(inside, each, scalar(0, each.type.dtype))
    count = edges.type.size - 1
    counts = _totals("histogram", (count,), (position,), each)
    if not density:
        return counts
    widths = convert(diff(edges), counts.type.dtype)
    return div(counts, mul(widths, ReduceSum((0,))(counts)))


def _bin_of(values: Value, edges: Value) -> tuple[Array, Array]:
    """The bin of each value, and whether it lies in one at all."""
    first, last = index(edges, 0), index(edges, -1)
    position = searchsorted(edges, values, "right")
    one = scalar(1, position.type.dtype)
    top = scalar(edges.type.size - 2, position.type.dtype)
    position = where(eq(values, last), top, sub(position, one))
    return position, and_(ge(values, first), le(values, last))


def histogramdd(
    sample: Any,
    bins: int | ArrayLike | Sequence[Any] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """The number of points in each cell of a grid, and the edges along each dimension.

    Args:
      sample: ``[points, dimensions]``, or a sequence of coordinates for each dimension.
      bins, range: as for ``histogram``, for all dimensions; or a list with one for
      each.
      weights: what each point counts.
      density: whether counts are divided by their sum and by the sizes of the cells.

    >>> import covector.numpy as cnp
    >>> points = cnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> cnp.histogramdd(points, 2)[0].tolist()
    [[1, 0], [1, 1]]
    """
    if isinstance(sample, list | tuple):
        sample = stack(sample, axis=-1)
    points = inexact("histogramdd", sample)
    if points.type.ndim != 2:
        raise TypeMismatch(f"histogramdd needs points in rows, but got {points.type}.")
    n, dims = points.type.shape
    bins_of = _for_each("bins", bins, dims)
    ranges = [None] * dims if range is None else _for_each("range", range, dims)
    edges, cells, inside = [], [], None
    for k, (given, bounds) in enumerate(zip(bins_of, ranges, strict=True)):
        column = index(points, (slice(None), k))
        edge = histogram_bin_edges(column, given, bounds)
        position, ok = _bin_of(
            *promote_dtypes("histogramdd", column, inexact("histogramdd", edge))
        )
        edges.append(edge)
        cells.append(position)
        inside = ok if inside is None else and_(inside, ok)
    each = _weight_of_points(weights, inside, n)
    shape = tuple([e.type.size - 1 for e in edges])
    counts = _totals("histogramdd", shape, tuple(cells), each)
    if density:
        counts = _per_volume(counts, edges)
    return counts, edges


def _for_each(who: str, given: Any, dims: int) -> Sequence[Any]:
    """One for each dimension, of a list with as many, or one for all."""
    if not isinstance(given, list | tuple):
        return [given] * dims
    if len(given) != dims:
        raise ArgumentError(
            f"histogramdd in {how_many(dims, 'dimension')} needs one of {who} for "
            f"each, but got {len(given)}."
        )
    return given


def _weight_of_points(weights: Any, inside: Any, n: int) -> Array:
    """The weight of each point: zero outside the grid."""
    if weights is None:
        return convert(inside, index_dtype())
    each = as_array(weights, "histogramdd")
    if each.type.shape != (n,):
        raise TypeMismatch(
            f"histogramdd of {how_many(n, 'point')} needs a weight for each, but got "
            f"{each.type}."
        )
    return where(inside, each, scalar(0, each.type.dtype))


def _per_volume(counts: Any, edges: list[Any]) -> Any:
    """Counts divided by their sum and by the sizes of the cells."""
    total = ReduceSum(tuple(range(counts.type.ndim)))(counts)
    out = counts / total
    for k, edge in enumerate(edges):
        widths = [1] * len(edges)
        widths[k] = -1
        out = out / reshape(diff(edge), tuple(widths))
    return out


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | ArrayLike | Sequence[Any] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """The number of points in each cell of a plane, and the edges in x and in y.

    Args:
      x, y: the coordinates of the points.
      bins: how many, or edges, for both directions; or a list with those of each.
      range, weights, density: as for ``histogramdd``.

    >>> import covector.numpy as cnp
    >>> x, y = cnp.array([0.0, 1.0, 1.0]), cnp.array([0.0, 0.0, 1.0])
    >>> cnp.histogram2d(x, y, 2)[0].tolist()
    [[1, 0], [1, 1]]
    """
    points = stack(promote_dtypes("histogram2d", x, y), axis=-1)
    if isinstance(bins, list | tuple) and len(bins) not in (1, 2):
        bins = [as_array(plain(bins), "histogram2d")] * 2
    counts, (x_edges, y_edges) = histogramdd(points, bins, range, weights, density)
    return counts, x_edges, y_edges
