"""Complex functions of signed zeros, infinities and NaN: eager, compiled, and C99's."""

import cmath
import contextlib
import math

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.operations.complex_functions import ComplexFunction
from tests.operations.cases import CASES

PARTS = [0.0, -0.0, 0.5, -1.0, 3.0, -3.0, 80.0, -80.0, math.inf, -math.inf, math.nan]
GRID = np.array([complex(x, y) for x in PARTS for y in PARTS])
OPERATIONS = {
    case.op.name: case.op
    for cases in CASES.values()
    for case in cases
    if isinstance(case.op, ComplexFunction)
}


def described(z: complex, out: complex) -> list[tuple[str, int]]:
    """For each part of a result: what kind of number it is, and its sign, 1 where C99
    leaves it open: beside NaN, and of two infinities.
    """
    operand, parts = (z.real, z.imag), (out.real, out.imag)
    nan = any(map(math.isnan, (*operand, *parts)))
    is_open = nan or all(map(math.isinf, operand))

    def kind(x: float) -> str:
        return (
            "nan" if math.isnan(x)
            else "infinite" if math.isinf(x)
            else "finite" if x
            else "zero"
        )  # fmt: skip

    return [
        (kind(x), 1 if is_open and kind(x) != "finite" else int(math.copysign(1, x)))
        for x in parts
    ]


def differing(got: np.ndarray, wanted: np.ndarray) -> list[str]:
    return [
        f"{z}: {g}, not {w}"
        for z, g, w in zip(GRID.tolist(), got.tolist(), wanted.tolist(), strict=True)
        if described(z, complex(g)) != described(z, complex(w))
    ]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_complex_function_compiles_to_the_special_values_it_has_eagerly(name):
    function = OPERATIONS[name]
    for dtype in "complex64", "complex128":
        with cv.enable_x64(dtype == "complex128"):
            z = cnp.asarray(GRID.astype(dtype))
            eager, compiled = np.array(function(z)), np.array(cv.jit(function)(z))
        assert not differing(compiled, eager)
        finite = np.isfinite(eager)
        tolerance = 1e-5 if dtype == "complex64" else 1e-13
        np.testing.assert_allclose(compiled[finite], eager[finite], rtol=tolerance)


@pytest.mark.parametrize("name", [n for n in OPERATIONS if hasattr(cmath, n)])
def test_a_complex_function_has_the_special_values_of_c99(name):
    with cv.enable_x64(True):
        got = np.array(OPERATIONS[name](cnp.asarray(GRID)))
    wanted = got.copy()
    for i, z in enumerate(GRID.tolist()):
        # It refuses poles, and NaN of no NaN; of NaN beside 0 it has an older C99.
        if not (cmath.isnan(z) and 0 in (z.real, z.imag)):
            with contextlib.suppress(ValueError, OverflowError):
                wanted[i] = getattr(cmath, name)(z)
    assert not differing(got, wanted)
