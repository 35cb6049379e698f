"""Splitting of arrays along an axis."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, AxisError
from covector.numpy.axes import as_integer, canonical_axis
from covector.operations.joining import Split, Unstack

__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]


def split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Consecutive parts of ``ary`` along ``axis``, as a list.

    Args:
      indices_or_sections: how many parts of equal length, or the increasing indices
        where each part but the first begins (not lengths). Known under ``jit``.
      axis: along which to cut.

    Returns:
      A list of arrays; parts beyond the end are empty.

    Raises:
      ArgumentError: the length cannot be divided equally, or the indices are out of
        order.

    >>> import covector.numpy as cnp
    >>> [part.tolist() for part in cnp.split(cnp.arange(5), [1, 3])]
    [[0], [1, 2], [3, 4]]

    See also: ``array_split`` (of unequal length), ``unstack``, ``concatenate``.
    """
    return _split("split", ary, indices_or_sections, axis, equal=True)


def array_split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """``split`` also where n parts cannot be equally long: the first ones are longer.

    >>> import covector.numpy as cnp
    >>> [part.tolist() for part in cnp.array_split(cnp.arange(5), 3)]
    [[0, 1], [2, 3], [4]]

    See also: ``split``, ``unstack``.
    """
    return _split("array_split", ary, indices_or_sections, axis)


def hsplit(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike
) -> list[Array]:
    """``split`` along the second axis, or the first if it is the only one.

    >>> import covector.numpy as cnp
    >>> [part.shape for part in cnp.hsplit(cnp.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = as_array(ary, "hsplit")
    return _split("hsplit", x, indices_or_sections, int(x.ndim > 1), equal=True)


def vsplit(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike
) -> list[Array]:
    """``split`` along the first axis.

    >>> import covector.numpy as cnp
    >>> [part.shape for part in cnp.vsplit(cnp.ones((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    return _split("vsplit", ary, indices_or_sections, 0, equal=True)


def dsplit(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike
) -> list[Array]:
    """``split`` along the third axis.

    >>> import covector.numpy as cnp
    >>> [part.shape for part in cnp.dsplit(cnp.ones((2, 1, 4)), [3])]
    [(2, 1, 3), (2, 1, 1)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, equal=True)


def _split(
    who: str,
    ary: ArrayLike,
    indices_or_sections: Any,
    axis: int,
    *,
    equal: bool = False,
) -> list[Array]:
    x = as_array(ary, who)
    k = canonical_axis(who, axis, x.type.ndim)
    n = x.type.shape[k]
    if isinstance(indices_or_sections, Sequence) or np.ndim(indices_or_sections) == 1:
        positions = [
            as_integer(who, i, "indices_or_sections") for i in indices_or_sections
        ]
        ends = [min(max(i + n if i < 0 else i, 0), n) for i in positions]
    else:
        ends = _even_ends(
            who, n, as_integer(who, indices_or_sections, "indices_or_sections"), equal
        )
    sizes = tuple([b - a for a, b in pairwise([0, *ends, n])])
    if min(sizes) < 0:
        raise ArgumentError(
            f"{who} needs increasing indices to cut at, but got {indices_or_sections} "
            f"for an axis of length {n}."
        )
    return list(Split(sizes, k)(x))


def _even_ends(who: str, n: int, count: int, equal: bool) -> list[int]:
    """The end of each part but the last."""
    if count < 1 or (equal and n % count):
        raise ArgumentError(
            f"{who} cannot divide an axis of length {n} into {count} equal parts"
            + (
                ", for there must be at least one."
                if count < 1
                else "; array_split can."
            )
        )
    size, longer = divmod(n, count)
    return [k * size + min(k, longer) for k in range(1, count)]


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of ``x`` for each position along ``axis``, without that axis.

    >>> import covector.numpy as cnp
    >>> [part.tolist() for part in cnp.unstack(cnp.array([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    x = as_array(x, "unstack")
    if not x.type.ndim:
        raise AxisError(
            f"unstack needs an array with at least one axis, but got {x.type}."
        )
    return tuple(Unstack(canonical_axis("unstack", axis, x.type.ndim))(x))
