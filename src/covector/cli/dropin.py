"""``covector dropin``: makes covector the ``jax`` of this environment, or not."""

import sys
from argparse import ArgumentParser, Namespace

from covector import environment
from covector.cli import distribution
from covector.errors import SettingError


def add_options(parser: ArgumentParser) -> None:
    """The options of dropin: what to do."""
    parser.add_argument(
        "action",
        choices=("enable", "disable", "status"),
        help="write the distribution jax into this environment, remove it, or say "
        "which jax programs find",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="with enable: uninstall a real jax that is there",
    )


def run(options: Namespace) -> int:
    """Do it, and say what was done; 1 where it could not be."""
    try:
        if options.action == "enable":
            print(distribution.enable(replace=options.replace))
        elif options.action == "disable":
            print(distribution.disable())
        else:
            print(environment.as_text({"jax": distribution.describe()}))
    except SettingError as error:
        print(f"covector dropin: {error}", file=sys.stderr)
        return 1
    return 0
