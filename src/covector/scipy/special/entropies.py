"""x log y, entropies and divergences."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.promote import inexact, promote_inexact
from covector.operations import entropies

__all__ = ["entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """The product x log y, which is 0 where x = 0. NaN for y < 0.

    Use it for entropies and likelihoods, in which terms with x = 0 do not count.

    >>> from covector.scipy.special import xlogy
    >>> xlogy(0.0, 0.0).tolist()
    0.0

    See also: ``xlog1py``, ``entr``, ``rel_entr``.
    """
    return entropies.xlogy(*promote_inexact("xlogy", x, y))


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """The product x log(1 + y), which is 0 where x = 0. NaN for y < −1.

    >>> from covector.scipy.special import xlog1py
    >>> xlog1py(0.0, -1.0).tolist()
    0.0
    """
    return entropies.xlog1py(*promote_inexact("xlog1py", x, y))


def entr(x: ArrayLike) -> Array:
    """The entropy −x log x for x ≥ 0, and −∞ below.

    >>> from covector.scipy.special import entr
    >>> round(float(entr(0.5)), 4)
    0.3466
    """
    return entropies.entr(inexact("entr", x))


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """The relative entropy p log(p / q) for p > 0, q > 0.

    It is 0 for p = 0 ≤ q, and infinite elsewhere.

    >>> from covector.scipy.special import rel_entr
    >>> round(float(rel_entr(1.0, 0.5)), 4)
    0.6931
    """
    return entropies.rel_entr(*promote_inexact("rel_entr", p, q))


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """The divergence p log(p / q) − p + q for p > 0, q > 0.

    It is q for p = 0 ≤ q, and infinite elsewhere; accurate also where p and q are
    nearly equal and it is small.

    >>> from covector.scipy.special import kl_div
    >>> round(float(kl_div(1.0, 0.5)), 4)
    0.1931
    """
    return entropies.kl_div(*promote_inexact("kl_div", p, q))
