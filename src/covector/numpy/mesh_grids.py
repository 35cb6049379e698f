"""Coordinate grids: ``meshgrid``, ``indices``, ``mgrid`` and the like."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from covector.core.annotations import ArrayLike, DTypeLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, AxisError
from covector.numpy.axes import as_count, canonical_shape
from covector.numpy.promote import promote_dtypes
from covector.numpy.ranges import arange, linspace
from covector.numpy.reshaping import broadcast_to
from covector.operations.joining import Stack
from covector.operations.transposing import Reshape
from covector.transforms.vmap import vmap

__all__ = ["fromfunction", "indices", "meshgrid", "mgrid", "ogrid"]


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """The coordinates of a grid, one array for each of the vectors that span it.

    The default order exchanges the first two axes, as for pictures: ``[n₂, n₁, …]``.
    Pass ``indexing="ij"`` for arrays whose axis k belongs to vector k.

    Args:
      xi: vectors ``[n₁], [n₂], …``, or numbers.
      copy: must be True: arrays do not share memory that could be written to.
      sparse: leave axes along which a coordinate does not change at length 1.
      indexing: ``"ij"`` for the shape ``[n₁, n₂, …]``; ``"xy"`` for ``[n₂, n₁, …]``.

    Returns:
      A list of arrays, as many as vectors.

    Raises:
      AxisError: a vector has more than one axis.
      ArgumentError: ``indexing`` is neither.

    >>> x, y = meshgrid(arange(2), arange(3), indexing="ij")
    >>> x.tolist(), y.tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])

    See also: ``mgrid``, ``ix_``, ``indices``.
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(
            f"meshgrid: indexing must be 'xy' or 'ij', but got {indexing!r}."
        )
    if not copy:
        raise ArgumentError("meshgrid cannot give views of its arguments: copy=False.")
    vectors = [as_array(x, "meshgrid") for x in xi]
    for x in vectors:
        if x.type.ndim > 1:
            raise AxisError(f"meshgrid needs vectors, but got {x.type}.")
    positions = list(range(len(vectors)))
    if indexing == "xy" and len(positions) > 1:
        positions[:2] = 1, 0
    lengths = [1] * len(vectors)
    for x, position in zip(vectors, positions, strict=True):
        lengths[position] = x.type.size
    out = []
    for x, position in zip(vectors, positions, strict=True):
        along = tuple([n if k == position else 1 for k, n in enumerate(lengths)])
        repeated = Reshape(along)(x)
        out.append(repeated if sparse else broadcast_to(repeated, tuple(lengths)))
    return tuple(out)


@overload
def indices(
    dimensions: Sequence[int],
    dtype: DTypeLike | None = None,
    sparse: Literal[False] = False,
) -> Array: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Any:
    """The indices of every element of an array of the given shape.

    Returns:
      ``[ndim, *dimensions]``; with ``sparse`` a tuple of arrays that broadcast to it.

    >>> print(indices((2, 2))[0])
    [[0 0]
     [1 1]]
    """
    shape = canonical_shape("indices", dimensions, "dimensions")
    shape = tuple([as_count("indices", n, "dimensions") for n in shape])
    axes = [arange(n, dtype=int if dtype is None else dtype) for n in shape]
    grid = meshgrid(*axes, indexing="ij", sparse=sparse)
    if sparse:
        return grid
    if not grid:
        return arange(0, dtype=int if dtype is None else dtype)
    return Stack(0)(*grid)


def fromfunction(
    function: Callable[..., Any],
    shape: ShapeLike,
    *,
    dtype: DTypeLike = float,
    **kwargs: Any,
) -> Array:
    """An array of the values of a function at each index.

    Args:
      function: takes one index per axis, and ``**kwargs``.
      dtype: of the indices.

    >>> print(fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int))
    [[ 0  1  2]
     [10 11 12]]
    """
    lengths = canonical_shape("fromfunction", shape)

    def at(*index: Value) -> Array:
        return function(*index, **kwargs)

    for axis in reversed(range(len(lengths))):
        in_axes = tuple([0 if k == axis else None for k in range(len(lengths))])
        at = vmap(at, in_axes=in_axes)
    return at(*[arange(n, dtype=dtype) for n in lengths])


class _Grid:
    """The class of ``mgrid`` and ``ogrid``: slices as index give coordinates."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name = name
        self.sparse = sparse

    def __repr__(self) -> str:
        return f"covector.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._axis(key)
        if not key:
            return () if self.sparse else arange(0)
        axes = promote_dtypes(self.name, *[self._axis(k) for k in key])
        grid = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        return tuple(grid) if self.sparse else Stack(0)(*grid)

    def _axis(self, key: slice) -> Any:
        start = 0 if key.start is None else key.start
        step = 1 if key.step is None else key.step
        if key.stop is None:
            raise ArgumentError(f"{self.name} needs slices with an end, but got {key}.")
        if isinstance(step, complex):
            return linspace(start, key.stop, int(abs(step)))
        return arange(start, key.stop, step)


#: ``mgrid[0:2, 0:3]``: the coordinates of a grid, stacked. A step such as 5j is a
#: number of points, the end being one of them.
mgrid: _Grid = _Grid("mgrid", sparse=False)
#: ``ogrid[0:2, 0:3]``: as ``mgrid``, in arrays that broadcast to the grid
ogrid: _Grid = _Grid("ogrid", sparse=True)
