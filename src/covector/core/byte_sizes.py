"""Sizes of memory as users write and read them: ``"512MB"``, ``"1.5GB"``, ``"1GiB"``.

The units are those of the International System, powers of 1000 (kB, MB, GB, TB), and
the binary ones, powers of 1024 (KiB, MiB, GiB, TiB).
"""

import math
import re
from typing import Any

from covector.errors import ArgumentError

_DECIMAL = ("B", "kB", "MB", "GB", "TB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_UNITS = {
    unit.lower(): base**power
    for base, units in ((1000, _DECIMAL), (1024, _BINARY))
    for power, unit in enumerate(units)
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", re.IGNORECASE)


def byte_count(given: Any, who: str, option: str = "memory") -> int:
    """The bytes that an option names.

    Raises:
      ArgumentError: it is neither a positive integer nor a positive number with a unit.
    """
    size = None
    if isinstance(given, str):
        found = _SIZE.fullmatch(given)
        unit = _UNITS.get(found[2].lower()) if found else None
        if found and unit:
            size = int(float(found[1]) * unit)
    elif hasattr(given, "__index__") and not isinstance(given, bool):
        size = given.__index__()
    if size is None or size <= 0:
        raise ArgumentError(
            f"{who}: {option} is a positive number of bytes, or one with a unit such "
            f'as "512MB", "1.5GB" or "1GiB", but got {given!r}.'
        )
    return size


def shown_bytes(count: int) -> str:
    """A number of bytes in a decimal unit, with three digits: ``1.24 GB``.

    It is rounded up, so that whoever gives what is shown gives enough.
    """
    power = 0
    while power < len(_DECIMAL) - 1 and count >= 1000 ** (power + 1):
        power += 1
    if power == 0:
        return f"{count} B"
    digits = max(0, 3 - len(str(count // 1000**power)))
    step = 1000**power // 10**digits
    return f"{math.ceil(count / step) / 10**digits:g} {_DECIMAL[power]}"
