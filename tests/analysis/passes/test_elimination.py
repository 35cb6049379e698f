"""``dce``: what stays, and what is refused."""

import pytest

import covector as cv
import covector.numpy as cnp
from covector import analysis, errors, lax


def names(jaxpr):
    return [e.op.name for e in jaxpr.equations]


def test_what_has_lasting_effects_stays():
    def f(x):
        cv.debug.print("{}", cnp.sin(x))
        return cnp.cos(x), cnp.tan(x)

    made = analysis.dce(cv.make_jaxpr(f)(1.0), outputs=[1])
    assert names(made) == ["sin", "debug_callback", "tan"]


def test_the_carry_of_a_loop_that_nobody_reads_is_dropped_inside_of_a_jitted_function():
    def f(x):
        def step(carry, _):
            a, b = carry
            return (cnp.sin(a), cnp.cos(b)), cnp.exp(b)

        (a, _), _ = lax.scan(step, (x, x), None, length=3)
        return a

    (call,) = analysis.dce(cv.make_jaxpr(cv.jit(f))(1.0)).equations
    (loop,) = call.op.jaxpr.equations
    assert names(loop.op.jaxpr) == ["sin"]


OF_PROGRAMS = """
    critical_path dce dependence fold_constants inline_calls liveness merge_common
    to_dot to_networkx topological_levels
"""


@pytest.mark.parametrize("name", OF_PROGRAMS.split())
def test_a_function_is_refused_with_the_way_to_its_program(name):
    def loss(x):
        return x

    message = (
        rf"{name} needs a program, but got the function .*loss "
        rf"\(test_elimination.py:\d+\).* {name}\(covector.make_jaxpr\(f\)\(\*args\)\)"
    )
    with pytest.raises(errors.ArgumentError, match=message):
        getattr(analysis, name)(loss)


def test_what_is_no_program_is_refused():
    with pytest.raises(errors.ArgumentError, match=r"needs a program .* but got float"):
        analysis.dce(1.5)


def test_an_output_that_there_is_not_is_refused():
    program = cv.make_jaxpr(cnp.sin)(1.0)
    with pytest.raises(
        errors.ArgumentError, match=r"has 1 outputs, but number 1 was .* outputs=\(1,\)"
    ):
        analysis.dce(program, outputs=[1])


def test_a_function_traced_ahead_of_time_is_a_program():
    traced = cv.jit(lambda x: (cnp.sin(x), cnp.cos(x))).trace(1.0)
    assert names(analysis.dce(traced, outputs=[-1])) == ["cos"]
