"""What a notebook shows of a program: its text in colours, beside the lines that asked
for it.
"""

import linecache
import os
import re
from collections.abc import Iterator
from typing import Any

from covector.core.html.elements import Html, element, fragment, joined
from covector.core.show import show_lines
from covector.core.source import Line

#: lines of a program, at most
_MOST = 1000

_TOKENS = re.compile(
    r"""(?P<strong>
          \breturn\b | (?<==\ )[\w-]+ | ^[a-z][\w-]*(?=[\[ ]) | (?<=^\{\ )\S+(?=\ ))
      | (?P<type>:\w+(?:<\w+>)?\[[^\]]*\](?:\{[^}]*\})?)
      | (?P<number>(?<![\w.:=])-?\d[\w.]*(?:[+-]\d+)?)
    """,
    re.VERBOSE,
)


def program_html(jaxpr: Any) -> str:
    """The HTML of a Jaxpr: one row for each line of its text, and beside it the line of
    the user's program, where that is another than that of the row above.
    """
    shown = list(show_lines(jaxpr))
    rows: list[Html] = []
    before = None
    for text, line in shown[:_MOST]:
        source = None if line is None else _source(line)
        rows.append(_row(text, source if source != before else None))
        before = source or before
    if len(shown) > _MOST:
        rest = f"… {len(shown) - _MOST:,} more lines: print it to see them"
        rows.append(element("div", rest, class_="soft"))
    return fragment(element("div", *rows, class_="program"))


def _row(text: str, source: Html | None) -> Html:
    body = text.lstrip()
    style = f"padding-left:{len(text) - len(body) + 4}ch"
    equation = element("div", *_colored(body), class_="equation", style=style)
    beside = element("div", source or "", class_="source")
    return element("div", equation, beside, class_="line")


def _colored(text: str) -> Iterator[str]:
    """The pieces of a line of a program."""
    end = 0
    for found in _TOKENS.finditer(text):
        yield text[end : found.start()]
        yield element("span", found[0], class_=found.lastgroup or "")
        end = found.end()
    yield text[end:]


def _source(line: Line) -> Html:
    """``model.py:31`` and the text of that line; a cell of a notebook has no name."""
    is_file = os.path.isfile(line.file)
    start = f"{os.path.basename(line.file)}:" if is_file else "line "
    where = f"{start}{line.number}"
    text = linecache.getline(line.file, line.number).strip()
    return joined(element("span", where, title=str(line)), f"  {text}" if text else "")
