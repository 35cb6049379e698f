"""Contents of functions, objects and classes: closures, attributes, slots, methods."""

import functools
import sys
import types
from typing import Any

from covector.programs.jit.code_reads import is_settled

#: what has code beside plain functions, in the namespace of a class
WRAPPERS = (
    property,
    classmethod,
    staticmethod,
    functools.cached_property,
    functools.partialmethod,
    type(functools.lru_cache(lambda: None)),
)
_CODE = (types.FunctionType, *WRAPPERS)


def kept_by(fun: types.FunctionType, code: types.CodeType) -> list[tuple[str, Any]]:
    """The contents of a function object: closure, defaults, attributes."""
    found: list[tuple[str, Any]] = []
    for name, cell in zip(code.co_freevars, fun.__closure__ or (), strict=True):
        try:
            found.append((f"closure value {name}", cell.cell_contents))
        except ValueError:  # a cell that is still empty says nothing
            continue
    if fun.__defaults__:
        found += [(f"default {i}", v) for i, v in enumerate(fun.__defaults__)]
    if fun.__kwdefaults__:
        found += [(f"default {k}", v) for k, v in fun.__kwdefaults__.items()]
    for name, value in fun.__dict__.items():
        if name != "__wrapped__":
            found.append((f"attribute {name}", value))
    return found


def held_by(x: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, in its dictionary and in slots."""
    held = list(getattr(x, "__dict__", {}).items())
    for kind in type(x).__mro__:
        for name, slot in kind.__dict__.items():
            if type(slot) is types.MemberDescriptorType and name != "__dict__":
                try:
                    held.append((name, slot.__get__(x, kind)))
                except AttributeError:  # not set
                    continue
    return held


def held_by_class(kind: type) -> list[tuple[str, Any]]:
    """The contents of the classes of a user's object: functions and other values."""
    return [
        (name, value)
        for each in kind.__mro__
        if each is not object and not _is_settled_class(each)
        for name, value in each.__dict__.items()
        if isinstance(value, _CODE) or not name.startswith(("__", "_abc_"))
        if name not in _TEXTS
        if type(value) is not types.MemberDescriptorType
    ]


#: methods that are about showing and storing an object
_TEXTS = frozenset(
    ("__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__", "__dir__")
)


def _is_settled_class(kind: type) -> bool:
    """Whether the methods of a class read nothing that could change a program."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if kind.__module__ == "builtins" or is_settled(kind.__module__, file):
        return True
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


@functools.lru_cache(4096)
def is_transparent(kind: type) -> bool:
    """Whether all that an object holds is found in its dictionary and slots.

    A class that is written in C keeps more: its objects are larger than that.
    """
    while kind is not object:
        space = kind.__dict__
        slots = [v for v in space.values() if type(v) is types.MemberDescriptorType]
        named = len(slots) + ("__dict__" in space) + ("__weakref__" in space)
        base = kind.__base__
        assert base is not None, "only object has no base"
        if kind.__flags__ & _IMMUTABLE or kind.__basicsize__ > (
            base.__basicsize__ + 8 * named
        ):
            return False
        kind = base
    return True


#: a flag of types: defined in C, as a constant
_IMMUTABLE = 1 << 8
