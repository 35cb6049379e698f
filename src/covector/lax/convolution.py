"""Convolutions: ``conv_general_dilated`` and its special cases."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import ArgumentError
from covector.lax.convolution_shapes import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    explicit_padding,
    transposed_padding,
)
from covector.lax.same_padding import is_open, same_padded
from covector.numpy.axes import as_integer
from covector.operations.casting import convert
from covector.operations.contraction import DotGeneral
from covector.operations.conv_patches import patches
from covector.operations.convolution import ConvGeneralDilated
from covector.operations.convolution_checks import check_steps
from covector.operations.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    PrecisionLike,
    exactness,
)
from covector.operations.sliding_windows import dilated
from covector.operations.transposing import Rev, Transpose

__all__ = [
    "conv",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
]

Padding: TypeAlias = str | Sequence[tuple[int, int]]
Ints: TypeAlias = Sequence[int]


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Ints,
    padding: Padding,
    lhs_dilation: Ints | None = None,
    rhs_dilation: Ints | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Windows of ``lhs`` weighted by ``rhs`` and summed, at every position.

    Args:
      lhs: ``[N, C, *spatial]``, or as the dimension numbers say.
      rhs: ``[O, C / groups, *window]``, of the same dtype. It is not reversed. Of bools
        the sum is whether any product is true, unless a dtype to count in is preferred.
      window_strides: steps between indices.
      padding: (low, high) for each spatial axis, how many zeros go around, or elements
        off; or ``'VALID'`` for none, ``'SAME'`` or ``'SAME_LOWER'`` for so many that
        there are ⌈length / stride⌉ indices, an odd one after or before.
      lhs_dilation: spacing of the elements of ``lhs``, zeros between.
      rhs_dilation: spacing of the elements of the window.
      dimension_numbers: ``('NHWC', 'HWIO', 'NHWC')`` for lhs, rhs and the result, or
        ``ConvDimensionNumbers``; by default batch, feature, spatial axes.
      feature_group_count: features of lhs and of the result fall into groups, of which
        each sees only its own.
      batch_group_count: the same for the batch axis of lhs.
      precision: a ``Precision`` or its name, or a pair of them; for accelerators.
      preferred_element_type: the dtype of the result, and of sums if it is wider.
      out_sharding: accepted, and left to the compiler.

    Returns:
      ``[N, O, *indices]``, or as the dimension numbers say.

    Raises:
      TypeMismatch: shapes or dtypes do not go together.
      ArgumentError: the parameters contradict one another.

    >>> import numpy as np
    >>> x, w = np.ones((1, 5, 5, 3)), np.ones((3, 3, 3, 8))
    >>> conv_general_dilated(x, w, (2, 2), 'SAME',
    ...                      dimension_numbers=('NHWC', 'HWIO', 'NHWC')).shape
    (1, 3, 3, 8)

    See also: ``conv``, ``conv_transpose``, ``covector.numpy.convolve``.
    """
    who = "conv_general_dilated"
    lhs, rhs = as_array(lhs, who), as_array(rhs, who)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    op = ConvGeneralDilated(
        _ints(who, window_strides, "window_strides"),
        (),
        _dilation(who, lhs_dilation, lhs, "lhs_dilation"),
        _dilation(who, rhs_dilation, rhs, "rhs_dilation"),
        numbers,
        as_integer(who, feature_group_count, "feature_group_count"),
        as_integer(who, batch_group_count, "batch_group_count"),
        _exactness(precision, who),
        _element_type(preferred_element_type, lhs),
    )
    lhs, op = _padded(who, lhs, padding, op, rhs.shape)
    if not lhs.dtype == rhs.dtype == dtypes.bool_:
        return op(lhs, rhs)
    count = op.changed(preferred_element_type=None)
    counts = count(convert(lhs, dtypes.int32), convert(rhs, dtypes.int32))
    return convert(counts, op.preferred_element_type or dtypes.bool_)


def _ints(who: str, values: Ints, name: str) -> tuple[int, ...]:
    if not isinstance(values, Iterable):
        raise ArgumentError(f"{who}: {name} must be integers, but got {values!r}.")
    return tuple([as_integer(who, n, name, "integers") for n in values])


def _dilation(who: str, values: Ints | None, x: Value, name: str) -> tuple[int, ...]:
    return (1,) * (x.ndim - 2) if values is None else _ints(who, values, name)


def _padded(
    who: str, lhs: Array, padding: Padding, op: ConvGeneralDilated, rhs_shape: Ints
) -> tuple[Array, ConvGeneralDilated]:
    """The operation with its padding; what that cannot say is around ``lhs`` now."""
    pads = explicit_padding(who, padding, op, lhs.shape, rhs_shape)
    a, b, _ = op.dimension_numbers
    steps = zip(a[2:], b[2:], op.rhs_dilation, op.window_strides, strict=False)
    for axis, of_rhs, dilation, stride in steps:
        span = dilated(rhs_shape[of_rhs], dilation)
        if pads and is_open(padding, lhs.shape[axis], span, stride):
            lhs = same_padded(lhs, axis, span, stride, str(padding))
    return lhs, op.changed(padding=pads)


def _exactness(precision: PrecisionLike, who: str) -> Any:
    found = exactness(precision, who)
    if not isinstance(found, DotAlgorithm | DotAlgorithmPreset):
        return found
    if precision is None:  # the option is for products of matrices
        return None
    raise ArgumentError(
        f"{who} takes a Precision or a pair of them, but got the dot algorithm "
        f"{precision}. Dot algorithms are for dot_general."
    )


def _element_type(dtype: DTypeLike | None, x: Value) -> DType | None:
    if dtype is None:
        return None
    dtype = asked_dtype(dtype)
    return None if dtype == x.dtype else dtype


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Ints,
    padding: Padding,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``conv_general_dilated`` of ``[N, C, …]`` and ``[O, C, …]``, without dilation.

    >>> import numpy as np
    >>> print(conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), (1,), 'SAME')[0, 0])
    [2. 3. 3. 2.]
    """
    how = {"precision": precision, "preferred_element_type": preferred_element_type}
    return conv_general_dilated(lhs, rhs, window_strides, padding, **how)


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Ints,
    padding: Padding,
    lhs_dilation: Ints | None,
    rhs_dilation: Ints | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``conv_general_dilated`` of ``[N, C, …]`` and ``[O, C, …]``, with dilation.

    >>> import numpy as np
    >>> x, w = np.ones((1, 1, 4)), np.ones((1, 1, 2))
    >>> conv_with_general_padding(x, w, (1,), ((0, 1),), (2,), None).shape
    (1, 1, 7)
    """
    dilations = lhs_dilation, rhs_dilation
    how = {"precision": precision, "preferred_element_type": preferred_element_type}
    return conv_general_dilated(lhs, rhs, window_strides, padding, *dilations, **how)


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Ints,
    padding: Padding,
    rhs_dilation: Ints | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """A convolution by fractions of a step: ``strides`` positions for each element.

    Args:
      lhs, rhs, dimension_numbers: as in ``conv_general_dilated``, but by default with
        features last: ``('NHWC', 'HWIO', 'NHWC')``.
      padding: ``'SAME'`` for length · stride indices, ``'VALID'`` for all where window
        and operand meet, or (low, high) for each spatial axis: of the dilated operand,
        or with ``use_consistent_padding`` of the convolution that this one transposes.
      transpose_kernel: reverse the window and let its features change their roles, so
        that this is the adjoint of the convolution with that window.

    >>> import numpy as np
    >>> x, w = np.ones((1, 3, 1)), np.ones((2, 1, 1))
    >>> conv_transpose(x, w, (2,), 'SAME').shape
    (1, 6, 1)
    """
    who = "conv_transpose"
    lhs, rhs = as_array(lhs, who), as_array(rhs, who)
    if dimension_numbers is None:
        dimension_numbers = _features_last(lhs.ndim)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    dilation = _dilation(who, rhs_dilation, rhs, "rhs_dilation")
    steps = _ints(who, strides, "strides")
    window = [rhs.shape[axis] for axis in numbers.rhs_spec[2:]]
    pads = transposed_padding(
        who, padding, window, steps, dilation, use_consistent_padding
    )
    if transpose_kernel:
        first, second, *spatial = numbers.rhs_spec
        rhs = Rev(tuple(spatial))(rhs)
        numbers = numbers._replace(rhs_spec=(second, first, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(window),
        pads,
        steps,
        dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _features_last(ndim: int) -> ConvDimensionNumbers:
    """``NHWC``, ``HWIO``, ``NHWC`` for any number of spatial axes."""
    spatial = tuple(range(1, ndim - 1))
    window = tuple(range(ndim - 2))
    outer = (0, ndim - 1, *spatial)
    return ConvDimensionNumbers(outer, (ndim - 1, ndim - 2, *window), outer)


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Ints,
    window_strides: Ints,
    padding: Padding,
    lhs_dilation: Ints | None = None,
    rhs_dilation: Ints | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The windows that a convolution of this shape would see, as features.

    Arguments as in ``conv_general_dilated``. Elements are only moved, so ``precision``
    does not matter.

    Returns:
      ``[N, C · taps, *indices]``; features count by feature, then by tap.

    >>> import numpy as np
    >>> x = np.arange(4.0).reshape(1, 1, 4)
    >>> print(conv_general_dilated_patches(x, (2,), (1,), 'VALID')[0])
    [[0. 1. 2.]
     [1. 2. 3.]]
    """
    who = "conv_general_dilated_patches"
    lhs, taps = as_array(lhs, who), _ints(who, filter_shape, "filter_shape")
    exactness(precision, who)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *taps), dimension_numbers)
    canonical = ConvDimensionNumbers(*[tuple(range(lhs.ndim))] * 3)
    op = ConvGeneralDilated(
        _ints(who, window_strides, "window_strides"),
        (),
        _dilation(who, lhs_dilation, lhs, "lhs_dilation"),
        _dilation(who, rhs_dilation, lhs, "rhs_dilation"),
        canonical,
    )
    check_steps(who, op)
    lhs = Transpose(numbers.lhs_spec)(lhs)
    lhs, op = _padded(who, lhs, padding, op, (1, 1, *taps))
    made = patches(lhs, op.windows, taps)
    back = sorted(range(lhs.ndim), key=numbers.out_spec.__getitem__)
    made = Transpose(tuple(back))(made)
    dtype = _element_type(preferred_element_type, lhs)
    return made if dtype is None else convert(made, dtype)


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Ints,
    padding: Padding,
    filter_shape: Ints,
    lhs_dilation: Ints | None = None,
    rhs_dilation: Ints | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a window of its own at every position.

    Args:
      rhs: ``[O, C · taps, *indices]``, axes placed as the dimension numbers say of rhs.
        The second counts as the features of ``conv_general_dilated_patches`` do.
      filter_shape: the lengths of the window.

    The other arguments are those of ``conv_general_dilated``.

    >>> import numpy as np
    >>> x, w = np.ones((1, 1, 4)), np.arange(6.0).reshape(1, 2, 3)
    >>> print(conv_general_dilated_local(x, w, (1,), 'VALID', (2,))[0, 0])
    [3. 5. 7.]
    """
    who = "conv_general_dilated_local"
    lhs, rhs = as_array(lhs, who), as_array(rhs, who)
    _, b, c = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    seen = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
    )
    numbers = (((c[1],), (b[1],)), (c[2:], b[2:]))
    made = DotGeneral(numbers, exactness(precision, who))(seen, rhs)
    positions = tuple(range(len(b) - 2))
    roles = (len(positions), len(positions) + 1, *positions)
    order = [0] * len(roles)
    for role, axis in zip(roles, c, strict=True):
        order[axis] = role
    return Transpose(tuple(order))(made)
