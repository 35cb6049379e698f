"""What a profile found: times of kernels, lines and programs, as data and as tables."""

import linecache
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from covector import profiler
from covector.analysis.profile.recording import bare_name, program_name
from covector.analysis.terminal import Row, Table, plain_text, show, show_seconds
from covector.errors import short_name

#: where a file for Perfetto has the summary
_OURS = "covector"
#: kernels that a table shows
MOST_ROWS = 20


@dataclass(frozen=True)
class LinePart:
    """A line of the source, and its part of a kernel."""

    file: str
    line: int
    function: str
    share: float

    def __str__(self) -> str:
        return (
            f"{os.path.basename(self.file)}:{self.line} ({short_name(self.function)})"
        )


@dataclass(frozen=True)
class KernelTime:
    """A kernel: the seconds of one run of the function, all calls of it together.

    ``share`` is its part of the whole run. Lines that share a kernel have parts by
    their work, the largest first. ``kind`` is None where the program is not known.
    """

    program: str
    name: str
    kind: str | None
    seconds: float
    calls: float
    share: float
    lines: tuple[LinePart, ...]


@dataclass(frozen=True)
class LineTime:
    """A line of the source: the seconds of one run, and its part of the whole.

    ``function`` is the one that takes most of it, where several are on the line.
    """

    file: str
    line: int
    function: str
    seconds: float
    share: float
    kernels: tuple[str, ...]

    @property
    def source(self) -> str:
        """The text of the line, where its file can be read."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(frozen=True)
class Summary:
    """Where the time of some runs went, by kernel; all times are for one run.

    ``wall_s`` is the whole run. ``kernels_s`` of it ran kernels, ``callbacks_s`` Python
    functions that programs called, and ``dispatch_s`` is the rest: Python, the starts
    of programs, and copies between host and devices.
    """

    name: str
    wall_s: float
    kernels_s: float
    callbacks_s: float
    dispatch_s: float
    runs: int
    kernels: tuple[KernelTime, ...]

    def by_line(self) -> list[LineTime]:
        """The lines of the source, the slowest first.

        A line that only one kernel has takes its whole time; of kernels with several
        lines each takes the part that its operations have in the work.
        """
        seconds: dict[tuple[str, int], dict[str, float]] = {}
        names: dict[tuple[str, int], list[str]] = defaultdict(list)
        for kernel in self.kernels:
            for part in kernel.lines:
                key = part.file, part.line
                by_function = seconds.setdefault(key, defaultdict(float))
                by_function[part.function] += part.share * kernel.seconds
                names[key].append(kernel.name)
        found = []
        for key, by_function in seconds.items():
            function = max(by_function, key=by_function.__getitem__)
            whole = sum(by_function.values())
            share = whole / (self.wall_s or 1.0)
            kernels = tuple(dict.fromkeys(names[key]))
            found.append(LineTime(*key, function, whole, share, kernels))
        return sorted(found, key=lambda line: -line.seconds)

    def by_program(self) -> dict[str, float]:
        """The seconds of each compiled program, the slowest first."""
        found: dict[str, float] = defaultdict(float)
        for kernel in self.kernels:
            found[kernel.program] += kernel.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def to_dict(self) -> dict[str, Any]:
        """The times as data that JSON can hold."""
        parts = {name: getattr(self, name) for name in Summary.__dataclass_fields__}
        return {
            **parts,
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "lines": [{**asdict(e), "source": e.source} for e in self.by_line()],
            "programs": self.by_program(),
        }

    def show(self, width: int | None = None) -> None:
        """Print the tables in colours.

        Raises:
          MissingLibrary: rich is not installed; the extra ``inspect`` brings it.
        """
        show(self.tables(), width)

    def __str__(self) -> str:
        return plain_text(self.tables())

    __repr__ = __str__

    def tables(self, most: int = MOST_ROWS) -> list[Table]:
        """Tables of the whole, of lines and of kernels."""
        return [self._whole(), self._lines(most), self._kernels(most)]

    def _whole(self) -> Table:
        sentences = [
            self._first_sentence(),
            f"{show_seconds(self.kernels_s)} in kernels, "
            f"{show_seconds(self.callbacks_s)} in callbacks, "
            f"{show_seconds(self.dispatch_s)} in Python and to start programs",
        ]
        programs = self.by_program()
        rows = [
            Row((name, show_seconds(s), _percent(s / (self.wall_s or 1.0))))
            for name, s in programs.items()
        ]
        columns = ("program", "time", "share")
        return Table(self.name, tuple(sentences), columns, tuple(rows))

    def _first_sentence(self) -> str:
        if self.runs > 1:
            return f"one of {self.runs} runs takes {show_seconds(self.wall_s)}"
        return f"{show_seconds(self.wall_s)} from the first kernel to the last"

    def _lines(self, most: int) -> Table:
        rows = [
            Row(
                (
                    f"{os.path.basename(line.file)}:{line.line}",
                    line.source,
                    show_seconds(line.seconds),
                    _percent(line.share),
                ),
                share=line.share,
            )
            for line in self.by_line()[:most]
        ]
        columns = ("line", "source", "time", "share")
        return Table("by line", (), columns, tuple(rows), texts=2)

    def _kernels(self, most: int) -> Table:
        rows = [
            Row(
                (
                    kernel.name,
                    kernel.kind or "",
                    ", ".join(map(str, kernel.lines[:3])),
                    f"{kernel.calls:g}",
                    show_seconds(kernel.seconds),
                    _percent(kernel.share),
                ),
                share=kernel.share,
            )
            for kernel in self.kernels[:most]
        ]
        columns = ("kernel", "kind", "lines", "runs", "time", "share")
        return Table("by kernel", (), columns, tuple(rows), texts=3)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@dataclass(frozen=True, repr=False)
class Profile(Summary):
    """Where the time of a function went: ``print`` it, ``save`` it for Perfetto.

    ``times`` are the wall times of runs that were not recorded, in seconds; ``wall_s``
    is their median. Times of kernels are measured while recording, and scaled to it.
    """

    times: tuple[float, ...] = ()
    xspace: bytes = field(default=b"", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The times as data that JSON can hold."""
        return {**super().to_dict(), "times": [*self.times]}

    def _first_sentence(self) -> str:
        wall = show_seconds(self.wall_s)
        return f"one run takes {wall} (the median of {len(self.times)})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was recorded: a file for https://ui.perfetto.dev (``.json``, or
        ``.json.gz``, in which kernels have their source lines), or with a name that
        ends in ``.xplane.pb`` for TensorBoard and ``covector trace view``.
        """
        file = Path(path)
        if file.suffix == ".pb":
            file.write_bytes(self.xspace)
            return
        lines = {(k.program, k.name): k.lines for k in self.kernels}

        def about(shown: dict[str, str]) -> dict[str, str]:
            program = program_name(
                shown.get("hlo_module", ""), shown.get("program_id", "")
            )
            parts = lines.get((bare_name(program), shown.get("hlo_op", "")), ())
            places = [f"{p.file}:{p.line} ({p.function})" for p in parts]
            return {**shown, "lines": ", ".join(places)} if places else shown

        data = profiler.ProfileData.from_serialized_xspace(self.xspace)
        profiler.write_perfetto(data, file, about, {_OURS: self.to_dict()})


def summary_in(whole: dict[str, Any]) -> Summary | None:
    """The summary in a file that ``Profile.save`` wrote; None in those of others."""
    data = whole.get("otherData", {}).get(_OURS)
    if data is None:
        return None
    made = [
        KernelTime(**{**k, "lines": tuple([LinePart(**part) for part in k["lines"]])})
        for k in data["kernels"]
    ]
    parts = {name: data[name] for name in Summary.__dataclass_fields__}
    return Summary(**{**parts, "kernels": tuple(made)})


def merged_lines(parts: Iterable[LinePart]) -> tuple[LinePart, ...]:
    """The parts of each line added up, the largest first."""
    found: dict[tuple[str, int, str], float] = defaultdict(float)
    for part in parts:
        found[part.file, part.line, part.function] += part.share
    made = [LinePart(*key, share) for key, share in found.items()]
    return tuple(sorted(made, key=lambda part: -part.share))
