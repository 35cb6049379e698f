"""Finite differences: ``diff``, ``gradient``, and integrals by the trapezoidal rule."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.numpy.arithmetic import add, divide, multiply, subtract
from covector.numpy.axes import as_integer, canonical_axes, canonical_axis
from covector.numpy.concatenation import concatenate
from covector.numpy.promote import (
    broadcast,
    broadcast_to,
    inexact,
    promote_dtypes,
    promote_dtypes_inexact,
)
from covector.numpy.reshaping import ravel, reshape
from covector.operations.broadcasting import ReduceSum
from covector.operations.casting import convert, in_dtype
from covector.operations.comparison import ne
from covector.operations.joining import Concatenate
from covector.operations.slicing import Slice

__all__ = ["diff", "ediff1d", "gradient", "trapezoid"]


def _part(x: Value, axis: int, start: int, stop: int | None = None) -> Array:
    """The elements from ``start`` to ``stop`` (negative: from the end) along an
    axis.
    """
    n = x.type.shape[axis]
    low = [0] * x.type.ndim
    limit = list(x.type.shape)
    low[axis] = start + n if start < 0 else start
    limit[axis] = n if stop is None else stop + n if stop < 0 else stop
    return Slice(tuple(low), tuple(limit))(x)


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Differences of neighbours, ``a[1:] - a[:-1]`` along ``axis``, ``n`` times.

    Each time the axis gets shorter by one. Of bools, whether they differ; unsigned
    integers wrap around below 0.

    Args:
      n: how often; 0 returns ``a``.
      prepend, append: what is put before and after ``a`` first: arrays, or scalars that
        stand for one index.

    Returns:
      An array shorter by ``n`` along ``axis``.

    Raises:
      ArgumentError: ``n`` is negative.
      TypeMismatch: ``a`` has no axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.diff(cnp.array([1, 4, 9, 16])), cnp.diff(cnp.array([1, 4, 9]), n=2))
    [3 5 7] [2]

    See also: ``gradient`` (same length), ``ediff1d``, ``cumsum``.
    """
    x = as_array(a, "diff")
    if not x.type.ndim:
        raise TypeMismatch(
            f"diff needs an array with at least one axis, but got {x.type}."
        )
    n = as_integer("diff", n, "n")
    if n < 0:
        raise ArgumentError(f"diff needs an order n that is not negative, but got {n}.")
    k = canonical_axis("diff", axis, x.type.ndim)
    if n == 0:
        return x
    x = _between(x, prepend, append, k)
    different = ne if dtypes.is_bool(x.type.dtype) else subtract
    for _ in range(min(n, x.type.shape[k])):
        x = different(_part(x, k, 1), _part(x, k, 0, -1)) if x.type.shape[k] else x
    return x


def _between(x: Value, before: Any, after: Any, axis: int) -> Array:
    """``x`` between ``before`` and ``after``, where they are given."""
    if before is None and after is None:
        return x
    shape = (*x.type.shape[:axis], 1, *x.type.shape[axis + 1 :])
    given = [p for p in (before, x, after) if p is not None]
    parts = promote_dtypes("diff", *given)
    return concatenate(
        [p if p.type.ndim else broadcast_to(p, shape) for p in parts], axis
    )


def ediff1d(ary: ArrayLike, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours in ``ary`` raveled, between ``to_begin`` and
    ``to_end``.

    >>> import covector.numpy as cnp
    >>> print(cnp.ediff1d(cnp.array([1, 4, 9]), to_begin=0))
    [0 3 5]
    """
    x = ravel(as_array(ary, "ediff1d"))
    steps = diff(x)
    ends = [
        e if e is None else ravel(in_dtype(e, steps.type.dtype, "ediff1d"))
        for e in (to_begin, to_end)
    ]
    parts = [p for p in (ends[0], steps, ends[1]) if p is not None]
    return Concatenate(0)(*parts) if len(parts) > 1 else steps


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1
) -> Array:
    """The integral along ``axis`` by the trapezoidal rule: Σ ½ (yₖ + yₖ₊₁) (xₖ₊₁ − xₖ).

    Args:
      x: where the values are; one axis, or broadcasting to ``y``.
      dx: the distance of neighbours, if there is no ``x``.

    >>> import covector.numpy as cnp
    >>> print(cnp.trapezoid(cnp.array([0.0, 1.0, 4.0]), dx=0.5))
    1.5
    """
    if x is None:
        y = inexact("trapezoid", y)
        values, widths = promote_dtypes_inexact("trapezoid", y, dx)
        k = canonical_axis("trapezoid", axis, values.type.ndim)
        n = values.type.shape[k]
        if not widths.type.ndim and type(n) is int and n > 1:
            return multiply(_sum_with_halved_ends(values, k), widths)
    else:
        values, positions = promote_dtypes_inexact("trapezoid", y, x)
        k = canonical_axis("trapezoid", axis, values.type.ndim)
        if positions.type.ndim == 1:
            widths = _along_axis(diff(positions), values.type.ndim, k)
        else:
            widths = diff(positions, axis=axis)
    if values.type.shape[k] == 0:
        return ReduceSum((k,))(values)
    sums = add(_part(values, k, 1), _part(values, k, 0, -1))
    areas = multiply(*broadcast("trapezoid", sums, widths))
    return multiply(ReduceSum((k,))(areas), 0.5)


def _sum_with_halved_ends(x: Value, axis: int) -> Any:
    """The sum along an axis, of the first and the last element a half each."""
    weights = np.ones(x.type.shape[axis])
    weights[[0, -1]] = 0.5
    weights = _along_axis(as_array(weights.astype(x.type.dtype)), x.type.ndim, axis)
    return ReduceSum((axis,))(multiply(x, weights))


def _along_axis(x: Value, ndim: int, axis: int) -> Any:
    """One axis of numbers as axis ``axis`` of ``ndim``."""
    return reshape(x, tuple([-1 if k == axis else 1 for k in range(ndim)]))


# -- gradients on grids ----------------------------------------------------------------


def gradient(
    f: Any, *varargs: ArrayLike, axis: Axes = None, edge_order: int | None = None
) -> Array | list[Array]:
    """Derivatives of values on a grid, by differences of neighbours on both sides.

    Args:
      varargs: the distance of neighbours, for all axes or for each; or the coordinates
        along each, in arrays with one axis.
      axis: along which axes; None: all.
      edge_order: at the edges, differences to one neighbour (1, the default) or to two.

    Returns:
      An array of the shape of ``f`` for each axis, in a list if there are several.

    >>> import covector.numpy as cnp
    >>> print(cnp.gradient(cnp.array([0.0, 1.0, 4.0, 9.0])))
    [1. 2. 4. 5.]
    """
    x = inexact("gradient", f)
    axes = canonical_axes("gradient", axis, x.type.ndim)
    order = 1 if edge_order is None else edge_order
    if order not in (1, 2):
        raise ArgumentError(
            f"gradient: edge_order must be 1 or 2, but got {edge_order}."
        )
    spacings = _spacings(varargs, len(axes))
    out = []
    for k, spacing in zip(axes, spacings, strict=True):
        n = x.type.shape[k]
        if n <= order:
            raise TypeMismatch(
                f"gradient of {x.type} along axis {k} needs at least {order + 1} "
                "elements."
            )
        steps = _steps(x, as_array(spacing, "gradient"), k)
        out.append(_gradient(x, steps, k, order))
    return out[0] if len(out) == 1 else out


def _spacings(given: Sequence[Any], count: int) -> Sequence[Any]:
    """A distance, or coordinates, for each axis."""
    if len(given) not in (0, 1, count):
        raise ArgumentError(
            f"gradient along {how_many(count, 'axis', 'axes')} needs one distance, or "
            f"one for each axis, but got {len(given)}."
        )
    if len(given) == count:
        return given
    return list(given or (1.0,)) * count


def _steps(x: Value, spacing: Value, axis: int) -> Array:
    """The distances of neighbours along an axis: a scalar, or an array along it."""
    spacing = convert(spacing, x.type.dtype)
    if not spacing.type.ndim:
        return spacing
    if spacing.type.shape != (x.type.shape[axis],):
        raise TypeMismatch(
            f"gradient of {x.type} along axis {axis} needs a distance, or the "
            "coordinate of each of "
            f"{how_many(x.type.shape[axis], 'index', 'indices')}, but got "
            f"{spacing.type}."
        )
    return _along_axis(diff(spacing), x.type.ndim, axis)


def _gradient(x: Value, steps: Value, k: int, order: int) -> Array:
    """Slopes to both neighbours, each weighted by the distance of the other."""
    if steps.type.ndim:
        slopes = divide(diff(x, axis=k), steps)
        left, right = _part(slopes, k, 0, -1), _part(slopes, k, 1)
        before, after = _part(steps, k, 0, -1), _part(steps, k, 1)
        inner = divide(
            add(multiply(after, left), multiply(before, right)), before + after
        )
        first, last = _part(slopes, k, 0, 1), _part(slopes, k, -1)
    else:
        both = multiply(scalar(2, x.type.dtype), steps)
        inner = divide(subtract(_part(x, k, 2), _part(x, k, 0, -2)), both)
        first, last = [
            divide(diff(part, axis=k), steps)
            for part in (_part(x, k, 0, 2), _part(x, k, -2))
        ]
    if order == 2:
        first, last = _beyond(first, inner, k, 0), _beyond(last, inner, k, -1)
    return concatenate([first, inner, last], k)


def _beyond(slope: Any, inner: Any, k: int, at: int) -> Any:
    """The derivative at an edge, by going on as the derivative changes inside.

    The slope to the neighbour is that of the middle between them, and the one at the
    neighbour is ``inner``: both lie on the line through the derivatives of a parabola.
    """
    neighbour = _part(inner, k, at, 1 if at == 0 else None)
    return subtract(multiply(scalar(2, slope.type.dtype), slope), neighbour)
