"""Numbers of combinatorics and number theory."""

from fractions import Fraction

import numpy as np

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.fuse import fuse
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import special
from covector.operations.bernoulli import bernoulli_numbers
from covector.operations.beta import beta
from covector.operations.chebyshev import chebyshev
from covector.operations.gamma_function import sin_pi
from covector.operations.pochhammer import pochhammer

__all__ = ["bernoulli", "comb", "factorial", "poch", "zeta"]

#: of (s − 1) ζ(s) for −1 ≤ s ≤ 1, computed in 45 digits
_NEAR_POLE = (
    0.5417799842556974,
    0.4172196028758992,
    0.04166667585643251,
    -0.0005604167401123054,
    -0.00011331893035817901,
    7.503675104826969e-06,
    -9.187640061687481e-09,
    -2.3127127394380095e-08,
    1.3413319210483991e-09,
    -1.725265774183889e-11,
    -2.1257879014184192e-12,
    1.5499730683981141e-13,
    -4.449202025673086e-15,
    -3.2212446773396257e-17,
    8.924878318178562e-18,
)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial n! = Γ(n + 1) as a floating-point number; 0 for n < 0.

    Args:
      exact: must be False: integers of 64 bits hold factorials up to 20! only.

    Raises:
      ArgumentError: ``exact`` is True.

    >>> from covector.scipy.special import factorial
    >>> factorial(5).tolist()
    120.0
    """
    if exact:
        raise ArgumentError(
            "factorial has no exact integers: from 21 on 64 bits do not hold them. "
            "Leave exact out, or use math.factorial."
        )
    n = inexact("factorial", n)
    value = special.gamma(cnp.where(n < 0, 0, n) + 1)
    return cnp.where(n < 0, cnp.zeros_like(n), value)


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things, as a floating-point number.

    It is 0 for N < 0, k < 0 and k > N.

    Args:
      repetition: a thing may be chosen several times.

    >>> from covector.scipy.special import comb
    >>> comb(5, 2).tolist(), comb(5, 2, repetition=True).tolist()
    (10.0, 15.0)
    """
    return _comb(*promote_inexact("comb", N, k), repetition=repetition)


@fuse()
def _comb(n: Value, k: Value, repetition: bool) -> Array:
    dtype = n.dtype
    if dtype.itemsize < 4:
        n, k = n.astype(cnp.float32), k.astype(cnp.float32)
    none = (n < 0) | (k < 0)
    if repetition:
        none, n = none | ((n == 0) & (k > 0)), n + k - 1
        every = k == 0
    else:
        none, every = none | (k > n), cnp.zeros_like(k, bool)
    n, k = cnp.where(none | every, 1, n), cnp.where(none | every, 1, k)
    small = n < (100 if n.dtype.itemsize == 8 else 30)
    few, of_few = cnp.where(small, n, 1), cnp.where(small, k, 1)
    factorials = special.gamma(of_few + 1) * special.gamma(few - of_few + 1)
    direct = special.gamma(few + 1) / factorials
    value = cnp.where(small, direct, 1 / ((n + 1) * beta(n - k + 1, k + 1)))
    return cnp.where(none, 0, cnp.where(every, 1, value)).astype(dtype)


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol Γ(z + m) / Γ(z) of real numbers.

    At poles of both it is the limit for whole m: ``poch(-3, 2)`` is (−3)(−2).

    >>> from covector.scipy.special import poch
    >>> poch(3.0, 2.0).tolist()
    12.0
    """
    return pochhammer(*promote_inexact("poch", z, m))


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B₀, B₁ = −½, …, Bₙ, in the default float.

    Raises:
      ArgumentError: n is not a whole number ≥ 0.

    >>> from covector.scipy.special import bernoulli
    >>> bernoulli(4).round(4).tolist()[:3]
    [1.0, -0.5, 0.16670000553131104]
    """
    if not isinstance(n, int | np.integer) or n < 0:
        raise ArgumentError(f"bernoulli needs a whole number n ≥ 0, but got {n!r}.")
    return cnp.asarray([_as_float(b) for b in bernoulli_numbers(int(n) + 1)])


def _as_float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return np.inf if x > 0 else -np.inf


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function Σ 1/(k + q)ˣ over k ≥ 0, for x > 1.

    Without q it is Riemann's, of all real x, with its pole at 1.

    Raises:
      NotDifferentiable: for a derivative by x.

    >>> from covector.scipy.special import zeta
    >>> round(float(zeta(2.0, 1.0)), 4), zeta(0.0).tolist()
    (1.6449, -0.5)
    """
    if q is not None:
        return lax.zeta(*promote_inexact("zeta", x, q))
    return _riemann(inexact("zeta", x))


@fuse()
def _riemann(s: Value) -> Array:
    dtype = s.dtype
    wide = s if dtype.itemsize >= 4 else s.astype(cnp.float32)
    left, right = wide < -1, wide > 1
    mirrored = cnp.where(left, 1 - wide, wide)
    far = lax.zeta(cnp.where(left | right, mirrored, 2), cnp.ones_like(wide))
    inner = cnp.where(left | right, 0, wide)
    near = chebyshev(_NEAR_POLE, inner) / (inner - 1)
    # ζ(s) = 2 (2π)ˢ⁻¹ sin(πs/2) Γ(1 − s) ζ(1 − s)
    safe = cnp.where(left, wide, -2)
    factor = special.gamma(1 - safe) * (2 * np.pi) ** safe / np.pi
    below = factor * sin_pi(0.5 * safe) * far
    far = cnp.where(wide == cnp.inf, 1, far)
    value = cnp.where(left, below, cnp.where(right, far, near))
    return cnp.where(cnp.isnan(wide), wide, value).astype(dtype)
