"""Who holds an array: the objects that refer to it, upwards to something with a name.

    train.py: history[3]                   a global of a module
    Model.cache['x']                       an attribute of a class
    x, local of step (train.py:40)         a variable of a function that runs
    w, closure of step (train.py:31)       what a function closes over
    captured by jit(step)                  a constant of a compiled program

The collector tells who refers to an object. The search goes up level by level, for all
arrays at once, since to ask for many takes as long as for one, and ends at what has a
name. Nothing that it finds is kept.
"""

import functools
import gc
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from covector.analysis.memory.frames import (
    frame_name,
    local_names,
    running_locals,
)
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.references import Ref
from covector.core.source import function_line, is_own, short_name
from covector.programs.jit.jit import PjitFunction
from covector.programs.jit.program import Program

#: levels of objects above an array, objects in all, and names of one array
_LEVELS, _MOST, _NAMES = 12, 50_000, 4
_Cache = type(functools.lru_cache(lambda: None))
#: what refers to things and holds nothing in the user's sense
_IGNORED = (
    types.FrameType,
    types.MethodType,
    types.BuiltinMethodType,
    weakref.ref,
)
#: what has a name, so that nobody asks who holds it
_NAMED = (
    types.FunctionType,
    types.GeneratorType,
    types.CoroutineType,
    types.ModuleType,
    type,
    Program,
    PjitFunction,
    Jaxpr,
    Equation,
    _Cache,
)


def holders_of(arrays: Sequence[Any]) -> list[tuple[str, ...]]:
    """For each array the names of what holds it, the shortest first."""
    graph = _Graph(arrays)
    found = []
    for x in arrays:
        names = dict.fromkeys(graph.names(x))
        found.append(tuple(sorted(names, key=len)[:_NAMES]))
    return found


class _Graph:
    """The objects above some arrays, with who refers to what."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.locals = running_locals()
        #: the identities of what refers to an object, by its identity
        self.above: dict[int, list[int]] = {}
        self.objects: dict[int, Any] = {id(x): x for x in arrays}
        level = list(arrays)
        for _ in range(_LEVELS):
            if not level or len(self.objects) > _MOST:
                return
            level = self._next_level(level, [id(arrays), id(level), id(self.objects)])

    def _next_level(self, level: list[Any], ours: list[int]) -> list[Any]:
        here = {id(x) for x in level}
        upper = []
        for holder in gc.get_referrers(*level):
            key = id(holder)
            if key in ours or isinstance(holder, _IGNORED):
                continue
            for child in {id(x) for x in gc.get_referents(holder)} & here:
                self.above.setdefault(child, []).append(key)
            if key not in self.objects:
                self.objects[key] = holder
                if not isinstance(holder, _NAMED) and not _is_globals(holder):
                    upper.append(holder)
        return upper

    def holders(self, x: Any) -> list[Any]:
        return [self.objects[key] for key in self.above.get(id(x), ())]

    def names(
        self, x: Any, rest: str = "", inside: frozenset[int] = frozenset()
    ) -> Iterator[str]:
        """Names of an object, with ``rest`` (as ``[3]``) for a part of it."""
        if id(x) in inside or len(inside) > _LEVELS:
            return
        inside |= {id(x)}
        for words in self.locals.get(id(x), ()):
            yield words.format(rest)
        for holder in self.holders(x):
            yield from self._names_by(holder, x, rest, inside)

    def _names_by(
        self, holder: Any, x: Any, rest: str, inside: frozenset[int]
    ) -> Iterator[str]:
        """Names of ``x`` that come from one of its holders."""
        if isinstance(holder, dict):
            yield from self._names_by_dict(holder, x, rest, inside)
        elif isinstance(holder, types.CellType):
            for cells in self.holders(holder):
                for function in self.holders(cells):
                    yield from _by_cell(function, holder, rest)
        elif isinstance(holder, _NAMED):
            yield from _by_named(holder, x, rest)
        elif isinstance(holder, list | tuple | deque):
            names = getattr(holder, "_fields", None)
            for i in [i for i, y in enumerate(holder) if y is x][:1]:
                part = f".{names[i]}" if names else f"[{i}]"
                yield from self.names(holder, part + rest, inside)
        elif isinstance(holder, set | frozenset):
            yield from self.names(holder, "{…}" + rest, inside)
        else:
            yield from self._names_by_object(holder, x, rest, inside)

    def _names_by_dict(
        self, space: dict, x: Any, rest: str, inside: frozenset[int]
    ) -> Iterator[str]:
        keys = [k for k, y in list(dict.items(space)) if y is x]
        if not keys:
            return
        if _is_globals(space):
            yield f"{_module(space)}: {keys[0]}{rest}"
            return
        owners = [o for o in self.holders(space) if _owns(o, space)]
        for owner in owners:
            yield from self._names_by_object(owner, x, rest, inside, str(keys[0]))
        if not owners:
            yield from self.names(space, f"[{keys[0]!r}]" + rest, inside)

    def _names_by_object(
        self,
        holder: Any,
        x: Any,
        rest: str,
        inside: frozenset[int],
        attribute: str | None = None,
    ) -> Iterator[str]:
        if isinstance(holder, _NAMED):
            yield from _by_named(holder, x, rest, attribute)
            return
        name = attribute or _attribute(holder, x)
        if isinstance(holder, Ref):
            part = "[...]"
        elif name is None:
            part = ""
        else:
            part = f".{name}"
        named = list(self.names(holder, part + rest, inside))
        yield from named
        if not named and not is_own(_file_of(type(holder))):
            kind = short_name(type(holder).__qualname__)
            what = (part + rest).lstrip(".")
            yield f"{what} of a {kind}" if what else f"a {kind}"


def _is_globals(x: Any) -> bool:
    """Whether something is the dict of the globals of a module, or of what was run."""
    return type(x) is dict and "__name__" in x and "__builtins__" in x


def _module(space: dict[str, Any]) -> str:
    """``train.py`` for what was run as a program, else the name of the module."""
    name, file = str(space["__name__"]), space.get("__file__")
    if name == "__main__" and isinstance(file, str):
        return file.rpartition("/")[2]
    return name


def _owns(x: Any, space: dict[str, Any]) -> bool:
    """Whether a dict holds the attributes of an object."""
    if isinstance(x, type):
        return any([y is space for y in gc.get_referents(x)])
    try:
        return object.__getattribute__(x, "__dict__") is space
    except Exception:  # noqa: BLE001  whatever an object of the user's raises
        return False


def _attribute(holder: Any, x: Any) -> str | None:
    """The attribute of an object by which it refers to something."""
    try:
        for name, value in object.__getattribute__(holder, "__dict__").items():
            if value is x:
                return str(name)
    except Exception:  # noqa: BLE001  it has none
        pass
    for kind in type(holder).__mro__:
        for name, slot in vars(kind).items():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    if slot.__get__(holder) is x:
                        return name
                except AttributeError:
                    continue
    return None


def _by_cell(function: Any, cell: Any, rest: str) -> Iterator[str]:
    """A value that a function closes over."""
    if isinstance(function, types.FunctionType) and function.__closure__:
        if is_own(function.__code__.co_filename):
            return
        pairs = zip(function.__code__.co_freevars, function.__closure__, strict=True)
        for name in [n for n, c in pairs if c is cell]:
            yield f"{name}{rest}, closure of {function_line(function)}"


def _by_named(
    holder: Any, x: Any, rest: str, attribute: str | None = None
) -> Iterator[str]:
    """What something with a name holds."""
    for kinds, words in _WORDS:
        if isinstance(holder, kinds):
            found = words(holder, x, attribute)
            if found is not None:
                yield found.format(rest)
            return


def _of_function(function: Any, x: Any, attribute: str | None) -> str | None:
    if is_own(function.__code__.co_filename):
        return None
    name = function_line(function)
    if attribute is not None:
        return f"{attribute}{{}}, attribute of {name}"
    defaults = x is function.__defaults__ or x is function.__kwdefaults__
    return f"default{{}} of {name}" if defaults else None


def _of_class(kind: Any, x: Any, attribute: str | None) -> str | None:
    return f"{short_name(kind.__qualname__)}.{attribute}{{}}" if attribute else None


def _of_generator(generator: Any, x: Any, attribute: str | None) -> str | None:
    frame = getattr(generator, "gi_frame", None) or getattr(generator, "cr_frame", None)
    if frame is None:
        return None
    names = [name for name, key in local_names(frame) if key == id(x)]
    return f"{names[0]}{{}}, local of {frame_name(frame)}" if names else None


def _of_program(program: Any, x: Any, attribute: str | None) -> str:
    return f"captured by jit({program.jaxpr.name or 'a function'})"


def _of_jaxpr(jaxpr: Any, x: Any, attribute: str | None) -> str:
    return f"a constant of the program {getattr(jaxpr, 'name', '') or ''}".strip()


def _of_cache(cache: Any, x: Any, attribute: str | None) -> str:
    return f"the cache of {function_line(cache)}"


def _nothing(holder: Any, x: Any, attribute: str | None) -> str | None:
    return None


_WORDS: tuple[tuple[Any, Callable[[Any, Any, str | None], str | None]], ...] = (
    (types.FunctionType, _of_function),
    (type, _of_class),
    ((types.GeneratorType, types.CoroutineType), _of_generator),
    (Program, _of_program),
    ((Jaxpr, Equation), _of_jaxpr),
    (_Cache, _of_cache),
    ((PjitFunction, types.ModuleType), _nothing),
)


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
