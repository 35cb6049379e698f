"""``Jaxpr``: a traced program, as a list of equations.

    { loss  a:f32[3] b:f32[3] .
        c:f32[3] = sin a
        d:f32[3] = mul c b
        e:f32[] = sum[axes=(0,)] d
        return e }

Inputs, the results of equations, and nothing else are variables (``Var``). Any other
operand is a concrete array, a *literal*. A Jaxpr is closed: what its function captured
from outside is either a literal or has become a leading input.
"""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from covector import options
from covector.core.effects import NONE, Effects
from covector.core.operation_caches import drop_older_half
from covector.core.primitive import Primitive
from covector.core.show import show_jaxpr
from covector.core.source import Line, attributes_lines_of_equations, running
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.core.work import Work


class Var:
    """A variable of a program: an identity and a type."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type: ArrayType = type

    @property
    def aval(self) -> ArrayType:
        return self.type

    def __repr__(self) -> str:
        return f"Var({self.type})"


#: a Var or a concrete array
Atom = Any
type_of = operator.attrgetter("type")

#: What is remembered of one program. Keys may hold other programs, as that of a branch
#: holds the branches beside it, so there is no end of them by itself.
MOST_MEMOS = 256


class Equation:
    """``outputs = op inputs``, and the line of the user's program that asked for it."""

    __slots__ = ("inputs", "line", "op", "outputs")

    def __init__(
        self,
        op: Primitive,
        inputs: Sequence[Atom],
        outputs: Sequence[Var],
        line: Line | None,
    ) -> None:
        self.op: Primitive = op
        self.inputs: Sequence[Atom] = inputs
        self.outputs: Sequence[Var] = outputs
        self.line: Line | None = line

    @property
    def work(self) -> Work | None:
        """What one run of it takes; None where nothing is known of that."""
        if self.op.work is None:
            return None
        types, outs = map(type_of, self.inputs), map(type_of, self.outputs)
        return self.op.work(tuple(types), tuple(outs))

    # The names by which the ecosystem knows these parts.
    @property
    def primitive(self) -> Primitive:
        return self.op

    @property
    def params(self) -> dict[str, Any]:
        return self.op.parameters

    @property
    def invars(self) -> Sequence[Atom]:
        return self.inputs

    @property
    def outvars(self) -> Sequence[Var]:
        return self.outputs


class Jaxpr:
    """A closed program: inputs, equations in order, outputs."""

    def __init__(
        self,
        inputs: Sequence[Var],
        equations: Sequence[Equation],
        outputs: Sequence[Atom],
        name: str = "",
    ) -> None:
        self.inputs: tuple[Var, ...] = tuple(inputs)
        self.equations: tuple[Equation, ...] = tuple(equations)
        self.outputs: tuple[Atom, ...] = tuple(outputs)
        self.name = name
        self._memo: dict[tuple[Any, ...], Any] = {}

    # Most programs of gradients are never asked for these.
    @cached_property
    def in_types(self) -> tuple[ArrayType, ...]:
        """The types of the inputs."""
        return tuple(map(type_of, self.inputs))

    @cached_property
    def out_types(self) -> tuple[ArrayType, ...]:
        """The types of the outputs."""
        return tuple(map(type_of, self.outputs))

    def memo(self, make: Callable[..., Any], *key: Any) -> Any:
        """``make(self, *key)``, computed once and kept as long as this program.

        A pass traces the program again, so what it makes depends on the options and on
        the axes over which types are checked, as any program does.
        """
        now = options.current().of_programs, current.trace.checked_axes
        full_key = (make, *now, *key)
        found = self._memo.get(full_key)
        if found is None:
            drop_older_half(self._memo, MOST_MEMOS)
            found = self._memo.setdefault(full_key, make(self, *key))
        return found

    # The names by which the ecosystem knows these parts.
    @property
    def eqns(self) -> tuple[Equation, ...]:
        return self.equations

    @property
    def invars(self) -> tuple[Var, ...]:
        return self.inputs

    @property
    def outvars(self) -> tuple[Atom, ...]:
        return self.outputs

    @property
    def constvars(self) -> tuple[Var, ...]:
        return ()

    @property
    def consts(self) -> tuple[Any, ...]:
        return ()

    @property
    def jaxpr(self) -> "Jaxpr":
        return self

    @property
    def in_avals(self) -> tuple[ArrayType, ...]:
        return self.in_types

    @property
    def out_avals(self) -> tuple[ArrayType, ...]:
        return self.out_types

    @cached_property
    def effects(self) -> Effects:
        """The effects of all operations."""
        return NONE.union(*[e.op.effects for e in self.equations])

    def __call__(self, *args: Any) -> list[Any]:
        return run(self, args)

    def __repr__(self) -> str:
        return show_jaxpr(self)

    def _repr_html_(self) -> str:
        from covector.core.html.programs import program_html  # noqa: PLC0415  notebooks

        return program_html(self)


@lru_cache(4096)
def identity(type: ArrayType, name: str) -> Jaxpr:
    """The program that gives its one input, the same one each time."""
    x = Var(type)
    return Jaxpr([x], [], [x], name)


@attributes_lines_of_equations()
def run(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """The outputs of a program, in the meaning of the current trace."""
    env: dict[Var, Any] = dict(zip(jaxpr.inputs, args, strict=True))
    process = current.trace.process
    outer = running.equation
    try:
        for equation in jaxpr.equations:
            running.equation = equation
            operands = [env[a] if type(a) is Var else a for a in equation.inputs]
            outs = process(equation.op, operands)
            env.update(zip(equation.outputs, outs, strict=True))
    finally:
        running.equation = outer
    return [env[a] if type(a) is Var else a for a in jaxpr.outputs]


def read(env: dict[Var, Any], atoms: Iterable[Atom]) -> list[Any]:
    """The values of atoms: variables from ``env``, literals as they are."""
    return [env[a] if type(a) is Var else a for a in atoms]


def replaced(values: dict[Var, Any], atoms: Iterable[Atom]) -> list[Atom]:
    """The atoms, with those of ``values`` in place of variables that have one."""
    return [values.get(a, a) if type(a) is Var else a for a in atoms]


def variables(atoms: Iterable[Atom]) -> list[Var]:
    """Those of the atoms that are no literals."""
    return [a for a in atoms if type(a) is Var]


def use_counts(jaxpr: Jaxpr) -> Counter[Var]:
    """How often each variable is an operand, or an output of the program."""
    counts = Counter([v for e in jaxpr.equations for v in variables(e.inputs)])
    counts.update(variables(jaxpr.outputs))
    return counts


def makers(jaxpr: Jaxpr) -> dict[Var, Equation]:
    """The equation that gives each variable (memoise on the program)."""
    return {v: e for e in jaxpr.equations for v in e.outputs}


def readers(jaxpr: Jaxpr) -> dict[Var, list[Equation]]:
    """The equations that have a variable among their operands, each once (memoise on
    the program).
    """
    found: dict[Var, list[Equation]] = {}
    for e in jaxpr.equations:
        for v in set(variables(e.inputs)):
            found.setdefault(v, []).append(e)
    return found


def dependent(
    equations: Iterable[Equation], known: Iterable[Var], impure: bool = False
) -> set[Var]:
    """These variables, and all that are computed from any of them.

    With ``impure``, also the results of impure operations, and what depends on them.
    """
    found = set(known)
    for e in equations:
        if (impure and not e.op.pure) or not found.isdisjoint(variables(e.inputs)):
            found.update(e.outputs)
    return found


#: the program whose equations are to stand in place of an equation, if there is one
Called: TypeAlias = Callable[[Equation], Jaxpr | None]


def inlined(jaxpr: Jaxpr, called: Called) -> Jaxpr:
    """The program with the equations of called ones in place of the calls, at any
    depth; itself if there are none (memoise on the program).
    """
    if all([called(e) is None for e in jaxpr.equations]):
        return jaxpr
    values: dict[Var, Atom] = {}
    equations: list[Equation] = []
    for e in jaxpr.equations:
        inputs, program = replaced(values, e.inputs), called(e)
        if program is None:
            equations.append(Equation(e.op, inputs, e.outputs, e.line))
            continue
        program = program.memo(inlined, called)
        inside = dict(zip(program.inputs, inputs, strict=True))
        equations += _copies(program, inside, e.line)
        values.update(zip(e.outputs, read(inside, program.outputs), strict=True))
    outputs = replaced(values, jaxpr.outputs)
    return Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def _copies(
    jaxpr: Jaxpr, values: dict[Var, Atom], line: Line | None
) -> Iterator[Equation]:
    """The equations of a program that is called on this line, with new variables."""
    for e in jaxpr.equations:
        outputs = [Var(v.type) for v in e.outputs]
        yield Equation(e.op, read(values, e.inputs), outputs, _inside(line, e.line))
        values.update(zip(e.outputs, outputs, strict=True))


def _inside(around: Line | None, line: Line | None) -> Line | None:
    """A line of a function that is called on another, in the named scope of that."""
    if line is None or around is None or not around.scope:
        return line or around
    scopes = [scope for scope in (around.scope, line.scope) if scope]
    return line._replace(scope="/".join(scopes))


def needed_equations(
    equations: Sequence[Equation], outputs: Iterable[Atom], known: Iterable[Var] = ()
) -> list[Equation]:
    """The equations that the outputs depend on, given the known variables.

    An equation that is needed for another of its results does not define a known
    variable again.
    """
    given = set(known)
    wanted = {a for a in outputs if type(a) is Var} - given
    kept: list[Any] = []
    for e in reversed(equations):
        if e.op.pure and wanted.isdisjoint(e.outputs):
            continue
        wanted.update([a for a in e.inputs if type(a) is Var and a not in given])
        again = not given.isdisjoint(e.outputs)
        kept.append(_with_new_results(e, given) if again else e)
    return kept[::-1]


def _with_new_results(e: Equation, known: Set[Var]) -> Equation:
    """The equation with other variables in place of the known ones."""
    outs = [Var(v.type) if v in known else v for v in e.outputs]
    return Equation(e.op, e.inputs, outs, e.line)


def used_inputs(jaxpr: Jaxpr) -> list[bool]:
    """The mask of inputs that some equation or output reads."""
    read_vars = {a for e in jaxpr.equations for a in e.inputs if type(a) is Var}
    read_vars.update([a for a in jaxpr.outputs if type(a) is Var])
    return [v in read_vars for v in jaxpr.inputs]
