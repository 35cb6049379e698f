"""Take and put: elements at indices along one axis, or at flat indices.

Indices outside the array read a fill value (NaN, the least integer, …) and change
nothing, unless ``mode`` says otherwise:

    "fill" "drop"   that, and the default; negative indices count from the end
    "clip"          the nearest index inside; to ``take`` and ``put`` negative ones are
                    before the first
    "wrap"          indices repeat with the length of the axis
"""

from functools import lru_cache
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.trace import Tracer
from covector.core.types import ArrayType, Shape
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    InvalidIndex,
    TypeMismatch,
)
from covector.numpy.axes import canonical_axis, check_no_out, check_not_inplace
from covector.numpy.index_parsing import WHOLE, select
from covector.numpy.indexing import (
    CLIP,
    FILL_OR_DROP,
    Access,
    counted,
    modulo,
    nothing,
    read,
)
from covector.numpy.promote import broadcast, broadcast_to, promote_dtypes
from covector.numpy.reshaping import ravel, reshape, resize
from covector.numpy.updating import access_mode, at, fill_text
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.extrema import clamp
from covector.operations.gathering import Gather
from covector.operations.selection import select_n
from covector.operations.transposing import Reshape
from covector.operations.windows import GatherDimensionNumbers, wide

__all__ = [
    "choose",
    "put",
    "put_along_axis",
    "take",
    "take_along_axis",
]


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of ``a`` at ``indices`` along ``axis``.

    An index outside raises no error: the default mode gives NaN there, or the smallest
    signed or largest unsigned integer, while ``a[indices]`` takes the nearest element.

    Args:
      indices: integers of any shape, which takes the place of the axis in the result.
      axis: None takes from ``a`` raveled.
      out: must be None.
      mode: ``"fill"`` (the default), ``"clip"``, ``"wrap"`` or ``"promise_in_bounds"``.
        Negative indices count from the end, but ``"clip"`` makes them 0.
      unique_indices, indices_are_sorted: promises; if broken, the result is arbitrary.
      fill_value: what is read outside.

    Returns:
      An array of the dtype of ``a``, in which the axes of ``indices`` stand for
      ``axis``.

    Raises:
      DTypeError: the indices are not integers.

    >>> import covector.numpy as cnp
    >>> print(cnp.take(cnp.array([5.0, 6.0]), cnp.array([1, -1, 7])))
    [ 6.  6. nan]

    See also: ``take_along_axis``, ``compress``, ``choose``.
    """
    check_no_out("take", out)
    x = as_array(a, "take")
    if axis is None:
        x, axis = ravel(x), 0
    k = canonical_axis("take", axis, x.type.ndim)
    positions = _integers("take", indices)
    if not x.type.shape[k] and positions.type.size and mode != "fill":
        raise InvalidIndex(
            f"take from {x.type} along axis {k}, of length 0: there is no element. "
            "With mode='fill' a fill value is read."
        )
    access = Access(
        FILL_OR_DROP,
        fill_text(fill_value, x.type.dtype),
        indices_are_sorted,
        unique_indices,
    )
    positions, access = _by_mode("take", positions, x.type.shape[k], mode, access)
    if access.mode is CLIP:  # NumPy's: a negative index is one before the first
        access = access._replace(wrap_negative_indices=False)
    selection = select(x.type, ((WHOLE,) * k + (positions.type,)))
    return read(x, selection, [positions], access)


def _integers(who: str, indices: ArrayLike, bools: bool = True) -> Array:
    positions = as_array(indices, who)
    if bools and dtypes.is_bool(positions.type.dtype):
        return convert(positions, dtypes.int32)
    if not dtypes.is_integer(positions.type.dtype):
        raise DTypeError(
            f"{who} needs integers for indices, but got {positions.type}. To truncate "
            "them, use .astype(int)."
        )
    return positions


def _by_mode(
    who: str, positions: Any, n: int, mode: str | None, access: Access
) -> tuple[Any, Access]:
    """The indices to read with an axis of length ``n``, and how."""
    if mode == "raise":
        raise ArgumentError(
            f"{who} cannot raise for indices that may be traced. Modes are 'fill', "
            "'clip', 'wrap' and 'promise_in_bounds'."
        )
    if mode == "wrap":
        return modulo(positions, max(n, 1)), access._replace(mode=CLIP)
    return positions, access._replace(mode=access_mode(mode, FILL_OR_DROP))


# -- one index for each ----------------------------------------------------------------


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Elements along ``axis``, at indices that differ along the other axes.

    For matrices and ``axis=1``, ``result[i, j] = arr[i, indices[i, j]]``.

    Args:
      arr: the array.
      indices: as many axes as ``arr``, and along all but ``axis`` lengths that
        broadcast to its; ``argsort`` and ``argmax`` with keepdims give such.
      axis: an axis, or None to take from ``arr`` raveled.
      mode: ``"fill"`` (the default), ``"clip"``, ``"wrap"`` or ``"promise_in_bounds"``.
      fill_value: what is read outside; NaN by default.
      wrap_negative_indices: False makes negative indices lie outside.

    Returns:
      An array of the shape of ``indices``, broadcast, and of the dtype of ``arr``.

    Raises:
      TypeMismatch: the indices have other axes, as a vector for a matrix.
      DTypeError: the indices are not integers.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([[3, 1, 2], [6, 5, 4]])
    >>> cnp.take_along_axis(x, cnp.argmin(x, 1, keepdims=True), 1).tolist()
    [[1], [4]]

    See also: ``take`` (the same indices everywhere), ``put_along_axis``, ``argsort``.
    """
    x = as_array(arr, "take_along_axis")
    if axis is None:
        x, axis = ravel(x), 0
    positions = _integers("take_along_axis", indices, bools=False)
    k = canonical_axis("take_along_axis", axis, x.type.ndim)
    _check_along("take_along_axis", x.type, positions.type, k)
    access = Access(FILL_OR_DROP, fill_text(fill_value, x.type.dtype))
    positions, access = _by_mode(
        "take_along_axis", positions, x.type.shape[k], mode, access
    )
    if not x.type.shape[k]:
        return _nothing_along(x, positions, k, access)
    wrap = access.wrap_negative_indices and wrap_negative_indices is not False
    positions = counted(positions, x.type.shape[k], wrap)
    before, before_positions, gather = _along(x.type, positions.type, k, access)
    return gather(before(x), before_positions(positions))


def _nothing_along(x: Value, positions: Any, axis: int, access: Access) -> Any:
    """The result of ``take_along_axis`` along an axis of length 0."""
    if positions.type.size and access.mode is not FILL_OR_DROP:
        raise InvalidIndex(
            f"take_along_axis of {x.type} along axis {axis}, of length 0: there is no "
            "element. With mode='fill' a fill value is read."
        )
    own, theirs = x.type.shape, positions.type.shape
    rest = np.broadcast_shapes(_beside(own, theirs, axis), theirs)
    return nothing(x, rest, access, [positions])


def _check_along(who: str, x: ArrayType, positions: ArrayType, axis: int) -> None:
    fits = x.ndim == positions.ndim and all(
        [
            m == n or 1 in (m, n)
            for k, (m, n) in enumerate(zip(x.shape, positions.shape, strict=True))
            if k != axis
        ]
    )
    if not fits:
        raise TypeMismatch(
            f"{who} needs indices with as many axes as the array and, along all but "
            f"axis {axis}, lengths that broadcast with its, but got {x} and "
            f"{positions}."
        )


@lru_cache(4096)
def _along(x: ArrayType, positions: ArrayType, axis: int, access: Access) -> Any:
    """The reshapes of both operands, and the gather.

    Along the axes beside ``axis``, array and indices run in step; one of length 1
    against a longer one is dropped from the array, or makes a window of that axis of
    the array.
    """
    kept_x, kept_positions, sizes, windows = [], [], [], []
    batch_x, batch_positions = [], []
    for k, (m, n) in enumerate(zip(x.shape, positions.shape, strict=True)):
        if k == axis:
            at_axis = len(kept_x)
            kept_x.append(m)
            kept_positions.append(n)
            sizes.append(1)
        elif m == n:
            batch_x.append(len(kept_x))
            batch_positions.append(len(kept_positions))
            kept_x.append(m)
            kept_positions.append(n)
            sizes.append(min(1, m))
        elif n == 1:
            windows.append(k)
            kept_x.append(m)
            sizes.append(m)
        else:
            kept_positions.append(n)
    numbers = GatherDimensionNumbers(
        tuple(windows), (at_axis,), (at_axis,), tuple(batch_x), tuple(batch_positions)
    )
    gather = Gather(numbers, tuple(sizes), mode=access.mode, fill_value=access.fill)
    return Reshape(tuple(kept_x)), Reshape((*kept_positions, 1)), gather


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """``arr`` with the elements replaced that ``take_along_axis`` takes.

    Raises:
      ImmutableArrayError: without ``inplace=False``: ``arr`` itself does not change.

    >>> import covector.numpy as cnp
    >>> i = cnp.array([[2], [0]])
    >>> cnp.put_along_axis(cnp.zeros((2, 3)), i, 1.0, axis=1, inplace=False).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    check_not_inplace("put_along_axis", inplace)
    x = as_array(arr, "put_along_axis")
    if axis is None:
        changed = put_along_axis(ravel(x), indices, values, 0, False, mode=mode)
        return reshape(changed, x.type.shape)
    positions = _integers("put_along_axis", indices, bools=False)
    k = canonical_axis("put_along_axis", axis, x.type.ndim)
    _check_along("put_along_axis", x.type, positions.type, k)
    shape = _beside(x.type.shape, positions.type.shape, k)
    grid = [Iota(dtypes.int32, shape, a)() for a in range(len(shape))]
    grid[k] = broadcast_to(positions, shape)
    return at(x)[tuple(grid)].set(values, mode=mode)


def _beside(whole: Shape, positions: Shape, axis: int) -> Shape:
    """The shape of the indices, with the lengths of the array along all other axes."""
    return (*whole[:axis], positions[axis], *whole[axis + 1 :])


def put(
    a: ArrayLike,
    ind: Any,
    v: ArrayLike,
    mode: str | None = None,
    *,
    inplace: bool = True,
) -> Array:
    """``a`` with the elements at flat indices ``ind`` replaced, in order, by those of
    ``v``.

    Args:
      v: repeated if it has fewer elements than there are indices, and cut off.
      mode: ``"clip"``, the default, or ``"wrap"``.

    Raises:
      ImmutableArrayError: without ``inplace=False``: ``a`` itself does not change.

    >>> import covector.numpy as cnp
    >>> print(cnp.put(cnp.zeros(4), cnp.array([0, 2]), 7.0, inplace=False))
    [7. 0. 7. 0.]
    """
    check_not_inplace("put", inplace)
    x = as_array(a, "put")
    positions = ravel(_integers("put", ind))
    values = ravel(as_array(v, "put"))
    if not (positions.type.size and values.type.size):
        return x
    positions = _inside(positions, x.type.size, "clip" if mode is None else mode, "put")
    values = resize(values, positions.type.shape)
    return reshape(at(ravel(x))[positions].set(values), x.type.shape)


def _inside(positions: Any, n: int, mode: str, who: str) -> Array:
    """Indices brought inside an axis of length ``n``."""
    if mode == "wrap":
        return modulo(positions, max(n, 1))
    if mode == "clip":
        positions = wide(positions)
        low, high = [scalar(k, positions.type.dtype) for k in (0, max(n - 1, 0))]
        return clamp(low, positions, high)
    raise ArgumentError(f"{who}: mode must be 'clip' or 'wrap', but got {mode!r}.")


# -- choices ---------------------------------------------------------------------------


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """For each element k of ``a``, the element there of ``choices[k]``; all broadcast.

    Args:
      mode: ``"raise"``: all of ``a`` must be numbers of choices, and known; ``"clip"``:
        what is outside takes the nearest choice; ``"wrap"``: the numbers repeat.

    >>> import covector.numpy as cnp
    >>> print(cnp.choose(cnp.array([1, 0, 1]), [cnp.arange(3), -1]))
    [-1  1 -1]
    """
    check_no_out("choose", out)
    which = as_array(a, "choose")
    if not dtypes.is_integer(which.type.dtype):
        raise DTypeError(f"choose needs integers to choose by, but got {which.type}.")
    cases = promote_dtypes("choose", *choices)
    if mode == "raise":
        _check_choices(which, len(cases))
    else:
        which = _inside(which, len(cases), mode, "choose")
    which, *cases = broadcast("choose", convert(which, dtypes.int32), *cases)
    return select_n(which, *cases)


def _check_choices(which: Value, count: int) -> None:
    if isinstance(which, Tracer):
        raise ConcretizationTypeError(
            "choose with mode='raise' must know what to choose by, but got a traced "
            f"value ({which.type}). {which.origin()} Use mode='clip' or mode='wrap'."
        )
    numbers = np.asarray(which)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise ArgumentError(
            f"choose with mode='raise' needs numbers from 0 to {count - 1} to choose "
            f"by, but got some from {numbers.min()} to {numbers.max()}."
        )
