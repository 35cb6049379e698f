"""Rows of the operations in ``operations/transcendental.py`` and beside it."""

import numpy as np

from covector.operations.logarithms import atan2, log, log1p, log2
from covector.operations.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    logistic,
    sin,
    sinh,
    tan,
    tanh,
)
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_positive = np.array([[0.5, 1.25, 2.0], [3.75, 0.0625, 1.5]])
_inside = np.array([[0.5, -0.25, 0.75], [0.0625, -0.875, 0.0]])
_above = np.array([[1.5, 1.0625, 2.0], [3.75, 10.0, 1.25]])
_z = np.array([[0.5 + 0.75j, -1.25 + 2j], [1.5 - 0.5j, -0.75 - 1.25j]])
_special = np.array([0.0, -0.0, 1.0, -1.0, 30.0, -30.0, np.inf, -np.inf, np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_cut = np.array([complex(x, y) for x in (-3.0, 3.0) for y in (0.0, -0.0)])
_turned_cut = np.array([complex(-z.imag, z.real) for z in _cut])
_floats = ("float32", "float64", "float16", "bfloat16")


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _exact_log1p(x):
    """NumPy's own loses digits of small complex numbers."""
    return np.log(1 + x) if x.dtype.kind == "c" else np.log1p(x)


def _accurate_log1p(z):
    near = np.log1p(z.real * (2 + z.real) + z.imag**2) / 2
    near = near + 1j * np.arctan2(z.imag, 1 + z.real)
    return np.where(np.abs(z) < 0.5, near, np.log(1 + z))


def _complex_atan2(y, x):
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


#: operation, reference, points, and the tolerance where XLA is worse than 8 epsilon
_FUNCTIONS = [
    (exp, np.exp, _x, None),
    (exp2, np.exp2, _x, None),
    (expm1, np.expm1, _x, None),
    (log, np.log, _positive, 1e-5),
    (log2, np.log2, _positive, 1e-5),
    (log1p, _exact_log1p, _positive - 0.5, 2e-5),
    (logistic, _logistic, _x, None),
    (sin, np.sin, _x, 1e-5),
    (cos, np.cos, _x, 1e-5),
    (tan, np.tan, _x, None),
    (asin, np.arcsin, _inside, None),
    (acos, np.arccos, _inside, None),
    (atan, np.arctan, _x, None),
    (sinh, np.sinh, _x, 1e-5),
    (cosh, np.cosh, _x, 1e-5),
    (tanh, np.tanh, _x, None),
    (asinh, np.arcsinh, _x, None),
    (acosh, np.arccosh, _above, None),
    (atanh, np.arctanh, _inside, 1e-5),
]

CASES = [
    *[
        row
        for op, reference, x, rtol in _FUNCTIONS
        for row in [
            Case(op, (x,), reference, rtol=rtol),
            Case(op, (_z,), reference, rtol=rtol),
            Case(op, (x[0, 0],), reference, rtol=rtol),
            Case(op, (x[:0],), reference),
            Case(
                op,
                (_special,),
                reference,
                name=f"{op.name} of special values",
                derivative=False,
                dtypes=_floats,
                rtol=rtol,
            ),
        ]
    ],
    Case(
        log2,
        (np.ldexp(1.0, np.arange(-100, 100)),),
        lambda x: np.arange(-100.0, 100),
        name="log2 of powers of 2 is exact",
        derivative=False,
        dtypes=("float32", "float64", "bfloat16"),
        rtol=0,
    ),
    Case(
        exp2,
        (np.arange(-100.0, 100),),
        lambda x: np.ldexp(1.0, np.arange(-100, 100)),
        name="exp2 of whole numbers is exact",
        derivative=False,
        dtypes=("float32", "float64", "bfloat16"),
        rtol=0,
    ),
    Case(
        logistic,
        (np.array([-12.0, -8.0, 12.0]),),
        _logistic,
        name="logistic of large numbers",
        dtypes=_floats,
    ),
    Case(
        log1p,
        (np.array([1e-5 + 1e-5j, -1e-9 + 1e-7j, -1 + 1e-3j, 0.3 - 0.9j]),),
        _accurate_log1p,
        name="log1p near 0 and near -1",
        derivative=False,
        rtol=2e-4,
    ),
    *[
        Case(
            op,
            (z,),
            reference,
            name=f"{op.name} on the branch cut",
            derivative=False,
        )
        for op, reference, z in [
            (asin, np.arcsin, _cut),
            (acos, np.arccos, _cut),
            (asinh, np.arcsinh, _turned_cut),
            (acosh, np.arccosh, _cut),
            (log, np.log, _cut),
        ]
    ],
    Case(atan2, (_x, _positive), np.arctan2, dtypes=(*_floats, "float8_e5m2")),
    Case(atan2, (_x, -1.5), np.arctan2, dtypes=_floats),
    Case(atan2, (1.5, _x), np.arctan2, dtypes=_floats),
    Case(atan2, (-1.5, -0.5), np.arctan2, dtypes=_floats),
    Case(atan2, (_z, 2 * _z[::-1]), _complex_atan2, rtol=1e-5),
    Case(
        atan2,
        _pairs,
        np.arctan2,
        name="atan2 of special values",
        derivative=False,
        dtypes=_floats,
    ),
]
