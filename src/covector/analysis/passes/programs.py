"""What all passes share: which program is meant, and programs inside of programs."""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Atom, Equation, Jaxpr
from covector.core.masks import Mask
from covector.core.primitive import Primitive
from covector.core.show import nested_programs
from covector.core.source import function_line
from covector.errors import ArgumentError


def as_program(who: str, given: Any) -> Jaxpr:
    """The program that is meant: a ``Jaxpr``, or one that was traced ahead of time.

    Raises:
      ArgumentError: it is a function, or no program at all.
    """
    found = getattr(given, "jaxpr", given)
    if isinstance(found, Jaxpr):
        return found
    if callable(given):
        raise ArgumentError(
            f"{who} needs a program, but got the function {function_line(given)}, "
            "which has one for each set of argument types. Trace it: "
            f"{who}(covector.make_jaxpr(f)(*args))."
        )
    raise ArgumentError(
        f"{who} needs a program (a Jaxpr, as covector.make_jaxpr(f)(*args) returns), "
        f"but got {type(given).__name__}."
    )


def chosen(who: str, what: str, numbers: Sequence[int] | None, count: int) -> Mask:
    """The mask of these inputs or outputs, by number; all of them for None.

    Raises:
      ArgumentError: there is none of such a number.
    """
    if numbers is None:
        return (True,) * count
    wrong = [i for i in numbers if not -count <= i < count]
    if wrong:
        raise ArgumentError(
            f"{who}: the program has {count} {what}, but number {wrong[0]} was asked "
            f"for in {what}={tuple(numbers)}."
        )
    taken = {i % count for i in numbers}
    return tuple([i in taken for i in range(count)])


def on_programs(op: Primitive, change: Callable[[Jaxpr], Jaxpr]) -> Primitive:
    """The operation with its programs changed; itself if none of them is."""
    programs = nested_programs(op) if op.regions else []
    if all([change(p) is p for p in programs]):
        return op
    return op.with_programs(change)


def with_equations(
    jaxpr: Jaxpr, equations: Sequence[Equation], outputs: Sequence[Atom]
) -> Jaxpr:
    """The program with other equations and outputs; itself if they are its own."""
    same = _same(equations, jaxpr.equations) and _same(outputs, jaxpr.outputs)
    return jaxpr if same else Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)


def with_parts(e: Equation, op: Primitive, inputs: Sequence[Atom]) -> Equation:
    """The equation of another operation on other operands; itself if nothing is new."""
    same = op is e.op and _same(inputs, e.inputs)
    return e if same else Equation(op, inputs, e.outputs, e.line)


def _same(x: Sequence[Any], y: Sequence[Any]) -> bool:
    """Whether these are the same objects."""
    return [*map(id, x)] == [*map(id, y)]
