"""Set operations: intersection, union, difference, membership."""

from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.concatenation import concatenate
from covector.numpy.fuse import fuse
from covector.numpy.indexing import index
from covector.numpy.indexing_take import take
from covector.numpy.nonzeros import compress
from covector.numpy.promote import promote_compared, promote_dtypes
from covector.numpy.reductions import any as any_of
from covector.numpy.reshaping import broadcast_to, ravel
from covector.numpy.searching import FEW, searchsorted
from covector.numpy.sorting import sort
from covector.numpy.unique_elements import different, differs_from_last, sorted_parts
from covector.operations.bitwise import and_, not_
from covector.operations.broadcasting import BroadcastInDim, filled
from covector.operations.comparison import eq
from covector.operations.selection import where
from covector.operations.sorting import Sort

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d"]


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is among ``test_elements``; NaN is not.

    Args:
      invert: whether it is not.
      assume_unique: not used.
      method: ``"compare_all"`` compares each pair, ``"binary_search"`` and ``"sort"``
        search among the sorted ones, ``"auto"`` chooses. The result is the same.

    >>> import covector.numpy as cnp
    >>> print(cnp.isin(cnp.array([1, 2, 3]), cnp.array([3, 1])))
    [ True False  True]
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ArgumentError(
            "isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', "
            f"but got {method!r}."
        )
    one = any([isinstance(z, int | np.integer) for z in (element, test_elements)])
    promote = promote_compared if one else promote_dtypes
    x, others = promote("isin", element, test_elements)
    others = ravel(others)
    n = others.type.size
    all_pairs = method == "compare_all" or (
        method == "auto" and type(n) is int and n <= FEW
    )
    return _isin(x, others, all_pairs=all_pairs, invert=bool(invert))


@fuse()
def _isin(x: Value, others: Value, *, all_pairs: bool, invert: bool) -> Array:
    """Whether each element is, or is not, among the others."""
    if all_pairs or not others.type.size:
        shape = (*x.type.shape, others.type.size)
        ours = BroadcastInDim(shape, tuple(range(x.type.ndim)))(x)
        theirs = BroadcastInDim(shape, (x.type.ndim,))(others)
        found = any_of(eq(ours, theirs), -1)
    else:
        ordered = sort(others)
        found = eq(take(ordered, searchsorted(ordered, x), mode="clip"), x)
    return not_(found) if invert else found


def union1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The different elements of both, ascending; ``size`` and ``fill_value`` as in
    ``unique``.

    >>> import covector.numpy as cnp
    >>> print(cnp.union1d(cnp.array([3, 1]), cnp.array([2, 3])))
    [1 2 3]
    """
    both = concatenate(promote_dtypes("union1d", ar1, ar2), None)
    return different(both, None, size, fill_value, True, positions=False)[0]


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The different elements of ``ar1`` that are not in ``ar2``, ascending.

    They keep the dtype of ``ar1``; they are compared in the common one.

    Args:
      assume_unique: whether no element of ``ar1`` occurs twice; they keep their order
        then.
      size: how many to list; without it, both must be known.
      fill_value: what to list if there are fewer; by default 0.

    >>> import covector.numpy as cnp
    >>> print(cnp.setdiff1d(cnp.array([3, 1, 2]), cnp.array([2])))
    [1 3]
    """
    x = ravel(as_array(ar1, "setdiff1d"))
    keep = isin(x, ar2, invert=True)
    if not assume_unique:
        x, keep = Sort(0)(x, keep)
        keep = and_(keep, differs_from_last(x, True))
    fill = 0 if fill_value is None else fill_value
    return compress(keep, x, size=size, fill_value=fill)


@with_parameters_of(setdiff1d)
def setxor1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, **listing: Any
) -> Array:
    """The different elements that are in just one of the two, ascending.

    Args:
      assume_unique: whether no element occurs twice in one of the two, so that those
        without an equal neighbour are the ones.
      size: how many to list; without it, both must be known.
      fill_value: what to list if there are fewer; by default the first.

    >>> import covector.numpy as cnp
    >>> print(cnp.setxor1d(cnp.array([3, 1]), cnp.array([2, 3])))
    [1 2]
    """
    x, y = [ravel(z) for z in promote_dtypes("setxor1d", ar1, ar2)]
    if assume_unique:
        both = sort(concatenate([x, y]))
        new = differs_from_last(both, False)
        last = filled(True, index(new, slice(1)).type)
        ends = concatenate([index(new, slice(1, None)), last])
        return _listed(and_(new, ends), both, **listing)
    alone = concatenate([isin(x, y, invert=True), isin(y, x, invert=True)])
    both, alone = Sort(0)(concatenate([x, y]), alone)
    keep = and_(alone, differs_from_last(both, True))
    return _listed(keep, both, **listing)


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """The different elements that are in both, ascending.

    Args:
      assume_unique: a promise that no array holds an element twice, for speed; where it
        is broken, elements can come twice.
      return_indices: also where the first of each is in ``ar1`` and in ``ar2``; their
        lengths where there are fewer than ``size``.
      size: how many to list; without it, both must be known.
      fill_value: what to list if there are fewer; by default the first.

    >>> import covector.numpy as cnp
    >>> print(cnp.intersect1d(cnp.array([3, 1, 3]), cnp.array([2, 3])))
    [3]
    """
    x, y = [ravel(z) for z in promote_dtypes("intersect1d", ar1, ar2)]
    if assume_unique and not return_indices:
        both = sort(concatenate([x, y]))
        again = not_(differs_from_last(both, False))
        last = filled(False, index(again, slice(1)).type)
        before = concatenate([index(again, slice(1, None)), last])
        return _listed(before, both, size, fill_value)
    ordered, order = sorted_parts(x)
    keep = and_(differs_from_last(ordered, True), isin(ordered, y))
    values = _listed(keep, ordered, size, fill_value)
    if not return_indices:
        return values
    in_x = compress(keep, order, size=size, fill_value=x.type.size)
    theirs, their_order = sorted_parts(y)
    at_y = take(their_order, searchsorted(theirs, ordered), mode="clip")
    return values, in_x, compress(keep, at_y, size=size, fill_value=y.type.size)


def _listed(
    keep: Value, values: Value, size: int | None = None, fill_value: Any = None
) -> Array:
    """The values to keep; the first of them, by default, where there are too few."""
    if size is None or fill_value is not None:
        fill = 0 if fill_value is None else fill_value
        return compress(keep, values, size=size, fill_value=fill)
    out = compress(keep, values, size=size)
    there = compress(keep, keep, size=size, fill_value=False)
    return where(there, out, broadcast_to(index(out, slice(1)), out.type.shape))
