"""Exponential, sine, cosine and Fresnel integrals, and Spence's function."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import exponential_integrals, trigonometric_integrals
from covector.operations import spence as dilogarithm

__all__ = ["exp1", "expi", "expn", "fresnel", "sici", "spence"]


def exp1(x: ArrayLike) -> Array:
    """The exponential integral E₁(x) = ∫ₓ^∞ e⁻ᵗ/t dt for x ≥ 0, NaN below.

    >>> from covector.scipy.special import exp1
    >>> round(float(exp1(1.0)), 4)
    0.2194
    """
    return exponential_integrals.exp1(inexact("exp1", x))


def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x) = ∫₋∞ˣ eᵗ/t dt, by its principal value for x > 0.

    It is −∞ at 0, and accurate also near its zero 0.3725.

    >>> from covector.scipy.special import expi
    >>> round(float(expi(1.0)), 4)
    1.8951
    """
    return exponential_integrals.expi(inexact("expi", x))


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral Eₙ(x) = ∫₁^∞ e⁻ˣᵗ/tⁿ dt for whole n ≥ 0 and x ≥ 0.

    Raises:
      NotDifferentiable: for a derivative by n.

    >>> from covector.scipy.special import expn
    >>> expn(3, 0.0).tolist()
    0.5
    """
    return exponential_integrals.expn(*promote_inexact("expn", n, x))


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral ∫₀ˣ sin t/t dt, and the cosine integral.

    That is γ + log|x| + ∫₀ˣ (cos t − 1)/t dt, −∞ at 0.

    >>> from covector.scipy.special import sici
    >>> [round(float(part), 4) for part in sici(1.0)]
    [0.9461, 0.3374]
    """
    x = inexact("sici", x)
    return trigonometric_integrals.si(x), trigonometric_integrals.ci(x)


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals ∫₀ˣ sin(πt²/2) dt and ∫₀ˣ cos(πt²/2) dt, of any real x.

    >>> from covector.scipy.special import fresnel
    >>> [round(float(part), 4) for part in fresnel(1.0)]
    [0.4383, 0.7799]
    """
    x = inexact("fresnel", x)
    parts = trigonometric_integrals
    return parts.fresnel_s(x), parts.fresnel_c(x)


def spence(x: ArrayLike) -> Array:
    """Spence's function ∫₁ˣ log t / (1 − t) dt, for x ≥ 0; NaN below.

    It is the dilogarithm of 1 − x.

    >>> from covector.scipy.special import spence
    >>> round(float(spence(0.0)), 4)
    1.6449
    """
    return dilogarithm.spence(inexact("spence", x))
