"""Source lines: where in the user's program a value was made.

While tracing, one frame is remembered per operation as (code, instruction offset),
which costs a few attribute reads; it becomes a file and a line only when something is
printed or lowered. Equations that a transformation derives from a program keep the
lines of that program: a loop over equations (``attributes_lines_of_equations``) notes
the current one in ``running``.
"""

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from covector.blocks import Blocks
from covector.errors import short_name

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# A frame of these folders is the library's own, except the demo's: that is a user.
_USER = os.path.join(_HERE, "demo") + os.sep

F = TypeVar("F", bound=Callable[..., Any])
Wrapper = TypeVar("Wrapper")

#: of files, since the hash of a string is kept, and that of code is computed each time
_is_internal: dict[str, bool] = {}
#: files and folders of packages that are built on this one
passed_over: list[str] = []
#: loops over equations, by their code, and what the line of an equation becomes there
_loops: dict[CodeType, Callable[["Line"], "Line"]] = {}
_files_of_loops: set[str] = set()
#: those in which the line of an equation without one is not that of who runs the loop
_without_callers: set[CodeType] = set()


def _path(around: str | None, name: str | None) -> str:
    return f"{around}/{name}" if around and name else name or ""


class _Running(threading.local):
    """The equation that the innermost loop over equations is at, on each thread."""

    equation: Any = None


running = _Running()

#: the names that the user has given to what is being traced, as ``a/b``; None as a name
#: begins anew
scopes = Blocks("covector names", _path)
_innermost_scope = scopes.innermost


class Line(NamedTuple):
    """A source line of the user's program."""

    code: CodeType
    offset: int
    scope: str = ""

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    @property
    def number(self) -> int:
        for start, end, line in self.code.co_lines():
            if start <= self.offset < end and line is not None:
                return line
        return self.code.co_firstlineno

    def transposed(self) -> "Line":
        """This line, where it is run backwards, which the scope tells."""
        return _line((self.code, self.offset, f"transpose({self.scope})"))

    @property
    def backward(self) -> bool:
        """Whether it is run backwards, as far as lines tell."""
        return self.scope.startswith("transpose(")

    def __str__(self) -> str:
        return f"{self.file}:{self.number} ({short_name(self.function)})"


def at_line(line: Line | None, before: str = "") -> str:
    """`` at train.py:12 (step)``, to stand in a sentence; empty for no line."""
    return "" if line is None else f"{before} at {line}"


#: a ``Line`` from a tuple, without a Python call
_line = functools.partial(tuple[Any, ...].__new__, Line)
#: a frame by its distance from here: ``inspect.currentframe`` without a Python call
_frame = sys._getframe  # pyright: ignore[reportPrivateUsage]


def is_own(file: str) -> bool:
    """Whether a file is one of the library's own."""
    return file.startswith(_HERE) and not file.startswith(_USER)


def pass_over(path: str) -> None:
    """The frames of this file, or folder, are no user's: those of a package on top.

    Operations are then attributed to who called the package, in programs and in errors,
    and printed tracebacks leave its frames out. A package calls it once for each of its
    files that are to be passed over.

    >>> from covector import extend
    >>> extend.pass_over("/somewhere/my_package/")
    """
    passed_over.append(path)
    _is_internal.clear()


def is_internal(code: CodeType) -> bool:
    """Whether code is the library's own, or that of a package on top of it."""
    file = code.co_filename
    found = _is_internal.get(file)
    if found is None:
        found = is_own(file) or file.startswith(tuple(passed_over))
        _is_internal[file] = found
    return found


def user_line() -> Line | None:
    """The innermost frame that is not the library's own."""
    frame = _frame(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        known = _is_internal.get(file)
        if known is False or (known is None and not is_internal(code)):
            scope = _innermost_scope.get()
            path = "" if scope is None else scope.value
            return _line((code, frame.f_lasti, path))
        if file in _files_of_loops and code in _loops:
            equation = running.equation
            if equation is not None and equation.line is not None:
                return _loops[code](equation.line)
            if code in _without_callers:
                return None
        frame = frame.f_back
    return None


def user_level() -> int:
    """The ``stacklevel`` of that frame for ``warnings.warn``, seen from the caller."""
    frame, level = _frame(1), 1
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def attributes_lines_of_equations(
    becomes: Callable[[Line], Line] = lambda line: line, *, or_none: bool = False
) -> Any:
    """Decorator of a loop over equations: equations staged while one runs get
    ``becomes`` of its source line; where it has none, that of who runs the loop, or,
    with ``or_none``, none.

    The loop sets ``running.equation``, and restores it in the end.
    """

    def decorated(fun: F) -> F:
        _loops[fun.__code__] = becomes
        _files_of_loops.add(fun.__code__.co_filename)
        if or_none:
            _without_callers.add(fun.__code__)
        return fun

    return decorated


# -- names of functions: of any callable, whatever its attributes raise ----------------


def function_line(fun: object) -> str:
    """``loss (train.py:31)`` for a function; its bare name where it has no code, or is
    the library's own.
    """
    inner = users_function(fun)
    name = _attribute(inner, "__qualname__") or _attribute(inner, "__name__")
    code = getattr(inner, "__code__", None)
    name = short_name(name) if isinstance(name, str) else None
    if code is None or is_own(code.co_filename):
        return name or repr(fun)
    file = code.co_filename.rpartition(os.sep)[2]
    return f"{name} ({file}:{code.co_firstlineno})"


def users_function(fun: Any) -> Any:
    """The function that the library's wrappers are around; itself if it is none."""
    code = getattr(fun, "__code__", None)
    while hasattr(fun, "__wrapped__") and (code is None or is_own(code.co_filename)):
        fun = fun.__wrapped__
        code = getattr(fun, "__code__", None)
    return fun


def function_name(fun: Any, otherwise: str | None = None) -> str:
    """The ``__name__`` of a callable, ``otherwise``, or the name of its class."""
    name = _attribute(fun, "__name__")
    return name if isinstance(name, str) else otherwise or type(fun).__name__


def _attribute(fun: Any, name: str) -> Any:
    try:
        return getattr(fun, name)
    except Exception:  # noqa: BLE001  whatever the attributes of a user's object raise
        return None


def take_names(wrapper: Wrapper, fun: Any) -> Wrapper:
    """``functools.update_wrapper``, which leaves out what ``fun`` does not answer."""
    for attribute in functools.WRAPPER_ASSIGNMENTS:
        value = _attribute(fun, attribute)
        if value is not None:
            with contextlib.suppress(TypeError):  # a name that is not a string
                setattr(wrapper, attribute, value)
    for name, value in getattr(fun, "__dict__", {}).items():
        if not hasattr(type(wrapper), name):  # the methods of a wrapper stay its own
            wrapper.__dict__[name] = value
    wrapper.__wrapped__ = fun  # type: ignore[attr-defined]
    return wrapper


def wraps(fun: Any) -> Callable[[Wrapper], Wrapper]:
    """``functools.wraps`` by ``take_names``."""
    return functools.partial(take_names, fun=fun)
