"""Debugging of running programs: print, callback, breakpoint, progress, shardings."""

from covector import namespaces
from covector.debug.callback import callback
from covector.debug.debugger import breakpoint
from covector.debug.printing import log, print
from covector.debug.shardings import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)

__all__ = [
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
__dir__ = namespaces.completions(globals())
