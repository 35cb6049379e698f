"""The work of instructions: floating-point operations, and bytes that move.

The counts are those of XLA's own analysis: an elementwise operation is one for each
element of the result, a product of matrices two for each pair of numbers, and functions
such as sine are counted by themselves. What a fused program reads through a slice
counts as the slice.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator

from covector.analysis.compiled.hlo import (
    Computation,
    Instruction,
    Module,
    Shape,
    opcodes,
)

_TRANSCENDENTAL = opcodes(
    """
    atan2 acos acosh asin asinh atanh cbrt cosh cosine erf exponential
    exponential-minus-one log log-plus-one logistic power rsqrt sine sinh sqrt tan tanh
    """
)
#: operations that compute one number for each element of their result
_ELEMENTWISE = opcodes(
    """
    abs add and ceil clamp clz compare complex convert count-leading-zeros divide floor
    imag is-finite maximum minimum multiply negate not or popcnt real reduce-precision
    remainder round-nearest-afz round-nearest-even select shift-left
    shift-right-arithmetic shift-right-logical sign stochastic-convert subtract xor
    """
)
_SLICES = frozenset({"slice", "dynamic-slice", "gather"})
_WINDOW_SIZE = re.compile(r"size=([\dx]+)")
_NUMBER = re.compile(r"\d+")


def arithmetic(
    module: Module, computation: Computation, instruction: Instruction
) -> tuple[int, int]:
    """The operations of one run of an instruction, and its transcendental functions."""
    opcode, size = instruction.opcode, instruction.shape.size
    if opcode in _ELEMENTWISE:
        return size, 0
    if opcode in _TRANSCENDENTAL:
        return 0, size
    if opcode in _CALLS:
        return _inside(module, instruction)
    if opcode == "conditional":
        branches = [_sum(module, c) for c in module.called(instruction)]
        return max(branches, default=(0, 0))
    operands = [o.shape for o in computation.operands(instruction)]
    if len(operands) < _OPERANDS.get(opcode, 1):
        return 0, 0  # a text that is not whole
    if opcode in _RUNS:
        runs = _RUNS[opcode](instruction, operands)
        return _times(_inside(module, instruction), runs)
    if opcode in _BY_ITSELF:
        return _BY_ITSELF[opcode](instruction, operands), 0
    return 0, 0


# Programs that an operation runs for each of some elements: how often.


def _reduced(instruction: Instruction, operands: list[Shape]) -> int:
    count = max(1, len(operands) // 2)
    taken = sum([shape.size for shape in operands[:count]]) // count
    return taken - _first(instruction).size


def _reduced_windows(instruction: Instruction, operands: list[Shape]) -> int:
    if is_element_loop(instruction):
        return _first(instruction).size
    return _first(instruction).size * (_window(instruction) - 1)


def _window(instruction: Instruction) -> int:
    """The elements of a window."""
    window = _WINDOW_SIZE.search(instruction.attributes.get("window", ""))
    return math.prod(map(int, window[1].split("x"))) if window else 1


def is_element_loop(instruction: Instruction) -> bool:
    """Whether it runs a program for each element, as ``lowering/element_loops`` has it:
    a reduction over windows of one element, of several results.
    """
    several = instruction.opcode == "reduce-window" and bool(instruction.shape.parts)
    return several and _window(instruction) == 1


def _first(instruction: Instruction) -> Shape:
    return (instruction.shape.parts or (instruction.shape,))[0]


_RUNS: dict[str, Callable[[Instruction, list[Shape]], int]] = {
    "all-reduce": lambda i, operands: _first(i).size,
    "map": lambda i, operands: i.shape.size,
    "reduce": _reduced,
    "reduce-scatter": lambda i, operands: _first(i).size,
    "reduce-window": _reduced_windows,
    "scatter": lambda i, operands: operands[-1].size,
    "select-and-scatter": lambda i, operands: operands[0].size,
    "while": lambda i, operands: 1 if i.trip_count is None else i.trip_count,
}
_CALLS = opcodes("fusion call async-start")


# Operations without programs.

#: how many operands there must be for an operation to be counted, if not one
_OPERANDS = {"convolution": 2}


def _product(instruction: Instruction, operands: list[Shape]) -> int:
    """Two for each number of the result and each along the contracted axes."""
    axes = _numbers(instruction.attributes.get("lhs_contracting_dims", ""))
    sizes = operands[0].sizes
    contracted = [sizes[k] for k in axes if k < len(sizes)]
    return 2 * instruction.shape.size * math.prod(contracted)


def _convolution(instruction: Instruction, operands: list[Shape]) -> int:
    """Two for each number of the result and each of the kernel that it takes."""
    labels = re.split(r"_|->", instruction.attributes.get("dim_labels", ""))
    if len(labels) != 3:
        return 0
    outputs = labels[1].find("o")
    taken = [n for axis, n in enumerate(operands[1].sizes) if axis != outputs]
    return 2 * instruction.shape.size * math.prod(taken)


def _comparisons(instruction: Instruction, operands: list[Shape]) -> int:
    length = max([2, *operands[0].sizes])
    return operands[0].size * math.ceil(math.log2(length))


def _butterflies(instruction: Instruction, operands: list[Shape]) -> int:
    """Of a Fourier transform: four products and sums for each of log₂ n levels."""
    length = math.prod(_numbers(instruction.attributes.get("fft_length", "")))
    size = max(instruction.shape.size, operands[0].size)
    return round(8 * size * math.log2(max(length, 1)))


_BY_ITSELF: dict[str, Callable[[Instruction, list[Shape]], int]] = {
    "convolution": _convolution,
    "dot": _product,
    "fft": _butterflies,
    "sort": _comparisons,
}


def _times(work: tuple[int, int], count: int) -> tuple[int, int]:
    return work[0] * count, work[1] * count


def _inside(module: Module, instruction: Instruction) -> tuple[int, int]:
    """The operations of all computations that an instruction calls, once each."""
    return _added([_sum(module, c) for c in module.called(instruction)])


def _sum(module: Module, computation: Computation) -> tuple[int, int]:
    instructions = computation.instructions.values()
    return _added([arithmetic(module, computation, i) for i in instructions])


def _added(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    pairs = [*parts]
    return sum([flops for flops, _ in pairs]), sum([more for _, more in pairs])


def _numbers(text: str) -> list[int]:
    return list(map(int, _NUMBER.findall(text)))


# -- parts of a kernel -----------------------------------------------------------------

#: how many multiplications a function such as sine takes, roughly
_COST_OF_FUNCTION = 10
#: how many bytes are moved in the time of one
_BYTES_PER_OPERATION = 8
_FREE = opcodes("parameter constant tuple get-tuple-element bitcast broadcast iota")


def weights(
    module: Module, computation: Computation, instruction: Instruction, times: int = 1
) -> Iterator[tuple[Instruction, float]]:
    """The instructions of a kernel, and roughly how much of its work each does."""
    opcode = instruction.opcode
    if opcode in ("fusion", "call", "while", "conditional", "async-start"):
        steps = (instruction.trip_count or 1) if opcode == "while" else 1
        yield from _weights_inside(module, instruction, times * steps)
    elif is_element_loop(instruction):
        yield from _weights_inside(
            module, instruction, times * _first(instruction).size
        )
    elif opcode not in _FREE:
        flops, functions = arithmetic(module, computation, instruction)
        computed = flops + _COST_OF_FUNCTION * functions
        moved = sum(_traffic(instruction, computation.operands(instruction)))
        yield instruction, times * (computed or moved / _BYTES_PER_OPERATION)


def _weights_inside(
    module: Module, instruction: Instruction, times: int
) -> Iterator[tuple[Instruction, float]]:
    for inside in module.called(instruction):
        for inner in inside.instructions.values():
            yield from weights(module, inside, inner, times)


# -- bytes -----------------------------------------------------------------------------


def traffic(
    module: Module, computation: Computation, instruction: Instruction
) -> tuple[int, int]:
    """The bytes that one run of a kernel reads and writes."""
    operands = {i.name: i for i in computation.operands(instruction)}
    if instruction.opcode == "fusion":
        (program, *_) = module.called(instruction) or [None]
        if program is not None:
            return _traffic_of_fusion(program, instruction)
    return _traffic(instruction, [*operands.values()])


def _traffic(instruction: Instruction, operands: list[Instruction]) -> tuple[int, int]:
    written = instruction.shape.bytes
    if instruction.opcode in _SLICES:
        return written + sum([o.shape.bytes for o in operands[1:]]), written
    if instruction.opcode == "dynamic-update-slice" and len(operands) > 1:
        update = operands[1].shape.bytes
        return update + sum([o.shape.bytes for o in operands[2:]]), update
    return sum([o.shape.bytes for o in operands]), written


def _traffic_of_fusion(
    program: Computation, instruction: Instruction
) -> tuple[int, int]:
    reads = sum([_bytes_read(program, p) for p in program.parameters])
    roots = [_computed(program, program.root)]
    if roots[0].opcode == "tuple":
        roots = [_computed(program, i) for i in program.operands(roots[0])]
    if any([root.opcode == "dynamic-update-slice" for root in roots]):
        return reads, sum([_bytes_written(program, root) for root in roots])
    return reads, instruction.shape.bytes


def _computed(program: Computation, instruction: Instruction) -> Instruction:
    """The instruction whose result this is in another form."""
    while instruction.opcode == "bitcast" and program.operands(instruction):
        instruction = program.operands(instruction)[0]
    return instruction


def _bytes_written(program: Computation, root: Instruction) -> int:
    operands = program.operands(root)
    if root.opcode == "dynamic-update-slice" and len(operands) > 1:
        return operands[1].shape.bytes
    return root.shape.bytes


def _bytes_read(program: Computation, parameter: Instruction) -> int:
    """The bytes that a fused program reads of a parameter: all, or only slices."""
    parts, waiting, whole = 0, [parameter], parameter.shape.bytes
    while waiting:
        value = waiting.pop()
        for user in program.users[value.name]:
            if user.opcode == "bitcast":
                waiting.append(user)
            elif user.opcode in _SLICES and user.operands[0] == value.name:
                parts += user.shape.bytes
            elif user.opcode != "dynamic-update-slice" or (
                user.operands[0] != value.name
            ):
                return whole
    return min(parts, whole)
