"""Products of two BCOO: pairs of elements that meet.

Elements meet where their indices agree along the axes that are contracted or paired.
Elements of one array are put in the order of these indices, so those that an element of
the other meets stand beside each other, and all pairs are numbered: ``nse`` of the
product is the number of pairs.
"""

from collections.abc import Sequence
from typing import Any

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.trace import Tracer
from covector.errors import TypeMismatch
from covector.experimental.sparse.bcoo import BCOO
from covector.experimental.sparse.bcoo_layout import (
    bcoo_update_layout,
    common_layout,
)
from covector.experimental.sparse.bcoo_order import same_size
from covector.experimental.sparse.contraction import Contraction
from covector.experimental.sparse.elements import (
    add_at,
    columns,
    group,
    in_bounds,
    known_count,
    lengths_of,
    masked,
    over_batch,
    padded,
)
from covector.numpy.promote import promote_dtypes

__all__ = ["bcoo_multiply_sparse"]


class _Keys:
    """What two lists of elements meet by."""

    def __init__(self, left: Value, right: Value, shape: Sequence[int]) -> None:
        columns = cnp.concatenate([left, right])
        ranks, _ = group(columns, tuple(shape))
        inside = in_bounds(columns, tuple(shape))
        size = len(columns)
        # Padding meets nothing: it has a rank that no element has.
        ranks = cnp.where(inside, ranks, size)
        self.left, right_ranks = ranks[: len(left)], ranks[len(left) :]
        self.order = cnp.argsort(right_ranks)
        self.right = right_ranks
        ones = (right_ranks < size).astype(dtypes.int32)
        self.counts = add_at(right_ranks[:, None], ones, (size,))
        self.starts = cnp.cumsum(self.counts) - self.counts
        #: how many elements each on the left meets
        self.meets = self.counts.at[self.left].get(mode="fill", fill_value=0)


def _pairs(keys: _Keys, count: int) -> tuple[Array, Array, Array]:
    """The mask of pairs among ``count`` numbers, and the elements on both sides."""
    ends = cnp.cumsum(keys.meets)
    numbers = cnp.arange(count, dtype=ends.dtype)
    left = cnp.searchsorted(ends, numbers, side="right").astype(dtypes.int32)
    mask = left < len(ends)
    left = cnp.where(mask, left, 0)
    before = (ends - keys.meets)[left]
    rank = cnp.minimum(keys.left[left], len(keys.starts) - 1)
    at = keys.starts[rank] + numbers - before
    return mask, left, keys.order[cnp.where(mask, at, 0)]


def sparse_dot_general(
    lhs: BCOO, rhs: BCOO, labels: Contraction, preferred: Any
) -> BCOO:
    """``dot_general`` of two sparse arrays, by the labels of their axes."""
    n = _paired_batch(lhs, rhs, labels)
    lhs = bcoo_update_layout(lhs, n_batch=n, n_dense=0)
    rhs = bcoo_update_layout(rhs, n_batch=n, n_dense=0)
    x, y = promote_dtypes("bcoo_dot_general", lhs.data, rhs.data)
    dtype = x.dtype if preferred is None else dtypes.as_dtype(preferred)
    left, right, out = labels.lhs[n:], labels.rhs[n:], labels.out[n:]
    both = [a for a in left if a in right]
    lengths = dict(zip(right, rhs.sparse_shape, strict=True))
    lengths |= dict(zip(left, lhs.sparse_shape, strict=True))
    shape = tuple([lengths[a] for a in out])

    of_left, of_right = lhs.sparse_shape, rhs.sparse_shape
    of_both = [left.index(a) for a in both], [right.index(a) for a in both]
    lengths_of_both = tuple([lengths[a] for a in both])

    def keys(i: Value, j: Value) -> _Keys:
        i = cnp.where(in_bounds(i, of_left)[:, None], i, lengths_of(of_left, i.dtype))
        j = cnp.where(in_bounds(j, of_right)[:, None], j, lengths_of(of_right, j.dtype))
        return _Keys(columns(i, of_both[0]), columns(j, of_both[1]), lengths_of_both)

    count = lhs.nse * rhs.nse
    totals = over_batch(
        lambda i, j: keys(i, j).meets.sum(), n, lhs.indices, rhs.indices
    )
    if not isinstance(totals, Tracer):
        count = known_count(totals, "bcoo_dot_general")

    def product(x: Value, i: Value, y: Value, j: Value) -> tuple[Array, Array]:
        if not count:
            return cnp.zeros(0, dtype), cnp.zeros((0, len(shape)), i.dtype)
        mask, at_left, at_right = _pairs(keys(i, j), count)
        # Padding meets padding where nothing is contracted.
        mask &= in_bounds(i, of_left)[at_left]
        mask &= in_bounds(j, of_right)[at_right]
        data = x[at_left].astype(dtype) * y[at_right].astype(dtype)
        indices = [
            i[at_left, left.index(a)] if a in left else j[at_right, right.index(a)]
            for a in out
        ]
        stacked = cnp.stack(indices, -1) if out else cnp.zeros((count, 0), i.dtype)
        return padded(mask, data, stacked, shape)

    data, indices = over_batch(product, n, x, lhs.indices, y, rhs.indices)
    return same_size(BCOO.of_parts(data, indices, shape))


def _paired_batch(lhs: BCOO, rhs: BCOO, labels: Contraction) -> int:
    """How many batch axes are paired, in the order of the result."""
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
        ranks, _ = group(cnp.concatenate([i, j.astype(i.dtype)]), shape)
        inside = in_bounds(i, shape)
        y = masked(in_bounds(j, shape), y)
        of_rank = add_at(ranks[len(i) :, None], y, (len(ranks),))
        return masked(inside, x * of_rank[ranks[: len(i)]])

    data = over_batch(multiply, lhs.n_batch, x, lhs.indices, y, rhs.indices)
    return lhs.replace(data=data)
