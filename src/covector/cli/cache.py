"""``covector cache``: tells how many compiled programs are kept, or removes them."""

from argparse import ArgumentParser, Namespace

from covector.core.sizes import show_bytes
from covector.errors import how_many
from covector.runtime import compilation_cache


def add_options(parser: ArgumentParser) -> None:
    """Options: the action."""
    parser.add_argument(
        "action", nargs="?", choices=("info", "clear"), default="info", help="info"
    )


def run(options: Namespace) -> int:
    """Print what is there, or remove it."""
    folder = compilation_cache.folder()
    if folder is None:
        print("Compiled programs are kept in memory only (COVECTOR_CACHE_DIR=off).")
        return 0
    count, size = folder.sizes()
    removed = ""
    if options.action == "clear":
        count, removed = folder.clear(), " removed"
    programs = how_many(count, "program")
    print(f"{folder.path}: {programs}{removed}, {show_bytes(size)}.")
    return 0
