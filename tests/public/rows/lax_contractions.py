"""Rows of ``covector.lax``: products of matrices, and convolutions."""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.rows.lax_slicing import numbered
from tests.public.table import rows

NUMBERS = "iufc"
SMALL = (-3, 4)


def lengths(draw: Draw, count: int) -> list[int]:
    return [draw.integer(1, 4) for _ in range(count)]


def multiplied(draw: Draw) -> Any:
    """Vectors and matrices."""
    dtype = draw.dtype(NUMBERS)
    m, k, n = lengths(draw, 3)
    shapes = draw.pick(((k,), (k,)), ((m, k), (k,)), ((k,), (k, n)), ((m, k), (k, n)))
    return tuple([draw.values(dtype, s, SMALL) for s in shapes])


def contracted(draw: Draw) -> Any:
    """A batch axis, and one that is summed over, anywhere."""
    dtype = draw.dtype(NUMBERS)
    b, k, m, n = lengths(draw, 4)
    left, right = ([int(a) for a in draw.rng.permutation(3)] for _ in range(2))
    x, y = (np.transpose(draw.values(dtype, s, SMALL), axes)
            for s, axes in (((b, k, m), left), ((b, k, n), right)))  # fmt: skip
    numbers = [((left.index(a),), (right.index(a),)) for a in (1, 0)]
    return x, y, tuple(numbers)


def batches(draw: Draw) -> Any:
    dtype = draw.dtype(NUMBERS)
    b, m, k, n = lengths(draw, 4)
    return tuple([draw.values(dtype, s, SMALL) for s in ((b, m, k), (b, k, n))])


def groups(draw: Draw) -> tuple[Any, Any, Any]:
    """Rows in two groups, each with its matrix."""
    dtype = draw.dtype("f")
    m, k, n = lengths(draw, 3)
    first = draw.integer(0, m + 1)
    sizes = np.array([first, m - first], np.int32)
    return *[draw.values(dtype, s, SMALL) for s in ((m, k), (2, k, n))], sizes


def scaled(draw: Draw) -> Any:
    m, k, n = lengths(draw, 3)
    dtype = draw.dtype("f")
    return tuple([draw.values(dtype, s, SMALL) for s in ((2, m, k), (2, k, n))])


def filtered(draw: Draw) -> tuple[Any, Any]:
    """Images (one or two axes) and a kernel that fits."""
    dtype = draw.dtype("f")
    axes = draw.integer(1, 3)
    channels = draw.integer(1, 3)
    sizes = [draw.integer(3, 6) for _ in range(axes)]
    kernel = [draw.integer(1, 4) for _ in range(axes)]
    x = draw.values(dtype, (2, channels, *sizes), (-2, 2))
    return x, draw.values(dtype, (2, channels, *kernel), (-2, 2))


def each(draw: Draw, x: np.ndarray, high: int = 3) -> tuple[int, ...]:
    """A stride or dilation for each axis of the images."""
    return tuple([draw.integer(1, high) for _ in x.shape[2:]])


def padding(draw: Draw, x: np.ndarray) -> Any:
    pads = tuple([(draw.integer(0, 3), draw.integer(0, 3)) for _ in x.shape[2:]])
    return draw.pick("SAME", "VALID", pads)


def plain(draw: Draw) -> Any:
    x, kernel = filtered(draw)
    return x, kernel, each(draw, x), draw.pick("SAME", "VALID")


def dilated(draw: Draw) -> Any:
    x, kernel = filtered(draw)
    dilations = {"lhs_dilation": (each(draw, x),), "rhs_dilation": (each(draw, x),)}
    named = draw.some(**dilations)
    if "lhs_dilation" in named:
        return (x, kernel, each(draw, x), ((1, 1),) * (x.ndim - 2)), named
    return (x, kernel, each(draw, x), padding(draw, x)), named


def padded(draw: Draw) -> Any:
    x, kernel = filtered(draw)
    pads = tuple([(draw.integer(0, 3), 1) for _ in x.shape[2:]])
    return x, kernel, each(draw, x), pads, each(draw, x), each(draw, x)


def transposed(draw: Draw) -> Any:
    """Channels are the last axis, as ``conv_transpose`` has them by default."""
    x, kernel = filtered(draw)
    image, axes = np.moveaxis(x, 1, -1), range(2, x.ndim)
    named = {"transpose_kernel": True} if draw.chance(0.3) else {}
    weights = np.transpose(kernel, (*axes, 0, 1) if named else (*axes, 1, 0))
    return (image, weights, each(draw, x), draw.pick("SAME", "VALID")), named


def patches(draw: Draw) -> Any:
    x, kernel = filtered(draw)
    return x, kernel.shape[2:], each(draw, x), draw.pick("SAME", "VALID")


def local(draw: Draw) -> Any:
    """A kernel for each position of the result."""
    dtype, size = draw.dtype("f"), draw.integer(1, 3)
    n, channels, length = 2, draw.integer(1, 3), draw.integer(3, 6)
    kernel = draw.values(dtype, (2, channels * size, length - size + 1), (-2, 2))
    x = draw.values(dtype, (n, channels, length), (-2, 2))
    return x, kernel, (1,), "VALID", (size,)


SUMS: dict[str, Any] = {"cancels": True, "zeros": False, "rounding": 256.0}
rows("lax", "dot", multiplied, **SUMS)
rows("lax", "dot_general", contracted, **SUMS)
rows("lax", "batch_matmul", batches, **SUMS)
rows("lax", "ragged_dot", groups, **SUMS, shuffled=False)
rows("lax", "ragged_dot_general", lambda draw: (
    *groups(draw), ((((1,), (1,)), ((), ())), (0,), (0,))),
    calling=numbered("RaggedDotDimensionNumbers", 3), **SUMS, shuffled=False)  # fmt: skip
rows("lax", "scaled_dot", scaled, **SUMS, derivative=False)  # it works in bfloat16
rows("lax", "conv", plain, **SUMS)
rows("lax", "conv_general_dilated", dilated, **SUMS)
rows("lax", "conv_with_general_padding", padded, **SUMS)
rows("lax", "conv_transpose", transposed, **SUMS)
rows("lax", "conv_general_dilated_patches", patches, **SUMS)
rows("lax", "conv_general_dilated_local", local, **SUMS)
