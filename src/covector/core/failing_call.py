"""The call of a public function inside of which something went wrong.

What covector raises on purpose names a function and an argument. It may be a function
that the one called is made of, and an error that was not foreseen comes from Python or
NumPy, and names neither. Below such an error, printed tracebacks say which function was
called, and with what.
"""

import inspect
import reprlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from covector.core.types import HasType

_LONGEST = 40
_short = reprlib.Repr()
_short.maxother = _short.maxstring = _LONGEST


def failing_call(frame: FrameType, public: bool = False) -> str:
    """``covector.numpy.tri got N=2.5``, of a frame of covector's; arguments with their
    defaults are left out. Nothing, where it is not a function that a module shows, or
    if ``public`` one of a package that users know.
    """
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
    fun: Any = frame.f_globals.get(name)
    package = _package(fun, name, module)
    if name.startswith("_") or package is None:
        return ""
    if (
        public
        and package.count(".") > 1
        and not hasattr(sys.modules[package], "__path__")
    ):
        return ""
    parameters = inspect.signature(fun).parameters.values()
    given = [(p, frame.f_locals.get(p.name, p.default)) for p in parameters]
    shown = [f"{p.name}={_shown(x)}" for p, x in given if x is not p.default]
    return f"{package}.{name} got {', '.join(shown)}" if shown else ""


def _package(fun: Any, name: str, module: str) -> str | None:
    """The outermost package of a module that has this function by its name."""
    parts = module.split(".")
    packages = [".".join(parts[: i + 1]) for i in range(len(parts))]
    has = [p for p in packages if vars(sys.modules.get(p, object)).get(name) is fun]
    return has[0] if isinstance(fun, Callable) and has else None


def _shown(x: object) -> str:
    if isinstance(x, HasType):
        return str(x.type)
    return getattr(x, "__name__", None) or _short.repr(x)
