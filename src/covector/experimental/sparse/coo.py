"""``COO``: one sparse matrix by rows and columns of its elements; a thin BCOO."""

from collections.abc import Sequence
from typing import Any

from covector import numpy as cnp
from covector import tree_util
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Shape
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import TypeMismatch
from covector.experimental.sparse.base import JAXSparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_conversion import bcoo_fromdense, bcoo_todense

__all__ = ["COO", "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense"]


@tree_util.register_pytree_node_class
class COO(JAXSparse):
    """A sparse matrix in coordinate format, without batch and dense axes.

    Args:
      args: ``(data, row, col)``, each of shape ``[nse]``.
      shape: (rows, columns).
      rows_sorted, cols_sorted: promises that rows, or columns, come in ascending order.

    Raises:
      TypeMismatch: the shapes do not fit.

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import COO
    >>> m = COO((cnp.array([4.0]), cnp.array([0]), cnp.array([1])), shape=(2, 2))
    >>> (m @ cnp.array([1.0, 2.0])).tolist()
    [8.0, 0.0]
    """

    row: Array
    col: Array

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        data, row, col = [as_array(x, "COO") for x in args]
        self.data: Array = data
        self.row: Array = row
        self.col: Array = col
        self._shape = tuple([int(n) for n in shape])
        self.rows_sorted: bool = bool(rows_sorted)
        self.cols_sorted: bool = bool(cols_sorted)
        given = [x.shape for x in (self.data, self.row, self.col)]
        if len(self._shape) != 2 or len({*given}) > 1 or len(given[0]) != 1:
            raise TypeMismatch(
                "COO needs data, row and col of one shape (nse,), and a shape of two "
                f"axes, but got the shapes {given} and {self._shape}."
            )

    def tree_flatten(self) -> tuple[Any, Any]:
        static = self._shape, self.rows_sorted, self.cols_sorted
        return (self.data, self.row, self.col), static

    @classmethod
    def tree_unflatten(cls, static: Any, children: Any) -> "COO":
        self = object.__new__(cls)
        self.data, self.row, self.col = children
        self._shape, self.rows_sorted, self.cols_sorted = static
        return self

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def nse(self) -> int:
        return self.data.shape[0]

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = dtypes.int32,
    ) -> "COO":
        """The elements of a matrix that are not zero."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def to_bcoo(self) -> BCOO:
        """The same matrix as a ``BCOO``."""
        indices = cnp.stack([self.row, self.col], -1)
        return BCOO.of_parts(self.data, indices, self._shape)

    def todense(self) -> Array:
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> "COO":
        if axes is not None and tuple(axes) == (0, 1):
            return self
        return COO(
            (self.data, self.col, self.row),
            shape=self._shape[::-1],
            rows_sorted=self.cols_sorted,
            cols_sorted=self.rows_sorted,
        )


def coo_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = dtypes.int32
) -> COO:
    """The elements of a matrix that are not zero, as ``bcoo_fromdense``.

    >>> import covector.numpy as cnp
    >>> coo_fromdense(cnp.eye(2)).row.tolist()
    [0, 1]
    """
    made = bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype)
    parts = made.data, made.indices[:, 0], made.indices[:, 1]
    return COO(parts, shape=made.shape, rows_sorted=True)


def coo_todense(mat: COO) -> Array:
    """A sparse matrix with its zeros.

    >>> import covector.numpy as cnp
    >>> coo_todense(coo_fromdense(cnp.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return bcoo_todense(mat.to_bcoo())


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a sparse matrix, or its transpose, and a vector.

    >>> import covector.numpy as cnp
    >>> coo_matvec(coo_fromdense(cnp.eye(2)), cnp.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    return times(mat, v, transpose)


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a sparse matrix, or its transpose, and a matrix.

    >>> import covector.numpy as cnp
    >>> coo_matmat(coo_fromdense(cnp.eye(2)), cnp.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return times(mat, B, transpose)


def times(mat: Any, other: ArrayLike, transpose: bool) -> Array:
    """The product of a sparse matrix, or its transpose, and a dense array."""
    return (mat.T if transpose else mat) @ other
