"""The public members of a class of covector: documented methods, and attributes.

A class may also take over a function of the NumPy namespace, with ``sum: Final =
cnp.sum``. Such a method takes what the function takes after its first argument.
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from website import signatures
from website.definitions import definition, is_ours


@dataclass(frozen=True)
class Member:
    """A method or an attribute: how it is written, and what it is."""

    signature: str
    docstring: str


def of(cls: type) -> dict[str, Member]:
    """By name, the members that a class has from itself and from its bases."""
    found: dict[str, Member] = {}
    for base in cls.__mro__:
        home = definition(base.__module__, base.__name__) if is_ours(base) else None
        if home is None or not isinstance(home.statement, ast.ClassDef):
            continue
        for name, member in _stated(cls.__name__, home.module, home.statement):
            found.setdefault(name, member)
    return found


def _stated(
    owner: str, module: str, body: ast.ClassDef
) -> Iterator[tuple[str, Member]]:
    for node in body.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.name, Member(_method(owner, module, node), text)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            value, name = ast.unparse(node.value), ast.unparse(node.target)
            if value.startswith("cnp."):
                yield name, _taken_over(name, value.removeprefix("cnp."))


def _method(owner: str, module: str, node: ast.FunctionDef) -> str:
    decorators = [ast.unparse(d) for d in node.decorator_list]
    if any("property" in d for d in decorators):
        result = f": {ast.unparse(node.returns)}" if node.returns else ""
        return f"{owner}.{node.name}{result}".replace("'", "")
    return signatures.of_function(module, node, node.name, method=True)


def _taken_over(name: str, function: str) -> Member:
    found = definition("covector.numpy", function)
    assert found is not None, f"covector.numpy has no {function}"
    node = found.statement
    assert isinstance(node, ast.FunctionDef), f"{function} is no function"
    shown = signatures.of_function(found.module, node, name, method=True)
    summary = inspect.cleandoc(ast.get_docstring(node) or "").partition("\n\n")[0]
    return Member(shown, f"{summary}\n\nAs ``numpy.{function}`` of the array.")
