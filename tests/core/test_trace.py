"""Traces: which one is current, what tracers mean where, and that nothing is left."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.trace import Trace, Tracer, check_scope, context, current, within
from covector.errors import ConcretizationTypeError, UnexpectedTracerError
from covector.lowering.evaluate import base

X = np.float32([1.0, 2.0, 3.0])

_calls = itertools.count()


def unshared(checkpoint, f):
    """``f`` in a checkpoint that traces it, even where an equal one was traced."""
    call = next(_calls)
    return lambda x: checkpoint(lambda x, _: f(x), static_argnums=1)(x, call)


#: for each transformation, the call of a function of one vector under it
TRANSFORMS = {
    "eval_shape": lambda f: cv.eval_shape(f, X),
    "make_jaxpr": lambda f: cv.make_jaxpr(f)(X),
    "trace": lambda f: cv.jit(f).trace(X),
    "jvp": lambda f: cv.jvp(f, (X,), (X,)),
    "linearize": lambda f: cv.linearize(f, X),
    "vjp": lambda f: cv.vjp(f, X),
    "grad": lambda f: cv.grad(lambda x: f(x).sum())(X),
    "vmap": lambda f: cv.vmap(f)(X),
    "checkpoint": lambda f: cv.vjp(unshared(cv.checkpoint, f), X),
    "scan": lambda f: cv.eval_shape(
        lambda x: cv.lax.scan(lambda c, y: (c, f(y)), 0.0, x), X
    ),
    "grad of vmap": lambda f: cv.grad(lambda x: cv.vmap(f)(x).sum())(X),
    "vmap of jvp": lambda f: cv.vmap(lambda x: cv.jvp(f, (x,), (x,)))(X),
}
each_transform = pytest.mark.parametrize("name", TRANSFORMS)


def chain(trace):
    """A trace and those below it, down to the base trace."""
    found = [trace]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found


# -- the current trace -----------------------------------------------------------------


def test_outside_of_transformations_operations_are_evaluated():
    assert current.trace is base
    assert base.parent is None


@each_transform
def test_a_transformation_has_its_trace_in_force_while_the_function_runs(name):
    seen = []

    def fun(x):
        seen.append(current.trace)
        assert isinstance(x, Tracer)
        return x * 2

    TRANSFORMS[name](fun)
    assert seen
    assert all(trace is not base for trace in seen)
    assert all(chain(trace)[-1] is base for trace in seen)
    assert current.trace is base


@each_transform
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_after_an_exception_the_trace_around_is_in_force_again(name, error):
    def fails(x):
        x + 1
        raise error

    with pytest.raises(error):
        TRANSFORMS[name](fails)
    assert current.trace is base

    def around(y):
        before = current.trace
        with pytest.raises(error):
            TRANSFORMS[name](fails)
        assert current.trace is before
        return y

    cv.eval_shape(around, X)


def test_nested_transformations_nest_their_traces():
    depths = []

    def fun(x):
        depths.append(len(chain(current.trace)))
        return x * x

    for f in (fun, cv.grad(fun), cv.grad(cv.grad(fun))):
        cv.eval_shape(f, np.float32(2.0))
        cv.eval_shape(cv.vmap(f), X)
    alone, batched = depths[::2], depths[1::2]
    assert alone == sorted({*alone})
    assert batched == [depth + 1 for depth in alone]


def test_other_threads_evaluate_while_one_traces():
    seen = []

    def look():
        seen.append(current.trace)
        seen.append((cnp.asarray(X) + 1).tolist())

    def fun(x):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return x

    cv.eval_shape(fun, X)
    assert seen == [base, [2.0, 3.0, 4.0]]


# -- where a tracer has a meaning ------------------------------------------------------


@each_transform
def test_a_tracer_that_outlives_its_trace_is_refused(name):
    kept = []
    TRANSFORMS[name](lambda x: kept.append(x) or x * 2)
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        cnp.sin(kept[0])
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        cv.eval_shape(lambda y: y + kept[0], X)


@each_transform
def test_a_tracer_that_outlives_an_exception_is_refused(name):
    kept = []

    def fails(x):
        kept.append(x)
        raise KeyError

    with pytest.raises(KeyError):
        TRANSFORMS[name](fails)
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        cnp.sin(kept[0])


@pytest.mark.parametrize("outer", ["make_jaxpr", "jvp", "vmap", "grad"])
@each_transform
def test_a_tracer_has_a_meaning_in_the_transformations_within(outer, name):
    def around(y):
        TRANSFORMS[name](lambda x: x * y.sum())
        return y

    TRANSFORMS[outer](around)


@each_transform
def test_a_tracer_of_an_inner_transformation_has_none_in_the_outer_one(name):
    def around(y):
        kept = []
        TRANSFORMS[name](lambda x: kept.append(x) or x)
        with pytest.raises(UnexpectedTracerError):
            y.sum() + kept[0]
        return y

    cv.eval_shape(around, X)


def test_a_tracer_has_no_meaning_on_another_thread():
    failed = []

    def fun(x):
        def use():
            with pytest.raises(UnexpectedTracerError, match="runs outside of") as error:
                x + 1
            failed.append(str(error.value))

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        return x

    cv.eval_shape(fun, X)
    assert "pass it as an argument instead" in failed[0]


def test_a_trace_is_within_itself_what_is_above_it_and_what_is_beside_it():
    lower, upper, other = Trace(), Trace(), Trace()
    upper.parent, upper.beside = lower, other
    assert within(lower, upper)
    assert within(upper, upper)
    assert within(other, upper)
    assert not within(upper, lower)
    assert not within(upper, None)


def test_a_trace_that_has_ended_gives_no_meaning_even_where_it_is_still_running():
    def fun(x):
        check_scope(x, x.owner)
        x.owner.alive = False
        with pytest.raises(UnexpectedTracerError, match="after the transformation"):
            check_scope(x, x.owner)
        x.owner.alive = True
        return x

    cv.eval_shape(fun, X)


def test_a_tracer_has_a_meaning_where_a_trace_gives_it_one():
    def fun(x):
        elsewhere, inside = Trace(), Trace()
        with pytest.raises(UnexpectedTracerError):
            check_scope(x, elsewhere)
        elsewhere.meanings = {id(x): x}
        inside.parent = elsewhere
        check_scope(x, elsewhere)
        check_scope(x, inside)
        return x

    cv.eval_shape(fun, X)


# -- tracers as Python values ----------------------------------------------------------


@each_transform
def test_copies_of_a_tracer_are_the_tracer(name):
    def fun(x):
        assert copy.copy(x) is x
        assert copy.deepcopy([x])[0] is x
        return x

    TRANSFORMS[name](fun)


def test_a_tracer_has_no_digits_to_format():
    def f(x):
        assert f"{x}" == str(x) == "Tracer(f32[])"
        return f"{x:.3f}"

    with pytest.raises(ConcretizationTypeError) as caught:
        cv.jit(f)(1.0)
    words = " ".join(str(caught.value).split())
    assert words.startswith("The format '.3f' needs a known number, but got a traced")
    assert 'covector.debug.print("{x:.3f}", x=x) prints the value when' in words


@pytest.mark.parametrize("use", ["item", "tolist"])
def test_a_tracer_has_no_numbers_for_python(use):
    with pytest.raises(ConcretizationTypeError) as caught:
        cv.jit(lambda x: getattr(x, use)())(1.0)
    words = " ".join(str(caught.value).split())
    assert words.startswith(f"{use}() needs known values, but got a traced f32[].")
    assert f"Call {use}() on what the transformed function returns" in words


def test_a_tracer_cannot_be_pickled():
    def fun(x):
        with pytest.raises(ConcretizationTypeError, match="Pickling needs known"):
            pickle.dumps(x)
        return x

    cv.eval_shape(fun, X)


# -- the context -----------------------------------------------------------------------


def test_the_context_is_the_same_wherever_the_same_program_would_be_traced():
    contexts = [context()]

    def fun(x):
        contexts.append(context())
        return x

    for call in TRANSFORMS.values():
        call(fun)
    assert len(contexts) > len(TRANSFORMS), "each has called the function"
    assert len({*contexts}) == 1


def test_options_and_named_axes_are_part_of_the_context():
    contexts = [context()]
    with cv.enable_x64(True):
        contexts.append(context())
    for size in (2, 3):
        cv.vmap(lambda x: contexts.append(context()) or x, axis_name="i")(X[:size])
    assert len({*contexts}) == 4
    assert contexts[2].axes == (("i", 2),)
    assert context() == contexts[0], "and they end with their block"
