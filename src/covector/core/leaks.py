"""Detection of leaked tracers: the option ``check_tracer_leaks``.

A tracer belongs to one run of a transformation. When that has ended and the option is
on, the objects that still hold one of its tracers are asked for, upwards, until
something is found that lives on: a global, an attribute of an object, a closure. What
only a frame holds, as the frames of an exception do, goes with the frame.
"""

import gc
import sys
import types
from collections.abc import Sequence
from typing import Any

from covector import options
from covector.core.source import is_own
from covector.core.trace import Trace, Tracer
from covector.errors import LeakedTracerError, short_name

#: objects looked at before the search for who holds a tracer gives up
_MOST = 5000


def _install(on: bool) -> None:
    Trace.watch = check_leaks if on else None


options.Switch(("check_tracer_leaks",), _install)


def check_leaks(*ended: Trace) -> None:
    """Raise where an object that lives on holds a tracer of a trace that has ended."""
    if not options.current().check_tracer_leaks:
        return
    for trace in ended:
        if not _tracers(trace):
            continue
        # Some may be dead, in cycles. A look at what is young is quick; one at all that
        # there is, which may take a second, is for when there seems to be a leak.
        gc.collect(1)
        if _held(trace) is not None:
            gc.collect()
        found = _held(trace)
        if found is not None:
            tracer, holder = found
            raise LeakedTracerError(
                f"{trace.name or 'the transformation'} has ended, but {holder} still "
                f"holds a traced value of type {tracer.type}. {tracer.origin()} Return "
                "the value from the transformed function instead of keeping it."
            )


def _tracers(trace: Trace) -> list[Tracer]:
    """The tracers of a trace that are still there."""
    return [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]


def _held(trace: Trace) -> tuple[Tracer, str] | None:
    """A tracer that something holds which lives on, and that in words.

    The search goes upwards level by level: to ask who refers to something takes as long
    for many things as for one.
    """
    level: list[Any] = [*_tracers(trace)]
    tracers = {id(x) for x in level}
    below: dict[int, Any] = {}
    #: every object that was met: kept, so that its number stays its own
    met: list[Any] = [*level]
    while level and len(met) < _MOST:
        here = {id(x): x for x in level}
        upper: list[Any] = []
        for holder in gc.get_referrers(*level):
            ours = (below, met, here, level, upper)
            if id(holder) in below or id(holder) in tracers or _passes(holder, ours):
                continue
            held = next(here[id(x)] for x in gc.get_referents(holder) if id(x) in here)
            below[id(holder)] = held
            words = _words(holder, held, below)
            if words is not None:
                chain = _chain(holder, below)
                return chain[-1], words + _container(chain)
            upper.append(holder)
        met += upper
        level = upper
    return None


def _passes(holder: Any, ours: Sequence[Any]) -> bool:
    """Whether something holds a value only for now: a frame, this search, a trace."""
    return isinstance(holder, types.FrameType | Trace) or any(
        [holder is x for x in ours]
    )


def _chain(top: Any, below: dict[int, Any]) -> list[Any]:
    """From the one that lives on down to the tracer, each holding the next."""
    chain = [top]
    while id(chain[-1]) in below:
        chain.append(below[id(chain[-1])])
    return chain


def _words(holder: object, held: object, below: dict[int, Any]) -> str | None:
    """A description of ``holder`` if it lives on by itself; None to look further.

    A function lives on if it is the one that is being transformed, which is what a
    ``FlatFunction`` holds; others may have been made, and dropped, meanwhile.
    """
    kind, inside = type(holder), below.get(id(held))
    if kind is dict:
        return _global(holder, held)
    if kind.__name__ == "FlatFunction":
        return _closure(held, below)
    if isinstance(holder, _TRANSPARENT):
        return None
    if isinstance(holder, type):
        return f"the class {short_name(holder.__qualname__)}"
    if kind.__module__.split(".")[0] in ("covector", "builtins", "types"):
        return None
    attributes = getattr(holder, "__dict__", {})
    name = _key(attributes, inside if held is attributes else held)
    what = short_name(kind.__qualname__)
    return f"the attribute {name} of a {what}" if name else what


def _global(space: Any, held: object) -> str | None:
    """The global by which a tracer is held, where a dict is that of a module."""
    module = sys.modules.get(str(space.get("__name__", "")))
    if module is not None and vars(module) is space:
        return f"the global {_key(space, held)} of {module.__name__}"
    return None


def _container(chain: Sequence[object]) -> str:
    """`` (in a list)``, where that is what the tracer itself lies in."""
    if len(chain) < 3 or getattr(chain[0], "__dict__", None) is chain[-2]:
        return ""
    kind = type(chain[-2])
    named = kind in (list, tuple, set, dict)
    return f" (in a {kind.__name__})" if named else ""


def _closure(held: Any, below: dict[int, Any]) -> str | None:
    """The closure value of a user's function by which a tracer is held."""
    while id(held) in below:
        inside = below[id(held)]
        is_function = isinstance(held, types.FunctionType)
        if is_function and not is_own(held.__code__.co_filename):
            cell, cells = below.get(id(inside)), held.__closure__ or ()
            names = zip(held.__code__.co_freevars, cells, strict=True)
            name = next((n for n, each in names if each is cell), None)
            of = f"the closure value {name} of " if name else ""
            return f"{of}the function {short_name(held.__qualname__)}"
        held = inside
    return None


def _key(space: dict[str, Any], held: object) -> str:
    return next((str(k) for k, v in space.items() if v is held), "")


_TRANSPARENT = (
    types.CellType,
    types.FunctionType,
    types.TracebackType,
    types.GeneratorType,
    BaseException,
    Tracer,
)
