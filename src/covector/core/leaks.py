"""Traced values that outlive their trace: ``check_tracer_leaks``.

A tracer belongs to one run of a transformation. When that has ended and the option is
on, the objects that still hold one of its tracers are asked for, upwards, until
something is found that lives on: a global, an attribute of an object, a closure. What
only a frame holds, as the frames of an exception do, goes with the frame.
"""

import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

from covector import options
from covector.core.source import is_own
from covector.core.trace import Trace, Tracer
from covector.errors import LeakedTracerError

#: objects looked at before the search for who holds a tracer gives up
_MOST = 5000


def check_leaks(*ended: Trace) -> None:
    """Raise where a tracer of a trace that has ended is held by what lives on."""
    if not options.current().check_tracer_leaks:
        return
    gc.collect()
    for trace in ended:
        # Dead tracers are gone, so whatever still refers to the trace is alive.
        for tracer in [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]:
            holder = _holder(tracer)
            if holder is not None:
                raise LeakedTracerError(
                    f"{trace.name or 'the transformation'} has ended, but a traced "
                    f"value of type {tracer.type} lives on: {holder} holds it. "
                    f"{tracer.origin()} Return the value from the transformed function "
                    "instead of keeping it."
                )


def _holder(tracer: Tracer) -> str | None:
    """Who holds a tracer, in words; None where only frames do."""
    layer: list[tuple[Any, str]] = [(tracer, "")]
    seen = {id(tracer)}
    ours: list[Any] = [layer]
    while layer and len(seen) < _MOST:
        above: list[tuple[Any, str]] = []
        ours.append(above)
        for held, through in layer:
            for holder in _referrers(held, ours):
                if id(holder) in seen:
                    continue
                seen.add(id(holder))
                words = _words(holder, held)
                if words is not None:
                    return words + through
                above.append((holder, _through(holder, through)))
        layer = above
        ours.append(layer)
    return None


def _referrers(held: Any, ours: list[Any]) -> Iterator[Any]:
    skipped = {id(x) for x in ours}
    for holder in gc.get_referrers(held):
        is_ours = id(holder) in skipped or holder is ours
        # A pair of this search is a tuple of a held object and a text.
        is_pair = type(holder) is tuple and len(holder) == 2 and holder[0] is held
        is_pair = is_pair and type(holder[1]) is str
        if not (is_ours or is_pair or isinstance(holder, types.FrameType | Trace)):
            yield holder


def _through(holder: Any, through: str) -> str:
    kind = type(holder)
    if kind in (list, tuple, set, dict):
        return f", in a {kind.__name__}{through}"
    return through


def _words(holder: Any, held: Any) -> str | None:
    """What ``holder`` is if it lives on by itself; None if one must look further."""
    if type(holder) is dict:
        module = sys.modules.get(holder.get("__name__", ""))
        if module is not None and vars(module) is holder:
            return f"the global {_key(holder, held)} of {module.__name__}"
        return None
    if isinstance(holder, types.FunctionType):
        if is_own(holder.__code__.co_filename):
            return None
        return f"the function {holder.__qualname__}{_cell_name(holder, held)}"
    if isinstance(holder, type):
        return f"the class {holder.__qualname__}"
    if isinstance(holder, _TRANSPARENT) or type(holder).__module__.startswith(
        ("covector.", "builtins")
    ):
        return None
    attributes = getattr(holder, "__dict__", {})
    name = _key(attributes, held)
    where = f"the attribute {name} of " if name else ""
    return f"{where}a {type(holder).__qualname__}"


def _cell_name(fun: types.FunctionType, held: Any) -> str:
    for name, cell in zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True):
        if held is cell or held is fun.__closure__:
            return f", by its closure value {name}"
    return ""


def _key(space: dict[str, Any], held: Any) -> str:
    return next((str(k) for k, v in space.items() if v is held), "")


_TRANSPARENT = (
    types.CellType,
    types.TracebackType,
    types.GeneratorType,
    BaseException,
    Tracer,
)
