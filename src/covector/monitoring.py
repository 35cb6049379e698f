"""Monitoring: functions that hear of events, durations and numbers as they occur.

Four kinds of reports, each with listeners of its own:

    record_event(name)                          something happened
    record_event_duration_secs(name, seconds)   … and took so long
    record_event_time_span(name, start, end)    … from here to there
    record_scalar(name, value)                  a number was measured

Keyword arguments of a report reach the listeners. covector reports tracing, lowering,
compiling and its cache, as events and durations, under the names by which the ecosystem
knows them (``runtime/compilation_cache.py``).

>>> from covector import monitoring
>>> heard = []
>>> monitoring.register_scalar_listener(lambda name, value: heard.append(value))
>>> monitoring.record_scalar("/my/loss", 0.5)
>>> heard
[0.5]
>>> monitoring.clear_event_listeners()
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from covector import namespaces
from covector.errors import ArgumentError
from covector.runtime import compilation_cache

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
__dir__ = namespaces.completions(globals())


class EventListener(Protocol):
    """A function that ``record_event`` calls."""

    def __call__(self, event: str, /, **kwargs: str | int) -> Any: ...


class DurationListener(Protocol):
    """A function that ``record_event_duration_secs`` calls."""

    def __call__(self, event: str, duration: float, /, **kwargs: str | int) -> Any: ...


class TimeSpanListener(Protocol):
    """A function that ``record_event_time_span`` calls."""

    def __call__(
        self, event: str, start_time: float, end_time: float, /, **kwargs: str | int
    ) -> Any: ...


class ScalarListener(Protocol):
    """A function that ``record_scalar`` calls."""

    def __call__(
        self, event: str, value: float | int, /, **kwargs: str | int
    ) -> Any: ...


L = TypeVar("L", bound=Callable[..., Any])

_of_events: list[EventListener] = []
_of_durations: list[DurationListener] = []
_of_time_spans: list[TimeSpanListener] = []
_of_scalars: list[ScalarListener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Report that something happened."""
    for listener in [*_of_events]:
        listener(event, **kwargs)


def record_event_duration_secs(
    event: str, duration: float, **kwargs: str | int
) -> None:
    """Report that something took ``duration`` seconds."""
    for listener in [*_of_durations]:
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Report something with its start and end, in seconds of one clock."""
    for listener in [*_of_time_spans]:
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Report a number that was measured."""
    for listener in [*_of_scalars]:
        listener(event, value, **kwargs)


def register_event_listener(callback: EventListener) -> None:
    """Call ``callback(event, **kwargs)`` for each event from now on."""
    _add(callback, _of_events)


def register_event_duration_secs_listener(callback: DurationListener) -> None:
    """Call ``callback(event, seconds, **kwargs)`` for each duration from now on."""
    _add(callback, _of_durations)


def register_event_time_span_listener(callback: TimeSpanListener) -> None:
    """Call ``callback(event, start, end, **kwargs)`` for each time span from now on."""
    _add(callback, _of_time_spans)


def register_scalar_listener(callback: ScalarListener) -> None:
    """Call ``callback(event, value, **kwargs)`` for each number from now on."""
    _add(callback, _of_scalars)


def unregister_event_listener(callback: EventListener) -> None:
    """Take back ``register_event_listener``; an ArgumentError if it was not called."""
    _remove(callback, _of_events, "register_event_listener")


def unregister_event_duration_listener(callback: DurationListener) -> None:
    """Take back ``register_event_duration_secs_listener``; an ArgumentError if it was
    not called.
    """
    _remove(callback, _of_durations, "register_event_duration_secs_listener")


def unregister_event_time_span_listener(callback: TimeSpanListener) -> None:
    """Take back ``register_event_time_span_listener``; an ArgumentError if it was not
    called.
    """
    _remove(callback, _of_time_spans, "register_event_time_span_listener")


def unregister_scalar_listener(callback: ScalarListener) -> None:
    """Take back ``register_scalar_listener``; an ArgumentError if it was not called."""
    _remove(callback, _of_scalars, "register_scalar_listener")


def clear_event_listeners() -> None:
    """Take back every registration, of all four kinds."""
    for listeners in (_of_events, _of_durations, _of_time_spans, _of_scalars):
        listeners.clear()
    _follow()


def _add(callback: L, listeners: list[L]) -> None:
    listeners.append(callback)
    _follow()


def _remove(callback: L, listeners: list[L], register: str) -> None:
    if callback not in listeners:
        raise ArgumentError(
            f"{callback!r} does not listen: it was not given to "
            f"covector.monitoring.{register}, or taken back already."
        )
    listeners.remove(callback)
    _follow()


def _hear(event: str, seconds: float | None) -> None:
    """An event of the library; one that took time is a duration."""
    if seconds is None:
        record_event(event)
    else:
        record_event_duration_secs(event, seconds)


def _follow() -> None:
    """Have the library report while somebody listens; before, it costs nothing."""
    compilation_cache.listeners[:] = [_hear] if _of_events or _of_durations else []
