"""The Dirichlet distribution, of numbers that are positive and add up to 1."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.errors import TypeMismatch
from covector.numpy.promote import promote_dtypes_inexact, standard_promotion
from covector.scipy.special import gammaln, xlogy
from covector.scipy.stats.arguments import positive

__all__ = ["logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@standard_promotion
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density, Γ(Σ α) Π xᵢ^(αᵢ − 1) / Γ(αᵢ).

    Args:
      x: ``[k, ...]``, points of the simplex; or ``[k - 1, ...]``, without the last
        number, which is what lacks to 1. Elsewhere the density is 0.
      alpha: ``[k]``, positive.

    Raises:
      TypeMismatch: shapes do not fit.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import dirichlet
    >>> x, alpha = cnp.array([0.2, 0.3, 0.5]), cnp.array([1.0, 2.0, 3.0])
    >>> round(float(dirichlet.logpdf(x, alpha)), 4)
    1.5041
    """
    x, alpha = promote_dtypes_inexact("dirichlet.logpdf", x, alpha)
    k = alpha.size
    if alpha.ndim != 1 or x.ndim < 1 or x.shape[0] not in (k, k - 1):
        raise TypeMismatch(
            "dirichlet needs parameters [k] and points [k, ...] or [k - 1, ...], but "
            f"got {alpha.type} and {x.type}."
        )
    if x.shape[0] == k - 1:
        x = cnp.concatenate([x, 1 - cnp.sum(x, axis=0, keepdims=True)])
    alpha = positive(alpha)
    size = cnp.abs(cnp.sum(x, axis=0) - 1)
    tolerance = 1e-5 if cnp.finfo(x.dtype).nmant < 30 else 1e-9
    beyond = cnp.any(x < 0, axis=0) | (size > tolerance)
    inner = cnp.where(beyond, 1.0, x)
    each = alpha.reshape(-1, *[1] * (x.ndim - 1)) - 1
    # The zeroth power has no derivative.
    powers = cnp.where(each == 0, 0.0, xlogy(each, cnp.where(each == 0, 1.0, inner)))
    constant = gammaln(cnp.sum(alpha)) - cnp.sum(gammaln(alpha))
    return cnp.where(beyond, -np.inf, constant + cnp.sum(powers, axis=0))


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density; arguments are those of ``logpdf``.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import dirichlet
    >>> x, alpha = cnp.array([0.2, 0.3, 0.5]), cnp.array([1.0, 2.0, 3.0])
    >>> round(float(dirichlet.pdf(x, alpha)), 4)
    4.5
    """
    return cnp.exp(logpdf(x, alpha))
