"""Arrays of which a part is overwritten in place, and read before.

XLA:CPU makes what is read of an array a part of the kernels that need it. If the array
is overwritten in one of them, while others, or other places in the same one, read it,
then all of it is copied first: in each step of a loop, so that the time grows with the
square of its length.

    r = a[i − 1]                 a copy of a, since the kernel that writes row i of it
    a' = a with f(r) at i        reads row i − 1

So before a program is lowered, what is read of an array becomes a kernel of its own,
through which the array passes on its way to the update:

    a, r = parts_read(a, i − 1)
    a' = a with f(r) at i

And what would be added to an array as zeros of which a part is overwritten, as in the
gradient of what reads ``a[i]``, is added to that part. (Decision 36 has the times.) The
gradient of what adds to ``a[i]`` would clear that part, and then add to it what it was:

    b = a with zeros at i;  b + zeros with a[i] at i        a
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    dependent,
    inlined,
    needed_equations,
    replaced,
    run,
    type_of,
    use_counts,
    variables,
)
from covector.core.primitive import ManyResults, operation
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: how many times as large as what is read of it an array is at least
_TIMES = 4


@operation
class PartsRead(ManyResults):
    """An array and some of its parts, by a program that reads them and does no more.

    It is made just before a program is lowered: no transformation meets it.
    """

    interned = False
    as_integers = True
    program: Jaxpr

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.program.out_types

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        program, types = self.program, tuple(ctx.in_types)
        if types != program.in_types:  # it is lowered as integers
            program = program.memo(_of_types, types)
        return ctx.call_kernel(program, operands)


def _of_types(program: Jaxpr, types: tuple[ArrayType, ...]) -> Jaxpr:
    """The same program on elements of another type (memoise on the program)."""
    return restage(lambda *args: run(program, args), types, program.name)


def with_updates_in_place(jaxpr: Jaxpr, least: int) -> Jaxpr:
    """The program whose updates need no copies of arrays of at least so many bytes
    (memoise on the program).
    """
    summed = _with_sums_in_place(jaxpr)
    reading = _Reading(summed, least)
    for i, e in enumerate(reading.equations):
        if e.op.updates_part:
            reading.read_before(i)
    return reading.program() if reading.first_reads else summed


# -- reading ---------------------------------------------------------------------------


class _Reading:
    """A program whose arrays are read before they are overwritten."""

    def __init__(self, jaxpr: Jaxpr, least: int) -> None:
        self.jaxpr, self.least = jaxpr, least
        self.equations = needed_equations(jaxpr.equations, jaxpr.outputs)
        self.users: dict[Var, list[int]] = {}
        self.makers: dict[Var, Equation] = {}
        for i, e in enumerate(self.equations):
            self.makers.update(dict.fromkeys(e.outputs, e))
            for v in set(variables(e.inputs)):
                self.users.setdefault(v, []).append(i)
        #: equations that are new, with their places in the order
        self.first_reads: list[tuple[tuple[int, int], Equation]] = []
        #: of equations, by number, that stand in another place, the place
        self.moved: dict[int, tuple[int, int]] = {}
        #: numbers of equations in whose place there are new ones
        self.gone: set[int] = set()

    def read_before(self, number: int) -> None:
        """Read parts of the array that an equation updates before it does."""
        update = self.equations[number]
        array = update.inputs[0]
        if type(array) is not Var or not self._is_in_memory(array):
            return
        if type(array.type.size) is not int or array.type.nbytes < self.least:
            return
        numbers = [i for i in self.users[array] if self._reads_part_of(array, i)]
        if not numbers:
            return
        start, end = min(number, *numbers), max(numbers) + 1
        later = dependent(self.equations[number:end], update.outputs)
        numbers = [i for i in numbers if later.isdisjoint(self.equations[i].outputs)]
        turn = 0
        while numbers:
            # What is read at a place that was read first is read in another turn.
            parts = [self.equations[i].outputs[0] for i in numbers]
            of_parts = dependent(self.equations[start:end], parts)
            now = [i for i in numbers if of_parts.isdisjoint(self._places(i))]
            if not self._read_together(array, now, (start, 2 * turn), end):
                return
            numbers = [i for i in numbers if i not in self.gone]
            turn += 1

    def _is_in_memory(self, array: Var) -> bool:
        """Whether an array is in memory anyway, and not made where it is needed."""
        maker = self.makers.get(array)
        return maker is None or bool(maker.op.updates_part or maker.op.regions)

    def _reads_part_of(self, array: Var, number: int) -> bool:
        e = self.equations[number]
        if not e.op.reads_part or e.inputs[0] is not array:
            return False
        if number in self.gone or number in self.moved:
            return False
        size = e.outputs[0].type.size
        return type(size) is int and 0 < size * _TIMES <= array.type.size

    def _places(self, number: int) -> list[Var]:
        """The variables that say where an equation reads."""
        return variables(self.equations[number].inputs[1:])

    def _read_together(
        self, array: Var, numbers: Sequence[int], place: tuple[int, int], end: int
    ) -> bool:
        """Let one equation at a place stand for those that read parts of an array, as
        soon as it is known where they are; False where something else happens before.
        """
        places = list(dict.fromkeys([v for i in numbers for v in self._places(i)]))
        start, turn = place
        before = _numbers_behind(self.equations, range(start, end), places)
        if not all([self.equations[i].op.pure for i in before]):
            return False
        if not self.gone.isdisjoint(before):  # It is known where others are read first.
            return False
        for i in before:
            self.moved[i] = min(self.moved.get(i, place), place)
        reading = [self.equations[i] for i in numbers]
        read = _reading_program(array, places, reading)
        results = [Var(array.type), *[e.outputs[0] for e in reading]]
        made = Equation(PartsRead(read), [array, *places], results, reading[0].line)
        self.first_reads.append(((start, turn + 1), made))
        self.gone.update(numbers)
        return True

    def program(self) -> Jaxpr:
        """The program with what is read first in its place."""
        last = 2 * len(self.equations)  # behind what was moved there
        kept = [
            (self.moved.get(i, (i, last)), e)
            for i, e in enumerate(self.equations)
            if i not in self.gone
        ]
        ordered = sorted([*kept, *self.first_reads], key=lambda pair: pair[0])
        now: dict[Var, Any] = {}
        equations = []
        for _, e in ordered:
            inputs = replaced(now, e.inputs)
            equations.append(Equation(e.op, inputs, e.outputs, e.line))
            if type(e.op) is PartsRead:
                now[e.inputs[0]] = e.outputs[0]  # type: ignore[index]  no literal
        outputs = replaced(now, self.jaxpr.outputs)
        return Jaxpr(self.jaxpr.inputs, equations, outputs, self.jaxpr.name)


def _reading_program(
    array: Var, places: Sequence[Var], reading: Sequence[Equation]
) -> Jaxpr:
    """The program that gives the array and what equations read of it."""
    inputs = {v: Var(v.type) for v in (array, *places)}
    parts = [Var(e.outputs[0].type) for e in reading]
    equations = [
        Equation(e.op, replaced(inputs, e.inputs), [part], e.line)
        for e, part in zip(reading, parts, strict=True)
    ]
    outputs = [inputs[array], *parts]
    return Jaxpr(list(inputs.values()), equations, outputs, "read_parts")


def _numbers_behind(
    equations: Sequence[Equation], numbers: range, results: Sequence[Var]
) -> list[int]:
    """Which of the numbered equations results depend on."""
    wanted, found = set(results), []
    for i in reversed(numbers):
        if not wanted.isdisjoint(equations[i].outputs):
            wanted.update(variables(equations[i].inputs))
            found.append(i)
    return found


# -- adding ----------------------------------------------------------------------------


def _with_sums_in_place(jaxpr: Jaxpr) -> Jaxpr:
    """The program that adds to parts of an array what it would have written among
    zeros, and added to the array; and which leaves what it would have put back.
    """
    made_by: dict[Var, Equation] = {}
    uses = use_counts(jaxpr)
    now: dict[Var, Any] = {}
    programs: dict[int, Jaxpr] = {}
    equations = []
    for given in jaxpr.equations:
        e = given
        if now:
            e = Equation(e.op, replaced(now, e.inputs), e.outputs, e.line)
        adding = _sum_in_place(e, made_by, uses)
        if adding:
            e = _written_instead(adding, made_by) or adding
            if e is adding:
                programs[id(e)] = restage(e.op.adding, [*map(type_of, e.inputs)])
        if e.op.overwritten and _puts_back(e, made_by):
            now[e.outputs[0]] = e.inputs[0]
            continue
        made_by.update(dict.fromkeys(e.outputs, e))
        equations.append(e)
    if tuple(equations) == jaxpr.equations:
        return jaxpr
    outputs = replaced(now, jaxpr.outputs)
    summed = Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)
    return inlined(summed, lambda e: programs.get(id(e))) if programs else summed


def _sum_in_place(
    e: Equation, made_by: Mapping[Var, Equation], uses: Mapping[Var, int]
) -> Equation | None:
    """The equation in whose place those that add to parts of an array are to stand, if
    ``e`` adds an array that is zero elsewhere, and not used for anything else.
    """
    if not e.op.adds:
        return None
    x, y = e.inputs
    for array, added in ((x, y), (y, x)):
        if type(added) is Var and uses[added] == 1 and array.type.shape:
            maker = made_by.get(added)
            if maker and maker.op.adding and _is_zero(maker.inputs[0], made_by):
                inputs = [array, *maker.inputs[1:]]
                return Equation(maker.op, inputs, e.outputs, e.line)
    return None


def _written_instead(
    adding: Equation, made_by: Mapping[Var, Equation]
) -> Equation | None:
    """The equation that overwrites a window, where the one at hand adds to that window
    of an array in which it was set to zeros; so it is in the derivatives of what adds
    to a window, or multiplies it.
    """
    array, added, *places = adding.inputs
    over = made_by.get(array) if type(array) is Var else None
    if over is None or over.op is not adding.op or not over.op.overwritten:
        return None
    base, zero, *others = over.inputs
    same = type_of(zero) == type_of(added) and are_same(places, others, made_by)
    if not same or not _is_zero(zero, made_by):
        return None
    return Equation(adding.op, [base, added, *places], adding.outputs, adding.line)


def _puts_back(e: Equation, made_by: Mapping[Var, Equation]) -> bool:
    """Whether an equation overwrites a window with what was read there."""
    array, written, *places = e.inputs
    read = made_by.get(written) if type(written) is Var else None
    if read is None or read.op is not e.op.overwritten(written.type):
        return False
    source, *others = read.inputs
    return source is array and are_same(places, others, made_by)


def _is_zero(array: Atom, made_by: Mapping[Var, Equation]) -> bool:
    """Whether an array is known to be zeros."""
    if type(array) is Var:
        maker = made_by.get(array)
        if maker is None or maker.op.name != "broadcast_in_dim":
            return False
        (array,) = maker.inputs
    return type(array) is ConcreteArray and not np.asarray(array.host()).any()


# -- comparing -------------------------------------------------------------------------


def are_same(
    some: Sequence[Atom],
    others: Sequence[Atom],
    made_by: Mapping[Var, Equation],
    depth: int = 4,
) -> bool:
    """Whether atoms are seen to have the values of others."""
    pairs = zip(some, others, strict=True)
    return all([_is_same(*pair, made_by, depth) for pair in pairs])


def _is_same(one: Atom, two: Atom, made_by: Mapping[Var, Equation], depth: int) -> bool:
    if type(one) is not Var or type(two) is not Var:
        known = [a.host() for a in (one, two) if isinstance(a, ConcreteArray)]
        return len(known) == 2 and one.type == two.type and np.array_equal(*known)
    made, again = made_by.get(one), made_by.get(two)
    if one is two or made is None or again is None or not depth:
        return one is two
    alike = made.op is again.op and len(made.inputs) == len(again.inputs)
    pure = made.op.pure and made.op.interned
    return alike and pure and are_same(made.inputs, again.inputs, made_by, depth - 1)
