"""The gallery: programs in docs/gallery become pages with their figures.

A program is a Python file. Its docstring opens the page; comments that begin with a
line ``# %%`` are prose, and what stands between them is shown as code. ``main()`` runs
it, and ``draw(main())`` is its figure.

The site build runs each program in a process of its own, and keeps its output and its
figures, one for the light and one for the dark theme, in dist/gallery until the code of
the program changes.
"""

import ast
import contextlib
import hashlib
import importlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "docs" / "gallery"
#: the front page of the gallery, from the folder of the site's pages
INDEX = "gallery/index.md"
BUILT = ROOT / "dist" / "gallery"
THEMES = {"light": "default", "dark": "dark_background"}
STYLE = {
    "figure.figsize": (7, 3),
    "font.size": 9,
    "savefig.transparent": True,
    "svg.hashsalt": "covector",
}
#: an item of the list of programs in docs/gallery/index.md
ITEM = re.compile(
    r"^- \[(?P<title>[^\]]+)\]\((?P<name>\w+)\.py\):\s(?P<text>.+(?:\n  .+)*)\n", re.M
)


def names() -> list[str]:
    """The programs of the gallery."""
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


# -- pages -----------------------------------------------------------------------------


def page(name: str, output: str) -> str:
    """A program as Markdown, with what it printed."""
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    program = ast.parse(source)
    docstring, *_ = program.body
    title, _, opening = ast.get_docstring(program).partition("\n")
    drawn = next(f for f in program.body if getattr(f, "name", "") == "draw")
    description = " ".join(ast.get_docstring(drawn).split())
    images = [f"![{description}]({name}-{theme}.svg#only-{theme})" for theme in THEMES]
    code, *cells = "\n".join(source.splitlines()[docstring.end_lineno :]).split(
        "# %%\n"
    )
    *cells, ending = cells
    parts = [
        f"# {title.rstrip('.')}",
        opening.strip(),
        "\n".join(images),
        f"The whole program: [{name}.py]({name}.py).",
        fenced(code),
        *map(cell, cells),
        f"It prints\n\n```text\n{output.rstrip()}\n```",
        cell(ending),
    ]
    return "\n\n".join(parts) + "\n"


def cell(text: str) -> str:
    """The comment that a cell begins with as prose, and the rest as code."""
    lines = text.splitlines()
    count = next((i for i, s in enumerate(lines) if not s.startswith("#")), len(lines))
    prose = "\n".join(s.removeprefix("#").removeprefix(" ") for s in lines[:count])
    return prose + "\n\n" + fenced("\n".join(lines[count:]))


def fenced(code: str) -> str:
    """A block of Python, unless there is none."""
    return f"```python\n{code.strip()}\n```" if code.strip() else ""


def cards(index: str) -> str:
    """The list of programs as cards, each with a small picture."""

    def card(match: re.Match[str]) -> str:
        name = match["name"]
        images = "".join(f"![]({name}-{theme}.svg#only-{theme})" for theme in THEMES)
        text = " ".join(match["text"].split())
        return (
            f"-   [{images}]({name}.md)\n\n    **[{match['title']}]({name}.md)**\n\n"
            f"    {text}\n\n"
        )

    return ITEM.sub(card, index)


# -- figures ---------------------------------------------------------------------------


def built(name: str) -> Path:
    """The folder with the output and the figures of a program, made if need be."""
    program = ast.parse((PROGRAMS / f"{name}.py").read_bytes())
    program.body = program.body[1:]  # prose may change, as do comments
    made_by = ast.dump(program) + repr((THEMES, STYLE))
    key = hashlib.sha256(made_by.encode()).hexdigest()[:16]
    folder = BUILT / f"{name}-{key}"
    if not folder.exists():
        for old in BUILT.glob(f"{name}-*"):
            shutil.rmtree(old)
        command = [sys.executable, "-m", "website.gallery", name, str(folder)]
        subprocess.run(command, cwd=ROOT, check=True)
    return folder


def build(name: str, folder: Path) -> None:
    """Run a program, and write down what it prints and draws."""
    mpl.use("agg")
    program = importlib.import_module(f"docs.gallery.{name}")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        result = program.main()
    working = folder.with_suffix(".unfinished")
    working.mkdir(parents=True, exist_ok=True)
    (working / "output.txt").write_text(output.getvalue(), encoding="utf-8")
    for theme, style in THEMES.items():
        with mpl.style.context([style, STYLE]):
            figure = program.draw(result)
            figure.savefig(working / f"{theme}.svg", metadata={"Date": None})
    working.rename(folder)


def generated() -> dict[str, str | bytes]:
    """Pages and figures, by their paths in the site."""
    made: dict[str, str | bytes] = {}
    for name in names():
        folder = built(name)
        for theme in THEMES:
            image = (folder / f"{theme}.svg").read_bytes()
            made[f"gallery/{name}-{theme}.svg"] = image
        output = (folder / "output.txt").read_text(encoding="utf-8")
        made[f"gallery/{name}.md"] = page(name, output)
    return made


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]))
