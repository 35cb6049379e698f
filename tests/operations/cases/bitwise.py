"""Rows of the operations in ``operations/bitwise.py``."""

import numpy as np

from covector.operations.bitwise import (
    and_,
    clz,
    not_,
    or_,
    population_count,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    xor,
)
from tests.laws import Case

_x, _y = np.array([[[2, -5, 8], [7, -3, 6]], [[6, 3, -8], [2, -7, 0]]], np.int32)
_bools = [np.array([True, True, False, False]), np.array([True, False, True, False])]
_int32 = np.array([0, 1, -1, 2**31 - 1, -(2**31), 12345, -98765], np.int32)
_int8 = np.array([0, 1, -1, 127, -128, 45, -98], np.int8)
_uint8 = np.array([0, 1, 255, 128, 127, 45, 98], np.uint8)
_all = (_int32, _int8, _uint8, _int32.astype(np.uint32), _int32.astype(np.int64) << 31)


def _logic(op, reference):
    return [
        Case(op, (_x, _y), reference),
        Case(op, _bools, reference),
        Case(op, (_int32, np.int32(12)), reference, name=f"{op.name} with a scalar"),
        Case(op, (np.int32(10), np.int32(12)), reference),
        Case(op, (np.zeros((0, 3), np.int32), np.int32(1)), reference),
        *[Case(op, (x, x[::-1].copy()), reference) for x in _all],
    ]


def _bits(x, shifts=None):
    """The bits of x as Python integers, and how many there are."""
    width = 8 * x.dtype.itemsize
    return [int(v) % 2**width for v in x.ravel()], width


def _elementwise(fun):
    """A reference that is worked out with Python integers, of a value's bits."""

    def reference(x, *others):
        values, width = _bits(x)
        others = [np.broadcast_to(o, x.shape).ravel().tolist() for o in others]
        out = [
            fun(v, width, *o) % 2**width for v, *o in zip(values, *others, strict=True)
        ]
        unsigned = np.array(out, f"u{x.dtype.itemsize}").reshape(x.shape)
        return unsigned.view(x.dtype)

    return reference


def _left(v, width, n):
    return v << n if 0 <= n < width else 0


def _logical(v, width, n):
    return v >> n if 0 <= n < width else 0


def _arithmetic(v, width, n):
    signed = v - 2**width * (v >= 2 ** (width - 1))
    return signed >> (n if 0 <= n < width else width)


def _shift(op, fun):
    reference = _elementwise(fun)
    shifts = np.array([0, 1, 7, 8, 31, 32, -1])
    wide = ("int32", "int64", "int8", "uint8", "uint32")
    return [
        *[
            Case(op, (x, shifts.astype(x.dtype)), reference, dtypes=(x.dtype,))
            for x in _all
        ],
        Case(op, (_int32[::-1].copy(), np.int32(3)), reference, dtypes=wide),
        Case(op, (np.array(-7), np.array(2)), reference, dtypes=wide),
        Case(op, (np.zeros((0, 2), np.int32), np.int32(2)), reference, dtypes=wide),
        Case(op, (np.array([1, 2, -1, -3]), np.array([0, 1, 2, 1])), name=op.name),
    ]


CASES = [
    *_logic(and_, np.bitwise_and),
    *_logic(or_, np.bitwise_or),
    *_logic(xor, np.bitwise_xor),
    Case(not_, (_x,), np.invert),
    Case(not_, _bools[:1], np.invert),
    *[Case(not_, (x,), np.invert) for x in _all],
    Case(not_, (np.int32(5),), np.invert),
    *_shift(shift_left, _left),
    *_shift(shift_right_logical, _logical),
    *_shift(shift_right_arithmetic, _arithmetic),
    *[
        row
        for op, fun in [
            (population_count, lambda v, width: v.bit_count()),
            (clz, lambda v, width: width - v.bit_length()),
        ]
        for row in [
            *[Case(op, (x,), _elementwise(fun), dtypes=(x.dtype,)) for x in _all],
            Case(op, (np.int32(-5),), _elementwise(fun), dtypes=("int32",)),
            Case(op, (np.zeros((0,), np.int32),), _elementwise(fun)),
            Case(op, (np.array([0, 1, 2, 7, -1, -8]),), name=op.name),
        ]
    ],
]
