"""The elementwise functions of ``lax`` compared with jax: values and derivatives."""

import numpy as np
import pytest

import covector
from covector import lax
from covector.core.convert import as_array
from covector.lax import special
from tests.public.table import elementwise_functions

jax = pytest.importorskip("jax")

INF, NAN = np.inf, np.nan
REAL = np.array(
    [0.0, 0.25, -0.5, 0.75, 1.0, -1.0, 1.5, -2.5, 3.0, 20.0, INF, -INF, NAN]
)
COMPLEX = np.array([0.5 + 0.25j, -0.5 + 2j, -1.5 - 0.75j, 2.0 - 1j, 3 + 4j, -0.25j])
Y = np.roll(REAL, 4)
INTEGERS = np.array([0, 1, -1, 7, -7, 100, 2**31 - 1, -(2**31)], np.int32)
OTHERS = np.array([3, 0, -1, 2, 2, -7, 5, 31], np.int32)

SPECIAL = {
    "igamma": ([0.5, 2.0, 5.0, 0.0], [0.25, 3.0, 4.0, 1.0]),
    "igammac": ([0.5, 2.0, 5.0, 0.0], [0.25, 3.0, 4.0, 1.0]),
    "igamma_grad_a": ([0.5, 2.0, 5.0], [0.25, 3.0, 4.0]),
    "random_gamma_grad": ([0.5, 2.0, 5.0], [0.25, 3.0, 4.0]),
    "betainc": ([0.5, 2.0, 5.0, 1.0], [2.0, 0.5, 3.0, 0.0], [0.25, 0.5, 0.75, 0.5]),
    "polygamma": ([0.0, 1.0, 2.0], [0.5, 1.5, 2.5]),
    "zeta": ([1.5, 2.0, 3.0], [0.5, 1.5, 2.5]),
}


def functions(count, kind):
    """Those of ``lax``, without identities and those that have points of their own."""
    others = {"stop_gradient", "optimization_barrier", *SPECIAL}
    return [n for n in elementwise_functions("lax", count, kind) if n not in others]


UNARY = functions(1, "f")
OF_COMPLEX = functions(1, "c")
BINARY = functions(2, "f")
OF_INTEGERS = [*functions(2, "i"), "div", "rem"]
OF_ONE_INTEGER = functions(1, "i")

#: where the derivative is another one on purpose (that of |x| is 0 at 0), or both are
#: undefined and only one of them says so
NOT_COMPARED = {
    "abs": [0.0, NAN],
    "acosh": [x for x in REAL if x < 1],
    "bessel_i1e": [NAN],
}
#: where the real part is negative, jax takes another branch of the derivative of acosh;
#: and it has 0 for the derivative of a complex sign
NOT_COMPARED_IN_COMPLEX = {"acosh", "sign"}


def check(ours, theirs, rtol=4e-6, atol=1e-30):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def derivatives(module, fun, *args):
    """The tangent of the result, along each operand alone."""
    tangents = []
    for k in range(len(args)):

        def along(x, k=k):
            return fun(*args[:k], x, *args[k + 1 :])

        ones = module.numpy.ones_like(args[k])
        tangents.append(module.jvp(along, (args[k],), (ones,))[1])
    return tangents


def both(name, *args):
    """The function in covector and in jax, and the operands for each."""
    ours = [as_array(a) for a in args]
    theirs = [jax.numpy.asarray(a) for a in args]
    room = special if name in special.__all__ else lax
    return (getattr(room, name), ours), (getattr(jax.lax, name), theirs)


@pytest.mark.parametrize("name", UNARY)
def test_values_of_one_float(name):
    (f, ours), (g, theirs) = both(name, REAL.astype(np.float32))
    check(f(*ours), g(*theirs), atol=1e-6 if name == "lgamma" else 1e-30)


@pytest.mark.parametrize("name", [n for n in UNARY if n != "is_finite"])
def test_derivatives_of_one_float(name):
    without = NOT_COMPARED.get(name, [])
    known = [x for x in REAL if not any(np.isclose(x, without, equal_nan=True))]
    x = np.array(known, np.float32)
    (f, ours), (g, theirs) = both(name, x)
    (tangent,), (wanted,) = (
        derivatives(covector, f, *ours),
        derivatives(jax, g, *theirs),
    )
    check(tangent, wanted, rtol=2e-5)


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_values_and_derivatives_of_a_complex_number(name):
    (f, ours), (g, theirs) = both(name, COMPLEX.astype(np.complex64))
    check(f(*ours), g(*theirs), rtol=2e-5)
    if name not in NOT_COMPARED_IN_COMPLEX:
        (tangent,) = derivatives(covector, f, *ours)
        (wanted,) = derivatives(jax, g, *theirs)
        check(tangent, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_values_of_two_floats(name):
    x, y = (a.ravel().astype(np.float32) for a in np.meshgrid(REAL, REAL))
    (f, ours), (g, theirs) = both(name, x, y)
    check(f(*ours), g(*theirs))


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "rem", "max", "min", "atan2"]
)
def test_derivatives_of_two_floats(name):
    xs = REAL[name == "rem" : 10]
    x, y = (a.ravel().astype(np.float32) for a in np.meshgrid(xs, xs))
    (f, ours), (g, theirs) = both(name, x, y)
    tangents, wanted = derivatives(covector, f, *ours), derivatives(jax, g, *theirs)
    for tangent, want in zip(tangents, wanted, strict=True):
        check(tangent, want)


def test_derivatives_of_powers():
    x, y = (a.ravel().astype(np.float32) for a in np.meshgrid(REAL[:9], REAL[:9]))
    known = ~((x == 0) & (y <= 0))
    (f, ours), (g, theirs) = both("pow", x[known], y[known])
    tangents, wanted = derivatives(covector, f, *ours), derivatives(jax, g, *theirs)
    for tangent, want in zip(tangents, wanted, strict=True):
        check(tangent, want, rtol=1e-5)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_values_of_two_integers(name):
    x, y = (a.ravel() for a in np.meshgrid(INTEGERS, OTHERS))
    for dtype in (np.int32, np.int8, np.uint8):
        (f, ours), (g, theirs) = both(name, x.astype(dtype), y.astype(dtype))
        check(f(*ours), g(*theirs))


@pytest.mark.parametrize("name", OF_ONE_INTEGER)
def test_values_of_one_integer(name):
    for dtype in (np.int32, np.int8, np.uint32):
        if name != "abs" or dtype != np.uint32:
            (f, ours), (g, theirs) = both(name, INTEGERS.astype(dtype))
            check(f(*ours), g(*theirs))


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 3, 5, 16])
def test_integer_powers(y):
    x = as_array(REAL[:10].astype(np.float32))
    peer = jax.numpy.asarray(x)
    check(lax.integer_pow(x, y), jax.lax.integer_pow(peer, y))
    (tangent,) = derivatives(covector, lambda x: lax.integer_pow(x, y), x)
    (wanted,) = derivatives(jax, lambda x: jax.lax.integer_pow(x, y), peer)
    check(tangent, wanted)


def test_clamping():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, NAN], np.float32)
    (f, ours), (g, theirs) = both("clamp", np.zeros_like(x), x, np.ones_like(x))
    check(f(*ours), g(*theirs))
    tangents, wanted = derivatives(covector, f, *ours), derivatives(jax, g, *theirs)
    for tangent, want in zip(tangents, wanted, strict=True):
        check(tangent, want)


def test_selecting():
    which = np.array([-1, 0, 1, 2, 7], np.int32)
    cases = [np.full(5, k, np.float32) for k in range(3)]
    (f, ours), (g, theirs) = both("select_n", which, *cases)
    check(f(*ours), g(*theirs))


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    (f, ours), (g, theirs) = both(name, *np.array(SPECIAL[name], np.float32))
    check(f(*ours), g(*theirs), rtol=2e-5)


@pytest.mark.parametrize(
    ("name", "k"), [("igamma", 0), ("igamma", 1), ("igammac", 1), ("betainc", 2)]
)
def test_derivatives_of_special_functions(name, k):
    (f, ours), (g, theirs) = both(name, *np.array(SPECIAL[name], np.float32)[:, :3])

    def along(module, fun, args):
        def of_one(x):
            return fun(*args[:k], x, *args[k + 1 :])

        return module.jvp(of_one, (args[k],), (module.numpy.ones_like(args[k]),))[1]

    check(along(covector, f, ours), along(jax, g, theirs), rtol=5e-5)


@pytest.mark.filterwarnings("ignore::covector.errors.TruncatedDTypeWarning")
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "complex64"]
)
def test_conversions(dtype):
    x = np.array([0.0, 1.7, -1.7, 300.0, -300.0, INF, NAN], np.float32)
    ours = lax.convert_element_type(as_array(x), dtype)
    with jax.enable_x64(False):
        theirs = jax.lax.convert_element_type(jax.numpy.asarray(x), ours.dtype)
    check(ours, theirs)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16"])
def test_conversions_of_bits(dtype):
    x = np.array([[0.0, 1.7], [-1.7, 300.0]], np.float32)
    (f, (ours,)), (g, (theirs,)) = both("bitcast_convert_type", x)
    ours, theirs = f(ours, dtype), g(theirs, dtype)
    assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    assert ours.shape == theirs.shape


@pytest.mark.parametrize("bits", [(5, 10), (4, 3), (8, 7), (3, 0), (8, 23)])
def test_reduced_precision(bits):
    x = np.array([0.0, 1.2345, -1e30, 1e-30, 1.0625, INF, NAN, 6.1e-5], np.float32)
    (f, (ours,)), (g, (theirs,)) = both("reduce_precision", x)
    check(f(ours, *bits), g(theirs, *bits), rtol=0)
    (tangent,) = derivatives(covector, lambda x: f(x, *bits) * 1.2345, ours)
    (wanted,) = derivatives(jax, lambda x: g(x, *bits) * 1.2345, theirs)
    check(tangent, wanted)
