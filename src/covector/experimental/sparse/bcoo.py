"""``BCOO``: sparse arrays by the indices of their elements, in batches.

    data     [*batch, nse, *dense]
    indices  [*batch, nse, n_sparse]
    shape    (*batch, *sparse, *dense)

The batch axes come first: each index along them has ``nse`` elements of its own. Then
the sparse axes, along which indices say where elements are, and the dense axes, along
which elements are whole arrays. Batch axes of data or indices may have length 1, where
all share them; one of the two has the full length. An index that is not in the shape is
padding. The invariant: shape, numbers of axes and ``nse`` follow from the two arrays
and from the lengths of the sparse axes, so a BCOO keeps its meaning when ``vmap``,
``scan`` or ``tree.map`` take away or add batch axes of its leaves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import numpy as cnp
from covector import tree_util
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Shape
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import DTypeError, TypeMismatch
from covector.experimental.sparse.base import JAXSparse, link

__all__ = ["BCOO"]


@tree_util.register_pytree_with_keys_class
class BCOO(JAXSparse):
    """A batched sparse array in coordinate format.

    Args:
      args: ``(data, indices)``, of shapes ``[*batch, nse, *dense]`` and
        ``[*batch, nse, n_sparse]``.
      shape: that of the array, ``(*batch, *sparse, *dense)``.
      indices_sorted: a promise that indices come in ascending order.
      unique_indices: a promise that none comes twice, padding excepted.

    Raises:
      TypeMismatch: the shapes do not fit each other.
      DTypeError: the indices are not integers, or cannot reach the end of an axis.

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import BCOO
    >>> m = BCOO((cnp.array([1.0, 2.0]), cnp.array([[0, 1], [1, 2]])), shape=(2, 3))
    >>> m
    BCOO(float32[2, 3], nse=2)
    >>> print(m @ cnp.array([1.0, 10.0, 100.0]))
    [ 10. 200.]
    """

    data: Array
    indices: Array
    sparse_shape: Shape
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = [as_array(x, "BCOO") for x in args]
        full = tuple([int(n) for n in shape])
        _check(data, indices, full)
        n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
        batch = np.broadcast_shapes(data.shape[:n_batch], indices.shape[:n_batch])
        if batch != full[:n_batch]:
            data = cnp.broadcast_to(data, full[:n_batch] + data.shape[n_batch:])
        self.data, self.indices = data, indices
        self.sparse_shape = full[n_batch : n_batch + n_sparse]
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)

    @classmethod
    def of_parts(
        cls,
        data: Any,
        indices: Any,
        sparse_shape: Shape,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> "BCOO":
        """The array of parts that are known to fit."""
        self = object.__new__(cls)
        self.data, self.indices = data, indices
        self.sparse_shape = tuple(sparse_shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        return self

    def to_bcoo(self) -> "BCOO":
        return self

    def replace(self, **parts: Any) -> "BCOO":
        """This array with other parts, which fit the rest."""
        return BCOO.of_parts(**{**vars(self), **parts})

    # -- as a pytree -------------------------------------------------------------------

    def tree_flatten(self) -> tuple[Any, Any]:
        static = self.sparse_shape, self.indices_sorted, self.unique_indices
        return (self.data, self.indices), static

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        children, static = self.tree_flatten()
        keys = map(tree_util.GetAttrKey, ("data", "indices"))
        return tuple(zip(keys, children, strict=True)), static

    @classmethod
    def tree_unflatten(cls, static: Any, children: Any) -> "BCOO":
        return cls.of_parts(*children, *static)

    # -- facts -------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        n = self.n_batch
        data, indices = self.data.shape, self.indices.shape
        batch = data[:n]
        if batch != indices[:n]:
            batch = np.broadcast_shapes(batch, indices[:n])
        return (*batch, *self.sparse_shape, *data[n + 1 :])

    @property
    def nse(self) -> int:
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        n = self.indices.ndim - 2
        if n < 0:
            raise TypeMismatch(
                "BCOO needs indices [*batch, nse, n_sparse], but has "
                f"{self.indices.type}. If it was mapped over an axis of length "
                "nse: only batch axes can be mapped."
            )
        return n

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return len(self.sparse_shape)

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def batch_shape(self) -> Shape:
        """The lengths of the batch axes."""
        return self.shape[: self.n_batch]

    @property
    def dense_shape(self) -> Shape:
        """The lengths of the dense axes."""
        return self.data.shape[self.n_batch + 1 :]

    def _layout(self) -> str:
        named = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        return "".join([f", {name}={n}" for name, n in named.items() if n])

    # -- methods that are functions of this package ------------------------------------

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = dtypes.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCOO":
        """The elements of a dense array that are not zero: ``bcoo_fromdense``."""
        return link.sparse.bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls,
        mat: Any,
        *,
        index_dtype: DTypeLike | None = None,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> "BCOO":
        """The array of a matrix of ``scipy.sparse``, of any format."""
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], -1)
        kept = cnp.asarray(indices, index_dtype or dtypes.int32)
        made = cls((coo.data, kept), shape=coo.shape)
        return made.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)

    def todense(self) -> Array:
        return link.sparse.bcoo_todense(self)

    def sort_indices(self) -> "BCOO":
        """The elements in ascending order of their indices."""
        return link.sparse.bcoo_sort_indices(self)

    def sum_duplicates(
        self, nse: int | None = None, remove_zeros: bool = True
    ) -> "BCOO":
        """The elements with those at one index added, ``nse`` of them.

        ``remove_zeros`` also removes elements that are zero. Without ``nse`` there are
        as many as are needed; that must be known.
        """
        if remove_zeros:
            return link.sparse.bcoo_eliminate_zeros(self, nse=nse)
        return link.sparse.bcoo_sum_duplicates(self, nse=nse)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> "BCOO":
        """The same with other axes for batch and dense: ``bcoo_update_layout``."""
        return link.sparse.bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def transpose(self, axes: Sequence[int] | None = None) -> "BCOO":
        order = range(self.ndim)[::-1] if axes is None else axes
        return link.sparse.bcoo_transpose(self, permutation=tuple(order))

    def reshape(self, *args: Any, **kwargs: Any) -> "BCOO":
        """The same elements in row-major order, in another shape."""
        return link.sparse.operators.reshape(self, *args, **kwargs)

    def astype(self, dtype: DTypeLike) -> "BCOO":
        """The elements converted to another type."""
        return self.replace(data=self.data.astype(dtype))


def _check(data: Array, indices: Array, shape: Shape) -> None:
    """Raise where arrays and shape are not those of a BCOO."""
    given = f"data {data.type}, indices {indices.type} and the shape {shape}"
    if not dtypes.is_integer(indices.dtype):
        raise DTypeError(f"BCOO needs indices that are integers, but got {given}.")
    n_batch = indices.ndim - 2
    if n_batch < 0:
        raise TypeMismatch(
            f"BCOO needs indices [*batch, nse, n_sparse], but got {given}."
        )
    n_sparse = indices.shape[-1]
    dense = data.shape[n_batch + 1 :]
    fits = (
        data.ndim > n_batch
        and len(shape) == n_batch + n_sparse + len(dense)
        and data.shape[n_batch] == indices.shape[n_batch]
        and shape[n_batch + n_sparse :] == dense
        and all([n >= 0 for n in shape])
        and all(
            [
                m in (1, n) and k in (1, n)
                for m, k, n in zip(
                    data.shape, indices.shape, shape[:n_batch], strict=False
                )
            ]
        )
    )
    if not fits:
        raise TypeMismatch(
            "BCOO needs data [*batch, nse, *dense] and indices [*batch, nse, n_sparse] "
            f"for a shape (*batch, *sparse, *dense), but got {given}."
        )
    if max(shape[n_batch : n_batch + n_sparse], default=0) > largest_index(
        indices.dtype
    ):
        raise DTypeError(f"BCOO: the indices do not reach all elements of {given}.")


def largest_index(dtype: Any) -> int:
    """The largest index of this dtype."""
    return int(np.iinfo(dtype).max)
