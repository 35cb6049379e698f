"""``Jaxpr`` and its parts as the field knows them: what users read, rebuild and run.

    ClosedJaxpr(jaxpr, consts)        a program, and the values for its ``constvars``
    Jaxpr(constvars, invars, …)       the same without the values
    JaxprEqn(invars, outvars, …)      outvars = primitive[params] invars
    ShapedArray(shape, dtype)         the type of a variable: an ``ArrayType``

They are lists and records without rules of their own: anyone may make new ones.
``eval_jaxpr`` runs them, by ``bind`` of each primitive. ``programs.py`` makes them of
covector's programs, and ``restaging.py`` programs of them.
"""

import functools
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from covector.compat.jaxpr_text import show
from covector.core.annotations import Shape
from covector.core.jaxpr import Jaxpr as Program
from covector.core.jaxpr import Var, run
from covector.core.source import Line, attributes_lines_of_equations, running
from covector.core.types import INVARIANT, ArrayType
from covector.errors import MalformedProgram

# -- types -----------------------------------------------------------------------------


class AbstractValue(metaclass=ABCMeta):  # noqa: B024  packages derive from it
    """What is known of a value before it has one."""


class ShapedArray(AbstractValue):
    """Shape and dtype of an array, and whether the dtype is weak.

    A ``sharding`` is accepted, but types of covector have none: arrays have.
    """

    def __new__(  # type: ignore[misc]
        cls,
        shape: Shape,
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        vma: frozenset[Any] = INVARIANT,
    ) -> ArrayType:
        return ArrayType(tuple(shape), dtype, weak_type, vma)


ShapedArray.register(ArrayType)


def mapped_aval(size: int, axis: int | None, aval: ArrayType) -> ArrayType:
    """The type of one lane of a batch of this type, along ``axis``."""
    return aval.without_axis(axis)


def unmapped_aval(
    size: int, axis: int | None, aval: ArrayType, explicit_mesh_axis: Any = None
) -> ArrayType:
    """The type of a batch of values of this type, along ``axis``."""
    return aval if axis is None else aval.with_axis(axis, size)


# -- programs --------------------------------------------------------------------------


class DropVar(Var):
    """The variable of a result that nothing reads."""

    def __repr__(self) -> str:
        return "_"


@dataclass(eq=False, repr=False, slots=True)
class Literal:
    """An operand that is known: the value ``val``."""

    val: Any
    aval: Any

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


class SourceInfo(NamedTuple):
    """Where in the user's program an equation was asked for."""

    traceback: Line | None = None
    #: the names around it, as ``a/b``
    name_stack: str = ""


class DebugInfo(NamedTuple):
    """The function that a program is of, for messages."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] = ()
    result_paths: tuple[str, ...] | None = None

    @property
    def func_name(self) -> str:
        return self.func_src_info.partition(" ")[0]


_UNKNOWN = DebugInfo("program", "<unknown>")


class _Part:
    """A program, or an equation of one."""

    def replace(self: Any, **changes: Any) -> Any:
        """This with other parts."""
        return replace(self, **changes)

    def pretty_print(self, **_: Any) -> str:
        """The text; options of its layout are accepted."""
        return show(self)

    __repr__ = pretty_print


@dataclass(eq=False, repr=False)
class JaxprEqn(_Part):
    """``outvars = primitive[params] invars``."""

    invars: Sequence[Any]
    outvars: Sequence[Var]
    primitive: Any
    params: dict[str, Any]
    effects: Any = frozenset()
    source_info: SourceInfo | None = None
    ctx: Any = None

    def __post_init__(self) -> None:
        self.invars, self.outvars = list(self.invars), list(self.outvars)
        self.source_info = self.source_info or SourceInfo()

    @property
    def line(self) -> Line | None:
        """The line of the user's program, which equations staged from it get."""
        return self.source_info.traceback if self.source_info else None


@dataclass(eq=False, repr=False)
class Jaxpr(_Part):
    """A program whose ``constvars`` have no values yet."""

    constvars: Sequence[Var]
    invars: Sequence[Var]
    outvars: Sequence[Any]
    eqns: Sequence[JaxprEqn]
    effects: Any = frozenset()
    debug_info: DebugInfo | None = None
    is_high: bool = False

    def __post_init__(self) -> None:
        self.constvars, self.invars = list(self.constvars), list(self.invars)
        self.outvars, self.eqns = list(self.outvars), list(self.eqns)
        self.debug_info = self.debug_info or _UNKNOWN
        #: the program of covector that this shows, and what it was then
        #: (``restaging.py``)
        self.origin: Any = None

    @property
    def in_avals(self) -> list[ArrayType]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ArrayType]:
        return [a.aval for a in self.outvars]


class ClosedJaxpr(_Part):
    """A program, and the values for its ``constvars``."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise MalformedProgram(
                f"a ClosedJaxpr needs one value for each of the constvars of its "
                f"Jaxpr, {len(jaxpr.constvars)}, but got {len(consts)}."
            )
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.origin: Any = None

    is_high = False

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def __getattr__(self, name: str) -> Any:
        """Its parts are those of its ``Jaxpr``."""
        if name == "jaxpr":  # while it is being copied
            raise AttributeError(name)
        return getattr(self.jaxpr, name)

    def map_jaxpr(self, change: Callable[[Jaxpr], Jaxpr]) -> "ClosedJaxpr":
        """``change(jaxpr)`` with the same consts."""
        return ClosedJaxpr(change(self.jaxpr), self.consts)

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> "ClosedJaxpr":
        """This with another program, or other consts."""
        given = self.consts if consts is None else consts
        return ClosedJaxpr(self.jaxpr if jaxpr is None else jaxpr, given)


# -- running ---------------------------------------------------------------------------


@attributes_lines_of_equations()
def eval_jaxpr(
    jaxpr: "Jaxpr | Program", consts: Sequence[Any], *args: Any, **_: Any
) -> list[Any]:
    """The outputs of a program: ``bind`` of each primitive in order, in the meaning of
    the current trace. Programs of covector are run as they are.
    """
    if isinstance(jaxpr, Program):
        return run(jaxpr, [*consts, *args])
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if type(atom) is Literal else env[atom]

    outer = running.equation
    try:
        for eqn in jaxpr.eqns:
            running.equation = eqn
            params = eqn.primitive.get_bind_params(eqn.params)
            out = eqn.primitive.bind(*map(read, eqn.invars), **params)
            outs = out if eqn.primitive.multiple_results else [out]
            env.update(zip(eqn.outvars, outs, strict=True))
    finally:
        running.equation = outer
    return [read(atom) for atom in jaxpr.outvars]


def jaxpr_as_fun(closed: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """A program as a function of its inputs, of which the first may be given here."""
    return functools.partial(eval_jaxpr, closed.jaxpr, closed.consts, *args)


# -- walking ---------------------------------------------------------------------------


def programs_in(params: dict[str, Any]) -> Iterator[Any]:
    """The programs among the parameters of an equation, and in tuples there."""
    for value in params.values():
        for part in value if type(value) in (tuple, list) else [value]:
            if isinstance(part, Jaxpr | ClosedJaxpr):
                yield part


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """``programs_in``, each without its consts."""
    return (getattr(program, "jaxpr", program) for program in programs_in(params))


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs that the equations of a program carry."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def gensym(*_: Any) -> Callable[[Any], Var]:
    """A maker of new variables."""
    return Var
