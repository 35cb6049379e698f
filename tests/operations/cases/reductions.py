"""Rows of the operations in ``operations/reductions.py``."""

import numpy as np

from covector.operations.reductions import (
    ReduceAnd,
    ReduceMax,
    ReduceMaxOfNumbers,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceXor,
)
from tests.laws import Case

_x = np.array([[0.5, -1.25, 2.0], [3.75, -0.75, 1.5]])
_cube = np.random.default_rng(0).permutation(24).reshape(2, 3, 4) / 8 - 1.3
_z = _x[:, :2] + 1j * _x[:, 1:]
_special = np.array([[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 0.0], [1.0, np.nan]])
_complex_special = np.array([[1 + 2j, 1 - 1j], [np.nan, 2j], [1.0, complex(2, np.nan)]])
_nans = np.random.default_rng(1).standard_normal(4800)
_nans[[7, 1500, 1501, 4000]] = np.nan
_signs = np.abs(np.random.default_rng(2).standard_normal((8, 700)))
_signs[:4] *= -1
_signs[[1, 2, 5, 6], [3, 4, 5, 6]] = [np.nan, -np.nan, np.nan, -np.nan]
_signs[[3, 7], 8] = [-np.inf, np.inf]
_many = np.random.default_rng(3).standard_normal(2**18 + 3)
_many[-1] = _many[:-1].max() + 1
_bits = np.array([[12, 10, -1], [7, 0, 5]], np.int32)
_bools = np.array([[True, False, True], [True, True, False]])


def _max(axes):
    return lambda x: np.max(x, axes)


def _min(axes):
    return lambda x: np.min(x, axes)


def _prod(axes):
    return lambda x: np.prod(x, axes, dtype=x.dtype)


def _extrema(op, reference, lowest):
    name = op(()).name
    return [
        Case(op((0,)), (_x,), reference((0,))),
        Case(op((1,)), (_x,), reference((1,))),
        Case(op((0, 2)), (_cube,), reference((0, 2))),
        Case(op((0, 1, 2)), (_cube,), reference((0, 1, 2))),
        Case(op((1,)), (_z,), reference((1,))),
        Case(op(()), (_x,), lambda x: x),
        Case(op(()), (1.5,), lambda x: x),
        Case(
            op((0,)),
            (np.zeros((0, 2)),),
            name=f"{name} of nothing",
            derivative=False,
        ),
        Case(
            op((0,)),
            (np.zeros((0, 2)),),
            lowest,
            name=f"{name} of nothing in wide types",
            derivative=False,
            dtypes=("float32", "bfloat16", "int8", "uint8", "complex64", "bool"),
            upcast=False,
        ),
        Case(op((1,)), (np.zeros((0, 2)),), lambda x: np.zeros(0)),
        Case(op((1,)), (_bools,), reference((1,))),
        *[
            Case(
                op((axis,)),
                (_nans.reshape(shape),),
                reference((axis,)),
                name=f"{name} of many with NaN",
                derivative=False,
                dtypes=("float32", "float64", "bfloat16", "float16"),
            )
            for shape, axis in (((64, 75), 1), ((64, 75), 0), ((2, 60, 40), 1))
        ],
        Case(
            op((1,)),
            (_signs,),
            reference((1,)),
            name=f"{name} of many of one sign, infinities, and NaN of both signs",
            derivative=False,
            dtypes=("float32", "float64", "bfloat16", "float16"),
        ),
        *[
            Case(
                op((0,)),
                (x,),
                reference((0,)),
                name=f"{name} of more than a core should read, the last element wins",
                derivative=False,
            )
            for x in (_many, -_many)
        ],
        Case(
            op((1,)),
            (_special,),
            reference((1,)),
            name=f"{name} of special values",
            derivative=False,
        ),
        Case(
            op((1,)),
            (_complex_special,),
            reference((1,)),
            name=f"{name} of special values",
            derivative=False,
        ),
    ]


def _least(x):
    """The identity of a maximum of two columns; negated, that of a minimum."""
    if x.dtype == bool:
        return np.False_
    if x.dtype.kind in "iu":
        return x.dtype.type(np.iinfo(x.dtype).min)
    return complex(-np.inf, -np.inf) if x.dtype.kind == "c" else -np.inf


def _lowest(x):
    return np.full(2, _least(x))


def _highest(x):
    least = _least(x)
    return np.full(2, ~least if x.dtype.kind in "biu" else -least)


CASES = [
    *_extrema(ReduceMax, _max, _lowest),
    *_extrema(ReduceMin, _min, _highest),
    Case(ReduceMaxOfNumbers((1,)), (_x,), _max((1,))),
    Case(ReduceMaxOfNumbers((0, 2)), (_cube,), _max((0, 2))),
    Case(ReduceProd((0,)), (_x,), _prod((0,))),
    Case(ReduceProd((1,)), (_x,), _prod((1,))),
    Case(ReduceProd((0, 2)), (_cube,), _prod((0, 2))),
    Case(ReduceProd((1,)), (_z,), _prod((1,))),
    Case(ReduceProd(()), (_x,), lambda x: x),
    Case(ReduceProd(()), (1.5,), lambda x: x),
    Case(ReduceProd((0,)), (np.zeros((0, 2)),), lambda x: np.ones(2)),
    Case(ReduceProd((1,)), (np.zeros((0, 2)),), lambda x: np.ones(0)),
    Case(
        ReduceProd((1,)),
        (np.array([[2.0, 0.0, 3.0], [0.0, 1.5, 0.0], [4.0, 5.0, 0.5]]),),
        _prod((1,)),
        name="reduce_prod with zeros",
    ),
    Case(
        ReduceProd((1,)),
        (_special,),
        _prod((1,)),
        name="reduce_prod of special values",
        derivative=False,
    ),
    Case(
        ReduceProd((0,)),
        (np.array([2**16, 2**16, 3], np.int32),),
        _prod((0,)),
        name="reduce_prod that wraps around",
    ),
    Case(
        ReduceProd((0,)),
        (np.full(1000, 1.01),),
        _prod((0,)),
        name="reduce_prod of many",
        rtol=1e-4,  # the host and XLA multiply in different orders
        derivative=False,
        dtypes=("float32", "float64", "bfloat16"),
    ),
    *[
        Case(op(axes), (values,), lambda x, op=ufunc, axes=axes: op.reduce(x, axes))
        for op, ufunc in (
            (ReduceAnd, np.bitwise_and),
            (ReduceOr, np.bitwise_or),
            (ReduceXor, np.bitwise_xor),
        )
        for axes, values in (
            ((0,), _bits),
            ((0, 1), _bits),
            ((1,), _bools),
            ((), _bools),
            ((), np.int32(5)),
            ((0,), np.zeros((0, 2), np.int32)),
            ((0,), np.zeros((0, 2), bool)),
        )
    ],
]
