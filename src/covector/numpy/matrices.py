"""Matrices by their diagonals and triangles: ``diag``, ``eye``, ``tril`` and the like.

k = 1   ·  0  ·  ·       Diagonals are counted from the main one: k = j − i for the
k = 0   0  ·  ·  ·       element in row i and column j. ``_mask`` compares that with a
        ·  ·  ·  ·       number, and all else here follows.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype, scalar
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.trace import Tracer
from covector.errors import ArgumentError, AxisError, TypeMismatch, how_many
from covector.lowering.evaluate import at_hand
from covector.numpy.axes import (
    as_count,
    as_integer,
    canonical_axis,
    check_not_inplace,
)
from covector.numpy.axis_order import moveaxis
from covector.numpy.creation import asarray, placed
from covector.numpy.filling import ones
from covector.numpy.ranges import arange
from covector.numpy.selection import where
from covector.operations.creation import Iota
from covector.operations.selection import ones_where
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Reshape

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "mask_indices",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
]


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: ShardingLike | None = None,
) -> Array:
    """The identity matrix ``[N, N]``, or ``[N, M]`` with ones on one diagonal.

    Args:
      N, M: lengths, which must be known under ``jit``.
      k: which diagonal: 0 the main one, positive ones above it, negative ones below.
      dtype: float32 by default.
      device: where the matrix is to be.

    Returns:
      A matrix of ones and zeros.

    Raises:
      ArgumentError: a length is negative.

    >>> print(eye(2, 3, k=1))
    [[0. 1. 0.]
     [0. 0. 1.]]

    See also: ``identity``, ``diag``, ``tri``.
    """
    ones_there = _ones("eye", N, N if M is None else M, operator.eq, k, dtype)
    return placed(ones_there, device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The identity matrix ``[n, n]``; float32 by default.

    >>> print(identity(2, int))
    [[1 0]
     [0 1]]
    """
    return _ones("identity", n, n, operator.eq, 0, dtype)


def tri(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None
) -> Array:
    """Ones on the diagonal k and below, zeros above: ``[N, M]``; float32 by default.

    >>> print(tri(2, 3))
    [[1. 0. 0.]
     [1. 1. 0.]]
    """
    return _ones("tri", N, N if M is None else M, operator.le, k, dtype)


def tril(m: ArrayLike, k: int = 0) -> Array:
    """The lower triangle of matrices ``[..., n, m]``: zeros above the diagonal k.

    Args:
      m: one matrix, or a stack of them.
      k: 0 for the main diagonal, positive for one above it, negative for one below.

    Returns:
      An array of the shape and dtype of ``m``.

    Raises:
      AxisError: the array has fewer than two axes.

    >>> print(tril(ones((2, 3))))
    [[1. 0. 0.]
     [1. 1. 0.]]

    See also: ``triu``, ``tri`` (a mask), ``tril_indices``.
    """
    return _triangle("tril", m, operator.le, k)


def triu(m: ArrayLike, k: int = 0) -> Array:
    """The upper triangle of matrices ``[..., n, m]``: zeros below the diagonal k.

    Arguments are those of ``tril``.

    Args:
      m, k: as for ``tril``.

    Returns:
      An array of the shape and dtype of ``m``.

    Raises:
      AxisError: the array has fewer than two axes.

    >>> print(triu(ones((2, 3))))
    [[1. 1. 1.]
     [0. 1. 1.]]

    See also: ``tril``, ``triu_indices``.
    """
    return _triangle("triu", m, operator.ge, k)


def _triangle(
    who: str, m: ArrayLike, relation: Callable[[Any, Any], Any], k: Any
) -> Array:
    x = as_array(m, who)
    if x.type.ndim < 2:
        raise AxisError(
            f"{who} needs matrices, with two axes at least, but got {x.type}."
        )
    n, columns = x.type.shape[-2:]
    mask = _mask(who, n, columns, relation, k)
    return where(mask, x, scalar(0, x.type.dtype, True))


def _diagonal_number(who: str, k: Any) -> Any:
    """Which diagonal: an integer, or a traced one."""
    if isinstance(k, Tracer) and dtypes.is_integer(k.type.dtype) and not k.type.ndim:
        return k
    return as_integer(who, k, "k")


def _mask(
    who: str, n: Any, m: Any, relation: Callable[[Any, Any], Any], k: Any
) -> Array:
    """Bools ``[n, m]``: whether j − i is in the relation to k, in row i, column j."""
    n, m, k = as_integer(who, n, "N"), as_integer(who, m, "M"), _diagonal_number(who, k)
    if n < 0 or m < 0:
        sizes = f"{how_many(n, 'row')} and {how_many(m, 'column')}"
        raise ArgumentError(f"{who} cannot make a matrix of {sizes}.")
    if isinstance(k, int) and at_hand(n * m):
        return from_host(relation(np.arange(m) - np.arange(n)[:, None], k))
    rows, columns = (Iota(dtypes.int32, (n, m), axis)() for axis in (0, 1))
    return relation(columns - rows, k)


def _ones(
    who: str,
    n: Any,
    m: Any,
    relation: Callable[[Any, Any], Any],
    k: Any,
    dtype: DTypeLike | None,
) -> Array:
    """Ones ``[n, m]`` where ``_mask`` holds, and zeros; float32 by default."""
    mask = _mask(who, n, m, relation, k)
    wanted = float if dtype is None else dtype
    if isinstance(mask, Tracer):
        return ones_where(mask, asked_dtype(wanted))
    return asarray(mask, wanted)


# -- diagonals -------------------------------------------------------------------------


def diag(v: ArrayLike, k: int = 0) -> Array:
    """The diagonal k of a matrix; or the matrix that has ``v [n]`` as diagonal k.

    Of a stack of matrices ``diagonal`` gives the diagonals.

    Args:
      v: a vector or a matrix.
      k: which diagonal: positive ones lie above the main one.

    Returns:
      The diagonal as a vector, or a square matrix with zeros elsewhere.

    Raises:
      AxisError: ``v`` has neither one axis nor two.

    >>> import covector.numpy as cnp
    >>> print(diag(cnp.arange(1, 3), k=1))
    [[0 1 0]
     [0 0 2]
     [0 0 0]]

    See also: ``diagonal``, ``diagflat``, ``fill_diagonal``, ``trace``.
    """
    x = as_array(v, "diag")
    k = as_integer("diag", k, "k")
    if x.type.ndim == 2:
        return diagonal(x, k)
    if x.type.ndim != 1:
        raise AxisError(f"diag needs one axis or two, but got {x.type}.")
    n = x.type.size + max(k, -k)
    # Above the main diagonal row i has the element i; below it, column j the element j.
    x = Pad(((0, n - x.type.size, 0),))(x, scalar(0, x.type.dtype, True))
    x = Reshape((n, 1) if k >= 0 else (1, n))(x)
    return where(_mask("diag", n, n, operator.eq, k), x, scalar(0, x.type.dtype, True))


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix that has all elements of ``v``, in order, as its diagonal k.

    >>> print(diagflat(ones((1, 2))))
    [[1. 0.]
     [0. 1.]]
    """
    x = as_array(v, "diagflat")
    return diag(Reshape((x.type.size,))(x), k)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements that have index i along ``axis1`` and i + offset along ``axis2``.

    Args:
      offset: which diagonal: positive ones lie above the main one.
      axis1, axis2: the axes of the matrices, by default the first two; for stacks
        ``[..., n, m]`` pass −2 and −1.

    Returns:
      The diagonals, along a new last axis in place of the two.

    Raises:
      AxisError: the axes are the same, or no axes of ``a``.

    >>> import covector.numpy as cnp
    >>> print(diagonal(cnp.arange(6).reshape(2, 3), 1))
    [1 5]

    See also: ``diag``, ``trace``, ``linalg.diagonal``.
    """
    x, offset = as_array(a, "diagonal"), as_integer("diagonal", offset, "offset")
    axis1 = canonical_axis("diagonal", axis1, x.type.ndim, "axis1")
    axis2 = canonical_axis("diagonal", axis2, x.type.ndim, "axis2")
    if axis1 == axis2:
        raise AxisError(
            f"diagonal of {x.type} needs two different axes, but got {axis1}."
        )
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    *rest, n, m = x.type.shape
    length = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    # In the flattened matrix, the next element of a diagonal is m + 1 further.
    start = (offset if offset >= 0 else -offset * m) if length else 0
    end = start + (length - 1) * (m + 1) + 1 if length else 0
    ones_ = (1,) * len(rest)
    cut = Slice((0,) * len(rest) + (start,), (*rest, end), (*ones_, m + 1))
    return cut(Reshape((*rest, n * m))(x))


def fill_diagonal(
    a: Any, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """``a`` with ``val`` on its main diagonal: where all indices are equal.

    Args:
      val: a number, or values for the diagonal, repeated as often as it takes.
      wrap: in a matrix with more rows than columns, begin again below the diagonal.
      inplace: must be False, for ``a`` itself does not change.

    Raises:
      ImmutableArrayError: ``inplace`` is True.
      TypeMismatch: ``a`` has three or more axes, of different lengths.

    >>> import covector.numpy as cnp
    >>> print(fill_diagonal(cnp.zeros((2, 3)), 5, inplace=False))
    [[5. 0. 0.]
     [0. 5. 0.]]
    """
    check_not_inplace("fill_diagonal", inplace)
    x, shape = as_array(a, "fill_diagonal"), np.shape(a)
    if x.type.ndim < 2:
        raise AxisError(f"fill_diagonal needs two axes at least, but got {x.type}.")
    if x.type.ndim > 2 and len(set(shape)) > 1:
        raise TypeMismatch(
            "fill_diagonal needs axes of one length where there are more than two, "
            f"but got {x.type}."
        )
    *_, columns = shape
    step = sum([math.prod(shape[k:]) for k in range(1, x.type.ndim + 1)])
    end = x.type.size if wrap or x.type.ndim > 2 else columns * columns
    end = min(end, x.type.size)
    count = (end - 1) // step + 1
    values = as_array(val, "fill_diagonal").ravel()
    if values.size not in (1, count):
        values = values[arange(count) % values.size]
    flat = x.ravel().at[:end:step].set(values)
    return flat.reshape(shape)


# -- indices ---------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array of ``ndim`` axes of length n.

    >>> [i.tolist() for i in diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    n, ndim = [
        as_count("diag_indices", value, name)
        for value, name in ((n, "n"), (ndim, "ndim"))
    ]
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Indices of the main diagonal of ``arr``, whose axes have one length.

    Raises:
      TypeMismatch: there are fewer than two axes, or they have different lengths.

    >>> import covector.numpy as cnp
    >>> [i.tolist() for i in diag_indices_from(cnp.zeros((2, 2)))]
    [[0, 1], [0, 1]]
    """
    x = as_array(arr, "diag_indices_from")
    if x.type.ndim < 2 or len(set(x.type.shape)) > 1:
        raise TypeMismatch(
            "diag_indices_from needs two axes or more, all of one length, but got "
            f"{x.type}."
        )
    return diag_indices(x.type.shape[0], x.type.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Row and column indices of the elements on and below diagonal k, in ``[n, m]``.

    >>> [i.tolist() for i in tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = np.tril_indices(*_of_triangle("tril_indices", n, k, m))
    return asarray(rows), asarray(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Row and column indices of the elements on and above diagonal k, in ``[n, m]``.

    >>> [i.tolist() for i in triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = np.triu_indices(*_of_triangle("triu_indices", n, k, m))
    return asarray(rows), asarray(columns)


def _of_triangle(who: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    """Rows, diagonal and columns of a triangle, as integers."""
    columns = n if m is None else m
    return as_count(who, n, "n"), as_integer(who, k, "k"), as_count(who, columns, "m")


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Row and column indices of the elements on and below diagonal k, in a matrix.

    >>> import covector.numpy as cnp
    >>> [i.tolist() for i in tril_indices_from(cnp.zeros((2, 2)), -1)]
    [[1], [0]]
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Row and column indices of the elements on and above diagonal k, in a matrix.

    >>> import covector.numpy as cnp
    >>> [i.tolist() for i in triu_indices_from(cnp.zeros((2, 2)), 1)]
    [[0], [1]]
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def _matrix_shape(who: str, arr: Any) -> tuple[int, int]:
    shape = np.shape(arr)
    if len(shape) != 2:
        raise AxisError(f"{who} needs a matrix, but got an array of shape {shape}.")
    return shape[0], shape[1]


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Row and column indices of what a function such as ``triu`` leaves of a matrix.

    Args:
      mask_func: takes a matrix ``[n, n]`` and ``k``; what it makes zero is left out.
      size: the number of indices, which must be known under ``jit``.

    >>> [i.tolist() for i in mask_indices(2, triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    n = as_count("mask_indices", n, "n")
    return mask_func(ones((n, n)), k).nonzero(size=size)
