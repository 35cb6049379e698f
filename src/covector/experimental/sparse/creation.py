"""Sparse arrays made from nothing: ``empty``, ``eye``, ``random_bcoo``."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from covector import numpy as cnp
from covector import random
from covector.core import dtypes
from covector.core.annotations import DTypeLike, Value
from covector.core.array_like import Array
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.experimental.sparse.base import JAXSparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_conversion import bcoo_fromdense
from covector.experimental.sparse.bcoo_order import bcoo_sort_indices
from covector.experimental.sparse.bcsr import BCSR
from covector.experimental.sparse.coo import COO
from covector.experimental.sparse.csr import CSC, CSR
from covector.experimental.sparse.elements import over_batch

__all__ = ["empty", "eye", "random_bcoo"]


def _as_bcoo(mat: BCOO) -> BCOO:
    return mat


def _as_coo(mat: BCOO) -> COO:
    parts = mat.data, mat.indices[:, 0], mat.indices[:, 1]
    return COO(parts, shape=mat.shape, rows_sorted=mat.indices_sorted)


def _as_csr(mat: BCOO) -> CSR:
    made = BCSR.from_bcoo(mat)
    return CSR((made.data, made.indices, made.indptr), shape=made.shape)


def _as_csc(mat: BCOO) -> CSC:
    return _as_csr(mat.T).T


_FORMATS: dict[str, Callable[[BCOO], JAXSparse]] = {
    "bcoo": _as_bcoo,
    "bcsr": BCSR.from_bcoo,
    "coo": _as_coo,
    "csr": _as_csr,
    "csc": _as_csc,
}


def _format(who: str, name: str, ndim: int, options: Any) -> Callable[[BCOO], Any]:
    if name not in _FORMATS:
        raise ArgumentError(
            f"{who}: sparse_format must be one of {', '.join(_FORMATS)}, but got "
            f"{name!r}."
        )
    if name != "bcoo" and (ndim != 2 or options):
        raise TypeMismatch(
            f"{who}: the format {name!r} is of two axes without "
            f"{how_many(ndim, 'axis', 'axes')} or {', '.join(options) or 'options'}; "
            "'bcoo' has them."
        )
    return _FORMATS[name]


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse array without elements.

    Args:
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      kwds: of "bcoo", ``n_batch``, ``n_dense`` and ``nse`` (of padding), 0 by default.

    >>> from covector.experimental import sparse
    >>> sparse.empty((3, 4))
    BCOO(float32[3, 4], nse=0)
    """
    lengths = tuple([int(n) for n in shape])
    made = _format("empty", sparse_format, len(lengths), kwds)
    return made(_empty(lengths, dtype, index_dtype, **kwds))


def _empty(
    shape: tuple[int, ...],
    dtype: DTypeLike | None,
    index_dtype: DTypeLike,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> BCOO:
    end = len(shape) - n_dense
    if min(n_batch, n_dense, nse, end - n_batch) < 0:
        raise TypeMismatch(
            f"empty of the shape {shape} cannot have n_batch={n_batch}, "
            f"n_dense={n_dense} and nse={nse}."
        )
    batch, inner = shape[:n_batch], shape[n_batch:end]
    outside = cnp.asarray(inner, index_dtype).reshape(len(inner))
    data = cnp.zeros((*batch, nse, *shape[end:]), float if dtype is None else dtype)
    indices = cnp.broadcast_to(outside, (*batch, nse, len(inner)))
    return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse matrix with ones on a diagonal.

    Args:
      N, M: its rows and columns; as many columns as rows by default.
      k: which diagonal: above the main one if positive.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      kwds: of "bcoo", ``n_batch`` and ``n_dense``.

    >>> from covector.experimental import sparse
    >>> sparse.eye(2, 3, 1).indices.tolist()
    [[0, 1], [1, 2]]
    """
    made = _format("eye", sparse_format, 2, kwds)
    columns = N if M is None else M
    return made(_eye(N, columns, k, dtype, index_dtype, **kwds))


def _eye(
    rows: int,
    columns: int,
    k: int,
    dtype: DTypeLike | None,
    index_dtype: DTypeLike,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    dtype = float if dtype is None else dtype
    if not 0 <= n_batch + n_dense <= 2 or min(n_batch, n_dense) < 0:
        raise TypeMismatch(
            f"eye has two axes, but got n_batch={n_batch} and n_dense={n_dense}."
        )
    if n_batch + n_dense == 2:
        dense = cnp.eye(rows, columns, k, dtype)
        options: dict[str, Any] = {"n_batch": n_batch, "n_dense": n_dense}
        return bcoo_fromdense(dense, nse=1, index_dtype=index_dtype, **options)
    if n_batch:
        at = cnp.arange(rows, dtype=index_dtype) + k
        inside = (at >= 0) & (at < columns)
        indices = cnp.where(inside, at, columns).astype(index_dtype)[:, None, None]
        data = cnp.ones((rows, 1), dtype) * inside[:, None]
        return BCOO.of_parts(data.astype(dtype), indices, (columns,), True, True)
    first = max(-k, 0)
    count = max(min(rows - first, columns - max(k, 0)), 0)
    at = cnp.arange(count, dtype=index_dtype) + first
    indices = cnp.stack([at, at + k], -1).astype(index_dtype)
    made = BCOO.of_parts(cnp.ones(count, dtype), indices, (rows, columns), True, True)
    return made.update_layout(n_dense=n_dense, on_inefficient=None)


def _count_of_elements(nse: float, inner: Sequence[int], unique: bool) -> int:
    """The number of elements that sparse axes of these lengths get."""
    size = prod(inner)
    count = round(nse * size) if 0 <= nse < 1 else int(nse)
    if count < 0 or (unique and count > size):
        most = how_many(size, "unique index", "unique indices")
        raise ArgumentError(
            f"random_bcoo: nse={nse} is not between 0 and the {most} of the sparse "
            f"axes {inner}."
        )
    return count


def random_bcoo(
    key: Value,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    indices_dtype: DTypeLike | None = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A BCOO with random elements at random indices.

    Args:
      nse: how many elements; below 1, which part of those that the sparse axes have.
      unique_indices: whether no index comes twice.
      sorted_indices: whether indices are in ascending order.
      generator: makes the data of a key, a shape and a dtype, and of ``kwds``.

    Raises:
      ArgumentError: ``nse`` is negative, or larger than there are unique indices.

    >>> import covector as cv
    >>> from covector.experimental import sparse
    >>> sparse.random_bcoo(cv.random.key(0), (3, 4), nse=0.5)
    BCOO(float32[3, 4], nse=6)
    """
    lengths = tuple([int(n) for n in shape])
    end = len(lengths) - n_dense
    if min(n_batch, n_dense, end - n_batch) < 0:
        raise TypeMismatch(
            f"random_bcoo of the shape {lengths} cannot have "
            f"{how_many(n_batch, 'batch axis', 'batch axes')} and {n_dense} dense ones."
        )
    inner = lengths[n_batch:end]
    size = prod(inner)
    count = _count_of_elements(nse, inner, unique_indices)
    index_dtype = dtypes.as_dtype(indices_dtype or dtypes.int32)
    of_indices, of_data = random.split(key)
    batch = lengths[:n_batch]
    keys = random.split(of_indices, batch)

    def choose(key: Value) -> Array:
        if not count:
            return cnp.zeros((0, len(inner)), index_dtype)
        flat = random.choice(key, size, (count,), replace=not unique_indices)
        found = cnp.unravel_index(flat, inner)
        return (
            cnp.stack(found, -1).astype(index_dtype)
            if inner
            else (cnp.zeros((count, 0), index_dtype))
        )

    indices = over_batch(choose, n_batch, keys)
    data_shape = (*batch, count, *lengths[end:])
    data = generator(of_data, shape=data_shape, dtype=dtype, **kwds)
    made = BCOO((data, indices), shape=lengths, unique_indices=unique_indices)
    return bcoo_sort_indices(made) if sorted_indices else made
