"""``CSR`` and ``CSC``: one sparse matrix by rows, or by columns; a thin BCSR."""

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
from covector.experimental.sparse.bcoo_conversion import bcoo_todense
from covector.experimental.sparse.bcsr import bcsr_fromdense, rows_and_columns
from covector.experimental.sparse.coo import times

__all__ = ["CSC", "CSR", "csr_fromdense", "csr_matmat", "csr_matvec", "csr_todense"]


class _Compressed(JAXSparse):
    """The common part of both: an axis along which ``indptr`` counts elements."""

    indices: Array
    indptr: Array
    #: the axis of ``indptr``
    axis: int

    def __init__(
        self, args: tuple[ArrayLike, ArrayLike, ArrayLike], *, shape: Sequence[int]
    ) -> None:
        who = type(self).__name__
        data, indices, indptr = [as_array(x, who) for x in args]
        self.data: Array = data
        self.indices: Array = indices
        self.indptr: Array = indptr
        self._shape = tuple([int(n) for n in shape])
        given = [x.shape for x in (self.data, self.indices, self.indptr)]
        if (
            len(self._shape) != 2
            or given[0] != given[1]
            or len(given[0]) != 1
            or given[2] != (self._shape[self.axis] + 1,)
        ):
            raise TypeMismatch(
                f"{who} needs data and indices of one shape (nse,), and an indptr with "
                f"one entry more than axis {self.axis} of a shape of two axes, but got "
                f"the shapes {given} and {self._shape}."
            )

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.data, self.indices, self.indptr), self._shape

    @classmethod
    def tree_unflatten(cls, static: Any, children: Any) -> Any:
        self = object.__new__(cls)
        self.data, self.indices, self.indptr = children
        self._shape = static
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
    ) -> Any:
        """The elements of a matrix that are not zero."""
        if cls.axis:
            mat = cnp.matrix_transpose(as_array(mat, f"{cls.__name__}.fromdense"))
        made = csr_fromdense(mat, nse=nse, index_dtype=index_dtype)
        return made.T if cls.axis else made

    def to_bcoo(self) -> BCOO:
        """The same matrix as a ``BCOO``."""
        indices = rows_and_columns(self.indices, self.indptr)
        if self.axis:
            indices = cnp.flip(indices, -1)
        return BCOO.of_parts(self.data, indices, self._shape)

    def todense(self) -> Array:
        return bcoo_todense(self.to_bcoo())

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        if axes is not None and tuple(axes) == (0, 1):
            return self
        parts = self.data, self.indices, self.indptr
        return (CSR if self.axis else CSC)(parts, shape=self._shape[::-1])


@tree_util.register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix by rows, without batch and dense axes.

    Args:
      args: ``(data, indices, indptr)``; row i has the elements ``indptr[i]`` to
        ``indptr[i + 1]``, in the columns ``indices``.
      shape: (rows, columns).

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import CSR
    >>> CSR.fromdense(cnp.array([[0.0, 4.0], [5.0, 6.0]])).indptr.tolist()
    [0, 1, 3]
    """

    axis = 0


@tree_util.register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix by columns: the transpose of a CSR.

    >>> import covector.numpy as cnp
    >>> from covector.experimental.sparse import CSC
    >>> CSC.fromdense(cnp.array([[0.0, 4.0], [5.0, 6.0]])).indptr.tolist()
    [0, 1, 3]
    """

    axis = 1


def csr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = dtypes.int32
) -> CSR:
    """The elements of a matrix that are not zero, as ``bcoo_fromdense``.

    >>> import covector.numpy as cnp
    >>> csr_fromdense(cnp.eye(2)).indices.tolist()
    [0, 1]
    """
    made = bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return CSR((made.data, made.indices, made.indptr), shape=made.shape)


def csr_todense(mat: CSR) -> Array:
    """A sparse matrix with its zeros.

    >>> import covector.numpy as cnp
    >>> csr_todense(csr_fromdense(cnp.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return mat.todense()


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """The product of a sparse matrix, or its transpose, and a vector.

    >>> import covector.numpy as cnp
    >>> csr_matvec(csr_fromdense(cnp.eye(2)), cnp.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    return times(mat, v, transpose)


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """The product of a sparse matrix, or its transpose, and a matrix.

    >>> import covector.numpy as cnp
    >>> csr_matmat(csr_fromdense(cnp.eye(2)), cnp.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return times(mat, B, transpose)
