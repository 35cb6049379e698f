"""``x.at[index].set(v)``: a copy of ``x`` with the elements at an index changed.

    integers, slices forwards     a block is replaced
    slices with gaps, backwards   padding, and a choice
    scalar integer arrays         a block is replaced, if it lies inside
    integer arrays                one scatter
    masks                         a choice, also where the mask is traced

Changes outside the array are dropped, unless the mode says otherwise. Inside ``jit``,
and where ``x`` is not used afterwards, no copy is made.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypedDict, Unpack

import numpy as np

from covector import options
from covector.core import dtypes
from covector.core.array_like import Array, link
from covector.core.convert import as_array, scalar
from covector.core.promotion import promote, python_scalar_type
from covector.errors import ArgumentError, IntegerOverflow
from covector.numpy.axes import placed
from covector.numpy.index_parsing import canonical_index, select
from covector.numpy.indexing import (
    CLIP,
    FILL_OR_DROP,
    Access,
    index,
    read,
)
from covector.numpy.masking import check_known, only_mask, spread_mask, spread_values
from covector.numpy.writing import (
    ADD,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    SET,
    Change,
    write,
)
from covector.ops.arithmetic import neg
from covector.ops.broadcasting import filled
from covector.ops.casting import convert
from covector.ops.selection import where
from covector.ops.windows import GatherScatterMode


class How(TypedDict, total=False):
    """The keywords that the methods of ``Place`` take."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: str | GatherScatterMode | None
    wrap_negative_indices: bool
    out_sharding: Any


class At:
    """What ``x.at`` is: index it to name the elements to change."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, idx: Any) -> "Place":
        return Place(self.array, idx)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


def at(x: Any) -> At:
    """What ``x.at`` is for an array; see ``Place`` for what can be done with it.

    >>> import covector.numpy as cnp
    >>> print(at(cnp.zeros(3))[1].set(5.0))
    [0. 5. 0.]
    """
    return At(as_array(x, "at"))


class Place:
    """Elements of an array, named by an index: ``x.at[index]``.

    Each method returns a new array and leaves ``x`` as it is. Values broadcast to the
    shape of ``x[index]`` and take the element type of ``x``. Where an index occurs
    several times, ``add`` and the like take each value into account, and of those that
    ``set`` gives one wins, it is not said which.

    The methods take, as keywords:

      indices_are_sorted, unique_indices: promises about arrays of indices, which can
        make the change faster; where they are broken, the result is arbitrary.
      mode: what happens outside the array, after negative indices have been counted
        from the end: ``"drop"`` (also spelled ``"fill"``, the default) changes nothing,
        ``"clip"`` changes the nearest element, ``"promise_in_bounds"`` says that it
        does not occur.
      wrap_negative_indices: False keeps negative indices in arrays outside.
      out_sharding: where the result is to be.

    >>> import covector.numpy as cnp
    >>> x = cnp.zeros(4)
    >>> print(x.at[cnp.array([1, 1, 9])].add(2.0))
    [0. 4. 0. 0.]
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, idx: Any) -> None:
        self.array = array
        self.index = idx

    def __repr__(self) -> str:
        return f"Place({self.array!r}, {self.index!r})"

    def set(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements replaced."""
        return update(self.array, self.index, SET, values, **how)

    def add(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with values added to these elements."""
        return update(self.array, self.index, ADD, values, **how)

    def subtract(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with values subtracted from these elements."""
        values = _values(values, self.array.type)
        return update(self.array, self.index, ADD, neg(values), **how)

    def multiply(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements multiplied."""
        return update(self.array, self.index, MULTIPLY, values, **how)

    mul = multiply

    def divide(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements divided; integers become floating-point numbers."""
        return self.array / self._of_ones(values, how)

    def power(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements raised to powers."""
        return self.array ** self._of_ones(values, how)

    def _of_ones(self, values: Any, how: How) -> Array:
        """Ones with these elements multiplied."""
        ones = filled(1, self.array.type.strong())
        return update(ones, self.index, MULTIPLY, values, **how)

    def min(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements replaced where a value is smaller."""
        return update(self.array, self.index, MINIMUM, values, **how)

    def max(self, values: Any, **how: Unpack[How]) -> Array:
        """``x`` with these elements replaced where a value is larger."""
        return update(self.array, self.index, MAXIMUM, values, **how)

    def apply(self, func: Callable[[Array], Array], **how: Unpack[How]) -> Array:
        """``x`` with a function applied to these elements, once to each.

        The function is called with arrays and must treat each element by itself.
        """
        x = self.array
        change = Change(lambda old, _: convert(as_array(func(old)), x.type.dtype))
        return update(x, self.index, change, scalar(1, x.type.dtype), **how)

    def get(self, *, fill_value: Any = None, **how: Unpack[How]) -> Array:
        """``x[index]``, with a choice of what is read outside the array.

        Args:
          mode: ``"clip"``, the default, reads the nearest element; ``"fill"`` or
            ``"drop"`` the fill value; ``"promise_in_bounds"`` says that it does not
            occur.
          fill_value: a number; by default NaN, the least integer of the element type
            (the largest if that is 0), or True.

        >>> import covector.numpy as cnp
        >>> print(cnp.arange(3.0).at[cnp.array([1, 7])].get(mode="fill"))
        [ 1. nan]
        """
        access = _access(CLIP, fill_text(fill_value), **how)
        x, parts, arrays = canonical_index(self.array, self.index)
        selection = select(x.type, parts)
        if arrays or selection.outside:
            found = read(x, selection, arrays, access)
        else:
            found = index(self.array, self.index)
        return placed(found, how.get("out_sharding"))


def _access(
    default: GatherScatterMode,
    fill: int | str | None = None,
    *,
    mode: Any = None,
    out_sharding: Any = None,
    **promises: Any,
) -> Access:
    """How places are taken, from the keywords of a method."""
    unknown = promises.keys() - How.__annotations__.keys()
    if unknown:
        raise ArgumentError(
            f"the methods of x.at[...] take the keywords {tuple(How.__annotations__)}, "
            f"but got {tuple(sorted(unknown))}."
        )
    return Access(access_mode(mode, default), fill, **promises)


def access_mode(mode: Any, default: GatherScatterMode) -> GatherScatterMode:
    """The mode of this name, or the one meant by None."""
    return default if mode is None else GatherScatterMode.from_any(mode)


def fill_text(value: Any) -> int | str | None:
    """A fill value as operations keep it: None, an integer, or the text of a number."""
    if value is None:
        return None
    number = np.asarray(as_array(value, "fill_value")).item()
    return int(number) if isinstance(number, bool | int) else repr(number)


def update(x: Any, idx: Any, change: Change, values: Any, **how: Unpack[How]) -> Any:
    """``x`` with the elements at an index changed."""
    out = _update(x, idx, change, values, _access(FILL_OR_DROP, **how) if how else DROP)
    return placed(out, how.get("out_sharding"))


def _update(x: Any, idx: Any, change: Change, values: Any, access: Access) -> Any:
    values = _values(values, x.type)
    masked = only_mask(x.type, idx)
    if masked is not None:
        found = spread_values(values, *masked, x.type)
        if found is not None:
            return _update_masked(x, *masked, change, found)
        check_known(masked[0], values, x.type)
    base, parts, arrays = canonical_index(x, idx)
    out = write(base, parts, arrays, change, values, access)
    return out.reshape(x.type.shape) if base is not x else out


DROP = Access(FILL_OR_DROP)


def _update_masked(x: Any, mask: Any, axis: int, change: Change, values: Any) -> Any:
    """A choice between the elements changed and the elements as they are."""
    mask = spread_mask(mask, axis, x.type.shape)
    if change.scatter is None:
        # The function need not be defined at the elements that do not change.
        return where(mask, change(where(mask, x, values), values), x)
    return where(mask, change(x, values), x)


def _values(values: Any, type_: Any) -> Any:
    """The values in the element type of the array they go into."""
    x64 = options.current().enable_x64
    if type(values) in (bool, int, float):
        _warn_if_lost(type_.dtype, *python_scalar_type(values, x64))
        try:
            return scalar(values, type_.dtype)
        except IntegerOverflow:  # wraps around, as it does for arrays
            pass
    if isinstance(values, list | tuple):
        values = link.numpy.array(values)
    values = as_array(values, "an update of an array")
    _warn_if_lost(type_.dtype, values.type.dtype, values.type.weak)
    return convert(values, type_.dtype)


def _warn_if_lost(dtype: Any, given: Any, weak: bool) -> None:
    if given is not dtype and not _is_kept(dtype, given, weak, options.current()):
        warnings.warn(
            f"values of element type {dtypes.short_name(given)} go into an array of "
            f"{dtypes.short_name(dtype)}, which cannot hold them all: convert them "
            "with .astype to say that it is meant, or the array to hold them.",
            FutureWarning,
            stacklevel=4,
        )


@lru_cache(1024)
def _is_kept(dtype: Any, given: Any, weak: bool, opts: options.Options) -> bool:
    """Whether promotion of the two leaves ``dtype`` as it is."""
    together, _ = promote(
        (dtype, False), (given, weak), x64=opts.enable_x64, mode="standard"
    )
    return together == dtype
