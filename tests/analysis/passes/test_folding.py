"""``fold_constants``: what is computed, and what is left."""

import covector as cv
import covector.numpy as cnp
from covector import analysis, lax
from covector.analysis.walk import visits


def names(jaxpr):
    return [e.op.name for e in jaxpr.equations]


def constants(x):
    large = cnp.sqrt(cnp.full(900, 2.0)).sum() * cnp.sin(cnp.full(5000, x)).sum()
    return large * cnp.sqrt(cnp.full(5000, 2.0)).sum()


def test_only_what_is_small_is_computed():
    jaxpr = cv.make_jaxpr(constants)(1.0)
    left = names(analysis.fold_constants(jaxpr))
    assert left.count("sqrt") == 1
    assert left.count("sin") == 1
    everything = names(analysis.fold_constants(jaxpr, limit=10_000))
    assert "sqrt" not in everything
    assert everything.count("sin") == 1


def test_constants_come_to_light_when_calls_are_inlined():
    def f(x):
        return x + cv.jit(cnp.sin)(cnp.full(300, 2.0)).sum()

    jaxpr = cv.make_jaxpr(f)(1.0)
    inlined = analysis.fold_constants(analysis.inline_calls(jaxpr))
    assert names(inlined) == ["add"]


def test_bodies_of_loops_are_folded():
    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: c + cnp.ones(500).cumsum().max(), x)

    jaxpr = cv.make_jaxpr(f)(1.0)
    before, after = (
        [v.equation.op.name for v in visits(p) if v.around]
        for p in (jaxpr, analysis.fold_constants(jaxpr))
    )
    assert "cumsum" in before
    assert "cumsum" not in after


def test_a_choice_that_is_known_becomes_a_call_of_its_branch():
    def f(x):
        known = cv.jit(lambda x: cnp.full(300, 2.0).sum() > 1)(x)
        return lax.cond(known, cnp.sin, cnp.cos, x) + lax.cond(
            x > 0, cnp.sin, cnp.cos, x
        )

    inlined = analysis.inline_calls(cv.make_jaxpr(f)(1.0))
    folded = analysis.fold_constants(inlined)
    assert names(folded) == ["jit", "gt", "cond", "add"]
    assert names(analysis.inline_calls(folded)) == ["sin", "gt", "cond", "add"]
