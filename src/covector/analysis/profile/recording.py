"""Recordings of the profiler as data: which kernels ran when, and what they are.

An XSpace holds planes (the host, each GPU) of lines (threads, streams) of events. An
event of a kernel names its instruction and program; on the CPU, the event is how long
it took to start the kernel, and one named ``end: …`` tells when other threads were done
with it. The programs that ran are there as modules of HLO, so lines of the source are
known for each instruction.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from covector.analysis.compiled.hlo import Module
from covector.analysis.compiled.reading import parse
from covector.analysis.profile.threads import Segment, ThreadEvent, segments
from covector.runtime import modules
from covector.runtime.profiling import ProfileData
from covector.runtime.protocol_buffers import fields

#: the name of the events around the runs that ``profile`` measures
RUN = "covector.profile"


class KernelEvent(NamedTuple):
    """One run of a kernel, from ``start`` to ``end`` in nanoseconds."""

    program: str
    kernel: str
    start: float
    end: float


class Recording(NamedTuple):
    """The kernels that ran, the runs of a profile, and the programs by name.

    ``segments`` are what threads of the host worked on, as far as that is known.
    """

    events: list[KernelEvent]
    runs: list[tuple[float, float]]
    modules: dict[str, Module]
    segments: Sequence[Segment] = ()

    @property
    def kernels_of(self) -> dict[str, set[str]]:
        """The names of the kernels of each program that ran."""
        found: dict[str, set[str]] = {}
        for event in self.events:
            found.setdefault(event.program, set()).add(event.kernel)
        return found

    def add(self, module: Module, name: str | None = None) -> None:
        """Enter the module of programs that have its name, and no other kernels; that
        of one ``name`` goes before others. XLA may have given a program two numbers.
        """
        there = {n for c in module.computations.values() for n in c.instructions}
        for program, kernels in self.kernels_of.items():
            first = name in (None, program) or program not in self.modules
            if first and bare_name(program) == module.name and kernels <= there:
                self.modules[program] = module


def read(xspace: bytes) -> Recording:
    """The kernels in an XSpace, and their programs.

    Raises:
      ValueError: it is none.
    """
    by_plane: dict[str, list[KernelEvent]] = {}
    runs: list[tuple[float, float]] = []
    worked: list[Segment] = []
    for plane in _planes(xspace):
        lines = [(line.name, _events(line, k)) for k, line in enumerate(plane.lines)]
        found = [e for name, es in lines if name not in _DERIVED for e in es]
        runs += [(e.start, e.start + e.duration) for e in found if e.name == RUN]
        of_operations = [e for name, es in lines if name == _OPS for e in es]
        by_plane[plane.name] = [*_kernels(found)] or [*_kernels(of_operations)]
        if plane.name.startswith("/host:"):
            worked += segments(found)
    events = _without_starts(by_plane)
    ran = {(e.program, e.kernel) for e in events}
    worked = [s for s in worked if s.key in ran]
    made = Recording(events, sorted(runs), {}, worked)
    for name, text in _modules(xspace):
        if bare_name(name) in {bare_name(program) for program in made.kernels_of}:
            made.add(parse(text()), name)
    return made


#: the line of operations, where a device has no streams
_OPS = "XLA Ops"
#: lines that repeat what streams say
_DERIVED = frozenset({"Steps", "XLA Modules", _OPS, "XLA TraceMe", "Source code"})


def _planes(xspace: bytes) -> Iterator[Any]:
    try:
        yield from ProfileData.from_serialized_xspace(xspace).planes
    except RuntimeError as error:
        raise ValueError(f"this is no XSpace: {error}") from None


def _without_starts(by_plane: dict[str, list[KernelEvent]]) -> list[KernelEvent]:
    """All kernels; of programs on other devices than the host, not their starts."""
    of_devices = [
        e for n, es in by_plane.items() if n.startswith("/device:") for e in es
    ]
    there = {event.program for event in of_devices}
    of_host = [
        e for n, es in by_plane.items() if not n.startswith("/device:") for e in es
    ]
    return of_devices + [e for e in of_host if e.program not in there]


def _events(line: Any, thread: int) -> list[ThreadEvent]:
    """The events of a line, with the kernels that they run."""
    found = []
    for e in line.events:
        stats = dict(e.stats)
        key = None
        if "hlo_op" in stats:
            name = program_name(stats.get("hlo_module", ""), stats.get("program_id"))
            key = name, str(stats["hlo_op"])
        found.append(ThreadEvent(thread, e.name, e.start_ns, e.duration_ns, stats, key))
    return found


def _kernels(found: Sequence[ThreadEvent]) -> Iterator[KernelEvent]:
    """The kernels among the events of a plane, with the time when they were done."""
    ends = {
        event.stats["_c"]: event.start + event.duration
        for event in found
        if event.name.startswith("end: ") and "_c" in event.stats
    }
    for event in found:
        if event.key is not None:
            end = event.start + event.duration
            end = max(end, ends.get(event.stats.get("_p"), end))
            yield KernelEvent(*event.key, event.start, end)


def program_name(module: str, number: Any) -> str:
    """The name of a program with its number, by which a recording knows it."""
    return module if number in (None, "") else f"{module}({number})"


def bare_name(program: str) -> str:
    """The name of a program without its number."""
    return re.sub(r"\(\d+\)$", "", program)


# -- programs --------------------------------------------------------------------------

# The numbers of fields: XSpace.planes, XPlane.name, XPlane.event_metadata, the value of
# an entry, XEventMetadata.name and .stats, XStat.bytes_value, HloProto.hlo_module.
_PLANES, _NAME, _METADATA, _VALUE, _STATS, _BYTES, _MODULE = 1, 2, 4, 2, 5, 6, 1


def _modules(xspace: bytes) -> Iterator[tuple[str, Any]]:
    """The names of the programs in an XSpace, and functions that give their text."""
    for plane in _messages(memoryview(xspace), _PLANES):
        if _text(plane, _NAME) != "/host:metadata":
            continue
        for entry in _messages(plane, _METADATA):
            for metadata in _messages(entry, _VALUE):
                for stat in _messages(metadata, _STATS):
                    for program in _messages(stat, _BYTES):
                        for module in _messages(program, _MODULE):
                            text = functools.partial(modules.hlo_text, bytes(module))
                            yield _text(metadata, _NAME), text


def _messages(message: memoryview, number: int) -> Iterator[memoryview]:
    for key, value in fields(message):
        if key == number and isinstance(value, memoryview):
            yield value


def _text(message: memoryview, number: int) -> str:
    return next((bytes(m).decode() for m in _messages(message, number)), "")
