"""Convolutions by their public names: parity with jax, shapes, words."""

import ml_dtypes
import numpy as np
import pytest

import covector
from covector.errors import ArgumentError, TypeMismatch
from covector.lax import convolution as lax
from covector.lax import convolution_shapes as shapes

jax = pytest.importorskip("jax")

RNG = np.random.default_rng(0)
NHWC = ("NHWC", "HWIO", "NHWC")


def x(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def agrees(name, *args, **kwargs):
    """Ours and theirs have one shape, dtype and value, eagerly and compiled."""
    operands = [a for a in args if isinstance(a, np.ndarray)]
    rest = args[len(operands) :]
    theirs = np.asarray(getattr(jax.lax, name)(*args, **kwargs))
    fun = lambda *xs: getattr(lax, name)(*xs, *rest, **kwargs)  # noqa: E731
    for ours in (fun(*operands), covector.jit(fun)(*operands)):
        got = np.asarray(ours)
        assert (got.shape, got.dtype) == (theirs.shape, theirs.dtype)
        wide = [v.astype(np.complex128) for v in (got, theirs)]
        rtol = 1e-2 if got.dtype == ml_dtypes.bfloat16 else 1e-5
        np.testing.assert_allclose(*wide, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID", ((2, 0), (-1, 3))])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("dilation", [None, (2, 1)])
def test_conv_general_dilated(padding, strides, dilation):
    operands = x(2, 7, 6, 3), x(3, 2, 3, 4)
    agrees(
        "conv_general_dilated",
        *operands,
        strides,
        padding,
        rhs_dilation=dilation,
        dimension_numbers=NHWC,
    )


@pytest.mark.parametrize(
    ("left", "right", "parameters"),
    [
        ((2, 4, 6), (6, 2, 3), {"feature_group_count": 2}),
        ((4, 2, 6), (6, 2, 3), {"batch_group_count": 2}),
        ((2, 4, 6), (4, 1, 3), {"feature_group_count": 4, "lhs_dilation": (2,)}),
        ((2, 4, 6), (3, 4, 3), {"precision": "highest"}),
        ((2, 4, 6), (3, 4, 3), {"precision": ("high", "default")}),
    ],
)
def test_conv_general_dilated_with_groups_and_precision(left, right, parameters):
    agrees("conv_general_dilated", x(*left), x(*right), (1,), [(1, 0)], **parameters)


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        (ml_dtypes.bfloat16, None),
        (ml_dtypes.bfloat16, np.float32),
        (np.int8, np.int32),
        (np.complex64, None),
    ],
)
def test_conv_general_dilated_in_other_dtypes(dtype, preferred):
    operands = (x(1, 3, 5) * 9).astype(dtype), (x(2, 3, 2) * 9).astype(dtype)
    agrees(
        "conv_general_dilated",
        *operands,
        (1,),
        "SAME",
        preferred_element_type=preferred,
    )


def test_conv_and_conv_with_general_padding():
    operands = x(2, 3, 5, 6), x(4, 3, 2, 3)
    agrees("conv", *operands, (1, 2), "SAME")
    agrees(
        "conv_with_general_padding", *operands, (1, 2), ((1, 0), (2, 2)), (2, 1), (1, 2)
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2)], [(0, 0)]])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_conv_transpose(padding, stride, window):
    operands = x(2, 5, 3), x(window, 3, 4)
    for consistent in (False, True):
        if padding == [(1, 2)] and consistent and window > 1:
            continue  # would cut off more than the peer allows
        agrees(
            "conv_transpose",
            *operands,
            (stride,),
            padding,
            use_consistent_padding=consistent,
        )


@pytest.mark.parametrize(
    "parameters",
    [
        {"rhs_dilation": (2, 1)},
        {"transpose_kernel": True},
        {"dimension_numbers": ("NCHW", "OIHW", "NCHW")},
    ],
)
def test_conv_transpose_with(parameters):
    left, right = (1, 4, 5, 3), (2, 3, 3, 4)
    if "dimension_numbers" in parameters:
        left, right = (1, 3, 4, 5), (4, 3, 2, 3)
    if "transpose_kernel" in parameters:
        right = (2, 3, 4, 3)
    agrees("conv_transpose", x(*left), x(*right), (2, 2), "SAME", **parameters)


def test_conv_transpose_undoes_the_shape_of_the_convolution_it_transposes():
    w = x(3, 3, 2, 5)
    for padding in ("SAME", "VALID"):
        image = x(1, 9, 9, 2)
        small = lax.conv_general_dilated(
            image, w, (2, 2), padding, dimension_numbers=NHWC
        )
        back = lax.conv_transpose(small, w, (2, 2), padding, transpose_kernel=True)
        pull = covector.vjp(
            lambda y, p=padding: lax.conv_general_dilated(
                y, w, (2, 2), p, dimension_numbers=NHWC
            ),
            image,
        )[1]
        if back.shape == image.shape:
            np.testing.assert_allclose(back, pull(small)[0], rtol=1e-4, atol=1e-4)
    assert back.shape == image.shape


@pytest.mark.parametrize(
    ("shape", "numbers"),
    [((2, 3, 6, 5), None), ((2, 6, 5, 3), ("NHWC", "OIHW", "NHWC"))],
)
@pytest.mark.parametrize(
    "parameters",
    [{}, {"rhs_dilation": (1, 2)}, {"lhs_dilation": (2, 1)}],
)
def test_conv_general_dilated_patches(shape, numbers, parameters):
    agrees(
        "conv_general_dilated_patches",
        x(*shape),
        (2, 3),
        (1, 2),
        ((1, 0), (2, 1)),
        dimension_numbers=numbers,
        **parameters,
    )


def test_patches_have_a_derivative():
    def total(image):
        made = lax.conv_general_dilated_patches(image, (2,), (1,), "VALID")
        return lax.conv(made, np.ones((1, 2, 1)), (1,), "VALID")[0, 0].sum()

    assert covector.grad(total)(x(1, 1, 4)).tolist() == [[[1.0, 2.0, 2.0, 1.0]]]


@pytest.mark.parametrize(
    ("left", "right", "numbers"),
    [
        ((2, 2, 8, 8), (4, 2 * 2 * 3, 7, 6), None),
        ((2, 8, 8, 2), (7, 6, 2 * 2 * 3, 4), NHWC),
        ((2, 8, 8, 2), (7, 6, 2 * 2 * 3, 4), ("NHWC", "HWIO", "NCHW")),
    ],
)
def test_conv_general_dilated_local(left, right, numbers):
    agrees(
        "conv_general_dilated_local",
        x(*left),
        x(*right),
        (1, 1),
        "VALID",
        (2, 3),
        dimension_numbers=numbers,
    )


# -- shapes ----------------------------------------------------------------------------


@pytest.mark.parametrize("padding", ["SAME", "VALID", "SAME_LOWER", "same"])
def test_padtype_to_pads(padding):
    args = (10, 7, 1, 0), (3, 2, 5, 2), (2, 3, 4, 2), padding
    assert shapes.padtype_to_pads(*args) == jax.lax.padtype_to_pads(*args)


@pytest.mark.parametrize(
    "numbers", [NHWC, ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NCHW")]
)
def test_dimension_numbers(numbers):
    args = (1, 2, 3, 4), (5, 6, 7, 8), numbers
    assert shapes.conv_dimension_numbers(*args) == jax.lax.conv_dimension_numbers(*args)
    theirs = jax.lax.conv_general_permutations(numbers)
    assert shapes.conv_general_permutations(numbers) == theirs


def test_dimension_numbers_may_be_left_out_or_given_as_they_are():
    axes = (0, 1, 2)
    known = shapes.conv_dimension_numbers((1, 2, 3), (4, 5, 6), None)
    assert known == shapes.ConvDimensionNumbers(axes, axes, axes)
    assert shapes.conv_dimension_numbers((1,), (2, 3), known) is known


@pytest.mark.parametrize("padding", ["SAME", "VALID", ((1, 2), (0, 1))])
def test_shapes_without_arrays(padding):
    args = (1, 8, 9, 3), (2, 3, 3, 4), (2, 1), padding, NHWC
    for name in ("conv_general_shape_tuple", "conv_transpose_shape_tuple"):
        assert getattr(shapes, name)(*args) == getattr(jax.lax, name)(*args)
    args = (2, 3, 8, 9), (4, 3, 2, 3), (2, 1), padding
    assert shapes.conv_shape_tuple(*args) == jax.lax.conv_shape_tuple(*args)
    assert shapes.conv_shape_tuple(*args, 2) == (1, *shapes.conv_shape_tuple(*args)[1:])


# -- words -----------------------------------------------------------------------------

LEFT, RIGHT = x(1, 3, 5, 5), x(4, 3, 3, 3)


def refused(error, fun, *args, **kwargs):
    with pytest.raises(error) as caught:
        fun(*args, **kwargs)
    return str(caught.value)


def test_unknown_padding_is_refused():
    assert refused(
        ArgumentError, lax.conv_general_dilated, LEFT, RIGHT, (1, 1), "FULL"
    ) == (
        "padding is 'SAME', 'SAME_LOWER', 'VALID', or a pair (low, high) for each "
        "spatial axis, but got 'FULL'."
    )
    assert refused(
        ArgumentError, lax.conv_transpose, x(1, 5, 3), x(3, 3, 4), (1,), "SAME_LOWER"
    ) == (
        "conv_transpose needs padding 'SAME', 'VALID', or a pair (low, high) for each "
        "spatial axis, but got 'SAME_LOWER'."
    )


def test_padding_that_is_no_pairs_is_refused():
    assert refused(
        ArgumentError, lax.conv_general_dilated, LEFT, RIGHT, (1, 1), (2, 1)
    ) == (
        "conv_general_dilated needs padding as a string or as a pair (low, high) for "
        "each spatial axis, but got (2, 1)."
    )


def test_named_padding_of_a_dilated_operand_is_refused():
    words = refused(
        ArgumentError,
        lax.conv_general_dilated,
        LEFT,
        RIGHT,
        (1, 1),
        "SAME",
        lhs_dilation=(2, 2),
    )
    assert words == (
        "conv_general_dilated with lhs_dilation (2, 2) needs padding as pairs of "
        "numbers, but got 'SAME'. conv_transpose takes 'SAME' and 'VALID'."
    )


def test_too_few_strides_are_refused():
    words = refused(TypeMismatch, lax.conv, LEFT, RIGHT, (1,), "SAME")
    assert "as many spatial axes as there are window strides, here 1" in words


def test_operands_of_two_dtypes_are_refused():
    half = RIGHT.astype(ml_dtypes.bfloat16)
    assert "needs operands of one dtype, but got f32[1,3,5,5] and bf16" in refused(
        TypeMismatch, lax.conv, LEFT, half, (1, 1), "SAME"
    )


def test_dot_algorithms_are_refused_but_not_as_the_option():
    words = refused(
        ArgumentError, lax.conv, LEFT, RIGHT, (1, 1), "SAME", precision="F32_F32_F32"
    )
    assert words == (
        "conv_general_dilated takes a Precision or a pair of them, but got the dot "
        "algorithm F32_F32_F32. Dot algorithms are for dot_general."
    )
    with covector.options.override(default_matmul_precision="F32_F32_F32"):
        assert lax.conv(LEFT, RIGHT, (1, 1), "SAME").shape == (1, 4, 5, 5)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (("NHWC", "HWIO"), "dimension numbers are three strings such as"),
        (("NHWC", "HWIO", None), "dimension numbers are three strings such as"),
        (
            ("NCHX", "OIHW", "NCHW"),
            "those of lhs need each of the letters N, C, H, W once",
        ),
        (
            ("NCHW", "OIHW", "NCHH"),
            "those of result need each of the letters N, C, H, W",
        ),
        (("NCHH", "OIHH", "NCHH"), "those of lhs need each of the letters"),
        (("NWC", "WIO", "NWC"), "name 3 axes, but the operands have 4"),
    ],
)
def test_wrong_dimension_numbers_are_refused(numbers, words):
    assert words in refused(
        ArgumentError,
        lax.conv_general_dilated,
        LEFT,
        RIGHT,
        (1, 1),
        "SAME",
        dimension_numbers=numbers,
    )


def test_operands_of_two_ranks_are_refused():
    assert refused(ArgumentError, lax.conv, LEFT, x(4, 3, 3), (1, 1), "SAME") == (
        "a convolution needs operands of one rank, but got the shapes (1, 3, 5, 5) and "
        "(4, 3, 3)."
    )


def test_a_convolution_of_bools_says_whether_any_pair_is_true():
    x = np.array([[[True, False, True, False, False]]])
    w = np.array([[[True, True]]])
    any_pair = lax.conv(x, w, (1,), "VALID")
    assert any_pair.dtype == bool
    assert any_pair[0, 0].tolist() == [True, True, True, False]
    counts = lax.conv_general_dilated(
        x, x, (1,), "VALID", preferred_element_type="int32"
    )
    assert counts.dtype == "int32" and counts.tolist() == [[[2]]]
