"""``debug.callback``: a Python function called with the values of a running program."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from covector.callbacks.callback import DebugCallback
from covector.callbacks.host_functions import HostFunction, ResultSpec, split_arguments
from covector.core.array_like import Array
from covector.core.flat import arrays, who_of


def callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call ``callback`` with the values that ``args`` and ``kwargs`` have when they are
    computed.

    It is called once for each time that the program runs this line: with the primals
    where it is differentiated, never again in the backward pass; under vmap, once for
    each lane of the batch. What it returns is ignored; what it raises is raised.

    Args:
      callback: takes arrays, and other leaves (strings, say) as they are. Without it,
        a decorator is returned.
      ordered: keep the order also among programs that run at the same time; not under
        vmap.
      partitioned: call it for each device with what that holds. The same, as long as
        the values are on one device.

    Raises:
      ArgumentError: ordered, under vmap.

    >>> import covector as cv
    >>> seen = []
    >>> def f(x):
    ...     cv.debug.callback(lambda v: seen.append(float(v)), x)
    ...     return x * x
    >>> float(cv.jit(cv.grad(f))(3.0)), seen
    (6.0, [3.0])

    See also: ``covector.debug.print``, ``covector.pure_callback``,
    ``covector.effects_barrier``.
    """
    if callback is None:
        how = {"ordered": ordered, "partitioned": partitioned}
        return lambda fun: functools.partial(_callback, fun, **how)
    who = who_of("debug.callback", callback)
    call_with_values(callback, args, kwargs, who=who, ordered=ordered)
    return None


#: by a name that is not the name of its argument as well
_callback = callback


def call_with_values(  # noqa: PLR0913  what to call, with what, and how
    fun: Callable[..., None],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    who: str,
    ordered: bool = False,
    is_array: Callable[[Any], bool] | None = None,
) -> None:
    """Call a function when the arrays among its arguments have their values."""
    leaves, arguments = split_arguments(args, kwargs, is_array or holds_values)
    function = HostFunction(fun, arguments, ResultSpec(), who)
    DebugCallback(function, ordered)(*arrays(leaves, who))


def holds_values(x: Any) -> bool:
    """Whether a leaf is an array or a number."""
    return has_dtype(x) or isinstance(x, bool | int | float | complex)


def has_dtype(x: Any) -> bool:
    """Whether a leaf is an array that can be an operand."""
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind not in "OUSMm"
    return isinstance(x, Array)
