"""Reductions over segments: rows of an array that have the same number belong together.

    data         1  2  3  4
    segment_ids  0  0  2  1      →   segment_sum(…) = 3  4  3

Numbers may come in any order; ``segment_sum`` is one scatter.
"""

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, with_parameters_of
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.number_info import iinfo
from covector.core.sharding.as_sharding import ShardingLike
from covector.dispatch.debug_nans import as_one
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    TypeMismatch,
)
from covector.lax.element_loops import associative_scan
from covector.numpy.axes import as_count, as_integer, with_out_sharding
from covector.numpy.updating import update
from covector.numpy.writing import ADD, MAXIMUM, MINIMUM, MULTIPLY
from covector.operations.broadcasting import ReduceSum
from covector.operations.reductions import ReduceMax, ReduceMin, ReduceProd
from covector.operations.windows import GatherScatterMode
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.transforms.derivatives import jvp

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: GatherScatterMode | str | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of the rows of each segment; 0 where there are none.

    Args:
      data: ``[n, ...]``; booleans are counted.
      segment_ids: ``[n]``, the segment of each row; rows whose segment is negative or
        not below ``num_segments`` are left out.
      num_segments: how many segments there are: by default as many as the largest
        number says, which must then be known.
      indices_are_sorted, unique_indices: promises about ``segment_ids``; where they are
        broken, the result is arbitrary.
      bucket_size: add up so many rows at a time, and then those sums, which rounds less
        where segments are long.
      mode: ``"clip"`` counts rows outside to the nearest segment;
        ``"promise_in_bounds"`` says that there are none.
      out_sharding: where the result is to be.

    Returns:
      ``[num_segments, ...]``, of the dtype of ``data``.

    Raises:
      TypeMismatch: there is not one number for each row.
      DTypeError: the numbers are not integers.
      ConcretizationTypeError: ``num_segments`` is missing where they are traced.

    >>> import covector.numpy as cnp
    >>> ids = cnp.array([0, 0, 2, 1])
    >>> print(segment_sum(cnp.array([1.0, 2.0, 3.0, 4.0]), ids, num_segments=4))
    [3. 4. 3. 0.]

    See also: ``segment_max``, ``covector.numpy.bincount``.
    """
    how = indices_are_sorted, unique_indices, bucket_size, mode, out_sharding
    return _reduced("segment_sum", data, segment_ids, num_segments, *how)


@with_parameters_of(segment_sum)
def segment_prod(*args: Any, **options: Any) -> Array:
    """The product of the rows of each segment; 1 where there are none.

    Arguments are those of ``segment_sum``. The derivative is right also where rows are
    zero: each row's is the product of the others.

    >>> import covector.numpy as cnp
    >>> print(segment_prod(cnp.array([2.0, 3.0, 5.0]), cnp.array([0, 0, 1])))
    [6. 5.]
    """
    return _reduced("segment_prod", *args, **options)


@with_parameters_of(segment_sum)
def segment_max(*args: Any, **options: Any) -> Array:
    """The largest row of each segment, element by element.

    Arguments are those of ``segment_sum``. A segment without rows has the least number
    of the dtype: −inf, the least integer, or False. NaN is larger than every number.
    Rows that tie share the derivative evenly.

    >>> import covector.numpy as cnp
    >>> print(segment_max(cnp.array([2.0, 3.0, 5.0]), cnp.array([0, 0, 2])))
    [  3. -inf   5.]

    See also: ``segment_sum``, ``segment_min``.
    """
    return _reduced("segment_max", *args, **options)


@with_parameters_of(segment_sum)
def segment_min(*args: Any, **options: Any) -> Array:
    """The smallest row of each segment, element by element.

    Arguments are those of ``segment_sum``. A segment without rows has the largest
    number of the dtype: inf, the largest integer, or True. NaN is smaller than every
    number. Rows that tie share the derivative evenly.

    >>> import covector.numpy as cnp
    >>> print(segment_min(cnp.array([2.0, 3.0, 5.0]), cnp.array([0, 0, 2])))
    [ 2. inf  5.]
    """
    return _reduced("segment_min", *args, **options)


# -- the reduction ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Segments:
    """The segments of rows, and how values are scattered to them."""

    who: str
    ids: Array
    count: int
    #: the bucket of each row, and how many there are
    buckets: tuple[np.ndarray, int] | None
    promises: dict[str, Any]

    def scatter(self, data: Array) -> Array:
        """The reduction, by one scatter."""
        change, reduce = _CHANGES[self.who]
        shape, index = (self.count, *data.shape[1:]), self.ids
        if self.buckets is not None:
            bucket, number = self.buckets
            shape, index = (number, *shape), (bucket, self.ids)
        empty = cnp.full(shape, _empty(self.who, data.dtype), data.dtype)
        found = update(
            empty, index, change, data, wrap_negative_indices=False, **self.promises
        )
        return found if self.buckets is None else reduce(found)

    def scanned_product(self, data: Array) -> Array:
        """The product, by a scan over the rows in the order of their segments.

        It multiplies each row only with others of its segment, so it can be
        differentiated where rows are zero.
        """
        if self.promises["mode"] in ("clip", GatherScatterMode.CLIP):
            ids = cnp.clip(self.ids, 0, self.count - 1)
        elif self.promises["mode"] == "wrap":
            ids = self.ids % max(self.count, 1)
        else:
            outside = (self.ids < 0) | (self.ids >= self.count)
            ids = cnp.where(outside, self.count, self.ids)
        order = cnp.argsort(ids)
        ids, rows = ids[order], data[order]
        first = cnp.concatenate([cnp.ones(1, bool), ids[1:] != ids[:-1]])
        first = first.reshape(-1, *[1] * (data.ndim - 1))

        def join(left: tuple[Array, Array], right: tuple[Array, Array]) -> Any:
            begins = left[0] | right[0]
            return begins, cnp.where(right[0], right[1], left[1] * right[1])

        _, products = associative_scan(join, (first, rows))
        numbers = cnp.arange(self.count)
        last = cnp.searchsorted(ids, numbers, side="right") - 1
        there = (last >= 0) & (ids[last] == numbers)
        there = there.reshape(-1, *[1] * (data.ndim - 1))
        return cnp.where(there, products[last], cnp.ones((), data.dtype))


_SIGNATURE = inspect.signature(segment_sum)
_CHANGES = {
    "segment_sum": (ADD, ReduceSum((0,))),
    "segment_prod": (MULTIPLY, ReduceProd((0,))),
    "segment_max": (MAXIMUM, ReduceMax((0,))),
    "segment_min": (MINIMUM, ReduceMin((0,))),
}


def _reduced(who: str, *args: Any, **options: Any) -> Array:
    """The reduction, for the arguments of ``segment_sum``."""
    bound = _SIGNATURE.bind(*args, **options)
    bound.apply_defaults()
    data, ids, count, is_sorted, unique, bucket_size, mode, out = bound.args
    data, ids = _operands(who, data, ids)
    promises = {"indices_are_sorted": is_sorted, "unique_indices": unique, "mode": mode}
    buckets = _buckets(who, ids.shape[0], bucket_size)
    segments = _Segments(who, ids, _count(who, ids, count), buckets, promises)
    overlap = data.size > 0 and not unique
    if who == "segment_prod" and overlap and dtypes.is_inexact(data.type.dtype):
        found = _product(segments, data)
    else:
        found = as_one(segments.scatter, data)
    return with_out_sharding(found, out)


def _product(segments: _Segments, data: Array) -> Array:
    """The product, whose derivative is that of the scan."""
    product = custom_jvp(segments.scatter)

    @product.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return product(*primals), jvp(segments.scanned_product, primals, tangents)[1]

    return product(data)


def _empty(who: str, dtype: Any) -> Any:
    """The value of a segment without rows: the neutral element."""
    if who in ("segment_sum", "segment_prod"):
        return int(who == "segment_prod")
    largest = who == "segment_min"
    if dtype is dtypes.bool_:
        return largest
    if dtypes.is_integer(dtype):
        return iinfo(dtype).max if largest else iinfo(dtype).min
    return np.inf if largest else -np.inf


def _operands(who: str, data: Any, ids: Any) -> tuple[Array, Array]:
    data, ids = as_array(data, who), as_array(ids, who)
    if not dtypes.is_integer(ids.type.dtype):
        raise DTypeError(
            f"{who} needs integers for the numbers of segments, but got {ids.type}."
        )
    if ids.ndim != 1 or ids.shape != data.shape[:1]:
        raise TypeMismatch(
            f"{who} needs the number of a segment for each row of the data, "
            f"{data.type}, but got {ids.type}."
        )
    if data.dtype == bool and who in ("segment_sum", "segment_prod"):
        data = data.astype(int)
    return data, ids


def _count(who: str, ids: Array, count: int | None) -> int:
    if count is None:
        if not isinstance(ids, ConcreteArray):
            raise ConcretizationTypeError(
                f"{who} of traced segment_ids ({ids.type}) needs num_segments: the "
                "shape of the result cannot depend on values that are not known."
            )
        return int(np.max(np.asarray(ids), initial=-1)) + 1
    return as_count(who, count, "num_segments")


def _buckets(who: str, rows: int, size: int | None) -> tuple[np.ndarray, int] | None:
    """The bucket of each row and how many there are; None if one is enough."""
    if size is None:
        return None
    if as_integer(who, size, "bucket_size") < 1:
        raise ArgumentError(f"{who}: bucket_size must be positive, but is {size}.")
    if rows <= size:
        return None
    return np.arange(rows, dtype=np.int32) // size, -(-rows // size)
