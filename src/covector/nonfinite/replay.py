"""Replay: from a bad result of a program back to the operation that made it.

The program is run equation by equation. From its bad results, the search goes back
through all operands that are bad too, and of the operations that it ends at, which made
bad values of good ones, takes the first. It enters calls, loops, branches and the
programs of devices on the way.

A bad value that is not chosen is not to blame: of a selection only those operands are
followed that stand where the result is bad.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.effects import Effect
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, read
from covector.core.masks import select
from covector.core.trace import current
from covector.errors import ConcretizationTypeError
from covector.nonfinite.kinds import INFINITIES, Kinds
from covector.operations.selection import SelectN
from covector.programs.higher_order.call import call
from covector.programs.higher_order.dead_code import trimmed
from covector.programs.higher_order.program_primitive import Devices, Execution, Where
from covector.transforms.batch import BatchTrace, BatchTracer


@dataclass(frozen=True)
class Level:
    """A program that was run, with the value of each variable.

    ``around`` is the equation that runs it, and the level of that.
    """

    jaxpr: Jaxpr
    env: dict[Var, Any]
    trail: tuple[Where, ...] = ()
    around: "tuple[Equation, Level] | None" = None

    @classmethod
    def run(cls, jaxpr: Jaxpr, args: Sequence[Any], *where: Any) -> "Level":
        """The program, run equation by equation."""
        env: dict[Var, Any] = dict(zip(jaxpr.inputs, args, strict=True))
        for e in jaxpr.equations:
            outs = current.trace.process(e.op, read(env, e.inputs))
            env.update(zip(e.outputs, outs, strict=True))
        return cls(jaxpr, env, *where)

    def maker(self, atom: Atom) -> Equation | None:
        """The equation that made a value; None for inputs and constants."""
        if type(atom) is not Var:
            return None
        return next((e for e in self.jaxpr.equations if atom in e.outputs), None)


@dataclass(frozen=True)
class Finding:
    """The maker of the first bad value: an operation; or the number of an input, or a
    constant, that was bad before.

    ``outs`` are the values of the results of the operation, ``operands`` of operands.
    """

    kind: str
    level: Level
    equation: Equation | None
    operands: Sequence[Any]
    outs: Sequence[Any]
    input: int | None = None
    constant: bool = False

    @property
    def trail(self) -> tuple[Where, ...]:
        """The loops, lanes and branches around it, the outermost first."""
        return self.level.trail


def search(kinds: Kinds, jaxpr: Jaxpr, args: Sequence[Any]) -> Finding | None:
    """The maker of the first bad value in the results of a program; None if there are
    none, run equation by equation.
    """
    return _search(kinds, jaxpr, args, (), None)


def inside(kinds: Kinds, equation: Equation, outs: Sequence[Any]) -> Finding:
    """The operation inside of one, whose operands are values, that made the first."""
    operands = list(equation.inputs)
    outputs = [Var(x.type) for x in outs]
    equation = Equation(equation.op, operands, outputs, equation.line)
    program = Jaxpr([], [equation], outputs)
    level = Level(program, dict(zip(outputs, outs, strict=True)))
    if kinds.first(operands) is not None:
        # Given bad values, it is still the operation that the user has to look at.
        kind = kinds.found_in(outs[kinds.first(outs) or 0]) or "NaN"
        return Finding(kind, level, equation, operands, outs)
    return _enter(kinds, level, equation, [kinds.found_in(x) is not None for x in outs])


def source_of_infinity(finding: Finding) -> Finding | None:
    """The maker of the infinity among the operands of an operation that gave NaN."""
    level, equation = finding.level, finding.equation
    if equation is None:
        return None
    atoms: Sequence[Atom] = equation.inputs
    while True:
        found = [a for a in atoms if INFINITIES.found_in(*read(level.env, [a]))]
        if not found:
            return None
        origin = _back(INFINITIES, level, found)
        if origin is None or origin.input is None or level.around is None:
            return origin
        around, level = level.around
        atoms = around.inputs


# -- the search ------------------------------------------------------------------------


def _search(
    kinds: Kinds,
    jaxpr: Jaxpr,
    args: Sequence[Any],
    trail: tuple[Where, ...],
    around: Any,
) -> Finding | None:
    level = Level.run(jaxpr, args, trail, around)
    atoms = [a for a in jaxpr.outputs if kinds.found_in(*read(level.env, [a]))]
    return _back(kinds, level, atoms) if atoms else None


def _back(kinds: Kinds, level: Level, atoms: Sequence[Atom]) -> Finding | None:
    """The first origin of the bad values of these atoms in their program."""
    jaxpr, env = level.jaxpr, level.env
    numbers = {v: k for k, e in enumerate(jaxpr.equations) for v in e.outputs}
    origins: list[tuple[int, Equation | None, Atom]] = []
    seen: set[int] = set()
    waiting: list[tuple[Atom, Equation | None]] = [(a, None) for a in atoms]
    while waiting:
        atom, reader = waiting.pop()
        if id(atom) in seen:
            continue
        seen.add(id(atom))
        if type(atom) is not Var:
            number = len(numbers) if reader is None else numbers[reader.outputs[0]]
            origins.append((number, reader, atom))
            continue
        if atom not in numbers:
            origins.append((-1, None, atom))
            continue
        e = jaxpr.equations[numbers[atom]]
        bad = _bad_operands(kinds, e, env, atom)
        waiting += [(a, e) for a in bad]
        if not bad:
            origins.append((numbers[atom], e, atom))
    if not origins:
        return None
    _, e, atom = min(origins, key=lambda origin: origin[0])
    if type(atom) is Var and e is not None:
        return _enter(kinds, level, e, [id(v) in seen for v in e.outputs])
    (value,) = read(env, [atom])
    kind = kinds.found_in(value) or "NaN"
    number = jaxpr.inputs.index(atom) if type(atom) is Var else None
    return Finding(kind, level, e, [value], [value], number, number is None)


def _bad_operands(
    kinds: Kinds, e: Equation, env: dict[Var, Any], result: Var
) -> list[Atom]:
    """The operands of an equation from which a bad result may have its values."""
    values = read(env, e.inputs)
    bad = [kinds.mask(x) for x in values]
    where = kinds.mask(env[result])
    if isinstance(e.op, SelectN) and where is not None and _plain(values):
        which = np.asarray(values[0].host()).astype(int).clip(0, len(values) - 2)
        for k in range(1, len(bad)):
            if bad[k] is not None and not np.any((which == k - 1) & bad[k] & where):
                bad[k] = None
    return [a for a, mask in zip(e.inputs, bad, strict=True) if mask is not None]


def _plain(values: Sequence[Any]) -> bool:
    return all([type(x) is ConcreteArray for x in values])


def _enter(kinds: Kinds, level: Level, e: Equation, bad: Sequence[bool]) -> Finding:
    """The operation inside of one that made its bad results, of good operands."""
    operands, outs = read(level.env, e.inputs), read(level.env, e.outputs)
    if e.op.executions is not None and Effect.LASTS not in e.op.effects:
        # Only these, and what they depend on: in a loop, after any step.
        part = trimmed(e.op, tuple(bad), len(operands))
        op: Any = e.op if part is None else part.op
        given = operands if part is None else select(operands, part.operands)
        # Of devices together it may not be known which branch one of them takes.
        with contextlib.suppress(ConcretizationTypeError):
            for execution in op.executions(given):
                found = _execution(kinds, level, e, execution)
                if found is not None:
                    return found
    kind = kinds.found_in(outs[kinds.first(outs) or 0]) or "NaN"
    return Finding(kind, level, e, operands, outs)


def _execution(
    kinds: Kinds, level: Level, e: Equation, execution: Execution
) -> Finding | None:
    """The maker of bad values in one run of a program, if it gave any."""
    jaxpr, operands, where, devices = execution
    trail = (*level.trail, where) if where.kind else level.trail
    with _on(devices, operands) as args:
        if kinds.first(call(jaxpr)(*args)) is None:
            return None
        found = _search(kinds, jaxpr, args, trail, (e, level))
        return None if found is None or found.input is not None else found


@contextlib.contextmanager
def _on(devices: Devices | None, operands: list[Any]) -> Iterator[list[Any]]:
    """The operands as each device has them."""
    if devices is None:
        yield operands
        return
    outer = current.trace
    values = list(operands)
    try:
        for axis, size in devices.axes:
            trace = BatchTrace(current.trace, size, axis, devices.of)
            pairs = zip(values, devices.fronts, strict=True)
            values = [BatchTracer(trace, x, 0) if axis in f else x for x, f in pairs]
            current.trace = trace
        yield values
    finally:
        current.trace = outer
