"""Dimension numbers, padding and shapes of convolutions."""

from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

from covector.core import dtypes
from covector.core.types import ArrayType, max_size
from covector.errors import ArgumentError, how_many
from covector.lax.same_padding import is_open
from covector.operations.convolution import (
    ConvDimensionNumbers,
    ConvGeneralDilated,
    Padding,
)
from covector.operations.sliding_windows import dilated

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
    "padtype_to_pads",
]

Ints: TypeAlias = Sequence[int]
#: what convolutions take as ``dimension_numbers``: letters of the axes of both operands
#: and of the result, such as ``("NCHW", "OIHW", "NCHW")``, or None for just these
ConvGeneralDilatedDimensionNumbers: TypeAlias = (
    tuple[str, str, str] | ConvDimensionNumbers | None
)

_LETTERS = (("lhs", "NC"), ("rhs", "OI"), ("result", "NC"))


def conv_dimension_numbers(
    lhs_shape: Ints, rhs_shape: Ints, dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Dimension numbers from their letters, ``('NHWC', 'HWIO', 'NHWC')``.

    N is the batch axis, C features, O and I features of the result and of the operand;
    other letters are spatial axes. None stands for batch, features, spatial axes.

    Raises:
      ArgumentError: the letters are not those, or not as many as there are axes.

    >>> conv_dimension_numbers((1, 8, 3), (2, 3, 4), ('NWC', 'WIO', 'NWC'))
    ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise ArgumentError(
            "a convolution needs operands of one rank, but got the shapes "
            f"{tuple(lhs_shape)} and {tuple(rhs_shape)}."
        )
    if dimension_numbers is None:
        axes = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(axes, axes, axes)
    permutations = conv_general_permutations(dimension_numbers)
    if len(permutations[0]) != len(lhs_shape):
        raise ArgumentError(
            f"the dimension numbers {tuple(dimension_numbers)} name "
            f"{how_many(len(permutations[0]), 'axis', 'axes')}, but the operands have "
            f"{len(lhs_shape)}: {tuple(lhs_shape)} and {tuple(rhs_shape)}."
        )
    return ConvDimensionNumbers(*permutations)


def conv_general_permutations(dimension_numbers: Any) -> tuple[tuple[int, ...], ...]:
    """The numbers of the batch, feature and spatial axes of lhs, rhs and the result.

    >>> conv_general_permutations(('NWC', 'WIO', 'NWC'))
    ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    given = tuple(dimension_numbers)
    if len(given) != 3 or not all(isinstance(spec, str) for spec in given):
        raise ArgumentError(
            "dimension numbers are three strings such as ('NHWC', 'HWIO', 'NHWC'), for "
            f"lhs, rhs and the result, but got {dimension_numbers!r}."
        )
    spatial = [k for k in given[1] if k not in "OI"]
    found = []
    for (who, letters), spec in zip(_LETTERS, given, strict=True):
        wanted = [*letters, *spatial]
        if sorted(spec) != sorted(wanted) or len(set(spec)) < len(spec):
            raise ArgumentError(
                f"the dimension numbers {given}: those of {who} need each of the "
                f"letters {', '.join(wanted)} once, but are {spec!r}."
            )
        found.append(tuple([spec.index(k) for k in wanted]))
    return tuple(found)


def padtype_to_pads(
    in_shape: Ints, window_shape: Ints, window_strides: Ints, padding: str
) -> list[tuple[int, int]]:
    """``'SAME'``, ``'SAME_LOWER'`` or ``'VALID'`` as (low, high) for each axis.

    ``'VALID'`` is nothing. ``'SAME'`` is so much that windows begin at every stride; an
    odd one goes behind, with ``'SAME_LOWER'`` in front.

    Raises:
      ArgumentError: another string.

    >>> padtype_to_pads((10, 7), (3, 3), (1, 2), 'SAME')
    [(1, 1), (1, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else padding
    if name not in ("SAME", "SAME_LOWER", "VALID"):
        raise ArgumentError(
            "padding is 'SAME', 'SAME_LOWER', 'VALID', or a pair (low, high) for each "
            f"spatial axis, but got {padding!r}."
        )
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for n, k, s in zip(in_shape, window_shape, window_strides, strict=True):
        total = max_size((-(-n // s) - 1) * s + k - n, 0) if k > 1 else 0
        few = total // 2
        many = total - few
        pads.append((few, many) if name == "SAME" else (many, few))
    return pads


def explicit_padding(
    who: str, padding: Any, op: ConvGeneralDilated, lhs_shape: Ints, rhs_shape: Ints
) -> Padding:
    """Padding as pairs, for the operation that lacks only that."""
    if not isinstance(padding, str):
        return _pairs(who, padding)
    if any(d != 1 for d in op.lhs_dilation):
        raise ArgumentError(
            f"{who} with lhs_dilation {op.lhs_dilation} needs padding as pairs of "
            f"numbers, but got {padding!r}. conv_transpose takes 'SAME' and 'VALID'."
        )
    a, b, _ = op.dimension_numbers
    ranks = {len(a), len(b), len(lhs_shape), len(rhs_shape), len(op.window_strides) + 2}
    if ranks != {len(op.rhs_dilation) + 2}:
        return ()  # the operation says which of its parameters are too few
    lengths = [lhs_shape[k] for k in a[2:]]
    sizes = [rhs_shape[k] for k in b[2:]]
    spans = [dilated(n, d) for n, d in zip(sizes, op.rhs_dilation, strict=True)]
    return fixed_pads(lengths, spans, op.window_strides, padding)


def fixed_pads(lengths: Ints, spans: Ints, strides: Ints, padding: str) -> Padding:
    """The pairs that ``padding`` stands for; none where ``same_padded`` is to make
    them.
    """
    return tuple(
        [
            (0, 0)
            if is_open(padding, n, k, s)
            else padtype_to_pads((n,), (k,), (s,), padding)[0]
            for n, k, s in zip(lengths, spans, strides, strict=True)
        ]
    )


def _pairs(who: str, padding: Any) -> Padding:
    try:
        return tuple([(index(low), index(high)) for low, high in padding])
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{who} needs padding as a string or as a pair (low, high) for each "
            f"spatial axis, but got {padding!r}."
        ) from error


def transposed_padding(
    who: str,
    padding: str | Sequence[tuple[int, int]],
    window: Ints,
    strides: Ints,
    dilation: Ints,
    consistent: bool,
) -> list[tuple[int, int]]:
    """Padding of the dilated operand of ``conv_transpose``."""
    spans = [dilated(n, d) for n, d in zip(window, dilation, strict=True)]
    if not isinstance(padding, str):
        pairs = _pairs(who, padding)
        if not consistent:
            return list(pairs)
        both = zip(spans, pairs, strict=True)
        return [(k - 1 - low, k - 1 - high) for k, (low, high) in both]
    name = padding.upper()
    if name not in ("SAME", "VALID"):
        raise ArgumentError(
            f"{who} needs padding 'SAME', 'VALID', or a pair (low, high) for each "
            f"spatial axis, but got {padding!r}."
        )
    pads = []
    for k, s in zip(spans, strides, strict=True):
        # SAME makes s positions of each element; VALID all positions where both meet.
        total = k + s - 2 + (max(k - s, 0) if name == "VALID" else 0)
        whole = name == "VALID" or s > k - 1
        low = k - 1 if whole else -(-total // 2)
        pads.append((low, total - low))
    return pads


def conv_shape_tuple(
    lhs_shape: Ints,
    rhs_shape: Ints,
    strides: Ints,
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution of ``[N, C, …]`` and ``[O, I, …]``.

    >>> conv_shape_tuple((1, 3, 8, 9), (4, 3, 2, 3), (2, 1), ((0, 1), (1, 1)))
    (1, 4, 4, 9)
    """
    axes = tuple(range(len(lhs_shape)))
    numbers = ConvDimensionNumbers(axes, axes, axes)
    return _shape(lhs_shape, rhs_shape, strides, pads, numbers, batch_group_count)


def conv_general_shape_tuple(
    lhs_shape: Ints,
    rhs_shape: Ints,
    window_strides: Ints,
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of a convolution without dilation.

    >>> numbers = ('NHWC', 'HWIO', 'NHWC')
    >>> conv_general_shape_tuple((1, 8, 9, 3), (2, 3, 3, 4), (2, 1), 'SAME', numbers)
    (1, 4, 9, 4)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    return _shape(lhs_shape, rhs_shape, window_strides, padding, numbers, 1)


def _shape(
    lhs_shape: Ints,
    rhs_shape: Ints,
    strides: Ints,
    padding: Any,
    numbers: ConvDimensionNumbers,
    batch_groups: int,
) -> tuple[int, ...]:
    ones = (1,) * (len(lhs_shape) - 2)
    features = rhs_shape[numbers.rhs_spec[1]]
    groups = lhs_shape[numbers.lhs_spec[1]] // max(features, 1)
    op = ConvGeneralDilated(
        tuple(strides), (), ones, ones, numbers, max(groups, 1), batch_groups
    )
    pads = explicit_padding("a convolution", padding, op, lhs_shape, rhs_shape)
    types = [ArrayType(tuple(s), dtypes.float32) for s in (lhs_shape, rhs_shape)]
    return op.changed(padding=pads).type_rule(*types)[0].shape


def conv_transpose_shape_tuple(
    lhs_shape: Ints,
    rhs_shape: Ints,
    window_strides: Ints,
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of ``conv_transpose``.

    >>> numbers = ('NHWC', 'HWIO', 'NHWC')
    >>> conv_transpose_shape_tuple((1, 8, 9, 3), (2, 3, 3, 4), (2, 1), 'SAME', numbers)
    (1, 16, 9, 4)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    window = [rhs_shape[k] for k in numbers.rhs_spec[2:]]
    ones = (1,) * len(window)
    pads = transposed_padding(
        "conv_transpose", padding, window, window_strides, ones, False
    )
    op = ConvGeneralDilated(ones, tuple(pads), tuple(window_strides), ones, numbers)
    types = [ArrayType(tuple(s), dtypes.float32) for s in (lhs_shape, rhs_shape)]
    return op.type_rule(*types)[0].shape
