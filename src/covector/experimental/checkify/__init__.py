"""Checks of values in functions that are transformed: ``checkify`` and ``check``.

    error, out = checkify(f)(x)
    error.throw()

``check`` says in ``f`` what must hold of traced values. ``checkify`` makes of ``f`` a
function that returns the first failure as a value, an ``Error``, beside its result; it
can be jitted, batched and differentiated. It can also look for NaN, indices out of
bounds and divisions by zero in all operations.
"""

from covector import namespaces
from covector.errors import CheckFailed as JaxRuntimeError
from covector.experimental.checkify.check import check, check_error, debug_check
from covector.experimental.checkify.error import Error, init_error
from covector.experimental.checkify.function import checkify
from covector.experimental.checkify.sites import (
    ErrorCategory,
    all_checks,
    automatic_checks,
    div_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
__dir__ = namespaces.completions(globals())
