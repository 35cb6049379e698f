"""Staging: what is recorded, what is known already, what is captured."""

import math
import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.effects import CALLS, LASTS
from covector.core.jaxpr import Var
from covector.core.primitive import ManyResults, operation
from covector.core.show import show_jaxpr
from covector.core.staging import (
    KNOWN_LIMIT,
    LITERAL_LIMIT,
    StagedTracer,
    StagingTrace,
    restage,
    stage,
)
from covector.core.trace import current, was_computed_while_tracing
from covector.core.types import ArrayType
from covector.errors import (
    ConcretizationTypeError,
    DTypeError,
    UnexpectedTracerError,
)
from covector.lowering.evaluate import base
from covector.operations.arithmetic import add, mul
from covector.operations.transcendental import sin
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
ONE = array(np.float32(1.0))
ONES = np.ones(2, np.float32)


def vector(n):
    return array(np.arange(n, dtype=np.float32))


def wide(n):
    return ArrayType((n,), dtypes.float32)


@operation
class Acts(ManyResults):
    """Gives its operand back, and does something besides."""

    kind: frozenset

    def __post_init__(self):
        object.__setattr__(self, "effects", self.kind)

    def type_rule(self, x):
        return (x,)

    def evaluate(self, x):
        pytest.fail("it was run while the program was traced")


# -- what is recorded ------------------------------------------------------------------


def test_operations_on_tracers_are_recorded_in_order():
    jaxpr = stage(lambda x, y: [add(sin(x), mul(x, y))], [F32, F32]).jaxpr
    assert [e.op for e in jaxpr.equations] == [sin, mul, add]
    assert jaxpr.in_types == (F32, F32)


def test_results_have_the_types_that_the_operation_says():
    seen = []

    def fun(x):
        y = x.reshape(3, 1) < x
        seen.append(y)
        return [y]

    jaxpr = stage(fun, [F32]).jaxpr
    assert type(seen[0]) is StagedTracer
    assert seen[0].type is jaxpr.out_types[0] is ArrayType((3, 3), dtypes.bool_)


def test_what_is_recorded_gives_what_the_function_gives():
    def fun(x, y):
        return [cnp.sin(x) @ y + 2.0, x[::-1]]

    values = [vector(3), array(np.float32([1, -1, 2]))]
    results = stage(fun, [F32, F32]).jaxpr(*values)
    for result, wanted in zip(results, fun(*values), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_inputs_and_literals_may_be_outputs_and_each_several_times():
    jaxpr = stage(lambda x, y: [y, ONE, x, y], [F32, wide(2)]).jaxpr
    assert jaxpr.equations == ()
    assert jaxpr.outputs == (jaxpr.inputs[1], ONE, *jaxpr.inputs)


def test_a_python_number_is_a_weak_literal():
    jaxpr = stage(lambda x: [add(x, 2.0)], [ArrayType((), dtypes.float32)]).jaxpr
    (_, two) = jaxpr.equations[0].inputs
    assert type(two) is ConcreteArray
    assert two.type is ArrayType((), dtypes.float32, weak=True)


def test_equal_functions_are_staged_as_equal_programs():
    def fun(x):
        return [cnp.where(x > 0, cnp.cumsum(x), 1.0)]

    first, second = (stage(fun, [F32], "fun").jaxpr for _ in range(2))
    assert show_jaxpr(first) == show_jaxpr(second)


def test_each_equation_has_the_line_that_asked_for_it():
    def fun(x):
        y = sin(x)
        return [add(y, x)]

    lines = [e.line for e in stage(fun, [F32]).jaxpr.equations]
    first = fun.__code__.co_firstlineno
    assert [line.number - first for line in lines] == [1, 2]
    assert {line.function for line in lines} == {fun.__qualname__}


def test_a_tracer_says_where_it_was_made():
    def fun(x):
        y = sin(x)
        assert x.origin() == "It is an argument of loss."
        here = re.escape(f"{__file__}:{fun.__code__.co_firstlineno + 1}")
        assert re.match(f"It was made at {here} .* while tracing loss", y.origin())
        return [y]

    stage(fun, [F32], "loss")


# -- what is known stays known ---------------------------------------------------------


def test_what_is_computed_of_known_small_values_is_not_recorded():
    shapes = []

    def fun(x):
        n = add(array(np.int32(1)), array(np.int32(2)))
        shapes.append(int(n))
        return [mul(x, array(np.float32(1.0)) + n)]

    jaxpr = stage(fun, [F32]).jaxpr
    assert shapes == [3]
    (equation,) = jaxpr.equations
    assert equation.op is mul
    assert float(equation.inputs[1]) == 4.0


@pytest.mark.parametrize("n", [1, KNOWN_LIMIT, KNOWN_LIMIT + 1])
def test_known_values_are_computed_up_to_a_limit(n):
    jaxpr = stage(lambda: [sin(vector(n))], []).jaxpr
    assert bool(jaxpr.equations) == (n > KNOWN_LIMIT)


def test_a_large_result_of_small_known_values_is_recorded():
    jaxpr = stage(lambda: [cnp.broadcast_to(ONE, (KNOWN_LIMIT + 1,))], []).jaxpr
    assert len(jaxpr.equations) == 1


@pytest.mark.parametrize("kind", [CALLS, LASTS])
def test_effects_are_recorded_even_of_known_values(kind):
    (equation,) = stage(lambda: [*Acts(kind)(ONE)], []).jaxpr.equations
    assert equation.op is Acts(kind)


def test_under_a_transformation_within_known_values_are_still_known():
    known = []

    def fun(x):
        def inner(y):
            known.append(float(sin(ONE)))
            return y

        return [cv.jvp(inner, (x,), (x,))[0]]

    stage(fun, [F32])
    assert known == [float(sin(ONE))]


# -- what is captured ------------------------------------------------------------------


@pytest.mark.parametrize("n", [KNOWN_LIMIT + 1, LITERAL_LIMIT - 1, LITERAL_LIMIT])
def test_large_arrays_are_captured_and_smaller_ones_are_literals(n):
    x = vector(n)
    staged = stage(lambda y: [add(y, x)], [wide(n)])
    captured = n >= LITERAL_LIMIT
    assert staged.captured == ([x] if captured else [])
    assert len(staged.jaxpr.inputs) == 1 + captured
    assert (x in staged.jaxpr.equations[0].inputs) == (not captured)


def test_an_array_is_captured_once_however_often_it_is_used():
    x, same = vector(2048), vector(2048)
    staged = stage(lambda y: [add(y, x), mul(x, x), same], [wide(2048)])
    assert len(staged.captured) == 2
    assert staged.captured[0] is x
    assert staged.captured[1] is same


def test_captured_values_stand_before_the_arguments():
    x = vector(2048)
    staged = stage(lambda y: [add(y, x)], [wide(2048)])
    (equation,), inputs = staged.jaxpr.equations, staged.jaxpr.inputs
    assert list(equation.inputs) == [inputs[1], inputs[0]]
    result = staged.jaxpr(*staged.captured, 2 * x)
    assert float(result[0][-1]) == 3 * 2047


def test_a_captured_output_is_passed_through():
    x = vector(2048)
    staged = stage(lambda: [x], [])
    assert staged.captured == [x]
    assert staged.jaxpr.outputs == staged.jaxpr.inputs


def test_without_a_limit_arrays_of_any_size_are_literals():
    x = vector(2048)
    staged = stage(lambda y: [add(y, x)], [wide(2048)], literal_limit=math.inf)
    assert staged.captured == []
    assert x in staged.jaxpr.equations[0].inputs


def test_an_array_that_was_put_on_a_device_is_a_literal_like_others():
    x = vector(3).to_device(cv.devices()[0])
    assert x.committed
    assert stage(lambda y: [add(y, x)], [F32]).captured == []


def test_tracers_of_the_trace_around_are_captured_once():
    inner = []

    def around(x):
        inner.append(stage(lambda y: [add(mul(x, y), x)], [F32]))
        assert inner[0].captured == [x]
        return inner[0].jaxpr(*inner[0].captured, sin(x))

    outer = stage(around, [F32]).jaxpr
    assert len(inner[0].jaxpr.inputs) == 2
    assert [e.op for e in outer.equations] == [sin, mul, add]


def test_a_program_that_is_staged_again_is_closed():
    x = vector(2048)
    jaxpr = restage(lambda y: [add(y, x)], [wide(2048)])
    assert len(jaxpr.inputs) == 1

    def around(y):
        with pytest.raises(AssertionError, match="a jaxpr is closed"):
            restage(lambda z: [add(y, z)], [F32])
        return [y]

    stage(around, [F32])


def test_what_is_no_array_is_refused_as_an_output():
    with pytest.raises(DTypeError, match="'text' of type str"):
        stage(lambda x: ["text"], [F32])


# -- when it has ended -----------------------------------------------------------------


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_a_trace_is_dead_when_its_function_has_ended(error):
    traces = []

    def fun(x):
        traces.append(current.trace)
        assert traces[0].alive
        if error:
            raise error
        return [x]

    if error:
        with pytest.raises(error):
            stage(fun, [F32])
    else:
        stage(fun, [F32])
    assert not traces[0].alive
    assert current.trace is base


def test_a_dead_trace_records_nothing_more():
    trace = StagingTrace(base, "loss")
    x = trace.input(F32)
    trace.process(sin, [x])
    trace.alive = False
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        trace.process(sin, [x])
    assert len(trace.equations) == 1


def test_a_type_rule_that_raises_leaves_no_equation():
    def fun(x):
        with pytest.raises(Exception, match="needs operands"):
            add(x, vector(2))
        return [sin(x)]

    assert [e.op for e in stage(fun, [F32]).jaxpr.equations] == [sin]


def test_a_trace_inherits_what_surrounds_it():
    def fun(x):
        def inner(y):
            assert dict(current.trace.axes) == {"i": 3}
            assert current.trace.mesh is None
            return [y]

        stage(inner, [x.type])
        return x

    cv.vmap(fun, axis_name="i")(vector(3))


def test_over_checked_axes_results_vary_as_their_operands_do():
    x = frozenset({"x"})
    jaxpr = stage(lambda a: [sin(a)], [F32.with_varying(x)]).jaxpr
    assert jaxpr.out_types == (F32.with_varying(x),)
    assert all(type(v) is Var for v in jaxpr.outputs)


def test_known_results_of_a_program_are_told_from_what_was_there_before():
    before, seen = cnp.ones(3), []

    @cv.jit
    def f(x):
        known = before + 1
        seen.append(was_computed_while_tracing(known))
        seen.append(was_computed_while_tracing(before))
        with cv.ensure_compile_time_eval():
            seen.append(was_computed_while_tracing(before + 2))
        kept.append(known)
        return x

    kept = []
    f(1.0)
    assert seen == [True, False, False]
    assert not was_computed_while_tracing(kept[0])


def test_an_array_that_is_not_to_be_known_is_a_literal_of_the_program_being_staged():
    def f(x):
        one = current.trace.unknown(ONE)
        assert type(one) is StagedTracer and one.type == ONE.type
        with pytest.raises(ConcretizationTypeError, match=r"test_staging.py:\d+"):
            float(one)
        inside = cv.vmap(lambda _: current.trace.unknown(ONE))
        return [add(one, x), sin(one), inside(x)[0]]

    staged = stage(f, [F32])
    added, computed, *_ = staged.jaxpr.equations
    assert added.inputs[0] is ONE and computed.inputs == [ONE]
    assert not staged.captured
    # Where nothing is staged there is nothing to hide.
    assert current.trace.unknown(ONE) is ONE
    assert cv.grad(lambda x: x * (current.trace.unknown(ONE) is ONE))(2.0) == 1.0


def test_a_literal_is_one_in_every_program_and_a_value_outside_of_them():
    kept = []
    stage(lambda x: kept.append(current.trace.unknown(ONE)) or [x], [F32])
    (one,) = kept
    staged = stage(lambda x: [mul(x, one)], [F32])
    assert staged.jaxpr.equations[0].inputs[1] is ONE and not staged.captured
    assert float(add(one, ONE)) == 2.0 and float(cv.jit(lambda x: x)(one)) == 1.0
    # One that is captured is of the program that was traced, and of no other.
    many = array(np.ones(LITERAL_LIMIT, np.float32))
    stage(lambda x: kept.append(current.trace.unknown(many)) or [x], [F32])
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        add(kept[1], many)


def test_an_argument_of_a_traced_function_is_named_with_its_path():
    def named(transformed, *args, **kwargs):
        """What a message calls the value that the function looked at."""
        with pytest.raises(ConcretizationTypeError) as refused:
            transformed(*args, **kwargs)
        words = " ".join(str(refused.value).split())
        return re.search(r"It is (.*?) \(test_staging.py:\d+\)\.", words)[1]

    def loss(scale, params, *rest, **options):
        return float(options["rate"] if options else rest[0] if rest else params["w"])

    by_path = named(cv.jit(loss), 1.0, {"w": 2.0})
    assert re.fullmatch(r"the argument params\['w'\] of \S*loss", by_path)
    known = cv.jit(loss, static_argnums=0)
    assert named(known, 1, {"w": 2.0}).startswith("the argument params['w'] of")
    assert named(cv.jit(loss), 1, 2, 3).startswith("the argument 2 of ")
    by_keyword = named(cv.jit(loss), 1.0, 2.0, rate=3.0)
    assert by_keyword.startswith("the keyword argument rate of ")
    in_scan = named(lax.scan, lambda carry, x: (float(carry["h"]), x), {"h": 0}, ONES)
    assert in_scan.startswith("the argument carry['h'] of ")
    in_loop = named(lax.fori_loop, 0, 3, lambda i, x: x * float(i), 1.0)
    assert in_loop.startswith("an argument of fori_loop of ")
