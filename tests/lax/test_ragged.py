"""Ragged and scaled products: parity with jax, infinities, derivatives, words."""

import ml_dtypes
import numpy as np
import pytest

import covector
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.lax import ragged as lax

jax = pytest.importorskip("jax")

RNG = np.random.default_rng(0)
PLAIN = (((1,), (1,)), ((), ()))


def x(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def agree(ours, theirs, rtol=1e-5):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(
        ours.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize(
    "sizes", [[1, 2, 1], [1, 0, 2], [4, 0, 0], [0, 0, 0], [3, 3, 3]]
)
def test_each_group_of_rows_has_its_own_matrix(sizes):
    args = x(4, 3), x(3, 3, 5), np.array(sizes, np.int32)
    theirs = jax.lax.ragged_dot(*args)
    agree(lax.ragged_dot(*args), theirs)
    agree(covector.jit(lax.ragged_dot)(*args), theirs)


BATCHED = (((2,), (2,)), ((0,), (1,)))
SUM_PER_GROUP = (((1,), (0,)), ((0,), (1,)))


@pytest.mark.parametrize(
    ("shapes", "numbers", "axes", "sizes"),
    [
        (((4, 3), (2, 3, 5)), PLAIN, ([0], [0]), [1, 3]),
        (((2, 4, 3), (2, 2, 3, 5)), BATCHED, ([1], [0]), [1, 2]),
        (((2, 4, 3), (2, 2, 3, 5)), BATCHED, ([1], [0]), [[1, 2], [0, 3]]),
        (
            ((2, 4, 3), (2, 3, 5)),
            (((2,), (1,)), ((), ())),
            ([1], [0]),
            [[1, 2], [0, 3]],
        ),
        (((4, 3), (4, 5)), (((0,), (0,)), ((), ())), ([0], []), [1, 2]),
        (((2, 4, 3), (4, 2, 5)), SUM_PER_GROUP, ([1], []), [[1, 2], [3, 1]]),
        (((4, 2, 3), (4, 3, 2)), (((2,), (1,)), ((0,), (0,))), ([0], []), [1, 2]),
    ],
)
def test_ragged_dot_general(shapes, numbers, axes, sizes):
    args = *[x(*shape) for shape in shapes], np.array(sizes, np.int32)
    theirs = jax.lax.ragged_dot_general(
        *args, jax.lax.RaggedDotDimensionNumbers(numbers, *axes)
    )
    own = lax.RaggedDotDimensionNumbers(numbers, *axes)
    agree(lax.ragged_dot_general(*args, own), theirs)


def test_the_result_may_have_another_dtype():
    args = x(4, 3, dtype=ml_dtypes.bfloat16), x(2, 3, 5, dtype=ml_dtypes.bfloat16)
    sizes = np.array([2, 1], np.int32)
    theirs = jax.lax.ragged_dot(*args, sizes, preferred_element_type=np.float32)
    agree(lax.ragged_dot(*args, sizes, preferred_element_type=np.float32), theirs)


def test_an_infinity_in_one_group_leaves_the_others_alone():
    w = np.ones((2, 1, 1), np.float32)
    w[0] = np.inf
    got = lax.ragged_dot(np.ones((2, 1), np.float32), w, np.array([1, 1]))
    assert got.tolist() == [[np.inf], [1.0]]


def test_a_part_of_the_groups_gives_zeros_for_the_others():
    rows, w, sizes = x(6, 3), x(3, 3, 2), np.array([2, 1, 3])
    whole = np.array(lax.ragged_dot(rows, w, sizes))
    part = lax.ragged_dot(rows, w[1:2], sizes, group_offset=np.array([1]))
    whole[:2] = whole[3:] = 0
    np.testing.assert_allclose(part, whole, rtol=1e-6)


def test_ragged_products_have_derivatives():
    rows, w, sizes = x(4, 3), x(2, 3, 5), np.array([1, 2], np.int32)

    def ours(rows, w):
        return (lax.ragged_dot(rows, w, sizes) ** 2).sum()

    def theirs(rows, w):
        return (jax.lax.ragged_dot(rows, w, sizes) ** 2).sum()

    for a, b in zip(
        covector.grad(ours, (0, 1))(rows, w),
        jax.grad(theirs, (0, 1))(rows, w),
        strict=True,
    ):
        agree(a, b)


@pytest.mark.parametrize("preferred", [None, np.float32])
@pytest.mark.parametrize("scales", [(2, 4), (2, None), (None, 1), (4, 4)])
def test_scaled_dot(scales, preferred):
    left = x(2, 8, dtype=ml_dtypes.float8_e4m3fn)
    right = x(8, 3, dtype=ml_dtypes.float8_e4m3fn)
    powers = [n and np.exp2(RNG.integers(-2, 3, (3, n))) for n in scales]
    narrow = ml_dtypes.float8_e8m0fnu
    given = {
        "lhs_scale": scales[0] and powers[0][:2].astype(narrow),
        "rhs_scale": scales[1] and powers[1].T.astype(narrow),
        "preferred_element_type": preferred,
    }
    theirs = jax.lax.scaled_dot(left, right, **given)
    agree(lax.scaled_dot(left, right, **given), theirs, 1e-5 if preferred else 1e-2)


def test_scaled_dot_of_batches():
    # Small integers: the peer multiplies in bfloat16, whatever is preferred.
    left, right = (np.rint(4 * x(*shape)) for shape in ((2, 3, 4), (2, 4, 5)))
    scale = np.exp2(np.arange(12.0) % 4).reshape(2, 3, 2)
    args = {"lhs_scale": scale.astype(np.float32), "preferred_element_type": np.float32}
    theirs = jax.lax.scaled_dot(left, right, **args)
    agree(lax.scaled_dot(left, right, **args), theirs)


# -- words -----------------------------------------------------------------------------


def refused(error, fun, *args, **kwargs):
    with pytest.raises(error) as caught:
        fun(*args, **kwargs)
    return str(caught.value)


def general(numbers, sizes=(1, 2), **kwargs):
    return lax.ragged_dot_general(
        x(4, 3), x(2, 3, 5), np.array(sizes), numbers, **kwargs
    )


NUMBERS = lax.RaggedDotDimensionNumbers(PLAIN, (0,), (0,))


def test_sizes_that_are_no_integers_are_refused():
    assert refused(DTypeError, general, NUMBERS, (1.0, 2.0)) == (
        "ragged_dot_general needs integers as group sizes, but got f32[2]."
    )


def test_two_ragged_axes_are_refused():
    words = refused(
        ArgumentError, general, NUMBERS._replace(lhs_ragged_dimensions=(0, 1))
    )
    assert words == "ragged_dot_general needs one ragged axis of lhs, but got (0, 1)."


def test_group_axes_that_do_not_fit_are_refused():
    words = refused(ArgumentError, general, NUMBERS._replace(rhs_group_dimensions=()))
    assert words == (
        "ragged_dot_general needs one group axis of rhs where the ragged axis of lhs "
        "is free, and none where it is not, but got ()."
    )


def test_an_offset_where_rhs_has_no_groups_is_refused():
    contracted = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    words = refused(ArgumentError, general, contracted, group_offset=np.array([0]))
    assert "takes group_offset only where the ragged axis of lhs is free" in words


def test_another_number_of_sizes_than_of_groups_is_refused():
    assert refused(TypeMismatch, general, NUMBERS, (1, 2, 1)) == (
        "ragged_dot_general got 3 group sizes, but rhs has 2 groups. group_offset says "
        "which of them it has."
    )


def test_sizes_of_another_shape_are_refused():
    assert refused(TypeMismatch, general, NUMBERS, ((1, 2), (1, 2))) == (
        "ragged_dot_general of f32[4,3], ragged along axis 0, needs group sizes of "
        "shape (2,) or (2,), but got i32[2,2]."
    )


def test_scales_that_do_not_fit_are_refused():
    words = refused(
        TypeMismatch, lax.scaled_dot, x(2, 8), x(8, 3), lhs_scale=np.ones((2, 3))
    )
    assert words == (
        "scaled_dot of an operand bf16[2,8] needs a scale of the same shape, but along "
        "the contracting axes (1,) of a length that divides its own; it got bf16[2,3]."
    )


def test_scaled_products_of_more_axes_need_dimension_numbers():
    words = refused(ArgumentError, lax.scaled_dot, x(2), x(2))
    assert words == (
        "scaled_dot of f32[2] and f32[2] needs dimension_numbers: there are defaults "
        "for matrices and batches of matrices."
    )
