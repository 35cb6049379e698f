"""The ecosystem on covector: suites of packages, unmodified, and realistic programs.

    python -m tests.ecosystem.run                     every suite and every program
    python -m tests.ecosystem.run --fast              what takes five minutes at most
    python -m tests.ecosystem.run optax with_haiku    only these
    python -m tests.ecosystem.run --checkout equinox=~/src/equinox equinox
    python -m tests.ecosystem.run --record            write down JAX's numbers anew

The packages live in an environment of their own beside the checkout,
``.venv-ecosystem``, in which covector is the distribution ``jax``; the first run makes
it. ``--record`` makes another one with the real JAX. The exit status is 1 if anything
fails that ``explained.toml`` does not list, or if something listed there passes.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.ecosystem import comparison, suites
from tests.ecosystem.environment import environment
from tests.ecosystem.packages import SOURCELESS, SUITES
from tests.ecosystem.suites import Result

_CONSOLE = Console(width=100, highlight=False)


def main() -> int:
    """Run what was asked for; the exit status."""
    options = _options()
    if options.record:
        for name in options.names or comparison.FILES:
            comparison.record(name, environment(real=True))
        return 0
    results = list(_results(options))
    _CONSOLE.print(_table(results))
    for result in results:
        _print_failures(result)
    return int(any(result.unexplained() or result.outdated() for result in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*SUITES, *comparison.FILES]
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(known))
    parser.add_argument("--fast", action="store_true", help="the quick part of each")
    parser.add_argument("--record", action="store_true", help="write JAX's numbers")
    parser.add_argument(
        "--checkout",
        action="append",
        default=[],
        metavar="PACKAGE=FOLDER",
        help="a checkout that has the tests of a package",
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"no suite and no programs: {', '.join(sorted(unknown))}")
    return options


def _results(options: argparse.Namespace) -> Iterable[Result]:
    folder = environment()
    pairs = (text.split("=", 1) for text in options.checkout)
    checkouts = {name: Path(path).expanduser() for name, path in pairs}
    for name in options.names or [*SUITES, *comparison.FILES]:
        if name in comparison.FILES:
            result = comparison.run(name, folder)
        elif name in checkouts or name not in SOURCELESS:
            result = suites.run(name, folder, options.fast, checkouts.get(name))
        else:
            _CONSOLE.print(f"{name}: no tests in its distributions; see --checkout")
            continue
        passed, failed = len(result.passed), len(result.failures)
        _CONSOLE.print(f"{name}: {passed} passed, {failed} failed")
        yield result


def _table(results: list[Result]) -> Table:
    table = Table(title="The ecosystem on covector")
    table.add_column("suite or programs")
    for column in ("passed", "failed", "explained", "skipped", "share", "seconds"):
        table.add_column(column, justify="right")
    for result in results:
        passed, failed = len(result.passed), len(result.failures)
        explained = failed - len(result.unexplained())
        share = f"{passed / (passed + failed):.1%}"
        counts = map(str, (passed, failed, explained, result.skipped))
        table.add_row(result.name, *counts, share, f"{result.seconds:.0f}")
    return table


def _print_failures(result: Result) -> None:
    for test in result.unexplained():
        words = " ".join(result.failures[test].split())[:300]
        _CONSOLE.print(f"{result.name}: {test}\n    {words}", markup=False)
    for test in result.outdated():
        _CONSOLE.print(f"{result.name}: {test} passes: take it from explained.toml")


if __name__ == "__main__":
    sys.exit(main())
