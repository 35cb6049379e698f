"""Structural fingerprints: functions that are equal in all they read share one trace.

    for scale in (1.0, 1.0, 2.0):
        jit(lambda x: x * scale)(x)        traced for 1.0, and for 2.0

A new function object is made each time such a line runs. Its fingerprint is its code,
and what the code reads besides arguments: defaults, the closure, the globals that it
names, and what the functions among these read in turn.

    numbers, strings, tuples, frozen dataclasses    by type and value
    functions, partials, what transformations give  by their fingerprints
    arrays, which never change                      by identity
    lists, dicts, sets, NumPy arrays                by what they hold
    objects and classes                             by identity, and by what they hold
    modules                                         by identity, and by what is named

Installed libraries are read like the user's own code, since they keep stacks and
switches in their globals. Where it cannot be known what is read (iterators, clocks,
random numbers, objects written in C, ``eval``, very large structures) there is no
fingerprint, and the function is traced for itself. A fingerprint keeps no array and no
object alive: it holds them weakly, and with one that is gone it equals no other. What
is guaranteed: docs/decisions/0014-fingerprints-of-functions.md.
"""

import array
import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import functools
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from covector.core.annotations import HostArray
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr
from covector.core.operation_caches import drop_older_half
from covector.core.primitive import Primitive
from covector.core.references import Ref
from covector.core.types import ArrayType
from covector.errors import short_name
from covector.fingerprints.contents import (
    WRAPPERS,
    Reads,
    held_by,
    held_by_class,
    is_builtin,
    is_pure,
    is_settled,
    is_stateful,
    is_transparent,
    kept_by,
    reads_of,
)
from covector.fingerprints.fingerprint_value import Fingerprint, SameObject

#: values that are looked at before the search gives up
_MOST = 2000
_DEEPEST = 50
#: bytes up to which a NumPy array is compared by its values
_MOST_BYTES = 1 << 20


class Unknowable(Exception):
    """It cannot be told what an object holds."""


#: code of functions that read too much to compare: it is not read once more
_too_large: dict[types.CodeType, None] = {}


def fingerprint_of(
    fun: Callable[..., Any], statics: Iterable[tuple[Any, Any, Any]] = ()
) -> tuple[Fingerprint | None, str]:
    """The fingerprint of a function and its static arguments; else None, and why."""
    search = _Search()
    try:
        parts = [("", search.of(fun))]
        parts += [(f"static argument {k!r}", search.of(v)) for k, _, v in statics]
    except Unknowable as reason:
        return None, str(reason)
    except Exception as error:  # noqa: BLE001  attributes run code of the user
        return None, f"what it reads cannot be looked at ({type(error).__name__})"
    return Fingerprint("call", None, tuple(parts)), ""


def is_unchanged(
    fingerprint: Fingerprint,
    fun: Callable[..., Any],
    statics: Iterable[tuple[Any, Any, Any]],
) -> bool:
    """Whether the function still reads what it did before it was traced."""
    for _, part in fingerprint.parts[0][1].parts:
        if part.kind is not types.ModuleType:
            return fingerprint_of(fun, statics)[0] == fingerprint
    return True


_Part = tuple[str, Fingerprint]


class _Search:
    """One walk through what a function reads."""

    def __init__(self) -> None:
        self.count = 0
        self.open: dict[int, int] = {}
        #: by identity, with the object, so that no other takes its identity meanwhile
        self.done: dict[int, tuple[Any, Fingerprint]] = {}
        #: modules that are being read, each with the names
        self.reading: set[tuple[int, tuple[str, ...]]] = set()

    def of(self, x: Any) -> Fingerprint:
        kind = type(x)
        if kind in _BY_VALUE:
            return Fingerprint(None, (kind, x))
        if kind is float or kind is complex:
            return Fingerprint(None, (kind, repr(x)))  # tells -0.0 from 0.0, knows nan
        number = id(x)
        if number in self.done:
            return self.done[number][1]
        if number in self.open:
            return Fingerprint("again", len(self.open) - self.open[number])
        self.count += 1
        if self.count > _MOST or len(self.open) > _DEEPEST:
            raise Unknowable("it reads too many values to compare them all")
        self.open[number] = len(self.open)
        method = _BY_TYPE.get(kind)
        if method is None:
            method = next((m for t, m in _BY_CLASS if issubclass(kind, t)), None)
        made = method(self, x) if method is not None else self._object(x)
        del self.open[number]
        self.done[number] = x, made
        return made

    # -- values ------------------------------------------------------------------------

    def _same(self, x: object) -> Fingerprint:
        return Fingerprint(type(x), SameObject(x))

    def _array(self, x: Array) -> Fingerprint:
        return Fingerprint(x.type, SameObject(x))

    def _numpy(self, x: HostArray) -> Fingerprint:
        if x.dtype.hasobject or x.nbytes > _MOST_BYTES:
            raise Unknowable(f"it reads a NumPy array of {x.nbytes} bytes")
        held = self._attributes(held_by(x)) if type(x) is not np.ndarray else ()
        return Fingerprint(type(x), (x.dtype, x.shape, x.tobytes()), held)

    def _scalar(self, x: Any) -> Fingerprint:
        return Fingerprint(None, (type(x), repr(x), x.dtype, x.tobytes()))

    def _bytes(self, x: Any) -> Fingerprint:
        return Fingerprint(type(x), (getattr(x, "typecode", ""), bytes(x)))

    def _sequence(self, x: Any) -> Fingerprint:
        items = [(f"[{i}]", self.of(v)) for i, v in enumerate(x)]
        if type(x) not in _BY_TYPE:
            items += self._attributes(held_by(x))
        return Fingerprint(type(x), getattr(x, "maxlen", None), tuple(items))

    def _slice(self, x: slice) -> Fingerprint:
        return Fingerprint(slice, None, self.of((x.start, x.stop, x.step)).parts)

    def _set(self, x: Any) -> Fingerprint:
        held = () if type(x) in _BY_TYPE else self._attributes(held_by(x))
        return Fingerprint(type(x), frozenset([self.of(v) for v in x]), held)

    def _dict(self, x: dict[Any, Any]) -> Fingerprint:
        keys = tuple([self.of(k) for k in x])
        items = [(f"[{k!r}]", self.of(v)) for k, v in x.items()]
        if type(x) not in _BY_TYPE:
            items += self._attributes(held_by(x))
        return Fingerprint(type(x), keys, tuple(items))

    def _value(self, x: object) -> Fingerprint:
        return Fingerprint(None, (type(x), x))

    def _namespace(self, x: object) -> Fingerprint:
        held = [*vars(x).items(), *held_by_class(type(x))]
        return Fingerprint(type(x), SameObject(x), self._attributes(held))

    def _weak(self, x: Any) -> Fingerprint:
        return Fingerprint(type(x), None, (("()", self.of(x())),))

    def _context_variable(self, x: Any) -> Fingerprint:
        return Fingerprint(type(x), SameObject(x), ((" now", self.of(x.get(None))),))

    # -- functions ---------------------------------------------------------------------

    def _partial(self, x: Any) -> Fingerprint:
        parts = [("", self.of(x.func))]
        given = [*enumerate(x.args), *x.keywords.items()]
        parts += [(f"argument {k} of the partial", self.of(v)) for k, v in given]
        return Fingerprint(type(x), None, (*parts, *self._attributes(held_by(x))))

    def _method(self, x: types.MethodType) -> Fingerprint:
        of = ("self", self.of(x.__self__))
        return Fingerprint("method", None, (of, ("", self.of(x.__func__))))

    def _builtin(self, x: types.BuiltinFunctionType) -> Fingerprint:
        owner = x.__self__
        if owner is None or type(owner) is types.ModuleType:
            if not is_pure(x):
                raise Unknowable(f"it calls {x.__module__}.{x.__name__}")
            return self._same(x)
        return Fingerprint("method", x.__name__, (("self", self.of(owner)),))

    def _wrapper(self, x: object) -> Fingerprint:
        """A property, a class method, a cached function: what it wraps."""
        names = ("fget", "fset", "func", "__func__", "__wrapped__")
        found = [(f".{n}", getattr(x, n, None)) for n in names]
        return Fingerprint(
            type(x), None, tuple([(n, self.of(f)) for n, f in found if f is not None])
        )

    def _function(self, x: types.FunctionType) -> Fingerprint:
        code = x.__code__
        if code in _too_large:
            raise Unknowable("it reads too many values to compare them all")
        before = self.count
        try:
            return self._function_parts(x, code)
        except Unknowable:
            if self.count > _MOST and before == 1:
                drop_older_half(_too_large, _MOST)
                _too_large[code] = None
            raise

    def _function_parts(
        self, x: types.FunctionType, code: types.CodeType
    ) -> Fingerprint:
        space = x.__globals__
        names: tuple[str, ...] = ()
        settled = is_settled(space.get("__name__"), code.co_filename)
        if not settled:
            reads = reads_of(code)
            if reads.unbounded:
                raise Unknowable(f"it uses {reads.unbounded}")
            names = reads.attributes
        parts: list[_Part] = []
        for name, value in kept_by(x, code):
            parts += self._read(name, value, names)
        if not settled:
            parts += self._globals(reads, space)
        return Fingerprint(code, code.co_filename, tuple(parts))

    def _globals(self, reads: Reads, space: dict[str, Any]) -> list[_Part]:
        """The globals that code reads by name."""
        parts: list[_Part] = []
        for name in reads.globals:
            if name in space:
                parts += self._read(f"global {name}", space[name], reads.attributes)
            elif not is_builtin(name):
                parts.append((f"global {name}", Fingerprint("missing")))
        for name in reads.imports:
            for each in dict.fromkeys((name.partition(".")[0], name)):
                module = sys.modules.get(each)
                parts += self._read(f"global {each}", module, reads.attributes)
        return parts

    def _read(self, label: str, value: object, names: tuple[str, ...]) -> list[_Part]:
        """A value; of a module, what it holds under these names.

        A function of the module may ask the module for more, under names of its own.
        """
        if type(value) is not types.ModuleType:
            return [(label, self.of(value))]
        parts = [(label, self._same(value))]
        request = id(value), names
        if request in self.reading:
            return parts
        self.reading.add(request)
        space = vars(value)
        settled = is_settled(space.get("__name__"), space.get("__file__"))
        for name in names:
            if name in space:
                inner = space[name]
                if not settled or type(inner) is types.ModuleType:
                    parts += self._read(f"{label}.{name}", inner, names)
        self.reading.remove(request)
        return parts

    def _module(self, x: types.ModuleType) -> Fingerprint:
        """A module held by an object: what is read of it cannot be seen."""
        if is_settled(x.__name__, getattr(x, "__file__", None)):
            return self._same(x)
        raise Unknowable(f"it reads the module {x.__name__} through an object")

    # -- objects -----------------------------------------------------------------------

    def _class(self, x: type) -> Fingerprint:
        return Fingerprint(type, SameObject(x), self._attributes(held_by_class(x)))

    def _object(self, x: Any) -> Fingerprint:
        kind = type(x)
        names = getattr(kind, "fingerprint_fields", None)
        if names is not None:
            space = vars(x)
            return Fingerprint(
                kind, None, self._attributes((n, space[n]) for n in names)
            )
        module = kind.__module__
        if is_settled(module, None):
            return self._same(x)
        if is_stateful(module) or hasattr(kind, "__next__") or not is_transparent(kind):
            raise Unknowable(
                f"it reads a {short_name(kind.__qualname__)}, of which one cannot tell "
                "what it holds"
            )
        held = self._attributes([*held_by(x), *held_by_class(kind)])
        if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:
            return Fingerprint(kind, None, held)
        return Fingerprint(kind, SameObject(x), held)

    def _attributes(self, held: Iterable[tuple[str, Any]]) -> tuple[_Part, ...]:
        return tuple([(f".{name}", self.of(value)) for name, value in held])


_BY_VALUE = frozenset({bool, int, str, bytes, range, type(None), type(Ellipsis)})
#: constants, or what holds nothing that could be read
_CONSTANTS = (
    enum.Enum,
    np.ufunc,
    Primitive,
    Jaxpr,
    Ref,  # what it holds is an operand of programs
    ArrayType,
    np.dtype,
    types.CodeType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    type(NotImplemented),
    type(threading.Lock()),
    type(threading.RLock()),
    type(collections.namedtuple("_P", "x").x),  # type: ignore[attr-defined]
)
_Method = Callable[[_Search, Any], Fingerprint]
_BY_TYPE: dict[type, _Method] = {
    types.FunctionType: _Search._function,
    types.ModuleType: _Search._module,
    types.MethodType: _Search._method,
    types.BuiltinFunctionType: _Search._builtin,
    tuple: _Search._sequence,
    list: _Search._sequence,
    collections.deque: _Search._sequence,
    dict: _Search._dict,
    types.MappingProxyType: _Search._dict,
    slice: _Search._slice,
    set: _Search._set,
    frozenset: _Search._set,
    bytearray: _Search._bytes,
    array.array: _Search._bytes,
    weakref.ref: _Search._weak,
    contextvars.ContextVar: _Search._context_variable,
    decimal.Decimal: _Search._value,
    datetime.date: _Search._value,
    datetime.datetime: _Search._value,
    datetime.timedelta: _Search._value,
    re.Pattern: _Search._value,
    type: _Search._class,
    **dict.fromkeys(_CONSTANTS, _Search._same),
    **dict.fromkeys(WRAPPERS, _Search._wrapper),
}
_BY_CLASS: list[tuple[Any, _Method]] = [
    (Array, _Search._array),
    (np.generic, _Search._scalar),
    (np.ndarray, _Search._numpy),
    ((enum.Enum, Primitive, np.dtype), _Search._same),
    (types.ModuleType, _Search._module),
    (type, _Search._class),
    ((tuple, list, collections.deque), _Search._sequence),
    (dict, _Search._dict),
    ((set, frozenset), _Search._set),
    (functools.partial, _Search._partial),
    ((types.SimpleNamespace, threading.local), _Search._namespace),
    (weakref.ref, _Search._weak),
]
