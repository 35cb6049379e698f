"""References: arrays that are changed in place, as state that programs take and give.

A ``Ref`` holds an array that can be replaced: ``ref[i]`` reads, ``ref[i] = v`` writes.
The arrays themselves never change, and no operation knows of references. What a
reference holds is a value of the trace in which it was made, its ``owner``:

    the owner            the reference holds the value itself
    a staging trace      the program takes the value as an input where it first touches
                         the reference, and gives the last one as an output
    every other trace    what its parent says

Whoever stages a program hands the values in and takes the new ones out (``Staged``). So
a program with references is the program that one would have written without them, and
every transformation of programs holds for it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from covector import options
from covector.core.dtypes import short_name
from covector.core.operators import link
from covector.core.promotion import promote
from covector.core.trace import Trace, current
from covector.core.types import AbstractRef
from covector.core.varying import pvary_like
from covector.errors import DTypeError, RefError, TypeMismatch

if TYPE_CHECKING:
    from covector.core.annotations import ArrayLike, Index
    from covector.core.array_like import Array


class Ref:
    """An array that is changed in place; ``new_ref`` makes one.

    ``ref[i]`` reads and ``ref[i] = v`` writes, with the indices of arrays; ``ref[...]``
    is all of it. Nothing else takes a reference for an array: compute with what was
    read.

    >>> import covector as cv
    >>> total = cv.new_ref(cv.numpy.zeros(2))
    >>> total[0] += 3.0
    >>> total[...].tolist()
    [3.0, 0.0]
    """

    __slots__ = (
        "__weakref__",
        "held",
        "is_argument",
        "owner",
        "refusal",
        "shared",
        "type",
    )

    #: the value, in the trace in which it was made
    held: Any
    owner: Trace

    #: as with lists: iterating would read element by element
    __iter__ = None

    def __init__(
        self, value: "Array", memory_space: Any = None, kind: Any = None
    ) -> None:
        self.owner = current.trace
        self.type: AbstractRef = AbstractRef(value.type, memory_space, kind)
        self.held = value
        #: whether somebody else may have the array that it holds
        self.shared = True
        #: whether it stands for one that the caller of a function has
        self.is_argument: bool = False
        #: why it cannot be used now
        self.refusal = ""

    # -- reading and writing -----------------------------------------------------------

    def __getitem__(self, index: "Index") -> "Array":
        value = _read(self)
        return value if index is Ellipsis else value[index]

    def __setitem__(self, index: "Index", value: "ArrayLike") -> None:
        new = self._element(value)
        if index is Ellipsis:
            new = link.numpy.broadcast_to(new, self.shape)
        else:
            new = _read(self).at[index].set(new)
        _write(self, new)

    def addupdate(self, x: "ArrayLike", idx: "Index" = ...) -> None:
        """Add ``x`` to the elements at ``idx``; where that names one twice, twice."""
        _write(self, _read(self).at[idx].add(self._element(x)))

    def get(self, idx: "Index" = ...) -> "Array":
        """``ref[idx]``."""
        return self[idx]

    def set(self, value: "ArrayLike", idx: "Index" = ...) -> None:
        """``ref[idx] = value``."""
        self[idx] = value

    def swap(self, value: "ArrayLike", idx: "Index" = ...) -> "Array":
        """Write ``value`` at ``idx``; what was there before."""
        before = self[idx]
        self[idx] = value
        return before

    def _element(self, value: "ArrayLike") -> "Array":
        """A value in the dtype of this reference, which holds it without loss of kind.

        Raises:
          DTypeError: it would have to become less than it is, as a float an integer.
        """
        if type(value) is Ref:
            raise value.refused_as_array("a reference")
        new, now = link.numpy.asarray(value), options.current()
        wanted = self.type.inner_aval
        if new.type.dtype == wanted.dtype and not new.type.weak:
            return new
        pairs = (new.type.dtype, new.type.weak), (wanted.dtype, False)
        dtype, _ = promote(*pairs, x64=now.enable_x64, mode=now.numpy_dtype_promotion)
        if dtype != wanted.dtype:
            raise DTypeError(
                f"{new.type} cannot be written to a reference to {wanted} as it is: "
                f"their common dtype is {short_name(dtype)}. Convert the value, "
                "x.astype(ref.dtype), or make the reference with that dtype."
            )
        return link.numpy.astype(new, dtype)

    # -- facts -------------------------------------------------------------------------

    @property
    def aval(self) -> AbstractRef:
        """The type, by the name that the ecosystem knows."""
        return self.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The element type, which does not change."""
        return self.type.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.type.inner_aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.inner_aval.size

    def __len__(self) -> int:
        return len(self.type.inner_aval)

    @property
    def placement(self) -> Any:
        """Where the user put the array that it holds now."""
        return self.held.placement

    @property
    def sharding(self) -> Any:
        """Which device holds which elements now."""
        return self.lend(False).sharding

    @property
    def format(self) -> Any:
        """The sharding, with the layout."""
        return self.lend(False).format

    @property
    def committed(self) -> bool:
        """Whether the user chose where the array is."""
        return self.lend(False).committed

    def unsafe_buffer_pointer(self) -> int:
        """The address of the memory that has the values now."""
        return self.lend(False).unsafe_buffer_pointer()

    def block_until_ready(self) -> "Ref":
        """Wait for the value that it holds now."""
        self.lend(False).block_until_ready()
        return self

    def __repr__(self) -> str:
        shown = "" if self.refusal else repr(self.held)
        self.shared = True
        if current.trace is not self.owner or not shown.startswith("Array("):
            return repr(self.type)
        return "Ref" + shown.removeprefix("Array")

    def __reduce__(self) -> Any:
        return Ref, (_read(self),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self.refused_as_array("NumPy")

    def __bool__(self) -> bool:
        raise self.refused_as_array("a choice of Python")

    def refused_as_array(self, who: str) -> TypeMismatch:
        """The error where ``who`` needs an array."""
        return TypeMismatch(
            f"{who} needs an array, but got a reference, {self.type!r}. Read it first: "
            "ref[...] is the array that it holds now."
        )

    # -- its memory --------------------------------------------------------------------

    def lend(self, give_up: bool) -> Any:
        """The value, for who keeps nothing of it; to be given up, that is a copy where
        somebody else may have it.
        """
        shared = self.shared
        value = _read(self)
        self.shared: bool = shared
        return value.copy() if give_up and shared else value

    # -- its end -----------------------------------------------------------------------

    def close(self, what: str) -> "Array":
        """The last value; using the reference afterwards is an error."""
        check_usable(self)
        if current.trace is not self.owner or self.is_argument:
            raise RefError(
                f"{what} ends a reference in the function that made it, but "
                f"{self.type!r} was made outside of "
                f"{current.trace.name or 'this function'}. Read it here, with "
                f"ref[...], and call {what} where new_ref was called."
            )
        value, self.held = self.held, None
        self.refusal: str = (
            f"{self.type!r} was used after {what}, which ended it. Use the array that "
            "freeze gave, or make another with new_ref."
        )
        return value


class Held:
    """A reference made outside, as a program that is being staged knows it."""

    __slots__ = ("changed", "ref", "value")

    def __init__(self, ref: Ref, value: Any) -> None:
        self.ref: Ref = ref
        self.value: Any = value
        self.changed: bool = False


def check_usable(ref: Ref) -> None:
    """Raise where a reference has ended, or is passed to a function that is running."""
    if ref.refusal:
        raise RefError(ref.refusal)


def check_reachable(ref: Ref, trace: Trace | None) -> None:
    """Raise where a reference was made in a trace that is not running around here."""
    while trace is not None:
        if trace is ref.owner:
            return
        trace = trace.parent
    raise _unreachable(ref)


def _unreachable(ref: Ref) -> RefError:
    return RefError(
        f"{ref.type!r} was made inside of {ref.owner.name or 'another function'}, and "
        "used outside of it. A reference stays in the function that makes it: return "
        "what it holds, ref[...]."
    )


def _read(ref: Ref) -> Any:
    """The value of a reference in the current trace."""
    check_usable(ref)
    trace: Trace | None = current.trace
    while trace is not None:
        if trace is ref.owner:
            ref.shared = True
            return ref.held
        if trace.stages:
            return trace.hold(ref).value
        trace = trace.parent
    raise _unreachable(ref)


def _write(ref: Ref, value: Any) -> None:
    """Replace the value of a reference by one of its shape and dtype."""
    check_usable(ref)
    wanted = ref.type.inner_aval
    if not value.type.varying <= wanted.varying:
        raise RefError(
            f"{value.type} cannot be written to {ref.type!r}, which does not differ "
            "between devices along these axes. Make the reference of a value that "
            "does: new_ref(lax.pvary(x, axes))."
        )
    value = pvary_like(value, wanted)
    trace: Trace | None = current.trace
    while trace is not None:
        if trace is ref.owner:
            ref.held, ref.shared = value, True
            return
        if trace.stages:
            held = trace.hold(ref)
            held.value, held.changed = value, True
            return
        value = trace.written_outside(value)
        trace = trace.parent
    raise _unreachable(ref)


# -- for whoever stages programs and calls them ----------------------------------------


def values_of(captured: Iterable[Any]) -> list[Any]:
    """Captured values, of which references stand for what they hold now."""
    return [_read(x) if type(x) is Ref else x for x in captured]


def write_back(refs: Sequence[Ref], values: Sequence[Any]) -> None:
    """Replace what references hold by what a program gave for them."""
    for ref, value in zip(refs, values, strict=True):
        _write(ref, value)


def on_values(
    fun: Callable[..., Sequence[Any]], mask: Sequence[bool]
) -> Callable[..., list[Any]]:
    """A flat function of references, by the mask, as one of the values that they hold.

    It gives their last values after its results.
    """

    def run(*values: Any) -> list[Any]:
        refs: list[Ref] = []
        given = list(values)
        for i, m in enumerate(mask):
            if m:
                given[i] = ref = Ref(values[i])
                ref.is_argument = True
                refs.append(ref)
        outs = fun(*given)
        return [*outs, *map(_read, refs)]

    return run


def has_references(leaves: Iterable[Any]) -> bool:
    """Whether one of the leaves of a tree is a reference."""
    return Ref in map(type, leaves)


_TWO_NAMES = (
    "{} has a reference as an argument, and the same one closed over or as another "
    "argument. In there these would be two, of which one does not see what the other "
    "writes: use one argument alone."
)


def check_names(refs: Sequence[Ref], who: str) -> None:
    """Raise where a function would have one reference under two names."""
    if len(set(map(id, refs))) < len(refs):
        raise RefError(_TWO_NAMES.format(who))


class lent:
    """Inside the block, a function has other references in place of these, as its
    arguments: to use these is an error.
    """

    def __init__(self, refs: Sequence[Ref], who: str) -> None:
        self.refs = refs
        self.refusal: str = _TWO_NAMES.format(who)
        check_names(refs, who)
        for ref in refs:
            check_usable(ref)

    def __enter__(self) -> None:
        for ref in self.refs:
            ref.refusal = self.refusal

    def __exit__(self, *_: object) -> None:
        for ref in self.refs:
            ref.refusal = ""
