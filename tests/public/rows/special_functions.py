"""Rows of ``scipy.special``.

Those of a positive rounding differ from SciPy by what is lost there, or here, in 32
bits: tests/scipy/special has the difficult points.
"""

from typing import Any

import numpy as np
from scipy import special

from tests.public.draws import Draw
from tests.public.makers import elementwise, reduction
from tests.public.table import rows

POSITIVE = (0.2, 3.0)
UNIT = (0.05, 0.95)
SPACE = "scipy.special"


def of_scipy(names: str, make: Any, **facts: Any) -> None:
    """Rows whose reference is SciPy's function of that name."""
    for name in names.split():
        rows(SPACE, name, make, numpy=getattr(special, name), **facts)


def reals(*within: Any, smooth: Any = None) -> Any:
    """Operands in these intervals."""

    def make(draw: Draw) -> Any:
        shapes = draw.shapes(len(within))
        dtype = draw.dtype("f")
        return tuple([draw.values(dtype, s, w) for s, w in zip(shapes, within, strict=True)])

    return make


of_scipy("erf erfc erfcx expit", elementwise("if", within=(-4, 4)), rounding=128)
of_scipy("ndtr log_ndtr", elementwise("if", within=(-8, 8)), rounding=256)
of_scipy("erfinv", elementwise("f", within=(-0.95, 0.95)), rounding=256)
of_scipy("ndtri logit", elementwise("f", within=UNIT), rounding=256, cancels=True)
of_scipy("dawsn", elementwise("if", within=(-6, 6)), rounding=256)
of_scipy("fresnel", elementwise("f", within=(-6, 6)), rounding=1024, cancels=True)
of_scipy("expi", elementwise("f", within=(0.5, 9)), rounding=256)
of_scipy("exp1 spence", elementwise("if", within=(0.2, 9)), rounding=256, cancels=True, zeros=False)
of_scipy("sici", elementwise("f", within=(0.2, 9)), rounding=256, cancels=True)
of_scipy("expn", lambda d: (d.integer(0, 5), d.array("f", within=POSITIVE)), rounding=1024)
of_scipy("owens_t", elementwise("f", "f", within=(-2, 2)), rounding=512)
of_scipy("entr", elementwise("if", smooth=POSITIVE), cancels=True)
of_scipy("xlogy xlog1py rel_entr kl_div", elementwise("if", "if", within=POSITIVE),
         rounding=256, cancels=True)  # fmt: skip
of_scipy("boxcox boxcox1p", elementwise("f", "f", within=POSITIVE), rounding=512, cancels=True)
of_scipy("gammaln digamma", elementwise("f", within=(0.3, 8.0)), rounding=512, cancels=True)
of_scipy("gamma", elementwise("if", within=(-3, 8), smooth=(0.2, 8)), rounding=512, cancels=True)
of_scipy("factorial", elementwise("if", within=(-1, 7), smooth=(0.2, 8)), rounding=512)
of_scipy("gammasgn", elementwise("f", within=(-6, 6)), derivative=False)
of_scipy("gammainc gammaincc", elementwise("f", "f", within=POSITIVE), rounding=4096)
of_scipy("beta betaln", elementwise("f", "f", within=POSITIVE), rounding=1024, cancels=True)
of_scipy("betainc", reals(POSITIVE, POSITIVE, UNIT), rounding=1 << 13)
of_scipy("polygamma", lambda d: (d.integer(0, 4), d.array("f", within=POSITIVE)),
         rounding=1 << 14, cancels=True)  # fmt: skip
of_scipy("multigammaln", lambda d: (d.array("f", within=(2, 6)), d.integer(1, 4)),
         rounding=1 << 10, cancels=True)  # fmt: skip


of_scipy("i0 i0e i1 i1e", elementwise("f", within=(-8, 8)), rounding=512)
of_scipy("loggamma", elementwise("f", within=(0.3, 8.0)), rounding=512, cancels=True)
of_scipy("comb", elementwise("if", "i", within=(0, 9)), rounding=512, derivative=False)
of_scipy("poch", elementwise("f", "f", within=POSITIVE), rounding=512, cancels=True)
of_scipy("zeta", elementwise("f", "f", within=(1.5, 6.0)), rounding=4096, derivative=False)
of_scipy("wofz", elementwise("f", within=(-4, 4)), rounding=512)
of_scipy("hyp1f1", elementwise("f", "f", "f", within=POSITIVE), rounding=1 << 10)
of_scipy("hyp2f1", reals(POSITIVE, POSITIVE, POSITIVE, (-0.8, 0.8)), rounding=1 << 12)
of_scipy("bernoulli", lambda d: (d.integer(0, 20),), jax=None, rounding=1 << 15, derivative=False, traced=None)


def harmonic(draw: Draw) -> Any:
    """Degrees and orders, and angles in between."""
    n = draw.integer(1, 5)
    degree = draw.values(np.int32, (n,), (0, 5))
    order = (degree * draw.rng.uniform(-1, 1, n)).astype(np.int32)
    angles = [draw.values(draw.dtype("f"), (n,), (0.1, 3.0)) for _ in range(2)]
    return (degree, order, *angles), {"n_max": 5}


rows(SPACE, "sph_harm_y", harmonic, jax=None, rounding=512, cancels=True, promotes=True,
     numpy=lambda n, m, theta, phi, n_max: special.sph_harm_y(n, m, theta, phi))  # fmt: skip
rows(SPACE, "lpmn", lambda d: (2, 3, d.array("f", (4,), UNIT)), jax=None, numpy=None,
     derivative=False)  # fmt: skip
rows(SPACE, "lpmn_values", lambda d: (3, 3, d.array("f", (4,), UNIT), d.chance(0.5)),
     numpy=None, jax=None, rounding=256, cancels=True)  # fmt: skip
rows(SPACE, "bessel_jn", lambda d: ((d.array("f", (3,), (-20, 20)),), {"v": 3}), jax=None,
     numpy=lambda z, v: np.stack([special.jv(n, z) for n in range(v + 1)]),
     rounding=512, cancels=True)  # fmt: skip


def weighted(draw: Draw) -> Any:
    """With factors now and then."""
    (x,), named = reduction("f", within=(-5, 5), empty=False, least=1)(draw)
    if draw.chance(0.3):
        named["b"] = draw.values(x.dtype, x.shape, POSITIVE)
    return (x,), named


of_scipy("logsumexp", weighted, rounding=128, cancels=True)
of_scipy("softmax log_softmax",
         lambda d: ((d.array("f", d.shape((1, 3), empty=False), (-5, 5)),), d.some(axis=(0, -1))),
         rounding=128, cancels=True)  # fmt: skip
