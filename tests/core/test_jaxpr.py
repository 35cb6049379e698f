"""Programs as data: run, remembered, closed, and without what nobody reads."""

import numpy as np
import pytest

import covector as cv
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.effects import LASTS
from covector.core.jaxpr import (
    MOST_MEMOS,
    Equation,
    Jaxpr,
    Var,
    needed_equations,
    read,
    run,
    used_inputs,
)
from covector.core.primitive import ManyResults
from covector.core.show import show_jaxpr
from covector.core.source import running
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.operations.arithmetic import add, mul
from covector.operations.transcendental import cos, sin
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
ONES = array(np.ones(3, np.float32))
NUMBERS = array(np.float32([0.5, 1.0, 2.0]))


class Tell(ManyResults):
    """Reads a value, and gives nothing back."""

    effects = LASTS

    def type_rule(self, x):
        return ()


def staged(fun, count=1):
    return stage(fun, [F32] * count).jaxpr


def loss(x, y):
    return [add(mul(sin(x), y), ONES), x]


# -- running ---------------------------------------------------------------------------


def test_a_program_gives_what_its_function_gives():
    jaxpr = staged(loss, 2)
    by_function = loss(NUMBERS, ONES)
    for result in (run(jaxpr, [NUMBERS, ONES]), jaxpr(NUMBERS, ONES)):
        assert [x.tolist() for x in result] == [x.tolist() for x in by_function]


def test_a_program_that_is_staged_while_it_runs_is_the_same_program():
    jaxpr = staged(loss, 2)
    again = stage(jaxpr, jaxpr.in_types).jaxpr
    assert show_jaxpr(again) == show_jaxpr(jaxpr)


def test_a_program_is_run_in_the_meaning_of_the_current_trace():
    jaxpr = staged(lambda x: [mul(x, x)])
    _, (slopes,) = cv.jvp(jaxpr, (NUMBERS,), (ONES,))
    assert slopes.tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_arguments_is_a_bug(count):
    with pytest.raises(ValueError, match=r"zip\(\)"):
        run(staged(loss, 2), [ONES] * count)


def test_read_looks_variables_up_and_leaves_literals():
    x = Var(F32)
    assert read({x: 7}, [x, ONES, x]) == [7, ONES, 7]


def test_after_an_exception_no_equation_is_running():
    class Fails(ManyResults):
        def type_rule(self, *_):
            return ()

        def evaluate(self, *_):
            raise KeyboardInterrupt

    outer = running.equation
    jaxpr = Jaxpr((), [Equation(Fails(), (), (), None)], ())
    with pytest.raises(KeyboardInterrupt):
        run(jaxpr, ())
    assert running.equation is outer


# -- remembering -----------------------------------------------------------------------


def test_what_is_made_of_a_program_is_made_once_for_each_key():
    made = []

    def make(jaxpr, *key):
        made.append(key)
        return object()

    jaxpr = staged(loss, 2)
    first = jaxpr.memo(make, 1)
    assert jaxpr.memo(make, 1) is first
    assert jaxpr.memo(make, 2) is not first
    assert staged(loss, 2).memo(make, 1) is not first
    assert made == [(1,), (2,), (1,)]


def test_what_two_functions_make_for_one_key_is_kept_for_each():
    jaxpr = staged(loss, 2)
    assert jaxpr.memo(lambda jaxpr, key: "a", 0) == "a"
    assert jaxpr.memo(lambda jaxpr, key: "b", 0) == "b"


def test_what_is_made_under_other_options_is_another():
    def make(jaxpr):
        return cv.numpy.asarray(np.arange(2.0)).dtype

    jaxpr = staged(loss, 2)
    for x64, dtype in ((False, "float32"), (True, "float64"), (False, "float32")):
        with cv.enable_x64(x64):
            assert jaxpr.memo(make) == dtype


def test_what_is_made_over_other_checked_axes_is_another(monkeypatch):
    def make(jaxpr):
        return current.trace.checked_axes

    jaxpr = staged(loss, 2)
    assert jaxpr.memo(make) == frozenset()
    monkeypatch.setattr(current.trace, "checked_axes", frozenset({"x"}))
    assert jaxpr.memo(make) == {"x"}


def test_what_failed_to_be_made_is_tried_again():
    answers = iter([KeyError("not yet"), "made"])

    def make(jaxpr):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    jaxpr = staged(loss, 2)
    with pytest.raises(KeyError):
        jaxpr.memo(make)
    assert jaxpr.memo(make) == "made"


def test_a_program_does_not_remember_without_end():
    made = []

    def make(jaxpr, key):
        made.append(key)
        return key

    jaxpr = staged(loss, 2)
    keys = list(range(3 * MOST_MEMOS))
    assert [jaxpr.memo(make, key) for key in keys] == keys
    assert len(jaxpr._memo) <= MOST_MEMOS
    assert jaxpr.memo(make, keys[-1]) == keys[-1]
    assert made == keys, "the newest is still known"


# -- parts -----------------------------------------------------------------------------


def programs():
    """Programs, with the mask of their inputs that are read."""
    x, y = Var(F32), Var(F32)
    yield staged(lambda x, y: [sin(x)], 2), [True, False]
    yield staged(lambda x, y: [y], 2), [False, True]
    yield staged(lambda x, y: [ONES], 2), [False, False]
    yield staged(lambda x, y: [add(y, x)], 2), [True, True]
    yield Jaxpr((x, y), [Equation(Tell(), (x,), (), None)], ()), [True, False]


def test_an_input_is_used_if_an_equation_or_an_output_reads_it():
    for jaxpr, mask in programs():
        assert used_inputs(jaxpr) == mask


def test_results_do_not_depend_on_inputs_that_are_not_used():
    for jaxpr, mask in programs():
        if jaxpr.effects:
            continue
        results = [
            [x.tolist() for x in run(jaxpr, [NUMBERS if m else z for m in mask])]
            for z in (ONES, NUMBERS)
        ]
        assert results[0] == results[1]


def wasteful(x, y):
    cos(x)
    z = sin(x)
    mul(cos(z), y)
    return [z]


def test_only_equations_that_outputs_depend_on_are_needed():
    jaxpr = staged(wasteful, 2)
    assert len(jaxpr.equations) == 4
    needed = needed_equations(jaxpr.equations, jaxpr.outputs)
    assert [e.op for e in needed] == [sin]
    slim = Jaxpr(jaxpr.inputs, needed, jaxpr.outputs)
    (fast,), (slow,) = run(slim, [NUMBERS, ONES]), run(jaxpr, [NUMBERS, ONES])
    assert fast.tolist() == slow.tolist()


def test_needed_equations_keep_their_order_and_need_no_more():
    jaxpr = staged(loss, 2)
    needed = needed_equations(jaxpr.equations, jaxpr.outputs)
    assert needed == list(jaxpr.equations)
    assert needed_equations(needed, jaxpr.outputs) == needed


def test_an_effect_is_needed_and_so_is_what_it_reads():
    x, y, z = Var(F32), Var(F32), Var(F32)
    told = [
        Equation(sin, (x,), (y,), None),
        Equation(cos, (x,), (z,), None),
        Equation(Tell(), (y,), (), None),
    ]
    assert needed_equations(told, ()) == [told[0], told[2]]


def test_what_makes_known_values_is_not_needed():
    jaxpr = staged(lambda x: [cos(sin(x))])
    inner, outer = jaxpr.equations
    assert needed_equations(jaxpr.equations, jaxpr.outputs, inner.outputs) == [outer]
    assert needed_equations(jaxpr.equations, jaxpr.outputs, jaxpr.outputs) == []


def test_a_needed_equation_does_not_define_a_known_result_again():
    x, first, second = Var(F32), Var(F32), Var(F32)
    both = Equation(sin, (x,), (first, second), None)
    (needed,) = needed_equations([both], (first, second), known=(first,))
    assert needed.outputs[1] is second
    assert needed.outputs[0] is not first
    assert needed.outputs[0].type is first.type


def test_a_program_reads_only_its_inputs_its_results_and_arrays():
    large = array(np.ones(2048, np.float32))
    wide = ArrayType((2048,), dtypes.float32)
    made = stage(lambda x: [add(mul(x, large), array(np.float32(2.0)))], [wide])
    jaxpr, defined = made.jaxpr, set(made.jaxpr.inputs)
    for equation in jaxpr.equations:
        for atom in equation.inputs:
            assert atom in defined if type(atom) is Var else type(atom) is ConcreteArray
        defined.update(equation.outputs)
    assert jaxpr.consts == jaxpr.constvars == ()
    assert made.captured == [large], "what was captured is a leading input"
    assert jaxpr.in_types == (wide, wide)


def test_the_parts_of_a_program_have_the_names_of_the_field():
    jaxpr = staged(loss, 2)
    assert jaxpr.jaxpr is jaxpr
    assert (jaxpr.eqns, jaxpr.invars, jaxpr.outvars) == (
        jaxpr.equations,
        jaxpr.inputs,
        jaxpr.outputs,
    )
    assert (jaxpr.in_avals, jaxpr.out_avals) == (jaxpr.in_types, jaxpr.out_types)
    assert jaxpr.in_avals == (F32, F32)
    for equation in jaxpr.eqns:
        assert equation.primitive is equation.op
        assert equation.params == equation.op.parameters
        assert equation.invars is equation.inputs
        assert equation.outvars is equation.outputs
    assert [v.aval for v in jaxpr.invars] == [F32, F32]
