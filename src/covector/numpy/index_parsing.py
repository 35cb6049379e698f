"""Index parsing: the selection that ``x[index]`` means, from types alone.

An index is read in two steps. ``canonical_index`` brings it to one form: integers,
spans (slices that can be hashed), None, Ellipsis, and integer arrays, into which masks
turn. ``select`` says what that selects, as a value that is kept for the next index of
its kind:

    x[2, 1:9:2, i, None, j]      x: f32[4,9,5,6], i: i32[3,1], j: i32[7]
      │    │    │         └ taken by arrays, which broadcast together: batch (3, 7)
      │    └ starts, lengths and steps: the region in which the rest happens
      └ dropped: one element, and no axis in the result

Where the axes of the batch stand in the result is NumPy's rule: integers and arrays
that stand side by side leave it in their index; when a slice or None is between, it is
in front.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import ConcreteArray, from_host
from covector.core.array_like import Array, link
from covector.core.convert import as_array, from_numpy
from covector.core.host_values import plain
from covector.core.trace import Tracer
from covector.core.types import ArrayType, Shape, as_size, broadcast_shapes, show_types
from covector.errors import (
    DTypeError,
    InvalidIndex,
    NonConcreteBooleanIndexError,
    TracerIntegerConversionError,
    TypeMismatch,
    how_many,
)
from covector.operations.casting import convert
from covector.operations.transposing import Reshape


class Span(NamedTuple):
    """A slice, as a value that can be hashed."""

    start: int | None
    stop: int | None
    step: int | None


WHOLE = Span(None, None, None)
#: the classes of bounds that need not be looked at, and the spans between such
_KNOWN = frozenset({int, type(None)})
_span = lru_cache(8192)(Span)


@dataclass(frozen=True, eq=False)
class Selection:
    """The selection that an index makes in arrays of one shape."""

    #: the region that slices and integers select, per axis of the array
    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    #: axes indexed by integers, which disappear
    dropped: tuple[int, ...]
    #: axes indexed by integer arrays, in the order of the arrays
    taken: tuple[int, ...]
    #: the shape to which those broadcast, and its first axis in the result without None
    batch: Shape
    batch_at: int
    #: the shape of the result
    shape: Shape
    #: an integer lies outside the array (and ``starts`` has the nearest that does not)
    outside: bool

    @property
    def is_block(self) -> bool:
        """Whether the region has no gaps and runs forwards."""
        return self.steps == (1,) * len(self.steps)

    @property
    def window(self) -> tuple[int, ...]:
        """The axes of the array that remain axes of the result."""
        gone = {*self.dropped, *self.taken}
        return tuple([k for k in range(len(self.starts)) if k not in gone])


def canonical_index(x: Value, index: Any) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """The array, the index in the form that ``select`` takes, and its integer arrays.

    An array among the entries is represented by its type. The array indexed changes
    only where a scalar mask needs an axis to be an index of.
    """
    if type(index) is tuple:
        parts = [_entry(e, k, x.type, True) for k, e in enumerate(index)]
    else:
        part = _entry(index, 0, x.type)
        if not isinstance(part, Array):
            return x, (part,), []
        parts = [part]
    arrays = [p for p in parts if isinstance(p, Array)]
    if not arrays:
        return x, tuple(parts), arrays
    if dtypes.bool_ in [a.type.dtype for a in arrays]:
        x, parts = _replace_masks(x, parts)
        arrays = [p for p in parts if isinstance(p, Array)]
    return x, tuple([p.type if isinstance(p, Array) else p for p in parts]), arrays


def _entry(entry: Any, position: int, type_: ArrayType, beside: bool = False) -> Any:
    """One entry of an index as an integer, a Span, None, Ellipsis or an array.

    A sequence is an array where it is an entry ``beside`` others, in a tuple.
    """
    if type(entry) is int or entry is None or entry is Ellipsis:
        return entry
    if type(entry) is slice:
        bounds = (entry.start, entry.stop, entry.step)
        if not _KNOWN.issuperset(map(type, bounds)):
            return Span(*[_bound(b, entry, position, type_) for b in bounds])
        return _span(*bounds)
    if type(entry) is ConcreteArray and not entry.type.ndim and entry.on_host():
        entry = np.asarray(entry.host())
    array: Any
    if isinstance(entry, Array):
        array = entry
    elif isinstance(entry, bool | np.ndarray | np.generic):
        values = plain(entry)
        if values.ndim == 0 and values.dtype.kind in "iu":
            return int(values)
        if values.dtype.kind not in "biu":
            raise InvalidIndex(_not_an_index(entry, position, type_))
        array = from_numpy(values)
    else:
        return _foreign_entry(entry, position, type_, beside)
    if not (array.type.dtype is dtypes.bool_ or dtypes.is_integer(array.type.dtype)):
        raise InvalidIndex(_not_an_index(entry, position, type_))
    return array


def _foreign_entry(entry: Any, position: int, type_: ArrayType, beside: bool) -> Any:
    """``_entry`` of what is an array of another library, an integer of another class,
    or a sequence.
    """
    if hasattr(entry, "__array__") or hasattr(entry, "__dlpack__"):
        return _entry(as_array(entry), position, type_)
    if hasattr(entry, "__index__"):
        return as_size(entry)
    if beside and isinstance(entry, list | tuple):
        return _entry(_listed(entry, position, type_), position, type_)
    raise InvalidIndex(_not_an_index(entry, position, type_))


def _listed(entry: Any, position: int, type_: ArrayType) -> Any:
    """A sequence of integers or bools, as an array."""
    try:
        array = link.numpy.asarray(entry)
    except (DTypeError, TypeMismatch):
        raise InvalidIndex(_not_an_index(entry, position, type_)) from None
    return array if array.type.size else convert(array, dtypes.int32)


def _not_an_index(entry: Any, position: int, type_: ArrayType) -> str:
    wanted = "integers, slices, None, `...`, and arrays of integers or bools"
    message = f"{type_} cannot be indexed with {entry!r} at position {position}: "
    if isinstance(entry, list):
        return (
            f"{message}a list is not an index by itself, for long ones are slow to "
            "convert, and in a tuple only one of integers or bools. Write "
            "x[covector.numpy.array(...)], or a tuple for one entry per axis."
        )
    if hasattr(entry, "dtype"):
        message = message.replace(repr(entry), f"an array of dtype {entry.dtype}")
        return f"{message}an index is made of {wanted}. For integers, use .astype(int)."
    return f"{message}an index is made of {wanted}, not of {type(entry).__name__}."


def _bound(bound: Any, entry: slice, position: int, type_: ArrayType) -> int | None:
    """One bound of a slice, which must be known."""
    if bound is None or type(bound) is int:
        return bound
    try:
        return as_size(bound)
    except TracerIntegerConversionError:
        raise InvalidIndex(
            f"the slice at position {position} of an index of {type_} has a traced "
            f"bound ({bound.type}), so its length, which is a shape, is not known. For "
            "a slice of known length, use covector.lax.dynamic_slice_in_dim(x, start, "
            "length); for one that varies, covector.numpy.where with a comparison of "
            "arange."
        ) from None
    except TypeError:
        raise InvalidIndex(
            f"the slice at position {position} of an index of {type_} needs integers "
            f"or None, but got {entry!r}."
        ) from None


# -- masks -----------------------------------------------------------------------------


def _replace_masks(x: Value, parts: list[Any]) -> tuple[Any, list[Any]]:
    """Masks replaced by the integer arrays of the indices where they are true."""
    axis, shape, replaced = 0, list(x.type.shape), []
    used = sum([_axes_used(p) for p in parts])
    for position, part in enumerate(parts):
        if not _is_mask(part):
            replaced.append(part)
            axis += x.type.ndim - used if part is Ellipsis else _axes_used(part)
            continue
        if isinstance(part, Tracer):
            raise NonConcreteBooleanIndexError(_traced_mask(part, x.type))
        mask = np.asarray(part.host())
        if not mask.ndim:
            shape.insert(axis + len(shape) - x.type.ndim, 1)
            replaced.append(from_host(np.zeros(int(mask), np.int32)))
            continue
        covered = x.type.shape[axis : axis + mask.ndim]
        # An axis of length 0 selects nothing of any other.
        if len(covered) < mask.ndim or any(
            [m not in (0, n) for m, n in zip(mask.shape, covered, strict=True)]
        ):
            raise InvalidIndex(
                f"the mask at position {position} of an index of {x.type} has the "
                f"shape {mask.shape}, but the axes it stands for have the shape "
                f"{covered}."
            )
        replaced += [from_host(i.astype(np.int32)) for i in mask.nonzero()]
        axis += mask.ndim
    return (Reshape(tuple(shape))(x) if len(shape) > x.type.ndim else x), replaced


def _axes_used(part: Any) -> int:
    """The number of axes that an entry stands for; Ellipsis takes the rest."""
    if part is None or part is Ellipsis:
        return 0
    return part.type.ndim if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    """Whether an entry is an array of bools."""
    return isinstance(part, Array) and part.type.dtype is dtypes.bool_


def _traced_mask(mask: Tracer, type_: ArrayType) -> str:
    return (
        f"{type_} was indexed with a traced mask ({mask.type}), so how many elements "
        f"that selects, which is a shape, is not known. {mask.origin()} To replace "
        "elements use covector.numpy.where(mask, new, x) or x.at[mask].set(new); to "
        "reduce them, x.sum(where=mask); to list them, covector.numpy.nonzero(mask, "
        "size=...)."
    )


# -- meaning ---------------------------------------------------------------------------


@lru_cache(8192)
def select(type_: ArrayType, index: tuple[Any, ...]) -> Selection:
    """The selection of a canonical index in an array of this type."""
    items = one_per_axis(type_, index)
    starts, lengths, steps = [], [], []
    dropped, taken = [], []
    outside = False
    for item in items:
        if item is None:
            continue
        axis = len(starts)
        n = type_.shape[axis]
        start, length, step = 0, n, 1
        if isinstance(item, int):  # perhaps a symbolic size
            start, length = _nearest(item, axis, type_), 1
            outside = outside or not -n <= item < n
            dropped.append(axis)
        elif type(item) is Span:
            start, length, step = _region(item, axis, type_)
        else:
            taken.append(axis)
        starts.append(start)
        lengths.append(length)
        steps.append(step)
    batch = _batch(type_, [i for i in items if type(i) is ArrayType])
    shape, batch_at = _result_shape(items, lengths, batch)
    return Selection(
        tuple(starts),
        tuple(lengths),
        tuple(steps),
        tuple(dropped),
        tuple(taken),
        batch,
        batch_at,
        shape,
        outside,
    )


def one_per_axis(type_: ArrayType, index: Sequence[Any]) -> list[Any]:
    """The entries with Ellipsis spelled out: one for each axis, and Nones."""
    used = sum([_axes_used(i) for i in index])
    if used > type_.ndim:
        raise InvalidIndex(
            f"too many indices: {type_} has {how_many(type_.ndim, 'axis', 'axes')}, "
            f"but the index has {how_many(used, 'entry', 'entries')} that each stand "
            "for one."
        )
    dots = [k for k, i in enumerate(index) if i is Ellipsis]
    if len(dots) > 1:
        raise InvalidIndex(
            f"an index of {type_} may contain `...` once, but it is at positions "
            f"{dots}."
        )
    rest = [WHOLE] * (type_.ndim - used)
    if not dots:
        return [*index, *rest]
    return [*index[: dots[0]], *rest, *index[dots[0] + 1 :]]


def _nearest(i: int, axis: int, type_: ArrayType) -> int:
    """An integer counted from the front, or the nearest inside the axis."""
    n = type_.shape[axis]
    if n == 0:
        raise InvalidIndex(
            f"axis {axis} of {type_} has no element {i}: its length is 0."
        )
    i = i + n if i < 0 else i
    i = i if i <= n - 1 else n - 1
    return i if i >= 0 else 0


def _region(span: Span, axis: int, type_: ArrayType) -> tuple[int, int, int]:
    """First element, number of elements and step of a slice; step 1 for at most one."""
    if span.step == 0:
        raise InvalidIndex(f"the slice along axis {axis} of {type_} has the step 0.")
    n = type_.shape[axis]
    if not _KNOWN.issuperset(map(type, (*span, n))):
        return _symbolic_region(span, n)
    positions = range(*slice(*span).indices(n))
    if len(positions) < 2:
        return (positions.start if positions else 0), len(positions), 1
    return positions.start, len(positions), positions.step


def _symbolic_region(span: Span, n: int) -> tuple[int, int, int]:
    """The same where the length, or a bound, is a symbolic size."""
    step = 1 if span.step is None else span.step
    first, last = (0, n) if step > 0 else (n - 1, -1)

    def inside(bound: int | None, default: int) -> int:
        if bound is None:
            return default
        bound = bound + n if bound < 0 else bound
        low, high = min(first, last), n if step > 0 else n - 1
        bound = bound if bound >= low else low
        return bound if bound <= high else high

    start, stop = inside(span.start, first), inside(span.stop, last)
    ahead = stop - start if step > 0 else start - stop
    if ahead <= 0 if type(ahead) is int else False:
        return start, 0, 1
    return start, (ahead + abs(step) - 1) // abs(step), step


def _batch(type_: ArrayType, arrays: list[ArrayType]) -> Shape:
    """The shape to which the index arrays broadcast."""
    try:
        return broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise InvalidIndex(
            f"the arrays in an index of {type_} must broadcast together, but they are "
            f"{show_types(arrays)}."
        ) from None


def _result_shape(
    items: list[Any], lengths: list[int], batch: Shape
) -> tuple[Shape, int]:
    """The shape of the result, and where among its axes that are not new the batch
    is.
    """
    by_array = any(type(i) is ArrayType for i in items)
    advanced = [k for k, i in enumerate(items) if isinstance(i, int | ArrayType)]
    together = by_array and advanced == list(range(advanced[0], advanced[-1] + 1))
    shape: list[int] = []
    batch_at = new_before = axis = 0
    for k, item in enumerate(items):
        if together and k == advanced[0]:
            batch_at, new_before = len(shape), sum([i is None for i in items[:k]])
        if item is None:
            shape.append(1)
            continue
        if type(item) is Span:
            shape.append(lengths[axis])
        axis += 1
    shape[batch_at:batch_at] = batch if by_array else ()
    return tuple(shape), batch_at - new_before
