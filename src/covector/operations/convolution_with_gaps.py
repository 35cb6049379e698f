"""Convolutions of what has zeros between its elements, without the zeros.

The adjoint of a convolution with a stride, by what it is given, has such gaps, and so
has a ``conv_transpose``. XLA:CPU is slow there in three dimensions, and for few
features. And where the window is large, as in the adjoint of a ``conv_transpose`` by
its weights, it computes element by element. Measured on two cores, in ms, as XLA has it
and as here, a ``conv_transpose`` with a stride of 2:

    3×3, 64 features to 64, 32×16×16: by the weights     337 → 17
    4×4, 32 features to 16, 32×8×8: by the weights        8.7 → 1.0
    3×3×3, 8 features to 8, 2×16×16×16                     89 → 1.0
    … by the weights                                       96 → 2.8
    7×7, 3 features to 64, 16×64×64                       238 → 15
    3×3, 32 features to 32, 32×16×16                      2.4 → 1.5
    9, stride 4, 64 features to 64, 8×500                 2.6 → 1.8
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.types import ArrayType, Shape
from covector.operations.convolution_by_patches import Way, cut
from covector.operations.slicing import Pad
from covector.operations.transposing import Reshape, Rev, Transpose

#: products with the zeros from which phases pay, for up to two axes and for three;
#: elements of the result for each weight, and part of the weights that are no padding
_MANY, _MANY_OF_VOLUMES, _FOR_EACH, _PART = 1 << 24, 1 << 23, 8, 0.5


def without_gaps(
    conv: Any, lhs: ArrayType, rhs: ArrayType, out: ArrayType
) -> Way | None:
    """Another way to compute ``conv``, whose ``lhs`` has gaps; None: as it is."""
    sizes = (*lhs.shape, *rhs.shape, *out.shape)
    if conv.groups > 1 or max(conv.rhs_dilation) > 1:
        return None
    if not all([type(n) is int for n in sizes]):
        return None
    _, b, c = conv.dimension_numbers
    taps, positions = [
        [t.shape[k] for k in axes[2:]] for t, axes in ((rhs, b), (out, c))
    ]
    if math.prod(taps) > math.prod(positions):
        return lambda x, w: _turned_round(conv, out, x, w)
    products = out.size * math.prod(taps) * rhs.shape[b[1]]
    gaps = zip(taps, conv.lhs_dilation, strict=True)
    used = math.prod([n / (d * -(-n // d)) for n, d in gaps])
    volumes = len(taps) > 2
    many = products >= (_MANY_OF_VOLUMES if volumes else _MANY)
    pays = used >= _PART and _FOR_EACH * rhs.size <= out.size
    if many and (volumes or pays) and max(conv.window_strides) == 1:
        return lambda x, w: _by_phases(conv, out, x, w)
    return None


def _turned_round(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Value]:
    """``rhs`` weighted by ``lhs``, whose gaps are now between the taps of the window.

    Along an axis, with gaps d and a window that moves by s from −low on,

        out[k] = Σ_m lhs[m] · rhs[d·m − s·k + low],

    which for k = K − 1 − k' is a window of ``lhs`` that moves by s from
    low − s·(K − 1) on.
    """
    a, b, c = conv.dimension_numbers
    windows = []
    for w, i, j, k in zip(conv.windows, a[2:], b[2:], c[2:], strict=True):
        length, taps = lhs.type.shape[i], rhs.type.shape[j]
        low = w.stride * (out.shape[k] - 1) - w.low
        high = w.lhs_dilation * (length - 1) - (taps - 1) + w.low
        windows.append(
            w._replace(low=low, high=high, lhs_dilation=1, rhs_dilation=w.lhs_dilation)
        )
    numbers = type(conv.dimension_numbers)(b, a, (c[1], c[0], *c[2:]))
    made = conv.changed(windows, dimension_numbers=numbers)(rhs, lhs)
    return [Rev(tuple(sorted(c[2:])))(made)]


def _by_phases(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Value]:
    """One convolution of ``lhs`` without its gaps, with d times as many features: those
    of d positions one after the other, which then are put in order.

    Along an axis with gaps d, let low + σ = d·q + d − 1 for the least σ ≥ 0. Then
    position d·j + φ − σ sees ``lhs[j + v − q]``, weighted by ``rhs[d·v + d − 1 − φ]``.
    """
    a, b, c = conv.dimension_numbers
    windows, phases, taps, skipped = [], [], [], []
    for w, i, j, k in zip(conv.windows, a[2:], b[2:], c[2:], strict=True):
        gap, length = w.lhs_dilation, lhs.type.shape[i]
        shift = (gap - 1 - w.low) % gap
        low, count = (w.low + shift) // gap, -(-rhs.type.shape[j] // gap)
        positions = -(-(out.shape[k] + shift) // gap)
        high = positions + count - 1 - length - low
        windows.append(w._replace(low=low, high=high, lhs_dilation=1))
        phases.append(gap)
        taps.append(count)
        skipped.append(shift)
    weights = _weights_of_phases(rhs, b, taps, phases)
    made = _in_order(conv.changed(windows)(lhs, weights), c, phases)
    lengths = [out.shape[k] for k in c[2:]]
    return [cut(made, c[2:], skipped, [1] * len(lengths), lengths)]


def _weights_of_phases(
    rhs: Value, spec: tuple[int, ...], taps: Sequence[int], phases: Sequence[int]
) -> Value:
    """The weights of the phases, side by side as features of the result."""
    lengths = dict(zip(spec[2:], zip(taps, phases, strict=True), strict=True))
    margins = [(0, 0, 0)] * rhs.type.ndim
    parts: list[Shape] = [(n,) for n in rhs.type.shape]
    for j, (count, gap) in lengths.items():
        margins[j] = (0, count * gap - rhs.type.shape[j], 0)
        parts[j] = (count, gap)
    at = _first_axes(parts)
    inside = [at[j] + 1 for j in spec[2:]]
    order = [at[j] for j in range(len(parts))]
    order[spec[0] : spec[0]] = inside
    shape = [n for n, *_ in parts]
    shape[spec[0]] *= math.prod(phases)
    x = Pad(tuple(margins))(rhs, scalar(0, rhs.type.dtype))
    x = Rev(tuple(sorted(inside)))(Reshape(tuple(itertools.chain(*parts)))(x))
    return Reshape(tuple(shape))(Transpose(tuple(order))(x))


def _in_order(x: Value, spec: tuple[int, ...], phases: Sequence[int]) -> Value:
    """The positions of all phases in order, which are side by side as features."""
    parts: list[Shape] = [(n,) for n in x.type.shape]
    features = x.type.shape[spec[1]] // math.prod(phases)
    parts[spec[1]] = (*phases, features)
    at = _first_axes(parts)
    first = at[spec[1]]
    at[spec[1]] += len(phases)
    order, shape = [], []
    for k, (n, *_) in enumerate(parts):
        order.append(at[k])
        shape.append(features if k == spec[1] else n)
        if k in spec[2:]:
            i = spec[2:].index(k)
            order.append(first + i)
            shape[-1] *= phases[i]
    x = Transpose(tuple(order))(Reshape(tuple(itertools.chain(*parts)))(x))
    return Reshape(tuple(shape))(x)


def _first_axes(parts: Sequence[Shape]) -> list[int]:
    """The first of the axes that each is cut into."""
    return [0, *itertools.accumulate(map(len, parts[:-1]))]
