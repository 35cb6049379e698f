"""Interpolation between values on a grid."""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector import namespaces
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError
from covector.numpy.axis_order import flip
from covector.numpy.concatenation import stack
from covector.numpy.creation import asarray
from covector.numpy.floating import isnan
from covector.numpy.linalg.operands import values_of
from covector.numpy.minmax import clip
from covector.numpy.promote import inexact, promote, promote_dtypes_inexact
from covector.numpy.searching import searchsorted
from covector.numpy.selection import where

__all__ = ["RegularGridInterpolator"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)


class RegularGridInterpolator:
    """A function between the points of a grid with straight lines, of known values.

    Args:
      points: the coordinates of the grid along each axis, ascending or descending.
        Those that are traced are taken to be ascending.
      values: ``[*lengths, ...]``; there may be an array at each point of the grid.
      method: ``"linear"``, or ``"nearest"``.
      bounds_error: raise where a coordinate that is known is out of the grid.
      fill_value: the result outside of the grid; None continues the lines.

    Raises:
      ArgumentError: the points do not fit the values or are not in order; there is no
        such method.

    >>> import covector.numpy as cnp
    >>> grid = cnp.array([0.0, 1.0, 3.0])
    >>> f = RegularGridInterpolator((grid, grid), cnp.outer(grid, grid))
    >>> print(f(cnp.array([[0.5, 2.0], [4.0, 0.0]])))
    [ 1. nan]
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ) -> None:
        self.method: str = _known_method(method)
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.values: Array = inexact("RegularGridInterpolator", values)
        shape = self.values.type.shape
        grid = [inexact("RegularGridInterpolator", asarray(p)) for p in points]
        lengths = tuple([p.type.shape for p in grid])
        if lengths != tuple([(n,) for n in shape[: len(grid)]]) or (1,) in lengths:
            raise ArgumentError(
                "RegularGridInterpolator needs for each axis a vector of two points at "
                f"least, as long as the values {self.values.type} are, but got points "
                f"of the shapes {', '.join(map(str, lengths))}."
            )
        for axis, p in enumerate(grid):
            if _is_descending(axis, p):
                grid[axis] = flip(p)
                self.values = flip(self.values, axis)
        self.grid: tuple[Array, ...] = tuple(grid)

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at ``xi``.

        Args:
          xi: ``[..., axes]``, or a tuple of the coordinates along each axis, which
            broadcast.
          method: in place of that of the interpolator.

        Returns:
          ``[..., ...]``: the axes of ``xi`` but the last, then those that a value has.

        Raises:
          ArgumentError: there are not as many coordinates as axes, or ``bounds_error``.
        """
        method = self.method if method is None else _known_method(method)
        x = self._coordinates(xi)
        outside = [(c < p[0]) | (c > p[-1]) for c, p in zip(x, self.grid, strict=True)]
        beyond = functools.reduce(operator.or_, outside)
        if (
            self.bounds_error
            and (known := values_of(beyond)) is not None
            and known.any()
        ):
            raise ArgumentError(
                "RegularGridInterpolator got coordinates out of the grid, and was told "
                "to refuse them (bounds_error=True)."
            )
        cells = [_cell(c, p, method) for c, p in zip(x, self.grid, strict=True)]
        out = functools.reduce(operator.add, map(self._term, itertools.product(*cells)))
        missing = functools.reduce(operator.or_, [isnan(c) for c in x])
        out = where(self._over_values(missing), np.nan, out)
        if self.fill_value is None:
            return out
        return where(self._over_values(beyond), self.fill_value, out)

    def _coordinates(self, xi: Any) -> Sequence[Value]:
        """The coordinates along each axis, in one shape."""
        who, count = "RegularGridInterpolator", len(self.grid)
        if isinstance(xi, tuple):
            x = [as_array(c, who) for c in xi]
            x = stack(promote(who, *x), -1) if len(x) > 1 else stack(x, -1)
        else:
            x = as_array(xi, who)
        if not x.type.ndim or x.type.shape[-1] != count:
            raise ArgumentError(
                f"{who} needs {count} coordinates along the last axis, but got "
                f"{x.type}."
            )
        x, _ = promote_dtypes_inexact(who, x, self.values.real)
        return [x[..., k] for k in range(count)]

    def _over_values(self, x: Value) -> Value:
        """``x`` with an axis for each that a value has."""
        missing = self.values.type.ndim - len(self.grid)
        return x.reshape(*x.type.shape, *[1] * missing)

    def _term(self, corner: Sequence[tuple[Value, Value]]) -> Value:
        """The value at a corner of the cells, times the weights of the corner."""
        value = self.values[tuple([index for index, _ in corner])]
        weight = functools.reduce(operator.mul, [w for _, w in corner])
        return value * self._over_values(weight)


def _known_method(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ArgumentError(
            "RegularGridInterpolator: method must be 'linear' or 'nearest', but got "
            f"{method!r}."
        )
    return method


def _is_descending(axis: int, points: Value) -> bool:
    known = values_of(points)
    if known is None:
        return False
    steps = np.diff(known)
    if not ((steps > 0).all() or (steps < 0).all()):
        raise ArgumentError(
            "RegularGridInterpolator needs points in ascending or descending order, "
            f"but those of axis {axis} are not."
        )
    return bool(steps[0] < 0)


def _cell(x: Value, points: Value, method: str) -> list[tuple[Value, Value]]:
    """The indices of the points around ``x``, and their weights."""
    lower = clip(searchsorted(points, x) - 1, 0, points.type.size - 2)
    start, end = points[lower], points[lower + 1]
    part = (x - start) / (end - start)
    if method == "nearest":
        part = where(part <= 0.5, 0.0, 1.0)
    return [(lower, 1 - part), (lower + 1, part)]
