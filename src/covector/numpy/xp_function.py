"""``xp_function``: functions written once for NumPy's arrays and for ours.

They get the namespace as their first argument. On small known arrays it is NumPy, and
the whole function costs one call; everywhere else it is ours, and the function is a
program of operations. Both promise the same results, so only what both namespaces
define alike may be used, and element types must not depend on NumPy's 64-bit defaults.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np

from covector.core.array_like import link
from covector.numpy.fuse import FUSE_LIMIT, fuse

P = ParamSpec("P")
R = TypeVar("R")
#: an array of the namespace that a portable function is given: NumPy's, or ours
XpArray: TypeAlias = Any


def xp_function(
    fun: Callable[Concatenate[Any, P], R], limit: float = FUSE_LIMIT
) -> Callable[P, R]:
    """``fun(xp, *arrays, **static)`` as a function of the arrays and the static
    values; up to ``limit`` elements NumPy is the quicker one.
    """

    @fuse(host=functools.partial(fun, np), limit=limit)
    @functools.wraps(fun)
    def run(*operands: P.args, **static: P.kwargs) -> R:
        return fun(link.numpy, *operands, **static)

    return run
