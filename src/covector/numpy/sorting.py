"""Sorting: ``sort``, ``argsort``, ``lexsort`` and ``partition``.

−0 and 0 are equal, NaN is larger than all numbers, and complex numbers are ordered by
their real parts, then by their imaginary parts. Equal elements keep their order.
"""

from typing import Any

from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.types import show_types
from covector.errors import ArgumentError, AxisError, TypeMismatch
from covector.numpy.axes import as_integer, canonical_axis
from covector.numpy.promote import inexact
from covector.numpy.reshaping import ravel
from covector.operations.arithmetic import sub
from covector.operations.broadcasting import filled
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.sorting import Sort
from covector.operations.transposing import Rev

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "partition",
    "sort",
    "sort_complex",
]


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """``a`` with its elements ascending along ``axis``, by default the last; NaN last.

    Derivatives follow the elements to their new positions.

    Args:
      axis: an axis, or None to ravel ``a`` first.
      descending: the opposite order, in which NaN comes first.
      stable: False allows equal elements to be exchanged.
      kind, order: NumPy's; must be None.

    Returns:
      An array of the shape and dtype of ``a``, or a vector where ``axis`` is None.

    Raises:
      AxisError: the array has no such axis.
      ArgumentError: ``kind`` or ``order`` is given.

    >>> import covector.numpy as cnp
    >>> print(cnp.sort(cnp.array([3.0, cnp.nan, 1.0])))
    [ 1.  3. nan]

    See also: ``argsort``, ``lexsort``, ``partition``, ``lax.top_k``.
    """
    x, k = _operand("sort", a, axis, kind, order)
    (out,) = Sort(k, bool(stable))(x)
    return Rev((k,))(out) if descending else out


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """The indices that sort ``a`` along ``axis``, by default the last.

    ``take_along_axis(a, argsort(a), -1)`` is sorted; ``argsort(argsort(a))`` are the
    ranks. Indices have no derivative.

    Args:
      axis: an axis, or None to ravel ``a`` first.
      dtype: of the indices; by default the default integer.
      stable, descending, kind, order: as for ``sort``.

    Returns:
      Integers of the shape of ``a``; 0 is the first position along ``axis``.

    Raises:
      AxisError: the array has no such axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.argsort(cnp.array([3, 1, 3, 2]), descending=True))
    [0 2 3 1]

    See also: ``sort``, ``take_along_axis``, ``lexsort``, ``argpartition``.
    """
    x, k = _operand("argsort", a, axis, kind, order)
    to = asked_dtype(int if dtype is None else dtype)
    positions = Iota(to, x.type.shape, k)()
    # Equal elements keep their order in the opposite direction too.
    x = Rev((k,))(x) if descending else x
    _, out = Sort(k, bool(stable))(x, positions)
    if not descending:
        return out
    last = filled(x.type.shape[k] - 1, out.type.with_shape(()))
    return sub(last, Rev((k,))(out))


def _operand(
    who: str, a: ArrayLike, axis: int | None, kind: Any, order: Any
) -> tuple[Any, int]:
    if kind is not None or order is not None:
        raise ArgumentError(
            f"{who} has one algorithm and no fields: kind and order must be None, but "
            f"are {kind!r} and {order!r}. Whether equal elements keep their order is "
            "`stable`."
        )
    x = as_array(a, who)
    if axis is None:
        return ravel(x), 0
    return x, canonical_axis(who, axis, x.type.ndim)


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The indices that sort by several keys: by the last, and where it ties the one
    before.

    Args:
      keys: arrays of one shape.

    >>> import covector.numpy as cnp
    >>> first, last = cnp.array([2, 1, 3]), cnp.array([5, 9, 5])
    >>> print(cnp.lexsort((first, last)))
    [0 2 1]
    """
    arrays = [as_array(key, "lexsort") for key in keys]
    if not arrays or len({x.type.shape for x in arrays}) > 1:
        raise TypeMismatch(
            "lexsort needs at least one key, and all of one shape, but got "
            f"{show_types(x.type for x in arrays) or 'none'}."
        )
    shape = arrays[0].type.shape
    dtype = dtypes.default_int(options.current().enable_x64)
    if not shape:
        return filled(0, arrays[0].type.with_dtype(dtype))
    k = canonical_axis("lexsort", axis, len(shape))
    positions = Iota(dtype, shape, k)()
    return Sort(k, True, len(arrays))(*arrays[::-1], positions)[-1]


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """``a`` with the element that belongs at ``kth`` there, smaller ones before it.

    >>> import covector.numpy as cnp
    >>> float(cnp.partition(cnp.array([7.0, 1.0, 5.0, 3.0]), 2)[2])
    5.0
    """
    x, k = _partitioned("partition", a, kth, axis)
    return Sort(k)(x)[0]


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that bring the element that belongs at ``kth`` there, smaller ones
    before.

    >>> import covector.numpy as cnp
    >>> int(cnp.argpartition(cnp.array([7.0, 1.0, 5.0, 3.0]), 3)[3])
    0
    """
    x, k = _partitioned("argpartition", a, kth, axis)
    return argsort(x, k)


def _partitioned(who: str, a: ArrayLike, kth: int, axis: int) -> tuple[Any, int]:
    x = as_array(a, who)
    k = canonical_axis(who, axis, x.type.ndim)
    kth = as_integer(who, kth, "kth")
    if not -x.type.shape[k] <= kth < x.type.shape[k]:
        raise AxisError(
            f"{who} of {x.type} along axis {k} has no index {kth}: its length is "
            f"{x.type.shape[k]}."
        )
    return x, k


def sort_complex(a: ArrayLike) -> Array:
    """``a`` as complex numbers, ascending along the last axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.sort_complex(cnp.array([3.0, 1.0])))
    [1.+0.j 3.+0.j]
    """
    x = inexact("sort_complex", a)
    if not dtypes.is_complex(x.type.dtype):
        wide = convert(x, dtypes.float32) if x.type.dtype.itemsize < 4 else x
        x = convert(wide, dtypes.complex_of(wide.type.dtype))
    return sort(x)
