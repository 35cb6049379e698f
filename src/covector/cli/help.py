"""``covector help``: explains an error, by the name at the end of its message."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from covector.errors import did_you_mean

#: in a wheel, and in the repository
_FOLDERS = (
    Path(__file__).parent / "errors",
    Path(__file__).parents[3] / "docs" / "errors",
)


def add_options(parser: ArgumentParser) -> None:
    """The name of a page."""
    parser.add_argument("name", nargs="?", help="such as random-key; all if left out")


def run(options: Namespace) -> int:
    """Print the page, or the names of all."""
    found = pages()
    if options.name is None:
        width = max(map(len, found))
        for name, text in found.items():
            print(f"{name:{width}}  {text.partition(chr(10))[0].removeprefix('# ')}")
        return 0
    if options.name not in found:
        near = did_you_mean(options.name, found)
        print(f"covector help: no page {options.name!r}.{near}", file=sys.stderr)
        return 1
    print(found[options.name], end="")
    return 0


def pages() -> dict[str, str]:
    """The text of each page about an error, by its name."""
    folder = next(folder for folder in _FOLDERS if folder.is_dir())
    files = [file for file in sorted(folder.glob("*.md")) if file.stem != "index"]
    return {file.stem: file.read_text(encoding="utf-8") for file in files}
