"""HLO modules as data: computations of instructions, with the lines they come from.

    %mul.5 = f32[64,32]{1,0} multiply(%add.2, %sub.0), metadata={op_name="layer/mul" …}

is an instruction: a name, a shape, an opcode, operands, and attributes, which stay text
until somebody asks. ``reading.py`` makes modules of their text.
"""

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from covector.core.source import Line
from covector.errors import short_name


class Origin(NamedTuple):
    """Where an instruction comes from: an operation, at a line of the user's program.

    ``scope`` holds the names that the user gave (``named_scope``), as ``a/b``.
    """

    operation: str
    scope: str
    file: str
    line: int
    function: str

    @property
    def place(self) -> tuple[str, int, str]:
        """The file, line and function."""
        return self.file, self.line, self.function

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({short_name(self.function)})"


def place_of(line: Line) -> tuple[str, int, str]:
    """The file, line and function of a line that was kept while tracing."""
    return line.file, line.number, line.function


class Shape(NamedTuple):
    """The shape of an array, or of a tuple: then ``parts`` are its elements'."""

    dtype: str
    sizes: tuple[int, ...]
    layout: str
    parts: tuple["Shape", ...] = ()

    @property
    def size(self) -> int:
        """The number of elements, of all parts of a tuple together."""
        if self.dtype == "tuple":
            return sum([part.size for part in self.parts])
        return math.prod(self.sizes)

    @property
    def bytes(self) -> int:
        if self.dtype == "tuple":
            return sum([part.bytes for part in self.parts])
        return (self.size * _bits(self.dtype) + 7) // 8

    def __str__(self) -> str:
        if self.dtype == "tuple":
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join(map(str, self.sizes))}]"


@functools.cache
def _bits(dtype: str) -> int:
    """The bits of one element: those in the name, twice for complex numbers of pairs;
    a token has none.
    """
    if dtype == "pred":
        return 8
    found = re.search(r"\d+", dtype)
    return int(found[0]) if found else 0


@dataclass(eq=False, slots=True)
class Instruction:
    """One instruction; ``operands`` and ``called`` are names, found in its module."""

    name: str
    shape: Shape
    opcode: str
    operands: tuple[str, ...]
    #: the text between the parentheses: operands, or the value of a constant
    argument: str
    is_root: bool
    rest: str = field(repr=False)
    origin: Origin | None
    _attributes: dict[str, str] | None = field(default=None, repr=False)

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes by name, as they are written."""
        if self._attributes is None:
            parts = [part.partition("=") for part in split(self.rest)]
            self._attributes = {key.strip(): value.strip() for key, _, value in parts}
        return self._attributes

    @property
    def called(self) -> list[str]:
        """Names of the computations that it calls, in the order they are written."""
        return [
            name
            for key, value in self.attributes.items()
            if key in _CALLS
            for name in _NAME.findall(value)
        ]

    @property
    def target(self) -> str:
        """The target of a custom call, the library of a fusion, or nothing."""
        target = self.attributes.get("custom_call_target", "").strip('"')
        if target or self.opcode != "fusion":
            return target
        found = _FUSION_KIND.search(self.attributes.get("backend_config", ""))
        return found[1].strip("_") if found else ""

    @property
    def trip_count(self) -> int | None:
        """The number of steps of a loop, where the compiler knows."""
        found = _TRIP_COUNT.search(self.attributes.get("backend_config", ""))
        return int(found[1]) if found else None


@dataclass(eq=False)
class Computation:
    """A program of instructions, operands before those who use them."""

    name: str
    instructions: dict[str, Instruction]

    @property
    def root(self) -> Instruction:
        """The instruction whose result is that of the computation."""
        found = [i for i in self.instructions.values() if i.is_root]
        return found[0] if found else [*self.instructions.values()][-1]

    @functools.cached_property
    def parameters(self) -> list[Instruction]:
        """In the order of the operands of a call."""
        found = [i for i in self.instructions.values() if i.opcode == "parameter"]
        numbers = {i: i.argument.strip() for i in found}
        known = [i for i in found if numbers[i].isdecimal()]
        return sorted(known, key=lambda i: int(numbers[i]))

    @functools.cached_property
    def users(self) -> dict[str, list[Instruction]]:
        """Who uses each instruction, by name, each user once."""
        found: dict[str, list[Instruction]] = {name: [] for name in self.instructions}
        for instruction in self.instructions.values():
            for name in dict.fromkeys(instruction.operands):
                found.setdefault(name, []).append(instruction)
        return found

    def operands(self, instruction: Instruction) -> list[Instruction]:
        """The instructions whose results one uses."""
        found = self.instructions
        return [found[name] for name in instruction.operands if name in found]


@dataclass(eq=False)
class Module:
    """A module; ``aliases`` are pairs of a result's index and a parameter's number."""

    name: str
    computations: dict[str, Computation]
    entry: Computation
    aliases: tuple[tuple[str, int], ...]
    #: parameters whose memory is given up
    donors: tuple[int, ...]
    #: what kernels are made of, as far as it was asked for
    parts: dict[Instruction, Sequence[Instruction]] = field(default_factory=dict)

    @functools.cached_property
    def callers(self) -> dict[str, tuple[Computation, Instruction]]:
        """The callers of each computation, by its name, and where they are."""
        return {
            name: (computation, instruction)
            for computation in self.computations.values()
            for instruction in computation.instructions.values()
            for name in instruction.called
        }

    def called(self, instruction: Instruction) -> list[Computation]:
        """The computations that an instruction calls."""
        return [
            self.computations[n] for n in instruction.called if n in self.computations
        ]

    def inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instructions of the computations that one calls, at any depth."""
        for computation in self.called(instruction):
            for inner in computation.instructions.values():
                yield inner
                yield from self.inside(inner)

    @property
    def origins(self) -> set[Origin]:
        """Where its instructions come from."""
        return {
            i.origin
            for c in self.computations.values()
            for i in c.instructions.values()
            if i.origin is not None
        }


def opcodes(names: str) -> frozenset[str]:
    """A set of opcodes, written with spaces between them."""
    return frozenset(names.split())


#: attributes that name computations
_CALLS = opcodes(
    """
    async_computation branch_computations body called_computations calls condition
    false_computation scatter select to_apply true_computation
    """
)
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)")
_FUSION_KIND = re.compile(r'"fusion_config":\{"kind":"([^"]*)"')
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\](){},]')


def closing(text: str, opening: int) -> int:
    """Where the bracket that opens at an index is closed; the end if it is not."""
    for mark, depth, at in _marks(text, opening):
        if mark in ")]}" and not depth:
            return at
    return len(text)


def split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    commas = [at for mark, depth, at in _marks(text) if mark == "," and not depth]
    ends = zip([0, *[at + 1 for at in commas]], [*commas, len(text)], strict=True)
    return [part for start, end in ends if (part := text[start:end]).strip()]


def _marks(text: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """Brackets and commas outside of quotes: the mark, how many brackets are open after
    it, and where it is.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        if len(mark) == 1:
            yield mark, depth, token.start()
