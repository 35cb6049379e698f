"""Messages of errors in lines, as printed tracebacks show them."""

import re
import textwrap
from typing import Any

#: columns of a line of a message
WIDTH = 100

# Ends of sentences, and the commas and colons where a long one is best broken.
_SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z`'\"(])")
_CLAUSE = re.compile(r"(?<=[,:;]) ")
# An expression that fits a line is not broken.
_BRACKETS = re.compile(r"[(\[][^()\[\]]{,50}[)\]]")
# A word may be a path, or an expression that is to be copied.
_WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def in_lines_of(message: str, page: str | None) -> list[str]:
    """The lines of a message, and of its page; lines that it has already are kept."""
    lines = [line for given in message.split("\n") for line in _folded(given)]
    return lines if page is None else [*lines, f"More: covector help {page}"]


def _folded(text: str) -> list[str]:
    """A paragraph in lines: the first ends with its first sentence, or inside of it."""
    if len(text) <= WIDTH:
        return [text]
    text = _BRACKETS.sub(lambda found: found[0].replace(" ", "\0"), text)
    ends = [found.start() for found in _SENTENCE.finditer(text[: WIDTH + 2])]
    if not ends:
        clauses = _CLAUSE.finditer(text[: WIDTH + 1])
        ends = [end for found in clauses if (end := found.start()) > WIDTH // 2][-1:]
    first = text[: ends[0]] if ends else textwrap.wrap(text, WIDTH, **_WHOLE_WORDS)[0]
    rest = text[len(first) :].lstrip()
    lines = [first, *textwrap.wrap(rest, WIDTH, **_WHOLE_WORDS)]
    return [line.replace("\0", " ") for line in lines]
