"""Elementwise functions: the values of NumPy, on the host and compiled."""

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import options
from tests.public.table import elementwise_functions

REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 7.25, -100.0, 1e10]
SPECIAL = [np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 2, 3, 5, 7, 100, -1, -2, -3, -7, -100]
COMPLEX = [0, 1, -1, 1j, -1j, 0.5 + 0.25j, -2.5 - 1j, 3 - 4j]

#: where NumPy has another meaning, or none at our elements; of complex numbers at
#: branch points and poles, where NumPy and XLA choose other sides
OTHERWISE = {
    "f": "divmod",
    "c": "acos acosh arcsinh asin atan atanh log1p",
    "i": "reciprocal power float_power",
    "b": "nextafter",
}
#: functions of one operand and of two, by the kind of numbers that they take
UNARY, BINARY = (
    {
        kind: [n for n in elementwise_functions("numpy", count, kind) if n not in but]
        for kind, but in ((k, names.split()) for k, names in OTHERWISE.items())
    }
    for count in (1, 2)
)


def elements(kind: str) -> np.ndarray:
    if kind == "f":
        return np.array(REALS + SPECIAL)
    if kind == "c":
        return np.array(COMPLEX, np.complex128)
    return np.array(INTEGERS) if kind == "i" else np.array([True, False])


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, kind) for kind, names in table.items() for name in names]


def expected(name: str, *args: Any) -> Any:
    alias = {"pow": "power", "atan2": "arctan2", "float_power": "power"}
    with np.errstate(all="ignore"):
        return getattr(np, alias.get(name, name))(*args)


#: functions in which XLA does not tell 0 from −0
ZEROS_ARE_ALIKE = ("maximum", "minimum", "logaddexp2")


def check(got: Any, wanted: Any, rtol: float = 1e-12, signs: bool = True) -> None:
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            check(g, w, rtol, signs)
        return
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=rtol, atol=rtol)
    # Zeros must agree in sign too.
    if signs and np.isrealobj(wanted) and np.asarray(wanted).dtype.kind == "f":
        zero = np.asarray(wanted) == 0
        np.testing.assert_array_equal(
            np.signbit(np.asarray(got))[zero], np.signbit(wanted)[zero]
        )


@pytest.fixture
def x64():
    with options.override(enable_x64=True):
        yield


@pytest.mark.parametrize(("name", "kind"), cases(UNARY))
def test_functions_of_one_operand_have_numpys_values(name, kind, x64):
    x = elements(kind)
    got = getattr(cnp, name)(cnp.asarray(x))
    # The sign of −0 is 0 in NumPy, and −0 here, as in JAX.
    check(got, expected(name, x), rounding(kind), name != "sign")


@pytest.mark.parametrize(("name", "kind"), cases(BINARY))
def test_functions_of_two_operands_have_numpys_values(name, kind, x64):
    x, y = operands(name, kind)
    wanted = expected(name, x, y)
    got = getattr(cnp, name)(cnp.asarray(x), cnp.asarray(y))
    unusual = np.isinf(x) | np.isinf(y) if kind == "f" else np.zeros(x.shape, bool)
    if name == "floor_divide":  # the array API standard differs from NumPy there
        x, y, wanted = x[~unusual], y[~unusual], wanted[~unusual]
        got = got[~unusual]
    check(got, wanted, rounding(kind))


def rounding(kind: str) -> float:
    """NumPy has functions of bools in half precision."""
    return 1e-3 if kind == "b" else 1e-9


def operands(name: str, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of elements, but for those to which NumPy gives no meaning."""
    x = elements(kind)
    x, y = (a.ravel() for a in np.meshgrid(x, x))
    keep = np.ones(x.shape, bool)
    if "shift" in name:
        keep = (y >= 0) & (y < 64)
    return x[keep], y[keep]


# Compiled in one program, for a program of one function takes as long.
@pytest.fixture(scope="module")
def compiled():
    with options.override(enable_x64=True):
        results = {}
        for table, pairs in ((UNARY, False), (BINARY, True)):
            for kind, names in table.items():
                calls = {}
                for name in names:
                    args = operands(name, kind) if pairs else (elements(kind),)
                    calls[name] = [cnp.asarray(a) for a in args]

                def run(calls):
                    return {n: getattr(cnp, n)(*args) for n, args in calls.items()}

                outs, eager = cv.jit(run)(calls), run(calls)
                results |= {(n, kind): (outs[n], eager[n]) for n in outs}
        return results


@pytest.mark.parametrize(("name", "kind"), cases(UNARY) + cases(BINARY))
def test_compiled_functions_have_the_values_of_eager_ones(name, kind, compiled, x64):
    got, wanted = compiled[name, kind]
    got = got if isinstance(got, tuple) else (got,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for g, w in zip(got, wanted, strict=True):
        assert g.type == w.type
        check(g, np.asarray(w), 1e-6, name not in ZEROS_ARE_ALIKE)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", UNARY["f"] + BINARY["f"])
def test_narrow_floats_keep_their_dtype_and_are_right_to_their_precision(name, dtype):
    x = np.array([0.5, 1.0, -0.25, 0.0, 0.75]).astype(dtype)
    args = [cnp.asarray(x)] * (1 if name in UNARY["f"] else 2)
    with options.override(enable_x64=True):
        wide = getattr(cnp, name)(*[a.astype("float64") for a in args])
    got = getattr(cnp, name)(*args)
    got, wide = (v if isinstance(v, tuple) else (v,) for v in (got, wide))
    eps = cnp.finfo(dtype).eps
    for g, w in zip(got, wide, strict=True):
        if cnp.isdtype(w.dtype, "real floating"):
            assert g.dtype == np.dtype(dtype)
        if name in ("nextafter", "spacing"):
            continue  # they are about the dtype
        np.testing.assert_allclose(
            np.asarray(g, np.float64), np.asarray(w, np.float64), 8 * eps, 8 * eps
        )


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3)])
@pytest.mark.parametrize("name", ["sin", "add", "maximum", "floor_divide", "isclose"])
def test_every_shape_passes(name, shape):
    x = np.ones(shape, np.float32)
    args = [x] * (1 if name == "sin" else 2)
    got = getattr(cnp, name)(*args)
    check(got, getattr(np, name)(*args), 1e-6)
    assert cv.jit(getattr(cnp, name))(*args).shape == shape


@pytest.mark.parametrize(
    ("s", "t"),
    list(itertools.product([(), (1,), (3,), (2, 3), (2, 1), (1, 0)], repeat=2)),
)
def test_shapes_broadcast_as_in_numpy(s, t):
    x, y = np.ones(s, np.float32), np.full(t, 2, np.float32)
    try:
        wanted = x * y
    except ValueError:
        with pytest.raises(ValueError, match="multiply got incompatible shapes"):
            cnp.multiply(x, y)
        return
    check(cnp.asarray(x) * cnp.asarray(y), wanted)


def test_integers_are_rounded_to_tens_and_halves_to_even():
    x = cnp.array([14, 15, 25, -26], "int32")
    assert cnp.round(x, -1).tolist() == [10, 20, 20, -30]


def test_divmod_has_the_sign_of_the_divisor():
    found = cnp.divmod(cnp.array([7, -7, 7, -7]), cnp.array([3, 3, -3, -3]))
    assert [x.tolist() for x in found] == [[2, -3, -3, 2], [1, 2, -2, -1]]
