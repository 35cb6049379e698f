"""Adjoints of convolutions whose windows lie side by side, as products.

A window that moves by its own length sees each element once. So images become the
patches of a vision transformer, or are halved. The adjoint by what it is given writes
each patch by itself, and that by the weights sums the patches. XLA:CPU runs both as
windows with gaps, which in three dimensions, and where windows are large, it does
element by element. Measured on two cores, in ms, as XLA has it and as here:

    16×16, stride 16, 3 features to 64, 4×224×224: by the image      22 → 0.7
    8×8, stride 8, 3 features to 192, 16×32×32: by the image        1.0 → 0.2
    2×2, stride 2, 16 features to 32, 8×28×28: by the image        0.27 → 0.14
    2×2×2, stride 2, 8 features to 16, 2×32×32×32: by the image      53 → 0.3
    … by the weights                                                7.4 → 0.9

By the weights of two dimensions, and forwards, XLA is as quick or quicker.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.types import ArrayType
from covector.operations.contraction import DotGeneral
from covector.operations.slicing import Pad, Slice
from covector.operations.sliding_windows import Window
from covector.operations.transposing import Reshape, Rev, Transpose

#: a convolution of two values in other operations
Way: TypeAlias = Callable[[Any, Any], Sequence[Any]]


def product(conv: Any, lhs: ArrayType, rhs: ArrayType, out: ArrayType) -> Way | None:
    """The product that ``conv`` is, if it is such an adjoint."""
    if conv.groups > 1 or not all([type(n) is int for n in (*lhs.shape, *rhs.shape)]):
        return None
    a, b, c = conv.dimension_numbers
    if max([rhs.shape[j] for j in b[2:]]) == 1:
        return None  # a product already
    axes = [
        (w, lhs.shape[i], rhs.shape[j], out.shape[k])
        for w, i, j, k in zip(conv.windows, a[2:], b[2:], c[2:], strict=True)
    ]
    if all([_writes_patches(*axis) for axis in axes]):
        return lambda x, w: _by_patches(conv, out, x, w)
    if len(axes) > 2 and all([_sums_patches(*axis) for axis in axes]):
        return lambda x, w: _by_places(conv, out, x, w)
    return None


def padded(x: Value, axes: Sequence[int], windows: Sequence[Window]) -> Value:
    """The operand with the zeros between and around its elements that windows along
    these axes have.
    """
    config = [(0, 0, 0)] * x.type.ndim
    for axis, w in zip(axes, windows, strict=True):
        config[axis] = (w.low, w.high, w.lhs_dilation - 1)
    return Pad(tuple(config))(x, scalar(0, x.type.dtype))


def cut(
    x: Value,
    axes: Sequence[int],
    starts: Sequence[int],
    steps: Sequence[int],
    lengths: Sequence[int],
) -> Array:
    """Elements of ``x`` from an index on, so many along each of the axes, by steps."""
    start, limit, stride = [0] * x.type.ndim, list(x.type.shape), [1] * x.type.ndim
    for axis, first, step, n in zip(axes, starts, steps, lengths, strict=True):
        start[axis], stride[axis] = first, step
        limit[axis] = first + (n - 1) * step + 1
    return Slice(tuple(start), tuple(limit), tuple(stride))(x)


def _writes_patches(w: Any, length: int, taps: int, found: int) -> bool:
    """Whether along an axis each element is multiplied by all taps, side by side."""
    plain = w.stride == w.rhs_dilation == 1 and w.low == taps - 1
    return plain and w.lhs_dilation == taps and found >= length * taps


def _sums_patches(w: Any, length: int, taps: int, found: int) -> bool:
    """Whether along an axis each place in a patch is summed over the patches."""
    plain = w.stride == w.lhs_dilation == 1 and w.low == 0
    return plain and w.rhs_dilation == found and found * taps <= length


def _by_patches(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Array]:
    """Each element times the weights, in a patch of its own; zeros behind the last."""
    a, b, c = conv.dimension_numbers
    weights = Rev(tuple(sorted(b[2:])))(rhs)
    made = _dot(conv, out, lhs, weights, {a[1]: b[1]})
    # What is left of ``lhs``, then of ``rhs``: places in a patch come behind its own.
    places = [c[a.index(k)] for k in range(len(a)) if k != a[1]]
    inner = [c[1] if k == b[0] else c[b.index(k)] for k in range(len(b)) if k != b[1]]
    made = _in_order(made, [*places, *[k + (k != c[1]) / 2 for k in inner]])
    shape = list(out.shape)
    for i, j, k in zip(a[2:], b[2:], c[2:], strict=True):
        shape[k] = lhs.type.shape[i] * rhs.type.shape[j]
    config = [(0, n - m, 0) for n, m in zip(out.shape, shape, strict=True)]
    made = Reshape(tuple(shape))(made)
    return [Pad(tuple(config))(made, scalar(0, made.type.dtype))]


def _by_places(conv: Any, out: ArrayType, lhs: Value, rhs: Value) -> Sequence[Array]:
    """For each place in a patch, the sum over patches times their weights."""
    a, b, c = conv.dimension_numbers
    limit, shape = list(lhs.type.shape), list[int]()
    summed, places = dict[int, int](), list[int]()
    for axis in range(len(a)):
        k = a.index(axis)
        if k != 0:  # not the batch
            summed[len(shape)] = b[k]
        if k != 1:  # not the features
            places.append(c[k])
        if k >= 2:
            pair = rhs.type.shape[b[k]], out.shape[c[k]]
            limit[axis] = pair[0] * pair[1]
            shape += pair
        else:
            shape.append(limit[axis])
    patches = Reshape(tuple(shape))(Slice((0,) * len(limit), tuple(limit))(lhs))
    return [_in_order(_dot(conv, out, patches, rhs, summed), [*places, c[1]])]


def _dot(
    conv: Any, out: ArrayType, lhs: Value, rhs: Value, summed: dict[int, int]
) -> Array:
    """Products summed over axes of ``lhs`` that are given with those of ``rhs``."""
    numbers = (tuple(summed), tuple(summed.values())), ((), ())
    return DotGeneral(numbers, conv.precision, out.dtype)(lhs, rhs)


def _in_order(x: Array, places: Sequence[float]) -> Array:
    """``x`` with its axes in the order of these places."""
    return Transpose(tuple(sorted(range(len(places)), key=places.__getitem__)))(x)
