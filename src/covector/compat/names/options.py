"""Options of the field that covector does not have, by their names without ``jax_``.

Those that say only how the other implementation goes about its work may have any value,
and change nothing here. Of those that mean something, the value is accepted that asks
for what covector does anyway, and any other is refused, with what to do instead.
"""

import ast
import re
from typing import Any, NamedTuple

from covector.compat.names.table import rows

_SET = re.compile(r"(?<!\S)(\w+)=(\S+)")


class Fixed(NamedTuple):
    """An option with one value that covector knows."""

    value: Any
    instead: str


#: any value is taken, and read again; with their defaults
IGNORED: dict[str, Any] = {}
FIXED: dict[str, Fixed] = {}

for _row in rows("options.txt"):
    _instead = " ".join(_SET.sub("", _row).split())
    for _name, _text in _SET.findall(_row):
        _value = ast.literal_eval(_text)
        if _instead:
            FIXED[_name] = Fixed(_value, _instead)
        else:
            IGNORED[_name] = _value
