"""Whose time it was: a recording divided among kernels, and kernels among lines.

At each instant the time belongs to the kernels that are running, in equal parts. A loop
or a branch is running all the while, so it counts only where nothing inside does.
Kernels of several lines are divided among them by their work.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from covector.analysis.compiled import kernels, work
from covector.analysis.compiled.hlo import Computation, Instruction, Module, Origin
from covector.analysis.profile.recording import KernelEvent

#: a program and one of its kernels
Key = tuple[str, str]


class Attributed(NamedTuple):
    """The nanoseconds of kernels, how often each ran, and of all runs together."""

    time: dict[Key, float]
    calls: Counter[Key]
    total: float


def attribute(
    events: Sequence[KernelEvent],
    runs: Sequence[tuple[float, float]],
    modules: dict[str, Module],
) -> Attributed:
    """The time of each kernel in runs, from and to some time, in order."""
    starts = [start for start, _ in runs]
    clipped = []
    for e in _ended(events, modules):
        k = bisect_right(starts, e.start) - 1
        # The end of a kernel may be noticed after that of the run.
        if k >= 0 and e.start < runs[k][1]:
            clipped.append(e._replace(end=min(e.end, runs[k][1])))
    calls = Counter([(e.program, e.kernel) for e in clipped])
    containers = {
        key for p, module in modules.items() for key in _containers(p, module)
    }
    return Attributed(
        _shared(clipped, containers), calls, sum([end - start for start, end in runs])
    )


def _ended(
    events: Sequence[KernelEvent], modules: dict[str, Module]
) -> Iterator[KernelEvent]:
    """The events, which end before a kernel starts that uses their results.

    A thread that finishes a kernel may start those that waited for it, and note the end
    of the first when it is done with them.
    """
    starts: dict[Key, list[float]] = defaultdict(list)
    for e in events:
        starts[e.program, e.kernel].append(e.start)
    for times in starts.values():
        times.sort()
    users = {p: _kernels_that_use(module) for p, module in modules.items()}
    for e in events:
        end = e.end
        for user in users.get(e.program, {}).get(e.kernel, ()):
            times = starts.get((e.program, user), [])
            k = bisect_right(times, e.start)
            if k < len(times):
                end = min(end, times[k])
        yield e._replace(end=end)


def _kernels_that_use(module: Module) -> dict[str, list[str]]:
    """The names of the instructions that use the result of each."""
    return {
        name: [user.name for user in kernels.users(computation, instruction)]
        for computation in module.computations.values()
        for name, instruction in computation.instructions.items()
    }


def _shared(events: Iterable[KernelEvent], containers: set[Key]) -> dict[Key, float]:
    """Time in equal parts for the kernels that are running at each instant."""
    moments: list[tuple[float, int, Key]] = []
    for e in events:
        key = e.program, e.kernel
        moments += [(e.start, 1, key), (e.end, -1, key)]
    moments.sort(key=lambda moment: moment[:2])
    time: dict[Key, float] = defaultdict(float)
    running: Counter[Key] = Counter()
    before = 0.0
    for now, change, key in moments:
        inner = [k for k in running if k not in containers] or [*running][-1:]
        for k in inner:
            time[k] += (now - before) / len(inner)
        before = now
        running[key] += change
        if not running[key]:
            del running[key]
    return dict(time)


def _containers(program: str, module: Module) -> Iterator[Key]:
    """The loops, branches and calls of a program, whose kernels run by themselves."""
    for computation in module.computations.values():
        for i in computation.instructions.values():
            if i.opcode in kernels.CONTAINERS and not kernels.is_one_kernel(i):
                yield program, i.name


# -- lines -----------------------------------------------------------------------------


def shares_of_lines(
    module: Module, computation: Computation, instruction: Instruction
) -> dict[Origin, float]:
    """What part of a kernel's work each origin does; they add up to one.

    Where XLA kept no line, the origins nearby share the kernel.
    """
    found: dict[Origin, float] = defaultdict(float)
    for inner, weight in work.weights(module, computation, instruction):
        if inner.origin is not None:
            found[inner.origin] += weight
    if not found:
        origins = kernels.origins(module, computation, instruction)
        found.update(dict.fromkeys(origins, 1.0))
    total = sum(found.values()) or 1.0
    return {origin: weight / total for origin, weight in found.items()}
