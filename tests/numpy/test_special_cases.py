"""Infinities, NaN and signs of zero, as the array API standard and Python have them."""

import math

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp

INF, NAN = math.inf, math.nan

#: x, y, ⌊x / y⌋ by the standard
FLOORS = [
    (7.0, 2.0, 3.0),
    (-7.0, 2.0, -4.0),
    (7.0, -2.0, -4.0),
    (1.0, 0.1, 9.0),
    (0.0, 3.0, 0.0),
    (-0.0, 3.0, -0.0),
    (0.0, -3.0, -0.0),
    (-0.0, -3.0, 0.0),
    (1.0, INF, 0.0),
    (1.0, -INF, -0.0),
    (-1.0, INF, -0.0),
    (-1.0, -INF, 0.0),
    (INF, 2.0, INF),
    (INF, -2.0, -INF),
    (-INF, 2.0, -INF),
    (-INF, -2.0, INF),
    (1.0, 0.0, INF),
    (1.0, -0.0, -INF),
    (-1.0, 0.0, -INF),
    (0.0, 0.0, NAN),
    (INF, INF, NAN),
    (NAN, 1.0, NAN),
    (1.0, NAN, NAN),
]
#: x, y, x − y · ⌊x / y⌋
REMAINDERS = [
    (7.0, 3.0, 1.0),
    (-7.0, 3.0, 2.0),
    (7.0, -3.0, -2.0),
    (0.0, 3.0, 0.0),
    (-0.0, 3.0, 0.0),
    (0.0, -3.0, -0.0),
    (-0.0, -3.0, -0.0),
    (6.0, 3.0, 0.0),
    (-6.0, 3.0, 0.0),
    (6.0, -3.0, -0.0),
    (5.0, INF, 5.0),
    (5.0, -INF, -INF),
    (-5.0, INF, INF),
    (1.0, 0.0, NAN),
    (INF, 1.0, NAN),
    (NAN, 1.0, NAN),
]


def same(got: cnp.ndarray, wanted: float) -> bool:
    value = float(got)
    if math.isnan(wanted):
        return math.isnan(value)
    return value == wanted and math.copysign(1, value) == math.copysign(1, wanted)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize(("x", "y", "wanted"), FLOORS)
def test_floor_divide_of_special_values(x, y, wanted, mode):
    divide = cv.jit(cnp.floor_divide) if mode == "compiled" else cnp.floor_divide
    assert same(divide(np.float32(x), np.float32(y)), wanted)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize(("x", "y", "wanted"), REMAINDERS)
def test_remainder_of_special_values(x, y, wanted, mode):
    rest = cv.jit(cnp.remainder) if mode == "compiled" else cnp.remainder
    assert same(rest(np.float32(x), np.float32(y)), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_integers_divide_as_in_numpy_at_the_ends_of_their_range_and_by_zero(
    dtype, mode
):
    info = np.iinfo(dtype)
    values = np.unique([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1])
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(values, values))
    for name in ("floor_divide", "remainder", "fmod", "gcd"):
        fun = getattr(cnp, name)
        got = (cv.jit(fun) if mode == "compiled" else fun)(x, y)
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x, y)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(got), wanted, err_msg=name)


@pytest.mark.parametrize("x", [2.0, -2.0, 0.0])
def test_the_remainder_has_the_tangent_of_x_even_where_it_is_zero(x):
    assert float(cv.grad(lambda x: cnp.remainder(x, 2.0))(x)) == 1.0
    assert float(cv.grad(lambda y: cnp.remainder(5.0, y))(2.0)) == -2.0


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("sign", -0.0, 0.0),
        ("trunc", -0.5, -0.0),
        ("ceil", -0.5, -0.0),
        ("round", -0.4, -0.0),
        ("sqrt", -0.0, -0.0),
        ("expm1", -INF, -1.0),
        ("log1p", -1.0, -INF),
        ("log", 0.0, -INF),
        ("log2", 0.0, -INF),
        ("log10", 0.0, -INF),
        ("acosh", 0.5, NAN),
        ("atanh", 1.0, INF),
        ("asin", 2.0, NAN),
        ("tanh", INF, 1.0),
        ("exp", -INF, 0.0),
        ("reciprocal", -0.0, -INF),
        ("signbit", -NAN, float(np.signbit(-NAN))),
    ],
)
def test_functions_at_special_values(name, x, wanted):
    assert same(getattr(cnp, name)(np.float32(x)), wanted)


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        (1.0, NAN, 1.0),
        (NAN, 0.0, 1.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (2.0, INF, INF),
        (0.5, INF, 0.0),
        (0.0, -1.0, INF),
        (-0.0, -1.0, -INF),
        (-0.0, 3.0, -0.0),
        (-INF, 3.0, -INF),
        (-8.0, 0.5, NAN),
        (-2.0, 3.0, -8.0),
    ],
)
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_powers_of_special_values(x, y, wanted, mode):
    power = cv.jit(cnp.power) if mode == "compiled" else cnp.power
    assert same(power(np.float32(x), np.float32(y)), wanted)


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [(INF, NAN, INF), (NAN, -INF, INF), (0.0, 0.0, 0.0), (1e30, 1e30, 2**0.5 * 1e30)],
)
def test_hypot_of_special_values(x, y, wanted):
    for fun in (cnp.hypot, cv.jit(cnp.hypot)):
        assert math.isclose(
            float(fun(np.float32(x), np.float32(y))), wanted, rel_tol=1e-6
        )


def test_derivatives_are_finite_where_formulas_divide_by_zero():
    gradient = cv.grad(cnp.hypot, argnums=(0, 1))
    assert [float(g) for g in gradient(0.0, 0.0)] == [0.0, 0.0]
    gradient = cv.grad(cnp.logaddexp, argnums=(0, 1))
    assert [float(g) for g in gradient(-INF, -INF)] == [0.5, 0.5]
    gradient = cv.grad(cnp.logaddexp2, argnums=(0, 1))
    assert [float(g) for g in gradient(3.0, 3.0)] == [0.5, 0.5]
    assert float(cv.grad(cnp.sinc)(0.0)) == 0.0


def test_sinc_has_its_second_derivative_at_zero_too():
    second = cv.grad(cv.grad(cnp.sinc))(0.0)
    assert math.isclose(float(second), -(math.pi**2) / 3, rel_tol=1e-5)


@pytest.mark.parametrize("z", [0, 1, -1, 1j, 2 - 3j, -0.5 + 0.1j])
def test_complex_logaddexp_is_a_principal_logarithm(z):
    wanted = np.log(np.exp(np.complex128(z)) + np.exp(1j))
    got = complex(cnp.logaddexp(np.complex64(z), np.complex64(1j)))
    assert abs(got - wanted) < 1e-5
    assert (
        abs(complex(cnp.logaddexp(np.complex64(z + 2j * math.pi), 1j)) - wanted) < 1e-5
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_frexp_and_ldexp_undo_each_other_over_the_whole_range(dtype):
    info = np.finfo(dtype)
    x = np.array([info.tiny, 1e-3, 0.5, 1.0, 3.0, info.max, -info.max], dtype)
    for split, join in ((cnp.frexp, cnp.ldexp), (cv.jit(cnp.frexp), cv.jit(cnp.ldexp))):
        mantissa, exponent = split(x)
        wanted, powers = np.frexp(x)
        np.testing.assert_array_equal(np.asarray(exponent), powers)
        np.testing.assert_array_equal(np.asarray(mantissa), wanted)
        np.testing.assert_array_equal(np.asarray(join(mantissa, exponent)), x)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("n", [-5000, -140, -20, 0, 7, 39, 200, 5000])
def test_ldexp_takes_numbers_from_end_to_end(dtype, n):
    x = np.array([0.0, 1.0, -3.0, 2.0**-14, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        wanted = np.ldexp(x, n)
    wanted = np.where(np.abs(wanted) < np.finfo(dtype).tiny, 0, wanted)
    for fun in (cnp.ldexp, cv.jit(cnp.ldexp)):
        got = np.asarray(fun(x, n))
        got = np.where(np.abs(got) < np.finfo(dtype).tiny, 0, got)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 30, 130, -17, 300, -300, 1000, 2500, 2**31 - 1])
def test_zeros_and_infinities_times_a_large_known_power_are_not_nan(dtype, n):
    x = np.array([0.0, -0.0, 1.0, -0.1336, 3.5, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"), cv.enable_x64(dtype == "float64"):
        wanted = np.ldexp(x, n)
        found = np.asarray(cv.jit(lambda x: cnp.ldexp(x, n))(x))
        np.testing.assert_array_equal(cnp.ldexp(x, n), wanted)
    tiny = np.abs(wanted) < np.finfo(dtype).tiny  # they may be zero
    np.testing.assert_array_equal(found[~tiny], wanted[~tiny])
    assert np.all(np.abs(found[tiny]) < np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_spacing_is_the_distance_to_the_next_number(dtype):
    x = np.array([0.0, 1.0, -3.0, 1e-3, 100.0, 6e4]).astype(cnp.dtype(dtype))
    wanted = np.nextafter(np.abs(x), np.asarray(np.inf, x.dtype)) - np.abs(x)
    for fun in (cnp.spacing, cv.jit(cnp.spacing)):
        np.testing.assert_array_equal(np.asarray(fun(x)), np.copysign(wanted, x))


X = np.array([-np.inf, -2, -1, -0.0, 0, 0.5, 2, np.inf, np.nan], np.float32)


@pytest.mark.parametrize(
    "y", [0.5, -0.5, 1 / 3, 0.0, 1.0, -1.0, 2.0, 3.0, 2, -3, np.inf, -np.inf, np.nan]
)
def test_powers_of_special_values_are_the_same_eagerly_and_compiled(y):
    for power in (lambda x: x**y), (lambda x: y**x):
        eager, compiled = np.asarray(power(cnp.array(X))), np.asarray(cv.jit(power)(X))
        np.testing.assert_allclose(eager, compiled, rtol=1e-6)
        there = ~np.isnan(eager)
        signs = [np.signbit(z)[there] for z in (eager, compiled)]
        np.testing.assert_array_equal(*signs)


def test_complex_powers_of_infinity_are_the_same_eagerly_and_compiled():
    bases = np.array([np.inf, -np.inf, 0, np.nan, 2], np.complex64)
    exponents = np.array([1 + 1j, -1 - 1j, 2.5, np.inf], np.complex64)[:, None]
    for power in cnp.power, cnp.float_power:
        eager, compiled = power(bases, exponents), cv.jit(power)(bases, exponents)
        np.testing.assert_array_equal(eager, compiled)


def test_the_power_one_half_of_minus_infinity_is_infinite_and_of_minus_zero_is_zero():
    for dtype in "float32", "float16", "bfloat16":
        x = cnp.array([-np.inf, -0.0], dtype)
        out = np.asarray(x**0.5, np.float32)
        assert out.tolist() == [np.inf, 0.0]
        assert not np.signbit(out).any()
        one = np.asarray(x[0] ** 0.5, np.float32)
        assert one.shape == ()
        assert one == np.inf


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_lcm_wraps_around_as_in_numpy(dtype):
    limits = np.iinfo(dtype)
    x = np.linspace(limits.min, limits.max, 40).astype(dtype)
    wanted = np.lcm(x[:, None], x)
    np.testing.assert_array_equal(cnp.lcm(x[:, None], x), wanted)
    np.testing.assert_array_equal(cv.jit(cnp.lcm)(x[:, None], x), wanted)


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "float_power",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "nextafter",
    "heaviside",
    "equal",
    "less",
    "logical_and",
    "bitwise_or",
    "left_shift",
    "gcd",
    "lcm",
    "ldexp",
]
DTYPES = ["bool", "uint8", "int8", "int32", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("name", BINARY)
def test_operands_of_two_dtypes_one_of_them_a_scalar_have_one_meaning(name):
    function = getattr(cnp, name)

    def outcome(run):
        try:
            out = run()
        except cv.errors.CovectorError as error:
            return type(error)
        return out.shape, out.dtype

    def lowered(*operands):
        return cv.jit(function).lower(*operands).out_info

    for one in DTYPES:
        for other in DTYPES:
            x, y = cnp.ones(3, one), cnp.ones((), other)
            for operands in (x, y), (y, x):
                eager = outcome(lambda operands=operands: function(*operands))
                staged = outcome(lambda operands=operands: lowered(*operands))
                assert eager == staged, (one, other)


@pytest.mark.parametrize(
    ("power", "x"),
    [
        (lambda b: 2.0**b, cnp.ones(3, "complex64")),
        (lambda b: cnp.float_power(-1, b), cnp.ones(3, "complex64")),
        (lambda a: cv.lax.pow(a, cnp.array(2, "int32")), cnp.ones(3)),
        (lambda a: cv.lax.pow(a, cnp.array([2, 3], "int32")), cnp.ones(())),
        (lambda a: cv.lax.pow(a, cnp.array([2, 3], "int8")), cnp.ones((), "complex64")),
        (lambda n: cv.lax.pow(cnp.float32(3), n), cnp.array([2, 3], "uint8")),
    ],
)
def test_a_power_of_two_dtypes_compiles_where_one_is_a_scalar(power, x):
    np.testing.assert_allclose(cv.jit(power)(x), power(x), rtol=1e-6)
    if x.dtype == np.float32:
        slope = cv.grad(lambda x: power(x).sum())
        np.testing.assert_allclose(cv.jit(slope)(x), slope(x))


def test_the_sign_of_minus_zero_is_zero_whatever_works_it_out():
    for dtype in "float16", "bfloat16", "float32", "complex64":
        x = cnp.asarray([-0.0, 0.0, -3.0], dtype)
        for found in cnp.sign(x), cv.jit(cnp.sign)(x), cv.lax.sign(x):
            signs = np.signbit(np.asarray(found.real, np.float32))
            assert signs.tolist() == [0, 0, 1]


def test_an_array_and_bounds_of_three_dtypes_are_brought_to_one_at_once():
    x, low = np.array([2**32 - 1], np.uint32), np.array([0], np.int32)
    high = np.array([5e9], np.float32)
    for clip in cnp.clip, cv.jit(cnp.clip):
        found = clip(x, low, high)
        assert found.dtype == np.float32
        assert found.tolist() == [2**32]


def test_the_slope_of_a_scaled_bessel_function_at_a_subnormal_number_is_one_half():
    slope = cv.grad(cv.lax.bessel_i1e)
    for x in np.array([0, 1e-40, -1e-40, 1e-30], np.float32):
        for found in slope(x), cv.jit(slope)(x):
            np.testing.assert_allclose(found, 0.5, rtol=1e-6)


def test_random_keys_are_close_where_they_are_equal():
    keys = cv.random.split(cv.random.key(0), 3)
    assert cnp.isclose(keys, keys[0]).tolist() == [True, False, False]
    assert cnp.allclose(keys, keys)
