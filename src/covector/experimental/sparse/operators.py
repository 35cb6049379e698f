"""Operators and methods of sparse arrays: functions of ``covector.numpy``, sparse."""

from typing import Any

from covector import numpy as cnp
from covector import tree
from covector.core.annotations import ArrayLike
from covector.core.convert import as_array
from covector.experimental.sparse.base import is_sparse
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_products import at_elements
from covector.experimental.sparse.sparsify import sparsify
from covector.numpy.indexing import index as _index

leaves = tree.leaves

abs = sparsify(cnp.abs)
negative = sparsify(cnp.negative)
add = sparsify(cnp.add)
subtract = sparsify(cnp.subtract)
power = sparsify(cnp.power)
matmul = sparsify(cnp.matmul)
sum = sparsify(cnp.sum)
less, less_equal = sparsify(cnp.less), sparsify(cnp.less_equal)
greater, greater_equal = sparsify(cnp.greater), sparsify(cnp.greater_equal)
equal, not_equal = sparsify(cnp.equal), sparsify(cnp.not_equal)

_multiply = sparsify(cnp.multiply)
_true_divide = sparsify(cnp.true_divide)


def multiply(x: Any, y: Any) -> Any:
    """The elementwise product; a dense operand is read where needed, not broadcast."""
    if is_sparse(x) and is_sparse(y):
        return _multiply(x, y)
    mat, dense = (x, y) if is_sparse(x) else (y, x)
    return _with_dense(cnp.multiply, _multiply, mat, dense)


def true_divide(x: Any, y: Any) -> Any:
    """The quotient of a sparse and a dense array, likewise."""
    if is_sparse(y):
        return _true_divide(x, y)
    return _with_dense(cnp.true_divide, _true_divide, x, y)


def _with_dense(function: Any, otherwise: Any, mat: Any, dense: ArrayLike) -> Any:
    x = as_array(dense, function.__name__)
    if not x.ndim:
        return mat.with_data(function(mat.data, x))
    if x.ndim > mat.ndim or any(
        [k not in (1, n) for k, n in zip(x.shape[::-1], mat.shape[::-1], strict=False)]
    ):
        return otherwise(mat, x)  # the sparse array is broadcast
    mat = mat.to_bcoo()
    return mat.replace(data=function(*at_elements(mat, x, function.__name__)))


def reshape(x: BCOO, *shape: Any, **options: Any) -> Any:
    """The elements in another shape."""
    return sparsify(lambda x: x.reshape(*shape, **options))(x)


def index(x: Any, index: Any) -> Any:
    """``x[index]``."""
    return sparsify(lambda x: _index(x, index))(x)
