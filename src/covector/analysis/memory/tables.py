"""What is shown of memory: tables, as text, in colours with rich, and in notebooks."""

import os
import sys
from collections.abc import Iterator, Sequence

from covector.analysis import terminal
from covector.analysis.terminal import Row, Table
from covector.core.html.elements import Html, element, fragment
from covector.core.source import Line
from covector.errors import MissingLibrary

#: rows of a table that are shown; the others are counted
MOST_ROWS = 30
#: columns of text that is not printed in a terminal: names of lines are long
_WIDTH = 160
#: the line of what comes from no line of the user's that is known
UNKNOWN = "unknown"


def shown_file(file: str) -> str:
    """The path of a file; of one in the working folder, from there."""
    return file.removeprefix(os.getcwd() + os.sep)


def shown_line(line: Line | None) -> str:
    """``train.py:40 (step)``."""
    if line is None:
        return UNKNOWN
    return str(line).replace(line.file, shown_file(line.file), 1)


def table(
    title: str, columns: Sequence[str] = (), rows: Sequence[Sequence[str]] = ()
) -> Table:
    """A table of which the first column is what the others, numbers, are about."""
    return table_of_texts(title, columns, rows, 1)


def table_of_texts(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int
) -> Table:
    """A table of which the first columns are texts, and the others numbers."""
    shown = [Row(tuple(row)) for row in rows[:MOST_ROWS]]
    more = len(rows) - MOST_ROWS
    if more > 0:
        rest = [f"… and {more} more", *[""] * (len(columns) - 1)]
        shown.append(Row(tuple(rest)))
    return Table(title, (), tuple(columns), tuple(shown), texts)


class Tabular:
    """A report that is shown as tables, in terminals and notebooks."""

    def tables(self) -> list[Table]:
        """The tables, which a subclass makes."""
        raise AssertionError("a subclass has tables")

    def __str__(self) -> str:
        return terminal.plain_text(self.tables(), _WIDTH)

    def _repr_html_(self) -> str:
        return fragment(*[part for each in self.tables() for part in _html(each)])

    def show(self) -> None:
        """Print it; in colours where rich is installed."""
        try:
            terminal.show(self.tables())
        except MissingLibrary:
            sys.stdout.write(f"{self}\n")


def _html(shown: Table) -> Iterator[Html]:
    yield element("div", shown.title, class_="strong")
    if shown.rows:
        head = element("tr", *[element("th", name) for name in shown.columns])
        body = [
            element("tr", *[element("td", text) for text in row.cells])
            for row in shown.rows
        ]
        yield element("div", element("table", head, *body), class_="grid")
