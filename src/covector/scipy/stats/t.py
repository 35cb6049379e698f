"""Student's t distribution with ``df`` degrees of freedom; infinitely many: normal."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.operations.densities import stirling_error
from covector.scipy.stats.arguments import HALF_LOG_TAU, positive, standard, statistic

__all__ = ["logpdf", "pdf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import t
    >>> round(float(t.logpdf(0.5, 3.0)), 4)
    -1.161
    """
    z, n = standard(x, loc, scale), positive(df)
    normal = n == np.inf
    h = cnp.where(normal, 1.0, n) / 2
    # log Γ(h + ½) − log Γ(h) − ½ log h, by what Stirling's formula leaves of both.
    ratio = stirling_error(h + 0.5) - stirling_error(h) + h * cnp.log1p(0.5 / h) - 0.5
    w = z / cnp.sqrt(2 * h)
    far = cnp.abs(w) > 1e6
    near, large = cnp.where(far, 0.0, w), cnp.where(far, w, 1.0)
    log_square = cnp.where(far, 2 * cnp.log(cnp.abs(large)), cnp.log1p(near * near))
    student = ratio - (h + 0.5) * log_square
    found = cnp.where(normal, -0.5 * z * z, student)
    return found - HALF_LOG_TAU - cnp.log(positive(scale))


@statistic
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import t
    >>> round(float(t.pdf(0.5, 3.0)), 4)
    0.3132
    """
    return cnp.exp(logpdf(x, df, loc, scale))
