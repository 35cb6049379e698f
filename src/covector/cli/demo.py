"""``covector demo``: train a classifier of handwritten digits and write a report."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path


def add_options(parser: ArgumentParser) -> None:
    """How long, from which seed, and where to."""
    parser.add_argument("--epochs", type=_positive, default=40, help="default: 40")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument(
        "--output", type=_file, default="report.html", help="default: report.html"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"a positive whole number is needed, not {text!r}")
    return int(text)


def _file(text: str) -> Path:
    path = Path(text)
    if not path.absolute().parent.is_dir():
        raise ArgumentTypeError(f"the folder {path.parent} does not exist")
    return path


def run(options: Namespace) -> int:
    """Train, show and report; 2 when a library of the demo is not installed."""
    try:
        # These libraries come with an optional extra, which other commands do without.
        from covector.demo import show  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("covector"):
            raise
        print(
            f"covector demo needs {error.name}, which is not installed. "
            "Install the libraries of the demo with: pip install 'covector[demo]'",
            file=sys.stderr,
        )
        return 2
    show.run(options.epochs, options.seed, options.output)
    return 0
