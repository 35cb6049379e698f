"""``BCSR``: sparse matrices by rows, in batches.

    data     [*batch, nse, *dense]
    indices  [*batch, nse]            columns
    indptr   [*batch, rows + 1]       row i has the elements indptr[i] to indptr[i + 1]
    shape    (*batch, rows, columns, *dense)

Elements from ``indptr[rows]`` on are padding, and those whose column is not in the
shape. What is computed is computed of the same array as a BCOO.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import numpy as cnp
from covector import tree_util
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Shape, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import DTypeError, TypeMismatch
from covector.experimental.sparse.base import JAXSparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_conversion import bcoo_fromdense, bcoo_todense
from covector.experimental.sparse.bcoo_order import (
    bcoo_eliminate_zeros,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
)
from covector.experimental.sparse.bcoo_products import bcoo_dot_general
from covector.experimental.sparse.bcoo_shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
)
from covector.experimental.sparse.elements import in_bounds, masked, over_batch, read_at
from covector.operations.contraction import DotDimensionNumbers

__all__ = [
    "BCSR",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
]


@tree_util.register_pytree_with_keys_class
class BCSR(JAXSparse):
    """A batched sparse matrix in compressed row format.

    Args:
      args: ``(data, indices, indptr)``.
      shape: that of the array, ``(*batch, rows, columns, *dense)``.
      indices_sorted: a promise that columns come in ascending order in each row.
      unique_indices: a promise that none comes twice in a row.

    Raises:
      TypeMismatch: the shapes do not fit each other.
      DTypeError: the indices are not integers.

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import BCSR
    >>> m = BCSR.fromdense(cnp.array([[0.0, 4.0], [5.0, 6.0]]))
    >>> m.indices.tolist(), m.indptr.tolist()
    ([1, 0, 1], [0, 1, 3])
    """

    indices: Array
    indptr: Array
    sparse_shape: Shape
    indices_sorted: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices, indptr = [as_array(x, "BCSR") for x in args]
        full = tuple([int(n) for n in shape])
        _check(data, indices, indptr, full)
        n = indices.ndim - 1
        batch = np.broadcast_shapes(data.shape[:n], indices.shape[:n])
        if batch != full[:n]:
            data = cnp.broadcast_to(data, full[:n] + data.shape[n:])
        self.data: Array = data
        self.indices: Array = indices
        self.indptr: Array = indptr
        self.sparse_shape = full[n : n + 2]
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices: bool = bool(unique_indices)

    # -- as a pytree -------------------------------------------------------------------

    def tree_flatten(self) -> tuple[Any, Any]:
        static = self.sparse_shape, self.indices_sorted, self.unique_indices
        return (self.data, self.indices, self.indptr), static

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        children, static = self.tree_flatten()
        keys = map(tree_util.GetAttrKey, ("data", "indices", "indptr"))
        return tuple(zip(keys, children, strict=True)), static

    @classmethod
    def tree_unflatten(cls, static: Any, children: Any) -> "BCSR":
        self = object.__new__(cls)
        self.data, self.indices, self.indptr = children
        self.sparse_shape, self.indices_sorted, self.unique_indices = static
        return self

    # -- facts -------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        n = self.n_batch
        batch = np.broadcast_shapes(self.data.shape[:n], self.indices.shape[:n])
        return (*batch, *self.sparse_shape, *self.data.shape[n + 1 :])

    @property
    def nse(self) -> int:
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes: rows and columns."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    # -- methods -----------------------------------------------------------------------

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = dtypes.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCSR":
        """The elements of a dense array that are not zero: ``bcsr_fromdense``."""
        return bcsr_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> "BCSR":
        """The array of a BCOO with two sparse axes."""
        if arr.n_sparse != 2:
            raise TypeMismatch(f"BCSR has two sparse axes, but {arr} {arr.n_sparse}.")
        arr = bcoo_sort_indices(arr)
        count = arr.sparse_shape[0] + 1

        def starts(indices: Value) -> Array:
            rows = cnp.arange(count, dtype=indices.dtype)
            found = cnp.searchsorted(indices[:, 0], rows)
            return found.astype(indices.dtype)

        indptr = over_batch(starts, arr.n_batch, arr.indices)
        static = arr.sparse_shape, True, arr.unique_indices
        return cls.tree_unflatten(static, (arr.data, arr.indices[..., 1], indptr))

    @classmethod
    def from_scipy_sparse(
        cls,
        mat: Any,
        *,
        index_dtype: DTypeLike | None = None,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCSR":
        """The array of a matrix of ``scipy.sparse``, of any format."""
        if n_dense or n_batch:
            raise TypeMismatch(
                "BCSR.from_scipy_sparse has two axes, both sparse, but got "
                f"n_batch={n_batch} and n_dense={n_dense}."
            )
        csr = mat.tocsr()
        dtype = dtypes.int32 if index_dtype is None else index_dtype
        parts = csr.data, csr.indices.astype(dtype), csr.indptr.astype(dtype)
        return cls(parts, shape=csr.shape)

    def to_bcoo(self) -> BCOO:
        """The same array as a ``BCOO``."""
        indices = over_batch(rows_and_columns, self.n_batch, self.indices, self.indptr)
        promises = self.indices_sorted, self.unique_indices
        return BCOO.of_parts(self.data, indices, self.sparse_shape, *promises)

    def todense(self) -> Array:
        return bcsr_todense(self)

    def sum_duplicates(
        self, nse: int | None = None, remove_zeros: bool = True
    ) -> "BCSR":
        """The elements with those at one index added, as ``BCOO.sum_duplicates``."""
        unite = bcsr_eliminate_zeros if remove_zeros else bcsr_sum_duplicates
        return unite(self, nse=nse)

    def transpose(self, axes: Sequence[int] | None = None) -> "BCSR":
        return BCSR.from_bcoo(self.to_bcoo().transpose(axes))


def rows_and_columns(columns: Value, indptr: Value) -> Array:
    """The indices of the elements of a matrix by rows."""
    numbers = cnp.arange(len(columns), dtype=indptr.dtype)
    rows = cnp.searchsorted(indptr, numbers, side="right") - 1
    return cnp.stack([rows.astype(columns.dtype), columns], -1)


def _check(data: Array, indices: Array, indptr: Array, shape: Shape) -> None:
    """Raise where arrays and shape are not those of a BCSR."""
    given = (
        f"data {data.type}, indices {indices.type}, indptr {indptr.type} and the shape "
        f"{shape}"
    )
    if not all([dtypes.is_integer(x.dtype) for x in (indices, indptr)]):
        raise DTypeError(f"BCSR needs indices that are integers, but got {given}.")
    n = indices.ndim - 1
    arrays = data, indices, indptr
    fits = (
        0 <= n == indptr.ndim - 1 <= data.ndim - 1
        and len(shape) == data.ndim + 1
        and data.shape[n] == indices.shape[n]
        and indptr.shape[n] == shape[n] + 1
        and shape[n + 2 :] == data.shape[n + 1 :]
        and all(
            [
                x.shape[a] in (1, length)
                for x in arrays
                for a, length in enumerate(shape[:n])
            ]
        )
    )
    if not fits:
        raise TypeMismatch(
            "BCSR needs data [*batch, nse, *dense], indices [*batch, nse] and indptr "
            f"[*batch, rows + 1] for a shape (*batch, rows, columns, *dense), but got "
            f"{given}."
        )


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = dtypes.int32,
) -> BCSR:
    """The elements of a dense array that are not zero, as ``bcoo_fromdense``.

    Raises:
      TypeMismatch: other than two axes are sparse.
      ConcretizationTypeError: ``mat`` is traced, and there is no ``nse``.

    >>> import covector.numpy as cnp
    >>> bcsr_fromdense(cnp.eye(2)).indptr.tolist()
    [0, 1, 2]
    """
    made = bcoo_fromdense(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return BCSR.from_bcoo(made)


def bcsr_todense(mat: BCSR) -> Array:
    """A sparse array with its zeros.

    >>> from covector.experimental import sparse
    >>> bcsr_todense(sparse.eye(2, sparse_format="bcsr")).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return bcoo_todense(mat.to_bcoo())


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """The data of a BCSR with these indices and the elements of a dense array.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> bcsr_extract(cnp.array([1, 0]), cnp.array([0, 1, 2]), x).tolist()
    [2.0, 3.0]
    """
    who = "bcsr_extract"
    columns, starts, x = [as_array(a, who) for a in (indices, indptr, mat)]
    n = columns.ndim - 1
    if x.ndim < n + 2 or starts.ndim != n + 1 or starts.shape[n] != x.shape[n] + 1:
        raise TypeMismatch(
            f"{who} needs indices [*batch, nse], indptr [*batch, rows + 1] and an "
            f"array (*batch, rows, columns, *dense), but got {columns.type}, "
            f"{starts.type} and {x.type}."
        )
    shape = x.shape[n : n + 2]

    def extract(columns: Value, starts: Value, x: Value) -> Array:
        at = rows_and_columns(columns, starts)
        return masked(in_bounds(at, shape), read_at(x, at, (0, 1)))

    return over_batch(extract, n, columns, starts, x)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """``bcoo_sum_duplicates`` of a matrix by rows.

    >>> from covector.experimental import sparse
    >>> bcsr_sum_duplicates(sparse.eye(2, sparse_format="bcsr"), nse=3).nse
    3
    """
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """``bcoo_eliminate_zeros`` of a matrix by rows.

    >>> from covector.experimental import sparse
    >>> bcsr_eliminate_zeros(0 * sparse.eye(2, sparse_format="bcsr")).nse
    0
    """
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse))


def bcsr_broadcast_in_dim(
    mat: BCSR,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: Any = None,
) -> BCSR:
    """``bcoo_broadcast_in_dim`` of a matrix by rows; two axes remain sparse.

    >>> from covector.experimental import sparse
    >>> m = sparse.eye(2, sparse_format="bcsr")
    >>> bcsr_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=(1, 2)).shape
    (3, 2, 2)
    """
    made = bcoo_broadcast_in_dim(
        mat.to_bcoo(),
        shape=shape,
        broadcast_dimensions=broadcast_dimensions,
        sharding=sharding,
    )
    return BCSR.from_bcoo(made)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """``bcoo_concatenate`` of matrices by rows.

    >>> from covector.experimental import sparse
    >>> m = sparse.eye(2, sparse_format="bcsr")
    >>> bcsr_concatenate([m, m], dimension=0).shape
    (4, 2)
    """
    made = bcoo_concatenate([m.to_bcoo() for m in operands], dimension=dimension)
    return BCSR.from_bcoo(made)


def bcsr_dot_general(
    lhs: BCSR | ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """``bcoo_dot_general`` of a matrix by rows and a dense array.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> m, numbers = sparse.eye(2, sparse_format="bcsr"), (((1,), (0,)), ((), ()))
    >>> bcsr_dot_general(m, cnp.array([3.0, 4.0]), dimension_numbers=numbers).tolist()
    [3.0, 4.0]
    """
    left, right = [x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs)]
    return bcoo_dot_general(
        left,
        right,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )
