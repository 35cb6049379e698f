"""Rows of the operations in ``operations/contraction.py``."""

import numpy as np

from covector.core import dtypes
from covector.operations.contraction import DotGeneral
from covector.operations.precision import DotAlgorithmPreset, Precision
from tests.laws import Case

_rng = np.random.default_rng(0)


def _x(*shape):
    return np.round(_rng.normal(size=shape), 3)


def _z(*shape):
    return _x(*shape) + 1j * _x(*shape)


def _einsum(subscripts):
    return lambda x, y: np.einsum(subscripts, x, y)


def _dot(contracting, batch=((), ()), **parameters):
    return DotGeneral((contracting, batch), **parameters)


_matmul = _dot(((1,), (0,)))
_INTEGERS = (dtypes.int8, dtypes.int32, dtypes.uint8)

CASES = [
    Case(_matmul, (_x(2, 3), _x(3, 4)), np.matmul),
    Case(_matmul, (_z(2, 3), _z(3, 4)), np.matmul),
    Case(_matmul, (_x(2, 3), _x(3)), np.matmul),
    Case(_dot(((0,), (0,))), (_x(3), _x(3, 4)), np.matmul),
    Case(_dot(((0,), (0,))), (_x(5), _x(5)), np.dot),
    Case(_dot(((0,), (0,))), (_z(5), _z(5)), np.dot),
    Case(_dot(((), ())), (_x(2), _x(3)), np.outer),
    Case(_dot(((), ())), (1.5, _x(2, 3)), np.multiply),
    Case(_dot(((), ())), (1.5, -2.5), np.multiply),
    Case(_dot(((0,), (0,))), (_x(3, 2), _x(3, 4)), lambda x, y: x.T @ y),
    Case(_dot(((1,), (1,))), (_x(2, 3), _x(4, 3)), lambda x, y: x @ y.T),
    Case(_dot(((0,), (1,))), (_x(3, 2), _x(4, 3)), lambda x, y: x.T @ y.T),
    Case(
        _dot(((0, 1), (1, 0))),
        (_x(2, 3), _x(3, 2)),
        lambda x, y: np.tensordot(x, y, ((0, 1), (1, 0))),
    ),
    Case(
        _dot(((2, 0), (0, 1))),
        (_x(2, 4, 3), _x(3, 2, 5)),
        lambda x, y: np.einsum("kil,lkj->ij", x, y),
    ),
    Case(_dot(((2,), (1,)), ((0,), (0,))), (_x(2, 3, 4), _x(2, 4, 5)), np.matmul),
    Case(_dot(((2,), (1,)), ((0,), (0,))), (_z(2, 3, 2), _z(2, 2, 3)), np.matmul),
    Case(
        _dot(((0,), (2,)), ((2,), (0,))),
        (_x(3, 4, 2), _x(2, 5, 3)),
        lambda x, y: np.einsum("kib,bjk->bij", x, y),
    ),
    Case(
        _dot(((1,), (3,)), ((0, 3), (2, 0))),
        (_x(2, 3, 4, 2), _x(2, 2, 2, 3)),
        lambda x, y: np.einsum("akib,bjak->abij", x, y),
    ),
    Case(
        _dot(((), ()), ((0,), (0,))),
        (_x(3, 2), _x(3, 4)),
        lambda x, y: np.einsum("bi,bj->bij", x, y),
    ),
    Case(
        _dot(((), ()), ((0,), (0,))),
        (_x(3), _x(3)),
        np.multiply,
        name="only batch axes",
    ),
    # On a CPU these are formed term by term.
    Case(_dot(((2,), (1,)), ((0,), (0,))), (_x(17, 2, 3), _x(17, 3, 2)), np.matmul),
    Case(_dot(((1,), (1,)), ((0,), (0,))), (_z(16, 3), _z(16, 3)), _einsum("bk,bk->b")),
    Case(
        _dot(((4, 1), (0, 3)), ((3, 0), (2, 1))),
        (_x(2, 2, 3, 8, 2), _x(2, 2, 8, 2, 2)),
        _einsum("blicm,mbcln->cbin"),
        second_order=False,
    ),
    Case(_matmul, (_x(2, 0), _x(0, 4)), np.matmul),
    Case(_matmul, (_x(0, 3), _x(3, 4)), np.matmul),
    Case(
        _dot(((2,), (1,)), ((0,), (0,))),
        (_x(0, 3, 4), _x(0, 4, 5)),
        np.matmul,
    ),
    Case(
        _matmul,
        (np.array([[True, False], [False, False]]), np.array([[False], [True]])),
        np.matmul,
    ),
    Case(
        _matmul,
        (
            np.array([[2**31 - 1, 2], [100, -100]], np.int32),
            np.array([[3, 100], [5, 100]], np.int32),
        ),
        np.matmul,
        name="a product that wraps around",
    ),
    Case(
        _matmul,
        (
            np.array([[np.inf, 1.0], [np.nan, 0.0], [0.0, 2.0]]),
            np.array([[1.0], [2.0]]),
        ),
        np.matmul,
        name="special values",
        derivative=False,
        dtypes=(dtypes.float32, dtypes.float64, dtypes.bfloat16),
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.float32),
        (_x(2, 64), _x(64, 3)),
        np.matmul,
        name="narrow floats to float32",
        derivative=False,
        dtypes=(dtypes.bfloat16, dtypes.float16, dtypes.float8_e4m3fn),
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.bfloat16),
        (_x(2, 64), _x(64, 3)),
        np.matmul,
        name="float32 to bfloat16",
        derivative=False,
        dtypes=(dtypes.float32, dtypes.bfloat16),
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.float64),
        (_x(2, 6), _x(6, 3)),
        np.matmul,
        dtypes=(dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.int8),
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.complex128),
        (_x(2, 3), _x(3, 3)),
        np.matmul,
        dtypes=(dtypes.float32, dtypes.float64, dtypes.complex64),
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.int32),
        (np.full((2, 300), 100, np.int8), np.full((300, 2), 100, np.int8)),
        lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32)),
        name="int8 to int32",
        dtypes=_INTEGERS,
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.int32),
        (np.full((2, 3), True), np.full((3, 2), True)),
        lambda x, y: np.matmul(x.astype(np.int32), y.astype(np.int32)),
        name="booleans are counted",
    ),
    Case(
        _dot(((1,), (0,)), preferred_element_type=dtypes.int32),
        (np.array([[1.5, 2.0], [1e10, 1e10]]), np.array([[1.0, 0.5], [0.75, np.nan]])),
        name="floats to int32",
        derivative=False,
        dtypes=(dtypes.float32, dtypes.float64),
    ),
    Case(_matmul, (_x(20, 500), _x(500, 30)), np.matmul, name="many terms", rtol=1e-5),
    Case(
        _dot(((1,), (0,)), precision=(Precision.HIGHEST, Precision.DEFAULT)),
        (_x(2, 3), _x(3, 2)),
        np.matmul,
    ),
    *[
        Case(
            _dot(((1,), (0,)), precision=preset),
            (_x(2, 3), _x(3, 2)),
            np.matmul,
            rtol=rtol,
            derivative=False,
            dtypes=(dtypes.float32, dtypes.bfloat16),
        )
        for preset, rtol in (
            (DotAlgorithmPreset.F16_F16_F16, 1e-2),
            (DotAlgorithmPreset.BF16_BF16_F32, 1e-2),
            (DotAlgorithmPreset.BF16_BF16_F32_X3, 1e-4),
            (DotAlgorithmPreset.BF16_BF16_F32_X6, 1e-5),
            (DotAlgorithmPreset.F32_F32_F32, 1e-6),
            (DotAlgorithmPreset.F64_F64_F64, 1e-6),
        )
    ],
]
