"""The elementwise functions of ``lax``: operands that go together, kinks, and words."""

import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector import lax, options
from covector.core.convert import as_array
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    DTypeError,
    NotDifferentiable,
    SettingError,
    TypeMismatch,
)
from covector.lax import special
from covector.operations.accuracy import AccuracyMode, Tolerance
from covector.operations.identities import copy
from covector.operations.selection import select_n
from covector.operations.transcendental import Exp, sin

X = as_array(np.array([0.5, -1.25, 2.0], np.float32))
INTEGERS = as_array(np.array([1, 2, 3], np.int32))


# -- operands --------------------------------------------------------------------------


def test_a_python_number_takes_the_type_of_the_array():
    assert lax.add(X, 1).type is X.type
    assert lax.add(2.0, X.astype("float16")).dtype == np.float16
    assert lax.max(INTEGERS.astype("uint8"), 2).dtype == np.uint8
    assert lax.pow(X, 2).tolist() == [0.25, 1.5625, 4.0]


def test_python_numbers_alone_stay_weak():
    assert lax.add(1, 2).weak_type
    assert lax.sin(0.0).weak_type
    assert not lax.eq(1.0, 2.0).weak_type


def test_a_python_number_does_not_lose_its_fraction():
    with pytest.raises(TypeMismatch, match=r"add needs operands .* i32\[3\], f32\[\]"):
        lax.add(INTEGERS, 1.5)


def test_element_types_are_not_promoted():
    with pytest.raises(TypeMismatch, match=r"mul needs .* but got f32\[3\], i32\[3\]"):
        lax.mul(X, INTEGERS)


def test_axes_of_length_one_are_repeated_and_ranks_are_not():
    assert lax.add(X[:, None], X[None]).shape == (3, 3)
    with pytest.raises(TypeMismatch, match=r"add .* f32\[3\], f32\[1,3\]"):
        lax.add(X, X[None])


def test_the_result_of_mul_can_be_wider():
    out = lax.mul(cnp.int8(100), cnp.int8(100), out_dtype="int32")
    assert (out.dtype, out.tolist()) == (np.int32, 10000)


def test_reals_have_conjugates_too():
    assert lax.conj(X).dtype == np.complex64


# -- kinks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        (lax.abs, 0.0, 0.0),
        (lax.sqrt, 0.0, np.inf),
        (lambda x: lax.max(x, 1.0), 1.0, 0.5),
        (lambda x: lax.min(1.0, x), 1.0, 0.5),
        (lambda x: lax.max(x, np.float32(np.nan)), 1.0, 0.0),
        (lambda x: lax.pow(x, 0.0), 0.0, 0.0),
        (lambda x: lax.pow(x, 1.0), 0.0, 1.0),
        (lambda y: lax.pow(0.0, y), 1.0, 0.0),
        (lambda x: lax.integer_pow(x, 0), 0.0, 0.0),
        (lambda x: lax.clamp(0.0, x, 1.0), 1.0, 0.0),
        (special.bessel_i1e, 0.0, 0.5),
        (lambda x: special.igamma(1.0, x), 0.0, 1.0),
        (lambda x: special.igamma(0.5, x), 0.0, np.inf),
        (lambda x: special.betainc(1.0, 3.0, x), 0.0, 3.0),
        (lambda x: special.betainc(2.0, 1.0, x), 1.0, 2.0),
    ],
)
def test_the_derivative_at_a_kink(function, at, slope):
    assert covector.grad(function)(at).tolist() == slope


def test_the_derivative_of_a_power_can_be_taken_again_at_zero():
    second = covector.grad(covector.grad(lambda x: lax.pow(x, 0.0)))
    assert second(0.0).tolist() == 0.0


def test_the_absolute_value_of_a_complex_number_has_derivative_zero_at_zero():
    assert covector.grad(lax.abs)(as_array(0j)).tolist() == 0


def test_an_operand_that_does_not_move_needs_no_slope():
    """``max(x, 0)`` with x alone moving: its one weight is all that is computed."""
    trace = stage(
        lambda x: covector.jvp(lambda x: lax.max(x, 0.0), (x,), (x,)), [X.type]
    )
    names = [e.op.name for e in trace.jaxpr.equations]
    assert names.count("eq") == names.count("gt") == 1


# -- what is not differentiated --------------------------------------------------------


def test_stop_gradient_takes_trees_and_leaves_what_cannot_move():
    tree = {"x": X, "n": INTEGERS, "name": "w"}
    stopped = lax.stop_gradient(tree)
    assert stopped["n"] is INTEGERS
    assert stopped["name"] == "w"
    held = covector.grad(lambda x: cnp.sum(lax.stop_gradient({"x": x})["x"]))
    assert held(X).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: lax.nextafter(x, 1.0), r"nextafter of f32\[\] has no derivative"),
        (lambda m: special.polygamma(m, 1.0), r"polygamma of .* by its order m"),
        (lambda s: special.zeta(s, 1.0), r"zeta of .* by its exponent"),
    ],
)
def test_where_there_is_no_derivative_it_says_so(function, words):
    with pytest.raises(NotDifferentiable, match=words):
        covector.grad(function)(2.0)


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: lax.sin(INTEGERS),
            DTypeError,
            r"sin needs floating-point or complex numbers, but got i32\[3\]. Convert",
        ),
        (lambda: lax.neg(True), DTypeError, r"neg needs numbers, but got bool\[\]"),
        (lambda: lax.floor(1j), DTypeError, r"floor needs floating-point numbers"),
        (lambda: lax.real(X), DTypeError, r"real needs complex numbers"),
        (lambda: lax.shift_left(X, X), DTypeError, r"shift_left needs integers"),
        (lambda: lax.bitwise_and(X, X), DTypeError, r"and needs integers or bools"),
        (
            lambda: lax.complex(INTEGERS, INTEGERS),
            DTypeError,
            "complex needs real and imaginary parts in float32 or float64",
        ),
        (
            lambda: lax.integer_pow(INTEGERS, -2),
            DTypeError,
            r"integer_pow of i32\[3\] needs an exponent that is not negative, .* -2",
        ),
        (
            lambda: lax.select_n(X, X, X),
            DTypeError,
            r"select_n chooses by a bool .* or an int32, but got f32\[3\]",
        ),
        (
            lambda: lax.select_n(True, X, X, X),
            TypeMismatch,
            r"select_n by bool\[\] needs two cases, but got f32\[3\], f32\[3\], f32",
        ),
        (
            lambda: lax.select_n(True, X, INTEGERS),
            TypeMismatch,
            r"select_n needs operands of one shape and dtype",
        ),
        (
            lambda: lax.select_n(X[:2] > 0, X, X),
            TypeMismatch,
            r"select_n needs .* but got bool\[2\], f32\[3\], f32\[3\]",
        ),
        (
            lambda: lax.bitcast_convert_type(X > 0, "uint8"),
            DTypeError,
            r"bitcast_convert_type is for integers and floats, but got bool\[3\] for",
        ),
        (
            lambda: lax.bitcast_convert_type(X.astype("int8"), "int32"),
            TypeMismatch,
            r"of i8\[3\] to i32 joins 4 elements along the last axis",
        ),
        (
            lambda: lax.reduce_precision(X, 3, "a"),
            ArgumentError,
            "reduce_precision: mantissa_bits must be an integer, but got 'a' of type",
        ),
        (
            lambda: lax.integer_pow(X, 2.5),
            ArgumentError,
            "integer_pow: y must be an integer, but got 2.5 of type float",
        ),
        (
            lambda: lax.reduce_precision(X, 0, 3),
            TypeMismatch,
            r"reduce_precision of f32\[3\] needs at least 1 exponent bit .* 0 and 3",
        ),
        (Tolerance, SettingError, "a tolerance needs numbers"),
        (lambda: Tolerance(rtol=-1.0), SettingError, "a tolerance needs numbers"),
        (
            lambda: lax.exp(X, accuracy="highest"),
            SettingError,
            "exp needs for its accuracy an AccuracyMode, a Tolerance or None",
        ),
    ],
)
def test_errors_say_what_was_wanted(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accuracy", "text"),
    [
        (AccuracyMode.HIGHEST, "result_accuracy_mode<HIGHEST>"),
        (Tolerance(rtol=1e-5, ulps=2), "rtol = 1.000000e-05, ulps = 2"),
    ],
)
def test_an_accuracy_is_asked_for(accuracy, text):
    program = covector.jit(lambda x: lax.exp(x, accuracy=accuracy))
    assert text in program.lower(X).as_text()
    np.testing.assert_allclose(program(X), np.exp(X), rtol=1e-6)


@pytest.mark.parametrize("accuracy", [None, AccuracyMode.DEFAULT])
def test_the_usual_accuracy_is_not_asked_for(accuracy):
    program = covector.jit(lambda x: lax.exp(x, accuracy=accuracy))
    assert "accuracy" not in program.lower(X).as_text()


def test_more_cases_than_numpy_chooses_among():
    which = as_array(np.arange(40, dtype=np.int32))
    out = select_n(which, *[as_array(np.float32(k)) for k in range(36)])
    assert out.tolist() == [*range(36), 35, 35, 35, 35]


def test_integer_powers_of_any_exponent_wrap_around():
    """XLA's own looks at six bits of the exponent."""
    x = as_array(np.array([3, 2, -1], np.int32))
    y = as_array(np.array([100, 64, 77], np.int32))
    wanted = [pow(3, 100, 2**32) - 2**32 * (pow(3, 100, 2**32) >= 2**31), 0, -1]
    assert lax.pow(x, y).tolist() == wanted
    assert covector.jit(lax.pow)(x, y).tolist() == wanted


def test_a_half_precision_logistic_does_not_vanish():
    out = covector.jit(lax.logistic)(cnp.float16(-12.0))
    assert float(out) == pytest.approx(1 / (1 + np.exp(12)), rel=1e-3)


def test_a_copy_is_another_array():
    y = copy(X)
    assert y.type is X.type
    assert not np.shares_memory(np.asarray(y), np.asarray(X))


def test_an_operation_keeps_its_parameters():
    assert Exp() is Exp(None)
    assert Exp(AccuracyMode.HIGHEST) is not Exp()
    assert (
        stage(lambda x: [sin(x)], [ArrayType((), X.dtype)]).jaxpr.equations[0].op is sin
    )


@pytest.mark.parametrize("function", [special.igamma, special.igammac])
def test_incomplete_gamma_functions_are_accurate_for_large_arguments(function):
    """Half of the distribution lies below a − 1/3, whatever a."""
    with options.override(enable_x64=True):
        a = cnp.array([1e2, 1e6, 1e10, 1e20])
        np.testing.assert_allclose(function(a, a - 1 / 3), 0.5, atol=1e-4)


def test_upper_halves_of_products_are_those_of_long_integers():
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        info = np.iinfo(dtype)
        edges = [
            info.min,
            info.min + 1,
            -1,
            0,
            1,
            7,
            info.max // 3,
            info.max - 1,
            info.max,
        ]
        x, y = (v.ravel() for v in np.meshgrid(np.array(edges).astype(dtype), edges))
        y = y.astype(dtype)
        wanted = [int(a) * int(b) >> info.bits for a, b in zip(x, y, strict=True)]
        assert lax.mulhi(x, y).tolist() == wanted, dtype
    with covector.enable_x64(True):
        x = np.array([2**63 + 5, 2**64 - 1, 12345678901234567890], "uint64")
        wanted = [int(a) * int(a) >> 64 for a in x]
        assert lax.mulhi(x, x).tolist() == wanted
    with pytest.raises(TypeError, match=r"mulhi needs integers .* got f32\[\]"):
        lax.mulhi(1.0, 2.0)


def test_the_element_type_of_what_names_one_is_that():
    for x in (np.dtype("int32"), np.int32, "int32", int, 3, cnp.zeros(2, "int32")):
        assert lax.dtype(x) == np.dtype("int32")
