"""Which operations the time of a kernel belongs to.

A kernel names the operations in it with their source lines. Where a line has several
of one name (an unrolled loop of layers), any of them may be meant: the kernels that
name them are dealt out in order, and their time is divided among all, by what each
would take alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from covector.analysis.compiled.hlo import Origin
from covector.analysis.explain.data import ProgramEquation, ProgramLine
from covector.analysis.explain.tables import BACKWARD

#: seconds of an operation that takes none, so that it can have a part of a kernel
_LEAST = 1e-12


class Place(NamedTuple):
    """A line of the forward or the backward pass."""

    file: str
    line: int
    backward: bool


class Key(NamedTuple):
    """The metadata of an operation in a kernel."""

    place: Place
    operation: str


def _place_of(line: ProgramLine) -> Place:
    return Place(line.file, line.line, BACKWARD in line.scope)


def _key_of(origin: Origin) -> Key:
    place = Place(origin.file, origin.line, BACKWARD in origin.scope)
    return Key(place, origin.operation)


class Attribution:
    """The operations of a program by what kernels say of them.

    Args:
      parts: for each kernel the part of its work that each of its operations has.
      weights: of each equation, the time that it would take alone.
    """

    def __init__(
        self,
        lines: Sequence[ProgramLine],
        equations: Sequence[ProgramEquation],
        parts: Sequence[Mapping[Origin, float]],
        weights: Sequence[float],
    ) -> None:
        self.weights = [weight or _LEAST for weight in weights]
        places = list(map(_place_of, lines))
        #: equations by key, and keys and lines by place
        self.equations: dict[Key, list[int]] = {}
        self.keys: dict[Place, list[Key]] = {}
        self.lines: dict[Place, list[int]] = {}
        for i, place in enumerate(places):
            self.lines.setdefault(place, []).append(i)
        for i, e in enumerate(equations):
            key = Key(places[e.line], e.operation)
            if key not in self.equations:
                self.keys.setdefault(key.place, []).append(key)
            self.equations.setdefault(key, []).append(i)
        #: the weight of each key
        self.of_key = {
            key: sum([self.weights[i] for i in members])
            for key, members in self.equations.items()
        }
        #: for each kernel the part of its work that each key has
        self.parts = list(map(self._by_key, parts))

    def _by_key(self, parts: Mapping[Origin, float]) -> dict[Key, float]:
        """The parts of keys; of a line, where it has no operation of that name."""
        found: dict[Key, float] = {}
        for origin, part in parts.items():
            key = _key_of(origin)
            keys = [key] if key in self.equations else self._at(key.place)
            total = sum([self.of_key[k] for k in keys])
            for k in keys:
                found[k] = found.get(k, 0) + part * self.of_key[k] / total
        return found

    def _at(self, place: Place) -> list[Key]:
        return self.keys.get(self._nearest(place), [])

    def _nearest(self, place: Place) -> Place:
        """The line itself, or the same one of the other pass."""
        if place in self.lines:
            return place
        return place._replace(backward=not place.backward)

    def lines_of(self, origins: Iterable[Origin]) -> tuple[int, ...]:
        """The numbers of the lines that origins are at."""
        places = dict.fromkeys([self._nearest(_key_of(o).place) for o in origins])
        return tuple([i for place in places for i in self.lines.get(place, ())])

    def lines_at(self, places: Iterable[tuple[str, int]]) -> tuple[int, ...]:
        """The numbers of the lines in these files, in both passes."""
        both = [
            Place(*place, backward) for place in places for backward in (False, True)
        ]
        return tuple([i for place in both for i in self.lines.get(place, ())])

    def line_at(self, place: tuple[str, int] | None) -> int | None:
        """The first of them."""
        return None if place is None else (*self.lines_at([place]), None)[0]

    def kernel_of_each(self, count: int) -> list[int | None]:
        """For each equation the kernel that it is a part of."""
        kernels: dict[Key, list[int]] = {}
        for k, parts in enumerate(self.parts):
            for key in parts:
                kernels.setdefault(key, []).append(k)
        found: list[int | None] = [None] * count
        for key, members in kernels.items():
            equations = self.equations[key]
            for n, i in enumerate(equations):
                found[i] = members[n * len(members) // len(equations)]
        return found

    def shares(self, seconds: Sequence[float]) -> list[float]:
        """The share of each equation, for the time of each kernel; together 1."""
        taken = dict.fromkeys(self.equations, 0.0)
        for parts, time in zip(self.parts, seconds, strict=True):
            for key, part in parts.items():
                taken[key] += time * part
        total = sum(taken.values())
        shares = [0.0] * len(self.weights)
        for key, members in self.equations.items():
            for i in members if total else ():
                part = self.weights[i] / self.of_key[key]
                shares[i] = taken[key] / total * part
        return shares
