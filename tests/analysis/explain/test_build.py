"""What an explanation takes from a traced program: values, uses and lines."""

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.analysis.explain.explanation import explain


def test_lines_of_a_backward_pass_say_that_they_are_transposed():
    def loss(x):
        return cnp.sum(cnp.sin(x))

    found = explain(cv.grad(loss))(cnp.ones(3))
    assert {line.scope for line in found.lines} == {"", "transpose()"}


def test_values_of_a_loop_are_tied_to_what_goes_in_and_to_the_step_before():
    def f(x):
        return lax.fori_loop(0, 3, lambda _, c: cnp.sin(c), x)

    found = explain(f)(cnp.ones(3))
    (sine,) = [e for e in found.equations if e.operation == "sin"]
    (carry,), (step,) = sine.inputs, sine.outputs
    (argument,) = [i for i, v in enumerate(found.values) if v.argument == "x"]
    assert set(found.values[carry].ties) == {argument, step}
    (result,) = found.results
    assert result.path == "result"
    assert found.values[result.value].ties == (step,)
