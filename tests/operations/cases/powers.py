"""Rows of the operations in ``operations/powers.py`` and ``operations/roots.py``."""

import numpy as np

from covector.operations.powers import IntegerPow, power, square
from covector.operations.roots import cbrt, rsqrt, sqrt
from tests.laws import Case

_x = np.array([[0.5, 1.25, 2.0], [3.75, 0.75, 1.5]])
_signed = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, -1.5]])
_y = np.array([[1.5, 0.75, -2.25], [0.5, 3.0, 1.0]])
_z, _w = _signed[:, :2] + 1j * _signed[:, 1:], _y[:, :2] - 1j * _y[:, 1:]
_special = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.5, np.inf, -np.inf, np.nan])
_pairs = [a.ravel() for a in np.meshgrid(_special, _special)]
_empty = np.zeros((0, 3))
_floats = ("float32", "float64", "float16", "bfloat16")


def _power(x, y):
    """Of integers as float64 has it, which is exact here; 1/x has no whole part."""
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    return np.trunc(np.power(x.astype(np.float64), y))


def _wrapped(x, y):
    """Python's own power of integers, as far as the element type holds it."""
    bits = 8 * x.dtype.itemsize
    exact = [pow(int(a), int(b), 2**bits) for a, b in zip(x, y, strict=True)]
    return np.array(exact, f"u{x.dtype.itemsize}").view(x.dtype)


_bases = np.array([3, 2, -3, -1, 1, 0, 7, 127, -128, 5], np.int8)
_exponents = np.array([5, 7, 66, 127, 100, 64, 0, 3, 2, 90], np.int8)

CASES = [
    Case(power, (_x, _y), np.power, dtypes=(*_floats, "float8_e5m2", "complex64")),
    Case(power, (_z, _w), np.power, rtol=1e-5),
    Case(power, (_x, 1.5), np.power, dtypes=_floats),
    Case(power, (2.5, _y), np.power, dtypes=_floats),
    Case(power, (2.5, 1.5), np.power, dtypes=_floats),
    Case(power, (_empty, 1.5), np.power, dtypes=_floats),
    Case(
        power,
        (_signed, np.array([[2, 3, 0], [-1, -2, 1]], np.int32)),
        np.float_power,
        dtypes=(*_floats, "float8_e4m3fn"),
    ),
    Case(power, (_z, np.array([[2, 3], [-1, -2]], np.int8)), np.power, rtol=1e-5),
    Case(
        power,
        (np.array([0.0, 0.0, -0.5, 2.0]), np.array([2.0, 1.0, 2.0, 0.0])),
        np.power,
        name="power of zero, of a negative base, and with exponent zero",
        derivative=(True, False),
        second_order=False,
    ),
    Case(
        power,
        (np.array([0.0, 0.0]), np.array([0.5, 1.5])),
        np.power,
        name="power of zero, as a function of the exponent",
        derivative=(False, True),
        dtypes=_floats,
    ),
    Case(
        power,
        _pairs,
        np.power,
        name="power of special values",
        derivative=False,
        dtypes=_floats,
    ),
    Case(
        power,
        (np.array([0j, 0j, 0j, 2j]), np.array([1 + 1j, 2.0, 0j, 0j])),
        np.power,
        name="power of zero, complex",
        derivative=False,
        rtol=1e-5,
    ),
    Case(
        power,
        (
            np.array([2, -2, 1, -1, -1, 0, 3, 7], np.int32),
            np.array([-1, -3, -5, -3, -2, -1, 0, 4], np.int32),
        ),
        lambda x, y: np.array([0, 0, 1, -1, 1, 0, 1, 2401]),
        name="power of integers with negative exponents",
        dtypes=("int8", "int32", "int64"),
    ),
    Case(
        power,
        (_bases, _exponents),
        _wrapped,
        name="power of integers that wraps around",
        dtypes=("int8", "int32", "int64"),
    ),
    Case(
        power,
        (_bases.astype(np.uint8), _exponents.astype(np.uint8)),
        _wrapped,
        name="power of integers without sign",
        dtypes=("uint8", "uint32"),
    ),
    Case(IntegerPow(0), (_signed,), np.ones_like),
    Case(IntegerPow(1), (_signed,), np.copy),
    Case(IntegerPow(2), (_signed,), np.square),
    Case(IntegerPow(3), (_signed,), lambda x: x * x * x),
    Case(IntegerPow(3), (_z,), lambda x: x * x * x),
    Case(IntegerPow(5), (-1.25,), lambda x: x * x * x * x * x),
    Case(IntegerPow(-1), (_signed,), np.reciprocal),
    Case(IntegerPow(-3), (_z,), lambda x: 1 / (x * x * x)),
    Case(IntegerPow(4), (_empty,), lambda x: x),
    Case(
        IntegerPow(0),
        (np.array([0.0, np.nan, np.inf]),),
        np.ones_like,
        derivative=False,
        dtypes=_floats,
    ),
    Case(
        IntegerPow(11),
        (np.array([2, 3, -7, 2**31 - 1], np.int32),),
        lambda x: _wrapped(x, np.full(4, 11)),
        name="integer_pow that wraps around",
        dtypes=("int32",),
    ),
    Case(square, (_signed,), lambda x: x * x),
    Case(square, (_z,), lambda x: x * x),
    Case(square, (1.5,), lambda x: x * x),
    Case(square, (_special,), lambda x: x * x, derivative=False, dtypes=_floats),
    Case(sqrt, (_x,), np.sqrt),
    Case(sqrt, (_z,), np.sqrt),
    Case(sqrt, (2.0,), np.sqrt),
    Case(sqrt, (_empty,), np.sqrt),
    Case(sqrt, (_special,), np.sqrt, derivative=False, dtypes=_floats),
    Case(
        sqrt,
        (np.array([complex(-4, 0), complex(-4, -0.0), 0j]),),
        np.sqrt,
        name="sqrt on the branch cut",
        derivative=False,
    ),
    Case(rsqrt, (_x,), lambda x: 1 / np.sqrt(x)),
    Case(rsqrt, (_z,), lambda x: 1 / np.sqrt(x)),
    Case(rsqrt, (2.0,), lambda x: 1 / np.sqrt(x)),
    Case(
        rsqrt,
        (_special,),
        lambda x: 1 / np.sqrt(x),
        derivative=False,
        dtypes=_floats,
    ),
    Case(cbrt, (_signed,), np.cbrt),
    Case(cbrt, (2.0,), np.cbrt),
    Case(cbrt, (_special,), np.cbrt, derivative=False, dtypes=_floats),
]
