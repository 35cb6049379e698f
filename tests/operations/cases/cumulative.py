"""Rows of the operations in ``operations/cumulative.py``."""

import numpy as np

from covector.operations.cumulative import (
    Cumlogsumexp,
    Cummax,
    Cummin,
    Cumprod,
    Cumsum,
)
from tests.laws import Case

_rng = np.random.default_rng(0)
_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_cube = _rng.permutation(2 * 5 * 3).reshape(2, 5, 3) / 8 - 1.3
_z = _x[:, :2] + 1j * _x[:, 1:]
_special = np.array([[1.0, -np.inf, np.nan, 2.0], [3.0, np.inf, 1.0, -np.inf]])


def _along(ufunc, axis, reverse):
    def reference(x):
        if ufunc is np.logaddexp and np.iscomplexobj(x):
            # along the positive imaginary half plane the principal logarithm is right
            return np.log(_along(np.add, axis, reverse)(np.exp(x)))
        x = np.flip(x, axis) if reverse else x
        out = ufunc.accumulate(x, axis, x.dtype)
        return np.flip(out, axis) if reverse else out

    return reference


def _many(op, ufunc, shape, axis, reverse=False):
    values = _rng.permutation(np.linspace(0.9, 1.1, np.prod(shape))).reshape(shape)
    return Case(
        op(axis, reverse),
        (values,),
        _along(ufunc, axis, reverse),
        name=f"{op(0).name} {'from the end ' if reverse else ''}of many",
        rtol=3e-5,
        derivative=False,
        dtypes=("float32", "bfloat16"),
    )


def _rows(op, ufunc, rtol=None):
    name = op(0).name

    def row(values, axis, reverse=False, **options):
        options.setdefault("rtol", rtol)
        reference = _along(ufunc, axis, reverse)
        return Case(op(axis, reverse), (values,), reference, **options)

    # compiling a loop takes a while: all element types in few rows
    few = {"dtypes": ("float32", "float64")}
    return [
        row(_x, 1),
        row(_x, 0, reverse=True, **few),
        row(_cube, 1, reverse=True, **few),
        row(_z, 0),
        row(np.zeros((0, 2)), 0, **few),
        row(np.zeros((0, 2)), 1, **few),
        row(np.ones((2, 1)), 1, **few),
        row(
            _special,
            1,
            name=f"{name} of special values",
            derivative=False,
            dtypes=("float32", "bfloat16"),
        ),
        row(
            np.tile(_special, (10, 1)),
            1,
            name=f"{name} of special values in many rows",
            derivative=False,
            dtypes=("float32", "bfloat16"),
        ),
        _many(op, ufunc, (2500,), 0, True),
        _many(op, ufunc, (19, 5), 1),
        _many(op, ufunc, (19, 5, 3), 1, True),
    ]


CASES = [
    *_rows(Cumsum, np.add),
    *_rows(Cumprod, np.multiply),
    *_rows(Cummax, np.maximum),
    *_rows(Cummin, np.minimum),
    *_rows(Cumlogsumexp, np.logaddexp, rtol=2e-6),
    Case(
        Cumprod(1),
        (np.array([[2.0, 0.0, 3.0, 0.5], [0.0, 1.5, 0.0, 4.0]]),),
        _along(np.multiply, 1, False),
        name="cumprod with zeros",
        dtypes=("float32", "float64"),
    ),
    # one for each shape of loop
    _many(Cumsum, np.add, (2500,), 0),
    _many(Cumsum, np.add, (19, 70), 1),
    _many(Cumsum, np.add, (19, 70), 1, True),
    _many(Cumsum, np.add, (19, 10, 3), 1),
    _many(Cumsum, np.add, (3, 40, 16), 1, True),
]
