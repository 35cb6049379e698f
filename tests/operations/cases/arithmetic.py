"""Rows of the operations in ``operations/arithmetic.py``."""

import numpy as np

from covector.operations.arithmetic import add, div, mul, neg, rem, sub, sum_of_products
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_y = np.array([[1.5, 0.75, -2.25], [0.5, -4.0, 1.0]])
_z, _w = _x[:, :2] + 1j * _x[:, 1:], _y[:, :2] - 1j * _y[:, 1:]
_special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_empty = np.zeros((0, 3))


def _truncated(x, y):
    """The quotient; of integers the one that has lost its fraction."""
    if x.dtype.kind in "iu":
        return np.trunc(x.astype(np.float64) / y)
    return x / y


def _extremes(dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, limits.max - 1, 7, 1, 0], dtype)
    return [a.ravel() for a in np.meshgrid(values, values)]


def _with_scalars(op, reference):
    # The numbers are chosen so that no quotient is whole: there, rem has no derivative.
    return [
        Case(op, (_x, 1.1875), reference, name=f"{op.name} with a scalar"),
        Case(op, (2.625, _y), reference, name=f"{op.name} of a scalar and an array"),
        Case(op, (2.5, 1.5), reference),
        Case(op, (_empty, 1.5), reference),
    ]


_binary = [
    row
    for op, reference in [(add, np.add), (sub, np.subtract), (mul, np.multiply)]
    for row in [
        Case(op, (_x, _y), reference),
        Case(op, (_z, _w), reference),
        *_with_scalars(op, reference),
        Case(
            op,
            _pairs,
            reference,
            name=f"{op.name} of special values",
            derivative=False,
            dtypes=("float32", "float64", "float16", "bfloat16"),
        ),
        *[
            Case(op, _extremes(dtype), reference, name=f"{op.name} that wraps around")
            for dtype in (np.int32, np.uint8)
        ],
    ]
]

CASES = [
    Case(neg, (_x,), np.negative),
    Case(neg, (_z,), np.negative),
    Case(neg, (1.5,), np.negative),
    Case(neg, (_empty,), np.negative),
    Case(neg, (np.array([0, 1, -(2**31)], np.int32),), np.negative),
    Case(
        neg,
        (_special,),
        np.negative,
        derivative=False,
        dtypes=("float32", "float64", "float16", "bfloat16"),
    ),
    *_binary,
    Case(div, (_x, _y), _truncated),
    Case(div, (_z, _w), np.divide),
    *_with_scalars(div, _truncated),
    Case(
        div,
        _pairs,
        np.divide,
        name="div of special values",
        derivative=False,
        dtypes=("float32", "float64", "float16", "bfloat16"),
    ),
    Case(
        div,
        (
            np.array([7, -7, 7, -7, 5, 0, -(2**31), -(2**31)], np.int32),
            np.array([2, 2, -2, -2, 0, 0, -1, 0], np.int32),
        ),
        lambda x, y: np.array([3, -3, -3, 3, -1, -1, -(2**31), -1]),
        name="div of integers, by zero as well",
        dtypes=("int32",),
    ),
    Case(
        div,
        (np.array([200, 7, 0], np.uint8), np.array([7, 0, 0], np.uint8)),
        lambda x, y: np.array([28, 255, 255]),
        name="div of integers without sign",
        dtypes=("uint8",),
    ),
    Case(rem, (_x, _y), np.fmod),
    *_with_scalars(rem, np.fmod),
    Case(
        rem,
        _pairs,
        np.fmod,
        name="rem of special values",
        derivative=False,
        dtypes=("float32", "float64", "float16", "bfloat16"),
    ),
    Case(
        rem,
        (
            np.array([7, -7, 7, -7, 5, 0, -(2**31), -(2**31)], np.int32),
            np.array([2, 2, -2, -2, 0, 0, -1, 0], np.int32),
        ),
        lambda x, y: np.array([1, -1, 1, -1, 5, 0, 0, -(2**31)]),
        name="rem of integers, by zero as well",
        dtypes=("int32",),
    ),
    Case(
        rem,
        (np.array([200, 7, 0], np.uint8), np.array([7, 0, 0], np.uint8)),
        lambda x, y: np.array([4, 7, 0]),
        name="rem of integers without sign",
        dtypes=("uint8",),
    ),
    Case(
        sum_of_products, (_x, _y, _y, _x), lambda a, b, c, d: a * b + c * d, rtol=1e-5
    ),
    Case(
        sum_of_products,
        (_x, np.asarray(2.0), np.asarray(0.5), _y),
        lambda a, b, c, d: a * b + c * d,
        rtol=1e-5,
    ),
]
