"""``topological_levels`` and ``critical_path``: what needs what."""

import covector as cv
import covector.numpy as cnp
from covector import analysis, lax
from covector.debug import print as show


def test_ordered_effects_need_each_other():
    def f(x):
        show("{}", x, ordered=True)
        show("{}", x, ordered=True)

    assert analysis.topological_levels(cv.make_jaxpr(f)(1.0)).of == (0, 1)


def test_a_loop_costs_its_longest_chain_for_each_step():
    def step(c, _):
        return cnp.sin(cnp.sin(c)) + cnp.cos(c), None

    jaxpr = cv.make_jaxpr(lambda x: lax.scan(step, x, None, length=5)[0])(1.0)
    path = analysis.critical_path(jaxpr)
    assert (path.length, path.total, path.equations) == (15, 20, (0,))
    assert path.parallelism == 4 / 3


def test_a_choice_costs_its_longest_branch_and_weights_may_be_given():
    def f(x):
        return lax.cond(x > 0, cnp.sin, lambda x: cnp.cos(cnp.cos(x)), x)

    jaxpr = cv.make_jaxpr(f)(1.0)
    assert analysis.critical_path(jaxpr).length == 3
    sines = lambda e: 10.0 * (e.op.name == "sin")  # noqa: E731
    assert analysis.critical_path(jaxpr, weight=sines).length == 10


def test_a_program_without_equations_has_no_levels():
    jaxpr = cv.make_jaxpr(lambda x: x)(1.0)
    assert analysis.topological_levels(jaxpr).width == 0
    assert analysis.critical_path(jaxpr) == ((), 0.0, 0)
