"""Reductions over sliding windows, as in pooling."""

from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.annotations import ArrayLike, PyTree
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr
from covector.core.types import as_size
from covector.dispatch.debug_nans import as_one
from covector.lax.convolution_shapes import fixed_pads, padtype_to_pads
from covector.lax.reductions import combination
from covector.lax.same_padding import is_open, same_padded
from covector.operations.sliding_windows import Window, dilated
from covector.programs.control_flow.reduce import reduce_windows_flat, window_identity

__all__ = ["reduce_window", "reduce_window_shape_tuple"]

Padding = str | Sequence[tuple[int, int]]


def reduce_window(
    operand: PyTree,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree:
    """The elements in each window that slides over an array, combined into one.

    Args:
      operand: an array, or a tree of arrays of one shape, reduced together.
      init_value: a scalar for each, from which the combination starts in each window.
        Around the operand and in its gaps there is nothing to combine.
      computation: takes two trees of scalars like ``operand`` and combines them into
        one; it must be associative.
      window_dimensions, window_strides: a length and a step for each axis.
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or (low, high) for each axis.
        "SAME" is what it is for the operand without gaps.
      base_dilation: element k of an axis counts as element k · base_dilation.
      window_dilation: a window meets every so manyth position.

    Raises:
      TypeMismatch: trees, shapes, dtypes or numbers of axes do not go together.
      ConcretizationTypeError: the computation uses a traced value from outside.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([1.0, 4.0, 2.0, 3.0])
    >>> print(reduce_window(x, 0.0, cnp.add, (2,)))
    [5. 6. 5.]
    >>> print(reduce_window(x, 1.0, cnp.multiply, (2,), (2,)))
    [4. 6.]

    See also: ``reduce``, ``conv_general_dilated``.
    """
    structure, arrays, initial, program = combination(
        "reduce_window", operand, init_value, computation
    )
    window = window_dimensions, window_strides, padding, base_dilation, window_dilation
    arrays, pads = _padded(arrays, program, window)
    window = window_dimensions, window_strides, pads, base_dilation, window_dilation
    fields = _fields(arrays[0].type.shape, *window)
    outs = as_one(
        lambda *xs: reduce_windows_flat(program, xs, initial, fields), *arrays
    )
    return tree.unflatten(structure, outs)


def _padded(
    arrays: Sequence[Array], program: Jaxpr, window: Sequence[Any]
) -> tuple[Sequence[Array], Padding]:
    """The arrays with the zeros of "SAME" along axes of symbolic length, if there are
    such and zeros are the identity of a program; and the padding that is left to do.
    """
    sizes, steps, padding, _, gaps = window
    shape = arrays[0].type.shape
    ones = (1,) * len(shape)
    spans = [dilated(k, g) for k, g in zip(sizes, gaps or ones, strict=False)]
    axes = [*zip(shape, spans, steps or ones, strict=False)]
    found = [k for k, axis in enumerate(axes) if is_open(padding, *axis)]
    fill = window_identity(program, arrays[0].type.dtype) if found else None
    if fill is None or len(arrays) > 1:
        return arrays, padding
    (x,) = arrays
    for k in found:
        x = same_padded(x, k, *axes[k][1:], padding, fill)
    lengths, widths, strides = zip(*axes, strict=True)
    return [x], fixed_pads(lengths, widths, strides, padding)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of what ``reduce_window`` makes of an operand of this shape.

    >>> reduce_window_shape_tuple((6, 5), (2, 2), (2, 1), "VALID")
    (3, 4)
    """
    window = window_dimensions, window_strides, padding, base_dilation, window_dilation
    sizes, strides, pads, base, gaps = _fields(operand_shape, *window)
    axes = zip(operand_shape, sizes, strides, pads, base, gaps, strict=True)
    return tuple(
        [
            Window(s, low, high, b, g).num_positions(n, k)
            for n, k, s, (low, high), b, g in axes
        ]
    )


def _fields(
    shape: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> list[Any]:
    """The parameters of the operation, with defaults filled in."""
    ones = (1,) * len(sizes)
    strides = tuple(strides or ones)
    base, gaps = tuple(base_dilation or ones), tuple(window_dilation or ones)
    if isinstance(padding, str):
        ranks = {len(shape), len(sizes), len(strides), len(base), len(gaps)}
        if len(ranks) > 1:
            pads: Any = ()  # the operation says which of its parameters are too few
        else:
            spans = [dilated(k, g) for k, g in zip(sizes, gaps, strict=True)]
            pads = padtype_to_pads(shape, spans, strides, padding)
    else:
        pads = padding
    return [
        tuple(sizes),
        strides,
        tuple([(as_size(low), as_size(high)) for low, high in pads]),
        base,
        gaps,
    ]
