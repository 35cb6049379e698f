"""Convolutions beyond the laws: the ways of a CPU, narrow dtypes, words."""

import re

import ml_dtypes
import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.operations import convolution_on_cpu
from covector.operations.conv_patches import patches
from covector.operations.convolution import ConvDimensionNumbers, ConvGeneralDilated
from tests.laws import array

F32 = dtypes.float32
NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
NCHW = ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))


def conv(numbers=NCHW, **fields):
    rank = len(numbers.lhs_spec) - 2
    ones = (1,) * rank
    given = {
        "window_strides": ones,
        "padding": ((0, 0),) * rank,
        "lhs_dilation": ones,
        "rhs_dilation": ones,
        "dimension_numbers": numbers,
    }
    return ConvGeneralDilated(**(given | fields))


def operands(left, right, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [array(rng.normal(size=s).astype(dtype)) for s in (left, right)]


# -- the ways of a CPU -----------------------------------------------------------------

UNEVEN = {
    "window_strides": (2, 1),
    "padding": ((2, -1), (0, 3)),
    "lhs_dilation": (1, 2),
    "rhs_dilation": (2, 1),
}
GROUPS = [
    (conv(**UNEVEN, feature_group_count=2), (2, 6, 7, 4), (4, 3, 2, 3)),
    (conv(**UNEVEN, feature_group_count=3), (2, 3, 7, 4), (6, 1, 2, 3)),
    (conv(NHWC, **UNEVEN, feature_group_count=4), (2, 7, 4, 4), (2, 3, 1, 8)),
]
BATCHES = [
    (conv(**UNEVEN, batch_group_count=2), (4, 3, 7, 4), (4, 3, 2, 3)),
    (conv(NHWC, **UNEVEN, batch_group_count=2), (2, 7, 4, 3), (2, 3, 3, 4)),
]
SINGLE = [
    (conv(**UNEVEN, batch_group_count=4), (4, 3, 7, 4), (4, 3, 2, 3)),
    (conv(NHWC, **UNEVEN, batch_group_count=4), (4, 7, 4, 3), (2, 3, 3, 4)),
]
PLAIN = [
    (conv(**UNEVEN), (2, 3, 7, 4), (4, 3, 2, 3)),
    (conv(NHWC, **UNEVEN), (2, 7, 4, 3), (2, 3, 3, 4)),
]


def agrees(way, op, left, right, *, dtype=np.float32, rtol=1e-5):
    x, w = operands(left, right, dtype)
    (got,) = way(op, x, w)
    wanted = op.on_host(x.host(), w.host())
    assert (got.type.shape, got.type.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(
        got.host().astype(np.complex128), wanted.astype(np.complex128), rtol, rtol
    )


def with_type(way):
    return lambda op, x, w: way(op, op.type_rule(x.type, w.type)[0], x, w)


@pytest.mark.parametrize("case", GROUPS)
def test_groups_one_by_one(case):
    agrees(convolution_on_cpu._one_by_one, *case)


@pytest.mark.parametrize("case", [*GROUPS, *PLAIN])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, ml_dtypes.bfloat16])
def test_a_product_for_each_term(case, dtype):
    rtol = 1e-2 if dtype is ml_dtypes.bfloat16 else 1e-5
    agrees(with_type(convolution_on_cpu._by_terms), *case, dtype=dtype, rtol=rtol)


@pytest.mark.parametrize("case", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, ml_dtypes.bfloat16])
def test_a_sum_for_each_position(case, dtype):
    rtol = 1e-2 if dtype is ml_dtypes.bfloat16 else 1e-5
    agrees(with_type(convolution_on_cpu._by_positions), *case, dtype=dtype, rtol=rtol)


@pytest.mark.parametrize("case", [*BATCHES, *SINGLE])
def test_groups_of_batch_entries_as_groups_of_features(case):
    agrees(convolution_on_cpu._as_groups_of_features, *case)


@pytest.mark.parametrize(
    ("op", "left", "right", "way"),
    [
        (conv(), (1, 1, 256, 256), (1, 1, 3, 3), "_by_terms"),
        (conv(), (8, 64, 28, 28), (64, 64, 3, 3), "features last"),
        (conv(), (8, 16, 28, 28), (16, 16, 1, 1), "features last"),
        (conv(), (8, 3, 28, 28), (16, 3, 3, 3), "features last"),
        (conv(NHWC), (8, 28, 28, 64), (3, 3, 64, 64), None),
        (conv(feature_group_count=64), (8, 64, 28, 28), (64, 1, 3, 3), "_by_terms"),
        (conv(feature_group_count=4), (8, 64, 28, 28), (64, 16, 3, 3), "_one_by_one"),
        (conv(feature_group_count=4), (1, 64, 4, 4), (64, 16, 3, 3), None),
        (conv(feature_group_count=128), (8, 1024, 8, 8), (1024, 8, 3, 3), None),
        (conv(batch_group_count=64), (64, 8, 30, 30), (64, 8, 28, 28), "_by_positions"),
        (
            conv(batch_group_count=4),
            (64, 8, 30, 30),
            (64, 8, 28, 28),
            "_as_groups_of_features",
        ),
    ],
)
def test_the_way_is_chosen_by_the_numbers_of_terms_and_groups(op, left, right, way):
    types = ArrayType(left, F32), ArrayType(right, F32)
    if convolution_on_cpu.prefers_features_last(op, *types):
        assert way == "features last"
    else:
        chosen = convolution_on_cpu.remedy(op, *types)
        assert (chosen and chosen.__code__.co_names[-1]) == way


def test_an_infinity_in_one_group_leaves_the_others_alone():
    x = np.ones((1, 4, 3, 3), np.float32)
    x[0, 0, 0, 0] = np.inf
    w = np.ones((4, 1, 2, 2), np.float32)
    op = conv(feature_group_count=4)
    got = covector.jit(op)(array(x), array(w)).host()
    assert np.isinf(got[0, 0, 0, 0])
    assert (got[0, 1:] == 4).all()


# -- dtypes, and what is small ---------------------------------------------------------


def test_bfloat16_is_summed_in_float32_and_rounded_once():
    ones = np.ones((1, 1000, 1, 1), ml_dtypes.bfloat16)
    for fun in (conv(), covector.jit(conv())):
        assert float(fun(array(ones), array(ones)).host().ravel()[0]) == 1000


def test_the_adjoint_of_a_wider_result_has_the_dtype_of_the_operand():
    x, w = operands((1, 2, 4, 4), (3, 2, 2, 2), ml_dtypes.bfloat16)
    out, pull = covector.vjp(conv(preferred_element_type=F32), x, w)
    assert out.type.dtype == F32
    assert [ct.type for ct in pull(out)] == [x.type, w.type]


def test_the_host_convolves_what_is_small_and_only_that():
    def small(n):
        return (
            conv()
            .plan((ArrayType((1, 4, n, n), F32), ArrayType((4, 4, 3, 3), F32)))
            .prefers_host
        )

    assert small(16)
    assert not small(256)


def test_patches_of_an_infinity_are_where_it_is_seen():
    x = np.zeros((1, 1, 3), np.float32)
    x[0, 0, 0] = np.inf
    op = conv(ConvDimensionNumbers(*[(0, 1, 2)] * 3), padding=((1, 0),))
    got = patches(array(x), op.windows, (2,)).host()
    assert got.tolist() == [[[0.0, np.inf, 0.0], [np.inf, 0.0, 0.0]]]


# -- words -----------------------------------------------------------------------------


def refused(error, op, left, right, dtypes=(F32, F32)):
    with pytest.raises(error) as caught:
        op.type_rule(ArrayType(left, dtypes[0]), ArrayType(right, dtypes[1]))
    return str(caught.value)


LEFT, RIGHT = (1, 3, 8, 8), (4, 3, 3, 3)
WHO = "conv_general_dilated of f32[1,3,8,8] and f32[4,3,3,3]: "


def test_operands_of_two_dtypes_are_refused():
    assert refused(TypeMismatch, conv(), LEFT, RIGHT, (F32, dtypes.int32)) == (
        "conv_general_dilated needs operands of one dtype, but got f32[1,3,8,8] and "
        "i32[4,3,3,3]. Convert one of them with .astype."
    )


def test_booleans_are_refused():
    words = refused(DTypeError, conv(), LEFT, RIGHT, (dtypes.bool_, dtypes.bool_))
    assert words == (
        "conv_general_dilated needs numbers, but got bool[1,3,8,8] and bool[4,3,3,3]."
    )


def test_operands_of_other_ranks_are_refused():
    assert "and as many spatial axes as there are window strides, here 2." in refused(
        TypeMismatch, conv(), (1, 3, 8), RIGHT
    )


def test_features_that_do_not_go_together_are_refused():
    words = refused(TypeMismatch, conv(feature_group_count=3), LEFT, RIGHT)
    assert words.startswith(
        WHO + "lhs has 3 features, and rhs weighs 3 in each group, with "
        "feature_group_count=3. The first must be the product of the others"
    )


def test_groups_that_do_not_divide_are_refused():
    words = refused(TypeMismatch, conv(batch_group_count=2), LEFT, RIGHT)
    assert words == WHO + "the 1 batch entries of lhs do not divide into 2 groups."
    words = refused(TypeMismatch, conv(feature_group_count=3), LEFT, (4, 1, 3, 3))
    assert "the 4 features of the result do not divide into 3 groups." in words


def test_groups_of_both_kinds_are_refused():
    op = conv(feature_group_count=3, batch_group_count=2)
    assert "one of them is 1, but they are 3 and 2." in refused(
        ArgumentError, op, LEFT, RIGHT
    )


def test_steps_must_be_positive():
    assert refused(ArgumentError, conv(window_strides=(1, 0)), LEFT, RIGHT) == (
        WHO + "window_strides must be positive, but is (1, 0)."
    )


def test_parameters_need_an_entry_for_each_axis():
    assert refused(ArgumentError, conv(padding=((1, 1),)), LEFT, RIGHT) == (
        WHO + "padding needs an entry for each of the 2 spatial axes, but is ((1, 1),)."
    )


def test_dimension_numbers_name_each_axis_once():
    numbers = ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3))
    assert refused(ArgumentError, conv(numbers), LEFT, RIGHT) == (
        WHO
        + "lhs_spec of the dimension numbers must name each of the axes 0 to 3 once, "
        "but is (0, 1, 2, 2)."
    )


def test_no_more_is_cut_off_than_there_is():
    assert refused(TypeMismatch, conv(padding=((-5, -4), (0, 0))), LEFT, RIGHT) == (
        WHO + "the padding (-5, -4) cuts off more than there is along axis 2 of lhs."
    )


def test_convolutions_in_checkpoints_have_the_axes_that_a_cpu_is_quick_with():
    """XLA reorders axes only outside of loops and of what is compiled separately."""

    def layer(x):
        return covector.lax.conv(x, kernel, (1, 1), "SAME")

    def loss(x):
        for _ in range(2):
            x = covector.checkpoint(layer)(x)
        return (x**2).sum()

    kernel = np.ones((16, 16, 3, 3), np.float32)
    x = covector.ShapeDtypeStruct((2, 16, 8, 8), "float32")
    text = covector.jit(covector.grad(loss)).lower(x).as_text()
    orders = re.findall(r"dim_numbers = (.*?), window", text)
    assert len(orders) == 2
    assert set(orders) == {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"}


def test_a_long_kernel_over_many_numbers_is_that_of_numpy_and_keeps_nan_where_it_is():
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=60_000), rng.normal(size=80)
    x[1000] = np.nan
    made = covector.jit(cnp.convolve)(x.astype(np.float32), kernel.astype(np.float32))
    np.testing.assert_allclose(made, np.convolve(x, kernel), rtol=1e-4, atol=1e-4)


# -- chains ----------------------------------------------------------------------------


def chain(x, first, second):
    hidden = cnp.maximum(covector.lax.conv(x, first, (1, 1), "SAME"), 0)
    return covector.lax.conv(hidden, second, (1, 1), "SAME")


def operands_of_chain():
    rng = np.random.default_rng(0)
    shapes = (2, 3, 12, 12), (16, 3, 3, 3), (16, 16, 3, 3)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def test_weights_of_terms_lie_in_a_row_where_features_are_last():
    xs = operands_of_chain()
    assert "to_apply=%view" in covector.jit(chain).lower(*xs).compile().as_text()
    with covector.disable_jit():
        wanted = chain(*map(cnp.asarray, xs))
    np.testing.assert_allclose(covector.jit(chain)(*xs), wanted, rtol=1e-4, atol=1e-3)


def test_a_convolution_that_is_read_again_is_computed_once():
    xs = operands_of_chain()

    def loss(*xs):
        return cnp.sum(cnp.maximum(chain(*xs), 0))

    slopes = covector.grad(loss, (1, 2))
    text = covector.jit(slopes).lower(*xs).compile().as_text()
    assert "to_apply=%in_memory" in text
    assert "in_memory" not in covector.jit(chain).lower(*xs).compile().as_text()
    with covector.disable_jit():
        wanted = slopes(*map(cnp.asarray, xs))
    for found, expected in zip(covector.jit(slopes)(*xs), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)


def test_a_convolution_that_many_windows_read_is_computed_once():
    """Each window of a pooling computed all terms of each of its elements (2.5 ms)."""
    x, w = cnp.ones((4, 1, 28, 28)), cnp.ones((8, 1, 4, 4))

    def pooled(stride):
        def last(x, w):
            y = cnp.moveaxis(covector.lax.conv(x, w, (1, 1), "VALID"), 1, -1)[:, None]
            sizes, strides = (1, 1, 2, 2, 1), (1, 1, stride, stride, 1)
            return covector.lax.reduce_window(
                y, -cnp.inf, covector.lax.max, sizes, strides, "VALID"
            )

        return covector.jit(last).lower(x, w).as_text()

    assert "call @in_memory" in pooled(1)
    assert "in_memory" not in pooled(2)
