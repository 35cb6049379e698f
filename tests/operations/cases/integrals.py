"""Rows of ``operations/exponential_integrals.py``, ``trigonometric_integrals``,
``spence`` and ``owens_t``.
"""

import numpy as np
from scipy import special

from covector.operations.exponential_integrals import exp1, expi, expn
from covector.operations.owens_t import owens_t
from covector.operations.spence import spence
from covector.operations.trigonometric_integrals import ci, fresnel_c, fresnel_s, si
from tests.laws import Case

_x = np.array([0.5, 1.25, 4.5, 9.0, 0.0625, 15.0])
_signed = np.array([0.5, -1.25, 4.5, -2.75, 0.0625, 7.0])
_inf, _nan = np.inf, np.nan
_ends = np.array([0.0, _inf, _nan])
_wide = ("float32", "float64")


def _rows(op, reference, x, ends, rtol=4e-6):
    return [
        Case(op, (x,), reference, rtol=rtol, dtypes=_wide),
        Case(
            op,
            (ends,),
            reference,
            name=f"{op.name} of special values",
            derivative=False,
            dtypes=_wide,
        ),
    ]


CASES = [
    *_rows(exp1, special.exp1, _x, np.append(_ends, -1.0)),
    *_rows(expi, special.expi, _signed, np.append(_ends, -_inf)),
    *_rows(si, lambda x: special.sici(x)[0], _signed, np.append(_ends, -_inf)),
    *_rows(ci, lambda x: special.sici(x)[1], _x, _ends),
    *_rows(fresnel_s, lambda x: special.fresnel(x)[0], _signed, _ends, rtol=2e-5),
    *_rows(fresnel_c, lambda x: special.fresnel(x)[1], _signed, _ends, rtol=2e-5),
    *_rows(spence, special.spence, _x, np.array([0.0, 1.0, -1.0, _nan])),
    Case(
        expn,
        (np.array([0.0, 1, 2, 3, 2, 20]), _x),
        special.expn,
        rtol=4e-6,
        dtypes=_wide,
        derivative=(False, True),
    ),
    Case(
        expn,
        (np.array([0.0, 1, 2, 3, -1, 2]), np.array([0.0, 0, 0, 0, 1, -1])),
        special.expn,
        name="expn of special values",
        derivative=False,
        dtypes=_wide,
    ),
    Case(
        owens_t,
        (_signed / 4, np.array([0.5, 2.0, -0.75, 1.5, 3.0, 0.25])),
        special.owens_t,
        rtol=4e-6,
        dtypes=_wide,
    ),
    Case(
        owens_t,
        (
            np.array([0.0, 0.0, 1.0, _inf, 1.0, _nan]),
            np.array([_inf, 0, _inf, 1, 0, 1]),
        ),
        special.owens_t,
        name="owens_t of special values",
        derivative=False,
        dtypes=_wide,
    ),
]
