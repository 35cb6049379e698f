"""Searches: argmax and argmin, and positions in sorted arrays.

How many elements are not zero is a shape, so it must be known: the array is concrete,
or ``size`` says how many to list.
"""

from typing import Any

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, HostArray, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.number_info import iinfo
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.dispatch.debug_nans import as_one
from covector.errors import ArgumentError, IntegerOverflow, TypeMismatch
from covector.numpy.axes import beside, canonical_axis, check_no_out
from covector.numpy.fuse import fuse
from covector.numpy.indexing import index
from covector.numpy.indexing_take import take
from covector.numpy.promote import promote_bounds, promote_dtypes
from covector.numpy.reduction_base import kept_shape
from covector.numpy.reshaping import ravel, reshape
from covector.numpy.sorting import argsort
from covector.operations.argmax import Argmax, Argmin
from covector.operations.arithmetic import add, sub
from covector.operations.bitwise import and_, not_, or_
from covector.operations.broadcasting import BroadcastInDim, ReduceSum, zeros
from covector.operations.casting import convert
from covector.operations.comparison import eq, le, lt, ne
from covector.operations.complex import imag, real
from covector.operations.families import widened
from covector.operations.gathering import Gather
from covector.operations.joining import Concatenate
from covector.operations.ordering import order_key
from covector.operations.reductions import ReduceAnd, highest, lowest
from covector.operations.selection import where
from covector.operations.transposing import Reshape
from covector.operations.windows import GatherDimensionNumbers, GatherScatterMode

__all__ = [
    "argmax",
    "argmin",
    "nanargmax",
    "nanargmin",
    "searchsorted",
]


def index_dtype() -> np.dtype[Any]:
    """The element type of indices: the default integer."""
    return dtypes.default_int(options.current().enable_x64)


# -- extrema ---------------------------------------------------------------------------


def argmax(
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Array:
    """The index of the first largest element along ``axis``, or of the first NaN.

    Indices have no derivative: ``grad`` through them is 0. ``nn.softmax`` is a smooth
    choice, and ``max`` has the derivative of the value.

    Args:
      axis: None gives the index in ``a`` raveled; ``unravel_index`` splits it.
      out: must be None.
      keepdims: whether the axis stays, with length 1.

    Returns:
      Integers, without that axis or with it at length 1.

    Raises:
      ArgumentError: there is no element.

    >>> import covector.numpy as cnp
    >>> print(cnp.argmax(cnp.array([[1, 5], [7, 2]]), axis=1))
    [1 0]

    See also: ``max``, ``argmin``, ``nanargmax``, ``take_along_axis``.
    """
    return _position_of("argmax", Argmax, a, axis, out, keepdims)


@with_parameters_of(argmax)
def argmin(*args: Any, **options: Any) -> Array:
    """The index of the first smallest element along ``axis``, or of the first NaN.

    Arguments are those of ``argmax``.

    Args:
      a: numbers.
      axis, out, keepdims: as for ``argmax``.

    Returns:
      Integers, without that axis or with it at length 1.

    Raises:
      ArgumentError: there is no element.

    >>> import covector.numpy as cnp
    >>> print(cnp.argmin(cnp.array([[1, 5], [7, 2]]), axis=1))
    [0 1]

    See also: ``min``, ``argmax``, ``nanargmin``.
    """
    return _position_of("argmin", Argmin, *args, **options)


def _position_of(
    who: str, op: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = None
) -> Any:
    check_no_out(who, out)
    x = as_array(a, who)
    shape = x.type.shape
    if axis is None:
        x, k, kept = ravel(x), 0, (1,) * len(shape)
    else:
        k = canonical_axis(who, axis, len(shape))
        kept = kept_shape(shape, (k,))
    if x.type.shape[k] == 0:
        raise ArgumentError(
            f"{who} of {x.type} along an axis of length 0: there is no element."
        )
    position = op(k, index_dtype())(x)
    return Reshape(kept)(position) if keepdims else position


@with_parameters_of(argmax)
def nanargmax(*args: Any, **options: Any) -> Array:
    """The index of the largest element that is not NaN along ``axis``; −1 if all are.

    Arguments are those of ``argmax``.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanargmax(cnp.array([1.0, cnp.nan, 3.0])))
    2
    """
    return _nan_position("nanargmax", Argmax, *args, **options)


@with_parameters_of(argmax)
def nanargmin(*args: Any, **options: Any) -> Array:
    """The index of the smallest element that is not NaN along ``axis``; −1 if all are.

    Arguments are those of ``argmax``.

    >>> import covector.numpy as cnp
    >>> print(cnp.nanargmin(cnp.array([2.0, cnp.nan, 3.0])))
    0
    """
    return _nan_position("nanargmin", Argmin, *args, **options)


def _nan_position(
    who: str, op: Any, a: Any, axis: Any = None, *args: Any, **options: Any
) -> Any:
    x = as_array(a, who)
    if not dtypes.is_inexact(x.type.dtype):
        return _position_of(who, op, x, axis, *args, **options)

    def position_of(x: Any) -> Any:
        missing = ne(x, x)
        last = lowest(x.type.dtype) if op is Argmax else highest(x.type.dtype)
        known = where(missing, scalar(last, x.type.dtype), x)
        position = _position_of(who, op, known, axis, *args, **options)
        axes = tuple(range(x.type.ndim)) if axis is None else (axis % x.type.ndim,)
        none = (
            Reshape(position.type.shape)(ReduceAnd(axes)(missing)) if axes else missing
        )
        return where(none, scalar(-1, position.type.dtype), position)

    return as_one(position_of, x)


# -- indices in sorted arrays ----------------------------------------------------------

#: elements up to which each is compared, in place of a search
FEW = 32
_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: Any = None,
    *,
    method: str = "scan",
) -> Array:
    """The indices at which elements would be inserted so that ``a`` stays sorted.

    Whether ``a`` is sorted is not checked; if it is not, the result means nothing.

    Args:
      a: one axis, ascending, NaN last.
      v: the elements, of any shape.
      side: ``"left"``: before equal elements; ``"right"``: after them.
      sorter: indices that sort ``a``, if it is not sorted.
      method: ``"compare_all"`` compares each pair, ``"sort"`` sorts both together; the
        others search. The result is the same.

    Returns:
      The shape of ``v``; the default integer, or int64 if ``a`` is too long for it.

    Raises:
      ArgumentError: ``side`` or ``method`` is none of these.

    >>> import covector.numpy as cnp
    >>> print(cnp.searchsorted(cnp.array([1, 3, 3, 5]), cnp.array([3, 9])))
    [1 4]

    See also: ``sort``, ``digitize``, ``histogram``, ``interp``.
    """
    if side not in ("left", "right") or method not in _METHODS:
        raise ArgumentError(
            "searchsorted: side must be 'left' or 'right', and method one of "
            f"{_METHODS}, but got {side!r} and {method!r}."
        )
    try:
        x, queries = promote_dtypes("searchsorted", a, v)
    except IntegerOverflow:
        if not isinstance(v, int | np.integer):
            raise
        # Beyond all that the dtype has: before or after all elements.
        side = "right" if v > 0 else "left"
        x, queries = promote_bounds("searchsorted", a, v, upper=bool(v > 0))
    if x.type.ndim != 1:
        raise TypeMismatch(
            f"searchsorted needs an array with one axis, but got {x.type}."
        )
    if sorter is not None:
        x = take(x, _order("searchsorted", x, sorter))
    if not x.type.size:
        none = zeros(ArrayType(queries.type.shape, index_dtype()))
        return beside("searchsorted", none, x, queries)
    is_symbolic = type(x.type.size) is not int  # a search needs to know how far to go
    few = not is_symbolic and x.type.size <= FEW
    all_pairs = method == "compare_all" or few
    if not all_pairs and (method == "sort" or is_symbolic):
        found = _search_by_sorting(x, queries, side)
    else:
        found = _search(x, queries, side=side, all_pairs=all_pairs)
    return convert(found, np.promote_types(found.type.dtype, index_dtype()))


def _order(who: str, x: Value, sorter: Any) -> Array:
    """The argument ``sorter``: an index for each element of ``x``."""
    order = as_array(sorter, who)
    if not dtypes.is_integer(order.type.dtype) or order.type.shape != x.type.shape:
        raise TypeMismatch(
            f"{who} in {x.type} needs a sorter of as many integers, such as "
            f"argsort(a), but got {order.type}."
        )
    return order


def _search_on_host(
    a: HostArray, v: HostArray, *, side: Any, all_pairs: bool
) -> HostArray:
    if dtypes.is_complex(a.dtype):
        a, v = _ranks_on_host(a, v)
    # NumPy knows where NaN belongs among its dtypes only.
    positions = np.searchsorted(widened(a), widened(v), side)
    return np.asarray(positions).astype(_dtype_of_positions(len(a)))


def _ranks_on_host(a: HostArray, v: HostArray) -> list[HostArray]:
    """Integers in the order of complex numbers: by real, then by imaginary parts."""
    both: Any = np.concatenate([a, v.ravel()])
    (_, rank), (_, rank_of_imaginary) = (
        np.unique(part, return_inverse=True) for part in (both.real, both.imag)
    )
    ranks = rank * both.size + rank_of_imaginary
    return [ranks[: a.size], ranks[a.size :].reshape(v.shape)]


def _dtype_of_positions(n: int) -> Any:
    """The dtype that counts up to ``n``: int32, unless the array is longer."""
    is_long = type(n) is int and n > iinfo(dtypes.int32).max
    return dtypes.int64 if is_long else dtypes.int32


@fuse(host=_search_on_host)
def _search(a: Value, v: Value, *, side: str, all_pairs: bool) -> Array:
    """The number of elements of ``a`` before each of ``v``.

    The search halves the number of elements that it is still about. It is the same for
    all of ``v``, so that no index has to be kept inside of ``a``.
    """
    n, dtype = a.type.size, _dtype_of_positions(a.type.size)
    if all_pairs:
        shape = (*v.type.shape, n)
        pairs = BroadcastInDim(shape, (len(shape) - 1,))(a)
        others = BroadcastInDim(shape, tuple(range(len(shape) - 1)))(v)
        return ReduceSum((len(shape) - 1,))(
            convert(_before(pairs, others, side), dtype)
        )
    lefts = [n >> k for k in range(n.bit_length())]
    first, *others = [(left + 1) // 2 for left in lefts]

    def step(a: Value, v: Value, found: Value, half: Value) -> list[Array]:
        further = add(found, half)
        last = sub(further, scalar(1, dtype))
        return [where(_before(_element(a, last), v, side), further, found)]

    half = scalar(first, dtype)
    (found,) = step(a, v, zeros(ArrayType(v.type.shape, dtype)), half)
    types = [x.type for x in (a, v, found, half)]
    from covector.programs.control_flow.scan import Scan  # noqa: PLC0415  for many only

    search = Scan(stage(step, types, "searchsorted").jaxpr, len(others), 2, 1)
    return search(a, v, found, as_array(np.array(others, dtype)))[0]


def _search_by_sorting(a: Value, v: Value, side: str) -> Any:
    """The indices among both, sorted together, less those among the elements of
    ``v``.
    """
    queries = ravel(v)
    count = queries.type.size
    both = (queries, a) if side == "left" else (a, queries)
    among_both = _ranks(Concatenate(0)(*both))
    start = 0 if side == "left" else a.type.size
    among_both = index(among_both, slice(start, start + count))
    positions = sub(among_both, _ranks(queries))
    return reshape(convert(positions, _dtype_of_positions(a.type.size)), v.type.shape)


def _ranks(x: Value) -> Any:
    """The index that each element has in the sorted array."""
    return argsort(argsort(x))


def _element(a: Value, positions: Any) -> Any:
    """The elements of ``a`` at indices, which are inside of it."""
    numbers = GatherDimensionNumbers((), (0,), (0,))
    gather = Gather(numbers, (1,), mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    return gather(a, Reshape((*positions.type.shape, 1))(positions))


def _before(a: Value, v: Value, side: str) -> Array:
    """Whether ``a`` stands before ``v``, which is inserted on this side of equal
    ones.
    """
    if dtypes.is_complex(a.type.dtype):
        return _before_by_parts(a, v, side)
    answer = lt(a, v) if side == "left" else le(a, v)
    if not dtypes.is_inexact(a.type.dtype):
        return answer
    missing = ne(v, v)
    if side == "left":
        missing = and_(missing, not_(ne(a, a)))
    return or_(answer, missing)


def _before_by_parts(a: Value, v: Value, side: str) -> Array:
    """``_before`` of complex numbers: by real, then by imaginary parts."""
    (re_a, re_v), (im_a, im_v) = (
        [order_key(part(x)) for x in (a, v)] for part in (real, imag)
    )
    later = lt(im_a, im_v) if side == "left" else le(im_a, im_v)
    return or_(lt(re_a, re_v), and_(eq(re_a, re_v), later))
