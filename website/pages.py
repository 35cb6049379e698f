"""The pages of the API reference, and those with the sources, as Markdown."""

import importlib
import inspect

from website import docstrings, entries
from website.contents import CONTENTS, Page, pages
from website.definitions import source
from website.entries import Entry, relative

INDEX = "reference/index.md"
#: the search finds what stands on the page before other pages that name it
_FIRST = "---\nsearch:\n  boost: 4\n---"


def generated() -> dict[str, str]:
    """By path below docs/, the text of every page that is made."""
    found = {INDEX: index()}
    found |= {page.path: reference_page(page) for page in pages()}
    modules = sorted({e.definition.module for e in entries.entries().values()})
    return found | {entries.source_page(m): source_text(m) for m in modules}


def navigation() -> list[str | dict[str, object]]:
    """The part of the navigation for the reference."""
    paths = {(p.section, p.title): p.path for p in pages()}
    sections: list[str | dict[str, object]] = [INDEX]
    for section, titles in CONTENTS.items():
        inner = [{title: paths[section, title]} for title in titles]
        if len(inner) == 1:
            sections.append({section: next(iter(inner[0].values()))})
        else:
            sections.append({section: inner})
    return sections


def index() -> str:
    """Every page with what is on it."""
    parts = [
        "# API reference",
        "Every public function, class and constant, made from the docstrings. The "
        "search finds them by name.",
    ]
    section = None
    for page in pages():
        if page.section != section:
            section = page.section
            parts.append(f"## {section}")
        names = {e.name: e.link(INDEX) for e in reversed(_on(page))}
        links = " ".join(f"[`{n}`]({names[n]})" for n in reversed(names))
        parts.append(f"### [{page.title}]({relative(INDEX, page.path)})")
        parts.append(f"{links}\n{{ .names }}")
    return "\n\n".join(parts)


def reference_page(page: Page) -> str:
    """A table of the names by module, and an entry for each."""
    own = _on(page)
    parts = [_FIRST if page.section == "covector" else "", f"# {page.title}"]
    for module in page.names:
        inside = [e for e in own if e.module == module]
        parts += _about(page, module)
        parts.append(_table(page, inside))
    return "\n\n".join([*parts, *[entries.markdown(e) for e in own]]).lstrip()


def source_text(module: str) -> str:
    """The source of a module, with numbered lines; the search passes it over."""
    lines = source(module)
    fence = "`" * 6
    return (
        "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n\n"
        f"# {module}\n\n{fence} {{ .python linenums='1' }}\n{lines}{fence}\n"
    )


def _on(page: Page) -> list[Entry]:
    return [e for e in entries.entries().values() if e.page is page]


def _about(page: Page, module: str) -> list[str]:
    """What the module is, in one paragraph."""
    text = inspect.getdoc(importlib.import_module(module)) or ""
    name = f"**`{module}`**"
    whole = len([p for p in pages() if module in p.names]) == 1
    return [f"{name}: {docstrings.summary(text)}" if whole else name]


def _table(page: Page, own: list[Entry]) -> str:
    rows = [f"| [`{e.name}`](#{e.path}) | {entries.summary(e)} |" for e in own]
    table = "\n".join(["| | |", "|---|---|", *rows])
    return f'<div class="summary" markdown>\n\n{table}\n\n</div>'
