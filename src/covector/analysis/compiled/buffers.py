"""Buffers of a compiled program: what it copies, and which memory results take over."""

from collections.abc import Iterator
from dataclasses import dataclass

from covector.analysis.compiled import kernels
from covector.analysis.compiled.hlo import Computation, Instruction, Module, Origin
from covector.analysis.compiled.kernels import Kernel
from covector.analysis.compiled.programs import Subject


@dataclass(frozen=True)
class Copy:
    """A kernel that copies a value, and why, where it is known."""

    name: str
    bytes: int
    times: int
    reason: str | None
    origins: tuple[Origin, ...]


@dataclass(frozen=True)
class Donation:
    """An argument that was given up; ``result`` is the number of the result that takes
    its memory, None if none does.
    """

    argument: str
    bytes: int
    result: int | None


def donations(module: Module, subject: Subject) -> list[Donation]:
    """The arguments that were given up, and what became of their memory."""
    taken = {number: int(index or 0) for index, number in module.aliases}
    given_up = sorted({*taken, *module.donors})
    parameters = module.entry.parameters
    return [
        Donation(subject.argument(k), parameters[k].shape.bytes, taken.get(k))
        for k in given_up
    ]


def not_donated(module: Module, subject: Subject) -> list[tuple[str, int]]:
    """Arguments that could give their memory to results, and their bytes: for each
    result the first of the same shape, as parameters that a step of training updates.
    """
    aliased = {number for _, number in module.aliases} | {*module.donors}
    root = module.entry.root.shape
    results = [str(part) for part in root.parts or (root,)]
    for index, _ in module.aliases:
        taken = str(root.parts[int(index)] if root.parts else root)
        if taken in results:
            results.remove(taken)
    found = []
    for number, parameter in enumerate(module.entry.parameters):
        if number not in aliased and str(parameter.shape) in results:
            results.remove(str(parameter.shape))
            found.append((subject.argument(number), parameter.shape.bytes))
    return found


def copies(module: Module, subject: Subject, described: list[Kernel]) -> Iterator[Copy]:
    """The copies that the compiler inserted."""
    found = {each.instruction.name: each for each in kernels.find(module)}
    for kernel in described:
        if kernel.kind != "copy":
            continue
        instruction, computation, times, _ = found[kernel.name]
        because = _reason(module, subject, computation, instruction)
        yield Copy(kernel.name, kernel.writes, times, because, kernel.origins)


_FORMS = frozenset({"bitcast", "get-tuple-element", "tuple", "copy"})


def _reason(
    module: Module, subject: Subject, computation: Computation, copy: Instruction
) -> str | None:
    """Why something is copied."""
    (operand, *_) = computation.operands(copy) or [copy]
    user = next(iter(computation.users[copy.name]), None)
    if operand.shape.layout != copy.shape.layout and operand.shape.layout:
        wanted = "the result" if user is None or user.is_root else user.name
        return (
            f"{wanted} needs the axes in memory as {copy.shape.layout}, and they are "
            f"{operand.shape.layout}"
        )
    source = _source(computation, operand)
    if source.opcode == "parameter" and computation is module.entry:
        number = int(source.argument)
        given_up = {k for _, k in module.aliases} | {*module.donors}
        if copy.is_root or (user is not None and user.is_root):
            return f"a result is {subject.argument(number)} itself"
        if number not in given_up:
            argument = subject.argument(number)
            return f"{argument} is not donated, so its memory cannot be written"
    if _is_constant(module, source):
        return "a constant is the start of what is overwritten"
    if len(computation.users[operand.name]) > 1:
        return "it is overwritten, and its old value is used too"
    if source.opcode == "parameter":
        return (
            "a loop carries it, and a step reads its old value after it wrote the new"
        )
    return None


def _source(computation: Computation, value: Instruction) -> Instruction:
    """The value that another is a form or a copy of."""
    while value.opcode in _FORMS and len(operands := computation.operands(value)) == 1:
        value = operands[0]
    return value


def _is_constant(module: Module, value: Instruction) -> bool:
    if value.opcode in ("constant", "iota"):
        return True
    opcodes = {i.opcode for i in kernels.parts(module, value)}
    return opcodes <= {"broadcast", "iota", "copy"}
