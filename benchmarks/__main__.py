"""The command: ``python -m benchmarks [--only eager] [--quick] …``."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import kept, machine
from benchmarks.measure import COVECTOR, JAX, MODULES, PEERS
from benchmarks.measures import SUBJECTS
from benchmarks.report import cell, number, report
from benchmarks.session import FULL, QUICK, TINY, Effort, Row, run_subject
from benchmarks.worker import Binding

RESULTS = Path(__file__).parent / "results.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the measures asked for; a full run replaces ``results.md``."""
    options = parser().parse_args(arguments)
    effort = TINY if options.tiny else QUICK if options.quick else FULL
    peers = [
        p for p in options.peers.split(",") if p == COVECTOR or find_spec(MODULES[p])
    ]
    bound_to = {p: JAX if options.null and p == COVECTOR else p for p in peers}
    bindings = [Binding(p, MODULES[bound_to[p]]) for p in peers]
    facts, limits = machine.description(), None if options.tiny else machine.limits()
    start = perf_counter()
    keeping = effort == FULL and peers == list(PEERS) and not options.null
    rows = run(options, bindings, effort, keeping)
    facts["duration of the run"] = f"{perf_counter() - start:.0f} s"
    facts |= {} if limits is None else machine.rates(limits)
    text = report(rows, peers, facts, limits)
    if options.output or (keeping and (options.resume or not options.only)):
        (options.output or RESULTS).write_text(text)
    sys.stdout.write(text)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="TEXT", help="rows whose subject or name has it")
    add("--peers", default=",".join(PEERS), help="comma-separated, of %(default)s")
    add("--quick", action="store_true", help="fewer and shorter rounds")
    add(
        "--tiny",
        action="store_true",
        help="small sizes, not compiled: does everything run?",
    )
    add(
        "--null",
        action="store_true",
        help="JAX in covector's place: how much is noise?",
    )
    add(
        "--resume",
        action="store_true",
        help="keep what an earlier run measured: go on after one that was broken off, "
        "or, with --only, measure these rows again",
    )
    add("--output", type=Path, help="write there, not to results.md")
    return parser


def run(
    options: Any, bindings: Sequence[Binding], effort: Effort, keeping: bool
) -> list[Row]:
    """All subjects in turn."""
    # A compile that a file answers is not a compile.
    os.environ["COVECTOR_CACHE_DIR"] = "off"
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    found = [run_one(s, options, bindings, effort, keeping) for s in SUBJECTS]
    return [row for rows in found for row in rows]


def run_one(
    subject: str,
    options: Any,
    bindings: Sequence[Binding],
    effort: Effort,
    keeping: bool,
) -> list[Row]:
    """The rows of a subject that were asked for, and those kept from before. Each is
    told on stderr when it is done.
    """
    only, title = options.only.lower(), subject.rpartition(".")[2]
    found = kept.read(subject) if options.resume else {}
    before = set(found)

    def wanted(name: str) -> bool:
        asked = only in f"{title} {name}".lower()
        return asked and (bool(only) or name not in before)

    def done(row: Row) -> None:
        sys.stderr.write(progress(row))
        found[row.measure.name] = row
        if keeping:
            kept.write(subject, kept.in_order(subject, effort.tiny, found))

    run_subject(subject, bindings, effort, wanted, done)
    return kept.in_order(subject, effort.tiny, found)


def progress(row: Row) -> str:
    times = (f"{peer} {cell(row, peer)}" for peer in PEERS if cell(row, peer))
    ratio = f"{number(row.ratio(JAX)) or '–'} of JAX"
    return f"{row.measure.name}: {', '.join(times)}; {ratio}\n"


if __name__ == "__main__":
    main()
