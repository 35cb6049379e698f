"""Rows of ``covector.lax``: making arrays, shapes and axes, joining and splitting."""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.makers import of_array
from tests.public.table import rows

ANY = "biufc"
NAMES = ("int32", "float32", "uint8", "bfloat16", "complex64")


def subset(draw: Draw, x: np.ndarray) -> tuple[Any]:
    """Several different axes, or none."""
    axes = draw.rng.permutation(x.ndim)[: draw.integer(0, x.ndim + 1)]
    return (tuple([int(a) for a in axes]),)


def permutation(draw: Draw, x: np.ndarray) -> tuple[Any]:
    return ([int(a) for a in draw.rng.permutation(x.ndim)],)


def rank(draw: Draw, x: np.ndarray) -> tuple[int]:
    return (draw.integer(x.ndim, 5),)


def joined(draw: Draw, x: np.ndarray) -> tuple[Any]:
    """A shape of as many elements."""
    front = draw.integer(0, x.ndim + 1)
    sizes = [*x.shape[:front], int(np.prod(x.shape[front:])), 1]
    return (tuple([int(n) for n in draw.rng.permutation(sizes)]),)


def wider(draw: Draw) -> Any:
    """A shape, and which of its axes are those of the array, in ascending order."""
    shape = draw.shape()
    axes = [k for k in range(len(shape)) if draw.chance(0.6)]
    x = draw.array(ANY, tuple([draw.pick(1, shape[k], shape[k]) for k in axes]))
    return x, shape, tuple(axes)


def with_lone_axes(draw: Draw) -> Any:
    """An array with axes of length 1, and some of those."""
    shape = tuple([draw.pick(1, 1, 3) for _ in range(draw.integer(1, 4))])
    lone = [k for k, n in enumerate(shape) if n == 1 and draw.chance(0.7)]
    return draw.array(ANY, shape), tuple([k - draw.pick(0, len(shape)) for k in lone])


def new_axes(draw: Draw, x: np.ndarray) -> tuple[Any]:
    axes = draw.rng.choice(x.ndim + 2, 2, replace=False)
    return (tuple([int(a) for a in axes]),)


def interval(draw: Draw, x: np.ndarray) -> tuple[Any, ...]:
    start = draw.integer(0, x.ndim)
    return draw.pick((start,), (start, draw.integer(start + 1, x.ndim + 1)))


def padded(draw: Draw) -> Any:
    """Elements before, after and between, or (below zero) fewer of them."""
    dtype = draw.dtype(ANY)
    x = draw.values(dtype, draw.shape((0, 3)))
    config = [(draw.integer(0, 3), draw.integer(-min(n, 1), 3), draw.integer(0, 3))
              for n in x.shape]  # fmt: skip
    return x, draw.values(dtype, ()), tuple(config)


def parts(draw: Draw, x: np.ndarray) -> tuple[Any, Any]:
    axis = draw.integer(0, x.ndim)
    cut = draw.integer(0, x.shape[axis] + 1)
    return (cut, x.shape[axis] - cut), axis


def alike(draw: Draw, least: int = 1) -> list[np.ndarray]:
    """Arrays of one dtype and shape."""
    dtype, shape = draw.dtype(ANY), draw.shape((least, 3))
    return [draw.values(dtype, shape) for _ in range(draw.integer(1, 4))]


def stacked(draw: Draw) -> Any:
    arrays = alike(draw, least=0)
    return (arrays,), draw.some(axis=(0, arrays[0].ndim))


def filled(draw: Draw) -> Any:
    value = draw.pick(2, True, 1.5, draw.array("iuf", ()))
    return (draw.shape(), value), draw.some(dtype=("float32", "complex64"))


def filled_alike(draw: Draw) -> Any:
    named = draw.some(dtype=("float32", "complex64"))
    return (draw.array("fc"), draw.pick(2, True, 1.5, draw.array("iuf", ()))), named


def counted(draw: Draw) -> Any:
    return draw.pick(*NAMES), draw.integer(0, 9)


def counted_along(draw: Draw) -> Any:
    shape = draw.shape((1, 3))
    return draw.pick(*NAMES), shape, draw.integer(0, len(shape))


FIXED: dict[str, Any] = {"derivative": False}
rows("lax", "reshape", of_array(ANY, joined))
rows("lax", "transpose", of_array(ANY, permutation))
rows("lax", "rev", of_array(ANY, subset))
rows("lax", "broadcast", of_array(ANY, lambda draw, x: (draw.shape((0, 2)),)))
rows("lax", "broadcast_in_dim", wider)
rows("lax", "broadcast_to_rank", of_array(ANY, rank))
rows("lax", "broadcast_like", lambda draw: tuple(
    [draw.array(ANY, s) for s in (draw.pick((3,), (1, 3), ()), (2, 3))]))  # fmt: skip
rows("lax", "squeeze", with_lone_axes)
rows("lax", "expand_dims", of_array(ANY, new_axes))
rows("lax", "collapse", of_array(ANY, interval, ndim=(1, 3)))
rows("lax", "tile", of_array(ANY, lambda draw, x: (
    tuple([draw.integer(0, 3) for _ in x.shape]),)))  # fmt: skip
rows("lax", "pad", padded)
rows("lax", "split", of_array(ANY, parts, ndim=(1, 3)))
rows("lax", "concatenate", lambda draw: (
    arrays := alike(draw), draw.integer(0, arrays[0].ndim)))  # fmt: skip
rows("lax", "stack", stacked)
rows("lax", "unstack", of_array(ANY, ndim=(1, 3), empty=False, axis=(0, -1)))
rows("lax", "full", filled, **FIXED)
rows("lax", "full_like", filled_alike, **FIXED)
rows("lax", "empty", lambda draw: (draw.shape(), draw.pick(*NAMES)), **FIXED)
rows("lax", "iota", counted, **FIXED)
rows("lax", "broadcasted_iota", counted_along, **FIXED)
