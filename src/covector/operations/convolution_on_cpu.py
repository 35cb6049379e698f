"""Convolutions that are faster on a CPU as other operations.

XLA:CPU is quick where many features meet, and slow elsewhere; groups it runs as loops
over single elements. Measured on two cores, in ms, as XLA has it and as here:

    3×3, 1 feature to 1, image 256×256          product per term          4.6 → 0.07
    101, 1 feature to 1, 1,000,000 numbers      product per term           45 → 6.5
    11×11, 1 feature to 1, image 1024×1024      product per term           76 → 25
    3×3, 3 features to 3, 8×64×64               product per term          1.9 → 0.09
    9×9, 32 groups of 1 feature, 4×56×56        product per term           27 → 2.0
    3×3, 64 groups of 1 feature, 8×28×28        product per term         15.4 → 0.2
    … its adjoint by the weights                sum per index             3.1 → 0.7
    3×3, 4 groups of 16 features, 8×28×28       convolution per group     2.2 → 1.3
    … its adjoint by the weights                groups of features        276 → 1.6
    3×3, 16 features to 16, 16×48×48, gradient
    in a loop, or a separate function           axes in XLA's order       274 → 9.7

``remedy`` gives the other way, as a function of the operands, where there is one.
"""

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from covector.core.annotations import DType, Value
from covector.core.array_like import Array
from covector.core.types import ArrayType
from covector.operations.arithmetic import add, mul
from covector.operations.axis_groups import regrouped
from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from covector.operations.casting import convert
from covector.operations.convolution_by_patches import Way, cut, padded, product
from covector.operations.joining import Concatenate
from covector.operations.precision import ON_HOST, working_dtype
from covector.operations.slicing import Slice
from covector.operations.sliding_windows import features_last
from covector.operations.transposing import Reshape, Transpose

#: terms of a sum, or indices, up to which there is one operation for each
MOST_TERMS = 64
#: the same for one feature of the result, or one in each group, where that is large
MOST_OF_ONE = 128
#: products for each position and group up to which it is better to form them one by one
MOST_PRODUCTS = 1024
#: features of the result from which they are better last
MANY_FEATURES = 8
#: groups up to which there is one convolution for each, and from how many products
MOST_CONVOLUTIONS = 32
WORTH_SPLITTING = 2**22

Axes: TypeAlias = tuple[int, ...]


def remedy(conv: Any, lhs: ArrayType, rhs: ArrayType) -> Way | None:
    """Another way to compute ``conv`` on a CPU; None: as it is."""
    (out,) = conv.type_rule(lhs, rhs)
    return (
        product(conv, lhs, rhs, out)
        or _of_gaps(conv, lhs, rhs, out)
        or _of_groups_and_terms(conv, lhs, rhs, out)
        or _of_volumes(conv, lhs, rhs, out)
    )


def _of_gaps(conv: Any, lhs: ArrayType, rhs: ArrayType, out: ArrayType) -> Way | None:
    if max(conv.lhs_dilation) == 1:
        return None
    from covector.operations.convolution_with_gaps import (  # noqa: PLC0415  few have
        without_gaps,
    )

    return without_gaps(conv, lhs, rhs, out)


def _of_volumes(
    conv: Any, lhs: ArrayType, rhs: ArrayType, out: ArrayType
) -> Way | None:
    if len(conv.windows) < 3:
        return None
    from covector.operations.convolution_of_volumes import (  # noqa: PLC0415  few are
        by_planes,
    )

    return by_planes(conv, lhs, rhs, out)


def _of_groups_and_terms(
    conv: Any, lhs: ArrayType, rhs: ArrayType, out: ArrayType
) -> Way | None:
    _, b, c = conv.dimension_numbers
    taps = math.prod([rhs.shape[k] for k in b[2:]])
    positions = math.prod([out.shape[k] for k in c[2:]])
    terms, per_group = taps * rhs.shape[b[1]], rhs.shape[b[0]] // conv.groups
    if conv.batch_group_count > 1:
        few = type(positions) is int and positions <= MOST_TERMS
        if per_group == 1 and out.shape[c[0]] == 1 and few:
            return lambda x, w: _by_positions(conv, out, x, w)
        return lambda x, w: _as_groups_of_features(conv, x, w)
    if type(terms * per_group) is not int:
        return None  # symbolic
    known = type(out.size) is int
    large = known and out.size * terms >= WORTH_SPLITTING
    one = per_group == 1 and (large or conv.groups > 1)
    most = MOST_OF_ONE if one else MOST_TERMS
    many = terms > most or terms * per_group > MOST_PRODUCTS
    if not many and (taps > 1 or conv.groups > 1):
        return lambda x, w: _by_terms(conv, out, x, w)
    few = 1 < conv.groups <= MOST_CONVOLUTIONS
    if few and large:
        return lambda x, w: _one_by_one(conv, x, w)
    return None


def prefers_features_last(conv: Any, lhs: ArrayType, rhs: ArrayType) -> bool:
    """Whether to compute ``conv`` with the features last, as it is not now.

    XLA reorders axes by itself, but only outside of loops and of functions that are
    compiled separately: a convolution there takes up to forty times as long.
    """
    axes = conv.dimension_numbers
    if conv.groups > 1 or axes == features_last(lhs.ndim):
        return False
    return remedy(conv, lhs, rhs) is None or rhs.shape[axes[1][0]] >= MANY_FEATURES


def with_features_last(conv: Any, lhs: Value, rhs: Value) -> Array:
    """The result of ``conv`` with the features last."""
    axes, wanted = conv.dimension_numbers, features_last(lhs.type.ndim)
    x, w = [_moved(v, a, b) for v, a, b in zip((lhs, rhs), axes, wanted, strict=False)]
    return conv.changed(dimension_numbers=axes._make(wanted))(x, w)


def _moved(x: Value, source: Axes, destination: Axes) -> Value:
    """``x`` with the axes at ``source`` moved to ``destination``."""
    order = [0] * len(source)
    for a, b in zip(source, destination, strict=True):
        order[b] = a
    return x if order == sorted(order) else Transpose(tuple(order))(x)


def _as_groups_of_features(conv: Any, lhs: Value, rhs: Value) -> Sequence[Array]:
    """Entries of a group of the batch become features of that group."""
    a, _, _ = conv.dimension_numbers
    groups = conv.batch_group_count
    op = conv.changed(feature_group_count=groups, batch_group_count=1)
    return [op(regrouped(lhs, a[0], a[1], groups), rhs)]


def _one_by_one(conv: Any, lhs: Value, rhs: Value) -> Sequence[Any]:
    """A convolution for each group, their features side by side."""
    a, b, c = conv.dimension_numbers
    op, groups = conv.changed(feature_group_count=1), conv.feature_group_count
    parts = zip(_parts(lhs, a[1], groups), _parts(rhs, b[0], groups), strict=True)
    return [Concatenate(c[1])(*[op(x, w) for x, w in parts])]


def _parts(x: Value, axis: int, count: int) -> Iterator[Any]:
    """``x`` cut along an axis into parts of equal length."""
    length = x.type.shape[axis] // count
    for k in range(count):
        yield cut(x, (axis,), (k * length,), (1,), (length,))


def _by_terms(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Array]:
    """``out[n, gm, p] = Σ_i Σ_k lhs[n, gi, p + k] · rhs[gm, i, k]``, a product each.

    Features gi of the operand and gm of the result are those of group g.
    """
    a, b, c = conv.dimension_numbers
    working = _sums(lhs, out)
    order = [0] * len(a)
    for source, target in zip(a, c, strict=True):
        order[target] = source
    x = Transpose(tuple(order))(padded(convert(lhs, working), a[2:], conv.windows))
    weights = _by_term(convert(rhs, working), b, c[1] == len(order) - 1)
    axis, groups, per_group = c[1], conv.feature_group_count, rhs.type.shape[b[1]]
    lengths = (groups, *[out.shape[k] for k in c[2:]])
    pair = (groups, out.shape[axis] // groups)
    whole = (*out.shape[:axis], *pair, *out.shape[axis + 1 :])
    kept = tuple([k + (k > axis) for k in range(x.type.ndim)])
    total = None
    for i, *tap in itertools.product(*map(range, weights.type.shape[:-1])):
        starts = (i, *map(operator.mul, tap, conv.rhs_dilation))
        seen = cut(x, c[1:], starts, (per_group, *conv.window_strides), lengths)
        limit = (i + 1, *[k + 1 for k in tap], weights.type.shape[-1])
        weight = Reshape(pair)(Slice((i, *tap, 0), limit)(weights))
        repeated = BroadcastInDim(whole, (axis, axis + 1))(weight)
        term = mul(BroadcastInDim(whole, kept)(seen), repeated)
        total = term if total is None else add(total, term)
    return [convert(Reshape(out.shape)(total), out.dtype)]


def _by_term(rhs: Value, spec: Axes, features_last: bool) -> Value:
    """The weights of each term side by side, one for each feature of the result.

    Where those are last in the result, too, they are read as a row. So they are put in
    memory: XLA would see through the transpose, and read them one by one, from where
    they are, for each element.
    """
    from covector.lowering.long_rows import View  # noqa: PLC0415  many have none

    features, *others = spec
    weights = Transpose((*others, features))(rhs)
    return View(weights.type.shape)(weights) if features_last else weights


def _by_positions(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Any]:
    """``out[o, p] = Σ_i Σ_k lhs[o, i, p + k] · rhs[o, i, k]``, a sum for each position.

    There is one batch entry, and one feature of the result, for each group.
    """
    a, b, c = conv.dimension_numbers
    working = _sums(lhs, out)
    x = padded(convert(lhs, working), a[2:], conv.windows)
    order = [0] * len(a)
    for source, target in zip(b, a, strict=True):
        order[target] = source
    weights = Transpose(tuple(order))(convert(rhs, working))
    positions, taps = [
        [t.shape[k] for k in axes[2:]] for t, axes in ((out, c), (rhs.type, b))
    ]
    sums = []
    for position in itertools.product(*map(range, positions)):
        starts = tuple(map(operator.mul, position, conv.window_strides))
        seen = cut(x, a[2:], starts, conv.rhs_dilation, tuple(taps))
        total = ReduceSum(tuple(sorted(a[1:])))(mul(seen, weights))
        sums.append(Reshape((1, *total.type.shape, 1))(total))
    made = Concatenate(2)(*sums) if len(sums) > 1 else sums[0]
    made = Reshape((*made.type.shape[:2], *positions))(made)
    back = sorted(range(len(c)), key=c.__getitem__)
    return [convert(Transpose(tuple(back))(made), out.dtype)]


def _sums(lhs: Value, out: ArrayType) -> DType:
    """The dtype in which to form products and sums, so as to round once."""
    working = working_dtype(lhs.type.dtype, out.dtype)
    return ON_HOST.get(working, working)
