"""Kernels: what an optimised program runs, one after the other, and why it is not less.

An instruction of the entry is a kernel: a fusion of many operations, a call of a
library, a copy. Loops, branches and functions that XLA kept are not: their
instructions are. But a small loop on the CPU is compiled into one kernel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from covector.analysis.compiled import work
from covector.analysis.compiled.hlo import (
    Computation,
    Instruction,
    Module,
    Origin,
    opcodes,
)

Kind = Literal[
    "loop fusion",
    "input fusion",
    "output fusion",
    "library",
    "custom call",
    "callback",
    "collective",
    "copy",
    "loop in one kernel",
    "function in one kernel",
    "operation",
]

_FUSIONS: dict[str, Kind] = {
    "kLoop": "loop fusion",
    "kInput": "input fusion",
    "kOutput": "output fusion",
    "kCustom": "library",
}
#: instructions that compute nothing
_FREE = opcodes(
    """
    parameter constant tuple get-tuple-element bitcast after-all add-dependency
    partition-id replica-id opt-barrier domain get-dimension-size
    """
)
CONTAINERS = frozenset({"while", "conditional", "call"})
_MADE_OF_OTHERS = CONTAINERS | {"fusion", "async-start"}
COLLECTIVES = opcodes(
    """
    all-gather all-reduce all-to-all collective-broadcast collective-permute
    ragged-all-to-all recv reduce-scatter send
    """
)
_OF_LIBRARIES = frozenset({"dot", "convolution", "fft", "cholesky", "triangular-solve"})
_LIBRARIES = (
    *("lapack", "blas", "__onednn", "TopK", "Eigen"),
    *("__cu", "cublas", "cudnn", "cufft", "cuhybrid", "cusolver", "cusparse", "cu_"),
    *("hipblas", "hipfft", "hipsolver", "hipsparse", "hip_", "miopen"),
)
#: operations that a kernel shows in a line of text
MOST_OPERATIONS = 8
#: the frontend attribute of a call that XLA:CPU compiles into one kernel
_ONE_KERNEL = "xla_cpu_small_call"
#: … of a call of a function of this library, in NumPy
_IN_NUMPY = "covector.function"


@dataclass(frozen=True)
class Kernel:
    """One kernel of a compiled program.

    ``origins`` are the operations in it with their lines; where XLA kept none, those
    that use its result, and it is ``inherited``. ``times`` is how often a run of the
    program runs it, and ``times_known`` whether that is sure. The work is that of one
    run of the kernel.
    """

    name: str
    kind: Kind
    operations: tuple[str, ...]
    origins: tuple[Origin, ...]
    inherited: bool
    result: str
    target: str
    times: int
    times_known: bool
    flops: int
    transcendentals: int
    reads: int
    writes: int

    @property
    def bytes(self) -> int:
        """Bytes that one run reads and writes."""
        return self.reads + self.writes

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """Files and numbers of the lines in it, each once."""
        return tuple(dict.fromkeys([(o.file, o.line) for o in self.origins]))

    def __str__(self) -> str:
        lines = ", ".join(dict.fromkeys(map(str, self.origins)))
        more = " …" if len(self.operations) > MOST_OPERATIONS else ""
        shown = " ".join(self.operations[:MOST_OPERATIONS])
        return f"{self.name}: {self.kind} of {shown}{more} ({lines})"


class Found(NamedTuple):
    """A kernel's instruction in its computation, and how often it runs."""

    instruction: Instruction
    computation: Computation
    times: int
    known: bool


def find(module: Module) -> list[Found]:
    """The instructions that are kernels, in the order in which they run."""
    found: dict[str, Found] = {}
    for each in _walk(module, module.entry, 1, True):
        before = found.get(each.instruction.name)
        times = each.times + (0 if before is None else before.times)
        known = each.known and (before is None or before.known)
        found[each.instruction.name] = each._replace(times=times, known=known)
    return [*found.values()]


def _walk(
    module: Module, computation: Computation, times: int, known: bool
) -> Iterator[Found]:
    for instruction in computation.instructions.values():
        opcode = instruction.opcode
        if opcode in _FREE or opcode.endswith("-done"):
            continue
        if opcode in CONTAINERS and not is_one_kernel(instruction):
            steps = instruction.trip_count if opcode == "while" else 1
            sure = known and steps is not None and opcode != "conditional"
            for inner in module.called(instruction):
                yield from _walk(module, inner, times * (steps or 1), sure)
        else:
            yield Found(instruction, computation, times, known)


def is_one_kernel(instruction: Instruction) -> bool:
    """Whether a call is of a loop or function that XLA:CPU made one kernel."""
    return _ONE_KERNEL in instruction.attributes.get("frontend_attributes", "")


def is_in_numpy(instruction: Instruction) -> bool:
    """Whether it is a call of a function of this library, which sorts in NumPy."""
    return _IN_NUMPY in instruction.attributes.get("frontend_attributes", "")


def describe(module: Module) -> list[Kernel]:
    """The kernels of a module, in the order in which they run."""
    return [_kernel(module, found) for found in find(module)]


def _kernel(module: Module, found: Found) -> Kernel:
    instruction, computation, times, known = found
    flops, transcendentals = work.arithmetic(module, computation, instruction)
    reads, writes = work.traffic(module, computation, instruction)
    inside = list(parts(module, instruction))
    return Kernel(
        instruction.name,
        kind_of(module, instruction),
        tuple([i.opcode for i in inside]),
        origins(module, computation, instruction),
        not _origins([*inside, instruction]),
        str(instruction.shape),
        instruction.target,
        times,
        known,
        flops,
        transcendentals,
        reads,
        writes,
    )


def parts(module: Module, instruction: Instruction) -> Sequence[Instruction]:
    """The instructions that a kernel is made of, itself if it is one operation."""
    known = module.parts.get(instruction)
    if known is None:
        known = module.parts[instruction] = tuple(_parts(module, instruction))
    return known


def _parts(module: Module, instruction: Instruction) -> Iterator[Instruction]:
    whole = instruction.opcode not in _MADE_OF_OTHERS
    if whole and not work.is_element_loop(instruction):
        yield instruction
        return
    for computation in module.called(instruction):
        for inner in computation.instructions.values():
            if inner.opcode not in _FREE:
                yield from parts(module, inner)


def origins(
    module: Module, computation: Computation, instruction: Instruction
) -> tuple[Origin, ...]:
    """The origins of the operations in a kernel; where XLA kept none, those nearby, or
    that of the loop around it.
    """
    found = _origins([*parts(module, instruction), instruction])
    found = found or _origins(_consumers(module, computation, instruction))
    found = found or _nearby(computation, instruction)
    if not found and computation.name in module.callers:
        around, caller = module.callers[computation.name]
        return _origins([caller]) or _nearby(around, caller)
    return found


def _origins(instructions: list[Instruction]) -> tuple[Origin, ...]:
    found = [i.origin for i in instructions if i.origin is not None]
    return tuple(dict.fromkeys(found))


def _consumers(
    module: Module, computation: Computation, instruction: Instruction
) -> list[Instruction]:
    """Who uses a result: of a fusion, the instructions inside that do."""
    found = []
    for user in computation.users[instruction.name]:
        programs = module.called(user) if user.opcode == "fusion" else []
        number = user.operands.index(instruction.name)
        if programs and number < len(programs[0].parameters):
            parameter = programs[0].parameters[number]
            found += programs[0].users[parameter.name]
        else:
            found.append(user)
    return found


def _nearby(computation: Computation, instruction: Instruction) -> tuple[Origin, ...]:
    """The origins of who uses a result, or else of its operands, however far away."""
    after, before = computation.users.get, computation.instructions.get
    for step in (
        lambda i: after(i.name, []),
        lambda i: [o for name in i.operands if (o := before(name)) is not None],
    ):
        seen, level = {instruction.name}, [instruction]
        while level:
            level = [n for i in level for n in step(i) if n.name not in seen]
            seen.update([i.name for i in level])
            if found := _origins(level):
                return found
    return ()


def kind_of(module: Module, instruction: Instruction) -> Kind:
    """The kind of kernel that an instruction is."""
    opcode, target = instruction.opcode, instruction.target
    if opcode == "fusion":
        if {i.opcode for i in parts(module, instruction)} <= {"copy"}:
            return "copy"
        return _FUSIONS.get(instruction.attributes.get("kind", ""), "loop fusion")
    if opcode == "call":
        looped = any([i.opcode == "while" for i in module.inside(instruction)])
        return "loop in one kernel" if looped else "function in one kernel"
    if opcode in ("copy", "copy-start"):
        return "copy"
    if opcode.removesuffix("-start") in COLLECTIVES:
        return "collective"
    if opcode == "custom-call":
        if "python" in target:
            return "library" if is_in_numpy(instruction) else "callback"
        return "library" if target.startswith(_LIBRARIES) else "custom call"
    return "library" if opcode in _OF_LIBRARIES else "operation"


def users(computation: Computation, instruction: Instruction) -> Iterator[Instruction]:
    """Who uses a result, in whatever form, each once; and the computation's result."""
    seen, waiting = set[str](), [instruction]
    while waiting:
        value = waiting.pop(0)
        if value.is_root and value is not instruction:
            yield value
        for user in computation.users[value.name]:
            if user.name in seen:
                continue
            seen.add(user.name)
            if user.opcode in ("bitcast", "get-tuple-element", "tuple"):
                waiting.append(user)
            else:
                yield user
