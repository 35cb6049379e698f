"""``checkify``: a function that returns its first failure as a value."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from covector.core.flat import who_of
from covector.core.source import wraps
from covector.core.trace import current
from covector.dispatch.jit import jit
from covector.errors import ArgumentError
from covector.experimental.checkify.check_trace import CheckTrace
from covector.experimental.checkify.error import Error
from covector.experimental.checkify.sites import Categories, ErrorCategory, user_checks

P = ParamSpec("P")
R = TypeVar("R")


def checkify(
    f: Callable[P, R], errors: Categories = user_checks
) -> Callable[P, tuple[Error, R]]:
    """``f``, made to return ``(error, result)``: the first failure of its checks.

    It traces ``f`` as ``jit`` does, and runs it with checks beside; it can be called,
    jitted, batched and differentiated like ``f``. Where a check fails the function goes
    on, and the result is what it would have been without. Checks are those of the
    values in ``f``: to look at what a derivative or a batch computes, checkify that:
    ``checkify(grad(f))``.

    Args:
      errors: which checks are made: a union of ``user_checks`` (those of ``check``),
        ``nan_checks`` (a result is NaN and no operand is), ``index_checks`` (reading or
        writing outside of an array), ``div_checks`` (a division by zero);
        ``float_checks``, ``automatic_checks`` and ``all_checks`` are such unions.

    Raises:
      ArgumentError: ``errors`` is no such set.

    >>> import covector as cv, covector.numpy as cnp
    >>> from covector.experimental import checkify
    >>> f = checkify.checkify(lambda x, i: x[i], checkify.index_checks)
    >>> error, _ = cv.jit(f)(cnp.arange(3), 5)
    >>> print(error.get().split(": ")[1].split(", in ")[0])
    index 5 is out of bounds for axis 0 with size 3
    """
    who = who_of("checkify", f)
    try:
        wanted = frozenset(errors)
        known = all([isinstance(e, ErrorCategory) for e in wanted])
    except TypeError:
        known = False
    if not known:
        raise ArgumentError(
            f"{who}: errors must be a set such as checkify.user_checks, or a union of "
            f"such sets, but got {errors!r}."
        )

    program = jit(f)  # values are traced: what is known is not looked at by operations

    @wraps(f)
    def checked(*args: P.args, **kwargs: P.kwargs) -> tuple[Error, R]:
        trace = CheckTrace(current.trace, wanted, who)
        out = trace.run(lambda: program(*args, **kwargs))
        return Error(*trace.failure(), tuple(trace.sites)), out

    return checked
