"""Rows of ``scipy.stats``: parameters are valid, and numbers mostly in the support."""

from typing import Any

import numpy as np
import scipy.stats

from tests.public.draws import Draw, Maker
from tests.public.table import rows

POSITIVE, UNIT, ANY = (0.5, 3.0), (0.1, 0.9), (-2.0, 3.0)
#: densities are exponentials of sums, whose rounding they multiply
FACTS: dict[str, Any] = {"rounding": 1 << 10, "cancels": True, "zeros": False}


def float_dtype(draw: Draw) -> Any:
    return np.float64 if draw.smooth or draw.x64 else np.float32


def given(
    x: tuple[float, float], *parameters: tuple[float, float], loc: bool = True,
    scale: bool = True, count: bool = False,
) -> Maker:  # fmt: skip
    """Numbers, or counts, between bounds; parameters between theirs."""

    def make(draw: Draw) -> Any:
        dtype, shapes = float_dtype(draw), draw.shapes(1 + len(parameters), (0, 2))
        values = [draw.values(dtype, s, b) for s, b in zip(shapes, (x, *parameters), strict=True)]
        if count:
            values[0] = np.floor(values[0]).astype(np.int32)
        named: dict[str, Any] = draw.some(loc=(1 if count else 0.25,)) if loc else {}
        if count and draw.smooth:  # so that counts stay in the support
            named.pop("loc", None)
        return tuple(values), named | (draw.some(scale=(1.5,)) if scale else {})

    return make


def all_of(name: str, x: tuple[float, float], *parameters: tuple[float, float],
           methods: str = "logpdf pdf", inverse: str = "", **options: Any) -> None:  # fmt: skip
    # SciPy has fewer digits in some tails and for large arguments.
    space = f"scipy.stats.{name}"
    for method in methods.split():
        # Exponentials of a logarithm have its derivative.
        of_log = method in ("pdf", "pmf")
        make = given(x, *parameters, **options)
        rows(space, method, make, **FACTS, derivative=not of_log)
    if inverse:
        rows(space, inverse, given(UNIT, *parameters, **options), **FACTS)


CDF = "logpdf pdf cdf"
TAILS = "logpdf pdf cdf sf logcdf logsf"
all_of("norm", ANY, methods=TAILS, inverse="ppf isf")
all_of("uniform", (0.3, 0.9), methods=CDF, inverse="ppf")
all_of("expon", POSITIVE, methods=TAILS, inverse="ppf")
all_of("laplace", ANY, methods=CDF)
all_of("logistic", ANY, methods="logpdf pdf cdf sf", inverse="ppf isf")
all_of("cauchy", ANY, methods=TAILS, inverse="ppf isf")
all_of("pareto", (1.8, 4.0), POSITIVE, methods=TAILS, inverse="ppf")
all_of("gumbel_r", ANY, methods=TAILS, inverse="ppf")
all_of("gumbel_l", ANY, methods=TAILS, inverse="ppf")
all_of("gamma", POSITIVE, POSITIVE, methods=TAILS)
all_of("chi2", POSITIVE, POSITIVE, methods=TAILS)
all_of("beta", (0.3, 0.9), POSITIVE, POSITIVE, methods="logpdf pdf")
all_of("t", ANY, POSITIVE)
all_of("gennorm", ANY, POSITIVE, methods=CDF, loc=False, scale=False)
all_of("vonmises", ANY, POSITIVE, loc=False, scale=False)
all_of("wrapcauchy", (0.1, 6.0), UNIT, loc=False, scale=False)
all_of("truncnorm", (-0.5, 1.0), (-2, -1), (2, 3), methods=TAILS)
# The incomplete beta function has derivatives by x alone.
rows("scipy.stats.beta", "cdf sf logcdf logsf", given((0.3, 0.9), POSITIVE, POSITIVE),
     **FACTS, derivative=False)  # fmt: skip

COUNTED: dict[str, Any] = {"count": True, "scale": False, "methods": "logpmf pmf"}
all_of("geom", (2, 6), UNIT, **COUNTED)
all_of("poisson", (0, 6), POSITIVE, **COUNTED)
all_of("nbinom", (0, 6), POSITIVE, UNIT, **COUNTED)
all_of("bernoulli", (0, 2), UNIT, **COUNTED)
rows("scipy.stats.bernoulli", "cdf", given((-1, 3), UNIT, loc=False, scale=False, count=True),
     **FACTS)  # fmt: skip
rows("scipy.stats.bernoulli", "ppf", given(UNIT, UNIT, loc=False, scale=False), **FACTS)
rows("scipy.stats.poisson", "cdf", given((0, 6), POSITIVE, scale=False, count=True), **FACTS)
rows("scipy.stats.poisson", "entropy", given((0.5, 20), loc=False, scale=False), **FACTS)


def trials(*parameters: tuple[float, float]) -> Maker:
    def make(draw: Draw) -> Any:
        shapes, dtype = draw.shapes(len(parameters), (0, 1)), float_dtype(draw)
        values = [draw.values(dtype, s, b) for s, b in zip(shapes, parameters, strict=True)]
        count = draw.values(np.int32, shapes[0], (0, 6))
        return (count, np.int32(6), *values), draw.some(loc=(1,))

    return make


for method in ("logpmf", "pmf"):
    smooth = {"derivative": method == "logpmf"}
    rows("scipy.stats.binom", method, trials(UNIT), **FACTS, **smooth)
    rows("scipy.stats.betabinom", method, trials(POSITIVE, POSITIVE), **FACTS, **smooth)


def simplex(draw: Draw) -> Any:
    x = draw.values(np.float64, (3, *draw.pick((), (2,))), (0.1, 1))
    dtype = float_dtype(draw)
    alpha = draw.values(dtype, (3,), POSITIVE)
    return (x / x.sum(0))[: draw.pick(2, 3)].astype(dtype), alpha


def outcomes(draw: Draw) -> Any:
    x = draw.rng.multinomial(5, [0.2, 0.3, 0.5], draw.pick((), (2,)))
    p = draw.values(np.float64, (3,), (0.1, 1))
    return x.astype(np.int32), np.int32(5), (p / p.sum()).astype(float_dtype(draw))


def vectors(draw: Draw) -> Any:
    dtype = float_dtype(draw)
    root = draw.values(dtype, (2, 2), (-1, 1)) + 2 * np.eye(2, dtype=dtype)
    x = draw.values(dtype, (*draw.pick((), (3,), (2, 3)), 2), ANY)
    return x, draw.values(dtype, (2,), ANY), root @ root.T


LOOSE = FACTS | {"derivative": False, "shuffled": False}
rows("scipy.stats.dirichlet", "logpdf pdf", simplex, **LOOSE)
rows("scipy.stats.multinomial", "logpmf pmf", outcomes, **LOOSE)
rows("scipy.stats.multivariate_normal", "logpdf pdf", vectors, **LOOSE)

# -- samples ---------------------------------------------------------------------------


def sample(**keywords: Any) -> Maker:
    def make(draw: Draw) -> Any:
        dtype = draw.pick(np.int32, np.float32) if not draw.smooth else np.float64
        x = draw.values(dtype, draw.shape((1, 2), empty=False), (-3, 4))
        x = x if draw.smooth else np.floor(x).astype(dtype)
        named = {"axis": draw.pick(None, -1)} if draw.chance(0.6) else {}
        return (x,), named | draw.some(**keywords)

    return make


rows("scipy.stats", "mode", sample(keepdims=(True, False)), derivative=False)
rows("scipy.stats", "rankdata", sample(method=("average", "min", "max", "dense", "ordinal")),
     derivative=False)  # fmt: skip


def sem(x: Any, *args: Any, ddof: int = 1, **keywords: Any) -> Any:
    """SciPy's says NaN of one element, of which the deviation without ``ddof`` is 0."""
    found = scipy.stats.sem(x, *args, ddof=ddof, **keywords)
    alone = np.size(x) == 1 or np.shape(x)[keywords.get("axis", 0) or 0] == 1
    return np.where(np.isnan(found), 0, found) if alone and ddof == 0 else found


rows("scipy.stats", "sem", sample(ddof=(0,), keepdims=(True,), nan_policy=("omit",)),
     numpy=sem, rounding=256, cancels=True, shuffled=False)  # fmt: skip
