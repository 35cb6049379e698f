"""What is known is computed, the rest is a program."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.compat.jaxprs import eval_jaxpr
from covector.compat.linear_util import wrap_init
from covector.compat.partial_evaluation import (
    PartialVal,
    convert_constvars_jaxpr,
    dce_jaxpr,
    trace_to_jaxpr_dynamic,
    trace_to_jaxpr_nounits,
)
from covector.compat.programs import make_jaxpr
from covector.compat.restaging import as_closed

SCALAR = cnp.float32(0).type


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.eqns]


def test_known_results_are_computed_while_unknown_ones_are_staged():
    seen = []

    def f(x, y):
        seen.append(isinstance(cnp.sin(y), cv.core.Tracer))
        return [x * cnp.sin(y), cnp.cos(y)]

    pvals = [PartialVal.unknown(SCALAR), PartialVal.known(cnp.float32(1))]
    jaxpr, out_pvals, consts = trace_to_jaxpr_nounits(wrap_init(f), pvals)
    (aval, none), (known, value) = out_pvals
    assert aval is SCALAR and none is None
    assert known is None and float(value) == float(np.cos(np.float32(1)))
    assert names(jaxpr) == ["mul"] and seen == [False]
    (out,) = eval_jaxpr(jaxpr, consts, 2.0)
    np.testing.assert_allclose(out, 2 * np.sin(1), rtol=1e-6)
    assert [p.is_known() for p in out_pvals] == [False, True]
    assert [str(p.get_aval()) for p in out_pvals] == ["f32[]", "f32[]"]


def test_known_results_are_outputs_where_that_is_asked_for():
    def f(x, y):
        return [x, y + 1, y]

    pvals = [PartialVal.unknown(SCALAR), PartialVal.known(2.0)]
    wanted = [False, True, False]
    jaxpr, out_pvals, consts = trace_to_jaxpr_nounits(wrap_init(f), pvals, wanted)
    assert [p.is_known() for p in out_pvals] == [False, False, True]
    assert [float(x) for x in eval_jaxpr(jaxpr, consts, 5.0)] == [5.0, 3.0]
    jaxpr, out_pvals, _ = trace_to_jaxpr_nounits(wrap_init(f), pvals, True)
    assert len(jaxpr.outvars) == 3


def test_a_jitted_function_of_some_unknown_values_gives_what_is_known():
    @cv.jit
    def f(x, y):
        return x + 1, cnp.arange(4.0) * y

    pvals = [PartialVal.unknown(SCALAR), PartialVal.known(cnp.float32(2))]
    fun = wrap_init(lambda x, y: list(f(x, y)))
    jaxpr, (_, known), _ = trace_to_jaxpr_nounits(fun, pvals)
    assert known.get_known().tolist() == [0.0, 2.0, 4.0, 6.0]
    assert names(jaxpr) == ["add"]


def test_what_is_known_may_itself_be_traced():
    def outer(y):
        pvals = [PartialVal.unknown(SCALAR), PartialVal.known(y)]
        fun = wrap_init(lambda x, y: [x * y, y * 3])
        jaxpr, (_, known), consts = trace_to_jaxpr_nounits(fun, pvals)
        return eval_jaxpr(jaxpr, consts, 10.0)[0] + known.get_known()

    assert float(cv.jit(outer)(2.0)) == 26.0
    assert float(cv.grad(outer)(2.0)) == 13.0


def test_a_function_of_leaves_is_traced_for_types():
    large = cnp.ones(2000)
    fun = wrap_init(lambda x: [x + large, x])
    jaxpr, avals, consts = trace_to_jaxpr_dynamic(fun, [SCALAR])
    assert [str(a) for a in avals] == ["f32[2000]", "f32[]"]
    assert consts[0] is large
    opened = convert_constvars_jaxpr(jaxpr)
    assert opened.constvars == [] and len(opened.invars) == 2
    assert as_closed(opened).consts == []


def test_equations_of_unused_results_go_and_effects_stay():
    def f(x, y):
        cv.debug.print("{}", y)
        return cnp.sin(x), cnp.cos(y)

    jaxpr = make_jaxpr(f)(1.0, 2.0).jaxpr
    left, used = dce_jaxpr(jaxpr, [True, False])
    assert names(left) == ["debug_callback", "sin"] and used == [True, True]
    jaxpr = make_jaxpr(lambda x, y: (cnp.sin(x), cnp.cos(y)))(1.0, 2.0).jaxpr
    left, used = dce_jaxpr(jaxpr, [True, False])
    assert names(left) == ["sin"] and used == [True, False]
    assert len(dce_jaxpr(jaxpr, [True, False], instantiate=True)[0].invars) == 2
    assert dce_jaxpr(jaxpr, False)[1] == [False, False]
