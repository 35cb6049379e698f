"""What XLA made of a program, beside the limits of the machine."""

from collections.abc import Sequence
from typing import NamedTuple

from covector.analysis.compiled.changes import Changes
from covector.analysis.compiled.compilation import Compilation
from covector.analysis.compiled.fusion_plan import FusionPlan
from covector.analysis.compiled.kernels import Kernel
from covector.analysis.costs.machine import MachineLimits
from covector.analysis.costs.roofline import Gain, Part, roofline
from covector.analysis.explain import data
from covector.analysis.explain.attribution import Attribution
from covector.core import dtypes

#: lines that could gain most
MOST_GAINS = 3
#: things that were not optimised, those that cost most
MOST_NOT_DONE = 50
_DTYPES = {dtypes.short_name(d): d.name for d in dtypes.NUMBERS}


class Measured(NamedTuple):
    """The seconds of one run of the program, and those in each kernel, by its name."""

    seconds: float
    kernels: dict[str, float]


class CompiledParts(NamedTuple):
    """The parts that come from a compiled program.

    shares    for each equation its share of the estimated time
    measured  the same of the measured time
    """

    fusions: tuple[data.FusionEntry, ...]
    roofline: data.Roofline
    shares: list[float]
    measured: list[float] | None


def machine_of(limits: MachineLimits) -> data.Machine:
    """The limits as an explanation shows them."""
    return data.Machine(
        limits.name,
        limits.bytes_per_s,
        dict(limits.flops_per_s),
        limits.measured_on,
        tuple(limits.cached),
    )


def alone(
    equations: Sequence[data.ProgramEquation],
    types: Sequence[str],
    limits: MachineLimits,
) -> list[float]:
    """The time that each equation would take alone."""
    parts = [
        Part(e.flops, e.bytes, e.transcendentals, dtype, runs=e.times)
        for e, dtype in zip(equations, types, strict=True)
    ]
    return [bound.seconds for bound in roofline(parts, limits).parts]


def compiled_parts(
    plan: FusionPlan,
    attribution: Attribution,
    limits: MachineLimits,
    measured: Measured | None,
) -> CompiledParts:
    """The kernels of a program, their limits, and the equations in them."""
    lines = [attribution.lines_of(kernel.origins) for kernel in plan.kernels]
    taken = [
        None if measured is None else measured.kernels.get(kernel.name)
        for kernel in plan.kernels
    ]
    found = roofline(_parts_of_kernels(plan, lines, taken), limits)
    reasons = _reasons(plan, lines) if measured is None else {}
    bounds = [bound.seconds for bound in found.parts]
    columns = zip(plan.kernels, lines, bounds, taken, strict=True)
    return CompiledParts(
        tuple([_fusion_entry(*row) for row in columns]),
        data.Roofline(
            tuple(
                [
                    data.RooflineEntry(i, b.intensity, b.by, b.seconds)
                    for i, b in enumerate(found.parts)
                ]
            ),
            found.seconds,
            tuple([_gain(gain, reasons) for gain in found.gains[:MOST_GAINS]]),
        ),
        attribution.shares(bounds),
        None if measured is None else attribution.shares([t or 0 for t in taken]),
    )


def _parts_of_kernels(
    plan: FusionPlan, lines: Sequence[tuple[int, ...]], taken: Sequence[float | None]
) -> list[Part]:
    """Kernels as parts of a roofline, all runs of each together."""
    between = _between(plan)
    return [
        Part(
            kernel.times * kernel.flops,
            kernel.times * kernel.bytes,
            kernel.times * kernel.transcendentals,
            _dtype(kernel),
            at,
            kernel.times * min(between.get(kernel.name, 0), kernel.bytes),
            seconds,
            kernel.times,
        )
        for kernel, at, seconds in zip(plan.kernels, lines, taken, strict=True)
    ]


def _fusion_entry(
    kernel: Kernel, lines: tuple[int, ...], bound: float, taken: float | None
) -> data.FusionEntry:
    """One run of a kernel, of which all runs have this bound, and took so long."""
    times = max(kernel.times, 1)
    return data.FusionEntry(
        kernel.name,
        kernel.kind,
        kernel.operations,
        lines,
        kernel.flops,
        kernel.bytes,
        bound / times,
        None if taken is None else taken / times,
    )


def _gain(gain: Gain, reasons: dict[int, str]) -> data.Gain:
    assert isinstance(gain.line, int), "the parts have the numbers of lines"
    reason = reasons.get(gain.line)
    why = gain.why if reason is None else f"{gain.why} ({reason})"
    return data.Gain(gain.line, gain.seconds, why)


def _reasons(plan: FusionPlan, lines: Sequence[tuple[int, ...]]) -> dict[int, str]:
    """For each line why the largest of its values that go through memory does."""
    at = {kernel.name: n for kernel, n in zip(plan.kernels, lines, strict=True)}
    found: dict[int, str] = {}
    for edge in sorted(plan.not_fused, key=lambda edge: -edge.bytes):
        if edge.reason is not None:
            for line in at.get(edge.producer, ()):
                found.setdefault(line, edge.reason)
    return found


def _between(plan: FusionPlan) -> dict[str, int]:
    """The bytes of each kernel that come from other kernels, or go to them."""
    found: dict[str, int] = {}
    written: dict[str, int] = {}
    for edge in plan.not_fused:
        written[edge.producer] = edge.bytes
        found[edge.consumer] = found.get(edge.consumer, 0) + edge.bytes
    for name, size in written.items():
        found[name] = found.get(name, 0) + size
    return found


def _dtype(kernel: Kernel) -> str:
    """The name of the element type that a kernel gives."""
    short = kernel.result.lstrip("(").partition("[")[0]
    return _DTYPES.get(short, short)


def optimisation(
    found: Changes, attribution: Attribution, fusions: tuple[data.FusionEntry, ...]
) -> data.Optimisation:
    """The changes that XLA made, and those that it could not make."""
    done = [
        data.Change(c.kind, c.count, attribution.lines_at(c.lines), c.reason)
        for c in found.done
    ]
    not_done = [
        data.NotDone(n.what, attribution.line_at(n.line), n.reason)
        for n in found.not_done[:MOST_NOT_DONE]
    ]
    return data.Optimisation(
        data.Before(found.equations, found.given),
        data.After(found.instructions, found.kernels, found.fusions),
        tuple(done),
        tuple(not_done),
        fusions,
    )


def compilation(found: Compilation, attribution: Attribution) -> data.Compilation:
    """The times of each step, and the communication that lines cause."""
    return data.Compilation(
        found.trace_s,
        found.lower_s,
        found.compile_s,
        found.cached,
        tuple([data.FunctionTrace(f.name, f.seconds) for f in found.functions]),
        found.recompiled_because,
        tuple(
            [
                data.CollectiveEntry(
                    each.operation,
                    each.times * each.bytes,
                    (*attribution.lines_of(each.origins), None)[0],
                    each.axes or (),
                )
                for each in found.collectives
            ]
        ),
    )
