"""Tables of what was found: as text, in colours with rich, and in notebooks."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from covector.core.html.elements import Html, element, fragment
from covector.core.source import Line

#: rows of a table that are shown; the others are counted
MOST_ROWS = 30
_UNKNOWN = "unknown"


class Table(NamedTuple):
    """A title, and rows of texts under the names of columns; the first ``numbers``
    columns are numbers.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    numbers: int = 1


def shown_file(file: str) -> str:
    """The path of a file; of one in the working folder, from there."""
    return file.removeprefix(os.getcwd() + os.sep)


def shown_line(line: Line | None) -> str:
    """``train.py:40 (step)``."""
    if line is None:
        return _UNKNOWN
    return str(line).replace(line.file, shown_file(line.file), 1)


class Tabular:
    """What is shown as tables, in terminals and notebooks."""

    def tables(self) -> list[Table]:
        """What is shown: a subclass says."""
        raise AssertionError("a subclass has tables")

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(_lines(table)) for table in self.tables()])

    def _repr_html_(self) -> str:
        return fragment(*[part for table in self.tables() for part in _html(table)])

    def show(self) -> None:
        """Print it; in colours where rich is installed."""
        try:
            from rich.console import Console  # noqa: PLC0415  an extra of the package
        except ImportError:
            sys.stdout.write(f"{self}\n")
            return
        console = Console(highlight=False)
        for table in self.tables():
            for part in _drawn(table):
                console.print(part)


def _shown_rows(table: Table) -> list[Sequence[str]]:
    return [*table.rows[:MOST_ROWS]]


def _rest(table: Table) -> list[str]:
    """A line that counts the rows that are not shown."""
    more = len(table.rows) - MOST_ROWS
    return [f"… and {more} more"] if more > 0 else []


def _lines(table: Table) -> Iterator[str]:
    yield table.title
    if not table.rows:
        return
    rows = [table.columns, *_shown_rows(table)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(width) if i < table.numbers else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
    yield from [f"  {text}" for text in _rest(table)]


def _html(table: Table) -> Iterator[Html]:
    yield element("div", table.title, class_="strong")
    if table.rows:
        head = element("tr", *[element("th", name) for name in table.columns])
        body = [
            element("tr", *[element("td", text) for text in row])
            for row in _shown_rows(table)
        ]
        yield element("div", element("table", head, *body), class_="grid")
    for text in _rest(table):
        yield element("div", text, class_="soft")


def _drawn(table: Table) -> Iterator[Any]:
    from rich import box  # noqa: PLC0415  an extra of the package
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    yield Text(table.title, "bold")
    if not table.rows:
        return
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(table.columns):
        side = "right" if i < table.numbers else "left"
        drawn.add_column(Text(name), justify=side, no_wrap=i < table.numbers)
    for row in _shown_rows(table):
        drawn.add_row(*[Text(text) for text in row])
    yield drawn
    for text in _rest(table):
        yield Text(text, "dim")
