"""Traces that packages of the field write."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat.primitives import Primitive
from covector.compat.traces import (
    Trace,
    Tracer,
    set_current_trace,
    take_current_trace,
    trace_state_clean,
)
from covector.errors import MissingRule


class Boxed(Tracer):
    """A value that ``Recording`` has seen."""

    def __init__(self, trace, value):
        super().__init__(trace, value.aval)
        self.value = value


class Recording(Trace):
    """Writes down the names and parameters of operations, and runs them below."""

    def __init__(self, parent_trace):
        super().__init__()
        self.parent_trace = parent_trace
        self.seen = []

    def unboxed(self, x):
        return x.value if isinstance(x, Boxed) and x._trace is self else x

    def process_primitive(self, primitive, tracers, params):
        self.seen.append((primitive.name, params))
        values = [self.unboxed(t) for t in tracers]
        avals = [v.aval for v in values]
        out = primitive.bind_with_trace(self.parent_trace, values, avals, params)
        return cv.tree.map(lambda x: Boxed(self, x), out)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.seen.append((primitive.name, {}))
        with set_current_trace(self):
            return fun.call_wrapped(*tracers)


def recorded(f, *args):
    with take_current_trace() as parent:
        trace = Recording(parent)
        with set_current_trace(trace):
            out = f(*[Boxed(trace, x) for x in args])
        return trace.unboxed(out), trace.seen


def test_a_trace_is_told_of_operations_by_their_names_in_the_field():
    x = cnp.array([3.0, 1.0])
    out, seen = recorded(lambda x: cnp.sin(x).sum() * 2, x)
    np.testing.assert_allclose(out, 2 * np.sin(x).sum(), rtol=1e-6)
    assert [name for name, _ in seen] == ["sin", "reduce_sum", "mul"]
    assert seen[1][1]["axes"] == (0,)
    (low, high), seen = recorded(lambda x: cv.lax.sort((x, x), num_keys=1), x)
    assert [n for n, _ in seen] == ["sort"] and low.shape == high.shape == (2,)


def test_a_trace_is_told_of_primitives_of_the_field():
    p = Primitive("p")
    p.def_impl(lambda x, *, k: x + k[0])
    assert recorded(lambda x: p.bind(x, k=[1]), cnp.ones(())) == (
        2,
        [("p", {"k": [1]})],
    )


def test_a_trace_works_around_and_inside_of_transformations():
    x = cnp.array([0.5, 1.0])

    def f(x):
        return recorded(lambda x: (cnp.sin(x) * x).sum(), x)[0]

    np.testing.assert_allclose(cv.jit(cv.grad(f))(x), np.sin(x) + x * np.cos(x), 1e-6)
    slope, seen = recorded(cv.grad(lambda x: cnp.sin(x).sum()), x)
    np.testing.assert_allclose(slope, np.cos(x), rtol=1e-6)
    assert {"sin", "cos"} <= {name for name, _ in seen}
    _, seen = recorded(cv.jit(cnp.sin), x)
    ((name, params),) = seen
    assert name == "jit" and [e.primitive.name for e in params["jaxpr"].eqns] == ["sin"]


def test_a_trace_is_told_of_rules_of_users():
    f = cv.custom_jvp(cnp.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    out, seen = recorded(f, cnp.ones(()))
    assert out == cnp.sin(1.0)
    assert [name for name, _ in seen] == ["custom_jvp_call", "sin"]


def test_what_a_trace_does_not_process_is_an_error_that_names_the_method():
    class Nothing(Trace):
        pass

    trace = Nothing()
    f = cv.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (g,))
    with set_current_trace(trace):
        x = Boxed.__new__(Boxed)
        Tracer.__init__(x, trace, cnp.ones(2).aval)
        with pytest.raises(MissingRule, match=r"cannot process sin.*process_primitive"):
            cnp.sin(x)
        with pytest.raises(MissingRule, match="process_custom_vjp_call"):
            f(x)
    assert trace_state_clean()
