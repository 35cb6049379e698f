"""Loops with jit switched off: Python's own, one operation at a time.

So a debugger stops in the body of a loop, and a print shows values.
"""

from collections.abc import Callable
from typing import Any

from covector import tree
from covector.core.convert import as_array
from covector.ops.joining import Stack


def scan(
    step: Callable[[Any, Any], Any], carry: Any, xs: Any, steps: int, reverse: bool
) -> tuple[Any, Any]:
    """The last carry and the stacked outputs, of at least one step."""
    xs = tree.map(as_array, xs)
    places = range(steps)
    rows = []
    for i in reversed(places) if reverse else places:
        carry, y = step(carry, tree.map(lambda x, i=i: x[i], xs))
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree.map(lambda *ys: Stack(0)(*map(as_array, ys)), *rows)


def while_loop(
    test: Callable[[Any], Any], step: Callable[[Any], Any], carry: Any
) -> Any:
    """The first carry for which the test fails."""
    while as_array(test(carry)):
        carry = step(carry)
    return carry
