"""Whose time it was: a recording divided among kernels, and kernels among lines.

At each instant the time belongs to the kernels that threads work on, in equal parts.
Where no thread is seen at work, it belongs to those that have begun and not ended. A
loop or a branch is running all the while, so it counts only where nothing inside does.
Kernels of several lines are divided among them by their work.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from covector.analysis.compiled import kernels, work
from covector.analysis.compiled.hlo import Computation, Instruction, Module, Origin
from covector.analysis.profile.recording import KernelEvent, Recording
from covector.analysis.profile.threads import Key


class Attributed(NamedTuple):
    """The nanoseconds of kernels, how often each ran, and of all runs together."""

    time: dict[Key, float]
    calls: Counter[Key]
    total: float


def attribute(found: Recording, runs: Sequence[tuple[float, float]]) -> Attributed:
    """The time of each kernel in runs, from and to some time, in order."""
    begun = [*_clipped(_ended(found.events, found.modules), runs)]
    containers = {k for p, m in found.modules.items() for k in _containers(p, m)}
    worked = _clipped(
        [KernelEvent(*s.key, s.start, s.end) for s in found.segments], runs
    )
    seen = [*worked], begun
    inner = [[e for e in es if (e.program, e.kernel) not in containers] for es in seen]
    around = [e for es in seen for e in es if (e.program, e.kernel) in containers]
    calls = Counter([(e.program, e.kernel) for e in begun])
    total = sum([end - start for start, end in runs])
    return Attributed(_shared([*inner, around]), calls, total)


def _clipped(
    events: Iterable[KernelEvent], runs: Sequence[tuple[float, float]]
) -> Iterator[KernelEvent]:
    """The events that begin in a run, and end with it: the end of a kernel may be
    noticed after that of the run.
    """
    starts = [start for start, _ in runs]
    for e in events:
        k = bisect_right(starts, e.start) - 1
        if k >= 0 and e.start < runs[k][1]:
            yield e._replace(end=min(e.end, runs[k][1]))


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


def _shared(layers: Sequence[Iterable[KernelEvent]]) -> dict[Key, float]:
    """Time in equal parts for what is running at each instant, in the first layer in
    which there is anything.
    """
    moments: list[tuple[float, int, int, Key]] = []
    for k, layer in enumerate(layers):
        for e in layer:
            key = e.program, e.kernel
            moments += [(e.start, 1, k, key), (e.end, -1, k, key)]
    moments.sort(key=lambda moment: moment[:2])
    time: dict[Key, float] = defaultdict(float)
    running: list[Counter[Key]] = [Counter() for _ in layers]
    before = 0.0
    for now, change, k, key in moments:
        busy = next((layer for layer in running if layer), None)
        if busy is not None and now > before:
            each = (now - before) / busy.total()
            for runs, count in busy.items():
                time[runs] += count * each
        before = now
        running[k][key] += change
        if not running[k][key]:
            del running[k][key]
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
    """The part of a kernel's work that each origin does; they add up to one.

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
