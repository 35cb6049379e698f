"""``fusion_plan``: the kernels of a compiled program, what was not fused, and why."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from covector.analysis.compiled import kernels, programs
from covector.analysis.compiled.hlo import Computation, Instruction, Module, opcodes
from covector.analysis.compiled.kernels import Kernel

__all__ = ["FusionPlan", "Kernel", "NotFused", "fusion_plan"]


@dataclass(frozen=True)
class NotFused:
    """Two kernels, the second of which uses the result of the first.

    ``reason`` says why they are two where that is known; ``bytes`` is the size of what
    one writes and the other reads.
    """

    producer: str
    consumer: str
    bytes: int
    reason: str | None


@dataclass(frozen=True)
class FusionPlan:
    """The kernels of a compiled program in the order in which they run.

    ``module`` is the name of the program in profiles, ``instructions`` the number of
    instructions in it that compute something.
    """

    module: str
    kernels: tuple[Kernel, ...]
    not_fused: tuple[NotFused, ...]
    instructions: int

    @property
    def fusions(self) -> list[Kernel]:
        """Kernels of several operations each."""
        return [k for k in self.kernels if len(k.operations) > 1]

    def by_line(self) -> dict[tuple[str, int], list[Kernel]]:
        """The kernels in which the operations of a line (file, number) are."""
        found: dict[tuple[str, int], list[Kernel]] = {}
        for kernel in self.kernels:
            for line in kernel.lines:
                found.setdefault(line, []).append(kernel)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The plan as data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        shown = [f"{self.module}: {len(self.kernels)} kernels"]
        shown += [f"  {kernel}" for kernel in self.kernels]
        for each in self.not_fused:
            if each.reason is not None:
                pair = f"{each.producer} → {each.consumer}"
                shown.append(f"  not fused: {pair}: {each.reason}")
        return "\n".join(shown)


def fusion_plan(fun: programs.Function) -> Callable[..., FusionPlan]:
    """The kernels that the compiler fused operations into, by the lines of the program.

    Args:
      fun: a function of arrays, jitted or not; or what ``lower`` or ``compile`` of a
        jitted function returned: then the plan takes no arguments.

    Returns:
      a function of the arguments of ``fun``, or of ``ShapeDtypeStruct``s in their
      place, that compiles and does not run it.

    Raises:
      ArgumentError: a compiled function was given, and arguments too.

    >>> import covector as cv, covector.numpy as cnp
    >>> x = cnp.ones(1000)
    >>> plan = fusion_plan(lambda x: cnp.sin(x) * 2 + 1)(x)
    >>> [(k.kind, k.operations) for k in plan.kernels]
    [('loop fusion', ('sine', 'broadcast', 'multiply', 'broadcast', 'add'))]
    """

    def planned(*args: Any, **kwargs: Any) -> FusionPlan:
        return plan_of(programs.compiled(fun, args, kwargs, "fusion_plan").optimised())

    return planned


def plan_of(module: Module) -> FusionPlan:
    """The plan of a module that is optimised already."""
    made = kernels.describe(module)
    count = sum([len(k.operations) for k in made])
    return FusionPlan(module.name, tuple(made), tuple(_not_fused(module)), count)


# -- what was not fused ----------------------------------------------------------------


class _Edge(NamedTuple):
    """A kernel, and one that uses its result, in one computation."""

    producer: Instruction
    consumer: Instruction
    #: all that use the result, the computation's own result among them
    users: list[Instruction]


def _not_fused(module: Module) -> Iterator[NotFused]:
    found = kernels.find(module)
    names = {each.instruction.name for each in found}
    for instruction, computation, _, _ in found:
        users = list(kernels.users(computation, instruction))
        for user in users:
            if user.name not in names and user.opcode not in kernels.CONTAINERS:
                continue
            edge = _Edge(instruction, user, users)
            yield NotFused(
                instruction.name,
                user.name,
                instruction.shape.bytes,
                _reason(module, computation, edge),
            )


_BOUNDARIES = {
    "library": "a library computes it",
    "custom call": "it is a call of compiled code",
    "callback": "it is a call of Python",
    "collective": "it is communication between devices",
    "loop in one kernel": "it is a loop, compiled as one kernel",
    "function in one kernel": "it is a function, compiled as one kernel",
    "copy": "it is a copy",
}
_ALONE = {
    "sort": "it sorts",
    "scatter": "it scatters",
    "while": "it is a loop",
    "conditional": "it is a branch",
    "call": "it is a call of a function that is compiled by itself",
    "rng-bit-generator": "it generates random bits",
}
_EXPENSIVE = opcodes(
    """
    atan2 cosine cbrt divide exponential exponential-minus-one erf log log-plus-one
    logistic power remainder rsqrt sine sqrt tan tanh
    """
)
_REPEATING = frozenset({"broadcast", "gather", "reduce-window", "dot", "convolution"})


def _reason(module: Module, computation: Computation, edge: _Edge) -> str | None:
    """Why two kernels are not one, where it is known."""
    for instruction in (edge.producer, edge.consumer):
        why = _boundary(module, instruction)
        if why is not None:
            return f"{instruction.name}: {why}"
    name = edge.producer.name
    others = [user for user in edge.users if user is not edge.consumer]
    if any([user.is_root for user in others]):
        return f"the result of {name} is a result of the program too"
    if others:
        count = len(edge.users)
        return f"{count} kernels use the result of {name}, and each would compute it"
    work = {i.opcode for i in kernels.parts(module, edge.producer)}
    if work & {"reduce", "reduce-window"}:
        return f"the sum or reduction in {name} ends before its result is used"
    repeats = {i.opcode for i in kernels.parts(module, edge.consumer)} & _REPEATING
    costly = sorted(work & _EXPENSIVE)
    if costly and repeats:
        return (
            f"{edge.consumer.name} may use an element several times, and would compute "
            f"{costly[0]} each time"
        )
    return None


def _boundary(module: Module, instruction: Instruction) -> str | None:
    """Why an instruction is not fused with any other."""
    if instruction.opcode in _ALONE and not kernels.is_one_kernel(instruction):
        return _ALONE[instruction.opcode]
    if kernels.is_in_numpy(instruction):
        return "it sorts, in NumPy"
    why = _BOUNDARIES.get(kernels.kind_of(module, instruction))
    if why is not None:
        return why
    scatters = any([i.opcode == "scatter" for i in kernels.parts(module, instruction)])
    return _ALONE["scatter"] if scatters else None
