"""Rows of ``operations/error_functions.py``."""

import numpy as np
from scipy import special

from covector.operations.error_functions import dawsn, erfcx, log_ndtr, ndtr, ndtri
from tests.laws import Case

_x = np.array([0.5, -1.25, 2.0, -6.0, 3.75, -0.75])
_ends = np.array([0.0, np.inf, -np.inf, np.nan])
_wide = ("float32", "float64")

CASES = [
    row
    for op, reference, x, ends in [
        (erfcx, special.erfcx, _x, _ends),
        (dawsn, special.dawsn, _x, _ends),
        (ndtr, special.ndtr, _x, _ends),
        (log_ndtr, special.log_ndtr, _x, _ends),
        (ndtri, special.ndtri, special.ndtr(_x / 3), np.array([0.0, 1, 2, -1, np.nan])),
    ]
    for row in [
        Case(op, (x,), reference, rtol=4e-6, dtypes=_wide),
        Case(
            op,
            (ends,),
            reference,
            name=f"{op.name} of special values",
            derivative=False,
            dtypes=_wide,
        ),
    ]
]
