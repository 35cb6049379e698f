"""``PartitionSpec``: the mesh axes over which each axis of an array is partitioned.

P('x', None, ('y', 'z'))    axis 0 over x, axis 1 not at all, axis 2 over y and z
P('x')                      what is not mentioned is not partitioned
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from covector.errors import ShardingError


class _Unconstrained:
    """The entry of an array axis that the compiler may shard as it likes."""

    def __repr__(self) -> str:
        return "P.UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


@dataclass(frozen=True)
class SubAxis:
    """A sub-axis of a mesh axis: of its digits, some in the middle.

    An axis of size 8 is three digits of size 2. The sub-axis with ``before=2, size=2``
    is the second: a factor of 2 before it, 2 of its own, and 2 after it. No user writes
    one; the compiler may shard the axis of a result like this.
    """

    axis: Any
    before: int
    size: int

    def __repr__(self) -> str:
        return f"{self.axis}:({self.before}){self.size}"


#: the mesh axes for one axis of an array: several, one, or None
Entry: TypeAlias = Hashable | tuple[Hashable, ...]

_SEQUENCES: tuple[type, ...] = (list, tuple)


def _entry(entry: Any) -> Entry:
    """An entry in its one form: a tuple of one name is that name, of none is None."""
    if not isinstance(entry, _SEQUENCES):
        return entry
    if not entry:
        return None
    return entry[0] if len(entry) == 1 else tuple(entry)


class PartitionSpec:
    """The mesh axes over which each axis of an array is partitioned.

    ``covector.P`` is its short name. With a mesh it makes a ``NamedSharding``;
    ``shard_map`` takes it as it is. Axes of the array after the last entry are
    replicated, so ``P()`` replicates the whole array.

    Each entry is for one axis of the array: None (replicated), the name of a mesh
    axis, a tuple of such names (the first one outermost), or ``P.UNCONSTRAINED`` (as
    the compiler likes; in constraints only). A spec is a leaf of pytrees.

    >>> P = PartitionSpec
    >>> P("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))

    See also: ``NamedSharding``, ``covector.shard_map``.
    """

    __slots__ = ("partitions",)

    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Entry, ...]

    def __init__(
        self, *partitions: Any, unreduced: Any = (), reduced: Any = ()
    ) -> None:
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if axes:
                raise ShardingError(
                    f"PartitionSpec got {name}={axes!r}, but arrays whose shards are "
                    "yet to be summed over devices are not there: types of arrays do "
                    "not say shardings. Sum inside shard_map, with covector.lax.psum, "
                    "or leave it to the compiler."
                )
        for entry in partitions:
            if isinstance(entry, PartitionSpec):
                raise ShardingError(
                    "PartitionSpec needs names of mesh axes, tuples of names and None, "
                    f"but got the spec {entry}. To write out a spec: P(*spec)."
                )
        object.__setattr__(self, "partitions", tuple([_entry(e) for e in partitions]))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self} is a constant: make another with spec.update()")

    def axes(self, dim: int) -> tuple[Hashable, ...]:
        """The mesh axes that axis ``dim`` of an array is partitioned over."""
        entry = self.partitions[dim] if dim < len(self.partitions) else None
        if entry is None or entry is UNCONSTRAINED:
            return ()
        return entry if type(entry) is tuple else (entry,)

    def names(self) -> list[Hashable]:
        """All names in the spec, in order, as often as they occur."""
        return [name for dim in range(len(self)) for name in self.axes(dim)]

    @property
    def is_open(self) -> bool:
        """Whether some axis is left to the compiler."""
        return UNCONSTRAINED in self.partitions

    def update(self, partitions: Any = None) -> "PartitionSpec":
        """The spec with other entries."""
        return self if partitions is None else PartitionSpec(*partitions)

    # -- as a sequence -----------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*other, *self.partitions)

    def index(self, value: Any) -> int:
        """The first axis of an array with this entry."""
        return self.partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        """The number of axes of an array that have this entry."""
        return self.partitions.count(_entry(value))

    # -- as a value --------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __reduce__(self) -> tuple[Any, ...]:
        return (PartitionSpec, self.partitions)

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self.partitions))})"
