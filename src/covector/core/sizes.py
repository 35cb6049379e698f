"""Sizes of memory in bytes, as people write and read them: "1.5GB", 12.0 MB.

Other large numbers are shown alike: 1.2 M.
"""

import re

from covector.errors import ArgumentError

#: the units that a text may have; without an i they are powers of 1000
_UNITS = {"": 1, "B": 1} | {
    f"{letter}{middle}B": base**power
    for middle, base in (("", 1000), ("i", 1024))
    for power, letter in enumerate("KMGTP", 1)
}
_BY_NAME = {name.lower(): size for name, size in _UNITS.items()}
_TEXT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE)


def bytes_of(size: object, who: str) -> int:
    """The number of bytes of a size: a number, or a text such as "1.5GB" or "512 MiB".

    Raises:
      ArgumentError: it is neither, or not positive.

    >>> bytes_of("1.5GB", "track"), bytes_of("2 KiB", "track"), bytes_of(64, "track")
    (1500000000, 2048, 64)
    """
    if isinstance(size, str):
        found = _TEXT.fullmatch(size)
        unit = _BY_NAME.get(found[2].lower()) if found else None
        number = round(float(found[1]) * unit) if found and unit else 0
    else:
        is_number = isinstance(size, int | float) and not isinstance(size, bool)
        number = int(size) if is_number and 0 < size < float("inf") else 0  # type: ignore[operator]
    if number <= 0:
        raise ArgumentError(
            f"{who} takes a size of memory: a positive number of bytes, or a text with "
            f'a unit, as in "1.5GB" (10⁹ bytes) or "512MiB" (2²⁰), but got {size!r}.'
        )
    return number


def show_bytes(size: float) -> str:
    """A number of bytes, to three or four digits.

    >>> show_bytes(12_000_000), show_bytes(640), show_bytes(-1.5e9)
    ('12.0 MB', '640 B', '-1.5 GB')
    """
    number, prefix = _scaled(size)
    return f"{number} {prefix}B"


def show_count(n: float) -> str:
    """A number of operations, to three or four digits.

    >>> show_count(1_200_000), show_count(640)
    ('1.2 M', '640')
    """
    number, prefix = _scaled(n, "kMGTP")
    return f"{number} {prefix}".rstrip()


def _scaled(n: float, prefixes: str = "KMGTP") -> tuple[str, str]:
    """A number in thousands, millions, …, and the prefix that says which."""
    power = 0
    while abs(n) >= 999.95 and power < len(prefixes):
        n, power = n / 1000, power + 1
    return (f"{n:.1f}", prefixes[power - 1]) if power else (f"{n:.0f}", "")
