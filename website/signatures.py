"""What a function takes, and a class to be made, as the source says it.

Types are those that are written there, ``ArrayLike`` and not the union it stands for.
"""

import ast
import inspect
from typing import Any

from website.definitions import Definition, definition, is_ours

#: a signature that is longer has one parameter per line
MOST_COLUMNS = 72

Function = ast.FunctionDef


def signature(found: Definition, name: str, value: Any) -> str | None:
    """``name(x: ArrayLike, …) -> Array``; None for what is not called."""
    statement = found.statement
    if isinstance(statement, ast.FunctionDef):
        return of_function(found.module, statement, name)
    if isinstance(statement, ast.ClassDef):
        return of_class(statement, name, value)
    return of_value(name, value) if callable(value) else None


def block(text: str) -> str:
    """A signature as a block of code."""
    return "\n".join(["```{ .python .signature }", text, "```"])


def of_function(module: str, node: Function, name: str, *, method: bool = False) -> str:
    """The signature that a ``def`` says; without ``self`` for a method."""
    takes = _with_parameters_of(module, node) or node
    parameters = _parameters(takes.args)
    if method and "staticmethod" not in _decorators(node):
        parameters = parameters[1:]
    result = f" -> {_type(node.returns)}" if node.returns else ""
    return _joined(name, parameters, result)


def of_class(node: ast.ClassDef, name: str, value: Any) -> str | None:
    """How instances are made, if the source says it."""
    if issubclass(value, BaseException):
        return None
    kinds = [*_decorators(node), *map(ast.unparse, node.bases)]
    if any("dataclass" in k or k in ("operation", "NamedTuple") for k in kinds):
        return _joined(name, _fields(node, value), "")
    for base in value.__mro__:
        found = definition(base.__module__, base.__name__) if is_ours(base) else None
        for item in getattr(found and found.statement, "body", ()):
            if getattr(item, "name", None) in ("__init__", "__new__"):
                return _joined(name, _parameters(item.args)[1:], "")
    return None


def of_value(name: str, value: Any) -> str | None:
    """The signature of something that is called and has no ``def``: its types are not
    said.
    """
    if inspect.isclass(value):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    if any("<" in str(p) for p in bare):
        bare = [p.replace(default=inspect.Parameter.empty) for p in bare]
    return str(inspect.Signature(bare)).join([name, ""])


def _fields(node: ast.ClassDef, value: Any) -> list[str]:
    try:
        accepted = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    annotated = [x for x in node.body if isinstance(x, ast.AnnAssign)]
    fields = [x for x in annotated if getattr(x.target, "id", None) in accepted]
    return [
        f"{ast.unparse(x.target)}: {_type(x.annotation)}{_default(x.value)}"
        for x in fields
    ]


def _with_parameters_of(module: str, node: Function) -> Function | None:
    """The function whose parameters this one declares as its own."""
    for decorator in node.decorator_list:
        text = ast.unparse(decorator)
        if text.startswith("with_parameters_of("):
            name = text.partition("(")[2].rstrip(")")
            found = definition(module, name)
            if found is not None and isinstance(found.statement, ast.FunctionDef):
                return _with_parameters_of(found.module, found.statement) or (
                    found.statement
                )
    return None


def _decorators(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    return [ast.unparse(d) for d in node.decorator_list]


def _parameters(args: ast.arguments) -> list[str]:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    found = [_parameter(a, d) for a, d in zip(positional, defaults, strict=True)]
    if args.posonlyargs:
        found.insert(len(args.posonlyargs), "/")
    if args.vararg:
        found.append("*" + _parameter(args.vararg, None))
    elif args.kwonlyargs:
        found.append("*")
    for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(_parameter(a, d))
    if args.kwarg:
        found.append("**" + _parameter(args.kwarg, None))
    return found


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    if arg.annotation is None:
        return arg.arg + _default(default).replace(" = ", "=")
    return f"{arg.arg}: {_type(arg.annotation)}{_default(default)}"


def _type(annotation: ast.expr | None) -> str:
    """An annotation; what is a string in the source, without quotes."""
    if annotation is None:
        return ""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = ast.unparse(annotation)
            return text if "Literal" in text else text.replace("'", "")
    return ast.unparse(annotation)


def _default(node: ast.expr | None) -> str:
    """`` = 0``; an ellipsis for what is a name of ours for "not given"."""
    if node is None:
        return ""
    text = ast.unparse(node)
    hidden = text.isupper() or text.startswith("_")
    return f" = {'...' if hidden else text}"


def _joined(name: str, parameters: list[str], result: str) -> str:
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) <= MOST_COLUMNS or not parameters:
        return line
    return "\n".join([f"{name}(", *(f"    {p}," for p in parameters), f"){result}"])
