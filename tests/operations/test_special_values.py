"""Infinities, NaN and zeros of both signs: every elementwise operation gives of them,
compiled, what it gives eagerly.
"""

import math

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.operations.families import Elementwise
from tests.operations.cases import CASES

PARTS = [0.0, -0.0, 0.5, -2.0, math.inf, -math.inf, math.nan]
GRID = {
    "float32": np.array([*PARTS, 3.0, -1.0, 20.0, 1e30]),
    "complex64": np.array([complex(x, y) for x in PARTS for y in PARTS]),
}
OPERATIONS = {
    f"{type(case.op).__name__} of {len(case.args)}": (case.op, len(case.args))
    for cases in CASES.values()
    for case in cases
    if isinstance(case.op, Elementwise)
    and all(np.asarray(x).dtype.kind in "fc" for x in case.args)
}
#: where the sign of a zero is open: which of two zeros is the larger
EXTREMA = {"Max of 2", "Min of 2", "Clamp of 3"}


def kinds(x: np.ndarray) -> np.ndarray:
    """0 for zeros, 1 for finite, 2 for infinite numbers and 3 for NaN."""
    return np.select([np.isnan(x), np.isinf(x), x != 0], [3, 2, 1], 0)


def overflows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where the product of finite numbers is not: a compiled sum that it is part of may
    be rounded once, as a fused multiply-add, and have it in full.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.isinf(x * y) & np.isfinite(x) & np.isfinite(y)


def differ(got: np.ndarray, wanted: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Where results are of other kinds, or have other signs, where these count."""
    if got.dtype.kind == "c":
        signed = signed & ~np.isnan(wanted)
        parts = [(got.real, wanted.real), (got.imag, wanted.imag)]
        return np.any([differ(*pair, signed) for pair in parts], axis=0)
    if got.dtype.kind != "f":
        return got != wanted
    signed = signed & ~np.isnan(wanted)
    signs = np.signbit(got) != np.signbit(wanted)
    return (kinds(got) != kinds(wanted)) | (signs & signed)


@pytest.mark.parametrize("dtype", GRID)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_compiles_to_the_special_values_it_has_eagerly(name, dtype):
    op, count = OPERATIONS[name]
    if not type(op).accepts(np.dtype(dtype)):
        pytest.skip(f"not for {dtype}")
    grids = np.meshgrid(*[GRID[dtype].astype(dtype)] * count)
    operands = [g.reshape(-1) for g in grids]
    arrays = [cnp.asarray(x) for x in operands]
    got, wanted = np.asarray(cv.jit(op)(*arrays)), np.asarray(op(*arrays))
    # Of two infinities, and beside NaN, C99 leaves signs open.
    plain = [np.isfinite(x.real) | np.isfinite(x.imag) for x in operands]
    if count > 1 and dtype == "complex64":
        plain = [np.isfinite(x) for x in operands]
    signed = np.all(plain, axis=0) & (name not in EXTREMA)
    where = differ(got, wanted, signed)
    if name == "SumOfProducts of 4" and dtype == "float32":
        where &= ~overflows(*operands[:2]) & ~overflows(*operands[2:])
    columns = [x[where].tolist() for x in (*operands, got, wanted)]
    assert not [*zip(*columns, strict=True)]
