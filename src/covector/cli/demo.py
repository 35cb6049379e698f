"""``covector demo``: train a classifier of handwritten digits and write a report."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path


def add_options(parser: ArgumentParser) -> None:
    """The options of the demo: length of training, seed, and output."""
    parser.add_argument(
        "--epochs",
        type=_positive,
        default=40,
        help="how often each training image is seen (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        help="of the split, the weights and the order (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=_file,
        default="report.html",
        help="the report, one HTML file (default: %(default)s)",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"a positive whole number is needed, not {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**31:
        raise ArgumentTypeError(
            f"a whole number from 0 to 2147483647 is needed, not {text!r}"
        )
    return int(text)


def _file(text: str) -> Path:
    path = Path(text)
    if not path.absolute().parent.is_dir():
        raise ArgumentTypeError(f"the folder {path.parent} does not exist")
    if path.is_dir():
        raise ArgumentTypeError(f"{path} is a folder; name a file")
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
