"""``changes``: what optimisation did to a program, and what it did not, in numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from covector.analysis.compiled import buffers, collectives, kernels, programs
from covector.analysis.compiled.fusion_plan import FusionPlan, plan_of
from covector.analysis.compiled.hlo import Module, Origin, place_of
from covector.analysis.compiled.programs import Subject
from covector.analysis.passes.elimination import dce
from covector.analysis.passes.folding import fold_constants
from covector.analysis.passes.inlining import inline_calls
from covector.analysis.passes.merging import merge_common
from covector.analysis.walk import visits
from covector.core import source
from covector.core.jaxpr import Jaxpr
from covector.core.sizes import show_bytes

__all__ = ["Change", "Changes", "NotDone", "changes"]

#: file and number of a line
Line = tuple[str, int]


@dataclass(frozen=True)
class Change:
    """Something that optimisation did, ``count`` times; ``reason`` says what and why,
    ``counted`` how that is counted.
    """

    kind: str
    count: int
    lines: tuple[Line, ...]
    reason: str
    counted: str


@dataclass(frozen=True)
class NotDone:
    """Something that was not optimised, and the reason; ``bytes`` are what it costs to
    write and to read again.
    """

    what: str
    line: Line | None
    reason: str
    bytes: int


@dataclass(frozen=True)
class Changes:
    """A program before and after optimisation, and the differences.

    equations      of the traced program, those of loops, branches and calls once each
    given          instructions that compute something in the module that XLA was given
    instructions   such instructions in the optimised module
    kernels        what it runs: each once, however often
    fusions        kernels of several instructions
    """

    equations: int
    given: int
    instructions: int
    kernels: int
    fusions: int
    done: tuple[Change, ...]
    not_done: tuple[NotDone, ...]

    def to_dict(self) -> dict[str, Any]:
        """The numbers as data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        shown = [
            f"{self.equations} equations → {self.given} instructions → "
            f"{self.instructions} instructions in {self.kernels} kernels, "
            f"{self.fusions} of them fusions"
        ]
        shown += [f"  {c.kind}: {c.count} ({c.reason})" for c in self.done]
        shown += [f"  not done: {n.what}: {n.reason}" for n in self.not_done]
        return "\n".join(shown)


def changes(fun: programs.Function) -> Callable[..., Changes]:
    """The compiler's changes to a program, and those that it could not make.

    Args:
      fun: a function of arrays, jitted or not; or what ``trace``, ``lower`` or
        ``compile`` of a jitted function returned: then it takes no arguments.

    Returns:
      a function of the arguments of ``fun`` (or ``ShapeDtypeStruct``s), which compiles
      and does not run it.

    Raises:
      ArgumentError: a compiled function was given, and arguments too.

    >>> import covector as cv, covector.numpy as cnp
    >>> made = changes(lambda x: cnp.sin(x) * cnp.sin(x) + cnp.cos(x))(cnp.ones(9))
    >>> [(change.kind, change.count) for change in made.done]
    [('merged', 1), ('fused', 3)]
    """

    def changed(*args: Any, **kwargs: Any) -> Changes:
        subject = programs.compiled(fun, args, kwargs, "changes")
        module = subject.optimised()
        return changes_of(subject, module, plan_of(module))

    return changed


def changes_of(subject: Subject, module: Module, plan: FusionPlan) -> Changes:
    """The changes from a traced program to its optimised module, planned like this."""
    given = subject.given()
    done = [
        *_simplified(subject.jaxpr),
        *_calls(given, module),
        *_of_kernels(plan),
        *_repeated(given, module),
        *_communication(subject, module),
        *_memory(subject, module, plan),
    ]
    not_done = [*_not_fused(plan), *_memory_not_reused(subject, module, plan)]
    return Changes(
        len([*visits(subject.jaxpr)]),
        size(given),
        plan.instructions,
        len(plan.kernels),
        len(plan.fusions),
        tuple([change for change in done if change.count]),
        tuple(sorted(not_done, key=lambda each: -each.bytes)),
    )


def size(module: Module) -> int:
    """The instructions of a module that compute something, in each program once."""
    return len({i.name for i in _instructions(module)})


def _instructions(module: Module) -> Iterator[Any]:
    for found in kernels.find(module):
        yield from kernels.parts(module, found.instruction)


def _lines(origins: Iterable[Origin]) -> tuple[Line, ...]:
    return tuple(dict.fromkeys([(o.file, o.line) for o in origins]))


# -- before XLA's kernels --------------------------------------------------------------


class _Pass(NamedTuple):
    kind: str
    run: Callable[[Jaxpr], Jaxpr]
    reason: str


_PASSES = (
    _Pass("dead", dce, "nothing uses their results"),
    _Pass("folded", fold_constants, "they compute with constants alone"),
    _Pass("merged", merge_common, "others compute the same"),
)


def _simplified(jaxpr: Jaxpr) -> Iterator[Change]:
    """The passes that make equations go, one by one, after calls are inlined."""
    now = inline_calls(jaxpr)
    for kind, run, reason in _PASSES:
        after = run(now)
        gone = _equations(now) - _equations(after)
        places = [place_of(line)[:2] for _, line in gone if line is not None]
        lines = tuple(dict.fromkeys(places))
        counted = (
            f"equations that covector.analysis.{run.__name__} removes, after those "
            "before it; XLA removes them in passes of its own"
        )
        yield Change(kind, gone.total(), lines, reason, counted)
        now = after


def _equations(jaxpr: Jaxpr) -> Counter[tuple[str, source.Line | None]]:
    equations = [visit.equation for visit in visits(jaxpr)]
    return Counter([(e.op.name, e.line) for e in equations])


def _calls(given: Module, module: Module) -> Iterator[Change]:
    """The calls of functions that became part of the program around them."""
    before, after = (
        [
            i
            for c in m.computations.values()
            for i in c.instructions.values()
            if i.opcode == "call" and not kernels.is_one_kernel(i)
        ]
        for m in (given, module)
    )
    reason = "functions became part of the programs that call them"
    origins = [i.origin for i in before if i.origin is not None]
    count = max(0, len(before) - len(after))
    yield Change("inlined", count, _lines(origins), reason, "calls before and after")


# -- kernels ---------------------------------------------------------------------------

_KINDS = {
    "library": "computed by a library",
    "loop in one kernel": "loops with small steps, compiled as one kernel each",
    "function in one kernel": "functions compiled as one kernel each",
    "callback": "the program calls Python",
}


def _of_kernels(plan: FusionPlan) -> Iterator[Change]:
    fused = [k for k in plan.fusions if k.kind not in _KINDS]
    count = sum([len(k.operations) - 1 for k in fused])
    origins = [o for k in fused for o in k.origins]
    many = f"{len(fused)} kernel{'s' * (len(fused) != 1)}"
    reason = f"into {many}, so that what passes between them is not written"
    counted = "instructions of fusions beside the first of each"
    yield Change("fused", count, _lines(origins), reason, counted)
    for kind, reason in _KINDS.items():
        found = [k for k in plan.kernels if k.kind == kind]
        lines = _lines([o for k in found for o in k.origins])
        yield Change(kind, len(found), lines, reason, "kernels of this kind")


def _repeated(given: Module, module: Module) -> Iterator[Change]:
    """The values computed several times, which is cheaper than to write them down."""
    before, after = (
        Counter(
            [
                (i.opcode, i.origin, i.shape.sizes)
                for i in _instructions(m)
                if i.opcode in _COMPUTED and i.origin is not None
            ]
        )
        for m in (given, module)
    )
    more = after - before
    # An instruction that XLA made of others is in no place before.
    again = {key: n for key, n in more.items() if before[key]}
    origins = [origin for _, origin, _ in again]
    reason = "computed in several kernels, which is cheaper than to write the result"
    counted = "instructions of one origin beyond those before"
    yield Change("repeated", sum(again.values()), _lines(origins), reason, counted)


_COMPUTED = frozenset(
    {"sine", "cosine", "exponential", "log", "tanh", "logistic", "power", "divide"}
)


def _communication(subject: Subject, module: Module) -> Iterator[Change]:
    if len(subject.program.lowered.devices) == 1:
        return
    found = [c for c in collectives.find(module, subject) if not c.written]
    lines = _lines([o for c in found for o in c.origins])
    moved = show_bytes(sum([c.bytes * c.times for c in found]))
    reason = f"devices exchange {moved}, so that values are where they are used"
    counted = "communication that the program does not write"
    yield Change("communication", len(found), lines, reason, counted)


# -- memory ----------------------------------------------------------------------------


def _memory(subject: Subject, module: Module, plan: FusionPlan) -> Iterator[Change]:
    copied = list(buffers.copies(module, subject, [*plan.kernels]))
    moved = show_bytes(sum([c.bytes * c.times for c in copied]))
    lines = _lines([o for c in copied for o in c.origins])
    yield Change("copied", len(copied), lines, f"{moved} in all", "kernels that copy")
    taken = [d for d in buffers.donations(module, subject) if d.result is not None]
    names = ", ".join([d.argument for d in taken])
    saved = show_bytes(sum([d.bytes for d in taken]))
    reason = f"results take the memory of {names}: {saved} less"
    yield Change("donated", len(taken), (), reason, "aliases of the module")


def _memory_not_reused(
    subject: Subject, module: Module, plan: FusionPlan
) -> Iterator[NotDone]:
    for copy in buffers.copies(module, subject, [*plan.kernels]):
        if copy.reason is not None:
            (line, *_) = _lines(copy.origins) or (None,)
            what = f"{copy.name} copies {show_bytes(copy.bytes)}"
            yield NotDone(what, line, copy.reason, copy.bytes)
    for donation in buffers.donations(module, subject):
        if donation.result is None:
            what = f"{donation.argument} is donated, but no result takes its memory"
            reason = "no result has its size, or it is needed until the end"
            yield NotDone(what, None, reason, donation.bytes)
    for argument, size in buffers.not_donated(module, subject):
        what = f"a result of the shape of {argument} gets memory of its own"
        reason = f"{argument} is not donated (donate_argnums)"
        yield NotDone(what, None, reason, size)


def _not_fused(plan: FusionPlan) -> Iterator[NotDone]:
    lines = {k.name: k.lines for k in plan.kernels}
    copied = {k.name for k in plan.kernels if k.kind == "copy"}
    for each in plan.not_fused:
        if each.reason is not None and not copied & {each.producer, each.consumer}:
            what = f"{each.producer} and {each.consumer} are not fused"
            (line, *_) = lines[each.producer] or (None,)
            yield NotDone(what, line, each.reason, each.bytes)
