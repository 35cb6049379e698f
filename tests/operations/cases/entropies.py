"""Rows of ``operations/entropies.py`` and ``logit``."""

import numpy as np
from scipy import special

from covector.operations.entropies import entr, kl_div, rel_entr, xlog1py, xlogy
from covector.operations.logit import logit
from tests.laws import Case

_x = np.array([0.5, 1.25, 2.5, 3.75])
_y = np.array([0.25, 1.5, 2.75, 0.0625])
_of_zeros = np.array([0.0, 0.0, 0.0, 1.0, 0.0])
_zeros = np.array([0.0, 0.0, 2.0, 0.0, np.inf])
_wide = ("float32", "float64")


def _divergence(p, q):
    """With more digits: SciPy loses some to cancellation."""
    p, q = p.astype(np.longdouble), q.astype(np.longdouble)
    return np.asarray(p * np.log(p / q) - p + q, np.float64)


def _special_values(op, args, reference):
    return Case(
        op, args, reference, name=f"{op.name} of special values",
        derivative=False, dtypes=_wide, rtol=2e-6,
    )  # fmt: skip


CASES = [
    Case(xlogy, (_x, _y), special.xlogy, rtol=2e-6),
    Case(xlog1py, (_x, _y), special.xlog1py, rtol=2e-6, dtypes=_wide),
    Case(entr, (_x,), special.entr, rtol=2e-6, dtypes=_wide),
    Case(rel_entr, (_x, _y), special.rel_entr, rtol=2e-6, dtypes=_wide),
    Case(kl_div, (_x, _y), _divergence, rtol=2e-6, dtypes=_wide),
    Case(logit, (_x / 4,), special.logit, rtol=2e-6),
    _special_values(xlogy, (_of_zeros, _zeros), special.xlogy),
    _special_values(rel_entr, (_of_zeros[:4], _zeros[:4]), special.rel_entr),
    _special_values(kl_div, (_of_zeros[:4], _zeros[:4]), special.kl_div),
    _special_values(entr, (np.array([0.0, -1.0, np.inf, np.nan]),), special.entr),
    _special_values(
        logit, (np.array([0.0, 0.5, 1.0, 2.0, -1, np.nan]),), special.logit
    ),
]
