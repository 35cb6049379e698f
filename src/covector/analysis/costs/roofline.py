"""``roofline``: the least time that parts of a program can take, and why.

A part (a kernel, or an operation by itself) takes as long as its bytes need at the
memory bandwidth of the machine, or its operations at their rate, whichever is longer.
Parts run one after the other. It is a lower bound: memory may be slower than a triad
over large arrays, and most operations are slower than those of a product of matrices.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from covector.analysis.costs.count import Cost
from covector.analysis.costs.machine import MachineLimits, machine_limits
from covector.core.jaxpr import Equation, variables
from covector.core.source import Line

__all__ = ["Bound", "Gain", "Part", "Roofline", "parts_of", "roofline"]


class Part(NamedTuple):
    """A part that runs as one: its operations and bytes, in all of its runs together.

    lines               what stands for source lines: numbers, or ``Line`` objects
    intermediate_bytes  of its bytes those of values that other parts make or read: if
                        all were one kernel, they would not come to memory
    seconds             what it took, where that was measured
    runs                how often it runs: what one run touches may stay in a cache
    """

    flops: float
    bytes: float
    transcendentals: float = 0
    dtype: str = "float32"
    lines: Sequence[Hashable] = ()
    intermediate_bytes: float = 0
    seconds: float | None = None
    runs: int = 1

    @property
    def intensity(self) -> float | None:
        """FLOPs for each byte; None where no memory is touched."""
        return self.flops / self.bytes if self.bytes else None


class Bound(NamedTuple):
    """The least time of a part, in seconds, and what sets it."""

    seconds: float
    by: Literal["memory", "compute"]
    intensity: float | None


class Gain(NamedTuple):
    """The gain that is left for a line, in seconds, and by what."""

    line: Hashable
    seconds: float
    why: str


class Roofline(NamedTuple):
    """The least time of each part and of all, and gains, the largest first."""

    parts: tuple[Bound, ...]
    seconds: float
    gains: tuple[Gain, ...]


def roofline(
    parts: Cost | Iterable[Part], limits: MachineLimits | None = None
) -> Roofline:
    """The lower bound of the time of a program, and where there is time to gain.

    Of a part that was measured, what it took above its bound can be gained; of others,
    what its intermediate values cost, which a fusion would keep out of memory. Lines
    that have a part in common share its gain.

    Args:
      parts: kernels as they were compiled; or what ``cost`` gives, of which each
        operation is a part.
      limits: default: ``machine_limits()``.

    >>> rates = {"float32": 1e10}
    >>> limits = MachineLimits("a machine", "cpu", 1e9, rates, 1e10, 1e9, "today")
    >>> sums = Part(flops=1e6, bytes=12e6, lines=["model.py:3"], intermediate_bytes=4e6)
    >>> product = Part(flops=2e9, bytes=12e6, lines=["model.py:4"], seconds=0.5)
    >>> found = roofline([sums, product], limits)
    >>> [(bound.by, bound.seconds) for bound in found.parts]
    [('memory', 0.012), ('compute', 0.2)]
    >>> found.gains[0]
    Gain(line='model.py:4', seconds=0.3, why='took 2.5 times its least time')
    """
    limits = machine_limits() if limits is None else limits
    given = parts_of(parts) if isinstance(parts, Cost) else tuple(parts)
    bounds = tuple([_bound(part, limits) for part in given])
    total = sum([bound.seconds for bound in bounds])
    return Roofline(bounds, total, _gains(given, bounds, limits))


def _bound(part: Part, limits: MachineLimits) -> Bound:
    moving = _moving(part.bytes, part.runs, limits)
    computing = _computing(part, limits)
    by = "compute" if computing > moving else "memory"
    return Bound(max(moving, computing), by, part.intensity)


def _moving(size: float, runs: int, limits: MachineLimits) -> float:
    """The seconds that so many bytes take at least, in so many runs."""
    return size / limits.bandwidth(size / max(runs, 1))


def _computing(part: Part, limits: MachineLimits) -> float:
    """The seconds that the operations of a part take at least."""
    return (
        part.flops / limits.flops_in(part.dtype)
        + part.transcendentals / limits.transcendentals_per_s
    )


def _gains(
    parts: Sequence[Part], bounds: Sequence[Bound], limits: MachineLimits
) -> tuple[Gain, ...]:
    """The gain of each line: the sum over its parts, and the reason of the largest."""
    found: dict[Hashable, list[tuple[float, str]]] = {}
    for part, bound in zip(parts, bounds, strict=True):
        seconds, why = _gain(part, bound, limits)
        lines = dict.fromkeys(part.lines)
        for line in lines if seconds > 0 else ():
            found.setdefault(line, []).append((seconds / len(lines), why))
    gains = [Gain(line, sum([s for s, _ in g]), max(g)[1]) for line, g in found.items()]
    return tuple(sorted(gains, key=lambda gain: -gain.seconds))


def _gain(part: Part, bound: Bound, limits: MachineLimits) -> tuple[float, str]:
    if part.seconds is not None:
        above = part.seconds - bound.seconds
        times = part.seconds / bound.seconds if bound.seconds else float("inf")
        return above, f"took {times:.3g} times its least time"
    kept = _moving(part.bytes - part.intermediate_bytes, part.runs, limits)
    saved = bound.seconds - max(kept, _computing(part, limits))
    return saved, "its values go through memory, where nothing is fused"


def parts_of(cost: Cost) -> tuple[Part, ...]:
    """Each operation of a program as a part, with all of its runs."""
    equations = [e.visit.equation for e in cost.equations]
    made = {v for e in equations for v in e.outputs}
    programs = [region.jaxpr for e in equations for region in e.op.regions]
    results = {a for p in (cost.program, *programs) for a in variables(p.outputs)}
    lines: dict[Any, Line | None] = {}
    parts = []
    for e in cost.equations:
        if not any(e.amount):
            continue
        line, equation = e.visit.line, e.visit.equation
        key = None if line is None else (line.file, line.number)
        read = [a.type.nbytes for a in {*variables(equation.inputs)} & made]
        written = [v.type.nbytes for v in {*equation.outputs} - results]
        between = min(sum(read), e.once.read) + min(sum(written), e.once.written)
        parts.append(
            Part(
                e.amount.flops,
                e.amount.bytes,
                e.amount.transcendentals,
                _dtype(equation),
                [lines.setdefault(key, line)],
                between * e.visit.times,
                runs=e.visit.times,
            )
        )
    return tuple(parts)


def _dtype(e: Equation) -> str:
    """The element type that an equation computes in, as far as its operands tell."""
    return (*e.inputs, *e.outputs)[0].type.dtype.name
