"""Which operations the time of a kernel belongs to.

A kernel names the operations in it with their source lines. Where a line has several
of one name (an unrolled loop of layers), any of them may be meant: the kernels that
name them are dealt out in order, and their time is divided among all. Within a kernel,
operations have parts of its time by what each would take alone.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from covector.analysis.compiled.hlo import Origin
from covector.analysis.compiled.kernels import Kernel
from covector.analysis.explain.data import ProgramEquation, ProgramLine
from covector.analysis.explain.tables import BACKWARD


class Place(NamedTuple):
    """A line of the forward or the backward pass."""

    file: str
    line: int
    backward: bool


class Key(NamedTuple):
    """What a kernel says of an operation in it."""

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
      weights: of each equation, the time that it would take alone.
    """

    def __init__(
        self,
        lines: Sequence[ProgramLine],
        equations: Sequence[ProgramEquation],
        kernels: Sequence[Kernel],
        weights: Sequence[float],
    ) -> None:
        self.weights = weights
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
        #: for each kernel the keys of what is in it, and the kernels of each key
        self.inside = [self._found(kernel.origins) for kernel in kernels]
        self.kernels: dict[Key, list[int]] = {}
        for k, keys in enumerate(self.inside):
            for key in keys:
                self.kernels.setdefault(key, []).append(k)

    def _found(self, origins: Iterable[Origin]) -> list[Key]:
        """The keys of these origins; of a line, where it has no such operation."""
        wanted = dict.fromkeys(map(_key_of, origins))
        known = [key for key in wanted if key in self.equations]
        if known:
            return known
        places = dict.fromkeys([self._nearest(key.place) for key in wanted])
        return [key for place in places for key in self.keys.get(place, ())]

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
        found: list[int | None] = [None] * count
        for key, kernels in self.kernels.items():
            members = self.equations[key]
            for n, i in enumerate(members):
                found[i] = kernels[n * len(kernels) // len(members)]
        return found

    def shares(self, seconds: Sequence[float]) -> list[float]:
        """The share of each equation, for the time of each kernel; together 1."""
        weight = {
            key: sum([self.weights[i] for i in members]) or len(members) * 1e-12
            for key, members in self.equations.items()
        }
        of_key = dict.fromkeys(self.equations, 0.0)
        for keys, time in zip(self.inside, seconds, strict=True):
            parts = [weight[key] / len(self.kernels[key]) for key in keys]
            for key, part in zip(keys, parts, strict=True):
                of_key[key] += time * part / sum(parts)
        total = sum(of_key.values())
        shares = [0.0] * len(self.weights)
        for key, members in self.equations.items():
            for i in members if total else ():
                own = self.weights[i] or 1e-12
                shares[i] = of_key[key] / total * own / weight[key]
        return shares
