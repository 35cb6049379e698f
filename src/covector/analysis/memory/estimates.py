"""``memory.estimate``: what a function will need, before it runs, by line.

The numbers are those of XLA's plan for the compiled program, which is not run: the
memory of its arguments, of its results, and one piece for all temporary values, in
which they take each other's place. What is in that piece when it is fullest says
whose lines it is for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from covector.analysis.compiled.hlo import Module, Origin
from covector.analysis.compiled.programs import Function, Subject, compiled
from covector.analysis.memory.plan import (
    arrays_of,
    origins_by_name,
    slots_of,
    worst_moment,
)
from covector.analysis.memory.tables import UNKNOWN, Tabular, shown_file, table
from covector.analysis.passes.liveness import liveness
from covector.analysis.terminal import Table
from covector.core.sizes import show_bytes


class ArgumentNeed(NamedTuple):
    """The memory of an argument, in bytes; ``name`` is its path, as ``params['w']``, or
    ``argument 0['w']`` where a stage was given, which knows no names.
    """

    name: str
    bytes: int


class LineNeed(NamedTuple):
    """The memory that a line is the reason for, in bytes, at the fullest moment.

    name         the line, as ``model.py:12 (layer)``
    temporaries  of values that are held then
    results      of the program
    """

    name: str
    temporaries: int
    results: int

    @property
    def bytes(self) -> int:
        """Both together."""
        return self.temporaries + self.results


@dataclass(frozen=True)
class MemoryEstimate(Tabular):
    """The memory of a compiled program while it runs, in bytes, on each of its devices.

    name               the function
    argument_bytes     of its arguments, and of arrays that it closes over
    result_bytes       of its results
    shared_bytes       of the results, what takes the memory of donated arguments
    temporary_bytes    of all that it needs besides
    traced_peak_bytes  what the program would hold at most if each operation ran by
                       itself, as it was traced; fusion needs less, and what XLA copies
                       or unrolls more. Of a sharded program, on all devices together
    devices            how many run it
    arguments          the arguments, the largest first
    lines              the results, and the temporary values at the fullest moment, by
                       line, the largest first
    """

    name: str
    argument_bytes: int
    result_bytes: int
    shared_bytes: int
    temporary_bytes: int
    traced_peak_bytes: int
    devices: int
    arguments: tuple[ArgumentNeed, ...]
    lines: tuple[LineNeed, ...]

    @property
    def peak_bytes(self) -> int:
        """The most that it needs: arguments, results and temporary values together."""
        return (
            self.argument_bytes
            + self.result_bytes
            - self.shared_bytes
            + self.temporary_bytes
        )

    @property
    def unused_bytes(self) -> int:
        """The temporary memory that is in use by no line that is known, when it is
        fullest: gaps between values, and all of it where the plan does not tell.
        """
        return self.temporary_bytes - sum([line.temporaries for line in self.lines])

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON has it."""
        return {
            "version": 1,
            "name": self.name,
            "peak_bytes": self.peak_bytes,
            "argument_bytes": self.argument_bytes,
            "result_bytes": self.result_bytes,
            "shared_bytes": self.shared_bytes,
            "temporary_bytes": self.temporary_bytes,
            "unused_bytes": self.unused_bytes,
            "traced_peak_bytes": self.traced_peak_bytes,
            "devices": self.devices,
            "arguments": [a._asdict() for a in self.arguments],
            "lines": [{**x._asdict(), "bytes": x.bytes} for x in self.lines],
        }

    def tables(self) -> list[Table]:
        """The tables that show it."""
        where = "" if self.devices == 1 else f" on each of {self.devices} devices"
        shared = ""
        if self.shared_bytes:
            shared = f", {show_bytes(self.shared_bytes)} of them in donated arguments"
        title = (
            f"{self.name} needs {show_bytes(self.peak_bytes)}{where}: "
            f"{show_bytes(self.argument_bytes)} of arguments, "
            f"{show_bytes(self.result_bytes)} of results{shared}, "
            f"{show_bytes(self.temporary_bytes)} of temporaries"
        )
        tables = [table(title)]
        if self.lines:
            rows = [
                (x.name, show_bytes(x.temporaries), show_bytes(x.results))
                for x in self.lines
            ]
            columns = "line", "temporaries", "results"
            tables.append(table("by line, at the fullest moment", columns, rows))
        if self.arguments:
            rows = [(a.name, show_bytes(a.bytes)) for a in self.arguments]
            tables.append(table("arguments", ("argument", "memory"), rows))
        return tables


def estimate(fun: Function) -> Callable[..., MemoryEstimate]:
    """``estimate(f)(*args)``: the memory that ``f`` will need at these arguments, by
    line; it is compiled, and not run.

    Args:
      fun: a function, jitted or not, or a stage of one, such as
        ``jit(f).lower(*args)``, which is then called without arguments.

    Returns:
      A function of the arguments, or of what stands for them (``ShapeDtypeStruct``),
      that gives a ``MemoryEstimate``.

    >>> import covector as cv, covector.numpy as cnp
    >>> def f(x):
    ...     return cnp.linalg.matrix_power(cnp.tan(cnp.outer(x, x)), 2)
    >>> needs = cv.memory.estimate(f)(cv.ShapeDtypeStruct((1000,), "float32"))
    >>> needs.argument_bytes, needs.result_bytes, needs.temporary_bytes
    (4000, 4000000, 4000000)
    """

    def estimated(*args: Any, **kwargs: Any) -> MemoryEstimate:
        return _estimate(compiled(fun, args, kwargs, "memory.estimate"))

    return estimated


def _estimate(subject: Subject) -> MemoryEstimate:
    use = subject.program.executable.memory_use()
    module = subject.optimised()
    lowered = subject.program.lowered
    given_up = [i + _captured(subject) for i in subject.traced.program.donated_indices]
    needs = [
        ArgumentNeed(_argument(subject, k), p.shape.bytes)
        for k, p in enumerate(module.entry.parameters)
    ]
    return MemoryEstimate(
        name=lowered.who,
        argument_bytes=use.arguments,
        result_bytes=use.results,
        shared_bytes=use.shared,
        temporary_bytes=use.temporaries,
        traced_peak_bytes=liveness(subject.jaxpr, given_up).peak.nbytes,
        devices=len(lowered.devices),
        arguments=tuple(sorted(needs, key=lambda a: -a.bytes)),
        lines=tuple(by_line(module, subject.program.executable)),
    )


def _argument(subject: Subject, number: int) -> str:
    """``params['w']``; ``argument 0['w']`` where names are not known."""
    words = subject.argument(number)
    name = words.removeprefix("argument ")
    return words if name[0].isdigit() else name


def _captured(subject: Subject) -> int:
    return len(subject.traced.program.captured)


def by_line(module: Module, executable: Any) -> list[LineNeed]:
    """The results of a program, and what is in its temporary memory when that is
    fullest, by line.
    """
    origins = origins_by_name(module)
    found: dict[str, list[int]] = {}

    def add(column: int, name: str, size: int) -> None:
        line = _line(origins.get(name))
        found.setdefault(line, [0, 0])[column] += size

    for slot in worst_moment(module, slots_of(executable)):
        add(0, slot.instruction, slot.bytes)
    for name, size in _results(module):
        add(1, name, size)
    lines = [LineNeed(name, *sizes) for name, sizes in found.items() if any(sizes)]
    return sorted(lines, key=lambda line: -line.bytes)


def _results(module: Module) -> Sequence[tuple[str, int]]:
    """The names of instructions that give results of a program, and their bytes."""
    root = module.entry.root
    if root.opcode != "tuple":
        return [(root.name, array.bytes) for array in arrays_of(root.shape)]
    parts = zip(root.operands, root.shape.parts, strict=True)
    return [(name, shape.bytes) for name, shape in parts]


def _line(origin: Origin | None) -> str:
    if origin is None:
        return UNKNOWN
    return str(origin).replace(origin.file, shown_file(origin.file), 1)
