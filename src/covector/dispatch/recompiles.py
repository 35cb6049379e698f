"""Explanations of recompilations: why a jitted function is traced again.

The last few traces of each function are remembered: types and trees of the arguments,
static values, options, what the function read, and the line of the call. When it must
be traced again, the remembered trace that differs least gives the reason, which
``explain_cache_misses`` logs and ``no_recompile`` raises.
"""

import functools
import logging
import reprlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from covector import options
from covector.core.flat import argument_path, parameters_of, path_in_call, with_fixed
from covector.core.jaxpr import Jaxpr
from covector.core.source import Line, is_own
from covector.core.trace import Context
from covector.core.types import show_types
from covector.dispatch.arguments import ProgramKey
from covector.errors import RecompilationError
from covector.fingerprints.fingerprint_value import Fingerprint
from covector.tree.difference import first_difference

logger: logging.Logger = logging.getLogger("covector.jit")

#: functions of which the last few tracings are remembered
_CAPACITY = 1024
_FEW = 4


class Tracing(NamedTuple):
    """The key of one trace of a function: all that its program depends on."""

    #: without the static arguments, which it would keep alive
    key: ProgramKey
    #: short texts of these
    statics: dict[Any, str]
    fingerprint: Fingerprint | None
    reason: str
    line: Line | None


class _Depth(threading.local):
    """The number of functions being traced on this thread, one inside the other."""

    now = 0


depth: _Depth = _Depth()
_last: OrderedDict[tuple, tuple[Tracing, ...]] = OrderedDict()
#: how long it took to trace programs, the functions that they call included
trace_seconds: WeakKeyDictionary[Jaxpr, float] = WeakKeyDictionary()


def report(jitted: Any, now: Tracing, called: bool) -> None:
    """Log, or refuse, that a function is about to be traced, where that is wanted.

    A function that is traced inside another is part of the other's program. One whose
    program was asked for (``lower``) is not called, so both are never refused.
    """
    if not called or depth.now:
        return
    origin = _origin(jitted.fun)
    if is_own(getattr(origin[-1], "co_filename", "")):
        return  # the library's own, compiled on the user's behalf
    before = _last.get((origin, jitted.spec))
    if before:
        found = [(_reasons(jitted.fun, each, now), each) for each in before]
        reasons, nearest = min(found, key=lambda pair: len(pair[0]))
        _act(
            f"{jitted.who} is compiled again: {'; '.join(reasons[:3])}. It was "
            f"compiled before for the call at {nearest.line}."
        )
    elif options.current().no_recompile == "strict":
        raise RecompilationError(
            f"{jitted.who} is compiled for the first time, for "
            f"{show_types(now.key.types)}, inside no_recompile(strict=True). Call it "
            "before the block with arguments of these types, or leave strict out."
        )


def shown_statics(key: ProgramKey) -> dict[Any, str]:
    """Short texts of the static arguments in a key."""
    return {i: reprlib.repr(v) for i, _, v in key.statics} if key.statics else {}


def reason(jitted: Any, key: ProgramKey) -> str | None:
    """Why a function had to be traced for a key, after others; None if it was the
    first, or nobody remembers.
    """
    known = _last.get((_origin(jitted.fun), jitted.spec), ())
    wanted = shown_statics(key), key._replace(statics=()) if key.statics else key
    found = [(each.statics, each.key) for each in known]
    at = found.index(wanted) if wanted in found else len(known)
    before = known[at + 1 :]
    if not before:
        return None
    reasons = [_reasons(jitted.fun, each, known[at]) for each in before]
    return "; ".join(min(reasons, key=len)[:3])


def remember(jitted: Any, now: Tracing, jaxpr: Jaxpr, seconds: float) -> None:
    """Keep what a function was traced for, and log how long it took."""
    trace_seconds[jaxpr] = seconds
    key = _origin(jitted.fun), jitted.spec
    _last[key] = (now, *_last.get(key, ())[: _FEW - 1])
    _last.move_to_end(key)
    if len(_last) > _CAPACITY:
        _last.popitem(last=False)
    level = options.current().compile_log_level
    if logger.isEnabledFor(level):
        shown = show_types(now.key.types) or "no arguments"
        text = "Traced %s for %s: %d operations in %.1f ms"
        count = len(jaxpr.equations)
        logger.log(level, text, jitted.who, shown, count, 1e3 * seconds)


def refuse_device(who: str, before: Any, now: Any) -> None:
    """Report a recompilation because the arguments are on other devices."""
    _act(
        f"{who} is compiled again: its arguments were on {before} and are now on {now}."
    )


def _act(words: str) -> None:
    """Log a recompilation, and refuse it, where that is wanted."""
    now = options.current()
    if now.explain_cache_misses:
        logger.warning("%s", words)
    if now.no_recompile:
        raise RecompilationError(
            f"{words} Inside no_recompile() this is an error: call it before the block "
            "with such arguments, or keep them alike."
        )


def _reasons(fun: Callable[..., Any], before: Tracing, now: Tracing) -> list[str]:
    """The differences from the last trace of the function."""
    old, new = before.key, now.key
    of_others = with_fixed(fun, now.statics)
    if old.in_tree != new.in_tree:
        found = [_changed_tree(old.in_tree, new.in_tree, of_others)]
    else:
        found = [
            f"{argument_path(new.in_tree, i, of_others)} was {_type(a, b)} and is now "
            + _type(b, a)
            for i, (a, b) in enumerate(zip(old.types, new.types, strict=True))
            if a is not b
        ]
    statics = _changed_statics(fun, before.statics, now.statics)
    found += statics + _changed_context(old.context, new.context)
    if before.fingerprint is not None and now.fingerprint is not None:
        both = before.fingerprint, now.fingerprint
        if statics:  # which are parts of the fingerprints, beside the function
            both = both[0].parts[0][1], both[1].parts[0][1]
        change = _difference(*both)
        found += [change] if change else []
    if not found and now.reason:
        found.append(f"it is another function object, and {now.reason}")
    return found or [
        "its programs were forgotten, or it closes over traced values, for which it is "
        "traced each time"
    ]


def _changed_context(old: Context, new: Context) -> list[str]:
    found = [
        f"the option {n} was {getattr(old.options, n)!r} and is now "
        f"{getattr(new.options, n)!r}"
        for n in options.names()
        if getattr(old.options, n) != getattr(new.options, n)
    ]
    if old.axes != new.axes:
        found.append(f"named axes were {dict(old.axes)} and are {dict(new.axes)}")
    elif old.checked_axes != new.checked_axes:
        before, now = (sorted(map(str, c.checked_axes)) for c in (old, new))
        found.append(
            f"types said what varies over the mesh axes {before} and now do over {now}"
        )
    elif old.mesh is not new.mesh:
        found.append(f"the mesh was {old.mesh} and is now {new.mesh}")
    return found


def _difference(
    before: Fingerprint, now: Fingerprint, where: str = "the function"
) -> str | None:
    """The first difference of two fingerprints, in words: ``closure value c was 1 and
    is now 2``; None where they are equal.
    """
    if before == now:
        return None
    names = [tuple([name for name, _ in each.parts]) for each in (before, now)]
    if (before.kind, before.value) == (now.kind, now.value) and names[0] == names[1]:
        for (name, a), (_, b) in zip(before.parts, now.parts, strict=True):
            inside = where + name if name[:1] in (".", "[") else name or where
            found = _difference(a, b, inside)
            if found is not None:
                return found
    if str(before) != str(now):
        return f"{where} was {before} and is now {now}"
    if before.is_collection:
        return f"{where} has other keys now"
    other = str(now).removeprefix("an ").removeprefix("a ").removeprefix("the ")
    return f"{where} is another {other} now"


def _changed_tree(before: Any, now: Any, fun: Any) -> str:
    found = first_difference(before, now)
    assert found is not None, "unequal trees differ somewhere"
    if len(found.path) < 2:
        which = "keyword" if found.path and found.path[0].idx else "positional"
        return f"the {which} arguments were {found.left} and are now {found.right}"
    where = path_in_call(found.path, fun)
    return f"{where} was {found.left} and is now {found.right}"


def _type(type: Any, other: Any) -> str:
    """A type, and its weakness where nothing else is different."""
    if str(type) != str(other):
        return str(type)
    return f"{type} of a Python number" if type.weak else f"{type} of an array"


def _changed_statics(
    fun: Callable[..., Any], before: dict[Any, str], now: dict[Any, str]
) -> list[str]:
    names = parameters_of(fun)
    old, new = _by_parameter(names, before), _by_parameter(names, now)
    found = []
    for name in dict.fromkeys([*old, *new]):
        (way, value), (new_way, new_value) = (
            each.get(name, ("", "left out")) for each in (old, new)
        )
        if value != new_value:
            found.append(
                f"the static argument {name} was {value} and is now {new_value}"
            )
        elif way != new_way:
            found.append(
                f"the static argument {name} was given {way} and now {new_way}"
            )
    return found


def _by_parameter(
    names: list[str], statics: dict[Any, str]
) -> dict[Any, tuple[str, str]]:
    """By the names of their parameters: how static arguments were given, and values."""
    found: dict[Any, tuple[str, str]] = {}
    for key, value in statics.items():
        if isinstance(key, str):
            found[key] = "by name", value
        else:
            found[names[key] if key < len(names) else key] = "by position", value
    return found


def _origin(fun: Any) -> tuple:
    """Equal for function objects that come from the same line of the program."""
    codes = []
    while fun is not None:
        if isinstance(fun, functools.partial):
            fun = fun.func
            continue
        fun = getattr(fun, "__func__", fun)
        codes.append(getattr(fun, "__code__", type(fun)))
        fun = getattr(fun, "__wrapped__", None)
    return tuple(codes)
