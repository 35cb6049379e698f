"""Products of BCOO and dense arrays.

Each element of a sparse array is multiplied by what it meets in the dense one, which is
read at the indices of its contracted and paired axes; the products are added at the
indices of its remaining axes.
"""

from collections.abc import Callable
from string import ascii_letters
from typing import Any

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.errors import ArgumentError, TypeMismatch
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_layout import bcoo_update_layout
from covector.experimental.sparse.bcoo_sparse_products import sparse_dot_general
from covector.experimental.sparse.contraction import Labels, contraction
from covector.experimental.sparse.elements import (
    add_at,
    columns,
    in_bounds,
    masked,
    over_batch,
    read_at,
)
from covector.numpy.promote import promote_dtypes
from covector.operations.contraction import DotDimensionNumbers

#: the label of the axis of stored elements
_EACH = -1

__all__ = [
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_multiply_dense",
]


def bcoo_dot_general(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Any:
    """``lax.dot_general`` of two arrays of which one is sparse, or both.

    Numbers of 16 bits are added in 32 bits. Of two sparse arrays the product is sparse;
    its ``nse`` is the number of pairs of elements that meet, where indices are known,
    and otherwise the largest that is possible.

    Args:
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch,
        rhs_batch))``.
      precision: of products of elements, as for ``lax.dot_general``.
      preferred_element_type: the dtype of the result.
      out_sharding: None.

    Returns:
      The batch axes, then the free axes of ``lhs``, then those of ``rhs``.

    Raises:
      TypeMismatch: the axes do not fit.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> m = sparse.eye(2)
    >>> bcoo_dot_general(m, cnp.array([3.0, 4.0]), dimension_numbers=numbers).tolist()
    [3.0, 4.0]
    """
    who = "bcoo_dot_general"
    if out_sharding is not None:
        raise ArgumentError(f"{who} has no out_sharding, but got {out_sharding!r}.")
    lhs, rhs = [x if isinstance(x, BCOO) else as_array(x, who) for x in (lhs, rhs)]
    labels = contraction(who, lhs, rhs, dimension_numbers)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return sparse_dot_general(lhs, rhs, labels, preferred_element_type)
    options = precision, preferred_element_type
    if isinstance(lhs, BCOO):
        return _product(lhs, labels.lhs, rhs, labels.rhs, labels.out, *options)
    if not isinstance(rhs, BCOO):
        raise TypeMismatch(f"{who} needs a BCOO, but got {lhs.type} and {rhs.type}.")
    return _product(rhs, labels.rhs, lhs, labels.lhs, labels.out, *options)


def _product(
    mat: BCOO,
    of_mat: Labels,
    dense: Any,
    of_dense: Labels,
    out: Labels,
    precision: Any,
    preferred: Any,
) -> Array:
    """The product of a sparse and a dense array, in whatever order they came."""
    data, dense = promote_dtypes("bcoo_dot_general", mat.data, dense)
    dtype = data.dtype if preferred is None else asked_dtype(preferred)
    # A batch axis that is contracted has no place in the result.
    batch = of_mat[: mat.n_batch]
    n = next((i for i, a in enumerate(batch) if a not in out), len(batch))
    mat = bcoo_update_layout(mat.replace(data=data), n_batch=n)
    batch = batch[:n]
    dense, of_dense = _batch_first(dense, of_dense, batch)
    lane, found = _lane(mat, of_mat[n:], of_dense, out, precision, _wide(dtype))
    result = over_batch(lane, n, mat.data, mat.indices, dense)
    found = (*batch, *found)
    return result.transpose(*[found.index(a) for a in out]).astype(dtype)


def _wide(dtype: Any) -> Any:
    """The dtype in which products are added."""
    short = dtypes.is_inexact(dtype) and dtype.itemsize < 4
    return dtypes.float32 if short else dtype


def _batch_first(x: Value, labels: Labels, batch: Labels) -> tuple[Array, Labels]:
    """The array with the axes ``batch`` first, of length 1 where it has none of them;
    and the labels of its others.
    """
    first = [labels.index(a) for a in batch if a in labels]
    others = [k for k in range(x.ndim) if k not in first]
    new = [k for k, a in enumerate(batch) if a not in labels]
    x = cnp.expand_dims(x.transpose(*first, *others), new)
    return x, tuple([labels[k] for k in others])


def _lane(
    mat: BCOO, of_mat: Labels, of_dense: Labels, out: Labels, precision: Any, dtype: Any
) -> tuple[Callable[..., Array], Labels]:
    """The product of one matrix of a batch, and the labels of its result."""
    n, shape = mat.n_sparse, mat.sparse_shape
    sparse, blocks = of_mat[:n], of_mat[n:]
    read = [k for k, a in enumerate(sparse) if a in of_dense]
    kept = [k for k, a in enumerate(sparse) if a in out]
    axes = [of_dense.index(sparse[k]) for k in read]
    rest = [a for k, a in enumerate(of_dense) if k not in axes]
    found = [a for a in dict.fromkeys([*blocks, *rest]) if a in out]
    unique = mat.unique_indices and len(kept) == n
    ascending = mat.indices_sorted and kept == list(range(len(kept)))

    def lane(data: Value, indices: Value, dense: Value) -> Array:
        data = masked(in_bounds(indices, shape), data)
        values = read_at(dense, columns(indices, read), axes) if read else dense
        terms = _einsum(
            data,
            [_EACH, *blocks],
            values,
            [_EACH, *rest] if read else rest,
            [_EACH, *found] if kept else found,
            precision=precision,
            preferred_element_type=dtype,
        )
        if not kept:
            return terms
        lengths = tuple([shape[k] for k in kept])
        return add_at(columns(indices, kept), terms, lengths, ascending, unique)

    return lane, (*[sparse[k] for k in kept], *found)


def _einsum(
    x: Value, of_x: Any, y: Value, of_y: Any, out: Any, **options: Any
) -> Array:
    """``einsum`` with these labels."""
    # The label of elements is −1: the last letter.
    left, right, result = [
        "".join([ascii_letters[a] for a in labels]) for labels in (of_x, of_y, out)
    ]
    return cnp.einsum(f"{left},{right}->{result}", x, y, **options)


def bcoo_dot_general_sampled(
    A: ArrayLike,
    B: ArrayLike,
    indices: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
) -> Array:
    """Elements of ``lax.dot_general(A, B)`` at some indices, none of the others.

    Args:
      indices: ``[*batch, nse, n_sparse]``, as of a BCOO of the shape of the product.

    Returns:
      ``[*batch, nse, *dense]``, the data of that BCOO.

    Raises:
      TypeMismatch: the axes do not fit.

    >>> import covector.numpy as cnp
    >>> x, at = cnp.arange(4.0).reshape(2, 2), cnp.array([[1, 0], [1, 1]])
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> bcoo_dot_general_sampled(x, x, at, dimension_numbers=numbers).tolist()
    [6.0, 11.0]
    """
    who = "bcoo_dot_general_sampled"
    x, y, where = [as_array(a, who) for a in (A, B, indices)]
    labels = contraction(who, x, y, dimension_numbers)
    x, y = promote_dtypes(who, x, y)
    n, end = where.ndim - 2, where.ndim - 2 + where.shape[-1]
    lengths = dict(zip(labels.rhs + labels.lhs, y.shape + x.shape, strict=True))
    batch, sparse, blocks = labels.out[:n], labels.out[n:end], labels.out[end:]
    shape = tuple([lengths[a] for a in labels.out])
    fits = n >= 0 and end <= len(shape)
    if not fits or any(
        [k not in (1, m) for k, m in zip(where.shape[:n], shape, strict=False)]
    ):
        raise TypeMismatch(
            f"{who} needs indices [*batch, nse, n_sparse] into a product of the shape "
            f"{shape}, but got {where.type}."
        )
    x, of_x = _batch_first(x, labels.lhs, batch)
    y, of_y = _batch_first(y, labels.rhs, batch)

    def at(values: Value, labels: Labels, indices: Value) -> tuple[Value, Labels]:
        read = [k for k, a in enumerate(sparse) if a in labels]
        if not read:
            return values, labels
        axes = [labels.index(sparse[k]) for k in read]
        rest = [a for k, a in enumerate(labels) if k not in axes]
        return read_at(values, columns(indices, read), axes), (_EACH, *rest)

    def sample(x: Value, y: Value, indices: Value) -> Array:
        x, left = at(x, of_x, indices)
        y, right = at(y, of_y, indices)
        if _EACH not in (*left, *right):
            x, left = cnp.broadcast_to(x, (len(indices), *x.shape)), (_EACH, *left)
        data = _einsum(x, left, y, right, [_EACH, *blocks])
        return masked(in_bounds(indices, shape[n:end]), data)

    return over_batch(sample, n, x, y, where)


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """The data of the elementwise product of a sparse and a dense array.

    Args:
      v: an array that can be broadcast to the shape of ``sp_mat``.

    Returns:
      The data of a BCOO with the indices of ``sp_mat``.

    Raises:
      TypeMismatch: ``v`` cannot be broadcast to the shape.

    >>> import covector.numpy as cnp
    >>> from covector.experimental import sparse
    >>> bcoo_multiply_dense(sparse.eye(2), cnp.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    who = "bcoo_multiply_dense"
    data, x = at_elements(sp_mat, as_array(v, who), who)
    return cnp.multiply(data, x)


def at_elements(mat: BCOO, x: Value, who: str) -> tuple[Array, Array]:
    """The data, and the elements of ``x`` that they meet: ones for padding."""
    shape = mat.shape
    lengths = (1,) * (len(shape) - x.ndim) + x.shape
    if len(lengths) != len(shape) or any(
        [k not in (1, n) for k, n in zip(lengths, shape, strict=True)]
    ):
        raise TypeMismatch(
            f"{who} of {mat} needs an array that can be broadcast to its shape, but "
            f"got {x.type}."
        )
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    read = [k for k, m in enumerate(lengths[n:end]) if m != 1]
    inner = mat.sparse_shape

    def meet(data: Value, indices: Value, x: Value) -> tuple[Array, Array]:
        x = cnp.squeeze(x, tuple([k for k in range(len(inner)) if k not in read]))
        if read:
            x = read_at(x, columns(indices, read), range(len(read)))
        else:
            x = cnp.broadcast_to(x, (len(indices), *x.shape))
        outside = ~in_bounds(indices, inner)
        # A division by ones, unlike one by zeros, has finite derivatives.
        outside = outside.reshape(len(indices), *[1] * (x.ndim - 1))
        x = cnp.where(outside, cnp.ones((), x.dtype), x)
        return data, cnp.broadcast_to(x, data.shape)

    return over_batch(meet, n, mat.data, mat.indices, x.reshape(lengths))
