"""Products of two BCOO: pairs of elements that meet.

Elements meet where their indices agree along the axes that are contracted or paired.
Elements of one array are put in the order of these indices, so those that an element of
the other meets stand beside each other, and all pairs are numbered: ``nse`` of the
product is the number of pairs.
"""

from math import prod
from typing import Any, NamedTuple

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import Shape, Value
from covector.core.array_like import Array
from covector.core.convert import asked_dtype
from covector.core.trace import Tracer
from covector.errors import TypeMismatch
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_layout import bcoo_update_layout, common_layout
from covector.experimental.sparse.bcoo_order import same_size
from covector.experimental.sparse.contraction import Contraction
from covector.experimental.sparse.elements import (
    add_at,
    columns,
    in_bounds,
    known_count,
    lengths_of,
    numbered,
    over_batch,
    padded,
    read_at,
)
from covector.numpy.promote import promote_dtypes

__all__ = ["bcoo_multiply_sparse"]


class _Operands(NamedTuple):
    """Facts about the operands that hold for any indices."""

    left: Shape
    right: Shape
    #: the columns of both by which their elements meet
    left_columns: tuple[int, ...]
    right_columns: tuple[int, ...]

    def meet(self, i: Value, j: Value) -> "_Meeting":
        """The pairs of elements with these indices."""
        # Padding is outside in every column.
        i, j = [
            cnp.where(in_bounds(x, shape)[:, None], x, lengths_of(shape, x.dtype))
            for x, shape in ((i, self.left), (j, self.right))
        ]
        shape = tuple([self.left[k] for k in self.left_columns])
        both = columns(i, self.left_columns), columns(j, self.right_columns)
        indices = cnp.concatenate(both)
        numbers, size = numbered(indices, shape)
        left, right = numbers[: len(i)], numbers[len(i) :]
        ones = (right < size).astype(dtypes.int32)
        counts = add_at(right[:, None], ones, (size,))
        meets = counts.at[left].get(mode="fill", fill_value=0)
        starts = cnp.cumsum(counts) - counts
        first = starts.at[left].get(mode="fill", fill_value=0)
        return _Meeting(meets, first, cnp.argsort(right))


class _Meeting(NamedTuple):
    """The pairs of elements of two arrays that meet."""

    #: how many on the right each on the left meets
    meets: Array
    #: where these begin in ``order``
    first: Array
    #: the elements on the right by what they meet by
    order: Array

    def pairs(self, count: int) -> tuple[Array, Array, Array]:
        """The mask of pairs among ``count`` numbers, and the elements on both sides."""
        ends = cnp.cumsum(self.meets)
        begins = ends - self.meets
        numbers = cnp.arange(count, dtype=begins.dtype)
        mask = numbers < self.meets.sum()
        # At each number, how many on the left have begun: the last of them is in turn.
        begun = add_at(begins[:, None], cnp.ones_like(begins), (count,))
        left = cnp.where(mask, cnp.cumsum(begun) - 1, 0)
        at = self.first[left] + numbers - begins[left]
        return mask, left, self.order[cnp.where(mask, at, 0)]


def sparse_dot_general(
    lhs: BCOO, rhs: BCOO, labels: Contraction, preferred: Any
) -> BCOO:
    """``dot_general`` of two sparse arrays, by the labels of their axes."""
    n = _paired_batch(lhs, rhs, labels)
    lhs = bcoo_update_layout(lhs, n_batch=n, n_dense=0)
    rhs = bcoo_update_layout(rhs, n_batch=n, n_dense=0)
    x, y = promote_dtypes("bcoo_dot_general", lhs.data, rhs.data)
    dtype = x.dtype if preferred is None else asked_dtype(preferred)
    left, right, out = labels.lhs[n:], labels.rhs[n:], labels.out[n:]
    both = [a for a in left if a in right]
    operands = _Operands(
        lhs.sparse_shape,
        rhs.sparse_shape,
        tuple([left.index(a) for a in both]),
        tuple([right.index(a) for a in both]),
    )
    lengths = dict(zip(right + left, operands.right + operands.left, strict=True))
    shape = tuple([lengths[a] for a in out])
    count = _count(lhs, rhs, operands)

    def product(x: Value, i: Value, y: Value, j: Value) -> tuple[Array, Array]:
        if not count:
            return cnp.zeros(0, dtype), cnp.zeros((0, len(shape)), i.dtype)
        mask, at_left, at_right = operands.meet(i, j).pairs(count)
        # Padding meets padding where nothing is contracted.
        mask &= in_bounds(i, operands.left)[at_left]
        mask &= in_bounds(j, operands.right)[at_right]
        data = x[at_left].astype(dtype) * y[at_right].astype(dtype)
        found = [
            i[at_left, left.index(a)] if a in left else j[at_right, right.index(a)]
            for a in out
        ]
        indices = cnp.stack(found, -1) if out else cnp.zeros((count, 0), i.dtype)
        return padded(mask, data, indices, shape)

    data, indices = over_batch(product, n, x, lhs.indices, y, rhs.indices)
    return same_size(BCOO.of_parts(data, indices, shape))


def _count(lhs: BCOO, rhs: BCOO, operands: _Operands) -> int:
    """The number of pairs that meet, at most; exactly where indices are known."""
    totals = over_batch(
        lambda i, j: operands.meet(i, j).meets.sum(),
        lhs.n_batch,
        lhs.indices,
        rhs.indices,
    )
    if not isinstance(totals, Tracer):
        return known_count(totals, "bcoo_dot_general")
    most = [lhs.nse * rhs.nse]
    if rhs.unique_indices:
        alone = [n for k, n in enumerate(rhs.sparse_shape) if k not in operands[3]]
        most.append(lhs.nse * prod(alone))
    if lhs.unique_indices:
        alone = [n for k, n in enumerate(lhs.sparse_shape) if k not in operands[2]]
        most.append(rhs.nse * prod(alone))
    return min(most)


def _paired_batch(lhs: BCOO, rhs: BCOO, labels: Contraction) -> int:
    """The number of batch axes that are paired, in the order of the result."""
    n = 0
    for a, b, c in zip(labels.lhs, labels.rhs, labels.out, strict=False):
        if not a == b == c or n >= min(lhs.n_batch, rhs.n_batch):
            break
        n += 1
    return n


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The elementwise product of two sparse arrays of one shape.

    Its elements are those of ``lhs``, each multiplied by the sum of those of ``rhs`` at
    its index.

    Raises:
      TypeMismatch: the shapes differ.

    >>> from covector.experimental import sparse
    >>> bcoo_multiply_sparse(sparse.eye(2), 3 * sparse.eye(2)).data.tolist()
    [3.0, 3.0]
    """
    if lhs.shape != rhs.shape:
        raise TypeMismatch(
            f"bcoo_multiply_sparse of {lhs} and {rhs}: the shapes differ."
        )
    lhs, rhs = common_layout(lhs, rhs)
    shape = lhs.sparse_shape
    x, y = promote_dtypes("bcoo_multiply_sparse", lhs.data, rhs.data)

    def multiply(x: Value, i: Value, y: Value, j: Value) -> Array:
        both = cnp.concatenate([i, j.astype(i.dtype)])
        numbers, size = numbered(both, shape)
        at = numbers[: len(i), None], numbers[len(i) :, None]
        # Padding adds to nothing, and reads zeros.
        return x * read_at(add_at(at[1], y, (size,)), at[0], (0,))

    data = over_batch(multiply, lhs.n_batch, x, lhs.indices, y, rhs.indices)
    return lhs.replace(data=data)
