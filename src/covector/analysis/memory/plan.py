"""XLA's plan of a program's temporary memory: which value is where in it, and when.

The plan says of each value which part of the memory it gets. When it is there follows
from the optimised program, whose instructions are in the order in which they run: from
where a value is made, under any of its names, to where it is last used. The worst
moment is the one at which most of the memory is in use.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from covector.analysis.compiled.hlo import (
    Computation,
    Instruction,
    Module,
    Origin,
    Shape,
    opcodes,
)
from covector.runtime.protocol_buffers import fields

#: instructions whose result is another name of what their first operand is
_NAMES = opcodes("bitcast opt-barrier add-dependency domain while")
#: instructions that use no value: who uses their result does
_SELECTING = opcodes("bitcast get-tuple-element tuple")
_CONTAINERS = opcodes("while conditional call")

# -- the plan, as XLA writes it down ---------------------------------------------------

# Fields of BufferAssignmentProto, LogicalBufferProto, BufferAllocationProto,
# HloModuleProto, HloComputationProto and HloInstructionProto, as XLA numbers them.
_BUFFERS, _ALLOCATIONS = 1, 3
_BUFFER_ID, _MADE_AT, _INSTRUCTION_ID, _SHAPE_INDEX = 1, 3, 4, 3
_ASSIGNED, _ASSIGNED_ID, _OFFSET, _ASSIGNED_SIZE = 9, 1, 2, 3
#: flags of allocations that are no temporary memory: of one thread, arguments, results,
#: constants
_OTHERS = (3, 5, 7, 12)
_COMPUTATIONS, _INSTRUCTIONS, _NAME, _ID = 3, 2, 1, 35


class Slot(NamedTuple):
    """The part of the temporary memory that a value gets: an element of the result of
    an instruction.
    """

    instruction: str
    element: int
    allocation: int
    offset: int
    bytes: int


def slots_of(executable: Any) -> list[Slot]:
    """The plan of an executable; empty where it has none, or does not tell."""
    analysis = executable.memory_analysis()
    plan = getattr(analysis, "serialized_buffer_assignment_proto", b"")
    if not plan:
        return []
    message = memoryview(plan)
    names = _names(memoryview(executable.hlo_proto()))
    made_at: dict[int, tuple[str, int]] = {}
    for buffer in _all(message, _BUFFERS):
        known = dict(fields(buffer))
        location = _message(known[_MADE_AT])
        name = names.get(location.get(_INSTRUCTION_ID, 0))
        if name is not None:
            element = location.get(_SHAPE_INDEX, 0)
            if isinstance(element, memoryview):  # several numbers in one field
                element = element[0] if len(element) else 0
            made_at[known.get(_BUFFER_ID, 0)] = name, element  # type: ignore[index]
    return [
        Slot(*made_at[each.get(_ASSIGNED_ID, 0)], k, *_extent(each))
        for k, allocation in enumerate(_all(message, _ALLOCATIONS))
        if not any([dict(fields(allocation)).get(flag) for flag in _OTHERS])
        for each in map(_message, _all(allocation, _ASSIGNED))
        if each.get(_ASSIGNED_ID, 0) in made_at
    ]


def _extent(assigned: dict[int, Any]) -> tuple[int, int]:
    return assigned.get(_OFFSET, 0), assigned.get(_ASSIGNED_SIZE, 0)


def _names(module: memoryview) -> dict[int, str]:
    """The names of instructions by the numbers that plans use."""
    found = {}
    for computation in _all(module, _COMPUTATIONS):
        for instruction in _all(computation, _INSTRUCTIONS):
            known = dict(fields(instruction))
            found[known[_ID]] = bytes(known[_NAME]).decode()  # type: ignore[arg-type]
    return found


def _message(content: Any) -> dict[int, Any]:
    return dict(fields(content))


def _all(message: memoryview, number: int) -> Iterator[memoryview]:
    for key, value in fields(message):
        if key == number and isinstance(value, memoryview):
            yield value


# -- when values are there -------------------------------------------------------------


class Value:
    """An element of the result of an instruction, from where it is made to where it is
    last used; instructions are counted in the order in which they run.
    """

    __slots__ = ("born", "dies")

    def __init__(self, born: int) -> None:
        self.born = self.dies = born


class Timeline:
    """The values of a program, by the instruction that makes them and the element."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.time = 0
        self.values: dict[tuple[str, int], Value] = {}
        self._follow(module.entry)

    def _follow(self, computation: Computation) -> list[Value]:
        """Go through a computation; the values that it results in."""
        parts: dict[str, list[Value]] = {}
        for instruction in computation.instructions.values():
            inside = []
            if instruction.opcode in _CONTAINERS:
                called = self.module.called(instruction)
                inside = [self._follow(each) for each in called]
            self.time += 1
            used = () if instruction.opcode in _SELECTING else instruction.operands
            for value in [v for name in used for v in parts.get(name, ())]:
                value.dies = self.time
            parts[instruction.name] = self._parts(
                instruction, computation, parts, inside
            )
        results = parts.get(computation.root.name, [])
        for value in results:
            value.dies = self.time
        return results

    def _parts(
        self,
        instruction: Instruction,
        computation: Computation,
        parts: dict[str, list[Value]],
        inside: list[list[Value]],
    ) -> list[Value]:
        """The values that an instruction results in, one for each array of a tuple."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "tuple":
            return [value for name in operands for value in parts.get(name, ())]
        if opcode == "get-tuple-element":
            return _element(instruction, computation, parts.get(operands[0], []))
        if opcode in _NAMES and operands:
            return parts.get(operands[0], [])
        if opcode == "call" and inside:
            return inside[0]
        made = [Value(self.time) for _ in arrays_of(instruction.shape)]
        for element, value in enumerate(made):
            self.values[instruction.name, element] = value
        return made


def _element(
    instruction: Instruction, computation: Computation, values: list[Value]
) -> list[Value]:
    shape = computation.instructions[instruction.operands[0]].shape
    index = int(instruction.attributes.get("index", 0))
    if index >= len(shape.parts):
        return values
    start = sum([len(arrays_of(part)) for part in shape.parts[:index]])
    return values[start : start + len(arrays_of(shape.parts[index]))]


def arrays_of(shape: Shape) -> Sequence[Shape]:
    """The arrays of a shape, one after the other."""
    if shape.dtype != "tuple":
        return [shape]
    return [array for part in shape.parts for array in arrays_of(part)]


class _Use(NamedTuple):
    """A value in its part of the memory, and from when until when."""

    slot: Slot
    born: int
    dies: int


def worst_moment(module: Module, slots: Sequence[Slot]) -> list[Slot]:
    """The values that are in the temporary memory when most of it is in use."""
    values = Timeline(module).values
    coming: dict[int, list[_Use]] = {}
    for slot in slots:
        value = values.get((slot.instruction, slot.element))
        if value is not None:
            use = _Use(slot, value.born, value.dies)
            coming.setdefault(use.born, []).append(use)
    most, worst, here = 0, [], []
    for time in sorted(coming):
        here = [use for use in here if use.dies >= time] + coming[time]
        if sum([use.slot.bytes for use in here]) > most:
            held = _latest(here)
            size = sum([slot.bytes for slot in held])
            if size > most:
                most, worst = size, held
    return worst


def _latest(uses: Sequence[_Use]) -> list[Slot]:
    """Of values that are at the same addresses the last: it is written over the others,
    which a loop carries and this step needs no longer, or which end here.
    """
    kept: list[_Use] = []
    for use in sorted(uses, key=lambda u: (u.slot.allocation, u.slot.offset)):
        before = kept[-1] if kept else None
        if before is None or not _overlap(before.slot, use.slot):
            kept.append(use)
        elif (before.born, before.slot.bytes) < (use.born, use.slot.bytes):
            kept[-1] = use
    return [use.slot for use in kept]


def _overlap(first: Slot, second: Slot) -> bool:
    """Whether the second, which begins no earlier, begins inside of the first."""
    same = first.allocation == second.allocation
    return same and second.offset < first.offset + first.bytes


def origins_by_name(module: Module) -> dict[str, Origin | None]:
    """Where each instruction comes from: a fusion from the last of what is in it, and
    what XLA put in by itself from what it takes, or from what takes it.
    """
    found: dict[str, Origin | None] = {}
    for computation in module.computations.values():
        instructions = [*computation.instructions.values()]
        for instruction in instructions:
            inside = [x.origin for x in module.inside(instruction)]
            known = [instruction.origin, *reversed(inside)]
            known += [found.get(name) for name in instruction.operands]
            found[instruction.name] = _first(known)
        for instruction in reversed(instructions):
            if found[instruction.name] is None:
                users = computation.users[instruction.name]
                found[instruction.name] = _first([found[u.name] for u in users])
    return found


def _first(origins: Sequence[Origin | None]) -> Origin | None:
    return next((origin for origin in origins if origin is not None), None)
