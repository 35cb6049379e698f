"""``JaxRuntimeError``, as which packages catch what a function called by a program
raised.

In the field that is an error of the runtime, whose text has the class and the words of
the exception; covector raises the exception itself. Once somebody has asked for the
class here, what is raised is both.
"""

import functools
from typing import Any

from covector import errors
from covector.runtime import host_calls

_raised = host_calls.raised
_RUNTIME: tuple[type, ...] = (errors.JaxRuntimeError,)


def __getattr__(name: str) -> Any:
    if name != "JaxRuntimeError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    host_calls.raised = _raised_as_both
    return errors.JaxRuntimeError


def _raised_as_both(words: str, last: bool = False) -> BaseException | None:
    error = _raised(words, last)
    if not isinstance(error, Exception) or isinstance(error, errors.CovectorError):
        return error
    kind = _both(type(error))
    if kind is None:
        return error
    made = kind.__new__(kind, *error.args)
    made.__dict__.update(error.__dict__, as_raised=error)
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    return made.with_traceback(error.__traceback__)


@functools.lru_cache(256)
def _both(kind: type[Exception]) -> Any:
    """The class of exceptions of a class that are errors of the runtime as well; None
    where Python cannot make one.
    """
    members = {
        "__module__": kind.__module__,
        "__str__": lambda error: f"{kind.__name__}: {error.as_raised}",
        "__reduce_ex__": lambda error, how: error.as_raised.__reduce_ex__(how),
    }
    try:
        return type(kind.__name__, (kind, *_RUNTIME), members)
    except TypeError:
        return None
