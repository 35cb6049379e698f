"""Tables in the terminal: as plain text, or in colours with rich."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from covector.errors import MissingLibrary

#: a table is at least this wide: below it nobody could read it
LEAST_WIDTH = 60
#: and a text that is cut to less says nothing
_TEXT_WIDTH = 32
_GAP = "  "


class Row(NamedTuple):
    """The cells of a row; a large ``share`` is warm, a ``heading`` stands out."""

    cells: tuple[str, ...]
    share: float | None = None
    heading: bool = False


@dataclass(frozen=True)
class Table:
    """A title, sentences, and a table with the names of its columns.

    The first ``texts`` columns are texts, and stand on the left. Where there is little
    room, columns that are ``optional`` are left out, the last of them first.
    """

    title: str
    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    texts: int = 1
    optional: tuple[str, ...] = ()

    def without(self, column: str) -> "Table":
        """The table without one of its columns."""
        at = self.columns.index(column)
        rows = [
            r._replace(cells=(*r.cells[:at], *r.cells[at + 1 :])) for r in self.rows
        ]
        columns = (*self.columns[:at], *self.columns[at + 1 :])
        return replace(self, columns=columns, rows=tuple(rows))


def plain_text(tables: Sequence[Table], width: int | None = None) -> str:
    """The tables as text, in lines of at most ``width`` characters where possible."""
    width = max(width or shutil.get_terminal_size((100, 24)).columns, LEAST_WIDTH)
    return "\n\n".join(["\n".join(_text(table, width)) for table in tables])


def _text(table: Table, width: int) -> Iterator[str]:
    table = _fitted(table, width)
    yield table.title
    for sentence in table.sentences:
        yield _GAP + sentence
    if table.rows:
        rows = [Row(table.columns), *table.rows]
        widths = _widths(table, rows, width)
        for row in rows:
            cells = [
                _cell(cell, size, i < table.texts)
                for i, (cell, size) in enumerate(zip(row.cells, widths, strict=True))
            ]
            yield (_GAP + _GAP.join(cells)).rstrip()


def _fitted(table: Table, width: int) -> Table:
    """The table without optional columns that would leave too little for texts."""
    left = list(table.optional)
    while left and table.rows:
        rows = [Row(table.columns), *table.rows]
        needed = [
            max(map(len, column)) + len(_GAP)
            for column in zip(*[row.cells for row in rows], strict=True)
        ]
        texts = [min(n, _TEXT_WIDTH) for n in needed[: table.texts]]
        if sum(texts) + sum(needed[table.texts :]) <= width:
            break
        table = table.without(left.pop())
    return table


def _widths(table: Table, rows: Sequence[Row], width: int) -> list[int]:
    """The widths of columns; texts give way where there is too little room."""
    columns = zip(*[row.cells for row in rows], strict=True)
    found = [max(map(len, column)) for column in columns]
    excess = sum(found) + len(_GAP) * len(found) - width
    while excess > 0:
        widest = max(range(table.texts), key=found.__getitem__)
        if found[widest] <= 12:
            break
        others = [n for i, n in enumerate(found[: table.texts]) if i != widest]
        step = min(excess, max(found[widest] - max([12, *others]), 1))
        found[widest] -= step
        excess -= step
    return found


def _cell(text: str, size: int, left: bool) -> str:
    if len(text) > size:
        text = text[: size - 1] + "…"
    return text.ljust(size) if left else text.rjust(size)


def show(tables: Sequence[Table], width: int | None = None) -> None:
    """Print the tables in colours."""
    try:
        from rich.console import Console  # noqa: PLC0415  an extra of the package
    except ImportError as error:
        raise MissingLibrary(
            "show draws with rich, which is not installed. Install it with: "
            "pip install 'covector[inspect]'. Without it, print shows the same as "
            "plain text."
        ) from error
    console = Console(width=width, highlight=False)
    for table in tables:
        console.print(_titled(table))
        if table.rows:
            console.print(_drawn(table, max(console.width, LEAST_WIDTH)))


def _titled(table: Table) -> Any:
    from rich.text import Text  # noqa: PLC0415

    title = Text(f"\n{table.title}", "bold cyan")
    sentences = [Text(f"\n{_GAP}{sentence}", "none") for sentence in table.sentences]
    return Text.assemble(title, *sentences)


def _drawn(table: Table, width: int) -> Any:
    from rich.table import Table as Drawn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = _fitted(table, width)
    widths = _widths(table, [Row(table.columns), *table.rows], width)
    drawn = Drawn(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0))
    for i, (name, size) in enumerate(zip(table.columns, widths, strict=True)):
        drawn.add_column(
            Text(name, "dim"),
            justify="left" if i < table.texts else "right",
            width=size,
            no_wrap=True,
            overflow="ellipsis",
        )
    for row in table.rows:
        drawn.add_row(*map(Text, row.cells), style=_style(row))
    return drawn


def _style(row: Row) -> str:
    """The more of the time, the warmer."""
    if row.heading:
        return "bold"
    share = row.share or 0
    return "red" if share >= 0.3 else "yellow" if share >= 0.1 else ""


# -- numbers ---------------------------------------------------------------------------


def show_seconds(seconds: float | None) -> str:
    """``3.2 ms``, and a dash for what is not known."""
    if seconds is None:
        return "–"
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
