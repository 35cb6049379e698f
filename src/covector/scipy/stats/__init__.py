"""Probability distributions, each a module of functions, and statistics of samples.

    from covector.scipy.stats import norm
    norm.logpdf(x, loc, scale)      the density
    norm.logsf(x)                   a tail, also where it underflows

Functions work element by element, and operands broadcast. Outside of the support of a
distribution densities are 0 and their logarithms −∞, with derivatives that are 0; for
what is not a parameter of it, a negative scale for instance, the result is NaN.
"""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.scipy.stats import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    dirichlet,
    expon,
    gamma,
    gennorm,
    geom,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    multinomial,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from covector.scipy.stats.gaussian_kde import gaussian_kde
from covector.scipy.stats.samples import ModeResult, mode, rankdata, sem

__all__ = [
    "ModeResult",
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)
