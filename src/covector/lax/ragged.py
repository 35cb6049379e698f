"""Ragged and block-scaled matrix products.

Groups are consecutive: with sizes 2, 0 and 3, rows 0 and 1 are group 0, rows 2 to 4 are
group 2, and rows from 5 on are in no group and give zeros.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import covector.numpy as cnp
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError, DTypeError, TypeMismatch, how_many
from covector.lax.contraction import dot_general
from covector.numpy.promote import broadcast, promote_dtypes
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.casting import convert
from covector.operations.contraction import DotDimensionNumbers, DotGeneral, Side
from covector.operations.precision import PrecisionLike
from covector.operations.transposing import Transpose

__all__ = [
    "RaggedDotDimensionNumbers",
    "ragged_dot",
    "ragged_dot_general",
    "scaled_dot",
]


Ints: TypeAlias = Sequence[int]


class RaggedDotDimensionNumbers(NamedTuple):
    """The axes of a ragged product.

    Those of ``dot_general``; then which axis of lhs falls into groups, and which axis
    of rhs, if any, has an entry for each group.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Ints
    rhs_group_dimensions: Ints


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Rows of ``lhs`` in groups, each group times a matrix of its own.

    Args:
      lhs: ``[m, k]``.
      rhs: ``[g, k, n]``, a matrix for each group.
      group_sizes: integers ``[g]``; rows after the last group give zeros.
      group_offset: ``[1]``, the group of which ``rhs`` has the first matrix; rows of
        groups of which it has none give zeros.
      precision, preferred_element_type: as for ``dot_general``.
      out_sharding: accepted, and left to the compiler.

    Returns:
      ``[m, n]``.

    >>> import numpy as np
    >>> x, w = np.ones((3, 1)), np.array([[[2.0]], [[5.0]]])
    >>> print(ragged_dot(x, w, np.array([1, 2]))[:, 0])
    [2. 5. 5.]
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)),
        precision,
        preferred_element_type,
        group_offset,
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``dot_general`` where an axis of ``lhs`` falls into groups.

    What happens depends on that axis, with b, m, n, k any number of axes:

    - free, ``[b, m, k] · [g, b, k, n] → [b, m, n]``: each group meets its own ``rhs``;
    - contracted, ``[b, m, k] · [b, k, n] → [g, b, m, n]``: a sum for each group;
    - a batch axis, ``[b, m, k] · [b, k, n] → [b, m, n]``: the same without groups.

    Args:
      group_sizes: integers ``[g]``, or ``[b, x, g]`` with other sizes for each batch
        entry and for axes x, which stand before the ragged axis and are of its kind.

    The other arguments are those of ``ragged_dot``.

    >>> import numpy as np
    >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> x = np.ones((3, 1))
    >>> print(ragged_dot_general(x, x, np.array([1, 2]), numbers)[:, 0, 0])
    [1. 2.]
    """
    who = "ragged_dot_general"
    lhs, rhs = promote_dtypes(who, lhs, rhs)
    sizes = as_array(group_sizes, who)
    if not dtypes.is_integer(sizes.type.dtype):
        raise DTypeError(f"{who} needs integers as group sizes, but got {sizes.type}.")
    numbers, ragged, groups = ragged_dot_dimension_numbers
    numbers = _axes(numbers)
    if len(ragged) != 1:
        raise ArgumentError(
            f"{who} needs one ragged axis of lhs, but got {tuple(ragged)}."
        )
    (axis,) = ragged
    left, right = DotGeneral(numbers).sides(lhs.type.ndim, rhs.type.ndim)
    _check_groups(axis in left.free, groups, group_offset)
    if axis in left.batch:
        return dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    of_its_kind = left.free if axis in left.free else left.contracted
    outer = [*left.batch, *[k for k in of_its_kind if k < axis]]
    inside = _inside(sizes, outer, lhs, axis)
    if axis in left.contracted:
        lhs, rhs = _apart(lhs, rhs, (left, right), inside, [*outer, axis])
        (a, b), (c, d) = [[[k + 1 for k in axes] for axes in pair] for pair in numbers]
        numbers = ((a, b), ([0, *c], [0, *d]))
        return dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    product = dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    inside = _from_group(inside, group_offset, rhs.type.shape[groups[0]])
    return _own_group(product, inside, (left, right), axis, groups[0])


def _axes(numbers: Any) -> DotDimensionNumbers:
    (a, b), (c, d) = numbers
    return (tuple(a), tuple(b)), (tuple(c), tuple(d))


def _check_groups(free: bool, groups: Ints, offset: Any) -> None:
    if free != (len(groups) == 1):
        raise ArgumentError(
            "ragged_dot_general needs one group axis of rhs where the ragged axis of "
            f"lhs is free, and none where it is not, but got {tuple(groups)}."
        )
    if offset is not None and not free:
        raise ArgumentError(
            "ragged_dot_general takes group_offset only where the ragged axis of lhs "
            "is free: it says which groups rhs has."
        )


def _inside(sizes: Array, outer: Ints, lhs: Array, axis: int) -> Array:
    """``[outer, g, length]``: which entries of the ragged axis each group has."""
    lengths = tuple([lhs.type.shape[k] for k in outer])
    shape = (*lengths, sizes.type.shape[-1])
    if sizes.type.ndim == 1:
        sizes = BroadcastInDim(shape, (len(outer),))(sizes)
    elif sizes.type.shape != shape:
        raise TypeMismatch(
            f"ragged_dot_general of {lhs.type}, ragged along axis {axis}, needs group "
            f"sizes of shape {shape[-1:]} or {shape}, but got {sizes.type}."
        )
    ends = cnp.cumsum(sizes, -1)
    positions, first, end = broadcast(
        "ragged_dot_general",
        cnp.arange(lhs.type.shape[axis], dtype=ends.type.dtype),
        (ends - sizes)[..., None],
        ends[..., None],
    )
    return (positions >= first) & (positions < end)


def _from_group(inside: Array, offset: Any, count: int) -> Array:
    """The part of the mask for the ``count`` groups of ``rhs``."""
    if offset is None:
        if inside.type.shape[-2] != count:
            raise TypeMismatch(
                f"ragged_dot_general got {inside.type.shape[-2]} group sizes, but rhs "
                f"has {how_many(count, 'group')}. group_offset says which of them it "
                "has."
            )
        return inside
    chosen = cnp.reshape(as_array(offset), (1,)) + cnp.arange(count)
    return cnp.take(inside, chosen, axis=-2, mode="fill", fill_value=False)


def _apart(
    lhs: Array, rhs: Array, sides: tuple[Side, Side], inside: Array, positions: Ints
) -> list[Array]:
    """Both operands once for each group, in front, with zeros outside of it.

    The mask is ``[outer, g, length]``; ``indices`` of lhs are its axes but g.
    """
    left, right = sides
    pairs = dict(
        zip(left.batch + left.contracted, right.batch + right.contracted, strict=True)
    )
    masked = []
    for x, axes in ((lhs, positions), (rhs, [pairs[k] for k in positions])):
        targets = [*[k + 1 for k in axes[:-1]], 0, axes[-1] + 1]
        mask = _broadcast(inside, targets, (inside.type.shape[-2], *x.type.shape))
        masked.append(cnp.where(mask, x, cnp.zeros((), x.type.dtype)))
    return masked


def _own_group(
    product: Array, inside: Array, sides: tuple[Side, Side], axis: int, group: int
) -> Array:
    """The products of entries with their own group, out of those with all groups."""
    left, right = sides
    count = len(left.batch)
    before = [k for k in left.free if k < axis]
    position = count + len(left.free) + right.free.index(group)
    targets = [*range(count + len(before)), position, count + left.free.index(axis)]
    mask = _broadcast(inside, targets, product.type.shape)
    masked = cnp.where(mask, product, cnp.zeros((), product.type.dtype))
    return cnp.sum(masked, axis=position, dtype=product.type.dtype)


def _broadcast(x: Array, targets: Ints, shape: tuple[int, ...]) -> Array:
    """``x`` over ``shape``, axis k of it becoming axis ``targets[k]``."""
    order = sorted(range(len(targets)), key=targets.__getitem__)
    repeated = BroadcastInDim(shape, tuple([targets[k] for k in order]))
    return repeated(Transpose(tuple(order))(x))


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``dot_general`` of operands of which each block has a scale.

    Args:
      lhs_scale, rhs_scale: like the operand, but along contracting axes with an entry
        for each block of it; the number of blocks divides the length.
      dimension_numbers: as for ``dot_general``; by default products of matrices, or of
        batches of them.
      preferred_element_type: the dtype of products and result, by default bfloat16.

    >>> import numpy as np
    >>> x, scale = np.ones((1, 4), np.float32), np.array([[2.0, 3.0]], np.float32)
    >>> print(scaled_dot(x, x.T, lhs_scale=scale, preferred_element_type='float32'))
    [[10.]]
    """
    who = "scaled_dot"
    lhs, rhs = as_array(lhs, who), as_array(rhs, who)
    if dimension_numbers is None:
        rank = lhs.type.ndim
        if rank not in (2, 3):
            raise ArgumentError(
                f"{who} of {lhs.type} and {rhs.type} needs dimension_numbers: there "
                "are defaults for matrices and batches of matrices."
            )
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    dtype = asked_dtype(preferred_element_type or dtypes.bfloat16)
    numbers = _axes(dimension_numbers)
    (contracted, others), _ = numbers
    lhs = _scaled(convert(lhs, dtype), lhs_scale, contracted)
    rhs = _scaled(convert(rhs, dtype), rhs_scale, others)
    return dot_general(lhs, rhs, numbers, preferred_element_type=dtype)


def _scaled(x: Array, scale: ArrayLike | None, contracted: Ints) -> Array:
    if scale is None:
        return x
    scale = convert(as_array(scale, "scaled_dot"), x.type.dtype)
    fits = scale.type.ndim == x.type.ndim and all(
        n and m % n == 0 if k in contracted else n == m
        for k, (m, n) in enumerate(zip(x.type.shape, scale.type.shape, strict=True))
    )
    if not fits:
        raise TypeMismatch(
            f"scaled_dot of an operand {x.type} needs a scale of the same shape, but "
            f"along the contracting axes {tuple(contracted)} of a length that divides "
            f"its own; it got {scale.type}."
        )
    for k in contracted:
        scale = cnp.repeat(scale, x.type.shape[k] // scale.type.shape[k], axis=k)
    return x * scale
