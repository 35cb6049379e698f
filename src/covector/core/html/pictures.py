"""Small pictures of many values: a curve along one axis, and colours over two.

Pictures are made of means: each pixel is that of the finite values in its part of the
array, and is left empty where there are none.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from covector.core.html.elements import Html, element

Values: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

#: values along each side of a picture, at most; slices of an array that are shown
_PIXELS = 96
_SLICES = 6
#: the sides of a picture on the screen, at least and at most
_SHORTEST, _LONGEST = 16, 240
#: the size of a curve in its own units
_WIDTH, _HEIGHT = 240, 60

#: from low to high, and from negative over zero to positive
_SEQUENTIAL = (
    (68, 1, 84),
    (59, 82, 139),
    (33, 145, 140),
    (94, 201, 98),
    (253, 231, 37),
)
_DIVERGING = (
    (33, 72, 172),
    (128, 168, 226),
    (236, 236, 236),
    (232, 143, 108),
    (165, 15, 30),
)


def picture(values: Values, low: float, high: float) -> Html:
    """A picture of values of any shape with more than one element.

    ``low`` and ``high`` are the bounds of the finite ones.
    """
    if values.size == max(values.shape):
        return _curve(values.ravel(), low, high)
    slices = [
        element(
            "figure",
            _colored(values[index], low, high),
            *([element("figcaption", str(list(index)))] if index else []),
        )
        for index in _leading(values.shape[:-2])
    ]
    left_out = math.prod(values.shape[:-2]) - len(slices)
    more = (
        [element("span", f"and {left_out:,} more", class_="soft")] if left_out else []
    )
    return Html(element("div", *slices, *more, class_="row") + _scale(low, high))


def _leading(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The first indices of the leading axes; one empty index where there are none."""
    return (index for _, index in zip(range(_SLICES), np.ndindex(shape), strict=False))


def _reduced(values: Values) -> Values:
    """The means over parts of equal length along each axis, at most ``_PIXELS``."""
    known = np.isfinite(values)
    sums, counts = np.where(known, values, 0.0), known.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for axis, length in enumerate(values.shape):
            parts = min(length, _PIXELS)
            starts = [n * length // parts for n in range(parts)]
            sums = np.add.reduceat(sums, starts, axis)
            counts = np.add.reduceat(counts, starts, axis)
        return sums / counts


def _curve(values: Values, low: float, high: float) -> Html:
    """A line through the values of one axis, with gaps where there are none."""
    heights = _reduced(values)
    across = np.linspace(1, _WIDTH - 1, len(heights))
    down = _HEIGHT - 2 - (_HEIGHT - 4) * _fraction(heights, low, high)
    points, pen = "", "M"
    for x, y in zip(across, down, strict=True):
        if np.isnan(y):
            pen = "M"
            continue
        points += f"{pen}{x:.1f} {y:.1f}h0"  # a point by itself is a dot
        pen = "L"
    line = element(
        "path",
        d=points,
        fill="none",
        stroke="var(--strong)",
        style="stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round",
    )
    return element("svg", line, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")


def _colored(values: Values, low: float, high: float) -> Html:
    """The values of two axes as colours."""
    means = _reduced(values)
    anchors, low, high = _palette(low, high)
    spots = np.linspace(0, 1, len(anchors))
    fraction = _fraction(means, low, high)
    pixels = np.empty((*means.shape, 4), np.uint8)
    for channel in range(3):
        shades = [color[channel] for color in anchors]
        pixels[..., channel] = np.nan_to_num(np.interp(fraction, spots, shades))
    pixels[..., 3] = np.where(np.isnan(means), 0, 255)
    height, width = (max(_SHORTEST, side) for side in _sides(values.shape))
    return element(
        "img",
        src="data:image/png;base64," + base64.b64encode(_png(pixels)).decode(),
        alt="",
        style=f"width:{width}px;height:{height}px",
    )


def _sides(shape: tuple[int, ...]) -> list[int]:
    """The sides on the screen: in proportion, and not enlarged without bound."""
    scale = min(_LONGEST / max(shape), 12)
    return [round(scale * length) for length in shape]


def _fraction(values: Values, low: float, high: float) -> Values:
    """From 0 at the low end to 1 at the high one."""
    with np.errstate(over="ignore", invalid="ignore"):
        fraction = (values - low) / (high - low) if high > low else values * 0 + 0.5
    return np.clip(fraction, 0, 1)


def _palette(low: float, high: float) -> tuple[Any, float, float]:
    """The colours and the values at their ends, with zero in the middle of both
    signs.
    """
    if low < 0 < high:
        most = max(-low, high)
        return _DIVERGING, -most, most
    return _SEQUENTIAL, low, high


def _scale(low: float, high: float) -> Html:
    anchors, low, high = _palette(low, high)
    colors = ", ".join(f"rgb{color}" for color in anchors)
    style = f"background:linear-gradient(90deg, {colors})"
    bar = element("span", class_="scale", style=style)
    return element("div", f"{low:.4g}", bar, f"{high:.4g}")


def _png(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """A PNG file of pixels ``u8[height, width, 4]``: red, green, blue, opacity."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    # Each row begins with the number of its filter, 0 for none.
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(rows)),
            chunk(b"IEND", b""),
        ]
    )
