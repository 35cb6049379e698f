"""What a function says, as a key: functions that say the same are traced once.

    for scale in (1.0, 1.0, 2.0):
        jit(lambda x: x * scale)(x)        traced for 1.0, and for 2.0

A new function object is made each time such a line runs. What it says is its code, and
what the code reads besides arguments: defaults, the closure, the globals it names.

    numbers, strings, tuples, frozen dataclasses    by type and value
    functions, partials, what transformations give  by what they say, in turn
    arrays, which never change, and modules         by identity
    objects that can change                         by identity, and by what they hold
    lists, dicts, sets, NumPy arrays                by what they hold

Where this cannot be told (iterators, generators of random numbers, very large
structures) the function stands for itself alone. A key keeps no array and no object
alive: it holds them weakly, and with one that is gone it equals no other key.
"""

import dataclasses
import enum
import functools
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive
from covector.core.source import is_own
from covector.core.types import ArrayType

#: parts of a function that are looked at before the search gives up
_MOST = 2000
_DEEPEST = 50
#: bytes up to which a NumPy array is compared by its values
_MOST_BYTES = 1 << 20


class Said(NamedTuple):
    """One thing that a function says: a value, and what it consists of, by name."""

    kind: Any
    value: Any = None
    parts: tuple[tuple[str, "Said"], ...] = ()

    def __str__(self) -> str:
        kind = self.kind
        if kind is None:
            type_, value, *_ = self.value
            return str(value) if type_ in (float, complex) else repr(value)
        if isinstance(kind, types.CodeType):
            return f"the function {kind.co_qualname}"
        if isinstance(kind, ArrayType):
            return f"an array {kind}"
        name = getattr(kind, "__name__", kind)
        return f"a {name} of {len(self.parts)}" if self.is_collection else f"a {name}"

    @property
    def is_collection(self) -> bool:
        kind = self.kind
        return isinstance(kind, type) and issubclass(kind, list | dict | set | tuple)


class Unknowable(Exception):
    """What an object holds cannot be told."""


class _Same:
    """Stands for one object, as long as it lives."""

    __slots__ = ("number", "ref")

    def __init__(self, x: Any) -> None:
        self.number = id(x)
        try:
            self.ref: Callable[[], Any] = weakref.ref(x)
        except TypeError:
            if not callable(x) and not isinstance(x, _CONSTANT):
                raise Unknowable(_of_type(x)) from None
            self.ref = lambda: x  # a builtin, or the like: small, and never gone

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or self.number != other.number:
            return False
        mine = self.ref()
        return mine is not None and mine is other.ref()


def said_by(
    fun: Any, statics: Iterable[tuple[Any, Any, Any]] = ()
) -> tuple[Said | None, str]:
    """What a function says, with its static arguments; else None and the reason."""
    search = _Search()
    try:
        parts = [("", search.said(fun))]
        parts += [(f"static argument {k!r}", search.said(v)) for k, _, v in statics]
    except Unknowable as reason:
        return None, str(reason)
    return Said("call", None, tuple(parts)), ""


def difference(before: Said, now: Said, where: str = "the function") -> str | None:
    """Where two things said part first, in words: ``closure value c was 1 and is now
    2``; None where they are equal.
    """
    if before == now:
        return None
    names = [tuple([name for name, _ in said.parts]) for said in (before, now)]
    if (before.kind, before.value) == (now.kind, now.value) and names[0] == names[1]:
        for (name, a), (_, b) in zip(before.parts, now.parts, strict=True):
            inside = where + name if name[:1] in (".", "[") else name or where
            found = difference(a, b, inside)
            if found is not None:
                return found
    if str(before) != str(now):
        return f"{where} was {before} and is now {now}"
    if before.is_collection:
        return f"{where} has other keys now"
    other = str(now).removeprefix("an ").removeprefix("a ").removeprefix("the ")
    return f"{where} is another {other} now"


class _Search:
    """One walk through what a function says."""

    def __init__(self) -> None:
        self.count = 0
        self.open: dict[int, int] = {}
        self.done: dict[int, Said] = {}

    def said(self, x: Any) -> Said:
        kind = type(x)
        if kind in _BY_VALUE:
            return Said(None, (kind, x))
        if kind is float or kind is complex:
            return Said(None, (kind, repr(x)))  # tells -0.0 from 0.0, and knows nan
        number = id(x)
        if number in self.done:
            return self.done[number]
        if number in self.open:
            return Said("again", len(self.open) - self.open[number])
        self.count += 1
        if self.count > _MOST or len(self.open) > _DEEPEST:
            raise Unknowable("it reads too many values to compare them all")
        self.open[number] = len(self.open)
        made = self._said(x, kind)
        del self.open[number]
        self.done[number] = made
        return made

    def _said(self, x: Any, kind: Any) -> Said:
        for types_, method in _METHODS:
            if isinstance(x, types_):
                return method(self, x)
        names = getattr(kind, "says", None)
        if names is not None:
            return Said(kind, None, self._attributes((n, vars(x)[n]) for n in names))
        if dataclasses.is_dataclass(x) and kind.__dataclass_params__.frozen:
            return Said(kind, None, self._attributes(_held(x)))
        if hasattr(x, "__next__") or kind.__module__.startswith(_STATEFUL):
            raise Unknowable(_of_type(x))
        return Said(kind, _Same(x), self._attributes([*_held(x), *_of_class(kind)]))

    def _attributes(self, held: Iterable[tuple[str, Any]]) -> tuple:
        return tuple([(f".{name}", self.said(value)) for name, value in held])

    def _same(self, x: Any) -> Said:
        return Said(type(x), _Same(x))

    def _array(self, x: Any) -> Said:
        return Said(x.type, _Same(x))

    def _numpy(self, x: Any) -> Said:
        if x.dtype.hasobject or x.nbytes > _MOST_BYTES:
            raise Unknowable(f"it reads a NumPy array of {x.nbytes} bytes")
        return Said(np.ndarray, (x.dtype, x.shape, x.tobytes()))

    def _scalar(self, x: Any) -> Said:
        return Said(None, (type(x), x, x.tobytes()))

    def _sequence(self, x: Any) -> Said:
        return Said(
            type(x), None, tuple([(f"[{i}]", self.said(v)) for i, v in enumerate(x)])
        )

    def _slice(self, x: Any) -> Said:
        return Said(slice, None, self._sequence((x.start, x.stop, x.step)).parts)

    def _set(self, x: Any) -> Said:
        return Said(type(x), frozenset([self.said(v) for v in x]))

    def _dict(self, x: Any) -> Said:
        keys = tuple([self.said(k) for k in x])
        items = [(f"[{k!r}]", self.said(v)) for k, v in x.items()]
        return Said(type(x), keys, tuple(items))

    def _partial(self, x: Any) -> Said:
        parts = [("", self.said(x.func))]
        given = [*enumerate(x.args), *x.keywords.items()]
        parts += [(f"argument {k} of the partial", self.said(v)) for k, v in given]
        return Said(functools.partial, None, tuple(parts))

    def _method(self, x: Any) -> Said:
        of = ("self", self.said(x.__self__))
        return Said("method", None, (of, ("", self.said(x.__func__))))

    def _function(self, x: Any) -> Said:
        code = x.__code__
        values: list[tuple[str, Any]] = []
        if x.__closure__:
            for name, cell in zip(code.co_freevars, x.__closure__, strict=True):
                try:
                    values.append((f"closure value {name}", cell.cell_contents))
                except ValueError:  # a cell that is still empty says nothing
                    continue
        if x.__defaults__:
            values += [(f"default {i}", v) for i, v in enumerate(x.__defaults__)]
        if x.__kwdefaults__:
            values += [(f"default {k}", v) for k, v in x.__kwdefaults__.items()]
        values += [
            (f"attribute {k}", v) for k, v in vars(x).items() if k != "__wrapped__"
        ]
        parts = [(name, self.said(value)) for name, value in values]
        if not is_settled(code.co_filename):
            parts += self._named(x.__globals__, names_in(code), "global ")
        return Said(code, code.co_filename, tuple(parts))

    def _named(
        self, space: dict[str, Any], names: Iterable[str], label: str
    ) -> list[tuple[str, Said]]:
        found = []
        for name in names:
            if name in space:
                value = space[name]
                found.append((label + name, self.said(value)))
                if type(value) is types.ModuleType and not _is_library(value):
                    found += self._named(vars(value), names, f"{label}{name}.")
        return found


def _held(x: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, in its dictionary and in slots."""
    held = list(getattr(x, "__dict__", {}).items())
    for kind in type(x).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        held += [
            (name, getattr(x, name))
            for name in names
            if name not in ("__dict__", "__weakref__") and hasattr(x, name)
        ]
    return held


def _of_class(kind: type) -> list[tuple[str, Any]]:
    """What the classes of a user's object say: functions, and values beside them."""
    return [
        (name, value)
        for each in kind.__mro__
        if not is_settled(getattr(sys.modules.get(each.__module__), "__file__", None))
        for name, value in each.__dict__.items()
        if isinstance(value, types.FunctionType) or not name.startswith("__")
    ]


def _of_type(x: Any) -> str:
    return f"it reads a {type(x).__qualname__}, of which one cannot tell what it holds"


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names that code, and the functions in it, may look up outside of itself."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(names_in(constant))
    return tuple(names)


_LIBRARIES = tuple(
    {
        sysconfig.get_path(name)
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)


@functools.lru_cache(4096)
def is_settled(file: str | None) -> bool:
    """Whether code of this file is a library's, whose globals stay what they are."""
    if file is None or file.startswith("<frozen"):
        return True
    return file.startswith(_LIBRARIES) or is_own(file)


def _is_library(module: types.ModuleType) -> bool:
    return is_settled(getattr(module, "__file__", None))


_BY_VALUE = frozenset({bool, int, str, bytes, range, type(None), type(Ellipsis)})
#: immutable, though neither weakly referenced nor of plain Python
_CONSTANT = (ArrayType, np.dtype, type(NotImplemented))
_STATEFUL = ("random", "numpy.random")
_METHODS: list[tuple[Any, Callable[[_Search, Any], Said]]] = [
    (types.FunctionType, _Search._function),
    (types.MethodType, _Search._method),
    (functools.partial, _Search._partial),
    (Array, _Search._array),
    (np.generic, _Search._scalar),
    (np.ndarray, _Search._numpy),
    (tuple | list, _Search._sequence),
    (dict, _Search._dict),
    (slice, _Search._slice),
    (set | frozenset, _Search._set),
    (
        types.ModuleType
        | type
        | types.BuiltinFunctionType
        | enum.Enum
        | np.ufunc
        | Primitive
        | Jaxpr
        | ArrayType
        | np.dtype,
        _Search._same,
    ),
]
