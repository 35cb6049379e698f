"""A public name as Markdown: its signature, its docstring, a link to its source."""

import ast
import builtins
import enum
import functools
import inspect
import posixpath
import re
from dataclasses import dataclass
from typing import Any

from covector import errors
from website import class_members, docstrings, signatures
from website.contents import Page, pages
from website.definitions import Definition, definition, value

_NAME = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Entry:
    """The public ``name`` of ``module``, on a page of the reference."""

    page: Page
    module: str
    name: str

    @property
    def path(self) -> str:
        """The name as programs write it, and the anchor of the entry."""
        return f"{self.module}.{self.name}"

    @property
    def value(self) -> Any:
        """What the name stands for."""
        return value(self.module, self.name)

    @property
    def definition(self) -> Definition:
        """Where it is defined."""
        found = definition(self.module, self.name)
        assert found is not None, f"the sources do not tell where {self.path} is from"
        return found

    @property
    def docstring(self) -> str:
        """Its docstring, or the comment that documents a value; "" if there is none."""
        return _sentence(self.definition.comment) or _docstring(self.value)

    @property
    def original(self) -> "Entry":
        """The entry of the same thing that describes it; this one, for most."""
        return _originals()[self.path]

    def link(self, page: str) -> str:
        """A link to this entry, from the page with that path."""
        return f"{relative(page, self.page.path)}#{self.path}"


@functools.cache
def entries() -> dict[str, Entry]:
    """Every entry of the reference, by its path."""
    found = [
        Entry(page, module, name)
        for page in pages()
        for module, names in page.names.items()
        for name in names
    ]
    return {entry.path: entry for entry in found}


@functools.cache
def _originals() -> dict[str, Entry]:
    """By path, the entry that describes the same thing."""
    first: dict[tuple[str, str], Entry] = {}
    for entry in entries().values():
        key = (entry.definition.module, entry.definition.name)
        known = first.setdefault(key, entry)
        if entry.name == entry.definition.name != known.name:
            first[key] = entry
    return {
        path: first[entry.definition.module, entry.definition.name]
        for path, entry in entries().items()
    }


def relative(page: str, target: str) -> str:
    """The link from one file of docs/ to another."""
    return posixpath.relpath(target, posixpath.dirname(page))


def source_page(module: str) -> str:
    """The page with the source of a module."""
    return f"reference/source/{module}.md"


def markdown(entry: Entry) -> str:
    """The entry, under its heading."""
    parts = [_heading("##", entry.name, entry.path)]
    page, found = entry.page.path, entry.definition
    shown = signatures.signature(found, entry.name, entry.value)
    parts.append(signatures.block(shown or _stated(entry)))
    source = f"{relative(page, source_page(found.module))}#{_line(found)}"
    parts.append(f"[source]({source}){{ .source title='{found.module}' }}")
    original = entry.original
    if original is not entry:
        link = f"[`{original.path}`]({original.link(page)})"
        return "\n\n".join([*parts, f"The same as {link}."])
    parts.append(docstrings.markdown(entry.docstring, linker(entry, shown or "")))
    return "\n\n".join([*parts, *members(entry)])


def summary(entry: Entry) -> str:
    """What it is, in one line."""
    text = entry.original.docstring
    return docstrings.summary(text)


def linker(entry: Entry, signature: str) -> docstrings.Code:
    """Makes code that is a public name, and no parameter, a link to its entry."""
    parameters = {*re.findall(r"(\w+)(?=[:=,)])", signature), entry.name}

    def code(text: str) -> str:
        name = text.removesuffix("()")
        if name not in parameters and _NAME.fullmatch(name):
            for prefix in (f"{entry.module}.", "covector.", "", "covector.errors."):
                target = entries().get(prefix + name)
                if target is not None:
                    return f"[`{text}`]({target.link(entry.page.path)})"
        return docstrings.plain(text)

    return code


def _sentence(comment: str) -> str:
    ending = "" if comment.endswith((".", "…")) else "."
    return comment and comment[0].upper() + comment[1:] + ending


def _docstring(thing: Any) -> str:
    """That of the thing, not of its class."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return thing.__doc__ or ""
    shared = type(thing).__doc__
    text = getattr(thing, "__doc__", None)
    return text if text and text != shared else ""


def _heading(level: str, name: str, anchor: str) -> str:
    """A heading with an anchor, in which ``__`` begins no bold text."""
    anchor = anchor.replace("_", r"\_")
    return f"{level} {docstrings.inline(name)} {{ #{anchor} }}"


def _stated(entry: Entry) -> str:
    """The statement of a class or of a value, short."""
    statement = entry.definition.statement
    if isinstance(statement, ast.ClassDef):
        shown = [ast.unparse(b) for b in statement.bases]
        bases = [b for b in shown if hasattr(builtins, b) or hasattr(errors, b)]
        return f"class {entry.name}({', '.join(bases)})".replace("()", "")
    given = getattr(statement, "value", None)
    text = repr(entry.value) if isinstance(entry.value, int | float | str) else None
    if text is None and given is not None:
        text = ast.unparse(given)
    return f"{entry.name} = {text}" if text else entry.name


def _line(found: Definition) -> str:
    return f"__codelineno-0-{found.first_line}"


def members(entry: Entry) -> list[str]:
    """The names of an enumeration; the public members of another class."""
    if not isinstance(entry.definition.statement, ast.ClassDef):
        return []
    if issubclass(entry.value, enum.Enum):
        names = [f"`{name}`" for name in entry.value.__members__]
        return [f"**Members**{{ .section }}\n\n{', '.join(names)}"]
    parts = []
    for name, member in sorted(class_members.of(entry.value).items()):
        path = f"{entry.path}.{name}"
        shown = member.signature
        parts += [
            _heading("###", name, path),
            signatures.block(shown),
            docstrings.markdown(member.docstring, linker(entry, shown)),
        ]
    return parts
