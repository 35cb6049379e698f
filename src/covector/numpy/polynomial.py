"""Polynomials as coefficient vectors, highest power first.

Zeros, polynomials of given zeros, and fits to points are in ``polynomial_zeros``.
"""

from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.trace import Tracer
from covector.errors import ArgumentError, AxisError, ConcretizationTypeError, how_many
from covector.numpy.axes import as_count, as_integer
from covector.numpy.concatenation import concatenate
from covector.numpy.convolution import convolve
from covector.numpy.filling import zeros, zeros_like
from covector.numpy.powers import power
from covector.numpy.promote import (
    inexact,
    promote_dtypes,
    promote_dtypes_inexact,
    standard_promotion,
)
from covector.numpy.ranges import arange
from covector.numpy.reshaping import broadcast_to
from covector.operations.broadcasting import ReduceSum

__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "vander",
]


def coefficients(who: str, p: ArrayLike) -> Array:
    """``p`` as a vector of coefficients; a number is a constant polynomial."""
    x = as_array(p, who)
    if x.ndim > 1:
        raise AxisError(
            f"{who} needs coefficients as a vector, the highest power first, but got "
            f"{x.type}."
        )
    return x.reshape(-1)


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The value at ``x`` of the polynomial with coefficients ``p``, by Horner's rule.

    Args:
      p: ``[n]``, the highest power first; or ``[n, ...]``, one polynomial for each.
      unroll: accepted for JAX's sake; every multiplication is written out.

    >>> import covector.numpy as cnp
    >>> print(polyval(cnp.array([1, 0, -2]), cnp.array([2.0, 3.0])))
    [2. 7.]
    """
    p, x = promote_dtypes("polyval", p, x)
    if p.ndim == 0:
        raise AxisError(f"polyval needs coefficients along an axis, but got {p.type}.")
    shape = np.broadcast_shapes(p.shape[1:], x.shape)
    value: Any = None
    for k, coefficient in enumerate(p):
        value = value * x + coefficient if k else broadcast_to(coefficient, shape)
    return ReduceSum((0,))(p) + zeros_like(x) if value is None else value


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    >>> import covector.numpy as cnp
    >>> print(polyadd(cnp.array([1, 2]), cnp.array([1, 2, 3])))
    [1 3 5]
    """
    a, b = _of_one_length("polyadd", a1, a2)
    return a + b


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    >>> import covector.numpy as cnp
    >>> print(polysub(cnp.array([1, 2]), cnp.array([1, 2, 3])))
    [-1 -1 -1]
    """
    a, b = _of_one_length("polysub", a1, a2)
    return a - b


def _of_one_length(who: str, a1: ArrayLike, a2: ArrayLike) -> list[Array]:
    """Both with zeros for the powers that only the other one has."""
    found = promote_dtypes(who, coefficients(who, a1), coefficients(who, a2))
    n = max(x.size for x in found)
    return [concatenate([zeros(n - x.size, x.dtype), x]) for x in found]


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials, in floating point.

    Args:
      trim_leading_zeros: leave out powers of the factors whose coefficient is 0; these
        must then be known.

    >>> import covector.numpy as cnp
    >>> print(polymul(cnp.array([1, 2]), cnp.array([1, -2])))
    [ 1.  0. -4.]
    """
    a, b = (coefficients("polymul", x) for x in (a1, a2))
    a, b = promote_dtypes_inexact("polymul", a, b)
    if trim_leading_zeros:
        a, b = without_leading_zeros("polymul", a), without_leading_zeros("polymul", b)
    return convolve(a, b)


def polydiv(
    u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False
) -> tuple[Array, Array]:
    """The quotient and the rest of one polynomial divided by another.

    Args:
      trim_leading_zeros: leave out powers of the rest whose coefficient is (nearly) 0.

    >>> import covector.numpy as cnp
    >>> quotient, rest = polydiv(cnp.array([1, 5, 7]), cnp.array([1, 2]))
    >>> print(quotient, rest)
    [1. 3.] [0. 0. 1.]
    """
    u, v = (coefficients("polydiv", x) for x in (u, v))
    u, v = promote_dtypes_inexact("polydiv", u, v)
    if not v.size:
        raise ArgumentError(
            "polydiv cannot divide by a polynomial without coefficients."
        )
    steps = u.size - v.size + 1
    if steps < 1:
        return zeros(1, u.dtype), u
    quotient, rest = [], u
    for k in range(steps):
        factor = rest[k] / v[0]
        quotient.append(factor)
        rest = rest.at[k : k + v.size].add(-factor * v)
    if trim_leading_zeros:
        rest = without_leading_zeros("polydiv", rest, 1e-8)
    return concatenate([q.reshape(1) for q in quotient]), rest


def without_leading_zeros(who: str, p: Any, tolerance: float = 0.0) -> Any:
    """``p`` from its first coefficient on that is not 0 (within the tolerance)."""
    if isinstance(p, Tracer):
        raise ConcretizationTypeError(
            f"{who} leaves out leading zeros, and so needs known coefficients, but got "
            f"{p!r}: the length of the result depends on them. Leave that out under "
            "jit."
        )
    positions = np.flatnonzero(np.abs(np.asarray(p)) > tolerance)
    return p[int(positions[0]) if positions.size else p.size :]


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of order m, in floating point.

    >>> import covector.numpy as cnp
    >>> print(polyder(cnp.array([1, 2, 3])))
    [2. 2.]
    """
    x, m = inexact("polyder", coefficients("polyder", p)), _order("polyder", m)
    for _ in range(min(m, x.size)):
        x = x[:-1] * arange(x.size - 1, 0, -1, x.dtype)
    return x


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The integral of order m, in floating point.

    Args:
      k: the constant of each integration, or one for all; 0 by default.

    >>> import covector.numpy as cnp
    >>> print(polyint(cnp.array([4.0, 6.0]), k=5))
    [2. 6. 5.]
    """
    m = _order("polyint", m)
    k = coefficients("polyint", 0 if k is None else k)
    x, k = promote_dtypes_inexact("polyint", coefficients("polyint", p), k)
    if k.size not in (1, m):
        raise ArgumentError(
            f"polyint of order {m} needs {m} constants, or one for all, but got "
            f"{k.type}."
        )
    constants = broadcast_to(k, (m,))
    for i in range(m):
        x = x / arange(x.size, 0, -1, x.dtype)
        x = concatenate([x, constants[i : i + 1]])
    return x


def _order(who: str, m: Any) -> int:
    return as_count(who, m, "the order m")


@standard_promotion
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix ``[n, N]`` of powers of a vector ``[n]``, the highest power first.

    Args:
      N: how many powers; n by default.
      increasing: the lowest power first.

    >>> import covector.numpy as cnp
    >>> print(vander(cnp.array([2, 3]), 3))
    [[4 2 1]
     [9 3 1]]
    """
    x = as_array(x, "vander")
    if x.ndim != 1:
        raise AxisError(f"vander needs a vector, but got {x.type}.")
    count = x.size if N is None else as_integer("vander", N, "N")
    if count < 0:
        raise ArgumentError(f"vander cannot have {how_many(count, 'column')}.")
    powers = arange(count) if increasing else arange(count - 1, -1, -1)
    return power(x[:, None], powers[None])
