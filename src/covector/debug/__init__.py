"""Debugging of running programs: print, callback, stops, progress, shardings."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.debug.callback import callback
from covector.debug.debugger import breakpoint
from covector.debug.debugging import debug
from covector.debug.printing import log, print
from covector.debug.shardings import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)
from covector.debug.stops import at, watch

__all__ = [
    "at",
    "breakpoint",
    "callback",
    "debug",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
    "watch",
]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)
