"""HLO modules as data: computations of instructions, read from XLA's text.

The text is what ``Compiled.as_text()`` gives, what XLA dumps, and what a profile holds.
Tables at its head name the files, functions and lines that instructions refer to:

    %mul.5 = f32[64,32]{1,0} multiply(%add.2, %sub.0),
        metadata={op_name="layer/mul" stack_frame_id=5}

An instruction that this module has never heard of is read like any other: a name, a
shape, an opcode, operands, and attributes that stay text until somebody asks.
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
            parts = [part.partition("=") for part in _split(self.rest)]
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
        """How many steps a loop takes, where the compiler knows."""
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
        return sorted(found, key=lambda i: int(i.argument or 0))

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
    #: how many devices run it
    partitions: int
    #: what kernels are made of, as far as it was asked for
    parts: dict[Instruction, Sequence[Instruction]] = field(default_factory=dict)

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


# -- reading ---------------------------------------------------------------------------

_CALLS = frozenset(
    {
        "calls",
        "to_apply",
        "body",
        "condition",
        "branch_computations",
        "true_computation",
        "false_computation",
        "called_computations",
        "select",
        "scatter",
        "async_computation",
        "output_to_operand_aliasing",
    }
)
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)")
_FUSION_KIND = re.compile(r'"fusion_config":\{"kind":"([^"]*)"')
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_ARRAY = re.compile(r"([a-z]\w*)\[([^\]]*)\](\{[^}]*\})?")
_OPERAND = re.compile(r"%([\w.\-]+)")
_BARE_OPERAND = re.compile(
    r"(?:^|,)\s*(?:[a-z]\w*\[[^\]]*\]\S*\s+)?([\w.\-]+)\s*(?=,|$)"
)
_COMMENT = re.compile(r"/\*.*?\*/")
_METADATA = re.compile(r"metadata=\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\}")
_FIELD = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^\s}]+))')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\](){},]')
_ROW = re.compile(r"^(\d+) (.*)$")
_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+), \{[\d, ]*\}")
_DONOR = re.compile(r"\((\d+), \{")


def parse(text: str) -> Module:
    """The module of a text; of several modules, the first."""
    lines = text.splitlines()
    tables, start = _tables(lines)
    frames = _Frames(tables)
    computations: dict[str, Computation] = {}
    entry = current = None
    for line in lines[start:]:
        made = _instruction(line, frames) if current is not None else None
        if made is not None and current is not None:
            current.instructions[made.name] = made
            continue
        head = _HEAD.match(line)
        if head:
            current = computations[head[2]] = Computation(head[2], {})
            entry = current if head[1] else entry
        elif line.startswith("}"):
            current = None
        elif line.startswith("HloModule "):
            break  # that of another device, or another program
    header = next((line for line in lines if line.startswith("HloModule ")), "")
    name = header.removeprefix("HloModule ").partition(",")[0].strip()
    if entry is None:
        entry = [Computation("", {}), *computations.values()][-1]
    attributes = dict(_pair(part) for part in _split(header.partition(",")[2]))
    aliases = _ALIAS.findall(attributes.get("input_output_alias", ""))
    donors = _DONOR.findall(attributes.get("buffer_donor", ""))
    return Module(
        name,
        computations,
        entry,
        tuple([(index.strip(), int(number)) for index, number in aliases]),
        tuple(map(int, donors)),
        int(attributes.get("num_partitions", 1)),
    )


def _pair(part: str) -> tuple[str, str]:
    key, _, value = part.partition("=")
    return key.strip(), value.strip()


_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def _tables(lines: Sequence[str]) -> tuple[dict[str, dict[int, str]], int]:
    """The tables at the head, and the number of the line after the module's own."""
    found: dict[str, dict[int, str]] = {name: {} for name in _TABLES}
    table, start = None, 0
    for number, line in enumerate(lines):
        if line in found:
            table = found[line]
        elif table is not None and (row := _ROW.match(line)):
            table[int(row[1])] = row[2]
        elif line.startswith("HloModule "):
            if start:
                break
            start = number + 1
        elif _HEAD.match(line):
            break
    return found, start


class _Frames:
    """The tables of files, functions, locations and frames, looked up by number."""

    def __init__(self, tables: dict[str, dict[int, str]]) -> None:
        self.tables = tables
        self.origin = functools.cache(self._origin)

    def _origin(self, metadata: str) -> Origin | None:
        """The origin that metadata tells of; None where it names no line."""
        fields = {key: text or bare for key, text, bare in _FIELD.findall(metadata)}
        scope, _, operation = _unquoted(fields.get("op_name", "")).rpartition("/")
        if "stack_frame_id" in fields:
            found = self._line(int(fields["stack_frame_id"]))
            return None if found is None else Origin(operation, scope, *found)
        if "source_file" not in fields:
            return None
        line = int(fields.get("source_line", 0))
        return Origin(operation, scope, _unquoted(fields["source_file"]), line, "")

    def _line(self, frame: int) -> tuple[str, int, str] | None:
        try:
            location = _numbers(self.tables["StackFrames"][frame])["file_location_id"]
            place = _numbers(self.tables["FileLocations"][location])
            file = self.tables["FileNames"][place["file_name_id"]]
            function = self.tables["FunctionNames"][place["function_name_id"]]
        except KeyError:
            return None
        names = _unquoted(file.strip('"')), _unquoted(function.strip('"'))
        return names[0], place.get("line", 0), names[1]


def _numbers(row: str) -> dict[str, int]:
    return {key: int(n) for key, n in re.findall(r"(\w+)=(-?\d+)", row)}


_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}


def _unquoted(text: str) -> str:
    """A text that C++ escaped: bytes that are no ASCII are octal numbers in it."""
    if "\\" not in text:
        return text

    def byte(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if len(code) == 3 else _CONTROLS.get(code, code)

    return _ESCAPE.sub(byte, text).encode("latin1", "replace").decode("utf8", "replace")


def _instruction(line: str, frames: _Frames) -> Instruction | None:
    """The instruction of a line; None if there is none."""
    head = _INSTRUCTION.match(line)
    if head is None:
        return None
    body = line[head.end() :]
    shape, at = _shape(body)
    opcode = _OPCODE.match(body, at)
    if opcode is None:
        return Instruction(
            head[2], shape, body[at:].strip(), (), "", bool(head[1]), "", None
        )
    end = _closing(body, opcode.end() - 1)
    argument, rest = body[opcode.end() : end], body[end + 1 :].lstrip(", ")
    metadata = _METADATA.search(rest)
    operands: Sequence[str] = ()
    if opcode[1] not in ("parameter", "constant", "iota"):
        bare = _COMMENT.sub("", argument)
        operands = (_OPERAND if "%" in bare else _BARE_OPERAND).findall(bare)
    return Instruction(
        head[2],
        shape,
        opcode[1],
        tuple(operands),
        argument,
        bool(head[1]),
        rest,
        None if metadata is None else frames.origin(metadata[1]),
    )


def _shape(text: str, at: int = 0) -> tuple[Shape, int]:
    """The shape at the head of a text, and where it ends."""
    if text.startswith("(", at):
        end = _closing(text, at) + 1
        inner = _COMMENT.sub("", text[at + 1 : end - 1])
        parts = tuple(
            [_shape(part.strip())[0] for part in _split(inner) if part.strip()]
        )
        return Shape("tuple", (), "", parts), end
    end = text.find(" ", at)
    end = len(text) if end < 0 else end
    return _array_shape(text[at:end]), end


@functools.lru_cache(4096)
def _array_shape(text: str) -> Shape:
    found = _ARRAY.match(text)
    if found is None:
        return Shape(text, (), "")
    sizes = tuple([int(n) for n in re.findall(r"\d+", found[2])])
    return Shape(found[1], sizes, found[3] or "")


def _closing(text: str, opening: int) -> int:
    """Where the bracket that opens at an index is closed; the end if it is not."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        mark = token[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if not depth:
                return token.start()
    return len(text)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == "," and not depth:
            parts.append(text[start : token.start()])
            start = token.end()
    parts.append(text[start:])
    return [part for part in parts if part.strip()]
