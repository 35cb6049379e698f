"""Data of an explanation, packed: lists of records by columns, each cell once.

    [{"type": "f32[3]", "bytes": 12},     {"columns": {"type": {"distinct": ["f32[3]"],
     {"type": "f32[3]", "bytes": 16}]  →                        "at": [0, 0]},
                                                       "bytes": [12, 16]}}

Of 5,000 equations most of the plain text would be names of fields and types.
``unpack`` of ``program.js`` undoes it.
"""

import math
from typing import Any


def pack(x: Any) -> Any:
    """Data of which the page makes the same again. Numbers that JSON does not have (an
    intensity without bytes) become None.
    """
    if isinstance(x, dict):
        return {key: pack(value) for key, value in x.items()}
    if isinstance(x, float) and not math.isfinite(x):
        return None
    if not isinstance(x, list | tuple):
        return x
    if _are_records(x):
        return {"columns": {key: _column([r[key] for r in x]) for key in x[0]}}
    return [pack(item) for item in x]


def _are_records(x: list[Any] | tuple[Any, ...]) -> bool:
    alike = {tuple(item) if isinstance(item, dict) else None for item in x}
    return len(alike) == 1 and bool(alike.pop())


def _column(cells: list[Any]) -> Any:
    known = {cell: number for number, cell in enumerate(dict.fromkeys(_plain(cells)))}
    if not known or len(known) > len(cells) / 2:
        return [pack(cell) for cell in cells]
    return {"distinct": pack(list(known)), "at": [known[cell] for cell in cells]}


def _plain(cells: list[Any]) -> list[Any]:
    """The cells if they are all texts or all numbers, whose encoding is long."""
    kinds = {type(cell) for cell in cells}
    return cells if kinds == {str} or kinds <= {int, float} else []
