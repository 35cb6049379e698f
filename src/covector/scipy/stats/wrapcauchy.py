"""The wrapped Cauchy distribution of angles between 0 and 2π, 0 < c < 1."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import HALF_LOG_TAU, outside, statistic

__all__ = ["logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import wrapcauchy
    >>> round(float(wrapcauchy.logpdf(0.5, 0.3)), 4)
    -1.3585
    """
    x, given = cnp.asarray(x), cnp.asarray(c)
    inner = cnp.where((given > 0) & (given < 1), given, np.nan)

    def formula(x: Array) -> Array:
        # 1 + c² − 2 c cos x, where c is near 1 and x near 0.
        half = cnp.sin(x / 2)
        below = (1 - inner) ** 2 + 4 * inner * half * half
        return cnp.log1p(-inner) + cnp.log1p(inner) - cnp.log(below) - 2 * HALF_LOG_TAU

    return outside((x < 0) | (x > 2 * np.pi), -np.inf, formula, x)


@statistic
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density.

    >>> from covector.scipy.stats import wrapcauchy
    >>> round(float(wrapcauchy.pdf(0.5, 0.3)), 4)
    0.257
    """
    return cnp.exp(logpdf(x, c))
