"""The source text of an expression that an operation came from, rewritten.

Python keeps for each instruction of a function where its expression begins and ends, so
the very call that made an operation is known, however many stand on its line.
"""

import ast
import linecache
import textwrap
from collections.abc import Callable
from typing import NamedTuple

from covector.core.source import Line


class Expression(NamedTuple):
    """An expression in a file: its text, and the line of the file that it stands on."""

    text: str
    before: str
    after: str

    @classmethod
    def at(cls, line: Line | None) -> "Expression | None":
        """The expression of a line; None where its text is not known or not on one
        line.
        """
        if line is None:
            return None
        spans = list(line.code.co_positions())
        k = line.offset // 2
        if k >= len(spans):
            return None
        first, last, start, end = spans[k]
        if first is None or first != last or start is None or end is None:
            return None
        text = linecache.getline(line.file, first).encode()
        if len(text) < end:
            return None
        before, inner, after = text[:start], text[start:end], text[end:]
        return cls(inner.decode(), before.decode(), after.decode())

    @property
    def parts(self) -> tuple[str, list[ast.expr]] | None:
        """The function that it calls, or its operator, and its operands; None where it
        is not one by itself.
        """
        try:
            parsed = ast.parse(textwrap.dedent(self.text), mode="eval").body
        except SyntaxError:
            return None
        if isinstance(parsed, ast.Call):
            name = ast.get_source_segment(self.text, parsed.func)
            return name or "", list(parsed.args)
        if isinstance(parsed, ast.BinOp):
            return type(parsed.op).__name__, [parsed.left, parsed.right]
        return "", []

    def with_text(self, text: str) -> str:
        """The line, with another text in place of the expression."""
        return f"{self.before}{text}{self.after}".strip()


def source_line(line: Line | None) -> str:
    """The text of a line, as the file has it."""
    return "" if line is None else linecache.getline(line.file, line.number).strip()


def operand_texts(line: Line | None) -> tuple[str, list[str]] | None:
    """The function or operator in an expression, and the texts of its operands."""
    found = Expression.at(line)
    if found is None or found.parts is None:
        return None
    name, parts = found.parts
    texts = [ast.get_source_segment(found.text, part) or "" for part in parts]
    return name, texts


def with_operand(line: Line | None, k: int, change: Callable[[str], str]) -> str | None:
    """The line, with operand k of its expression changed; None if it is not known."""
    found = Expression.at(line)
    if found is None or found.parts is None:
        return None
    _, parts = found.parts
    if k >= len(parts) or isinstance(parts[k], ast.Starred):
        return None
    text, part = found.text.encode(), parts[k]
    start, end = part.col_offset, part.end_col_offset or 0
    changed = change(text[start:end].decode())
    return found.with_text(text[:start].decode() + changed + text[end:].decode())
