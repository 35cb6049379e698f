"""Making random programs: the scope that a step is written in, and who writes it.

A ``Writer`` is a function that adds a step to a scope; ``arrays.py`` and ``blocks.py``
hold them. What they promise together, so that a difference is a fault:

    values stay within about ±2, and slopes are moderate: rounding is not magnified
    integers, bools and kinks depend on arguments that are not differentiated, or are
    shifted by a constant that no expression hits: nothing is decided by a rounding
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.random_programs.program import Block, Program, Step, Var, read_by

FLOAT, BOOL = "float64", "bool"
INTEGERS = ("int32", "int64", "int8", "uint8", "uint32")
SHAPES = [(), (3,), (4,), (2, 3), (3, 2), (3, 4), (4, 3), (1, 3), (2, 2), (2, 3, 2)]

#: a writer and how often it is chosen
Writer = Callable[["Scope"], None]
WRITERS: list[tuple[float, Writer]] = []


def writer(weight: float = 1.0) -> Callable[[Writer], Writer]:
    """Have steps written by the decorated function."""

    def add(write: Writer) -> Writer:
        WRITERS.append((weight, write))
        return write

    return add


class Maker:
    """What a whole program has: random numbers, names, a number of steps to go."""

    def __init__(self, seed: int, steps: int, exact: bool, devices: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.left = steps
        self.exact = exact
        #: whether every function in it has a rule for forward mode
        self.forward = self.chance(0.7)
        #: over how many devices parts of the program run
        self.devices = self.choose([n for n in (1, 2, 4) if n <= devices])
        self.count = 0

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def choose(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)


class Scope:
    """The variables that a step may read, and the steps of one block so far."""

    def __init__(
        self,
        maker: Maker,
        parameters: Sequence[Var],
        outer: "Scope | None" = None,
        axis: tuple[str, int] | None = None,
        closed: str = "",
    ) -> None:
        self.maker = maker
        #: what is not read from outside: nothing, "active" variables, or "all"
        self.closed = closed
        self.parameters = tuple(parameters)
        self.own = list(parameters)
        self.outer = outer
        self.steps: list[Step] = []
        self.depth = 0 if outer is None else outer.depth + 1
        #: the names and sizes of axes that collectives may name here
        inherited = () if outer is None or closed == "all" else outer.axes
        self.axes = inherited if axis is None else (*inherited, axis)

    def visible(self) -> list[Var]:
        """All variables, those of this block three times: later steps build on them."""
        outer = [] if self.outer is None else self.outer.visible()
        if self.closed:
            outer = [v for v in outer if self.closed == "active" and not v.active]
        return [*outer, *self.own, *self.own, *self.own]

    # -- reading ------------------------------------------------------------------

    def find(self, wanted: Callable[[Var], bool]) -> Var | None:
        found = [v for v in self.visible() if wanted(v)]
        return self.maker.choose(found) if found else None

    def float_(self, ndim: int | None = None, fixed: bool = False) -> Var:
        """A float64 variable; ``fixed``: one that is not active."""
        found = self.find(
            lambda v: (
                v.dtype == FLOAT
                and (ndim is None or len(v.shape) == ndim)
                and not (fixed and v.active)
            )
        )
        if found is not None:
            return found
        shape = self.maker.choose([s for s in SHAPES if ndim in (None, len(s))])
        return self.fitted(shape, fixed=fixed)

    def fitted(self, shape: tuple[int, ...], fixed: bool = False) -> Var:
        """A float64 variable of a shape, made of another one where there is none."""
        found = self.find(
            lambda v: v.dtype == FLOAT and v.shape == shape and not (fixed and v.active)
        )
        if found is not None and self.maker.chance(0.9):
            return found
        of = self.find(lambda v: v.dtype == FLOAT and not (fixed and v.active))
        assert of is not None, "every program has floating-point arguments that stay"
        return self.add(f"cnp.resize({{0}}, {shape})", [of], FLOAT, shape)

    def integer(self, shape: tuple[int, ...] | None = None) -> Var:
        """An integer variable."""
        found = self.find(
            lambda v: v.dtype in INTEGERS and (shape is None or v.shape == shape)
        )
        if found is not None:
            return found
        of = self.find(lambda v: v.dtype in INTEGERS)
        assert of is not None and shape is not None, "every program has integers"
        return self.add(f"cnp.resize({{0}}, {shape})", [of], of.dtype, shape)

    def index(self, bound: int, shape: tuple[int, ...] = ()) -> Var:
        """An integer variable with values from 0 to ``bound`` - 1."""
        of = self.integer(shape)
        kind = self.maker.choose(["int32", "int64", "uint8", of.dtype])
        text = f"({{0}} % {bound}).astype('{kind}')"
        return self.add(text, [of], kind, shape)

    def flag(self, shape: tuple[int, ...] = ()) -> Var:
        """A bool variable."""
        found = self.find(lambda v: v.dtype == BOOL and v.shape == shape)
        if found is not None and self.maker.chance(0.6):
            return found
        if self.maker.chance(0.5):
            bound = int(self.maker.rng.integers(3))
            return self.add(f"{{0}} % 3 > {bound}", [self.integer(shape)], BOOL, shape)
        of = self.fitted(shape, fixed=True)
        return self.add("{0} > {c0}", [of], BOOL, shape, constants=[(-0.6, 0.6)])

    # -- writing ------------------------------------------------------------------

    def add(
        self,
        template: str,
        operands: Sequence[Var],
        dtype: str,
        shape: Sequence[int],
        constants: Sequence[tuple[float, float]] = (),
        **more: Any,
    ) -> Var:
        """A step with one result. ``constants``: from where to where they may be."""
        active = dtype == FLOAT and any([v.active for v in operands])
        active = more.pop("active", active)
        outs = [(dtype, tuple(shape), active)]
        return self.add_several(template, operands, outs, constants, **more)[0]

    def add_several(
        self,
        template: str,
        operands: Sequence[Var],
        outs: Sequence[tuple[str, tuple[int, ...], bool]],
        constants: Sequence[tuple[float, float]] = (),
        **more: Any,
    ) -> list[Var]:
        """A step with several results."""
        variables = [Var(self.maker.name("v"), *out) for out in outs]
        named = tuple([(self.maker.name("C"), self._number(*c)) for c in constants])
        step = Step(
            tuple(variables), template, tuple(operands), constants=named, **more
        )
        self.steps.append(step)
        self.own += variables
        self.maker.left -= 1
        return variables

    def _number(self, low: float, high: float) -> float:
        """A number that no expression of other numbers hits."""
        return float(np.round(self.maker.rng.uniform(low, high), 3)) + 0.000137

    def block(  # noqa: PLR0917
        self,
        parameters: Sequence[tuple[str, tuple[int, ...], bool]],
        results: Sequence[tuple[str, tuple[int, ...]]],
        returns: str | None = None,
        axis: tuple[str, int] | None = None,
        fixed: bool = False,
        closed: str = "",
    ) -> Block:
        """A function of what is to be passed to it, which sees this scope as well."""
        given = [Var(self.maker.name("a"), *p) for p in parameters]
        inner = Scope(self.maker, given, self, axis, closed)
        wanted = int(self.maker.rng.integers(1, 5))
        before = self.maker.left
        while self.maker.left > max(0, before - wanted):
            inner.write()
        outs = [inner.result(*r, fixed) for r in results]
        returns = returns or ", ".join([f"{{{i}}}" for i in range(len(outs))])
        return Block(
            self.maker.name("f"), tuple(given), tuple(inner.steps), tuple(outs), returns
        )

    def result(self, dtype: str, shape: tuple[int, ...], fixed: bool) -> Var:
        """Something of a type to return, rather what was written last."""
        if dtype == FLOAT:
            mine = [
                v
                for v in self.own
                if v.dtype == FLOAT and v.shape == shape and not (fixed and v.active)
            ]
            value = mine[-1] if mine else self.fitted(shape, fixed)
            for end in self.unread()[-2:]:
                if end is not value and not (fixed and end.active):
                    text = "({0} + cnp.cos(cnp.sum({1}))) / 2"
                    value = self.add(text, [value, end], FLOAT, shape)
            return value
        if dtype == BOOL:
            return self.flag(shape)
        of = self.integer(shape)
        if of.dtype == dtype:
            return of
        return self.add(f"{{0}}.astype('{dtype}')", [of], dtype, shape)

    def unread(self) -> list[Var]:
        """The floats of this block that no step has read yet."""
        read = read_by(Block("", (), tuple(self.steps), ()))
        made = [v for step in self.steps for v in step.outs]
        return [v for v in made if v.name not in read and v.dtype == FLOAT]

    def write(self) -> None:
        """A step of any kind, or a few."""
        weights = np.array([w for w, _ in WRITERS])
        k = self.maker.rng.choice(len(WRITERS), p=weights / weights.sum())
        WRITERS[int(k)][1](self)


def arguments(rng: Any) -> list[tuple[Var, np.ndarray]]:
    """The arguments of a program: two that move, two floats that do not, integers."""

    def floats(*shape: int) -> np.ndarray:
        return np.round(rng.uniform(-1.2, 1.2, shape), 3)

    second = SHAPES[int(rng.integers(len(SHAPES)))]
    return [
        (Var("x", FLOAT, (3,), True), floats(3)),
        (Var("y", FLOAT, second, True), floats(*second)),
        (Var("p", FLOAT, (), False), floats()),
        (Var("q", FLOAT, (2, 3), False), floats(2, 3)),
        (Var("k", "int32", (), False), rng.integers(0, 6, ()).astype("int32")),
        (Var("m", "int32", (4,), False), rng.integers(-5, 9, 4).astype("int32")),
        (Var("u", "uint8", (3,), False), rng.integers(0, 256, 3).astype("uint8")),
    ]


def make(seed: int, devices: int = 1) -> Program:
    """The program of a seed: 10 to 60 steps, those of inner blocks included."""
    from tests.random_programs import arrays, blocks  # noqa: F401, PLC0415  writers

    rng = np.random.default_rng([seed, 1])
    steps = int(
        rng.choice([10, 14, 20, 30, 45, 60], p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05])
    )
    maker = Maker(seed, steps, exact=bool(rng.random() < 0.75), devices=devices)
    given = arguments(rng)
    scope = Scope(maker, [v for v, _ in given])
    while maker.left > 0:
        scope.write()
    results = _ends(scope)
    returns = ", ".join([f"{{{i}}}" for i in range(len(results))]) + ","
    block = Block("program", scope.parameters, tuple(scope.steps), results, returns)
    return Program(
        block, tuple([x for _, x in given]), maker.exact, maker.forward, seed
    )


def _ends(scope: Scope) -> tuple[Var, ...]:
    """The results: what no step reads, and at least one that is active."""
    made = [v for step in scope.steps for v in step.outs]
    read = read_by(Block("", (), tuple(scope.steps), ()))
    ends = [v for v in made if v.name not in read][-6:]
    if not any(v.active for v in ends):
        ends.append([v for v in (*scope.parameters, *made) if v.active][-1])
    return tuple(ends)
