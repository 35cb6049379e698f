"""The data of an explanation: a program by line, by operation and by value.

Everything refers to equations, lines and values by number: the index into the list of
that name. So it is data that can be written to a file (``to_dict``), and no object of
the program is kept alive. What is not known is None.

The equations are in the order in which they run; one that carries programs stands
before those inside. A *position* is the number of an equation. A value that an argument
brings is born at position -1. One that is a result, or an argument that is not donated,
dies at the number of equations.
"""

import functools
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

#: changes when a field gets another meaning, or is left out
VERSION = 1

#: what a line is: one that others run inside of, or a plain one
LineKind = Literal["line", "loop", "branch", "call"]


@dataclass(frozen=True)
class Totals:
    """The whole program; times are in seconds."""

    equations: int = 0
    flops: float = 0
    transcendentals: float = 0
    bytes: float = 0
    #: FLOPs per byte; None where no bytes are moved
    intensity: float | None = None
    #: what is alive at once at most, as estimated from the program
    peak_bytes: float = 0
    #: arguments, results and temporary memory of the executable
    compiled_peak_bytes: float | None = None
    argument_bytes: float = 0
    result_bytes: float = 0
    lower_bound_s: float | None = None
    measured_s: float | None = None


@dataclass(frozen=True)
class Machine:
    """The limits of the machine, as they were measured."""

    name: str
    bytes_per_s: float
    #: by the name of the dtype
    flops_per_s: dict[str, float]
    measured_on: str
    #: numbers of bytes that caches hold, each with the bytes per second there
    cached: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class ProgramLine:
    """A line of the user's program, in one of the loops, branches or calls around it.

    parent       the line of what is around it
    times        how often one run of the program comes here; ``times_known`` is false
                 where values decide
    memory_made  bytes of the values that the line makes, once
    memory_kept  bytes of those that are alive at the peak
    """

    file: str
    line: int
    function: str
    scope: str
    source: str
    parent: int | None
    kind: LineKind
    times: int
    times_known: bool
    flops: float
    transcendentals: float
    bytes: float
    intensity: float | None
    estimated_share: float
    measured_share: float | None
    memory_made: float
    memory_kept: float
    equations: tuple[int, ...]


@dataclass(frozen=True)
class ProgramEquation:
    """An operation, where it stands, and its cost in all runs of it together.

    around    the equations that carry it, the outermost first
    times     how often one run of the program runs it
    level     the longest chain of operations before it, in the program it stands in
    critical  whether it is on the critical path
    fusion    the kernel that it became a part of
    """

    operation: str
    parameters: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    line: int
    around: tuple[int, ...]
    times: int
    flops: float
    transcendentals: float
    bytes: float
    estimated_share: float
    level: int
    critical: bool
    fusion: int | None


@dataclass(frozen=True)
class ProgramValue:
    """A value: an argument, or the result of an operation.

    made_by   the equation; None for inputs
    argument  the path of the argument that it is
    used_by   the equations that read it
    born      the position at which it is made
    dies      the position of its last use
    ties      the values that it comes from otherwise than by an operation: for an
              input of a program inside, what is passed in, in a loop also by the step
              before; for the result of what carries programs, what those give, and
              what decides on the branch or the next step
    """

    name: str
    type: str
    bytes: int
    made_by: int | None
    argument: str | None
    used_by: tuple[int, ...]
    born: int
    dies: int
    ties: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """A leaf of the result; its value is None where that is a constant."""

    path: str
    value: int | None


@dataclass(frozen=True)
class PeakValue:
    """A value that is alive at the peak, and the line that made it."""

    value: int
    bytes: float
    line: int | None


@dataclass(frozen=True)
class Peak:
    """Where most memory is held, and by what: the largest first."""

    position: int
    bytes: float
    values: tuple[PeakValue, ...]


@dataclass(frozen=True)
class Memory:
    """The bytes alive after each position of the outermost program."""

    curve: tuple[tuple[int, float], ...]
    peak: Peak


@dataclass(frozen=True)
class Graph:
    """The operations of the outermost program as a graph.

    levels  how many operations there are at each level
    width   the largest of them: how much could run at once
    """

    levels: tuple[int, ...]
    width: int
    critical_path: tuple[int, ...]
    critical_path_flops: float


@dataclass(frozen=True)
class Before:
    """The size of the program as it was traced, and as it was given to XLA."""

    equations: int
    instructions: int


@dataclass(frozen=True)
class After:
    """The size of the program as XLA compiled it."""

    instructions: int
    kernels: int
    fusions: int


@dataclass(frozen=True)
class Change:
    """A change that optimisation made, how often, and where."""

    kind: str
    count: int
    lines: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class NotDone:
    """A change that optimisation could not make, and why."""

    what: str
    line: int | None
    reason: str


@dataclass(frozen=True)
class FusionEntry:
    """A kernel of the compiled program; cost and times of one run of it."""

    name: str
    kind: str
    operations: tuple[str, ...]
    lines: tuple[int, ...]
    flops: float
    bytes: float
    lower_bound_s: float | None
    measured_s: float | None


@dataclass(frozen=True)
class Optimisation:
    """The program as XLA compiled it."""

    before: Before
    after: After
    changes: tuple[Change, ...]
    not_done: tuple[NotDone, ...]
    fusions: tuple[FusionEntry, ...]


@dataclass(frozen=True)
class RooflineEntry:
    """A fusion beside the limits of the machine."""

    fusion: int
    intensity: float | None
    bound: Literal["memory", "compute"]
    lower_bound_s: float


@dataclass(frozen=True)
class Gain:
    """A line, and the seconds that could be gained there at most."""

    line: int
    seconds: float
    why: str


@dataclass(frozen=True)
class Roofline:
    """The lower bound of the run time, and where it could be approached."""

    fusions: tuple[RooflineEntry, ...]
    lower_bound_s: float
    gains: tuple[Gain, ...]


@dataclass(frozen=True)
class FunctionTrace:
    """A jitted function, and how long it took to trace it."""

    name: str
    trace_s: float


@dataclass(frozen=True)
class CollectiveEntry:
    """A communication between devices, and the line that causes it."""

    operation: str
    bytes: float
    line: int | None
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Compilation:
    """Times in seconds; ``cached`` tells that the executable was known already."""

    trace_s: float | None = None
    lower_s: float | None = None
    compile_s: float | None = None
    cached: bool = False
    functions: tuple[FunctionTrace, ...] = ()
    recompiled_because: str | None = None
    collectives: tuple[CollectiveEntry, ...] = ()


@dataclass(frozen=True)
class Data:
    """All of an explanation. The parts that need a compiled program are None where
    there is none.
    """

    version: int
    name: str
    platform: str
    device: str
    covector: str
    totals: Totals
    machine: Machine | None
    lines: tuple[ProgramLine, ...]
    equations: tuple[ProgramEquation, ...]
    values: tuple[ProgramValue, ...]
    results: tuple[Result, ...]
    memory: Memory
    graph: Graph
    optimisation: Optimisation | None
    roofline: Roofline | None
    compilation: Compilation


def plain(x: Any, of: type | None = None) -> Any:
    """Dataclasses, or the part of them that class ``of`` declares, as dictionaries, and
    tuples as lists, as JSON has them.
    """
    if is_dataclass(x):
        return {name: plain(getattr(x, name)) for name in _names(of or type(x))}
    if isinstance(x, tuple):
        return [plain(item) for item in x]
    return x


@functools.cache
def _names(of: type) -> tuple[str, ...]:
    return tuple([f.name for f in fields(of)])
