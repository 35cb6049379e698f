"""Where a public name is defined: the module and the statement, found in the sources.

A package may import its modules when a name is first asked for. The sources say where
the name comes from all the same, for editors; here imports are followed as they do.
"""

import ast
import functools
import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from covector import namespaces

Statement = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.ImportFrom


@dataclass(frozen=True)
class Definition:
    """The statement of a module that gives ``name`` its value.

    It is an import for a name of another library.
    """

    module: str
    name: str
    statement: Statement

    @property
    def first_line(self) -> int:
        """The line of the statement, or of the first decorator."""
        decorators = getattr(self.statement, "decorator_list", ())
        return min([self.statement.lineno, *(d.lineno for d in decorators)])

    @property
    def comment(self) -> str:
        """The lines above the statement that begin with ``#:``."""
        lines = source(self.module).splitlines()[: self.first_line - 1]
        found = []
        while lines and lines[-1].startswith("#:"):
            found.append(lines.pop().removeprefix("#:").strip())
        return " ".join(reversed(found))


@functools.cache
def source(module: str) -> str:
    """The text of a module."""
    return Path(_origin(module)).read_text()


@functools.cache
def definition(module: str, name: str) -> Definition | None:
    """Where ``module.name`` is defined; None if the sources do not tell."""
    statements = _statements(module)
    if name in statements:
        found = statements[name]
        if isinstance(found, ast.Assign) or _is_final(found):
            return _renamed(module, found.value) or Definition(module, name, found)
        if not isinstance(found, ast.ImportFrom) or not _is_ours(found.module):
            return Definition(module, name, found)
        return definition(*_imported(found, name))
    home = _starred_names(module).get(name)
    return definition(home, name) if home else None


def _is_final(statement: Statement) -> TypeGuard[ast.AnnAssign]:
    """Whether it is ``name: Final = …``, which is how a name is renamed for editors."""
    annotated = isinstance(statement, ast.AnnAssign)
    return annotated and ast.unparse(statement.annotation) == "Final"


def _renamed(module: str, given: ast.expr | None) -> Definition | None:
    """What ``given``, ``name`` or ``module.name``, is another name for."""
    if isinstance(given, ast.Name):
        return definition(module, given.id)
    if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
        home = _statements(module).get(given.value.id)
        if isinstance(home, ast.ImportFrom) and _is_ours(home.module):
            path = ".".join(_imported(home, given.value.id))
            return (
                definition(path, given.attr) if importlib.util.find_spec(path) else None
            )
    return None


def _imported(statement: ast.ImportFrom, name: str) -> tuple[str, str]:
    """The module that a name is imported from, and its name there."""
    aliases = [a for a in statement.names if name in (a.asname, a.name)]
    return str(statement.module), aliases[0].name


def value(module: str, name: str) -> Any:
    """What ``module.name`` is when the program runs."""
    return getattr(importlib.import_module(module), name)


@functools.cache
def _statements(module: str) -> dict[str, Statement]:
    """By name, the statement that gives it its value: the last one, after overloads."""
    found: dict[str, Statement] = {}
    for node in _top_level(_tree(module).body):
        for name in _names(node):
            found[name] = node
    return found


def _top_level(body: list[ast.stmt]) -> list[Any]:
    """The statements of a module, with those below ``if``, as editors read them."""
    found = []
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "not TYPE_CHECKING":
            continue
        if isinstance(node, ast.If):
            found += _top_level(node.body) + _top_level(node.orelse)
        elif isinstance(node, Statement):
            found.append(node)
    return found


def _names(node: Statement) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    nested = [getattr(t, "elts", [t]) for t in targets]
    return [x.id for group in nested for x in group if isinstance(x, ast.Name)]


@functools.cache
def _starred_names(module: str) -> dict[str, str]:
    """By name, the module that ``from … import *`` takes it from."""
    imports = [
        n for n in _top_level(_tree(module).body) if isinstance(n, ast.ImportFrom)
    ]
    homes = [str(n.module) for n in imports if n.names[0].name == "*"]
    return {name: home for home in homes for name in namespaces.declared(home)}


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(source(module))


@functools.cache
def _origin(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"there is no module {module}"
    assert spec.origin is not None, f"{module} has no file"
    return spec.origin


def is_ours(cls: type) -> bool:
    """Whether covector defines the class."""
    return _is_ours(cls.__module__)


def _is_ours(module: str | None) -> bool:
    return str(module).partition(".")[0] == "covector"
