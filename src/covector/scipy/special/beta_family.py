"""The beta function, its logarithm, and the incomplete beta function."""

from covector import lax
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.promote import promote_inexact
from covector.operations import beta as operations

__all__ = ["beta", "betainc", "betaln"]


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b) of real numbers.

    >>> from covector.scipy.special import beta
    >>> round(float(beta(2.0, 3.0)), 4)
    0.0833
    """
    return operations.beta(*promote_inexact("beta", a, b))


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log|B(a, b)|, the logarithm of the beta function, also of large a and b.

    >>> from covector.scipy.special import betaln
    >>> round(float(betaln(2.0, 3.0)), 4)
    -2.4849
    """
    return operations.log_beta(*promote_inexact("betaln", a, b))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function, for a ≥ 0, b ≥ 0 and 0 ≤ x ≤ 1.

    It has derivatives by a, b and x.

    >>> from covector.scipy.special import betainc
    >>> round(float(betainc(2.0, 2.0, 0.5)), 4)
    0.5
    """
    return lax.betainc(*promote_inexact("betainc", a, b, x))
