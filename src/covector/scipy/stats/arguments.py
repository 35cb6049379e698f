"""What the functions of all distributions share: their arguments, and supports."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.numpy.promote import promote_dtypes_inexact, promote_inexact

P = ParamSpec("P")

HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))


def statistic(written: Callable[P, Array]) -> Callable[P, Array]:
    """Decorator for a function of numbers, element by element.

    It sees arrays of one floating-point dtype, and of one shape but for scalars,
    whatever it is given.
    """
    signature = inspect.signature(written)
    who = f"{written.__module__.rpartition('.')[2]}.{written.__name__}"
    run = fuse()(written)

    @functools.wraps(written)
    def called(*args: P.args, **named: P.kwargs) -> Array:
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        arrays = promote_dtypes_inexact(who, *bound.args)
        if len({x.shape for x in arrays if x.shape}) > 1:
            arrays = promote_inexact(who, *arrays)
        return run(*arrays)

    return called


def positive(x: Any) -> Array:
    """``x``, or NaN where it is not positive: no parameter of a distribution then."""
    return cnp.where(x > 0, x, np.nan)


def nonnegative(x: Any) -> Array:
    """``x``, or NaN where it is negative."""
    return cnp.where(x >= 0, x, np.nan)


def whole(n: Any) -> Array:
    """``n``, or NaN where it is not a number of things."""
    return cnp.where((n >= 0) & (n == cnp.floor(n)), n, np.nan)


def probability(p: Any) -> Array:
    """``p``, or NaN where it is not a probability."""
    return cnp.where((p >= 0) & (p <= 1), p, np.nan)


def standard(x: Any, loc: Any, scale: Any) -> Array:
    """``x`` as seen by the distribution of location 0 and scale 1."""
    return (x - loc) / positive(scale)


def shifted(x: Any, loc: Any) -> Array:
    """``x`` as seen by the distribution of location 0."""
    return x - loc


def located(z: Any, loc: Any, scale: Any) -> Array:
    """``z`` of the standard distribution, brought to a location and scale."""
    return z * positive(scale) + loc


def outside(
    mask: Any, value: float, formula: Callable[[Array], Any], z: Any, inside: Any = 1.0
) -> Array:
    """``formula(z)``, but ``value`` in the mask.

    There the formula sees ``inside``, for which it is defined, so that derivatives are
    0 and not NaN. NaN is in no mask.
    """
    return cnp.where(mask, value, formula(cnp.where(mask, inside, z)))


def counted(
    k: Any, mask: Any, formula: Callable[[Array], Any], inside: Any = 0.0
) -> Array:
    """The logarithm of a probability of the number ``k``.

    It is −∞ in the mask, and where ``k`` is not a whole number.
    """
    return outside(mask | (k > cnp.floor(k)), -np.inf, formula, k, inside)


def log1mexp(x: Any) -> Array:
    """log(1 − e⁻ˣ) for x ≥ 0: −∞ at 0; derivatives are finite or infinite, not NaN."""
    near = x < float(np.log(2))
    small, large = cnp.where(near, x, 1.0), cnp.where(near, 1.0, x)
    return cnp.where(near, cnp.log(-cnp.expm1(-small)), cnp.log1p(-cnp.exp(-large)))
