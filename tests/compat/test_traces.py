"""Traces, as packages of the field ask for them."""

import covector as cv
import covector.numpy as cnp
from covector.compat.traces import (
    Tracer,
    find_top_trace,
    get_opaque_trace_state,
    trace_state_clean,
)


def test_the_state_is_equal_as_long_as_the_same_trace_is_current():
    outside, seen = get_opaque_trace_state(), []

    def f(x):
        seen.append(get_opaque_trace_state())
        assert seen[-1] == get_opaque_trace_state() != outside
        assert not trace_state_clean()
        return x

    cv.vmap(cv.grad(f))(cnp.ones(2))
    cv.jit(f)(1.0)
    assert seen[0] != seen[1]
    assert outside == get_opaque_trace_state(convention="flax") and trace_state_clean()
    assert len({outside, get_opaque_trace_state()}) == 1


def test_what_was_traced_is_told_by_its_trace():
    def f(x):
        top = find_top_trace((x,))
        assert x._trace.main is top.main
        return x

    cv.jvp(f, (1.0,), (1.0,))


def test_tracers_and_what_is_known_while_tracing_are_instances_of_tracer():
    def f(x):
        assert isinstance(x, Tracer)
        return x

    for transformed in (cv.jit(f), cv.grad(f)):
        transformed(1.0)
    assert not isinstance(cnp.ones(2), Tracer) and not isinstance(1.0, Tracer)

    def known(x):
        assert isinstance(cnp.array(1) + 1, Tracer)
        return x

    cv.jit(known)(1.0)
