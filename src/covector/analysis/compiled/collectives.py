"""Collectives: what the devices of a program send each other, by line and mesh axis."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covector.analysis.compiled import kernels
from covector.analysis.compiled.hlo import Instruction, Module, Origin
from covector.analysis.compiled.programs import Subject
from covector.analysis.walk import visits
from covector.core.sharding.mesh import Mesh
from covector.operations.collectives import Collective as Communication


@dataclass(frozen=True)
class Collective:
    """A communication between the devices of a program.

    ``bytes`` is the size of what each device gives or gets, the larger of the two;
    ``axes`` are the mesh axes along which devices communicate, None where the compiler
    does not say. ``written`` is whether the program has it (``psum``), or the compiler
    inserted it so that values are where operations need them. ``origins`` are the
    operations that it serves.
    """

    name: str
    operation: str
    bytes: int
    axes: tuple[str, ...] | None
    written: bool
    times: int
    origins: tuple[Origin, ...]

    def __str__(self) -> str:
        lines = ", ".join(dict.fromkeys(map(str, self.origins)))
        over = "some devices" if self.axes is None else f"over {', '.join(self.axes)}"
        by = "written" if self.written else "inserted by the compiler"
        return f"{self.operation} of {self.bytes} bytes {over}, {by} ({lines})"


def collectives_of(subject: Subject) -> tuple[Collective, ...]:
    """The communication in a program; none where one device runs it."""
    if len(subject.program.lowered.devices) == 1:
        return ()
    return tuple(find(subject.optimised(), subject))


def find(module: Module, subject: Subject) -> list[Collective]:
    """The communication in what a program was optimised to."""
    placement = subject.program.lowered.mesh_placement
    mesh = None if placement is None else placement.mesh
    operations = [visit.equation.op for visit in visits(subject.jaxpr)]
    names = {op.name for op in operations if isinstance(op, Communication)}
    found = {each.instruction.name: each for each in kernels.find(module)}
    made = []
    for kernel in kernels.describe(module):
        if kernel.kind != "collective":
            continue
        instruction, computation, times, _ = found[kernel.name]
        given = sum([o.shape.bytes for o in computation.operands(instruction)])
        made.append(
            Collective(
                kernel.name,
                instruction.opcode.removesuffix("-start"),
                max(given, instruction.shape.bytes),
                None if mesh is None else axes_of(instruction, mesh),
                any([o.operation in names for o in kernel.origins]),
                times,
                kernel.origins,
            )
        )
    return made


# -- along which axes ------------------------------------------------------------------


def axes_of(instruction: Instruction, mesh: Mesh) -> tuple[str, ...] | None:
    """The mesh axes along which the devices of a group differ."""
    attributes = instruction.attributes
    if "source_target_pairs" in attributes:
        groups = _lists(attributes["source_target_pairs"])
    else:
        # The comma before the order of a mesh looks like one between attributes.
        order = attributes.get("device_ids", "")
        text = attributes.get("replica_groups", "") + (
            order and f", device_ids={order}"
        )
        groups = groups_of(text, mesh.size)
    if groups is None:
        return None
    sizes = tuple(mesh.shape.values())
    differing: set[int] = set()
    for group in groups:
        if any([not 0 <= device < mesh.size for device in group]):
            return None
        coordinates = np.stack(np.unravel_index(np.asarray(group, int), sizes))
        differing.update(np.flatnonzero(np.ptp(coordinates, axis=1)).tolist())
    return tuple([str(n) for k, n in enumerate(mesh.axis_names) if k in differing])


_LIST = re.compile(r"\{([\d, ]+)\}")
_TILES = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?$")
_MESH = re.compile(
    r"mesh\[([^\]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))? \{([^}]*)\}$"
)
_AXIS = re.compile(r"'([^']*)'=(\d+)")
_USED = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")


def groups_of(text: str, count: int) -> Sequence[Sequence[int]] | None:
    """The groups of devices, by their numbers, in one of the three forms of XLA.

    They are lists, tiles of a transposed range, or axes of a mesh that it made up; None
    for what else there may be.
    """
    text = text.strip()
    if text in ("", "{}"):
        return [range(count)]
    if text.startswith("{"):
        return _lists(text)
    tiles = _TILES.match(text)
    if tiles:
        return _permuted(tiles[2], tiles[3]).reshape(_numbers(tiles[1])).tolist()
    mesh = _MESH.match(text)
    if mesh is None:
        return None
    devices = _permuted(mesh[2] or str(count), mesh[3])
    return _along(_AXIS.findall(mesh[1]), mesh[4], devices)


def _permuted(sizes: str, order: str | None) -> np.ndarray:
    """The devices of a grid, with its axes in another order."""
    shape = _numbers(sizes)
    devices = np.arange(math.prod(shape)).reshape(shape)
    return devices.transpose(_numbers(order)) if order else devices


def _along(
    axes: Sequence[tuple[str, str]], used: str, devices: np.ndarray
) -> list[list[int]] | None:
    """The groups along axes of a mesh (name, size), or along a part of an axis: of
    ``'a':(2)4`` that of size 4, after one of size 2.
    """
    parts = {n: (int(b or 1), int(s or 0)) for n, b, s in _USED.findall(used)}
    sizes, along = [], []
    for name, size in axes:
        before, part = parts.get(name, (1, 0))
        whole = int(size)
        if name in parts:
            along.append(len(sizes) + 1)
        part = part or (whole if name in parts else 1)
        sizes += [before, part, whole // (before * part)]
    if len(along) < len(parts):
        return None
    others = [k for k in range(len(sizes)) if k not in along]
    length = math.prod([sizes[k] for k in along])
    grid = devices.reshape(sizes)
    return grid.transpose(others + along).reshape(-1, length).tolist()


def _lists(text: str) -> list[list[int]]:
    return [_numbers(group) for group in _LIST.findall(text)]


def _numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]
