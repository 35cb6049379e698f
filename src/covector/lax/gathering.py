"""Gather and scatter: reading and writing windows at indices given by an array.

``GatherDimensionNumbers`` and ``ScatterDimensionNumbers`` say which axes are which,
``mode`` what becomes of windows outside the operand. Indexing with arrays, ``x[i]`` and
``x.at[i]``, is written in these and easier to read.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.types import show_types
from covector.errors import TypeMismatch
from covector.lax.slicing import like
from covector.numpy.axes import canonical_axes, canonical_shape
from covector.numpy.indexing import joined_positions, modulo
from covector.numpy.updating import access_mode, fill_text
from covector.numpy.writing import apply_scattered
from covector.operations.arithmetic import neg
from covector.operations.gathering import Gather, ScatterAdd, Scattering
from covector.operations.scattering import Scatter, ScatterMax, ScatterMin, ScatterMul
from covector.operations.transposing import Reshape
from covector.operations.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from covector.transforms.vmap import vmap

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The windows of ``operand`` at the indices that ``start_indices`` names.

    Args:
      start_indices: ``[..., k]``: one index for each of the axes ``start_index_map``.
      slice_sizes: the length of a window along each axis of the operand.
      unique_indices, indices_are_sorted: promises that may make it faster.
      mode: of windows outside: ``"clip"`` (default), ``"fill"``,
        ``"promise_in_bounds"``.
      fill_value: by default NaN, the least integer (the largest if unsigned), or True.

    Returns:
      The axes ``offset_dims`` are those of a window; the others, in order, those of
      ``start_indices`` but the last.

    Raises:
      TypeMismatch: the numbers of axes or the sizes do not fit; the message says which.
      DTypeError: the indices are not integers.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(8).reshape(4, 2)
    >>> rows = GatherDimensionNumbers((1,), (0,), (0,))
    >>> gather(x, cnp.array([[3], [1]]), rows, (1, 2)).tolist()
    [[6, 7], [2, 3]]

    See also: ``scatter``, ``dynamic_slice``, ``covector.numpy.take``.
    """
    x = as_array(operand, "gather")
    take = Gather(
        GatherDimensionNumbers(*map(tuple, dimension_numbers)),
        canonical_shape("gather", slice_sizes, "slice_sizes"),
        bool(indices_are_sorted),
        bool(unique_indices),
        access_mode(mode, GatherScatterMode.CLIP),
        fill_text(fill_value, x.type.dtype),
    )
    return take(x, as_array(start_indices, "gather"))


def index_take(src: ArrayLike, idxs: Sequence[Value], axes: Sequence[int]) -> Array:
    """Elements at ``idxs[k]`` along ``axes[k]``, which become the axes of the indices.

    The indices have one shape. They are taken modulo the length of their axis.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(6).reshape(2, 3)
    >>> index_take(x, (cnp.array([0, 1]), cnp.array([2, -2])), (0, 1)).tolist()
    [2, 4]
    """
    x = as_array(src, "index_take")
    axes = canonical_axes("index_take", axes, x.type.ndim, "axes")
    indices = [as_array(i, "index_take") for i in idxs]
    if not indices or len(indices) != len(axes):
        raise TypeMismatch(
            f"index_take needs indices for each of the axes {axes}, but got "
            f"{len(indices)}."
        )
    kinds = {i.type.shape for i in indices}, {i.type.dtype for i in indices}
    if len(kinds[0]) > 1 or not all(map(dtypes.is_integer, kinds[1])):
        raise TypeMismatch(
            "index_take needs integer indices of one shape, but got "
            f"{show_types([i.type for i in indices])}."
        )
    positions = [modulo(i, x.type.shape[a]) for i, a in zip(indices, axes, strict=True)]
    batch = positions[0].type.shape
    window = range(len(batch), len(batch) + x.type.ndim - len(axes))
    numbers = GatherDimensionNumbers(tuple(window), tuple(sorted(axes)), axes)
    sizes = tuple([1 if a in axes else n for a, n in enumerate(x.type.shape)])
    return Gather(numbers, sizes)(x, joined_positions(positions, batch))


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with windows at the indices that ``scatter_indices`` names replaced.

    Where windows overlap, one of the updates wins: the last on CPUs, any on others.

    Args:
      scatter_indices: as ``start_indices`` of ``gather``.
      updates: of the dtype of the operand, and the shape of what a gather of these
        windows gives.
      indices_are_sorted, unique_indices: promises that may make it faster;
        ``unique_indices`` also makes derivatives shorter.
      mode: of windows outside: ``"drop"`` (default), ``"clip"``,
        ``"promise_in_bounds"``.

    Raises:
      TypeMismatch: shapes, dtypes or numbers of axes do not fit.
      DTypeError: the indices are not integers.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[3], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter(cnp.zeros(4, int), where, cnp.array([5, 6]), numbers).tolist()
    [0, 6, 0, 5]
    """
    return _scatter(
        Scatter,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


@with_parameters_of(scatter)
def scatter_add(*args: Any, **options: Any) -> Array:
    """``scatter`` that adds the updates, each as often as its index is named.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_add(cnp.ones(3, int), where, cnp.array([5, 6]), numbers).tolist()
    [1, 12, 1]
    """
    return _scatter(ScatterAdd, *args, **options)


@with_parameters_of(scatter)
def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    *args: Any,
    **options: Any,
) -> Array:
    """``scatter`` that subtracts the updates, each as often as its index is named.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_sub(cnp.ones(3, int), where, cnp.array([5, 6]), numbers).tolist()
    [1, -10, 1]
    """
    x = as_array(operand, "scatter_sub")
    negative = neg(like(x, updates, "scatter_sub"))
    return _scatter(ScatterAdd, x, scatter_indices, negative, *args, **options)


@with_parameters_of(scatter)
def scatter_mul(*args: Any, **options: Any) -> Array:
    """``scatter`` that multiplies by the updates, each as often as its index is named.

    Raises:
      NotDifferentiable: of a derivative with respect to the updates where
        ``unique_indices`` is not promised.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_mul(cnp.ones(3, int), where, cnp.array([5, 6]), numbers).tolist()
    [1, 30, 1]
    """
    return _scatter(ScatterMul, *args, **options)


@with_parameters_of(scatter)
def scatter_min(*args: Any, **options: Any) -> Array:
    """``scatter`` that keeps the smaller of old elements and updates.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_min(cnp.zeros(3, int), where, cnp.array([5, -6]), numbers).tolist()
    [0, -6, 0]
    """
    return _scatter(ScatterMin, *args, **options)


@with_parameters_of(scatter)
def scatter_max(*args: Any, **options: Any) -> Array:
    """``scatter`` that keeps the larger of old elements and updates.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_max(cnp.zeros(3, int), where, cnp.array([5, -6]), numbers).tolist()
    [0, 5, 0]
    """
    return _scatter(ScatterMax, *args, **options)


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with a function of scalars applied to the elements of windows.

    It is applied to an element as often as its index is named. ``unique_indices`` says
    that this is once, which is quicker.

    Args:
      func: from one scalar of the dtype of the operand to another.
      update_shape: the shape of what a gather of these windows gives.

    >>> import covector.numpy as cnp
    >>> where, numbers = cnp.array([[1], [1]]), ScatterDimensionNumbers((), (0,), (0,))
    >>> x = cnp.array([3, 4])
    >>> scatter_apply(x, where, lambda x: 10 * x, numbers, update_shape=(2,)).tolist()
    [3, 400]
    """
    who = "scatter_apply"
    x, indices = as_array(operand, who), as_array(scatter_indices, who)
    options = indices_are_sorted, unique_indices, mode
    write = _writing(Scatter, dimension_numbers, *options)
    shape = canonical_shape(who, update_shape)

    def apply(values: Value) -> Array:
        return Reshape(shape)(vmap(func)(Reshape((prod(shape),))(values)))

    return apply_scattered(write, x, indices, shape, apply)


def _writing(
    kind: type[Scattering],
    dimension_numbers: Any,
    indices_are_sorted: Any = False,
    unique_indices: Any = False,
    mode: Any = None,
) -> Any:
    """The operation with these parameters."""
    return kind(
        ScatterDimensionNumbers(*map(tuple, dimension_numbers)),
        bool(indices_are_sorted),
        bool(unique_indices),
        GatherScatterMode.from_any(mode),
    )


def _scatter(
    kind: type[Scattering],
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    **options: Any,
) -> Array:
    x = as_array(operand, kind.__name__)
    write = _writing(kind, dimension_numbers, **options)
    return write(x, as_array(scatter_indices, write.name), like(x, updates, write.name))
