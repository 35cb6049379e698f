"""Pretty-printing of programs.

    { loss  a:f32[3] b:f32[3] .
        c:f32[3] = sin a
        d:f32[3] = mul c 2.0
        e:f32[3] = jit[jaxpr=shift] d […]:f32[3]
            { shift  a:f32[3] b:f32[3] .
                c:f32[3] = add a b
                return c }
        return e }

Parameters of an operation stand in brackets where they differ from their default.
Scalar literals show their value, others their type. A nested program stands below its
operation the first time it occurs, with names of its own: it is closed.

When it runs, nothing here imports the classes of programs, which print themselves
through this module. A program is what has ``equations``; a literal is what has values
on the ``host``.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from covector.core import dtypes
from covector.core.effects import Parameter, is_program
from covector.core.key_types import KeyType
from covector.errors import short_name

if TYPE_CHECKING:
    from covector.core.jaxpr import Equation, Jaxpr
    from covector.core.primitive import Primitive
    from covector.core.source import Line

_STEP = "    "


def show_jaxpr(jaxpr: "Jaxpr", lines: bool = False) -> str:
    """The text of a program; with ``lines``, where its equations were asked for."""
    if not lines:
        return "\n".join([text for text, _ in show_lines(jaxpr)])
    return "\n".join([text + _origin(line) for text, line in show_lines(jaxpr)])


def show_lines(jaxpr: "Jaxpr") -> "Iterator[tuple[str, Line | None]]":
    """The lines of the text of a program, each with that of the user's program that
    asked for its equation.
    """
    return _Printer().program(jaxpr, "")


def show_operation(op: "Primitive") -> str:
    """``reduce_sum[axes=(0,)]``: an operation and its parameters."""
    return _operation(op, _program_name)


def nested_programs(op: "Primitive") -> list[Any]:
    """The programs among the parameters of an operation."""
    values: list[Parameter] = []
    parameters: dict[str, Parameter] = op.parameters
    for value in parameters.values():
        values.extend(value if type(value) is tuple else [value])
    return [value for value in values if is_program(value)]


def _program_name(program: Any) -> str:
    return program.name or "program"


class _Printer:
    """The names given so far in one text."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.shown: set[Any] = set()

    def name(self, program: Any) -> str:
        """The name of a program, made unique among those of this text."""
        known = self.names.get(program)
        if known is None:
            known, taken, n = _program_name(program), set(self.names.values()), 0
            while known in taken:
                n += 1
                known = f"{_program_name(program)}_{n}"
            self.names[program] = known
        return known

    def program(
        self, jaxpr: "Jaxpr", indent: str
    ) -> "Iterator[tuple[str, Line | None]]":
        self.shown.add(jaxpr)
        names = _names(jaxpr)
        inputs = "".join(f" {names[id(v)]}:{v.type}" for v in jaxpr.inputs)
        title = f" {self.name(jaxpr)} " if jaxpr.name else ""
        yield f"{indent}{{{title}{inputs} .", None
        inner = indent + _STEP
        for equation in jaxpr.equations:
            yield inner + self.equation(equation, names), equation.line
            for nested in nested_programs(equation.op):
                if nested not in self.shown:
                    yield from self.program(nested, inner + _STEP)
        outputs = "".join(" " + _atom(a, names) for a in jaxpr.outputs)
        yield f"{inner}return{outputs} }}", None

    def equation(self, equation: "Equation", names: dict[int, str]) -> str:
        outputs = " ".join([f"{names[id(v)]}:{v.type}" for v in equation.outputs])
        operands = [_atom(a, names) for a in equation.inputs]
        operation = _operation(equation.op, self.name)
        return " ".join([*([f"{outputs} ="] if outputs else []), operation, *operands])


def _origin(line: "Line | None") -> str:
    """The comment that says where an equation was asked for."""
    if line is None:
        return ""
    scope = f" in {line.scope}" if line.scope else ""
    location = f"{os.path.basename(line.file)}:{line.number}"
    return f"  # {location} ({short_name(line.function)}){scope}"


def _names(jaxpr: "Jaxpr") -> dict[int, str]:
    """Letters, by identity, for the variables in the order of their definition."""
    variables = [*jaxpr.inputs, *[v for e in jaxpr.equations for v in e.outputs]]
    return {id(v): letters(i) for i, v in enumerate(variables)}


def letters(i: int) -> str:
    """Number 0 is a, 25 is z, 26 is aa."""
    text = ""
    while i >= 0:
        text = chr(ord("a") + i % 26) + text
        i = i // 26 - 1
    return text


def _atom(atom: Any, names: dict[int, str]) -> str:
    if not hasattr(atom, "host"):
        # The mark is for what nothing defines, in a program that is not well formed.
        return names.get(id(atom)) or f"?:{getattr(atom, 'type', type(atom).__name__)}"
    if atom.type.ndim or dtypes.is_key(atom.type.dtype):
        return f"[…]:{atom.type}"
    return str(atom)


def operation_parts(op: "Primitive") -> tuple[str, str]:
    """``reduce_sum`` and ``axes=(0,)``: the name of an operation and its parameters."""
    return op.name, _parameters(op, _program_name)


def _operation(op: "Primitive", name: Callable[[Any], str]) -> str:
    shown = _parameters(op, name)
    return f"{op.name}[{shown}]" if shown else op.name


def _parameters(op: "Primitive", name: Callable[[Any], str]) -> str:
    return ", ".join([f"{key}={_value(value, name)}" for key, value in _chosen(op)])


def _chosen(op: "Primitive") -> list[tuple[str, Parameter]]:
    """The parameters that differ from their default."""
    parameters: dict[str, Parameter] = op.parameters
    none = object()
    return [
        (key, value)
        for key, value in parameters.items()
        if getattr(type(op), key, none) is not value
    ]


def _value(value: Parameter, name: Callable[[Any], str]) -> str:
    if is_program(value):
        return name(value)
    if isinstance(value, tuple):
        values = cast("tuple[Parameter, ...]", value)
        return _sequence([_value(v, name) for v in values])
    if isinstance(value, KeyType) or hasattr(value, "itemsize"):
        return dtypes.short_name(value)
    return getattr(value, "__name__", None) or str(value)


def _sequence(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
