"""``pad``: arrays extended at both ends of each axis."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.host_values import plain
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, how_many
from covector.numpy import reductions
from covector.numpy.concatenation import concatenate
from covector.numpy.creation import asarray
from covector.numpy.indexing import index
from covector.numpy.order_statistics import median
from covector.numpy.reduction_base import mean_dtype, working_dtype
from covector.numpy.reshaping import broadcast_to
from covector.numpy.statistics import mean
from covector.numpy.vectorize import apply_along_axis
from covector.operations.casting import convert, in_dtype
from covector.operations.creation import Iota
from covector.operations.rounding import Round, RoundingMethod, floor
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Rev

__all__ = ["pad"]

#: the keywords that each mode takes, and their defaults
KEYWORDS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}

Width = tuple[int, int]


def pad(
    array: Any,
    pad_width: Any,
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """``array`` with elements, by default zeros, put around it along each axis.

    Args:
      pad_width: how many: a number, ``(before, after)``, or such a pair for each axis;
        or a dictionary from axes to either. Not negative, and known under ``jit``.
      mode: what they are: ``"constant"``: ``constant_values``, given in the same form
        as ``pad_width``; ``"edge"``: the nearest element; ``"empty"``: zeros;
        ``"linear_ramp"``: a ramp that ends with ``end_values``; ``"maximum"``,
        ``"minimum"``, ``"mean"``, ``"median"``: that of the nearest ``stat_length``
        elements, or of all; ``"reflect"``, ``"symmetric"``: a mirror image, without the
        edge and with it, or for ``reflect_type="odd"`` its point reflection;
        ``"wrap"``: the other end; or a function of a padded row, its widths ``(before,
        after)``, the axis and the keywords, which returns the row filled.
      kwargs: ``constant_values`` and the others named above.

    Returns:
      An array of the dtype of ``array``, longer by both widths along each axis.

    Raises:
      ArgumentError: a width is negative, or the mode or a keyword is not known.

    >>> import covector.numpy as cnp
    >>> print(cnp.pad(cnp.array([1, 2, 3]), (1, 2), mode="wrap"))
    [3 1 2 3 1 2]
    >>> cnp.pad(cnp.ones((2, 3)), ((0, 0), (1, 1))).shape
    (2, 5)

    See also: ``lax.pad`` (also cuts and spaces out), ``concatenate``, ``roll``.
    """
    x = as_array(array, "pad")
    widths = _widths(pad_width, x.type.ndim)
    if callable(mode):
        return _pad_by(mode, _pad_constant(x, widths, 0), widths, kwargs)
    if mode not in KEYWORDS:
        raise ArgumentError(
            f"pad: mode must be one of {tuple(KEYWORDS)}, but got {mode!r}."
        )
    unknown = set(kwargs) - set(KEYWORDS[mode])
    if unknown:
        raise ArgumentError(
            f"pad with mode={mode!r} takes the keywords {tuple(KEYWORDS[mode])}, but "
            f"got {tuple(sorted(unknown))}."
        )
    options = KEYWORDS[mode] | kwargs
    if mode == "constant":
        return _pad_constant(x, widths, options["constant_values"])
    if mode == "empty":
        return _pad_constant(x, widths, 0)
    option = next(iter(options.values()), None)
    for axis, width in enumerate(widths):
        if width != (0, 0):
            x = _pad_axis(x, axis, width, mode, option)
    return x


def _widths(given: Any, ndim: int) -> list[Width]:
    """The numbers of elements before and after, for each axis."""
    if isinstance(given, dict):
        found = [(0, 0)] * ndim
        for axis, width in given.items():
            found[operator.index(axis)] = _pair(width)
        return found
    symbolic = _symbolic_widths(given, ndim)
    if symbolic is not None:
        return symbolic
    values = plain(given)
    if values.dtype.kind not in "iu":
        raise DTypeError(
            f"pad needs integers for pad_width, but got {given!r} of dtype "
            f"{values.dtype}."
        )
    pairs = _pairs("pad_width", values, ndim)
    if ndim and values.size and values.min() < 0:
        raise ArgumentError(
            f"pad needs widths that are not negative, but got {given!r}. To cut "
            "elements off, use a slice."
        )
    return [(int(before), int(after)) for before, after in pairs]


def _symbolic_widths(given: Any, ndim: int) -> list[Width] | None:
    """Widths of which one is a symbolic size, which NumPy would take for a number; None
    if there is none.
    """
    leaves = tree.leaves(given)
    if not any([isinstance(n, int) and type(n) not in (int, bool) for n in leaves]):
        return None
    if isinstance(given, int):
        return [(given, given)] * ndim
    if len(given) == 2 and all([isinstance(n, int) for n in given]):
        given = [given]
    rows = [[n] if isinstance(n, int) else [*n] for n in given]
    pairs: list[Width] = [(row[0], row[-1]) for row in rows]
    if len(pairs) not in (1, ndim) or min(map(min, pairs)) < 0:
        raise ArgumentError(
            f"pad of {how_many(ndim, 'axis', 'axes')} needs for pad_width a number of "
            "0 or more, (before, after), or such a pair for each axis, but got "
            f"{given}."
        )
    return pairs * ndim if len(pairs) == 1 else pairs


def _pair(width: Any) -> Width:
    before, after = np.broadcast_to(plain(width), (2,))
    return int(before), int(after)


def _pairs(name: str, values: HostArray | Array, ndim: int) -> Any:
    """A number, a pair, or a pair for each axis, as a pair for each axis."""
    if not ndim:
        return []
    if values.shape not in ((), (1,), (2,), (1, 2), (ndim, 2), (ndim, 1)):
        raise ArgumentError(
            f"pad of {how_many(ndim, 'axis', 'axes')} needs for {name} a number, "
            "(before, after), or such a pair for each axis, but got the shape "
            f"{values.shape}."
        )
    if isinstance(values, Array):
        return broadcast_to(values, (ndim, 2))
    return np.broadcast_to(values, (ndim, 2))


def _pad_constant(x: Value, widths: list[Width], given: Any) -> Any:
    """``x`` between copies of constants: one for all, or one for each end of each
    axis.
    """
    if not isinstance(given, list | tuple) and not np.ndim(given):
        value = in_dtype(given, x.type.dtype, "pad")
        return Pad(tuple([(before, after, 0) for before, after in widths]))(x, value)
    values = _for_each_end("constant_values", given, x)
    for axis, width in enumerate(widths):
        for side, count in enumerate(width):
            config = [(0, 0, 0)] * x.type.ndim
            config[axis] = (0, count, 0) if side else (count, 0, 0)
            x = Pad(tuple(config))(x, index(values, (axis, side)))
    return x


def _for_each_end(name: str, given: Any, x: Value) -> Any:
    """Numbers in the element type of ``x``: ``[axes, 2]``."""
    values = convert(asarray(given), x.type.dtype)
    return _pairs(name, values, x.type.ndim)


def _pad_by(
    fill: Callable[..., Any], x: Value, widths: list[Width], kwargs: dict[str, Any]
) -> Any:
    """Rows filled by a function of the user's, one axis after the other."""
    for axis, width in enumerate(widths):
        x = apply_along_axis(fill, axis, x, width, axis, kwargs)
    return x


def _pad_axis(x: Value, axis: int, width: Width, mode: Any, option: Any) -> Array:
    """``x`` padded along one axis, by a mode that looks at the elements there."""
    n = x.type.shape[axis]
    if not n:
        raise ArgumentError(
            f"pad with mode={mode!r} of {x.type} along axis {axis}, of length 0: there "
            "is no element to pad with."
        )
    if mode == "linear_ramp":
        ends = _for_each_end("end_values", option, x)
        parts = [_ramp(x, axis, width[k], index(ends, (axis, k)), k) for k in (0, 1)]
    elif mode in _STATISTICS:
        lengths = _statistic_lengths(option, x.type.ndim)[axis]
        parts = [_level(x, axis, width[k], mode, lengths[k], k) for k in (0, 1)]
    elif option == "odd" and n > 1:
        return _reflect_oddly(x, axis, width, mode)
    else:
        near = _stand_in(n, (0, 0) if mode == "edge" else width)
        positions = np.pad(np.arange(near), width, mode=mode)
        before, after = positions[: width[0]], positions[width[0] + near :]
        parts = [_elements(x, axis, p, near) for p in (before, after)]
    return concatenate([parts[0], x, parts[1]], axis)


def _stand_in(n: int, width: Width) -> int:
    """A length that shows which elements to pad with: where it is symbolic, a known
    one, of which each half is longer than the widths.
    """
    if type(n) is int:
        return n
    most = max(width) + 1
    if not n >= most:
        raise ArgumentError(
            f"pad by {width} of an axis of length {n} needs a length of at least "
            f"{most}, so that it is known which elements to pad with."
        )
    return 2 * most


def _part(x: Value, axis: int, start: int, stop: int) -> Array:
    low, limit = [0] * x.type.ndim, list(x.type.shape)
    low[axis], limit[axis] = start, stop
    return Slice(tuple(low), tuple(limit))(x)


def _elements(x: Value, axis: int, positions: np.ndarray, near: int) -> Array:
    """The elements at known indices along an axis, run by run: no gather is needed.

    The indices are those of an axis of length ``near``: if it is another, those of its
    second half are counted from the end.
    """
    parts = [_part(x, axis, 0, 0)]
    more = x.type.shape[axis] - near
    start = 0
    while start < len(positions):
        rest = np.diff(positions[start:])
        step = int(rest[0]) if len(rest) and abs(rest[0]) <= 1 else 1
        broken = np.flatnonzero(rest != step)
        count = int(broken[0]) + 1 if len(broken) else len(rest) + 1
        first, last = int(positions[start]), int(positions[start + count - 1])
        low, high = min(first, last), max(first, last) + 1
        if more != 0 and low >= near // 2:
            low, high = low + more, high + more
        part = _part(x, axis, low, high)
        if step == 0:
            part = broadcast_to(part, _with_length(x.type, axis, count))
        parts.append(Rev((axis,))(part) if step < 0 else part)
        start += count
    return concatenate(parts, axis)


def _with_length(type_: ArrayType, axis: int, length: int) -> tuple[int, ...]:
    return (*type_.shape[:axis], length, *type_.shape[axis + 1 :])


def _reflect_oddly(x: Value, axis: int, width: Width, mode: str) -> Any:
    """Point reflections at both ends, as often as the widths need."""
    before, after = width
    skip = 1 if mode == "reflect" else 0
    while before or after:
        n = x.type.shape[axis]
        left, right = min(before, n - skip), min(after, n - skip)
        first, last = _part(x, axis, 0, 1), _part(x, axis, n - 1, n)
        low = Rev((axis,))(_part(x, axis, skip, skip + left))
        high = Rev((axis,))(_part(x, axis, n - skip - right, n - skip))
        x = concatenate([2 * first - low, x, 2 * last - high], axis)
        before, after = before - left, after - right
    return x


def _ramp(x: Value, axis: int, count: int, end: Any, side: int) -> Any:
    """Equal steps from the end value to the edge, which is not repeated."""
    dtype = working_dtype(mean_dtype(x.type.dtype))
    n = x.type.shape[axis]
    edge = _part(x, axis, n - 1, n) if side else _part(x, axis, 0, 1)
    edge, end = convert(edge, dtype), convert(end, dtype)
    shape = _with_length(x.type, axis, count)
    steps = Iota(dtypes.float32, shape, axis)() / max(count, 1)
    ramp = end + (edge - end) * convert(steps, dtype)
    if not dtypes.is_inexact(x.type.dtype):
        ramp = floor(ramp)
    ramp = convert(ramp, x.type.dtype)
    return Rev((axis,))(ramp) if side else ramp


_STATISTICS = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": mean,
    "median": median,
}


def _statistic_lengths(option: Any, ndim: int) -> list[tuple[int | None, int | None]]:
    if option is None:
        return [(None, None)] * ndim
    values = _pairs("stat_length", plain(option), ndim)
    return [(int(before), int(after)) for before, after in values]


def _level(
    x: Value, axis: int, count: int, mode: str, length: int | None, side: int
) -> Any:
    """One statistic of the elements at an end, repeated."""
    n = x.type.shape[axis]
    near = n if length is None else min(length, n)
    part = _part(x, axis, n - near, n) if side else _part(x, axis, 0, near)
    level = _STATISTICS[mode](part, axis, keepdims=True)
    if not dtypes.is_inexact(x.type.dtype) and mode in ("mean", "median"):
        level = Round(RoundingMethod.TO_NEAREST_EVEN)(level)
    level = convert(level, x.type.dtype)
    return broadcast_to(level, _with_length(x.type, axis, count))
