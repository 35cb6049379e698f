"""How operands meet: dtypes, shapes, numbers, and what is no operand."""

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import (
    DTypeError,
    IntegerOverflow,
    TypeMismatch,
    TypePromotionError,
)
from covector.numpy import promote


def test_numbers_take_the_dtype_of_what_they_meet():
    for dtype in ("int8", "bfloat16", "float16", "complex64"):
        x = cnp.ones(2, dtype)
        assert (x * 2).type == x.type
        assert (2 + x).type == x.type
    assert (cnp.ones(2, "int8") * 2.5).dtype == np.float32
    assert (cnp.ones(2, "bool") + 2).dtype == np.int32
    assert (cnp.ones(2, "float32") + 1j).dtype == np.complex64


def test_zeros_of_both_signs_and_equal_numbers_of_other_types_are_kept_apart():
    x = cnp.ones(1)
    assert np.signbit((x * -0.0).item())
    assert not np.signbit((x * 0.0).item())
    assert np.signbit((x / -np.inf).item())
    i = cnp.ones(1, "int32")
    assert (i * 1).dtype == np.int32
    assert (i * 1.0).dtype == np.float32
    assert (i * True).dtype == np.int32
    z = x.astype("complex64")
    assert np.signbit(cnp.where(False, z, complex(0.0, -0.0)).imag.item())
    assert not np.signbit(cnp.where(False, z, complex(0.0, 0.0)).imag.item())


def test_arrays_of_two_dtypes_meet_in_a_third():
    x, y = cnp.ones(2, "bfloat16"), cnp.ones(2, "float16")
    assert (x + y).dtype == np.float32
    assert (x + y.astype("int32")).dtype == np.dtype(ml_dtypes.bfloat16)
    assert cnp.add(np.int8(1), np.uint8(1)).dtype == np.int16


def test_integers_beside_floats_are_divided_in_floating_point():
    assert (cnp.arange(3) / 2).tolist() == [0, 0.5, 1]
    assert (2 / cnp.arange(1, 3)).tolist() == [2, 1]
    assert (cnp.arange(3) / 2).weak_type is False
    assert cnp.true_divide(True, True).dtype == np.float32


def test_integer_exponents_stay_with_the_program():
    program = cv.make_jaxpr(lambda x: x**3 + x**-1)(cnp.ones(2))
    assert str(program).count("integer_pow") == 2
    assert float(cv.grad(lambda x: x**2)(0.0)) == 0.0
    assert float(cv.grad(lambda x: x**0)(0.0)) == 0.0
    assert (cnp.ones(2, "bool") ** 2).dtype == np.int32
    assert (2 ** cnp.arange(3)).tolist() == [1, 2, 4]
    assert float(cnp.power(2.0, 0.5)) == pytest.approx(2**0.5)


def test_what_python_numbers_make_is_known_under_jit():
    @cv.jit
    def padded(x):
        k = cnp.minimum(cnp.maximum(cnp.floor_divide(7, 3), 1), x.shape[0] + 1)
        return cnp.concatenate([x, cnp.zeros(k)]), cnp.arange(k * 2 % 7)

    out, counted = padded(cnp.ones(3))
    assert out.shape == (5,)
    assert counted.tolist() == [0, 1, 2, 3]
    known = cv.jit(lambda x: x.reshape(cnp.maximum(x.size // 2, 1), -1))(cnp.arange(6))
    assert known.shape == (3, 2)
    lengths = cv.jit(lambda x: cnp.zeros(cnp.where(x.ndim > 1, 2, x.size)))
    assert lengths(cnp.ones(3)).shape == (3,)


def test_ranks_are_promoted_as_the_option_says():
    x, y = cnp.ones((2, 3)), cnp.ones(3)
    with cv.options.override(numpy_rank_promotion="raise"):
        assert (x + 1).shape == (2, 3)
        with pytest.raises(
            TypeMismatch, match=r"add would promote ranks: operands are"
        ):
            x + y
    with (
        cv.options.override(numpy_rank_promotion="warn"),
        pytest.warns(UserWarning, match=r"Add the axes with x\[None\]"),
    ):
        x + y


def test_dtypes_are_promoted_as_the_option_says():
    with cv.options.override(numpy_dtype_promotion="strict"):
        assert (cnp.ones(2) * 2).dtype == np.float32
        with pytest.raises(TypePromotionError, match="under strict promotion"):
            cnp.ones(2) + cnp.arange(2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.add([1], 2),
            DTypeError,
            "add needs an array, but got a list. Python sequences are not converted",
        ),
        (lambda: cnp.sin([1.0]), DTypeError, "sin needs an array, but got a list."),
        (
            lambda: cnp.sin(None),
            DTypeError,
            "sin needs an array or a number, but got None",
        ),
        (lambda: cnp.add(1, "float32"), DTypeError, "add needs an array or a number"),
        (
            lambda: cnp.where(True, 1, (2,)),
            DTypeError,
            "where needs an array, but got a tuple",
        ),
        (lambda: cnp.clip([1], 0), DTypeError, "clip needs an array, but got a list"),
        (
            lambda: cnp.ones(2, "uint8") + 300,
            IntegerOverflow,
            "the Python integer 300 does not fit u8, which holds 0 to 255.",
        ),
        (
            lambda: cnp.maximum(cnp.ones((2, 3)), cnp.ones((3, 2))),
            TypeMismatch,
            "maximum got incompatible shapes for broadcasting: f32[2,3], f32[3,2]. "
            "Seen from the right, each axis needs one length, or 1.",
        ),
        (
            lambda: cnp.negative(True),
            DTypeError,
            "negative needs numbers, but got bool[]",
        ),
        (lambda: cnp.subtract(True, True), DTypeError, "subtract needs numbers"),
        (lambda: cnp.sign(True), DTypeError, "sign needs numbers"),
        (lambda: cnp.round(True), DTypeError, "round needs numbers, but got bool[]."),
        (
            lambda: cnp.floor_divide(1j, 2),
            DTypeError,
            "complex numbers cannot be rounded",
        ),
        (lambda: cnp.remainder(1j, 2), DTypeError, "remainder needs real numbers"),
        (
            lambda: cnp.hypot(1j, 2),
            DTypeError,
            "use their lengths: hypot(abs(x), abs(y))",
        ),
        (
            lambda: cnp.fabs(1j),
            DTypeError,
            "fabs needs real numbers, but got c64[]. Use",
        ),
        (lambda: cnp.clip(1j, 0), DTypeError, "complex numbers are not between bounds"),
        (lambda: cnp.heaviside(1j, 0), DTypeError, "heaviside needs real numbers"),
        (
            lambda: cnp.signbit(1j),
            DTypeError,
            "signbit needs real numbers, but got c64[].",
        ),
        (lambda: cnp.copysign(1j, 1), DTypeError, "copysign needs real numbers"),
        (lambda: cnp.isposinf(1j), DTypeError, "isposinf needs real numbers"),
        (lambda: cnp.modf(1j), DTypeError, "modf needs real numbers, but got c64[]."),
        (lambda: cnp.i0(1j), DTypeError, "i0 needs real numbers, but got c64[]."),
        (lambda: cnp.ldexp(1.0, 2.0), DTypeError, "ldexp needs integers as exponents"),
        (lambda: cnp.gcd(1.0, 2), DTypeError, "gcd needs integers, but got f32[]"),
        (
            lambda: cnp.packbits(cnp.ones(8)),
            DTypeError,
            "packbits needs integers or bools",
        ),
        (
            lambda: cnp.unpackbits(cnp.ones(8)),
            DTypeError,
            "unpackbits needs an array of u8",
        ),
        (
            lambda: cnp.packbits(cnp.ones(8, bool), bitorder="x"),
            ValueError,
            "packbits: bitorder must be 'big' or 'little', but got 'x'.",
        ),
        (lambda: cnp.where(True, 1), ValueError, "one of the values is None"),
        (
            lambda: cnp.where(True, 1, 2, size=3),
            ValueError,
            "only with a condition alone",
        ),
        (lambda: cnp.select([], []), ValueError, "at least one, but got 0 and 0."),
        (lambda: cnp.select([np.ones(1)], [1]), DTypeError, "select needs bools"),
        (
            lambda: cnp.piecewise(cnp.ones(2), [True], [1, 2, 3]),
            ValueError,
            "piecewise has 1 condition, and so needs 1 function, or 2",
        ),
        (
            lambda: cnp.round(1.0, 0, cnp.ones(1)),
            TypeError,
            "round has no place to write to",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_operands_are_spread_in_one_operation():
    program = cv.make_jaxpr(lambda x, y: x * y)(cnp.ones((2, 1, 3)), cnp.ones((4, 1)))
    names = [e.primitive.name for e in program.eqns]
    assert names.count("broadcast_in_dim") == 2
    assert cv.make_jaxpr(lambda x: x * 2)(cnp.ones(3)).eqns[0].primitive.name == "mul"
    x = promote.broadcast_to(cnp.ones((1, 3)), (2, 3))
    assert x.shape == (2, 3)
