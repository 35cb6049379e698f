"""Stops of the debugger: a line, or a variable, and on which values.

``at`` and ``watch`` make them; they know nothing of how programs are traced or run.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from covector.errors import ArgumentError, did_you_mean

#: the number of a step or a lane; of nested ones all of them, the outermost first
Numbers = int | tuple[int, ...]


class Position(NamedTuple):
    """The part of a running program that a callback is called from.

    steps   of the loops around, the outermost first
    lanes   of the vmaps around, the outermost first
    shard   the index along each axis of the mesh
    """

    steps: tuple[int, ...]
    lanes: tuple[int, ...]
    shard: Mapping[Any, int]

    def __str__(self) -> str:
        axes = [f"{axis} = {i}" for axis, i in self.shard.items()]
        parts = [
            _named("step", self.steps),
            _named("lane", self.lanes),
            "shard " + ", ".join(axes) if axes else "",
        ]
        return ", ".join([part for part in parts if part])


def _named(name: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"{name} {numbers[0] if len(numbers) == 1 else tuple(numbers)}"


@dataclass(eq=False)
class Stop:
    """Where to stop. It counts what passes by, for one run of ``debug``."""

    step: Numbers | None = None
    lane: Numbers | None = None
    shard: Any = None
    when: Callable[..., Any] | None = None
    #: how often it came by where no loop is, for each lane and shard
    arrivals: dict[Any, int] = field(default_factory=dict, repr=False)
    #: positions that came by, of the first and the last
    seen: list[Position] = field(default_factory=list, repr=False)
    stopped: int = field(default=0, repr=False)

    def arrives(self, position: Position) -> Position | None:
        """The position where it is wanted; None elsewhere.

        Outside of all traced loops a step is one of Python: the number of times that
        the program has come here.
        """
        steps, lanes, shard = position
        if not steps:
            key = lanes, tuple(shard.items())
            count = self.arrivals.get(key, 0)
            self.arrivals[key] = count + 1
            position = Position((count,), lanes, shard)
        del self.seen[1:]
        self.seen.append(position)
        here = (
            _matches(self.step, position.steps)
            and _matches(self.lane, lanes)
            and self._on_shard(shard)
        )
        return position if here else None

    def _on_shard(self, shard: Mapping[Any, int]) -> bool:
        if self.shard is None:
            return True
        if isinstance(self.shard, Mapping):
            return all([shard.get(a) == i for a, i in self.shard.items()])
        return _matches(self.shard, tuple(shard.values()))

    def again(self) -> "Stop":
        """The same stop, that has seen nothing yet."""
        fields = {k: v for k, v in vars(self).items() if k in self._chosen}
        return type(self)(**fields)

    _chosen = ("step", "lane", "shard", "when")


@dataclass(eq=False)
class At(Stop):
    """A stop at a line of a file."""

    file: str = ""
    line: int = 0

    _chosen = (*Stop._chosen, "file", "line")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def is_file(self, file: str) -> bool:
        """Whether a file is the one that was named, by the end of its path."""
        wanted, found = self.file.split("/"), file.replace(os.sep, "/").split("/")
        return found[-len(wanted) :] == wanted

    def check_names(self, variables: Mapping[str, Any]) -> None:
        """Refuse a condition on variables that there are not."""
        if self.when is None:
            return
        wanted = _parameters(self.when)
        for name in wanted or ():
            if name not in variables:
                raise ArgumentError(
                    f"debug.at({str(self)!r}): the condition takes {name}, but there "
                    f"is no such variable at that line."
                    f"{did_you_mean(name, tuple(variables))} The variables are "
                    f"{', '.join(variables) or 'none'}."
                )

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Whether the condition holds for the variables of the frame."""
        if self.when is None:
            return True
        names = _parameters(self.when)
        given = variables if names is None else {n: variables[n] for n in names}
        return _answer(self, self.when(**given))


@dataclass(eq=False)
class Watch(Stop):
    """A stop where a variable gets another value, or one for which something holds."""

    name: str = ""
    #: the last value, for each lane and shard
    last: dict[Any, Any] = field(default_factory=dict, repr=False)

    _chosen = (*Stop._chosen, "name")

    def __str__(self) -> str:
        return f"watch of {self.name}"

    def changes(self, value: Any, position: Position) -> bool:
        """Whether the value is one to stop at."""
        if self.when is not None:
            return _answer(self, self.when(value))
        key = position.lanes, tuple(position.shard.items())
        before = self.last.get(key)
        self.last[key] = value
        return before is not None and not _same(before, value)


def _same(x: Any, y: Any) -> bool:
    try:
        return bool(np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True))
    except Exception:  # noqa: BLE001  what is not an array
        return x is y


def _answer(stop: Stop, found: Any) -> bool:
    try:
        return bool(found)
    except Exception:  # noqa: BLE001  of any object
        raise ArgumentError(
            f"{stop}: the condition must give one bool, but gave {found!r}. For one "
            "answer of many use .any() or .all()."
        ) from None


def _parameters(when: Callable[..., Any]) -> list[str] | None:
    """The names that a condition takes; None if it takes all that there are."""
    parameters = inspect.signature(when).parameters.values()
    if any([p.kind is p.VAR_KEYWORD for p in parameters]):
        return None
    return [p.name for p in parameters]


def _matches(wanted: Numbers | None, found: tuple[int, ...]) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, tuple):
        return wanted == found
    return bool(found) and found[-1] == wanted


# -- as users write them ---------------------------------------------------------------


def at(
    line: str,
    *,
    step: Numbers | None = None,
    lane: Numbers | None = None,
    shard: int | Mapping[Any, int] | None = None,
    when: Callable[..., Any] | None = None,
) -> Stop:
    """A stop before a line is run, for ``debug.debug``.

    Args:
      line: ``"model.py:40"``; a longer path where several files have the name.
      step: the step of the innermost loop, from 0 on; a tuple has one number for each
        loop around, the outermost first. Outside of scan, while_loop, fori_loop and
        map, how often the line was reached before: a step of a loop of Python.
      lane: the lane of the innermost vmap; a tuple, as of ``step``.
      shard: in a shard_map, the index along the axis of the mesh, or a dict of axes.
      when: a condition on variables of that line, by the names of its parameters:
        ``lambda loss: loss > 10``; ``lambda **variables: …`` gets all of them.

    Raises:
      ArgumentError: this is not a line, or no number.

    >>> from covector import debug
    >>> str(debug.at("model.py:40", step=37, lane=5))
    'model.py:40'
    """
    file, _, number = str(line).rpartition(":")
    if not isinstance(line, str) or not file or not number.isdigit():
        raise ArgumentError(
            f'debug.at takes a file and a line, "model.py:40", but got {line!r}.'
        )
    _check("debug.at", when, step=step, lane=lane)
    file = file.replace(os.sep, "/").removeprefix("./")
    return At(step, lane, shard, when, file=file, line=int(number))


def watch(
    name: str,
    *,
    step: Numbers | None = None,
    lane: Numbers | None = None,
    shard: int | Mapping[Any, int] | None = None,
    when: Callable[[Any], Any] | None = None,
) -> Stop:
    """A stop where a variable of any of your functions gets another value.

    Args:
      name: of the variable.
      when: a condition on its value, ``lambda loss: loss > 10``, in place of a change.
      step, lane, shard: as of ``debug.at``.

    Raises:
      ArgumentError: this is not a name, or no number.

    >>> from covector import debug
    >>> str(debug.watch("loss", when=lambda loss: loss > 10))
    'watch of loss'
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(
            f"debug.watch takes the name of a variable, but got {name!r}."
        )
    _check("debug.watch", when, step=step, lane=lane)
    return Watch(step, lane, shard, when, name=name)


def _check(who: str, when: Any, **numbers: Any) -> None:
    for name, given in numbers.items():
        parts = given if isinstance(given, tuple) else (given,)
        if given is not None and not all([type(i) is int and i >= 0 for i in parts]):
            raise ArgumentError(
                f"{who}: {name} must be a number from 0 on, or a tuple of them for "
                f"nested ones, but got {given!r}."
            )
    if when is not None and not callable(when):
        raise ArgumentError(f"{who}: when must be a function, but got {when!r}.")
