"""``LinearTrace``: values with their tangents, now (jvp) or staged (linearize)."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.jaxpr import run
from covector.core.primitive import Primitive
from covector.core.show import show_jaxpr
from covector.core.staging import StagedTracer, StagingTrace, stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import LeakedTracerError, MissingRule, UnexpectedTracerError
from covector.operations.arithmetic import add, mul, neg
from covector.operations.transcendental import exp, sin
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import (
    LinearTrace,
    LinearTracer,
    SplitTrace,
    jvp_flat,
    linearize_flat,
    linearize_jaxpr,
    together,
)
from tests.laws import array
from tests.transforms.traces import operations_of, values, vector

F32 = ArrayType((3,), dtypes.float32)


X, Y = vector(1, 2, 3), vector(4, 5, 6)
DX = vector(1, 0, -1)


class Rough(Primitive):
    """An operation that has no derivative."""

    def type_rule(self, x):
        return (x,)

    def on_host(self, x):
        return x


# -- forward mode ----------------------------------------------------------------------


def test_jvp_gives_values_and_tangents():
    outs, tangents = jvp_flat(lambda x, y: [mul(x, y), neg(x)], [X, Y], [DX, Y])
    assert values(outs) == [[4, 10, 18], [-1, -2, -3]]
    assert values(tangents) == [[4 + 4, 10, 18 - 6], [-1, 0, 1]]


def test_a_result_that_does_not_move_has_no_tangent():
    outs, tangents = jvp_flat(lambda x, y: [sin(y), y, x, X], [X, Y], [DX, None])
    assert tangents[0] is tangents[1] is tangents[3] is None
    assert outs[1] is Y and outs[2] is X and outs[3] is X
    assert tangents[2] is DX


def test_what_does_not_move_is_left_to_the_parent():
    made = []

    def fun(x, y):
        made.append(sin(y))
        return [mul(x, made[0])]

    (out,), (tangent,) = jvp_flat(fun, [X, Y], [DX, None])
    assert type(made[0]) is type(Y)
    np.testing.assert_allclose(out, np.asarray(X) * np.sin(Y), rtol=1e-6)
    np.testing.assert_allclose(tangent, np.asarray(DX) * np.sin(Y), rtol=1e-6)


def test_only_terms_of_tangents_that_there_are_get_computed():
    ops = operations_of(lambda: jvp_flat(lambda x, y: [mul(x, y)], [X, Y], [None, DX]))
    assert ops == [mul, mul]  # the value, and one term: no sum


def test_tangents_may_mean_something_to_another_trace():
    parent = current.trace
    tangents = StagingTrace(parent)
    tangent = tangents.input(F32)
    (out,), (moved,) = jvp_flat(
        lambda x: [sin(x)], [X], [tangent], tangent_trace=tangents
    )
    assert type(out) is type(X) and type(moved) is StagedTracer
    assert [e.op for e in tangents.equations] == [mul]
    assert current.trace is parent


def test_a_jvp_within_a_jvp_is_a_second_derivative():
    def slope(x):
        return jvp_flat(lambda y: [mul(y, mul(y, y))], [x], [vector(1, 1, 1)])[1]

    (first,), (second,) = jvp_flat(slope, [X], [vector(1, 1, 1)])
    assert values([first, second]) == [[3, 12, 27], [6, 12, 18]]


def test_named_axes_of_the_parent_are_known_under_a_derivative():
    seen = []

    def fun(x):
        def inner(y):
            seen.append(dict(current.trace.axes))
            return [y]

        return jvp_flat(inner, [x], [x])[0]

    batch_flat(fun, 3, [X], [0], "rows")
    assert seen == [{"rows": 3}]
    assert current.trace.axes == {}


# -- linearization ---------------------------------------------------------------------


def test_linearize_computes_values_and_stages_what_is_linear():
    outs, linear = linearize_flat(
        lambda x, y: [add(sin(x), mul(x, y))], [X, Y], [True, True]
    )
    np.testing.assert_allclose(outs[0], np.sin(X) + np.float32([4, 10, 18]), rtol=1e-6)
    assert linear.nonzero == [True]
    assert sin not in {e.op for e in linear.jaxpr.equations}
    (moved,) = run(linear.jaxpr, [*linear.residuals, DX, Y])
    wanted = np.cos(X) * np.asarray(DX) + [8, 10, 12]
    np.testing.assert_allclose(moved, wanted, rtol=1e-6)


def test_concrete_residuals_stand_in_the_linear_program_of_any_size():
    large = array(np.arange(2000, dtype=np.float32))
    _, linear = linearize_flat(lambda x: [mul(x, large)], [large], [True])
    assert list(linear.residuals) == []
    assert linear.jaxpr.equations[0].inputs[1] is large


def test_residuals_of_a_traced_function_are_the_values_that_slopes_need():
    jaxpr = stage(
        lambda x, y: (
            linearize_flat(lambda a, b: [mul(sin(a), b)], [x, y], [True, False])[
                1
            ].residuals
        ),
        [F32, F32],
    ).jaxpr
    assert len(jaxpr.outputs) == 2  # cos(a) and b
    assert jaxpr.outputs[1] is jaxpr.inputs[1]


def test_an_inactive_input_is_no_input_of_the_linear_program():
    _, linear = linearize_flat(lambda x, y: [mul(x, y)], [X, Y], [False, True])
    assert linear.jaxpr.in_types == (F32,)
    assert values(run(linear.jaxpr, [*linear.residuals, DX])) == [[1, 0, -3]]


def test_outputs_that_do_not_move_are_left_out_of_the_linear_program():
    def fun(x, y):
        return [y, neg(x), cnp.floor(y)]

    outs, linear = linearize_flat(fun, [X, Y], [True, False])
    assert linear.nonzero == [False, True, False]
    assert len(outs) == 3 and len(linear.jaxpr.outputs) == 1
    assert values(run(linear.jaxpr, [DX])) == [[-1, 0, 1]]


def test_tangents_are_strong_also_of_weak_values():
    weak = cnp.sin(1.0)
    assert weak.type.weak
    _, linear = linearize_flat(lambda x: [sin(x)], [weak], [True])
    assert not linear.jaxpr.in_types[-1].weak


# -- linearized programs ---------------------------------------------------------------


def test_a_program_becomes_a_primal_and_a_linear_one():
    jaxpr = stage(lambda x, y: [mul(sin(x), y), exp(y)], [F32, F32], "loss").jaxpr
    made = linearize_jaxpr(jaxpr, (True, True), "_forward")
    assert made.primal.name == "loss_forward"
    assert made.nonzero == (True, True)
    outs = run(made.primal, [X, Y])
    residuals = made.residuals([X, Y], outs)
    moved = run(made.linear, [*residuals, DX, DX])
    _, wanted = jvp_flat(lambda *xs: run(jaxpr, xs), [X, Y], [DX, DX])
    for got, tangent in zip(moved, wanted, strict=True):
        np.testing.assert_allclose(got, tangent, rtol=1e-6)


def test_residuals_that_are_inputs_or_outputs_are_not_returned_again():
    jaxpr = stage(lambda x, y: [exp(x), mul(x, y)], [F32, F32]).jaxpr
    made = linearize_jaxpr(jaxpr, (True, True))
    # exp(x) is its own slope; the slopes of the product are the other factors.
    assert sorted(made.residual_sources) == [~0, 0, 1]
    assert len(made.primal.outputs) == 2
    jaxpr = stage(lambda x: [sin(x)], [F32]).jaxpr
    made = linearize_jaxpr(jaxpr, (True,))
    assert made.residual_sources == (~1,) and len(made.primal.outputs) == 2


def test_a_program_that_does_not_move_has_a_linear_part_without_outputs():
    jaxpr = stage(lambda x: [cnp.floor(x)], [F32]).jaxpr
    made = linearize_jaxpr(jaxpr, (True,))
    assert (made.nonzero, made.residual_sources) == ((False,), ())
    assert made.linear.outputs == () and made.linear.in_types == (F32,)


def test_each_equation_of_a_linear_program_has_the_line_of_the_one_it_is_of():
    def fun(x):
        y = sin(x)
        return [mul(y, y)]

    made = linearize_jaxpr(stage(fun, [F32]).jaxpr, (True,))
    first = fun.__code__.co_firstlineno
    lines = {e.line.number - first for e in made.linear.equations}
    assert lines == {1, 2}, show_jaxpr(made.linear, lines=True)


# -- rules of users --------------------------------------------------------------------


def test_a_split_trace_stages_what_touches_a_tangent_and_computes_the_rest():
    parent = current.trace
    tangents = StagingTrace(parent)
    tangent = tangents.input(F32)
    current.trace = split = SplitTrace(parent, tangents)
    try:
        known = sin(X)
        moved = mul(tangent, known)
        assert current.trace is split
    finally:
        current.trace = parent
    assert type(known) is type(X) and type(moved) is StagedTracer
    assert [e.op for e in tangents.equations] == [mul]


def test_values_and_tangents_are_computed_together_but_in_rules_of_users():
    base = current.trace
    staging = StagingTrace(base)
    split = SplitTrace(base, staging)
    assert together(base, base) and together(staging, staging)
    assert not together(base, staging)
    assert not together(split, split)
    nested = LinearTrace(split, split)
    assert not together(nested, nested)


# -- what is left behind ---------------------------------------------------------------


@pytest.mark.parametrize("fails", ["rule", "function"])
@pytest.mark.parametrize("mode", ["jvp", "linearize"])
def test_after_an_exception_the_trace_from_before_is_in_force(mode, fails):
    kept = []

    def fun(x):
        kept.append(x)
        return [Rough()(x)] if fails == "rule" else [1 / 0]

    before = current.trace
    with pytest.raises(MissingRule if fails == "rule" else ZeroDivisionError):
        jvp_flat(fun, [X], [DX]) if mode == "jvp" else linearize_flat(fun, [X], [True])
    assert current.trace is before
    assert type(kept[0]) is LinearTracer and not kept[0].owner.alive
    with pytest.raises(UnexpectedTracerError, match="had ended"):
        sin(kept[0])


KEPT = []


def keeps(x):
    KEPT.append(x)
    return [x]


def test_a_tracer_that_is_kept_is_found_while_leaks_are_looked_for(with_all_objects):
    before = current.trace
    for leak in (
        lambda: jvp_flat(keeps, [X], [DX], "loss"),
        lambda: linearize_flat(keeps, [X], [True], "loss"),
    ):
        with cv.checking_leaks(), pytest.raises(LeakedTracerError, match="loss has"):
            with_all_objects(leak)
        assert current.trace is before
        KEPT.clear()
