"""``ArrayType``: the abstract value of an array: shape, dtype, weakness, varying axes.

A type is a shape, an element type, whether the element type is *weak* (came from a
Python scalar and gives way to others), and over which axes of a mesh the value
*varies*: inside ``shard_map`` a value may differ between the devices along an axis, or
be known to be the same on all of them. Types are interned: equal types are one object,
so equality is identity, and a tuple of types is a dictionary key that costs nothing to
hash. They are held weakly: a type lives as long as what has it.
"""

import operator
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.errors import InconclusiveDimensionOperation, TypeMismatch

Shape = tuple[int, ...]


def as_size(n: Any) -> int:
    """``operator.index(n)``, but a symbolic size (``export/symbolic_scope.py``), which
    is an int of a class of its own, stays one.
    """
    return n if isinstance(n, int) and type(n) is not bool else operator.index(n)


def is_none(size: int) -> bool:
    """Whether a number of elements is known to be 0: a symbolic one may be."""
    return type(size) is int and not size


def min_size(m: int, n: int) -> int:
    """The smaller of two sizes. Of symbolic ones it must be known which that is, but
    not whether they are equal.
    """
    return n if _is_at_least(m, n) else m


def max_size(m: int, n: int) -> int:
    """The larger of two sizes, likewise."""
    return m if _is_at_least(m, n) else n


def _is_at_least(m: int, n: int) -> bool:
    try:
        return m >= n
    except InconclusiveDimensionOperation as undecided:
        try:
            return not m <= n
        except InconclusiveDimensionOperation:
            raise undecided from None


def broadcast_shapes(*shapes: Shape) -> Shape:
    """``np.broadcast_shapes``, which keeps symbolic sizes; a ValueError if there is
    none.
    """
    if {int}.issuperset([type(n) for shape in shapes for n in shape]):
        return np.broadcast_shapes(*shapes)
    ndim = max(map(len, shapes))
    found: list[int] = []
    for axis in range(-ndim, 0):
        sizes = [s[axis] for s in shapes if len(s) >= -axis and s[axis] != 1]
        if any([n != sizes[0] for n in sizes]):
            raise ValueError(f"{shapes} do not broadcast")
        found.append(sizes[0] if sizes else 1)
    return tuple(found)


#: no varying axes: the value is the same on all devices
INVARIANT: frozenset[Any] = frozenset()

_interned: dict[tuple[Any, ...], "_Reference"] = {}
#: Types of values on the way, which would be made again in every call: the last ones
#: made are not dropped.
_recent: deque["ArrayType"] = deque(maxlen=1024)
#: held while types are added and dropped; dropping may happen while adding
_lock = threading.RLock()
_interned_axes: dict[frozenset[Any], frozenset[Any]] = {INVARIANT: INVARIANT}


class _Links:
    """The functions of layers above, bound once."""

    #: the sharding over the mesh in force that divides none of so many axes
    undivided: Callable[[int], Any]


_links = _Links()


def bind_undivided(undivided: Callable[[int], Any]) -> None:
    """Give types their sharding."""
    _links.undivided = undivided


class _Reference(weakref.ref["ArrayType"]):
    """A type, and the keys under which it is found."""

    __slots__ = ("keys",)

    keys: list[tuple[Any, ...]]


def _drop(
    reference: _Reference, ending: Callable[[], bool] = sys.is_finalizing
) -> None:
    # What is dropped while the interpreter ends is not compared with other types, whose
    # sizes may be of classes that are gone.
    if ending():
        return
    with _lock:
        for key in reference.keys:
            if _interned.get(key) is reference:
                del _interned[key]


class ArrayType:
    """Shape, element type, weakness, and the mesh axes over which a value varies.

    ``str`` gives ``f32[4,3]``, and ``f32[4,3]{x}`` for what varies over x.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "inexact",
        "ndim",
        "shape",
        "size",
        "storage",
        "varying",
        "weak",
    )

    shape: Shape
    dtype: Any  # np.dtype or dtypes.KeyType
    weak: bool
    varying: frozenset[Any]
    #: whether the elements are real or complex floating-point numbers, the only ones
    #: that are differentiable
    inexact: bool
    ndim: int
    size: int
    #: the NumPy dtype that holds the elements; that of float0 is of no account
    storage: np.dtype

    def __new__(
        cls,
        shape: Shape,
        dtype: Any,
        weak: bool = False,
        varying: frozenset[Any] = INVARIANT,
    ) -> "ArrayType":
        key = (shape, dtype, weak, varying)
        reference = _interned.get(key)
        found = None if reference is None else reference()
        return found if found is not None else cls._interned_as(key)

    @classmethod
    def _interned_as(cls, key: tuple[Any, ...]) -> "ArrayType":
        made = cls._make(*key)
        # The same type may be asked for with other spellings of its shape and dtype.
        canonical = (made.shape, made.dtype, made.weak, made.varying)
        with _lock:
            reference = _interned.get(canonical)
            found = None if reference is None else reference()
            if found is None:
                found, reference = made, _Reference(made, _drop)
                reference.keys = [canonical]
                _interned[canonical] = reference
                _recent.append(found)
            assert reference is not None, "found, or made"
            if _interned.get(key) is not reference:
                reference.keys.append(key)
                _interned[key] = reference
        return found

    @classmethod
    def _make(
        cls, shape: Shape, dtype: Any, weak: bool, varying: frozenset[Any]
    ) -> "ArrayType":
        self = object.__new__(cls)
        self.shape = tuple([n if type(n) is int else as_size(n) for n in shape])
        self.dtype = dtypes.as_dtype(dtype)
        self.inexact = dtypes.is_inexact(self.dtype)
        self.storage = getattr(self.dtype, "storage", self.dtype)
        if self.dtype is dtypes.float0:
            self.storage = dtypes.bool_
        self.weak = weak
        self.varying = _interned_axes.setdefault(varying, varying)
        self.ndim = len(self.shape)
        size = 1
        for n in self.shape:
            size *= n
        self.size = size
        if any(n < 0 for n in self.shape):
            raise TypeMismatch(f"an array cannot have the shape {self.shape}")
        return self

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def with_shape(self, shape: Shape) -> "ArrayType":
        return ArrayType(shape, self.dtype, self.weak, self.varying)

    def without_axis(self, axis: int | None) -> "ArrayType":
        """The type of what lies along an axis, of one lane of a batch; for None, it
        itself.
        """
        if axis is None:
            return self
        return self.with_shape(self.shape[:axis] + self.shape[axis + 1 :])

    def with_axis(self, axis: int, size: int) -> "ArrayType":
        """The type of ``size`` values of this type, along a new axis."""
        return self.with_shape((*self.shape[:axis], size, *self.shape[axis:]))

    def with_dtype(self, dtype: Any, weak: bool = False) -> "ArrayType":
        return ArrayType(self.shape, dtype, weak, self.varying)

    def with_varying(self, axes: frozenset[Any]) -> "ArrayType":
        """This type, of a value that varies over these axes and no others."""
        if axes == self.varying:
            return self
        return ArrayType(self.shape, self.dtype, self.weak, axes)

    def strong(self) -> "ArrayType":
        """This type, no longer giving way to others."""
        if not self.weak:
            return self
        return ArrayType(self.shape, self.dtype, False, self.varying)

    def tangent(self) -> "ArrayType":
        """The type of derivatives of values of this type (float0 if none exist)."""
        dtype = dtypes.tangent_dtype(self.dtype)
        return ArrayType(self.shape, dtype, False, self.varying)

    # The names by which the ecosystem knows these facts.
    @property
    def weak_type(self) -> bool:
        return self.weak

    @property
    def vma(self) -> frozenset[Any]:
        return self.varying

    def update(
        self,
        *,
        shape: Shape | None = None,
        dtype: Any = None,
        weak_type: bool | None = None,
        vma: frozenset[Any] | None = None,
        sharding: Any = None,
    ) -> "ArrayType":
        """This type with changes; its ``sharding`` follows from the others."""
        return ArrayType(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else dtype,
            self.weak if weak_type is None else weak_type,
            self.varying if vma is None else vma,
        )

    def strip_weak_type(self) -> "ArrayType":
        return self.strong()

    def to_tangent_aval(self) -> "ArrayType":
        return self.tangent()

    at_least_vspace = to_tangent_aval  # as older programs have it

    def str_short(self, short_dtypes: bool = False) -> str:
        short = str(self)
        return short if short_dtypes else self.dtype.name + short[short.index("[") :]

    @property
    def sharding(self) -> Any:
        """Partition by types: along no axis. The mesh in force, and a spec that
        leaves all axes to the compiler; an array itself knows how it is divided.
        """
        return _links.undivided(self.ndim)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self} has no length: it is a scalar")
        return self.shape[0]

    def __str__(self) -> str:
        dims = ",".join(map(str, self.shape))
        shown = f"{dtypes.short_name(self.dtype)}[{dims}]"
        if self.varying:
            shown += f"{{{','.join(sorted(map(str, self.varying)))}}}"
        return shown

    def __repr__(self) -> str:
        return f"ArrayType({self}{', weak' if self.weak else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ArrayType, (self.shape, self.dtype, self.weak, self.varying))


class AbstractRef:
    """The type of references to arrays of one type: ``Ref{f32[3]}``."""

    __slots__ = ("inner_aval", "kind", "memory_space")

    def __init__(
        self, inner_aval: ArrayType, memory_space: Any = None, kind: Any = None
    ) -> None:
        self.inner_aval: ArrayType = inner_aval
        self.memory_space: Any = memory_space
        self.kind: Any = kind

    def __getattr__(self, name: str) -> Any:
        """The facts of the type of the array, as ``shape`` and ``dtype``."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner_aval, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not AbstractRef:
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.inner_aval, self.memory_space, self.kind

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"


class HasType:
    """Base of arrays and their stand-ins: the properties that follow from ``type``."""

    __slots__ = ()

    type: ArrayType

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def weak_type(self) -> bool:
        """Whether the element type gives way to others."""
        return self.type.weak


def show_types(types: Any) -> str:
    """``f32[4], i32[]``: types as they stand in messages and printed programs."""
    return ", ".join(map(str, types))


def result_types(
    rule: Callable[..., Sequence[ArrayType]],
    types: Sequence[ArrayType],
    unify: bool = True,
) -> tuple[ArrayType, ...]:
    """What a rule for types gives. If ``unify``, it knows nothing of varying axes: the
    results vary over each that an operand varies over.
    """
    axes = INVARIANT.union(*[t.varying for t in types]) if unify else INVARIANT
    if not axes:
        return tuple(rule(*types))
    outs = rule(*[t.with_varying(INVARIANT) for t in types])
    return tuple([t.with_varying(axes) for t in outs])
