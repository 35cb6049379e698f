"""Makers of arguments that many functions share.

``kinds`` are letters: b booleans, i and u integers, f floats, c complex numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.public.draws import Draw, Maker, Within


def elementwise(
    *kinds: str, within: Within = None, smooth: Within = None, **keywords: Any
) -> Maker:
    """Operands that broadcast, one for each of ``kinds``; numbers of Python among them.

    ``within`` bounds the values, ``smooth`` those for derivatives. Keywords are
    passed on, one of the values each.
    """

    def make(draw: Draw) -> Any:
        bounds = smooth if draw.smooth and smooth else within
        shapes = draw.shapes(len(kinds))
        lone = draw.integer(0, len(kinds)) if len(kinds) > 1 else 0
        number = not draw.smooth and draw.chance(0.25)
        alike = draw.dtype(kinds[0]) if draw.chance(0.4) else None
        return tuple(
            [
                draw.scalar(k)
                if number and i == lone and bounds is None
                else draw.values(alike, s, bounds)
                if alike is not None and _has(k, alike)
                else draw.array(k, s, bounds)
                for i, (k, s) in enumerate(zip(kinds, shapes, strict=True))
            ]
        ), draw.some(**keywords)

    make.kinds = kinds  # type: ignore[attr-defined]
    return make


def alike(
    kinds: str,
    count: int = 1,
    *,
    within: Within = None,
    smooth: Within = None,
    **keywords: Any,
) -> Maker:
    """``count`` operands of one shape and dtype, as ``lax`` wants them."""

    def make(draw: Draw) -> Any:
        bounds = smooth if draw.smooth and smooth else within
        dtype, shape = draw.dtype(kinds), draw.shape()
        values = [draw.values(dtype, shape, bounds) for _ in range(count)]
        return tuple(values), draw.some(**keywords)

    make.kinds = (kinds,) * count  # type: ignore[attr-defined]
    return make


def _has(kinds: str, dtype: Any) -> bool:
    return ("f" if dtype.kind == "V" else dtype.kind) in kinds


def reduction(
    kinds: str,
    *,
    within: Within = None,
    smooth: Within = None,
    several: bool = True,
    empty: bool = True,
    least: int = 0,
    **keywords: Any,
) -> Maker:
    """An array, ``axis`` (``several`` of them, where allowed), ``keepdims`` and others.

    ``least``: the array has so many axes, and so many are reduced.
    """

    def make(draw: Draw) -> Any:
        bounds = smooth if draw.smooth and smooth else within
        draw.huge = False
        x = draw.array(kinds, draw.shape((max(least, not several), 3), empty), bounds)
        axis = draw.axes(x.ndim) if several else draw.pick(None, draw.axis(x.ndim))
        axis = None if axis == () and least else axis
        named = {"axis": axis} if draw.chance(0.8) else {}
        return (x,), named | draw.some(keepdims=(True, False)) | draw.some(**keywords)

    return make


def of_array(
    kinds: str,
    arguments: Callable[[Draw, np.ndarray], tuple[Any, ...]] = lambda draw, x: (),
    *,
    ndim: tuple[int, int] = (0, 3),
    empty: bool = True,
    within: Within = None,
    **keywords: Any,
) -> Maker:
    """An array, and the arguments that ``arguments(draw, array)`` gives for it."""

    def make(draw: Draw) -> Any:
        x = draw.array(kinds, draw.shape(ndim, empty), within)
        return (x, *arguments(draw, x)), draw.some(**keywords)

    return make


def of_arrays(
    kinds: str,
    arguments: Callable[[Draw, int], tuple[Any, ...]] = lambda draw, ndim: (),
    *,
    ndim: tuple[int, int] = (0, 3),
    differ: str | None = None,
    **keywords: Any,
) -> Maker:
    """A list of one to three arrays, and the arguments for their number of axes.

    ``differ``: the lengths along the axis of that keyword differ.
    """

    def make(draw: Draw) -> Any:
        shape = draw.shape(ndim)
        named = draw.some(**keywords)
        if differ and (draw.chance(0.7) or not shape):
            named[differ] = draw.axis(len(shape)) if shape else 0
        axis = named.get(differ, 0) if differ else None

        def one() -> np.ndarray:
            sizes = list(shape)
            if axis is not None and sizes:
                sizes[axis] = draw.integer(0 + draw.smooth, 4)
            return draw.array(kinds, tuple(sizes))

        arrays = [one() for _ in range(draw.integer(1, 4))]
        return (draw.pick(arrays, tuple(arrays)), *arguments(draw, len(shape))), named

    return make
