"""The text of programs in the field's notation.

    { lambda a:f32[3]; b:f32[]. let
        c:f32[3] = mul b a
        d:f32[] = reduce_sum[axes=(0,)] c
      in (d,) }

Consts stand before the semicolon, inputs behind it. A program that an equation carries
stands among its parameters, with names of its own; where it occurs again, its name.
"""

from textwrap import indent
from typing import Any

from covector.core.show import letters


def show(program: Any) -> str:
    """The text of a ``Jaxpr``, a ``ClosedJaxpr`` or an equation."""
    if hasattr(program, "eqns"):
        return _program(program, set())
    return _equation(program, _Names(), set())


class _Names(dict[int, str]):
    """Letters, by identity, for variables in the order of their first occurrence."""

    def __missing__(self, key: int) -> str:
        self[key] = letters(len(self))
        return self[key]

    def binder(self, v: Any) -> str:
        dropped = type(v).__name__ == "DropVar"
        return f"{'_' if dropped else self[id(v)]}:{v.aval}"

    def atom(self, a: Any) -> str:
        if not hasattr(a, "val"):
            return self[id(a)]
        shown = str(a.val) if not a.aval.shape else "[…]"
        return f"{shown}:{a.aval}"


def _program(program: Any, shown: set[int]) -> str:
    """The text of a program; of one that is shown already, its name."""
    jaxpr, names = getattr(program, "jaxpr", program), _Names()
    if id(jaxpr) in shown and jaxpr.eqns:
        return f"{jaxpr.debug_info.func_name} (as above)"
    shown.add(id(jaxpr))
    consts, inputs = [
        "".join(f" {names.binder(v)}" for v in variables)
        for variables in (jaxpr.constvars, jaxpr.invars)
    ]
    body = "\n".join([_equation(e, names, shown) for e in jaxpr.eqns])
    outs = [names.atom(a) for a in jaxpr.outvars]
    end = f"in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"
    between = f"\n{indent(body, '    ')}\n  " if body else "  "
    return f"{{ lambda{consts or ' '};{inputs}. let{between}{end}"


def _equation(eqn: Any, names: _Names, shown: set[int]) -> str:
    outs = " ".join([names.binder(v) for v in eqn.outvars])
    operands = "".join([f" {names.atom(a)}" for a in eqn.invars])
    start = f"{outs} = {eqn.primitive}" if outs else str(eqn.primitive)
    chosen = [k for k in sorted(eqn.params) if not _says_nothing(eqn, k)]
    if not chosen:
        return start + operands
    parts = [f"{key}={_value(eqn.params[key], shown)}" for key in chosen]
    line = f"{start}[{' '.join(parts)}]{operands}"
    if len(line) <= 80 and "\n" not in line:
        return line
    return f"{start}[{_lines(parts)}]{operands}"


def _lines(parts: list[str]) -> str:
    """Texts on lines of their own, further to the right."""
    return indent("\n" + "\n".join(parts), "  ") + "\n"


def _says_nothing(eqn: Any, key: str) -> bool:
    """Whether a parameter has no meaning here, and no value of note."""
    values = eqn.params[key]
    unread = key in getattr(eqn.primitive, "unread", ())
    each = values if type(values) is tuple else (values,)
    return unread and all([v is None or v is False for v in each])


def _value(value: Any, shown: set[int]) -> str:
    if type(value) is tuple and any([hasattr(v, "eqns") for v in value]):
        return f"({_lines([_value(v, shown) for v in value])})"
    if hasattr(value, "eqns"):
        return _program(value, shown)
    return getattr(value, "__name__", None) or str(value)
