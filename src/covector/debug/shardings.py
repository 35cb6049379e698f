"""Visualization of shardings, as text, and in colour where the terminal has it.

┌───────┬───────┐
│  0,4  │  1,5  │    each box is a shard, with the numbers of the devices that
├───────┼───────┤    hold it
│  2,6  │  3,7  │
└───────┴───────┘
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.sharding.shardings import Sharding
from covector.core.trace import Tracer
from covector.errors import ArgumentError
from covector.runtime import client

#: the row and the column of a shard
Box = tuple[int, int]
#: text and its colour
Piece = tuple[str, str | None]


def visualize_array_sharding(arr: Any, **how: Any) -> None:
    """Print the sharding of an array of one or two axes: ``visualize_sharding`` of its
    shape and sharding.

    Raises:
      ArgumentError: the array is traced, or has no or more than two axes.

    >>> import covector as cv
    >>> visualize_array_sharding(cv.device_put(cv.numpy.ones(4), cv.devices()[0]))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    array = arr if isinstance(arr, Array) else as_array(arr, "visualize_array_sharding")
    if isinstance(array, Tracer):
        raise ArgumentError(
            "visualize_array_sharding needs an array with values, but got a traced one "
            f"({array.type}). Return it from the function and look at the result."
        )
    assert isinstance(array, ConcreteArray), "an array is traced or concrete"
    visualize_sharding(array.shape, array.sharding, **how)


def visualize_sharding(  # noqa: PLR0913  the public signature
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print a sharding of an array of this shape.

    Args:
      use_color: a colour for each shard, where output is a terminal and ``rich`` is
        installed.
      scale: rows and columns of text for each element, at least what labels need.
      min_width, max_width: bounds on the width of a box, and of the picture.
      color_map: a function from the number of a shard to a colour of ``rich``.

    Raises:
      ArgumentError: the shape has not one or two axes.
      ShardingError: the sharding does not fit the shape.

    >>> import covector as cv
    >>> sharding = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    >>> visualize_sharding((2, 2), sharding)
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if len(shape) not in (1, 2):
        raise ArgumentError(
            "visualize_sharding draws arrays of one or two axes, but got the shape "
            f"{tuple(shape)}. Reshape the array, or index it."
        )
    labels, counts = _labels(tuple(shape), sharding)
    shard_shape = sharding.shard_shape(tuple(shape))
    longest = max(map(len, labels.values())) + 2
    room = max(longest, (max_width - 1) // counts[1] - 1)
    width = min(max(longest, min_width - 2, round(scale * shard_shape[-1])), room)
    height = min(max(1, round(scale * (0, *shard_shape)[-2] / 2)), 5)
    colors = _colors(counts, color_map) if use_color else None
    _write(_drawing(labels, counts, (height, width), colors), colors is not None)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call ``callback`` with the sharding of an array that has its values.

    Raises:
      ArgumentError: the array is traced: the compiler has not decided yet. Its
        decisions are in ``jit(f).lower(...).compile().output_shardings``.

    >>> import covector as cv
    >>> inspect_array_sharding(cv.numpy.ones(2), callback=lambda s: print(s.single))
    cpu:0
    """
    array = (
        value if isinstance(value, Array) else as_array(value, "inspect_array_shard")
    )
    if isinstance(array, Tracer):
        raise ArgumentError(
            f"inspect_array_sharding got a traced array ({array.type}): where it is "
            "will be decided when the program is compiled. Return it and look at the "
            "result, or at jit(f).lower(...).compile().output_shardings."
        )
    assert isinstance(array, ConcreteArray), "an array is traced or concrete"
    callback(array.sharding)


def _labels(
    shape: tuple[int, ...], sharding: Sharding
) -> tuple[dict[Box, str], tuple[int, int]]:
    """The label of each box, and the numbers of rows and columns."""
    tiles = sharding.tiles(len(shape))
    rows, columns = (1, *tiles.counts)[-2:]
    holders: dict[Box, list[Any]] = {}
    for device, index in zip(sharding.flat_devices, tiles.tile_indices, strict=True):
        holders.setdefault((0, *index)[-2:], []).append(device)  # type: ignore[arg-type]
    labels = {}
    for box, devices in holders.items():
        name = client.device_platform(devices[0]).upper()
        labels[box] = f"{name} {','.join(str(d.id) for d in devices)}"
    return labels, (rows, columns)


def _drawing(
    labels: dict[Box, str], counts: Box, size: Box, colors: dict[Box, str] | None
) -> list[list[Piece]]:
    """Lines of text, in pieces with a colour each."""
    (rows, columns), (height, width) = counts, size

    def rule(left: str, middle: str, right: str) -> list[Piece]:
        return [(left + middle.join(["─" * width] * columns) + right, None)]

    lines = [rule("┌", "┬", "┐")]
    for r in range(rows):
        for n in range(height):
            line: list[Piece] = [("│", None)]
            for c in range(columns):
                text = labels[r, c] if n == (height - 1) // 2 else ""
                color = colors[r, c] if colors else None
                line += [(text.center(width), color), ("│", None)]
            lines.append(line)
        lines.append(rule("├", "┼", "┤") if r + 1 < rows else rule("└", "┴", "┘"))
    return lines


_PALETTE = (
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "bright_black",
    "white",
)


def _colors(counts: Box, color_map: Any) -> dict[Box, str] | None:
    """A colour for each box, another for its neighbours; None without a terminal."""
    if not sys.stdout.isatty():
        return None
    choose = color_map or (lambda n: _PALETTE[n % len(_PALETTE)])
    rows, columns = counts
    return {
        (r, c): choose(r * columns + c + (r % 2 if columns % 8 == 0 else 0))
        for r in range(rows)
        for c in range(columns)
    }


def _write(lines: list[list[Piece]], colored: bool) -> None:
    if colored:
        try:
            from rich.console import Console  # noqa: PLC0415  an extra of the package
            from rich.text import Text  # noqa: PLC0415
        except ImportError:
            pass
        else:
            console = Console()
            for line in lines:
                pieces = [(t, f"on {c}" if c else "") for t, c in line]
                console.print(Text.assemble(*pieces), no_wrap=True, overflow="crop")
            return
    for line in lines:
        sys.stdout.write("".join([text for text, _ in line]) + "\n")
