"""``Origin``: where bad values began, in words and as data."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.source import Line, at_line
from covector.nonfinite.kinds import Kinds
from covector.nonfinite.replay import Finding
from covector.programs.higher_order.program_primitive import Where
from covector.transforms.batch import BatchTracer

#: numbers of an operand up to which a message shows them all
_SHOWN = 8


@dataclass(frozen=True)
class Operand:
    """A value that an operation was given.

    type    such as ``f32[3]``
    text    its values, or the range of many
    values  up to 8 of them; None of more
    here    the element that the bad one was made of; None where that is not one
    """

    type: str
    text: str
    values: Any = None
    here: Any = None

    def __str__(self) -> str:
        return self.type + self.text


@dataclass(frozen=True)
class Origin:
    """The first operation that made a NaN or an infinity; false if there is none.

    kind          "NaN", "infinity", or None
    operation     the name of the operation; None if the value came in from outside
    operands      what it was given
    index         the bad element of the result, as the lane or the shard has it
    line          the line of the user's program that asked for it
    forward_line  the same for an operation of a backward pass, and else None
    step          of the loop around; of nested ones all, the outermost first
    lane          of the vmap around; of nested ones all, the outermost first
    shard         of the shard_map around: the index along each axis of the mesh
    argument      where the value came in, in words: ``argument params['w'][3, 4]``
    reason        why, where it is a classical one
    suggestion    what to write instead
    cause         what made the infinity that it was given
    """

    kind: str | None = None
    operation: str | None = None
    operands: tuple[Operand, ...] = ()
    index: tuple[int, ...] | None = None
    line: Line | None = None
    forward_line: Line | None = None
    step: int | tuple[int, ...] | None = None
    lane: int | tuple[int, ...] | None = None
    shard: dict[Any, int] | None = None
    argument: str | None = None
    constant: bool = False
    trail: tuple[Where, ...] = ()
    reason: str | None = None
    suggestion: str | None = None
    cause: "Origin | None" = None
    note: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return self.kind is not None

    def in_lane(self, i: int) -> "Origin":
        """The same, found in lane i of a vmap inside of those that are known."""
        outer = next((k for k, w in enumerate(self.trail) if w.kind != "lane"), None)
        at = len(self.trail) if outer is None else outer
        trail = (*self.trail[:at], in_lane(i), *self.trail[at:])
        return replace(self, trail=trail, lane=numbers(trail, "lane"))

    @property
    def sentence(self) -> str:
        """The operation, its operands, its line, and where in the program it ran."""
        trail = "".join([where.text for where in reversed(self.trail)])
        if self.argument is not None:
            return f"{self.kind} came in with {self.argument}, {self.operands[0]}"
        if self.constant:
            read = at_line(self.line, ", read")
            return f"{self.kind} stands in the program as a constant{read}{trail}"
        made = at_line(self.line, " made")
        shown = ", ".join(map(str, self.operands))
        return f"first {self.kind}: {self.operation} of {shown}{made}{trail}"

    def __str__(self) -> str:
        if not self:
            return self.note
        return "\n  ".join([self.sentence, *self._details()])

    def _details(self) -> list[str]:
        rows = {
            "element": self._element(),
            "step": _numbers(self.step),
            "lane": _numbers(self.lane),
            "shard": self.shard
            and ", ".join([f"{a} = {i}" for a, i in self.shard.items()]),
            "backward pass of": self.forward_line and str(self.forward_line),
            "infinity": self.cause
            and self.cause.sentence.removeprefix("first infinity: "),
            "why": self.reason,
            "write": self.suggestion,
            "note": self.note,
        }
        return [f"{name}: {text}" for name, text in rows.items() if text]

    def _element(self) -> str:
        if not self.index or self.argument is not None:
            return ""
        here = [x.here for x in self.operands]
        of = "" if None in here else f", of {', '.join(map(str, here))}"
        return f"[{', '.join(map(str, self.index))}]{of}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "kind": self.kind,
            "operation": self.operation,
            "operands": [vars(x) for x in self.operands],
            "index": _list(self.index),
            "line": _line(self.line),
            "forward_line": _line(self.forward_line),
            "step": _list(self.step),
            "lane": _list(self.lane),
            "shard": self.shard and {str(a): i for a, i in self.shard.items()},
            "argument": self.argument,
            "constant": self.constant,
            "reason": self.reason,
            "suggestion": self.suggestion,
            "cause": self.cause.to_dict() if self.cause else None,
            "note": self.note,
        }


def _numbers(found: Any) -> str:
    return "" if found is None else str(found)


def _list(found: Any) -> Any:
    return list(found) if isinstance(found, tuple) else found


def _line(line: Line | None) -> dict[str, Any] | None:
    if line is None:
        return None
    return {"file": line.file, "line": line.number, "function": line.function}


# -- from a finding --------------------------------------------------------------------


@dataclass(frozen=True)
class Spot:
    """A bad element: on which device, and where in the array of that."""

    kind: str
    shard: dict[Any, int]
    index: tuple[int, ...]
    #: the same of vmaps whose lanes communicate, the outermost first
    lanes: dict[Any, int] = field(default_factory=dict)

    @classmethod
    def first(cls, kinds: Kinds, values: Sequence[Any]) -> "Spot":
        """The first bad element of some values, of which one is bad."""
        x = values[kinds.first(values) or 0]
        mask = kinds.mask(x)
        index = [] if mask is None else [int(i) for i in np.argwhere(mask)[0]]
        shard, lanes = {}, {}
        for tracer in reversed(_tracers(x)):
            found = lanes if tracer.owner.name == "vmap" else shard
            found[tracer.owner.axis_name] = index.pop(tracer.dim)
        kind = kinds.found_in(x) or "NaN"
        return cls(kind, shard, tuple(index), lanes)

    def on_device(self, x: Any) -> Any:
        """The values of an operand on this device; None if they cannot be looked at."""
        tracers = _tracers(x)
        x = tracers[-1].value if tracers else x
        if type(x) is not ConcreteArray or not hasattr(x.type.dtype, "kind"):
            return None
        values = np.asarray(x.host())
        for tracer in reversed(tracers):
            along = {**self.shard, **self.lanes}
            values = values.take(along.get(tracer.owner.axis_name, 0), tracer.dim)
        return values

    def here(self, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        """The element of an operand that a result of this shape has here."""
        if values.shape not in ((), shape) or len(self.index) != len(shape):
            return None
        found = values[self.index] if values.shape else values
        return found.item() if hasattr(found, "item") else None


def _tracers(x: Any) -> list[Any]:
    """The tracers of a batch of batches, the innermost axis first."""
    found = []
    while type(x) is BatchTracer:
        found.append(x)
        x = x.value
    return found


def operand(x: Any, spot: Spot, shape: tuple[int, ...]) -> Operand:
    """An operand in short: its type, and its values or their range."""
    values = spot.on_device(x)
    type_ = str(getattr(x, "type", x))
    if values is None or not values.size:
        return Operand(type_, "")
    here = _plain(spot.here(values, shape))
    if values.size <= _SHOWN:
        text = np.array2string(values, precision=6, separator=", ").replace("\n", "")
        return Operand(type_, f" {text}", _plain(values.tolist()), here)
    if values.dtype.kind == "c":
        return Operand(type_, "", None, here)
    known = values[~np.isnan(values)] if dtypes.is_inexact(x.type.dtype) else values
    if not known.size:
        return Operand(type_, ", all nan", None, here)
    text = f" from {known.min():.6g} to {known.max():.6g}"
    return Operand(type_, text, None, here)


def _plain(x: Any) -> Any:
    """A number, or a list of them, as JSON has them: complex ones as text."""
    if isinstance(x, list):
        return [_plain(v) for v in x]
    return str(x) if isinstance(x, complex) else x


def in_lane(i: int) -> Where:
    """A lane, in the words of messages."""
    return Where(f" in lane {i} of vmap", "lane", i)


def numbers(trail: Sequence[Where], kind: str) -> int | tuple[int, ...] | None:
    """The numbers of the runs of this kind: one, or several; None of none."""
    found = tuple([where.number for where in trail if where.kind == kind])
    return found[0] if len(found) == 1 else found or None


def describe(kinds: Kinds, finding: Finding, name: Any, reason: Any = None) -> Origin:
    """A finding in words; ``name`` says which input of the program one is, and
    ``reason`` why it came so.
    """
    spot = Spot.first(kinds, finding.outs)
    bad = finding.outs[kinds.first(finding.outs) or 0]
    shape = bad.type.shape
    e, trail = finding.equation, finding.trail
    known: dict[str, Any] = {}
    if finding.input is not None:
        at = f"[{', '.join(map(str, spot.index))}]" if spot.index else ""
        known["argument"] = name(finding.input) + at
    elif not finding.constant:
        assert e is not None, "neither an input nor a constant"
        known["operation"] = e.op.name
    line = None if e is None else e.line
    lanes = iter(spot.lanes.values())
    trail = [w if w.number >= 0 else in_lane(next(lanes, 0)) for w in trail]
    origin = Origin(
        kind=spot.kind,
        operands=tuple([operand(x, spot, shape) for x in finding.operands]),
        index=spot.index,
        line=line,
        forward_line=line if line is not None and line.backward else None,
        step=numbers(trail, "step"),
        lane=numbers(trail, "lane"),
        shard=spot.shard or None,
        constant=finding.constant,
        trail=tuple(trail),
        **known,
    )
    return origin if reason is None else reason(origin, finding)
