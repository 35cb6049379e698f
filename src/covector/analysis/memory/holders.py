"""Who holds an array: the objects that refer to it, upwards to something with a name.

    train.py: history[3]                   a global of a module
    Model.cache['x']                       an attribute of a class
    x, local of step (train.py:40)         a variable of a function that runs
    w, closure of step (train.py:31)       what a function closes over
    captured by jit(step)                  a constant of a compiled program

The search goes up level by level, for all arrays at once, since each level takes a look
at all objects of the process, and ends at what has a name. Nothing that it finds is
kept.
"""

import functools
import gc
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from covector.analysis.memory.frames import (
    frame_name,
    local_names,
    running_frames,
    running_locals,
)
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.references import Ref
from covector.core.source import function_line, is_own, short_name
from covector.dispatch.jit import PjitFunction
from covector.dispatch.program import Program

#: levels of objects above an array, objects in all, and names of one array
_LEVELS, _MOST, _NAMES = 12, 50_000, 4
#: objects up to which the collector finds what refers to them faster than we do: it
#: compares each reference with all of them
_FEW = 64
_Cache = type(functools.lru_cache(lambda: None))
#: what refers to things and holds nothing in the user's sense
_IGNORED = (
    types.MethodType,
    types.BuiltinMethodType,
    weakref.ref,
)
#: what has a name, so that nobody asks who holds it
_NAMED = (
    types.FrameType,
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


#: a name; or something to go on with, and what of it is meant, as ``.cache[3]``
_Step: TypeAlias = "str | tuple[Any, str]"


def holders_of(arrays: Sequence[Any]) -> list[tuple[str, ...]]:
    """For each array the names of what holds it, the nearest first."""
    graph = _Graph(arrays)
    return [tuple(graph.names(x)) for x in arrays]


class _Graph:
    """The objects above some arrays, with who refers to what."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.locals = running_locals()
        #: the identities of what refers to an object, by its identity
        self.above: dict[int, list[int]] = {}
        self.objects: dict[int, Any] = {id(x): x for x in arrays}
        #: of lists and dicts, by their identities: where each object comes first
        self.first: dict[int, dict[int, Any]] = {}
        level = list(arrays)
        for _ in range(_LEVELS):
            if not level or len(self.objects) > _MOST:
                return
            # Functions that run are asked for their variables, and this is one of them.
            ours = {id(arrays), id(level), id(self.objects)}
            level = self._next_level(level, ours | set(map(id, running_frames())))

    def _next_level(self, level: list[Any], ours: set[int]) -> list[Any]:
        here = {id(x) for x in level}
        ours.add(id(sys._getframe()))  # pyright: ignore[reportPrivateUsage]
        upper = []
        for holder in _referrers(level, here):
            key = id(holder)
            if key in ours or _is(holder, _IGNORED):
                continue
            for child in {id(x) for x in gc.get_referents(holder)} & here:
                self.above.setdefault(child, []).append(key)
            if key not in self.objects:
                self.objects[key] = holder
                if not _is(holder, _NAMED) and not _is_globals(holder):
                    upper.append(holder)
        return upper

    def holders(self, x: Any) -> list[Any]:
        """The objects that refer to one."""
        return [self.objects[key] for key in self.above.get(id(x), ())]

    def names(self, array: Any) -> list[str]:
        """The names by which an array is held, the nearest first.

        The search comes to each object once, by its shortest way: objects may refer to
        each other in more ways than can be counted.
        """
        found: dict[str, None] = {}
        unnamed: list[str] = []
        steps: deque[tuple[Any, str]] = deque([(array, "")])
        seen = {id(array)}
        while steps and len(found) < _NAMES:
            x, rest = steps.popleft()
            found.update(
                {f"{name}{rest}{where}": None for name, where in self._locals(x)}
            )
            for step in [s for h in self.holders(x) for s in self._up(h, x, rest)]:
                if isinstance(step, str):
                    found[step] = None
                elif id(step[0]) not in seen:
                    seen.add(id(step[0]))
                    steps.append(step)
                    unnamed += _of_users(*step)
        return [*found][:_NAMES] or unnamed[:1]

    def _places(self, holder: Any, x: Any) -> list[Any]:
        """The first index or key of an object in a list or a dict; none if it is gone.

        It is looked up: one list may hold all of the arrays.
        """
        first = self.first.get(id(holder))
        if first is None:
            first = self.first[id(holder)] = {}
            pairs = dict.items(holder) if _is(holder, dict) else enumerate(holder)
            for place, y in list(pairs):
                first.setdefault(id(y), place)
        return [first[id(x)]] if id(x) in first else []

    def _locals(self, x: Any) -> list[tuple[str, str]]:
        return self.locals.get(id(x), [])

    def _up(self, holder: Any, x: Any, rest: str) -> Iterator[_Step]:
        """From an object to what refers to it."""
        if _is(holder, dict):
            yield from self._up_from_dict(holder, x, rest)
        elif _is(holder, types.CellType):
            for cells in self.holders(holder):
                for function in self.holders(cells):
                    yield from _by_cell(function, holder, rest)
        elif _is(holder, _NAMED):
            yield from _by_named(holder, x, rest)
        elif _is(holder, (list, tuple, deque)):
            names = getattr(type(holder), "_fields", None)
            for i in self._places(holder, x):
                yield holder, (f".{names[i]}" if names else f"[{i}]") + rest
        elif _is(holder, (set, frozenset)):
            yield holder, "{…}" + rest
        elif _is(holder, Ref):
            yield holder, "[...]" + rest
        else:
            name = _attribute(holder, x)
            yield holder, rest if name is None else f".{name}{rest}"

    def _up_from_dict(self, space: dict, x: Any, rest: str) -> Iterator[_Step]:
        for key in self._places(space, x):
            owners = [o for o in self.holders(space) if _owns(o, space)]
            if _is_globals(space):
                yield f"{_module(space)}: {key}{rest}"
            elif not owners:
                yield space, f"[{key!r}]{rest}"
            for owner in owners:
                if _is(owner, _NAMED):
                    yield from _by_named(owner, x, rest, str(key))
                else:
                    yield owner, f".{key}{rest}"


def _referrers(level: list[Any], here: set[int]) -> list[Any]:
    """All objects that refer to one of these, of which ``here`` has the identities."""
    if len(level) <= _FEW:
        return gc.get_referrers(*level)
    referents = gc.get_referents
    return [x for x in gc.get_objects() if not here.isdisjoint(map(id, referents(x)))]


def _is(x: Any, kinds: Any) -> bool:
    """``isinstance``, without asking the object: some stand for others."""
    return issubclass(type(x), kinds)


def _of_users(x: Any, rest: str) -> list[str]:
    """``weight of a Linear``, for an object of a class of the user's."""
    kind = type(x)
    if kind.__module__ == "builtins" or is_own(_file_of(kind)):
        return []
    what, name = rest.lstrip("."), short_name(kind.__qualname__)
    return [f"{what} of a {name}" if what else f"a {name}"]


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
    if _is(x, type):
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
    if _is(function, types.FunctionType) and function.__closure__:
        if is_own(function.__code__.co_filename):
            return
        pairs = zip(function.__code__.co_freevars, function.__closure__, strict=True)
        for name in [n for n, c in pairs if c is cell]:
            yield f"{name}{rest}, closure of {function_line(function)}"


def _by_named(
    holder: Any, x: Any, rest: str, attribute: str | None = None
) -> Iterator[str]:
    """The memory that something with a name holds."""
    for kinds, words in _WORDS:
        if _is(holder, kinds):
            found = words(holder, x, attribute)
            if found is not None:
                yield found[0] + rest + found[1] if found[0] else found[1]
            return


#: what is held, if that has a name, and by whom
_Words: TypeAlias = tuple[str, str] | None


def _of_function(function: Any, x: Any, attribute: str | None) -> _Words:
    if is_own(function.__code__.co_filename):
        return None
    name = function_line(function)
    if attribute is not None:
        return attribute, f", attribute of {name}"
    defaults = x is function.__defaults__ or x is function.__kwdefaults__
    return ("default", f" of {name}") if defaults else None


def _of_class(kind: Any, x: Any, attribute: str | None) -> _Words:
    return (f"{short_name(kind.__qualname__)}.{attribute}", "") if attribute else None


def _of_generator(generator: Any, x: Any, attribute: str | None) -> _Words:
    frame = getattr(generator, "gi_frame", None) or getattr(generator, "cr_frame", None)
    if frame is None:
        return None
    names = [name for name, key in local_names(frame) if key == id(x)]
    return (names[0], f", local of {frame_name(frame)}") if names else None


def _of_frame(frame: Any, x: Any, attribute: str | None) -> _Words:
    """A variable of a function that has ended: an exception keeps it."""
    if is_own(frame.f_code.co_filename):
        return "", "an exception that passed through covector and is kept"
    names = [name for name, key in local_names(frame) if key == id(x)]
    where = f", local of {frame_name(frame)}, which has ended"
    return (names[0], where) if names else None


def _of_program(program: Any, x: Any, attribute: str | None) -> _Words:
    return "", f"captured by jit({program.jaxpr.name or 'a function'})"


def _of_jaxpr(jaxpr: Any, x: Any, attribute: str | None) -> _Words:
    return "", f"a constant of the program {getattr(jaxpr, 'name', '') or ''}".strip()


def _of_cache(cache: Any, x: Any, attribute: str | None) -> _Words:
    return "", f"the cache of {function_line(cache)}"


def _nothing(holder: Any, x: Any, attribute: str | None) -> _Words:
    return None


_WORDS: tuple[tuple[Any, Callable[[Any, Any, str | None], _Words]], ...] = (
    (types.FrameType, _of_frame),
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
