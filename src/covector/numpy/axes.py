"""Normalization of axis arguments: one, several or all, counted from either end.

``canonical_axis`` and ``canonical_axes`` turn them into numbers from 0 to ndim − 1, or
say what is wrong with them; ``canonical_shape`` does the same for lengths. Also here:
the words for arguments that NumPy has and immutable arrays cannot honour.
"""

from typing import Any

from covector.core.annotations import Axes
from covector.core.array import ConcreteArray
from covector.core.flat import describe_given
from covector.core.sharding.shardings import NamedSharding
from covector.core.types import as_size
from covector.errors import (
    ArgumentError,
    AxisError,
    ConcretizationTypeError,
    ImmutableArrayError,
    InconclusiveDimensionOperation,
    how_many,
)
from covector.lowering.placement import placement_of_known


def canonical_axis(who: str, axis: Axes, ndim: int, name: str = "axis") -> int:
    """``axis`` counted from the front; negative ones count from the end."""
    k = axis if type(axis) is int else _axis(who, axis, name)
    if -ndim <= k < ndim:
        return k + ndim if k < 0 else k
    raise AxisError(
        f"{who}: {name} {k} is out of bounds for an array with "
        f"{how_many(ndim, 'axis', 'axes')}"
        + (f", which are {-ndim} to {ndim - 1}." if ndim else "; it is a scalar.")
    )


def canonical_axes(
    who: str, axes: Any, ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """Different axes counted from the front, in the order given; None stands for
    all.
    """
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, tuple | list | range):
        if getattr(axes, "ndim", 0) != 1:
            return (canonical_axis(who, axes, ndim, name),)
        axes = list(axes)
    found = tuple([canonical_axis(who, a, ndim, name) for a in axes])
    if len(set(found)) < len(found):
        raise AxisError(f"{who}: {name} {tuple(axes)} names an axis more than once.")
    return found


def as_integer(who: str, value: Any, name: str, wanted: str = "an integer") -> int:
    """An argument that Python itself needs to know, as its integer."""
    try:
        return value if type(value) is int else as_size(value)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise ArgumentError(
            f"{who}: {name} must be {wanted}, but got {describe_given(value)}."
        ) from None


def as_count(who: str, value: Any, name: str) -> int:
    """A number of something, which is an integer and not negative."""
    n = as_integer(who, value, name)
    if type(n) is int and n < 0:  # a symbolic size may not tell, and is a size
        raise ArgumentError(f"{who}: {name} must not be negative, but is {n}.")
    return n


def known_length(who: str, n: int) -> int:
    """A length of which the whole program depends, so that it cannot be a symbol."""
    if type(n) is not int:
        raise InconclusiveDimensionOperation(
            f"{who} computes another program for each length, but {n} is symbolic. "
            "Export the function for lengths that are known, or pass what it makes as "
            "an argument."
        )
    return n


def _axis(who: str, axis: Any, name: str) -> int:
    if isinstance(axis, bool):  # Python takes True for 1
        raise ArgumentError(
            f"{who}: {name} must be an integer or a tuple of integers, but got {axis} "
            "of type bool. Arguments after it are best given by name, as in "
            "keepdims=True."
        )
    return _integer(who, axis, name)


def _integer(who: str, value: Any, name: str) -> int:
    return as_integer(who, value, name, "an integer or a tuple of integers")


_INTEGERS = frozenset({int})


def canonical_shape(who: str, shape: Any, name: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple of Python integers; one integer is a shape of one axis."""
    if type(shape) is tuple and _INTEGERS.issuperset(map(type, shape)):
        return shape
    if type(shape) is not tuple and not isinstance(shape, list):
        if getattr(shape, "ndim", 0) == 0 and hasattr(shape, "__index__"):
            return (as_size(shape),)
        try:
            shape = tuple(shape)
        except TypeError:
            shape = (shape,)
    return tuple([n if type(n) is int else _size(who, n, name) for n in shape])


def _size(who: str, n: Any, name: str) -> int:
    known = isinstance(n, int) and type(n) is not bool
    return n if known else _integer(who, n, name)


def with_out_sharding(x: Any, sharding: Any) -> Any:
    """``x`` where the caller wants the result: on a device, or as a sharding says.

    The sharding of a type, where no mesh is in force, asks for nothing:
    ``out_sharding=typeof(y).sharding`` is written for both cases.
    """
    if sharding is None or (type(sharding) is NamedSharding and sharding.mesh.empty):
        return x
    return x.to_device(sharding)


def beside(who: str, x: Any, *operands: Any) -> Any:
    """``x``, known whatever the operands' values are, where the user put those."""
    known = [v for v in operands if type(v) is ConcreteArray]
    where = placement_of_known(known, who)
    return x if where is None else x.to_device(where)


def check_no_out(who: str, out: Any) -> None:
    """Raise when NumPy's ``out`` argument is used: arrays are never written to."""
    if out is not None:
        raise ImmutableArrayError(
            f"{who} has no place to write to: arrays are immutable, so `out` cannot be "
            f"given. Use what {who} returns."
        )


def check_not_inplace(who: str, inplace: bool) -> None:
    """Raise where a function is to write to its argument, as NumPy's does."""
    if inplace:
        raise ImmutableArrayError(
            f"{who} cannot change its first argument: arrays are immutable. With "
            "inplace=False it returns the changed array."
        )
