"""``covector doctor``: reports the installation and devices, and what does not work."""

from argparse import ArgumentParser, Namespace

from covector import environment
from covector.cli import distribution


def add_options(parser: ArgumentParser) -> None:
    """There is nothing to choose."""


def run(_: Namespace) -> int:
    """Print every section; 1 when one of them has a problem."""
    tables = {**environment.describe(), "jax": distribution.describe()}
    print(environment.as_text(tables))
    return int(any("problem" in table for table in tables.values()))
