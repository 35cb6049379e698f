"""The table of public functions: a row says how arguments are made, and what to ask.

    rows("numpy", "sin cos tan", elementwise("biufc"))

A *sample* of a row is determined by (function, seed, number): the number's arguments of
that seed. ``python -m tests.public numpy.sin --seed 7 --number 3`` shows it again.
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Key, Maker, Scalar
from tests.public.worlds import World

COVECTOR = World("covector")
#: rows by the name of their function
TABLE: dict[str, "Row"] = {}


@dataclass(frozen=True, eq=False)
class Row:
    """A public function: its arguments, and which questions make sense.

    ``make`` draws the arguments: a tuple, or ``(tuple, keywords)``.

    ``numpy``: the reference, if it is not the function of the same name; None where
    NumPy has another meaning. ``jax``: the name in JAX, None likewise.

    ``derivative``: derivatives exist at the smooth samples. ``traced``: the function
    can be traced; otherwise its result depends on values, and tracers are refused.
    None: its result is not an array, so that there is nothing to trace.

    ``rounding``: tolerance in units of machine epsilon. ``cancels``: results may be
    much smaller than operands, so that the tolerance is relative to those.
    ``zeros``: zeros must have NumPy's and JAX's sign. ``shuffled``: the values of an
    operand may be in any order. ``placed``: results are where the operands are.
    ``promotes``: operands are promoted to one dtype, with which NumPy is asked too.

    ``calling(function, *args, **keywords)``: how it is used, where not just called.
    """

    name: str
    make: Maker
    numpy: Any = ""
    jax: str | None = ""
    derivative: bool = True
    traced: bool | None = True
    rounding: float = 32.0
    cancels: bool = False
    zeros: bool = True
    shuffled: bool = True
    placed: bool = True
    promotes: bool = False
    calling: Callable[..., Any] | None = None

    def reference(self, world: World) -> Callable[..., Any] | None:
        """The function as that library has it, or None."""
        if not world.root and self.numpy != "":
            return self.numpy
        if world.root == "jax" and self.jax is None:
            return None
        name = self.jax if world.root == "jax" and self.jax else self.name
        function = world.function(name)
        if function is None or self.calling is None:
            return function
        return functools.partial(self.calling, function)

    def sample(self, seed: int, number: int, smooth: bool = False) -> "Sample":
        draw = Draw(self.name, seed, number, smooth)
        with np.errstate(all="ignore"):
            made = self.make(draw)
        named = len(made) == 2 and type(made[0]) is tuple and type(made[1]) is dict
        args, kwargs = made if named else (made, {})
        return Sample(self, args, kwargs, draw)


@dataclass(frozen=True, eq=False)
class Sample:
    """One call: arguments whose operands are wrapped by what they are."""

    row: Row
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    draw: Draw = field(repr=False)
    cast: Callable[[Any], Any] = lambda x: x

    @property
    def operands(self) -> list[Any]:
        """The operands, in the order in which they stand in the arguments."""
        return list(_operands((self.args, self.kwargs)))

    @property
    def kinds(self) -> str:
        """The kinds of numbers among the operands: NumPy's letters, p for Python's."""
        values = [x for x in self.operands if isinstance(x, np.ndarray)]
        letters = {"f" if x.dtype.kind == "V" else x.dtype.kind for x in values}
        python = [x.value for x in self.operands if isinstance(x, Scalar)]
        letters |= {np.asarray(x).dtype.kind for x in python} | set("p" * bool(python))
        return "".join(sorted(letters))

    def call(self, function: Callable[..., Any], operands: list[Any]) -> list[Any]:
        """The results of a function with these operands filled in, flat."""
        given = iter(operands)
        args, kwargs = _replaced((self.args, self.kwargs), lambda _: next(given))
        return [_numbers(x) for x in _leaves(function(*args, **kwargs))]

    def run(self, world: World) -> list[Any]:
        """The results that a library gives."""
        function = self.row.reference(world)
        assert function is not None, f"{self.row.name} is missing in {world.root}"
        with world.bits(self.draw.x64):
            found = self.call(
                function, [world.operand(self.cast(x)) for x in self.operands]
            )
            return [_concrete(x) for x in found]

    def __str__(self) -> str:
        words = [_code(a) for a in self.args]
        words += [f"{k}={_code(v)}" for k, v in self.kwargs.items()]
        return f"{self.row.name}({', '.join(words)}){' in x64' * self.draw.x64}"


def rows(space: str, names: str, make: Maker, **facts: Any) -> None:
    """Add functions that take the same kind of arguments to the table."""
    for name in names.split():
        path = f"{space}.{name}" if space else name
        assert path not in TABLE, f"{path} has a row already"
        TABLE[path] = Row(path, make, **facts)


def elementwise_functions(space: str, count: int, kind: str) -> list[str]:
    """The functions of so many operands, each of this kind, element by element."""

    def takes_them(row: Row) -> bool:
        kinds = getattr(row.make, "kinds", ())
        function = COVECTOR.function(row.name)
        return (
            row.name.startswith(f"{space}.")
            and row.traced is not None
            and not isinstance(function, type)
            and len(kinds) == count
            and all(kind in k for k in kinds)
        )

    found = [row.name for row in load().values() if takes_them(row)]
    return sorted([name.removeprefix(f"{space}.") for name in found])


# -- arguments as trees of tuples, lists and dicts -------------------------------------


def _operands(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple | list):
        for x in tree:
            yield from _operands(x)
    elif isinstance(tree, dict):
        yield from _operands(list(tree.values()))
    elif isinstance(tree, np.ndarray | Scalar | Key | Function):
        yield tree


def _replaced(tree: Any, by: Callable[[Any], Any]) -> Any:
    if isinstance(tree, tuple | list):
        return type(tree)([_replaced(x, by) for x in tree])
    if isinstance(tree, dict):
        return {k: _replaced(v, by) for k, v in tree.items()}
    return by(tree) if isinstance(tree, np.ndarray | Scalar | Key | Function) else tree


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple | list):
        for x in tree:
            yield from _leaves(x)
    elif isinstance(tree, dict):
        yield from _leaves(list(tree.values()))
    else:
        yield tree


def _numbers(x: Any) -> Any:
    """A result; of random keys, the words that they are made of."""
    if not str(getattr(x, "dtype", "")).startswith("key<"):
        return x
    library = type(x).__module__.partition(".")[0]
    return importlib.import_module(f"{library}.random").key_data(x)


def _concrete(x: Any) -> Any:
    """A result with its values: what was put off is computed while options hold."""
    return getattr(x, "block_until_ready", lambda: x)()


def _code(x: Any) -> str:
    """An argument as one would write it."""
    if isinstance(x, np.ndarray):
        return f"np.array({x.tolist()}, {str(x.dtype)!r})" + (
            f".reshape({x.shape})" if x.size == 0 and x.ndim > 1 else ""
        )
    if isinstance(x, tuple | list):
        inner = ", ".join([_code(v) for v in x])
        return f"[{inner}]" if type(x) is list else f"({inner}{',' * (len(x) == 1)})"
    if isinstance(x, dict):
        return f"{{{', '.join([f'{k!r}: {_code(v)}' for k, v in x.items()])}}}"
    return repr(x)


@functools.cache
def load() -> dict[str, Row]:
    """The whole table: every file under ``rows/``, and what operations say."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent / "rows")]):
        importlib.import_module(f"tests.public.rows.{module.name}")
    importlib.import_module("tests.public.operations").add_rows()
    return TABLE
