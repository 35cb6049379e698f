"""Rows of the operations in ``operations/comparison.py``."""

import numpy as np

from covector.operations.comparison import (
    eq,
    eq_to,
    ge,
    gt,
    is_finite,
    le,
    le_to,
    lt,
    lt_to,
    ne,
)
from tests import laws

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_y = np.array([[0.5, 0.75, -2.25], [3.75, -4.0, 1.75]])
_special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, -np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_parts = np.array([0.0, 1.0, -2.0, np.nan])
_complex = [
    a.ravel() for a in np.meshgrid(*[(_parts[:, None] + 1j * _parts[None]).ravel()] * 2)
]
_signed = [
    a.ravel() for a in np.meshgrid(*[np.array([-(2**31), -1, 0, 9], np.int32)] * 2)
]
_unsigned = [a.ravel() for a in np.meshgrid(*[np.array([0, 1, 200], np.uint8)] * 2)]
_floats = ("float32", "float64", "float16", "bfloat16", "float8_e5m2")


def row(*args, **options):
    """A row of an operation with truth values as results, which have no tangents."""
    return laws.Case(*args, **options, derivative=False)


def _relation(op, reference):
    return [
        row(op, (_x, _y), reference),
        row(op, (_x, 1.5), reference, name=f"{op.name} with a scalar"),
        row(op, (1.5, _y), reference),
        row(op, (1.5, 1.5), reference),
        row(op, (np.zeros((0, 3)), 1.5), reference),
        row(op, _pairs, reference, name=f"{op.name} of special values", dtypes=_floats),
        row(op, _complex, reference, name=f"{op.name} of complex numbers"),
        row(op, _signed, reference),
        row(op, _unsigned, reference),
    ]


def _rank(x):
    """Where x stands among all numbers: NaN outside, −0 before 0."""
    if x.dtype.kind not in "fV":
        return x
    x = x.astype(np.float64)
    size = np.where(np.isnan(x), 3.0, np.arctan(np.abs(x)))
    return np.where(np.signbit(x), -1 - size, size)


def _in_total_order(op, reference):
    def by_rank(x, y):
        return reference(_rank(x), _rank(y))

    return [
        row(op, (_x, _y), by_rank, name=f"{op.name}"),
        row(op, (_x, 1.5), by_rank),
        row(op, (1.5, 1.5), by_rank),
        row(op, _pairs, by_rank, name=f"{op.name} of special values", dtypes=_floats),
        row(op, _signed, reference),
        row(op, _unsigned, reference),
    ]


CASES = [
    *_relation(eq, np.equal),
    *_relation(ne, np.not_equal),
    *_relation(lt, np.less),
    *_relation(le, np.less_equal),
    *_relation(gt, np.greater),
    *_relation(ge, np.greater_equal),
    *_in_total_order(eq_to, np.equal),
    *_in_total_order(lt_to, np.less),
    *_in_total_order(le_to, np.less_equal),
    row(is_finite, (_x,), np.isfinite),
    row(is_finite, (_special,), np.isfinite, dtypes=_floats),
    row(is_finite, (1.5,), np.isfinite),
]
