"""Rows of ``operations/special.py``, ``gamma``, ``beta`` and ``bessel``."""

import numpy as np
from scipy import special

from covector.operations.bessel import bessel_i0e, bessel_i1e
from covector.operations.gamma import (
    gamma_density,
    igamma,
    igamma_grad_a,
    igammac,
    random_gamma_grad,
)
from covector.operations.incomplete_beta import regularized_incomplete_beta as betainc
from covector.operations.special import (
    digamma,
    erf,
    erf_inv,
    erfc,
    gamma,
    lgamma,
    polygamma,
    zeta,
)
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_positive = np.array([[0.5, 1.25, 2.5], [3.75, 0.0625, 30.0]])
_a = np.array([0.5, 2.5, 4.0, 30.0, 0.25, 9.0, 1.0, 12.0])
_b = np.array([2.0, 0.75, 40.0, 1.0, 3.5, 8.0, 1.5, 0.25])
_x_of_gamma = np.array([0.5, 1.25, 2.5, 3.75, 0.0625, 30.0, 2.0, 10.0])
_inside = np.array([0.5, 0.25, 0.0625, 0.96875, 0.875, 0.5, 0.125, 0.75])
_inf, _nan = np.inf, np.nan
_floats = ("float32", "float64", "float16", "bfloat16")
_wide = ("float32", "float64")
_loose = {"rtol": 2e-5, "dtypes": _wide}
_once = {"rtol": 2e-5, "dtypes": _wide, "second_order": False}


def _grad_a(a, x):
    """∂P(a, x)/∂a by a difference quotient of sixth order, to about 1e-10."""
    h = 1e-3 * a
    p = [
        np.where(
            x > a, -special.gammaincc(a + k * h, x), special.gammainc(a + k * h, x)
        )
        for k in (-3, -2, -1, 1, 2, 3)
    ]
    return (45 * (p[3] - p[2]) - 9 * (p[4] - p[1]) + (p[5] - p[0])) / (60 * h)


def _density(a, x):
    return np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))


def _special_values(op, args, reference):
    return Case(
        op,
        args,
        reference,
        name=f"{op.name} of special values",
        derivative=False,
        **_loose,
    )


def _incomplete_gamma(op, reference):
    """Rows of one type, for the text of the program is long."""
    return [
        Case(
            op,
            (_a, _x_of_gamma),
            reference,
            second_order=False,
            rtol=2e-5,
            dtypes=_floats,
        ),
        Case(
            op,
            (_a, _x_of_gamma),
            reference,
            name=f"{op.name} as a function of x",
            derivative=(False, True),
            **_loose,
        ),
        _special_values(
            op,
            (
                np.array([0.0, 0, 1, 1, -1, 1, _inf, 1]),
                np.array([0, 1, 0, _inf, 1, -1, 1, _nan]),
            ),
            reference,
        ),
        _special_values(
            op,
            (
                np.array([_inf, 0, _nan, 1e30, 1.0, 5.0, 2.0, 0]),
                np.array([_inf, _inf, 1, 1e30, 1e30, 0, 1e-30, 1e-30]),
            ),
            reference,
        ),
        Case(
            op,
            (
                np.array([1e-3, 0.125, 100, 100, 1e3, 1e4, 5.0, 80.0]),
                np.array([1e-3, 4.0, 70.0, 130, 1e3, 9.9e3, 0.25, 45]),
            ),
            reference,
            name=f"{op.name} over several scales",
            derivative=False,
            dtypes=_wide,
            rtol=5e-4,
        ),
    ]


#: operation, reference, points; tolerance where XLA is worse than 8 epsilon
_FUNCTIONS = [
    (erf, special.erf, _x, None),
    (erfc, special.erfc, _x, 1e-5),
    (erf_inv, special.erfinv, _inside, 1e-5),
    (gamma, special.gamma, _x, 2e-6),
    (lgamma, special.gammaln, _x, 1e-5),
    (digamma, special.psi, _x, 1e-5),
    (bessel_i0e, special.i0e, np.append(_x, [9.0, -40.0]), None),
    (bessel_i1e, special.i1e, np.append(_x, [9.0, -40.0]), 2e-6),
]

CASES = [
    *[
        row
        for op, reference, x, rtol in _FUNCTIONS
        for row in [
            Case(op, (x,), reference, rtol=rtol),
            Case(op, (x.ravel()[0],), reference, rtol=rtol),
            Case(op, (x[:0],), reference),
        ]
    ],
    _special_values(erf, (np.array([0.0, -0.0, _inf, -_inf, _nan]),), special.erf),
    _special_values(erfc, (np.array([0.0, _inf, -_inf, _nan, 9.0]),), special.erfc),
    _special_values(erf_inv, (np.array([0, 1, -1, 2, _nan]),), special.erfinv),
    _special_values(
        gamma,
        (np.array([0.0, -0.0, -1.0, _inf, -_inf, _nan, 200.0, -200.5]),),
        special.gamma,
    ),
    _special_values(
        lgamma,
        (np.array([0.0, -1.0, -3.0, _inf, -_inf, _nan]),),
        lambda x: np.array([_inf, _inf, _inf, _inf, _inf, _nan]),
    ),
    _special_values(
        digamma,
        (np.array([0.0, -1.0, _inf, -_inf, _nan]),),
        lambda x: np.array([_nan, _nan, _inf, _nan, _nan]),
    ),
    _special_values(
        bessel_i0e, (np.array([0.0, _inf, -_inf, _nan, 8, -8, 1e3, 1e-9]),), special.i0e
    ),
    Case(
        polygamma,
        (np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 4.0]]), _positive),
        special.polygamma,
        derivative=(False, True),
        dtypes=_wide,
        rtol=2e-5,
    ),
    Case(
        polygamma,
        (1.0, _positive),
        special.polygamma,
        derivative=(False, True),
        rtol=2e-5,
        dtypes=_wide,
    ),
    Case(
        zeta,
        (np.array([[2.0, 1.5, 3.0], [4.0, 9.0, 2.25]]), _positive),
        special.zeta,
        derivative=(False, True),
        dtypes=_wide,
        rtol=1e-5,
    ),
    Case(
        zeta,
        (2.0, _positive),
        special.zeta,
        derivative=(False, True),
        rtol=1e-5,
        dtypes=_wide,
    ),
    *_incomplete_gamma(igamma, special.gammainc),
    *_incomplete_gamma(igammac, special.gammaincc),
    Case(igamma, (2.5, _x_of_gamma), special.gammainc, second_order=False, **_loose),
    Case(igamma, (1.5, 2.5), special.gammainc, second_order=False, **_loose),
    Case(igamma, (_a[:0], 2.5), special.gammainc, second_order=False),
    Case(gamma_density, (_a, _x_of_gamma), _density, **_once),
    _special_values(
        gamma_density,
        (
            np.array([1.0, 0.5, 2, -1, 1, _nan, 1, 0]),
            np.array([0.0, 0, 0, 1, -1, 1, _inf, 2]),
        ),
        lambda a, x: np.array([1, _inf, 0, _nan, _nan, _nan, 0, 0]),
    ),
    *[
        Case(
            op,
            (_a, _x_of_gamma),
            reference,
            second_order=False,
            dtypes=("float32",),
            rtol=1e-4,
        )
        for op, reference in [
            (igamma_grad_a, _grad_a),
            (random_gamma_grad, lambda a, x: -_grad_a(a, x) / _density(a, x)),
        ]
    ],
    _special_values(
        igamma_grad_a,
        (
            np.array([1, 0, 1, -1, 1, _nan, 1.0, 2.0]),
            np.array([0, 1, _inf, 1, -1, 1, _nan, 0]),
        ),
        lambda a, x: np.array([0.0, *[_nan] * 6, 0]),
    ),
    Case(betainc, (_a, _b, _inside), special.betainc, **_once),
    Case(betainc, (2.5, _b, 0.25), special.betainc, **_once),
    _special_values(
        betainc,
        (
            np.array([0.0, 1, 1, 1, -1, 1, 1, 1]),
            np.array([1.0, 0, 1, 1, 1, -1, 2, 2]),
            np.array([0.5, 0.5, 0, 1, 0.5, 0.5, -1, 2]),
        ),
        special.betainc,
    ),
    _special_values(
        betainc,
        (
            np.array([_inf, 1, _nan, 0, _inf, 1, 0.5, 2]),
            np.array([1, _inf, 1, 0, _inf, 1, 0.5, 0.25]),
            np.array([0.5, 0.5, 0.5, 0.5, 0.5, _nan, 0, 1]),
        ),
        special.betainc,
    ),
    Case(
        betainc,
        (
            np.array([0.05, 100, 30.0, 1e3, 0.02, 200, 1e4, 3.0]),
            np.array([0.02, 150, 0.125, 1e3, 50.0, 0.5, 2e4, 2.0]),
            np.array([0.875, 0.375, 0.99, 0.5, 1e-3, 0.999, 0.3359375, 1e-4]),
        ),
        special.betainc,
        name="betainc over several scales",
        derivative=False,
        dtypes=_wide,
        rtol=5e-4,
    ),
]
