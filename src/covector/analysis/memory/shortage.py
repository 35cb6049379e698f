"""What an error for want of memory says: what holds it, what was wanted, ways out.

Memory is short while this runs: it makes a list of live arrays and little else. The
runtime imports it when it needs it (``runtime/memory.py: bind_description``).
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from covector.analysis.compiled.programs import lines_of
from covector.analysis.compiled.reading import parse
from covector.analysis.memory.estimates import by_line
from covector.analysis.memory.held import HeldArray, held_by, line_name
from covector.analysis.memory.tables import UNKNOWN
from covector.core.sizes import show_bytes
from covector.dispatch.memory_limit import in_words
from covector.errors import how_many
from covector.placement.transfer import known_arrays

#: arrays, and lines of a program, that a message names
_NAMED, _LINES = 8, 4
_WAYS_OUT = (
    "Ways out: donate arguments that results replace (jit(f, donate_argnums=...)); "
    "compute again instead of keeping (checkpoint(f), grad(f, memory=...)); run a "
    "batch in chunks (vmap(f, memory=...)), or take a smaller one; delete what is no "
    "longer needed."
)


def describe(program: Any = None) -> list[str]:
    """Lines for the message; ``program`` is the compiled one that failed, if any."""
    return [*_of_program(program), *_of_arrays(), _WAYS_OUT]


def _of_program(program: Any) -> Iterator[str]:
    if program is None:
        return
    use, who = program.executable.memory_use(), program.lowered.who
    if who.startswith("eager_"):
        who = f"the operation {who.removeprefix('eager_')}"
    yield f"{who} needs {show_bytes(use.peak)} on each device: {in_words(use)}."
    with contextlib.suppress(Exception):  # the rest is of use without them
        yield from _lines_of(program)


def _lines_of(program: Any) -> list[str]:
    """The lines for which it needs most, where its executable knows them: equal
    programs share one, which may have been compiled for other lines.
    """
    module = parse(program.executable.as_text())
    if not {o.place for o in module.origins} <= lines_of(program.lowered.jaxpr):
        return []
    found = [x for x in by_line(module, program.executable) if x.name != UNKNOWN]
    rows = [f"  {show_bytes(x.bytes)}  {x.name}" for x in found[:_LINES]]
    return ["Most of that is for", *rows] if rows else []


def _of_arrays() -> Iterator[str]:
    found = held_by([x for x in known_arrays() if not x.is_deleted()])
    total = show_bytes(sum([x.bytes - x.shared for x in found]))
    if not found:
        yield "No array is alive."
        return
    count = how_many(len(found), "live array")
    yield f"{count} hold{'s' if len(found) == 1 else ''} {total}; the largest:"
    for x in found[:_NAMED]:
        yield f"  {show_bytes(x.bytes)}  {x.type}  on {x.device}{_made(x)}"
    if any([x.line is None for x in found[:_NAMED]]):
        yield (
            "With COVECTOR_RECORD_LINES=1 in the environment it is known which line "
            "made each of them. covector.memory.report(holders=True) says who holds "
            "them."
        )


def _made(x: HeldArray) -> str:
    return "" if x.line is None else f", made at {line_name(x)}"
