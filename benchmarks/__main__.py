"""The command: ``python -m benchmarks [--only eager] [--quick] …``."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from benchmarks import machine
from benchmarks.measure import COVECTOR, JAX, PEERS
from benchmarks.measures import SUBJECTS
from benchmarks.report import cell, ratio_text, report
from benchmarks.session import FULL, QUICK, TINY, Effort, Row, run_subject
from benchmarks.worker import Binding

RESULTS = Path(__file__).parent / "results.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the measures asked for; a full run replaces ``results.md``."""
    options = parser().parse_args(arguments)
    effort = TINY if options.tiny else QUICK if options.quick else FULL
    peers = [p for p in options.peers.split(",") if p == COVECTOR or find_spec(p)]
    bindings = [Binding(p, p) for p in peers]
    if options.null:
        bindings = [Binding(p, JAX if p == COVECTOR else p) for p in peers]
    facts = machine.description()
    start = perf_counter()
    rows = run(options.only.lower(), bindings, effort)
    facts["duration of the run"] = f"{perf_counter() - start:.0f} s"
    text = report(rows, peers, facts, effort.rounds)
    whole = effort == FULL and not options.only and peers == list(PEERS)
    if options.output or (whole and not options.null):
        (options.output or RESULTS).write_text(text)
    sys.stdout.write(text)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="TEXT", help="rows whose subject or name has it")
    add("--peers", default=",".join(PEERS), help="comma-separated, of %(default)s")
    add("--quick", action="store_true", help="fewer and shorter rounds")
    add("--tiny", action="store_true", help="small sizes: does everything run at all?")
    add(
        "--null",
        action="store_true",
        help="JAX in covector's place: how much is noise?",
    )
    add("--output", type=Path, help="write there, not to results.md")
    return parser


def run(only: str, bindings: Sequence[Binding], effort: Effort) -> list[Row]:
    """All subjects in turn, each told on stderr when it is done."""
    # A compile that a file answers is not a compile.
    os.environ["COVECTOR_CACHE_DIR"] = "off"
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    rows: list[Row] = []
    for subject in SUBJECTS:
        title = subject.rpartition(".")[2]

        def wanted(name: str, title: str = title) -> bool:
            return only in f"{title} {name}".lower()

        done = run_subject(subject, bindings, effort, wanted)
        sys.stderr.writelines(progress(row) for row in done)
        rows += done
    return rows


def progress(row: Row) -> str:
    times = (f"{peer} {cell(row, peer)}" for peer in PEERS if cell(row, peer))
    return f"{row.measure.name}: {', '.join(times)}; ratio {ratio_text(row) or '–'}\n"


if __name__ == "__main__":
    main()
