"""HLO modules from their text: what ``as_text()`` gives, XLA dumps, and profiles hold.

Tables at the head of a module name the files, functions and lines that instructions
refer to by number. What this module has never heard of it reads like all else, and of a
text that is cut off it reads as much as there is.
"""

import functools
import re
from collections.abc import Sequence

from covector.analysis.compiled.hlo import (
    Computation,
    Instruction,
    Module,
    Origin,
    Shape,
    closing,
    split,
)

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
    computations = {n: c for n, c in computations.items() if c.instructions}
    if entry is None or not entry.instructions:
        entry = [Computation("", {}), *computations.values()][-1]
    attributes = dict(_pair(part) for part in split(header.partition(",")[2]))
    aliases = _ALIAS.findall(attributes.get("input_output_alias", ""))
    donors = _DONOR.findall(attributes.get("buffer_donor", ""))
    return Module(
        name,
        computations,
        entry,
        tuple([(index.strip(), int(number)) for index, number in aliases]),
        tuple(map(int, donors)),
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
    end = closing(body, opcode.end() - 1)
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
        end = closing(text, at) + 1
        inner = _COMMENT.sub("", text[at + 1 : end - 1])
        parts = tuple(
            [_shape(part.strip())[0] for part in split(inner) if part.strip()]
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
