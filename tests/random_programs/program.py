"""A random program as data: blocks of steps, which can be written out and changed.

A ``Program`` is one block of code with its arguments. A block is a function:
parameters, steps in order, results. A step is a line of Python with holes for what it
reads, and for the blocks that it runs (the branches of a ``cond``, the body of a loop):

    Step(outs=(v7,), template="lax.cond({0}, {f}, {g}, {1})", operands=(b2, v3),
         blocks=(f4, g5))

What is run is the text that is printed, so that a program which fails is a script.
"""

import dataclasses
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: names of a step's blocks in its template
HOLES = "fghk"


@dataclass(frozen=True)
class Var:
    """A variable of a program; ``active`` where it depends on active arguments."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    active: bool = False

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Block:
    """A function: ``returns`` is its last line, with holes for the results."""

    name: str
    parameters: tuple[Var, ...]
    steps: tuple["Step", ...]
    results: tuple[Var, ...]
    returns: str = "{0}"


@dataclass(frozen=True)
class Step:
    """A line of a block, and the blocks that stand in front of it.

    ``numbers`` (lengths of loops, say) may be made smaller without another type of a
    result; ``constants`` are float64 numbers that become globals of the script;
    ``simpler`` are templates that give results of the same types with less.
    """

    outs: tuple[Var, ...]
    template: str
    operands: tuple[Var, ...] = ()
    blocks: tuple[Block, ...] = ()
    numbers: tuple[int, ...] = ()
    constants: tuple[tuple[str, float], ...] = ()
    simpler: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        holes = {h: b.name for h, b in zip(HOLES, self.blocks, strict=False)}
        holes |= {f"n{i}": n for i, n in enumerate(self.numbers)}
        holes |= {f"c{i}": name for i, (name, _) in enumerate(self.constants)}
        return self.template.format(*[v.name for v in self.operands], **holes)


@dataclass(frozen=True, eq=False)
class Program:
    """A block and the arguments that it is run with.

    ``exact``: all in float64; ``forward``: every rule in it serves forward mode.
    """

    block: Block
    arguments: tuple[np.ndarray, ...]
    exact: bool
    forward: bool
    seed: int

    @property
    def active(self) -> list[int]:
        """Which of the arguments are differentiated."""
        return [i for i, v in enumerate(self.block.parameters) if v.active]

    @property
    def constants(self) -> dict[str, float]:
        """The globals that the steps read."""
        return dict(c for step in walk(self.block) for c in step.constants)

    @property
    def size(self) -> int:
        return sum(1 for _ in walk(self.block))

    def source(self) -> str:
        """The program as Python, for the names of ``prelude``."""
        constants = [f"{name} = {value!r}" for name, value in self.constants.items()]
        return "\n".join([*constants, *_lines(self.block)]) + "\n"

    def function(self, constants: dict[str, float] | None = None) -> Callable[..., Any]:
        """The function that the text defines, in a new module."""
        from tests.random_programs import prelude  # noqa: PLC0415  it imports covector

        space = {k: v for k, v in vars(prelude).items() if not k.startswith("_")}
        exec(compile(self.source(), f"<program {self.seed}>", "exec"), space)
        space.update(constants or {})
        return space[self.block.name]

    def written_arguments(self) -> str:
        """The arguments as Python."""
        return "".join(
            f"{v.name} = cnp.array({x.tolist()!r}, {v.dtype!r})\n"
            for v, x in zip(self.block.parameters, self.arguments, strict=True)
        )


def _lines(block: Block) -> Iterator[str]:
    names = ", ".join([v.name for v in block.parameters])
    yield f"def {block.name}({names}):"
    for step in block.steps:
        for inner in step.blocks:
            yield textwrap.indent("\n".join(_lines(inner)), "    ")
        outs = ", ".join([v.name for v in step.outs])
        yield f"    {outs} = {step.text}"
    yield "    return " + block.returns.format(*[v.name for v in block.results])


def walk(block: Block) -> Iterator[Step]:
    """All steps, those of inner blocks first."""
    for step in block.steps:
        for inner in step.blocks:
            yield from walk(inner)
        yield step


def read_by(block: Block) -> set[str]:
    """The names that a block reads, its own variables included."""
    names = {v.name for v in block.results}
    for step in block.steps:
        names |= {v.name for v in step.operands}
        for inner in step.blocks:
            names |= read_by(inner)
    return names


def is_whole(block: Block, outer: frozenset[str] = frozenset()) -> bool:
    """Whether every variable that is read has been written before."""
    known = outer.union(v.name for v in block.parameters)
    for step in block.steps:
        if not known.issuperset(v.name for v in step.operands):
            return False
        if not all(is_whole(inner, known) for inner in step.blocks):
            return False
        known = known.union(v.name for v in step.outs)
    return known.issuperset(v.name for v in block.results)


def without_unused(block: Block) -> Block:
    """The block without steps whose results nobody reads."""
    needed = {v.name for v in block.results}
    kept = []
    for step in reversed(block.steps):
        if any(v.name in needed for v in step.outs):
            blocks = tuple(map(without_unused, step.blocks))
            kept.append(dataclasses.replace(step, blocks=blocks))
            needed |= {v.name for v in step.operands}
            needed |= {name for inner in blocks for name in read_by(inner)}
    return dataclasses.replace(block, steps=tuple(reversed(kept)))
