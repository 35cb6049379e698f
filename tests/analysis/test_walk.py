"""Walks over programs: every equation, and how often it is run."""

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.analysis.walk import visits


def found(f, *args, name):
    return [v for v in visits(cv.make_jaxpr(f)(*args)) if v.equation.op.name == name]


def test_equations_in_loops_are_run_once_for_each_step():
    def inner(x, _):
        return cnp.sin(x), None

    def outer(x, _):
        return lax.scan(inner, x, length=3)[0], None

    (sine,) = found(lambda x: lax.scan(outer, x, length=5)[0], 1.0, name="sin")
    assert sine.times == 15
    assert sine.known
    assert [e.op.name for e in sine.around] == ["scan", "scan"]


def test_what_values_decide_is_not_known():
    (sine,) = found(
        lambda x: lax.while_loop(lambda x: x > 0, cnp.sin, x), 1.0, name="sin"
    )
    assert (sine.times, sine.known) == (1, False)
    (cosine,) = found(lambda x: lax.cond(x > 0, cnp.cos, cnp.tan, x), 1.0, name="cos")
    assert (cosine.times, cosine.known) == (1, False)


def test_a_visit_knows_the_line_of_the_user():
    @cv.jit
    def f(x):
        return cnp.sin(x)

    (sine,) = found(f, 1.0, name="sin")
    assert sine.line.function.endswith("f")
    assert [e.op.name for e in sine.around] == ["jit"]
