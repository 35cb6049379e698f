"""Texts of symbolic sizes: ``2*b``, ``floordiv(n, 2) + 1``, and shapes of them.

The grammar is a part of that of Python, which reads it.
"""

import ast
from types import EllipsisType

from covector.errors import ArgumentError
from covector.export.expressions import (
    FUNCTIONS,
    Expression,
    function,
    number,
    variable,
)

#: an entry of a shape that is taken from elsewhere; ``...`` stands for several
PLACEHOLDER = "_"
Entry = Expression | str | EllipsisType

_OPERATORS: dict[type, str] = {ast.FloorDiv: "floordiv", ast.Mod: "mod"}


def parse(text: str) -> Expression:
    """The expression that a text spells.

    Raises:
      ArgumentError: it spells none.
    """
    found = parse_shape(text)
    if len(found) != 1 or not isinstance(found[0], Expression):
        raise _not_read(text)
    return found[0]


def parse_shape(text: str) -> list[Entry]:
    """The entries of a shape: ``b, 3``, with or without parentheses around.

    Raises:
      ArgumentError: it spells none.
    """
    inner = text.strip()
    try:
        found = ast.parse(inner or "()", mode="eval").body
    except SyntaxError:
        raise _not_read(text) from None
    elements = found.elts if isinstance(found, ast.Tuple) else [found]
    return [_entry(e, text) for e in elements]


def _entry(node: ast.expr, text: str) -> Entry:
    if isinstance(node, ast.Constant) and node.value is ...:
        return ...
    if isinstance(node, ast.Name) and node.id == PLACEHOLDER:
        return PLACEHOLDER
    return _expression(node, text)


def _expression(node: ast.expr, text: str) -> Expression:
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return number(value)
        case ast.Name(id=name):
            return variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _expression(operand, text).scaled(-1)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _expression(left, text), _expression(right, text)
            if isinstance(op, ast.Add):
                return a + b
            if isinstance(op, ast.Sub):
                return a - b
            if isinstance(op, ast.Mult):
                return a * b
            if type(op) in _OPERATORS:
                return function(_OPERATORS[type(op)], a, b)
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in FUNCTIONS:
            return function(name, _expression(left, text), _expression(right, text))
    raise _not_read(text)


def _not_read(text: str) -> ArgumentError:
    return ArgumentError(
        "symbolic sizes are like 'b', '2*b + 1' or 'floordiv(b, 2)' (also mod, max "
        f"and min), but got {text!r}."
    )
