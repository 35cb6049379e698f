"""``inline_calls``: calls are opened, what has rules is kept."""

import covector as cv
import covector.numpy as cnp
from covector import analysis


def test_equations_keep_their_lines_inside_of_the_named_scope_of_the_call():
    @cv.jit
    def layer(x):
        with cv.named_scope("inner"):
            return cnp.sin(x)

    def f(x):
        with cv.named_scope("outer"):
            return layer(layer(x))

    first, second = analysis.inline_calls(cv.make_jaxpr(f)(1.0)).equations
    assert first.line.scope == second.line.scope == "outer/inner"
    assert first.line.function.endswith("layer")


def test_rules_and_checkpoints_are_kept():
    @cv.custom_vjp
    def ruled(x):
        return cv.jit(cnp.sin)(x)

    ruled.defvjp(lambda x: (ruled(x), None), lambda _, ct: (7 * ct,))
    f = lambda x: ruled(x) + cv.checkpoint(cv.jit(cnp.cos))(x)  # noqa: E731
    made = analysis.inline_calls(cv.make_jaxpr(cv.jit(f))(0.5))
    assert len(made.equations) == 3
    inside = [e.op.regions[0].jaxpr.equations[0].op.name for e in made.equations[:2]]
    assert inside == ["sin", "cos"]
    assert abs(float(cv.grad(lambda x: made(x)[0])(0.5)) - 6.5206) < 1e-3


def test_outputs_that_a_function_returns_unchanged_are_its_operands():
    swap = cv.jit(lambda x, y: (y, x))
    made = analysis.inline_calls(cv.make_jaxpr(swap)(1.0, 2))
    assert not made.equations
    assert made.outputs == made.inputs[::-1]
