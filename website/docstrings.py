"""A docstring as Markdown: its paragraphs, sections, examples and blocks of text.

The docstrings are those that the house writes: a summary, paragraphs, sections headed
``Args:`` and the like with an item per line, blocks of text that are indented by four
columns, and examples with ``>>>``.
"""

import inspect
import re
from collections.abc import Callable, Iterator

#: the headings of sections, and how the site heads them
SECTIONS = {
    "Args:": "Parameters",
    "Attributes:": "Attributes",
    "Returns:": "Returns",
    "Yields:": "Yields",
    "Raises:": "Raises",
    "Note:": "Note",
    "Example:": "Example",
    "Examples:": "Examples",
}
ITEM = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)(?: \([^)]*\))?: +(.*)")
CODE = re.compile(r"(``.+?``|`.+?`)", re.DOTALL)
#: what Markdown or HTML would take for something else, outside of code
SPECIAL = re.compile(r"([<\[\]_\\|]|(?<=\w)\*(?=\w))")

#: makes Markdown of one piece of code in a paragraph, a link perhaps
Code = Callable[[str], str]


def plain(code: str) -> str:
    """The code as code."""
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def summary(text: str, code: Code = plain) -> str:
    """The first sentence or paragraph, in one line."""
    first = inspect.cleandoc(text).partition("\n\n")[0]
    return inline(" ".join(first.split()).removesuffix("::"), code)


def markdown(text: str, code: Code = plain) -> str:
    """The whole docstring."""
    out: list[str] = []
    for heading, lines in _sections(inspect.cleandoc(text).splitlines()):
        if heading:
            out.append(f"**{SECTIONS[heading]}**{{ .section }}")
        itemized = heading not in (None, "Note:", "Example:", "Examples:")
        out += _items(lines, code) if itemized else _blocks(lines, code)
    return "\n\n".join(out)


def inline(text: str, code: Code = plain) -> str:
    """Prose with code in double backticks, as Markdown."""
    parts = CODE.split(text)
    return "".join(
        code(" ".join(part.strip("`").split())) if k % 2 else SPECIAL.sub(r"\\\1", part)
        for k, part in enumerate(parts)
    )


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Headings with the lines below them, without their indentation."""
    heading, body = None, []
    for line in lines:
        inside = not line or line.startswith("  ")
        if line in SECTIONS or (heading and not inside):
            yield heading, _dedented(body)
            heading, body = (line if line in SECTIONS else None), []
            if heading:
                continue
        body.append(line)
    yield heading, _dedented(body)


def _dedented(lines: list[str]) -> list[str]:
    return inspect.cleandoc("\n".join(["", *lines])).splitlines()


def _items(lines: list[str], code: Code) -> list[str]:
    """``name: text`` as a list; what has not this form as paragraphs."""
    found: list[tuple[str, list[str]]] = []
    before: list[str] = []
    for line in lines:
        item = ITEM.fullmatch(line)
        if item:
            found.append((item[1], [item[2]]))
        elif found and (not line or line.startswith(" ")):
            found[-1][1].append(line)
        elif found:
            # A paragraph after the items, or a text that only looked like one.
            return [*_list(found, code), *_items([line, *_rest(lines, line)], code)]
        else:
            before.append(line)
    return [*_blocks(before, code), *_list(found, code)]


def _rest(lines: list[str], line: str) -> list[str]:
    return lines[lines.index(line) + 1 :]


def _list(items: list[tuple[str, list[str]]], code: Code) -> list[str]:
    out = []
    for names, (first, *more) in items:
        shown = ", ".join(f"**`{name}`**" for name in names.split(", "))
        if names[:1].isupper():
            shown = ", ".join(code(name) for name in names.split(", "))
        blocks = _blocks([first, *_dedented(more)], code)
        indented = ["\n".join("    " + x for x in b.splitlines()) for b in blocks]
        out.append(f"-   {shown}: " + "\n\n".join(indented).lstrip())
    return ["\n".join(out)] if out else []


def _blocks(lines: list[str], code: Code) -> list[str]:
    """Paragraphs, examples and indented text, one after another."""
    out = []
    for block in _paragraphs(lines):
        if block[0].startswith(">>>"):
            out.append(_fenced("pycon", block))
        elif block[0].startswith("    "):
            out.append(_fenced("text", _dedented(block)))
        else:
            prose = "\n".join(x.strip() for x in block)
            out.append(
                inline(prose.removesuffix("::") + ":" * prose.endswith("::"), code)
            )
    return out


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Lines between empty ones; indented text, and an example, in one piece."""
    block: list[str] = []
    for line in lines:
        if line and block and _begins(block, line):
            yield _stripped(block)
            block = []
        if line or block:
            block.append(line)
    if block:
        yield _stripped(block)


def _begins(block: list[str], line: str) -> bool:
    """Whether the line is not of the block before it."""
    for code in (">>>", "    "):
        if block[0].startswith(code):
            return not (block[-1] or line.startswith(code))
    return not block[-1] or line.startswith(">>>")


def _stripped(block: list[str]) -> list[str]:
    while not block[-1]:
        block = block[:-1]
    return block


def _fenced(language: str, lines: list[str]) -> str:
    shown = [line for line in lines if not line.strip().startswith(">>> # doctest")]
    shown = [re.sub(r"\s*# doctest:.*$", "", line) for line in shown]
    return "\n".join([f"```{language}", *shown, "```"])
