"""Random numbers: functions of a key.

    k = random.key(0)
    x = random.normal(k, (3,))        the same three numbers each time, on every device
    a, b = random.split(k)            two keys, to draw what is independent

A draw is the encryption of counters under the key (Threefry, see
``covector.ops.threefry``),
so it is a pure function like any other: it can be compiled, batched over keys and
differentiated in the parameters of its distribution.

>>> from covector import random
>>> first, second = random.split(random.key(0))
>>> bool((random.normal(first, (3,)) == random.normal(first, (3,))).all())
True
"""

from covector.random.bits import bernoulli, bits, rademacher, randint, uniform
from covector.random.choosing import categorical, choice, permutation
from covector.random.counts import binomial, multinomial, poisson
from covector.random.gamma_family import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from covector.random.inversion import (
    cauchy,
    exponential,
    geometric,
    gumbel,
    laplace,
    logistic,
    pareto,
    rayleigh,
    triangular,
    weibull_min,
)
from covector.random.keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from covector.random.normal import (
    double_sided_maxwell,
    lognormal,
    maxwell,
    normal,
    truncated_normal,
    wald,
)

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
