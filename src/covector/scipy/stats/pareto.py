"""The Pareto distribution: density b / xᵇ⁺¹ for x ≥ 1 of the standard one."""

import numpy as np

from covector import namespaces
from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.scipy.stats.arguments import (
    located,
    log1mexp,
    outside,
    positive,
    probability,
    standard,
    statistic,
)

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
__dir__ = namespaces.completions(globals())


@statistic
def logpdf(
    x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of the density.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.logpdf(2.0, 3.0)), 4)
    -1.674
    """
    z, b = standard(x, loc, scale), positive(b)
    log_scale = cnp.log(positive(scale))
    return outside(
        z < 1, -np.inf, lambda z: cnp.log(b) - log_scale - (b + 1) * cnp.log(z), z
    )


@statistic
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.pdf(2.0, 3.0)), 4)
    0.1875
    """
    return cnp.exp(logpdf(x, b, loc, scale))


@statistic
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to ``x``.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.cdf(2.0, 3.0)), 4)
    0.875
    """
    return -cnp.expm1(logsf(x, b, loc, scale))


@statistic
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above ``x``.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.sf(2.0, 3.0)), 4)
    0.125
    """
    return cnp.exp(logsf(x, b, loc, scale))


@statistic
def logcdf(
    x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``cdf``, also where that underflows.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.logcdf(2.0, 3.0)), 4)
    -0.1335
    """
    rest = -logsf(x, b, loc, scale)
    return outside(rest == 0, -np.inf, log1mexp, rest)


@statistic
def logsf(
    x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """The logarithm of ``sf``, also where that underflows.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.logsf(2.0, 3.0)), 4)
    -2.0794
    """
    return -positive(b) * cnp.log(cnp.maximum(standard(x, loc, scale), 1))


@statistic
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is ``q``.

    >>> from covector.scipy.stats import pareto
    >>> round(float(pareto.ppf(0.25, 3.0)), 4)
    1.1006
    """
    return located(cnp.exp(-cnp.log1p(-probability(q)) / positive(b)), loc, scale)
