"""The multinomial distribution, of how often each of k outcomes comes in n trials."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.numpy.promote import promote_dtypes_inexact, standard_promotion
from covector.scipy.special import gammaln, xlogy
from covector.scipy.stats.arguments import probability, whole

__all__ = ["logpmf", "pmf"]
__dir__ = namespaces.completions(globals())


@standard_promotion
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of the counts ``x``: n! Π pᵢ^xᵢ / xᵢ!.

    Args:
      x: ``[..., k]``, counts; if they do not add up to ``n`` the probability is 0.
      n: ``[...]``, the number of trials.
      p: ``[..., k]``, probabilities.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import multinomial
    >>> x, p = cnp.array([1, 2]), cnp.array([0.25, 0.75])
    >>> round(float(multinomial.logpmf(x, 3, p)), 4)
    -0.863
    """
    x, n, p = promote_dtypes_inexact("multinomial.logpmf", x, n, p)
    n, p = whole(n), probability(p)
    apart = cnp.any((x < 0) | (x > cnp.floor(x)), axis=-1)
    beyond = apart | (cnp.sum(x, axis=-1) != n) & ~cnp.isnan(n)
    counts = cnp.where(beyond[..., None], 0.0, x)
    # No power of a probability has no derivative by it.
    powers = xlogy(counts, cnp.where(counts == 0, cnp.where(cnp.isnan(p), p, 1.0), p))
    terms = cnp.sum(powers - gammaln(counts + 1), axis=-1)
    return cnp.where(beyond, -np.inf, gammaln(n + 1) + terms)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of the counts ``x``; arguments are those of ``logpmf``.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.stats import multinomial
    >>> x, p = cnp.array([1, 2]), cnp.array([0.25, 0.75])
    >>> round(float(multinomial.pmf(x, 3, p)), 4)
    0.4219
    """
    return cnp.exp(logpmf(x, n, p))
