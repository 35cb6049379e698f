"""Rows of ``covector.lax``: slices, windows at indices, and updates of them."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.public.draws import Draw, Function
from tests.public.makers import of_array
from tests.public.table import rows

ANY = "biufc"
MODES = ("clip", "fill", "promise_in_bounds")


def bounds(draw: Draw, x: np.ndarray) -> tuple[Any, Any, Any]:
    start = [draw.integer(0, n + 1) for n in x.shape]
    stop = [draw.integer(a, n + 1) for a, n in zip(start, x.shape, strict=True)]
    return start, stop, draw.pick(None, [draw.integer(1, 4) for _ in x.shape])


def along_axis(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3)))
    start, stop = draw.pick(None, draw.integer(-3, 3)), draw.pick(None, 2, -1)
    return (x, start, stop), draw.some(stride=(1, 2), axis=(0, -1))


def one_along_axis(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    axis = draw.axis(x.ndim)
    return (x, draw.axis(x.shape[axis]), axis), draw.some(keepdims=(True, False))


def index(draw: Draw) -> np.ndarray:
    """A start that may be outside, or count from the end."""
    return draw.values(draw.pick(np.int32, np.int8, np.uint8), (), (-4, 6))


def windowed(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    kind = draw.pick(np.int32, np.int8)
    starts = [draw.values(kind, (), (-4, 6)) for _ in x.shape]
    return x, starts, tuple([draw.integer(0, n + 1) for n in x.shape])


def replaced(draw: Draw) -> Any:
    x, starts, sizes = windowed(draw)
    return x, draw.values(x.dtype, sizes), starts


def windowed_along_axis(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    axis = draw.axis(x.ndim)
    return x, index(draw), draw.integer(0, x.shape[axis] + 1), axis


def indexed(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    return (x, index(draw), draw.axis(x.ndim)), draw.some(keepdims=(True, False))


def replaced_along_axis(draw: Draw) -> Any:
    x, start, size, axis = windowed_along_axis(draw)
    shape = list(x.shape)
    shape[axis] = size
    return x, draw.values(x.dtype, tuple(shape)), start, axis


def one_replaced(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    axis = draw.integer(0, x.ndim)
    shape = [n for k, n in enumerate(x.shape) if k != axis or draw.chance(0.5)]
    return x, draw.values(x.dtype, tuple(shape)), index(draw), axis


def taken(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((2, 3), empty=False))
    indices = [draw.values(np.int32, (3,), (-2, 3)) for _ in range(2)]
    return x, indices, (0, 1)


def windows(draw: Draw) -> tuple[Any, ...]:
    """An array of two axes, indices of rows or of elements, and which axes are which.

    The numbers are given by names: each library has its class of them.
    """
    x = draw.array("iuf", (draw.integer(1, 4), draw.integer(1, 4)), (-3, 4))
    count = draw.integer(0, 4)
    if draw.chance(0.5):
        return x, draw.values(np.int32, (count, 1), (-2, 5)), (1,), (0,), (1, x.shape[1])
    return x, draw.values(np.int32, (count, 2), (-2, 5)), (), (0, 1), (1, 1)


def gathered(draw: Draw) -> Any:
    x, indices, offset, axes, sizes = windows(draw)
    named = draw.some(mode=MODES[:2], fill_value=(None, 1))
    return (x, indices, (offset, axes, axes), sizes), named


def scattered(draw: Draw) -> Any:
    x, indices, offset, axes, sizes = windows(draw)
    # Which of several windows at one index is written last, nobody promises.
    shape = (len(indices), *[sizes[k] for k in (1,) if offset])
    updates = draw.values(x.dtype, shape, (-3, 4))
    return (x, indices, updates, (offset, axes, axes)), draw.some(mode=MODES[:2])


def once(draw: Draw) -> Any:
    """As ``scattered``, each row once."""
    x = draw.array("iuf", (3, draw.integer(1, 4)), (-3, 4))
    indices = draw.rng.permutation(5)[: draw.integer(0, 4)].astype(np.int32)[:, None]
    updates = draw.values(x.dtype, (len(indices), x.shape[1]), (-3, 4))
    return (x, indices, updates, ((1,), (0,), (0,))), {"mode": "fill"}


def applied(draw: Draw) -> Any:
    (x, indices, _, numbers), named = once(draw)
    numbers = ((), (0, 1), (0, 1))
    indices = np.stack([indices[:, 0], indices[:, 0] % x.shape[1]], 1)
    square = Function(lambda numpy: numpy.square, "square")
    named["update_shape"] = (len(indices),)
    return (x, indices.astype(np.int32), square, numbers), named


def numbered(name: str, position: int) -> Callable[..., Any]:
    """Calling with the dimension numbers in the class of the function's library."""

    def calling(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        library = function.__module__.partition(".")[0]
        numbers = getattr(importlib.import_module(f"{library}.lax"), name)
        given = list(args)
        given[position] = numbers(*given[position])
        return function(*given, **named)

    return calling


rows("lax", "slice", of_array(ANY, bounds))
rows("lax", "slice_in_dim", along_axis)
rows("lax", "index_in_dim", one_along_axis)
rows("lax", "dynamic_slice", windowed)
rows("lax", "dynamic_update_slice", replaced)
rows("lax", "dynamic_slice_in_dim", windowed_along_axis)
rows("lax", "dynamic_index_in_dim", indexed)
rows("lax", "dynamic_update_slice_in_dim", replaced_along_axis)
rows("lax", "dynamic_update_index_in_dim", one_replaced)
rows("lax", "index_take", taken)

SCATTER: dict[str, Any] = {"calling": numbered("ScatterDimensionNumbers", 3)}
rows("lax", "gather", gathered, calling=numbered("GatherDimensionNumbers", 2))
rows("lax", "scatter", once, shuffled=False, **SCATTER)
rows("lax", "scatter_apply", applied, shuffled=False, **SCATTER)
rows("lax", "scatter_add scatter_sub", scattered, cancels=True, **SCATTER)
rows("lax", "scatter_mul", scattered, **SCATTER, derivative=False)
rows("lax", "scatter_min scatter_max", scattered, **SCATTER)
