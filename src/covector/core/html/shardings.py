"""What a notebook shows of meshes and shardings: devices in a grid.

Each cell of a sharding is a shard, with the devices that hold it. Of more than two
axes, all but the last are the rows.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from covector.core.html.elements import Html, element, fragment
from covector.runtime import client

#: a grid of more cells says little, and is not drawn
_MOST = 1024


def sharding_html(sharding: Any) -> str:
    """The HTML of a sharding of arrays with as many axes as its spec, or one."""
    title = element("pre", repr(sharding))
    if not sharding.flat_devices:  # of an abstract mesh
        return fragment(title)
    ndim = max(1, len(getattr(sharding, "spec", ())))
    return fragment(title, shards(sharding, (None,) * ndim))


def mesh_html(mesh: Any) -> str:
    """The HTML of a mesh: its devices, with the names of the axes."""
    title = element("pre", repr(mesh))
    if mesh.devices.ndim == 0 or mesh.size > _MOST:
        return fragment(title)
    names = [str(name) for name in mesh.axis_names]
    heads = [
        [f"{name}={i}" for i in range(length)]
        for name, length in zip(names, mesh.devices.shape, strict=True)
    ]
    devices = [device_name(device) for device in mesh.flat_devices]
    return fragment(title, _grid(devices, heads))


def shards(sharding: Any, shape: Sequence[int | None]) -> Html:
    """The grid of the shards of an array of at least one axis; None is a length that is
    not known.
    """
    counts, tile_indices = sharding.tiles(len(shape))
    if math.prod(counts) > _MOST:
        return element("div", f"{math.prod(counts):,} shards", class_="soft")
    holders: dict[tuple[int, ...], list[Any]] = {}
    for device, index in zip(sharding.flat_devices, tile_indices, strict=True):
        holders.setdefault(index, []).append(device)
    indices = itertools.product(*map(range, counts))
    cells = [_names(holders[index]) for index in indices]
    heads = [_parts(n, count) for n, count in zip(shape, counts, strict=True)]
    return _grid(cells, heads)


def device_name(device: Any) -> str:
    """``cpu:0``."""
    return f"{client.device_platform(device)}:{device.id}"


def _names(devices: Sequence[Any]) -> str:
    """``cpu:0,4``: the platform once, all numbers."""
    numbers = ",".join(str(device.id) for device in devices)
    return f"{client.device_platform(devices[0])}:{numbers}"


def _parts(length: int | None, count: int) -> list[str]:
    """The slices that an axis is divided into; numbers where its length is not
    known.
    """
    if length is None:
        return [f"{i + 1} of {count}" for i in range(count)] if count > 1 else ["all"]
    step = length // count
    return [f"{i * step}:{(i + 1) * step}" for i in range(count)]


def _grid(cells: Sequence[str], heads: Sequence[Sequence[str]]) -> Html:
    """A table of cells in row-major order; ``heads`` are the parts of each axis."""
    columns = heads[-1]
    rows = [", ".join(parts) for parts in itertools.product(*heads[:-1])]
    top = element("tr", *[element("th", head) for head in ["", *columns]])
    lines = [
        element(
            "tr",
            element("th", row),
            *[_cell(i * len(columns) + j, cells) for j in range(len(columns))],
        )
        for i, row in enumerate(rows)
    ]
    return element("div", element("table", top, *lines), class_="grid")


def _cell(number: int, cells: Sequence[str]) -> Html:
    # Steps of the golden angle: neighbours, and those after them, differ.
    style = f"background:hsla({number * 137.5 % 360:.0f},65%,50%,.28)"
    return element("td", cells[number], style=style)
