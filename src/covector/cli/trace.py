"""``covector trace``: summarises a profiler's trace: by program, kernel and line."""

import gzip
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from covector.analysis.profile.recording import (
    KernelEvent,
    Recording,
    program_name,
    read,
)
from covector.analysis.profile.result import Summary, summary_in
from covector.analysis.profile.summary import summarise_trace
from covector.analysis.terminal import plain_text


def add_options(parser: ArgumentParser) -> None:
    """Options: the action, the file, and how much of it to show."""
    parser.add_argument("action", choices=["view"], help="view: print a summary")
    parser.add_argument(
        "file",
        type=Path,
        help="an .xplane.pb, or a .trace.json.gz, .json.gz or .json in the format of "
        "Chrome; or the folder that profiler.trace wrote, for its newest trace",
    )
    parser.add_argument(
        "--top", type=int, default=20, help="rows of each table (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the data instead")


def run(options: Namespace) -> int:
    """Print the summary; 1 if there is no trace, with the reason."""
    try:
        summary = _summary(_newest(options.file))
    except (OSError, ValueError) as error:
        print(f"{options.file} is no trace that can be read: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(summary.to_dict(), indent=1))
    else:
        print(plain_text(summary.tables(options.top)))
    return 0


def _newest(path: Path) -> Path:
    """The newest trace in a folder; a file is itself."""
    if not path.is_dir():
        return path
    found = [*path.rglob("*.xplane.pb")] or [*path.rglob("*.json.gz")]
    if not found:
        raise ValueError("there is no .xplane.pb or .json.gz file in this folder")
    return max(found, key=lambda file: file.stat().st_mtime)


def _summary(file: Path) -> Summary:
    """The summary of a trace, which a file of ours has, and others have to be read."""
    if file.suffix == ".pb":
        return summarise_trace(read(file.read_bytes()), str(file))
    # The profiler writes both; the other knows the lines of programs.
    beside = file.with_name(file.name.removesuffix(".trace.json.gz") + ".xplane.pb")
    if beside.exists():
        return _summary(beside)
    content = file.read_bytes()
    whole = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    if not isinstance(whole, dict):
        whole = {"traceEvents": whole}
    events = [*_kernels(whole.get("traceEvents", []))]
    return summary_in(whole) or summarise_trace(Recording(events, [], {}), str(file))


def _kernels(events: list[dict[str, Any]]) -> Iterator[KernelEvent]:
    """The kernels among the events of a trace in the format of Chrome."""
    for event in events:
        about = event.get("args", {})
        if event.get("ph") == "X" and "hlo_op" in about:
            start = 1e3 * event["ts"]
            program = program_name(
                about.get("hlo_module", ""), about.get("program_id", "")
            )
            end = start + 1e3 * event.get("dur", 0)
            yield KernelEvent(program, about["hlo_op"], start, end)
