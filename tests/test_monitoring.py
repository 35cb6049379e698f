"""Listeners hear of events, and of what covector compiles."""

import numpy as np
import pytest

import covector as cv
from covector import monitoring
from covector.errors import ArgumentError

KINDS = {
    "register_event_listener": (
        monitoring.record_event,
        monitoring.unregister_event_listener,
        (),
    ),
    "register_event_duration_secs_listener": (
        monitoring.record_event_duration_secs,
        monitoring.unregister_event_duration_listener,
        (0.5,),
    ),
    "register_event_time_span_listener": (
        monitoring.record_event_time_span,
        monitoring.unregister_event_time_span_listener,
        (1.0, 2.5),
    ),
    "register_scalar_listener": (
        monitoring.record_scalar,
        monitoring.unregister_scalar_listener,
        (3,),
    ),
}


@pytest.fixture(autouse=True)
def nobody_listens_afterwards():
    yield
    monitoring.clear_event_listeners()


@pytest.mark.parametrize("register", KINDS)
def test_a_listener_hears_its_kind_until_it_is_taken_back(register):
    record, unregister, values = KINDS[register]
    heard, others = [], []

    def listener(*args, **kwargs):
        heard.append((*args, kwargs))

    for name in KINDS:
        if name != register:
            getattr(monitoring, name)(lambda *args, **kwargs: others.append(args))
    getattr(monitoring, register)(listener)
    record("/my/event", *values, step=3)
    unregister(listener)
    record("/my/event", *values)
    assert heard == [("/my/event", *values, {"step": 3})]
    assert others == []
    with pytest.raises(ArgumentError, match=rf"does not listen.*{register}"):
        unregister(listener)


def test_a_listener_may_take_itself_back():
    heard = []

    def once(event):
        heard.append(event)
        monitoring.unregister_event_listener(once)

    monitoring.register_event_listener(once)
    monitoring.register_event_listener(heard.append)
    monitoring.record_event("a")
    monitoring.record_event("b")
    assert heard == ["a", "a", "b"]


def test_compiling_and_the_cache_are_reported():
    events, durations = [], {}
    monitoring.register_event_listener(events.append)
    monitoring.register_event_duration_secs_listener(durations.__setitem__)
    cv.jit(lambda x: x * 3 + 77.25)(np.ones(3))
    assert [e.rpartition("/")[2] for e in events] == [
        "compile_requests_use_cache",
        "cache_misses",
    ]
    assert [name.rpartition("/")[2] for name in durations] == [
        "jaxpr_trace_duration",
        "jaxpr_to_mlir_module_duration",
        "backend_compile_duration",
    ]
    assert all(seconds > 0 for seconds in durations.values())
    durations.clear()
    cv.jit(lambda y: y * 3 + 77.25, inline=True)(np.ones(3))
    assert events[-1].endswith("cache_hits")
    assert not any("backend" in name for name in durations)
