"""From a recording to its summary: the times of kernels, with their lines."""

import statistics
from collections.abc import Sequence

from covector.analysis.compiled import kernels
from covector.analysis.compiled.hlo import Module
from covector.analysis.profile.attribution import Attributed, attribute, shares_of_lines
from covector.analysis.profile.recording import Recording, bare_name
from covector.analysis.profile.result import (
    KernelTime,
    LinePart,
    Profile,
    Summary,
    merged_lines,
)


def summarise(
    found: Recording, name: str, xspace: bytes, times: Sequence[float]
) -> Profile:
    """The profile of a function whose runs took these times when not recorded."""
    wall = statistics.median(times)
    summary = _summary(found, name, found.runs, wall)
    parts = {key: getattr(summary, key) for key in Summary.__dataclass_fields__}
    parts["runs"] = len(times)
    return Profile(**parts, times=tuple(times), xspace=xspace)


def summarise_trace(found: Recording, name: str) -> Summary:
    """The summary of what was recorded: of the runs of a profile, or as if it was one
    run.
    """
    runs = found.runs
    if not runs and found.events:
        ends = [event.end for event in found.events]
        runs = [(min([event.start for event in found.events]), max(ends) + 1)]
    whole = sum([end - start for start, end in runs]) / max(len(runs), 1)
    return _summary(found, name, runs, whole / 1e9)


def _summary(
    found: Recording, name: str, runs: Sequence[tuple[float, float]], wall: float
) -> Summary:
    times = attribute(found, runs)
    made = _kernels(times, found, len(runs), wall)
    callbacks = sum([k.seconds for k in made if k.kind == "callback"])
    in_kernels = sum([k.seconds for k in made]) - callbacks
    rest = max(0.0, wall - in_kernels - callbacks)
    return Summary(name, wall, in_kernels, callbacks, rest, len(runs), tuple(made))


def _kernels(
    times: Attributed, found: Recording, runs: int, wall: float
) -> list[KernelTime]:
    """The kernels, the slowest first."""
    made = []
    for (program, name), nanoseconds in times.time.items():
        share = nanoseconds / (times.total or 1.0)
        kind, lines = _known(found.modules.get(program), name)
        calls = times.calls[program, name] / max(runs, 1)
        made.append(
            KernelTime(
                bare_name(program), name, kind, share * wall, calls, share, lines
            )
        )
    return sorted(made, key=lambda kernel: -kernel.seconds)


def _known(module: Module | None, name: str) -> tuple[str | None, tuple[LinePart, ...]]:
    """The kind of a kernel and its lines, where its program is known."""
    if module is None:
        return None, ()
    for computation in module.computations.values():
        instruction = computation.instructions.get(name)
        if instruction is not None:
            shares = shares_of_lines(module, computation, instruction)
            parts = [LinePart(o.file, o.line, o.function, s) for o, s in shares.items()]
            kind = kernels.kind_of(module, instruction)
            if instruction.opcode in kernels.CONTAINERS:
                kind = kind if kernels.is_one_kernel(instruction) else "operation"
            return kind, merged_lines(parts)
    return None, ()
