"""Large arrays of float32, whose functions are worked out in 64 bits on the CPU."""

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

COUNT = 1 << 17
FUNCTIONS = ["sin", "cos", "tan", "arctan", "arcsin", "arccos", "exp2", "cbrt"]
#: those of which small arrays have other errors, in 32 bits
IN_32_BITS = ["log1p"]
SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -2, np.inf, -np.inf, np.nan, 3e38], np.float32)


def numbers(seed):
    """Floats of every size, and those near whole quarter turns."""
    rng = np.random.default_rng(seed)
    every = rng.integers(0, 2**32, COUNT, dtype=np.uint32).view(np.float32)
    turns = rng.integers(1, 2**32, COUNT).astype(np.float64) * (np.pi / 2)
    usual = rng.uniform(-10, 10, COUNT)
    found = np.concatenate([every, turns, usual], dtype=np.float32, casting="unsafe")
    return found[np.isfinite(found) & (np.abs(found) > 1e-37)]


def units_off(found, exact):
    """The largest error in units in the last place of float32, of normal numbers."""
    size = np.abs(exact)
    normal = (size > 1e-37) & (size < 3e38)
    unit = np.spacing(size[normal].astype(np.float32)).astype(np.float64)
    return np.max(np.abs(np.asarray(found, np.float64)[normal] - exact[normal]) / unit)


def repeated(values):
    """A large array of these values."""
    return np.resize(values, 8 * 4096)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_of_any_size_are_right_to_the_last_place(name):
    x = numbers(1)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
    assert units_off(cv.jit(getattr(cnp, name))(x), exact) < 0.51


def test_powers_and_angles_of_points_are_right_to_the_last_place():
    x, y = np.abs(numbers(2)), np.random.default_rng(3)
    y = y.uniform(-30, 30, x.size).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) ** y
    assert units_off(cv.jit(cnp.power)(x, y), exact) < 0.51
    exact = np.arctan2(x.astype(np.float64), y)
    assert units_off(cv.jit(cnp.arctan2)(x, y), exact) < 0.51


def test_logarithms_of_one_plus_are_right_to_a_unit():
    near = np.random.default_rng(4).uniform(-1, 2, 1 << 19).astype(np.float32)
    for x in (numbers(4), near, repeated(-(np.float32(2) ** -np.arange(1, 25)))):
        inside = x[x > -1]
        exact = np.log1p(inside.astype(np.float64))
        assert units_off(cv.jit(cnp.log1p)(inside), exact) < 1


def test_inverse_error_functions_are_those_of_small_arrays_to_a_few_units():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-1, 1, 4096), 1 - 2.0 ** rng.uniform(-24, 0, 4096)])
    x = np.concatenate([x, [0.0, -0.0, 1, -1, 1.5, np.nan, 1e-30]]).astype(np.float32)
    many = np.asarray(cv.jit(lax.erf_inv)(x))
    few = np.concatenate([cv.jit(lax.erf_inv)(part) for part in np.array_split(x, 9)])
    np.testing.assert_allclose(many, few, rtol=4 * np.finfo(np.float32).eps)
    np.testing.assert_array_equal(np.signbit(many)[:-2], np.signbit(few)[:-2])


@pytest.mark.parametrize("name", FUNCTIONS + IN_32_BITS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_special_values_are_those_of_small_arrays(name, dtype):
    f = cv.jit(getattr(cnp, name))
    x = SPECIAL[:9].astype(dtype)
    few, many = f(x), f(repeated(x))[:9]
    assert many.dtype == few.dtype == dtype
    few, many = np.asarray(few, np.float32), np.asarray(many, np.float32)
    np.testing.assert_allclose(many, few, rtol=5 * float(cnp.finfo(dtype).eps))
    known = ~np.isnan(few)
    np.testing.assert_array_equal(np.signbit(many)[known], np.signbit(few)[known])


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_special_values_of_two_arguments_are_those_of_c(name):
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    x, y = repeated(x), repeated(y)
    found = np.asarray(cv.jit(getattr(cnp, name))(x, y))
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x, y)
    known = ~np.isnan(exact)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_allclose(found, exact, rtol=2e-7, atol=1e-37)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(exact)[known])


@pytest.mark.parametrize("name", [*FUNCTIONS, *IN_32_BITS, "power", "arctan2"])
def test_derivatives_of_large_arrays_are_those_of_their_elements(name):
    f = getattr(cnp, name)
    count = 2 if name in ("power", "arctan2") else 1
    xs = [np.linspace(0.5, 3, 8192, dtype=np.float32)] * count
    slopes = cv.jit(cv.grad(lambda *xs: cnp.sum(f(*xs)), tuple(range(count))))(*xs)
    each = cv.jit(cv.grad(f, tuple(range(count))))(*[x[7] for x in xs])
    for slope, one in zip(slopes, each, strict=True):
        np.testing.assert_allclose(slope[7], one, rtol=1e-5)


def test_a_scalar_exponent_and_a_scalar_base():
    x = np.linspace(0.5, 3, 8192, dtype=np.float32)
    np.testing.assert_allclose(cv.jit(lambda x: x**1.7)(x), x**1.7, rtol=1e-6)
    np.testing.assert_allclose(cv.jit(lambda x: 1.7**x)(x), 1.7**x, rtol=1e-6)
    np.testing.assert_allclose(
        cv.jit(lambda x: cnp.arctan2(x, 1.0))(x), np.arctan(x), rtol=1e-6
    )


def test_a_sine_and_its_derivative_are_one_kernel():
    def both(x):
        return cnp.sin(x) * cnp.cos(x) + cnp.sin(x + 1)

    x = np.ones(8192, np.float32)
    text = cv.jit(both).lower(x).compile().as_text()
    entry = text[text.index("ENTRY") :]
    assert entry.count(" fusion(") == 1
    assert " call(" not in entry


def test_small_arrays_and_float64_are_left_to_xla():
    with cv.options.override(enable_x64=True):
        assert "stablehlo.sine" in cv.jit(cnp.sin).lower(np.ones(8192)).as_text()
    few = np.ones(16, np.float32)
    assert "stablehlo.sine" in cv.jit(cnp.sin).lower(few).as_text()


def test_powers_of_two_of_whole_numbers_are_exact():
    x = np.resize(np.arange(-126, 128), 8192).astype(np.float32)
    powers = np.ldexp(np.float32(1), x.astype(np.int32))  # np.exp2 may not be exact
    np.testing.assert_array_equal(cv.jit(cnp.exp2)(x), powers)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS + IN_32_BITS)
def test_numbers_of_16_bits_are_right_to_the_last_place(name, dtype):
    x, limits = np.arange(2**16, dtype=np.uint16).view(dtype), cnp.finfo(dtype)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        exact = getattr(np, name)(wide)
        found = np.asarray(cv.jit(getattr(cnp, name))(x)).astype(np.float64)
        unit = np.abs(exact) * float(limits.eps)
        normal = (np.abs(exact) > float(limits.tiny)) & (np.abs(exact) < 3e4)
        normal &= np.abs(wide) > float(limits.tiny)
        off = np.abs(found - exact)[normal] / unit[normal]
    assert off.max() < 0.51


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_remainders_are_exact(dtype):
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 1 << 16, (2, 2 * COUNT)).astype(np.uint16)
    x, y = bits.view(np.float32 if dtype == np.float32 else dtype)
    size = np.abs(y.astype(np.float32))
    x[np.abs(x.astype(np.float32)) < 1e-37], y[size < 1e-37] = 0, 2  # not subnormal
    with np.errstate(all="ignore"):
        exact = np.fmod(x.astype(np.float32), y.astype(np.float32))
    found = np.asarray(cv.jit(cv.lax.rem)(x, y)).astype(np.float32)
    normal = np.isnan(exact) | (np.abs(exact) > 1e-37) | (exact == 0)
    np.testing.assert_array_equal(found[normal], exact[normal])
    known = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(exact)[known])


def test_remainders_of_multiples_are_zero_or_next_to_it():
    rng = np.random.default_rng(5)
    y = np.abs(rng.normal(size=COUNT)).astype(np.float32)
    x = (rng.integers(1, 10**6, COUNT) * y.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(cv.jit(cv.lax.rem)(x, y), np.fmod(x, y))


def test_remainders_of_special_numbers_and_by_one_number():
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    x, y = repeated(x), repeated(y)
    rem = cv.jit(cv.lax.rem)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(rem(x, y), np.fmod(x, y))
        for number in SPECIAL:
            np.testing.assert_array_equal(rem(x, number), np.fmod(x, number))
            np.testing.assert_array_equal(rem(number, y), np.fmod(number, y))
