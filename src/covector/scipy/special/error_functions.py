"""The error function, the normal distribution, and their relatives."""

from covector import lax
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import error_functions
from covector.operations import owens_t as owen

__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "owens_t",
]


def erf(x: ArrayLike) -> Array:
    """The error function, 2/√π · ∫₀ˣ exp(−t²) dt, of real numbers.

    For large x use ``erfc``, which is 1 − erf(x) without the loss of digits.

    >>> from covector.scipy.special import erf
    >>> erf(0.0).tolist()
    0.0

    See also: ``erfc``, ``erfinv``, ``ndtr``.
    """
    return lax.erf(inexact("erf", x))


def erfc(x: ArrayLike) -> Array:
    """The complement 1 − erf(x) of the error function, accurate where that is small.

    >>> from covector.scipy.special import erfc
    >>> erfc(0.0).tolist()
    1.0

    See also: ``erf``, ``ndtr``.
    """
    return lax.erfc(inexact("erfc", x))


def erfcx(x: ArrayLike) -> Array:
    """exp(x²) · erfc(x), which falls off as 1/(x √π); infinite from x = −27 on down.

    >>> from covector.scipy.special import erfcx
    >>> erfcx(0.0).tolist()
    1.0
    """
    return error_functions.erfcx(inexact("erfcx", x))


def erfinv(x: ArrayLike) -> Array:
    """The number with error function x: ±∞ of ±1, NaN of |x| > 1.

    >>> from covector.scipy.special import erfinv
    >>> erfinv(0.0).tolist()
    0.0
    """
    return lax.erf_inv(inexact("erfinv", x))


def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the normal distribution, accurate in both tails.

    Of −x, it is 1 − ndtr(x) without the loss of digits.

    >>> from covector.scipy.special import ndtr
    >>> ndtr(0.0).tolist()
    0.5

    See also: ``log_ndtr`` where this rounds to 0, ``ndtri``, the inverse.
    """
    return error_functions.ndtr(inexact("ndtr", x))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """log(ndtr(x)), accurate also where ``ndtr`` is 0 or 1, as are its derivatives.

    Args:
      series_order: accepted, and needs not be chosen: no series of an order is used.

    >>> from covector.scipy.special import log_ndtr
    >>> round(float(log_ndtr(-100.0)), 4)
    -5005.5244
    """
    del series_order
    return error_functions.log_ndtr(inexact("log_ndtr", x))


def ndtri(p: ArrayLike) -> Array:
    """The inverse of ``ndtr``: −∞ of 0, ∞ of 1, NaN outside of [0, 1].

    >>> from covector.scipy.special import ndtri
    >>> ndtri(0.5).tolist()
    0.0
    """
    return error_functions.ndtri(inexact("ndtri", p))


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral exp(−x²) ∫₀ˣ exp(t²) dt, which falls off as 1/(2x).

    >>> from covector.scipy.special import dawsn
    >>> round(float(dawsn(1.0)), 4)
    0.5381
    """
    return error_functions.dawsn(inexact("dawsn", x))


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function, 1/(2π) ∫₀ᵃ exp(−h² (1 + x²)/2) / (1 + x²) dx.

    It is the probability that X > h and 0 < Y < a X, for independent normal X and Y.

    >>> from covector.scipy.special import owens_t
    >>> round(float(owens_t(0.0, 1.0)), 4)
    0.125
    """
    return owen.owens_t(*promote_inexact("owens_t", h, a))
