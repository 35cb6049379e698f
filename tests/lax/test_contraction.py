"""Products by their public names: promotion, parity with jax, words."""

import ml_dtypes
import numpy as np
import pytest

import covector
from covector.errors import (
    ArgumentError,
    TruncatedDTypeWarning,
    TypeMismatch,
    TypePromotionError,
)
from covector.lax import contraction as lax

jax = pytest.importorskip("jax")

MATMUL = (((1,), (0,)), ((), ()))
RNG = np.random.default_rng(0)


def x(*shape, dtype=np.float32):
    return (RNG.normal(size=shape) * 4).astype(dtype)


def agrees(name, *args, **kwargs):
    """Ours and theirs have one shape, dtype and value, eagerly and compiled."""
    theirs = np.asarray(getattr(jax.lax, name)(*args, **kwargs))
    fun = lambda *xs: getattr(lax, name)(*xs, **kwargs)  # noqa: E731
    for ours in (fun(*args), covector.jit(fun)(*args)):
        got = np.asarray(ours)
        assert (got.shape, got.dtype) == (theirs.shape, theirs.dtype)
        wide = [v.astype(np.complex128) for v in (got, theirs)]
        narrow = got.dtype in (ml_dtypes.bfloat16, np.float16)
        np.testing.assert_allclose(*wide, rtol=1e-2 if narrow else 1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("left", "right"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4))]
)
def test_dot_multiplies_vectors_and_matrices(left, right):
    agrees("dot", x(*left), x(*right))


@pytest.mark.parametrize(
    "numbers",
    [
        (((1,), (0,)), ((), ())),
        (((0,), (1,)), ((2,), (2,))),
        (((1, 0), (0, 1)), ((), ())),
        (((), ()), ((0, 1, 2), (1, 0, 2))),
    ],
)
def test_dot_general_contracts_any_axes(numbers):
    agrees("dot_general", x(3, 3, 3), x(3, 3, 3), dimension_numbers=numbers)


@pytest.mark.parametrize(
    ("left", "right", "preferred"),
    [
        (np.float32, ml_dtypes.bfloat16, None),
        (np.float32, np.int32, None),
        (np.int8, np.int8, np.int32),
        (np.uint8, np.int8, np.int32),
        (np.int8, np.int8, np.float32),
        (np.float32, np.float32, ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32, np.complex64),
        (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32),
        (np.bool_, np.bool_, None),
        (np.bool_, np.bool_, np.int32),
    ],
)
def test_dot_general_takes_mixed_dtypes(left, right, preferred):
    operands = np.abs(x(2, 3, dtype=left)), np.abs(x(3, 4, dtype=right))
    agrees(
        "dot_general",
        *operands,
        dimension_numbers=MATMUL,
        preferred_element_type=preferred,
    )


def test_batch_matmul_multiplies_stacks_of_matrices():
    agrees("batch_matmul", x(2, 5, 3, 4), x(2, 5, 4, 1))


@pytest.mark.parametrize(
    "precision", ["high", ("highest", "default"), "F32_F32_F32", "BF16_BF16_F32_X3"]
)
def test_dot_takes_precisions(precision):
    agrees("dot", x(2, 3), x(3, 4), precision=precision)


def test_a_python_number_takes_the_dtype_of_the_other_operand():
    got = lax.dot_general(2.0, x(3, dtype=ml_dtypes.bfloat16), (((), ()), ((), ())))
    assert str(got.type) == "bf16[3]"


def test_64_bits_are_preferred_only_where_they_are_on():
    with pytest.warns(TruncatedDTypeWarning):
        got = lax.dot(x(3), x(3), preferred_element_type="float64")
    assert str(got.type) == "f32[]"


def test_narrow_floats_of_two_kinds_need_a_dtype_of_the_result():
    operands = x(3, dtype=ml_dtypes.float8_e4m3fn), x(3, dtype=ml_dtypes.float8_e5m2)
    with pytest.raises(TypePromotionError):
        lax.dot(*operands)


def test_dot_of_more_axes_is_refused():
    with pytest.raises(TypeMismatch) as error:
        lax.dot(x(2, 2, 3), x(3))
    assert str(error.value) == (
        "dot multiplies vectors and matrices, but got f32[2,2,3] and f32[3]. Pass "
        "dimension_numbers, or use covector.numpy.matmul."
    )


def test_dimension_numbers_of_another_form_are_refused():
    with pytest.raises(
        ArgumentError, match=r"of the form .*but got \(1, 0\).*product of mat"
    ):
        lax.dot_general(x(2, 3), x(3, 4), (1, 0))


def test_batch_matmul_of_two_ranks_is_refused():
    with pytest.raises(TypeMismatch, match="one rank, at least 2, but got"):
        lax.batch_matmul(x(2, 3), x(1, 3, 4))


def test_an_unknown_precision_is_refused():
    with pytest.raises(ArgumentError, match="dot_general got the precision 'exact'"):
        lax.dot(x(3), x(3), precision="exact")
