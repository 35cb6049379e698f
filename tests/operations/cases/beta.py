"""Rows of ``operations/beta.py`` and ``pochhammer``, and of what betainc is made of."""

import numpy as np
from scipy import special

from covector.operations.beta import beta, log_beta
from covector.operations.incomplete_beta import BetaincDerivative, beta_density
from covector.operations.pochhammer import pochhammer
from tests.laws import Case

_a = np.array([0.5, 2.5, 4.0, 30.0, 0.25, 9.0])
_b = np.array([2.0, 0.75, 40.0, 1.0, 3.5, 8.0])
_x = np.array([0.5, 0.25, 0.0625, 0.96875, 0.875, 0.5])
_wide = ("float32", "float64")


def _density(a, b, x):
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))


def _slope(operand):
    """A difference quotient of sixth order, to about 1e-10."""

    def reference(*args):
        h = 1e-3 * args[operand]
        i = [
            special.betainc(
                *[x + k * h if j == operand else x for j, x in enumerate(args)]
            )
            for k in (-3, -2, -1, 1, 2, 3)
        ]
        return (45 * (i[3] - i[2]) - 9 * (i[4] - i[1]) + (i[5] - i[0])) / (60 * h)

    return reference


CASES = [
    Case(beta, (_a, _b), special.beta, rtol=4e-5, dtypes=_wide),
    Case(log_beta, (_a, _b), special.betaln, rtol=4e-5, dtypes=_wide),
    Case(pochhammer, (_a, _b / 4), special.poch, rtol=4e-5, dtypes=_wide),
    Case(
        pochhammer,
        (np.array([-3.0, -3, 0, 2, -2.5]), np.array([2.0, 5, 0, -3, -0.5])),
        special.poch,
        name="pochhammer of poles",
        derivative=False,
        rtol=4e-5,
        dtypes=_wide,
    ),
    Case(
        beta_density,
        (_a, _b, _x),
        _density,
        rtol=4e-5,
        second_order=False,
        dtypes=_wide,
    ),
    *[
        Case(
            BetaincDerivative(order),
            (_a, _b, _x),
            _slope(k),
            derivative=(k == 0, False, k == 1),
            second_order=False,
            rtol=1e-4,
            dtypes=("float32",),
        )
        for k, order in enumerate([(1, 0), (0, 1)])
    ],
]
