"""``x.at[index].set(v)``: functional updates of elements at an index.

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
from covector.core.annotations import ArrayLike, DType, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array, link
from covector.core.convert import as_array, python_scalar, scalar
from covector.core.number_info import can_cast_losslessly, iinfo
from covector.core.promotion import operand_type, promote
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.source import user_level
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.numpy.axes import with_out_sharding
from covector.numpy.index_parsing import Span, canonical_index, one_per_axis, select
from covector.numpy.indexing import CLIP, FILL_OR_DROP, Access, index, modulo, read
from covector.numpy.masking import (
    broadcast_mask,
    broadcast_values,
    check_known,
    only_mask,
)
from covector.numpy.powers import power
from covector.numpy.promote import bound_in, inexact_dtype, number
from covector.numpy.writing import ADD, MAXIMUM, MINIMUM, MULTIPLY, SET, Change, write
from covector.operations.arithmetic import div, neg
from covector.operations.broadcasting import filled
from covector.operations.casting import convert, in_dtype
from covector.operations.selection import where
from covector.operations.windows import GatherScatterMode

WRAP = "wrap"


class UpdateOptions(TypedDict, total=False):
    """The keyword arguments of the methods of ``IndexUpdate``."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: str | GatherScatterMode | None
    wrap_negative_indices: bool
    out_sharding: Any


class At:
    """The class of ``x.at``: indexing it names the elements to change."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array: Array = array

    def __getitem__(self, idx: Any) -> "IndexUpdate":
        return IndexUpdate(self.array, idx)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


def at(x: Value) -> At:
    """``x.at`` of an array; its methods are those of ``IndexUpdate``.

    >>> import covector.numpy as cnp
    >>> print(at(cnp.zeros(3))[1].set(5.0))
    [0. 5. 0.]
    """
    return At(as_array(x, "at"))


class IndexUpdate:
    """Elements of an array, named by an index: ``x.at[index]``.

    Each method returns a new array and leaves ``x`` as it is. Values broadcast to the
    shape of ``x[index]``. Elements and values are promoted, combined, and cast to the
    element type of ``x`` as by ``astype``; a FutureWarning says where that cannot hold
    all values, and a Python integer that it does not have raises IntegerOverflow. Where
    an index occurs several times, ``add`` and the like take each value into account,
    and of those that ``set`` gives one wins, it is not said which.

    The methods take, as keywords:

      indices_are_sorted, unique_indices: promises about arrays of indices, which can
        make the change faster; where they are broken, the result is arbitrary.
      mode: what happens outside the array, after negative indices have been counted
        from the end: ``"drop"`` (also spelled ``"fill"``, the default) changes nothing,
        ``"clip"`` changes the nearest element, ``"wrap"`` counts on from the other end,
        ``"promise_in_bounds"`` says that it does not occur.
      wrap_negative_indices: False keeps negative indices in arrays outside.
      out_sharding: where the result is to be.

    >>> import covector.numpy as cnp
    >>> x = cnp.zeros(4)
    >>> print(x.at[cnp.array([1, 1, 9])].add(2.0))
    [0. 4. 0. 0.]
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, idx: Any) -> None:
        self.array: Array = array
        self.index: Any = idx

    def __repr__(self) -> str:
        return f"IndexUpdate({self.array!r}, {self.index!r})"

    def set(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements replaced."""
        return update(self.array, self.index, SET, values, **how)

    def add(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with values added to these elements."""
        return update(self.array, self.index, ADD, values, **how)

    def subtract(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with values subtracted from these elements."""
        values = _operand(values, self.array.type, ADD, warns=False)  # but update does
        return update(self.array, self.index, ADD, neg(values), **how)

    def multiply(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements multiplied."""
        return update(self.array, self.index, MULTIPLY, values, **how)

    mul = multiply

    def divide(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements divided; integers become floating-point numbers."""
        x = self.array
        x = convert(x, inexact_dtype(x.type.dtype, x.type.weak))
        values = _operand(values, x.type, MULTIPLY)
        divisors = self._of_ones(values, how)
        quotients = div(convert(x, divisors.type.dtype), divisors)
        return convert(quotients, x.type.dtype)

    def power(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements raised to powers; bools become integers."""
        x = number("power", self.array)
        values = _operand(_exponent(values, x.type.dtype), x.type, MULTIPLY)
        exponents = self._of_ones(values, how)
        common = exponents.type.dtype
        powers = convert(power(convert(x, common), exponents), x.type.dtype)
        if can_cast_losslessly(x.type.dtype, common):
            return powers
        changed = filled(False, x.type.with_dtype(dtypes.bool_).strong())
        return where(update(changed, self.index, SET, True, **how), powers, x)

    def _of_ones(self, values: Array, how: UpdateOptions) -> Array:
        """Ones, of the dtype of the values, with these elements multiplied by them."""
        ones = filled(1, self.array.type.with_dtype(values.type.dtype).strong())
        return update(ones, self.index, MULTIPLY, values, **how)

    def min(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements replaced where a value is smaller."""
        return update(self.array, self.index, MINIMUM, values, **how)

    def max(self, values: Any, **how: Unpack[UpdateOptions]) -> Array:
        """``x`` with these elements replaced where a value is larger."""
        return update(self.array, self.index, MAXIMUM, values, **how)

    def apply(
        self, func: Callable[[Array], Array], **how: Unpack[UpdateOptions]
    ) -> Array:
        """``x`` with a function applied to these elements, once for each time an
        element is named.

        The function is called with arrays and must treat each element by itself.
        """
        x = self.array
        change = Change(lambda old, _: in_dtype(func(old), x.type.dtype, "apply"))
        return update(x, self.index, change, scalar(1, x.type.dtype), **how)

    def get(self, *, fill_value: Any = None, **how: Unpack[UpdateOptions]) -> Array:
        """``x[index]``, with a choice of values outside the array.

        Args:
          mode: ``"clip"``, the default, reads the nearest element; ``"fill"`` or
            ``"drop"`` the fill value; ``"wrap"`` counts on from the other end;
            ``"promise_in_bounds"`` says that it does not occur.
          fill_value: a number, cast as by ``astype``; by default NaN, the least integer
            of the element type (the largest if that is 0), or True.

        >>> import covector.numpy as cnp
        >>> print(cnp.arange(3.0).at[cnp.array([1, 7])].get(mode="fill"))
        [ 1. nan]
        """
        access = _access(CLIP, fill_text(fill_value, self.array.type.dtype), **how)
        x, parts, arrays = _canonical(self.array, self.index, how.get("mode"))
        selection = select(x.type, parts)
        if arrays or selection.outside:
            found = read(x, selection, arrays, access)
        else:
            found = index(
                x, tuple([slice(*p) if type(p) is Span else p for p in parts])
            )
        return with_out_sharding(found, how.get("out_sharding"))


def _access(
    default: GatherScatterMode,
    fill: int | str | None = None,
    *,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike | None = None,
    **promises: Any,
) -> Access:
    """The ``Access`` that the keywords of a method ask for."""
    unknown = promises.keys() - UpdateOptions.__annotations__.keys()
    if unknown:
        raise ArgumentError(
            "the methods of x.at[...] take the keywords "
            f"{tuple(UpdateOptions.__annotations__)}, but got {tuple(sorted(unknown))}."
        )
    if mode == WRAP:  # brought inside before: nothing is outside
        return Access(CLIP, fill, **promises)
    return Access(access_mode(mode, default), fill, **promises)


def _canonical(
    x: Value, idx: Any, mode: str | GatherScatterMode | None
) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """``canonical_index``; for ``mode="wrap"`` with all indices inside."""
    x, parts, arrays = canonical_index(x, idx)
    if mode != WRAP:
        return x, parts, arrays
    given, axis, wrapped = iter(arrays), 0, []
    for part in one_per_axis(x.type, parts):
        n = max(1 if part is None else x.type.shape[axis], 1)
        axis += part is not None
        if type(part) is ArrayType:
            wrapped.append(modulo(next(given), n))
        else:
            wrapped.append(part % n if type(part) is int else part)
    arrays = [p for p in wrapped if isinstance(p, Array)]
    return x, tuple([p.type if isinstance(p, Array) else p for p in wrapped]), arrays


def access_mode(
    mode: str | GatherScatterMode | None, default: GatherScatterMode
) -> GatherScatterMode:
    """The mode of this name, or the one meant by None."""
    return default if mode is None else GatherScatterMode.from_any(mode)


def fill_text(value: Any, dtype: DType) -> int | str | None:
    """A fill value for this dtype as operations keep it: None, an integer (for keys,
    that of their bits), or the text of a number.
    """
    if value is None:
        return None
    if dtypes.is_key(dtype) or dtypes.is_key(getattr(value, "dtype", dtype)):
        fill = as_array(value, "fill_value")
        if fill.type.dtype is not dtype:
            raise DTypeError(
                f"fill_value must be of the kind of the array: of {fill.type} and the "
                f"dtype {dtypes.short_name(dtype)} one is for random keys."
            )
        if isinstance(fill, ConcreteArray):
            return int(fill.host())
    given = in_dtype(value, dtype, "fill_value")
    if given.type.ndim:
        raise TypeMismatch(f"fill_value must be a scalar, but got {given.type}.")
    number = np.asarray(given).item()
    return int(number) if isinstance(number, bool | int) else repr(number)


def update(
    x: Value, idx: Any, change: Change, values: ArrayLike, **how: Unpack[UpdateOptions]
) -> Array:
    """``x`` with the elements at an index changed."""
    if not how:
        return _update(x, idx, change, values)
    access = _access(FILL_OR_DROP, **how)
    out = _update(x, idx, change, values, access, how.get("mode"))
    return with_out_sharding(out, how.get("out_sharding"))


DROP = Access(FILL_OR_DROP)
#: changes for which a number need not fit the element type
_OF_BOUNDS = (MINIMUM, MAXIMUM)


@lru_cache(256)
def _takes(dtype: DType, kind: type) -> bool:
    """Whether arrays of this dtype take numbers of Python of this type, whatever the
    options say about promotion.
    """
    if kind is int:
        return dtypes.is_integer(dtype) or dtypes.is_inexact(dtype)
    of_floats = kind is float and dtypes.is_inexact(dtype)
    return of_floats or (kind is complex and dtypes.is_complex(dtype))


def _update(
    x: Value,
    idx: Any,
    change: Change,
    values: ArrayLike,
    access: Access = DROP,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    if _takes(x.type.dtype, type(values)) and change not in _OF_BOUNDS:
        values = scalar(values, x.type.dtype, True)
    else:
        values = _operand(values, x.type, change)
    if type(idx) is int and mode != WRAP:
        return write(x, (idx,), [], change, values, access)
    masked = only_mask(x.type, idx)
    if masked is not None:
        found = broadcast_values(values, *masked, x.type)
        if found is not None:
            return _update_masked(x, *masked, change, found)
        check_known(masked[0], values, x.type)
    base, parts, arrays = _canonical(x, idx, mode)
    out = write(base, parts, arrays, change, values, access)
    return out.reshape(x.type.shape) if base is not x else out


def _update_masked(
    x: Value, mask: Value, axis: int, change: Change, values: Value
) -> Any:
    """A choice between changed and unchanged elements."""
    mask = broadcast_mask(mask, axis, x.type.shape)
    if change.scatter is None:
        # The function need not be defined at the elements that do not change.
        return where(mask, change(where(mask, x, values), values), x)
    return where(mask, change(x, values), x)


def _operand(
    values: ArrayLike, type_: ArrayType, change: Change, warns: bool = True
) -> Array:
    """The values in the dtype in which the elements meet them, or are replaced."""
    now = options.current()
    if isinstance(values, list | tuple):
        values = link.numpy.array(values)
    kind = type(values)
    is_number = kind in (bool, int, float, complex)
    of_numpy = isinstance(values, np.ndarray | np.generic) and not is_number
    if not (is_number or of_numpy):
        values = as_array(values, "an update of an array")
    given, weak = operand_type(kind if is_number else values, now.enable_x64)
    if given is type_.dtype:
        common = given
    else:
        common, _ = promote(
            (type_.dtype, False),
            (given, weak),
            x64=now.enable_x64,
            mode=now.numpy_dtype_promotion,
        )
        if warns and common != type_.dtype:
            _warn_of_loss(type_.dtype, given)
    if change is MINIMUM or change is MAXIMUM:
        values = bound_in(values, common, upper=change is MINIMUM)
    dtype = type_.dtype if change.combine is None else common
    if of_numpy and not dtypes.is_inexact(dtype):
        values = as_array(values, "an update of an array")  # which fits, or raises
    return in_dtype(values, dtype, "an update of an array", weak)


def _exponent(value: Any, dtype: DType) -> Any:
    """An exponent, which need not fit the integers that are raised to it."""
    if type(value) is not int or not dtypes.is_integer(dtype):
        return value
    limits = iinfo(dtype)
    if limits.min <= value <= limits.max:
        return value
    return convert(
        python_scalar(value), dtypes.default_int(options.current().enable_x64)
    )


def _warn_of_loss(dtype: DType, given: Any) -> None:
    warnings.warn(
        f"an update cannot safely cast values of {dtypes.short_name(given)} to the "
        f"{dtypes.short_name(dtype)} of the array, which cannot hold them all: convert "
        "them with .astype to say that it is meant, or the array to hold them.",
        FutureWarning,
        stacklevel=user_level(),
    )
