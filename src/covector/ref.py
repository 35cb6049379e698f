"""References: arrays that are changed in place, for state and for plumbing.

>>> import covector as cv
>>> count = cv.new_ref(0)
>>> @cv.jit
... def step():
...     count[...] += 1
>>> step(); step()
>>> int(count[...])
2

How they go through transformations: ``docs/mutable-references.md``.
"""

from typing import Any

from covector import namespaces
from covector.core import dtypes
from covector.core.annotations import ArrayLike, Index
from covector.core.array_like import Array
from covector.core.convert import type_of
from covector.core.references import Ref
from covector.core.types import AbstractRef
from covector.errors import RefError, TypeMismatch
from covector.numpy.creation import asarray
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
__dir__ = namespaces.completions(globals())


def new_ref(
    init_val: ArrayLike, *, memory_space: Any = None, kind: str | None = None
) -> Ref:
    """A reference that holds ``init_val`` at first.

    Args:
      init_val: an array or a number, whose shape and dtype the reference keeps. A
        Python number has its default dtype, which then gives way to no other.
      memory_space: part of the type, for programs that ask for it; without effect.
      kind: None, or "no_grad_no_remat"; likewise.

    Raises:
      RefError: ``init_val`` is a reference.

    >>> r = new_ref([1.0, 2.0])
    >>> r[1] = 5.0
    >>> r
    Ref([1., 5.], dtype=float32)
    """
    if isinstance(init_val, Ref):
        raise RefError(
            f"new_ref makes references to arrays, but got a reference, "
            f"{init_val.type!r}. For another one with the same value: "
            "new_ref(ref[...])."
        )
    value = asarray(init_val)
    return Ref(convert(value, value.type.dtype), memory_space, kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array of a type, whose elements are zero until written.

    Args:
      ty: anything with ``shape`` and ``dtype``, or the type of a reference.

    >>> import covector as cv
    >>> empty_ref(cv.ShapeDtypeStruct((2,), "int32"))
    Ref([0, 0], dtype=int32)
    """
    type_ = ty.inner_aval if isinstance(ty, AbstractRef) else type_of(ty).strong()
    if dtypes.is_key(type_.dtype):
        raise TypeMismatch(
            f"empty_ref needs a type of numbers, but got {type_}: there is no empty "
            "random key. Use new_ref(key)."
        )
    return Ref(zeros(type_), memory_space)


def freeze(ref: Ref) -> Array:
    """The last value of a reference, which cannot be used afterwards.

    Raises:
      RefError: it was made outside of the function that runs, or has ended already.

    >>> r = new_ref(1.0)
    >>> r[...] += 1
    >>> float(freeze(r))
    2.0
    """
    return _reference(ref, "freeze").close("freeze")


def free_ref(ref: Ref) -> None:
    """End a reference, as ``freeze`` does, for its memory.

    Raises:
      RefError: it was made outside of the function that runs, or has ended already.

    >>> free_ref(new_ref(1.0))
    """
    _reference(ref, "free_ref").close("free_ref")


def get(ref: Ref, idx: Index | None = None) -> Array:
    """``ref[idx]``; all of it without an index.

    >>> int(get(new_ref([4, 5]), 1))
    5
    """
    return _reference(ref, "get")[_index(idx)]


def set(ref: Ref, idx: Index | None, value: ArrayLike) -> None:
    """``ref[idx] = value``; all of it for None.

    >>> r = new_ref([4, 5])
    >>> set(r, 0, 7)
    >>> r
    Ref([7, 5], dtype=int32)
    """
    _reference(ref, "set")[_index(idx)] = value


def swap(ref: Ref, idx: Index | None, value: ArrayLike) -> Array:
    """Write ``value`` at ``idx``; what was there before.

    >>> r = new_ref([4, 5])
    >>> int(swap(r, 0, 7)), int(r[0])
    (4, 7)
    """
    return _reference(ref, "swap").swap(value, _index(idx))


def addupdate(ref: Ref, idx: Index | None, x: ArrayLike) -> None:
    """Add ``x`` to the elements at ``idx``; where that names one twice, twice.

    >>> import covector as cv
    >>> r = new_ref([4, 5])
    >>> addupdate(r, cv.numpy.array([0, 0]), 1)
    >>> r
    Ref([6, 5], dtype=int32)
    """
    _reference(ref, "addupdate").addupdate(x, _index(idx))


def _index(idx: Any) -> Any:
    return ... if idx is None else idx


def _reference(ref: Any, who: str) -> Ref:
    if not isinstance(ref, Ref):
        raise TypeMismatch(
            f"{who} needs a reference, as new_ref makes them, but got {ref!r} of type "
            f"{type(ref).__name__}."
        )
    return ref
