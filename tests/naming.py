"""Names of parametrised tests: the same in every process, for xdist compares them."""

import re


def readable(x: object) -> str:
    """``repr(x)`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(x))
