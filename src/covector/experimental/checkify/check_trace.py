"""``CheckTrace``: computes what its parent does, and notes the first check that fails.

It needs no tracers: operations have their own values, and after each the trace looks at
these. The failure goes through the programs that operations carry as a thread of
values: a number, 0 or that of the site, and the slots of what its message shows.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import numpy as cnp
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.jaxpr import Equation, Jaxpr, run
from covector.core.masks import in_groups
from covector.core.primitive import Primitive
from covector.core.source import user_line
from covector.core.staging import restage
from covector.core.trace import Trace, current
from covector.core.types import INVARIANT, ArrayType
from covector.core.varying import Axes, pvary_like
from covector.experimental.checkify import automatic
from covector.experimental.checkify.check import Check, first_failure
from covector.experimental.checkify.error import NONE
from covector.experimental.checkify.sites import (
    Categories,
    ErrorCategory,
    Site,
    Sites,
    slot_types,
)
from covector.numpy.promote import standard_promotion
from covector.operations.broadcasting import zeros
from covector.programs.custom_rules.linear_call import LinearCall
from covector.programs.custom_rules.ruled_program import RuledProgram
from covector.programs.higher_order.call import call
from covector.programs.higher_order.regions import Kind

_NUMBER = ArrayType((), dtypes.int32)


class CheckTrace(Trace):
    """Computes in ``parent``, and notes the first check that fails."""

    def __init__(
        self, parent: Trace, wanted: Categories, name: str, count: int = 0
    ) -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes: frozenset[Any] = parent.checked_axes
        self.name = name
        self.wanted = wanted
        #: the number of the last site
        self.count = count
        #: the sites that were met
        self.sites: list[Site] = []
        #: 0, or the number of the site that failed first
        self.number: Any = NONE
        #: what its message shows, by type
        self.slots: dict[ArrayType, list[Any]] = {}

    def failure(self) -> tuple[Any, list[Any]]:
        """The number of the failure, and the slots in order."""
        return self.number, [x for group in self.slots.values() for x in group]

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        if op.stage is not None:  # a function of the user becomes a program first
            staged = op.stage(self, args)
            if staged is not None:
                return staged
        current.trace = self.parent
        try:
            return self._checked(op, args)
        finally:
            current.trace = self

    def _checked(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        if isinstance(op, Check):
            if ErrorCategory.USER in self.wanted:
                self.note(op.sites, args[0], args[1:])
            return ()
        if enters(op):
            return self._entered(op, args)
        if isinstance(op, LinearCall) and not self.wanted:
            op = _unchecked_later(op)
        outs = self.parent.process(op, args)
        types, out_types = [a.type for a in args], [o.type for o in outs]
        line = user_line()
        for site in automatic.sites(op, types, out_types, line, self.wanted):
            fails, values = automatic.failure(site, op, args, outs)
            self.note((site,), cnp.where(fails, NONE + 1, NONE), values)
        return outs

    def _entered(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The results of an operation that carries programs."""
        thread = CheckThread.of(op, self.wanted)
        if not thread.sites:
            return self.parent.process(without_checks(op), args)
        start, count = thread.start(), len(thread.types)
        if op.rules_read_operands:  # beside it, so that it keeps its rules
            outs = self.parent.process(without_checks(op), args)
            failure = call(thread.alone(op.program))(*start, *args)
        else:
            made, index = op.threaded(thread)
            before, after = in_groups(args, index)
            outs = self.parent.process(made, [*before, *start, *after])
            failure, outs = in_groups(outs, count)
        self.note(thread.sites, failure[0], failure[1:])
        return outs

    @standard_promotion
    def note(self, sites: Sites, number: Value, values: Sequence[Any]) -> None:
        """Note the failure at one of these sites, if it is the first.

        ``number`` counts these sites alone, and ``values`` are the slots for them.
        """
        first = (number != 0) & (self.number == 0)
        self.number = cnp.where(first, number + self.count, self.number)
        self.sites += sites
        self.count += len(sites)
        used = dict.fromkeys(self.slots, 0)
        for value in values:
            type_ = value.type.with_varying(INVARIANT)
            slots, k = self.slots.setdefault(type_, []), used.get(type_, 0)
            if k == len(slots):
                slots.append(zeros(type_))
            slots[k] = cnp.where(first, value, slots[k])
            used[type_] = k + 1


class CheckThread(NamedTuple):
    """The first failure of a check, passed on through the programs of an operation."""

    wanted: Categories
    #: the programs, and the sites in them, in order
    programs: tuple[Jaxpr, ...]
    sites: Sites
    #: the mesh axes over which the values may vary
    varying: Axes

    @classmethod
    def of(cls, op: Any, wanted: Categories) -> "CheckThread":
        programs = tuple(entered_programs(op))
        sites = [s for p in programs for s in p.memo(sites_of, wanted)]
        return cls(wanted, programs, tuple(sites), current.trace.checked_axes)

    @property
    def types(self) -> list[ArrayType]:
        types = [_NUMBER, *slot_types(self.sites)]
        return [t.with_varying(self.varying) for t in types]

    def start(self) -> list[Value]:
        """The values where nothing has failed yet."""
        none = [zeros(t.with_varying(INVARIANT)) for t in self.types]
        return list(map(pvary_like, none, self.types))

    def join(self, stacked: Sequence[Value]) -> Sequence[Value]:
        """The failure of the first device that has one."""
        return first_failure(*stacked)

    def on_devices(self, axes: Axes) -> "CheckThread":
        return self._replace(varying=axes)

    def concerns(self, jaxpr: Jaxpr) -> bool:
        return bool(jaxpr.memo(sites_of, self.wanted))

    def through(self, jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
        return jaxpr.memo(_through, self, index)

    def alone(self, jaxpr: Jaxpr) -> Jaxpr:
        """The program that gives the failure alone."""
        program = self.through(jaxpr)
        outputs = program.outputs[: len(self.types)]
        return Jaxpr(program.inputs, program.equations, outputs, program.name)


def _through(jaxpr: Jaxpr, thread: CheckThread, index: int) -> Jaxpr:
    """The checked program (memoise on the program)."""
    types = thread.types
    before = thread.programs[: thread.programs.index(jaxpr)]
    count = sum([len(p.memo(sites_of, thread.wanted)) for p in before])

    def checked(*args: Any) -> list[Any]:
        first, failure, rest = in_groups(args, index, len(types))
        trace = CheckTrace(current.trace, thread.wanted, jaxpr.name, count)
        trace.number = failure[0]
        for type_, x in zip(types[1:], failure[1:], strict=True):
            trace.slots.setdefault(type_.with_varying(INVARIANT), []).append(x)
        outs = trace.run(lambda: run(jaxpr, [*first, *rest]))
        number, slots = trace.failure()
        return [*map(pvary_like, [number, *slots], types), *outs]

    in_types = [*jaxpr.in_types[:index], *types, *jaxpr.in_types[index:]]
    return restage(checked, in_types, jaxpr.name)


def _unchecked(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a user, in which no checks are made."""

    def run_unchecked(*operands: Any) -> Any:
        trace = CheckTrace(current.trace, frozenset(), "checkify")
        return trace.run(lambda: rule(*operands))

    return run_unchecked


def _unchecked_later(op: LinearCall) -> LinearCall:
    """The linear call of a rule without checks, whose functions are run later."""
    push = op.push
    if push is not None:
        push = push.memo(_stripped) if isinstance(push, Jaxpr) else _unchecked(push)
    return op.replace(push=push, pull=_unchecked(op.pull))


# -- what is in programs ---------------------------------------------------------------


def entered_programs(op: Any) -> list[Jaxpr]:
    """The programs that an operation runs on its operands, each once."""
    found = [r.jaxpr for r in op.regions if r.kind is not Kind.RULE]
    return list(dict.fromkeys(found))


def enters(op: Any) -> bool:
    """Whether checks in the programs of an operation can be made values."""
    return bool(op.regions) and (op.threaded is not None or op.rules_read_operands)


def sites_of(jaxpr: Jaxpr, wanted: Categories) -> Sites:
    """The sites in a program at any depth, in order (memoise on the program)."""
    found: list[Site] = []
    for e in jaxpr.equations:
        if isinstance(e.op, Check):
            found += e.op.sites if ErrorCategory.USER in wanted else ()
        elif enters(e.op):
            found += CheckThread.of(e.op, wanted).sites
        else:
            types, out_types = [a.type for a in e.inputs], [v.type for v in e.outputs]
            found += automatic.sites(e.op, types, out_types, e.line, wanted)
    return tuple(found)


def without_checks(op: Any) -> Any:
    """The operation around programs without checks."""
    if not any([p.memo(_has_check) for p in entered_programs(op)]):
        return op
    if isinstance(op, RuledProgram):
        return op.adapted(op.program.memo(_stripped), _unchecked)
    return op.with_programs(lambda program: program.memo(_stripped))


def _has_check(jaxpr: Jaxpr) -> bool:
    return any(
        [
            isinstance(e.op, Check)
            or any([p.memo(_has_check) for p in entered_programs(e.op)])
            for e in jaxpr.equations
        ]
    )


def _stripped(jaxpr: Jaxpr) -> Jaxpr:
    """The program without checks at any depth (memoise on the program)."""
    if not jaxpr.memo(_has_check):
        return jaxpr
    equations = [
        Equation(without_checks(e.op), e.inputs, e.outputs, e.line)
        for e in jaxpr.equations
        if not isinstance(e.op, Check)
    ]
    return Jaxpr(jaxpr.inputs, equations, jaxpr.outputs, jaxpr.name)
