"""Makers of arguments that many functions share.

``kinds`` are letters: b booleans, i and u integers, f floats, c complex numbers.
"""

from typing import Any

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
