"""Evaluation: small values by NumPy, the others by one compiled operation."""

import functools
import threading
import warnings

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.array import ConcreteArray, from_host
from covector.core.host_budget import CALL, COMPILE_COST, LARGE_PACE, HostBudget
from covector.core.primitive import ManyResults, Primitive
from covector.core.types import ArrayType
from covector.errors import DTypeError, MissingRule, TypeMismatch, UnexpectedTracerError
from covector.lowering import compile
from covector.lowering.evaluate import base
from covector.operations.arithmetic import add, div
from covector.operations.contraction import DotGeneral
from covector.operations.logarithms import log
from covector.operations.sorting import Sort
from covector.operations.special import Lgamma
from covector.operations.transcendental import sin
from covector.runtime import client
from tests.laws import array

SMALL = array(np.float32([1.0, 2.0, 3.0]))


class Doubled(Primitive):
    """Twice the operand; it notes who computes it."""

    interned = False
    host_limit = 8

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "calls", [])

    def type_rule(self, x):
        self.calls.append("types")
        return (x,)

    def on_host(self, x):
        self.calls.append("host")
        return x * 2


@pytest.fixture
def compiled(monkeypatch):
    """The types for which operations are compiled, with a stand-in for the program."""
    asked = []

    def compile_operation(op, types, placement):
        asked.append((types, placement))

        def program(args, committed):
            return [from_host(2 * a.host()) for a in args]

        return program

    monkeypatch.setattr(compile, "compile_operation", compile_operation)
    return asked


def vector(n):
    return array(np.arange(n, dtype=np.float32))


# -- who computes ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 4, 5, 100])
def test_numpy_computes_up_to_the_limit_and_the_compiler_beyond(compiled, n):
    op, x = Doubled(), vector(n)
    (out,) = base.process(op, [x])
    assert out.tolist() == (2 * x.host()).tolist()
    assert ("host" in op.calls) == (2 * n <= op.host_limit)
    assert bool(compiled) == (2 * n > op.host_limit)


@pytest.mark.parametrize(
    ("op", "dtype", "by_numpy"),
    [
        (add, "float32", True),
        (add, "float16", False),  # NumPy converts each number
        (div, "float32", True),
        (div, "int32", False),  # where y is 0, NumPy computes twice
        (sin, "float32", False),
    ],
)
def test_numpy_goes_further_where_it_works_through_vectors(op, dtype, by_numpy):
    operands = 1 if op is sin else 2
    few, many = [
        op.plan((ArrayType((n,), dtype),) * operands) for n in (100_000, 1_000_000)
    ]
    assert few.prefers_host == by_numpy
    assert not many.prefers_host


def test_types_are_worked_out_once_for_each_combination(compiled):
    op = Doubled()
    for x in (vector(2), vector(2), vector(3), vector(2), vector(3)):
        base.process(op, [x])
    assert op.calls.count("types") == 2
    assert op.calls.count("host") == 5


def test_an_operation_is_compiled_once_for_each_combination_of_types(compiled):
    op = Doubled()
    for n in (100, 100, 200, 100):
        base.process(op, [vector(n)])
    assert [types[0].shape for types, _ in compiled] == [(100,), (200,)]


def test_what_is_on_a_device_of_the_cpu_is_computed_where_it_is_quicker(compiled):
    op, device = Doubled(), client.default_device()
    (out,) = base.process(op, [vector(2).to_device(device)])
    assert op.calls.count("host") == 1
    assert not compiled
    assert out.committed, "the result is where the user put the operand"
    assert not base.process(op, [vector(2)])[0].committed


def test_an_operation_that_knows_better_is_asked_first():
    class Knows(ManyResults):
        def evaluate(self, *args):
            return ["its answer", len(args)]

        def type_rule(self, *types):
            pytest.fail("types are not needed")

    assert base.process(Knows(), [SMALL, 2.0]) == ["its answer", 2]


def test_an_operation_without_a_way_to_run_is_refused():
    class Abstract(Primitive):
        def type_rule(self, x):
            return (x,)

    with pytest.raises(MissingRule, match="abstract has no `lower` rule"):
        Abstract()(SMALL)


# -- results ---------------------------------------------------------------------------


def test_results_have_the_types_that_the_operation_says():
    for x in (SMALL, array(np.float16([1.0])), cnp.asarray(2.0)):
        (out,) = base.process(sin, [x])
        assert out.type is x.type
        assert out.host().dtype is x.dtype


def test_several_results_are_arrays_of_their_types():
    mantissa, exponent = cnp.frexp(SMALL)
    assert [mantissa.dtype, exponent.dtype] == ["float32", "int32"]
    np.testing.assert_array_equal(np.ldexp(mantissa, exponent), SMALL)


def test_python_and_numpy_values_are_operands():
    for x in (2.0, np.float32(2.0), np.ones((), np.float32) * 2):
        assert float(base.process(add, [x, cnp.float32(1.0)])[0]) == 3.0
    with pytest.raises(DTypeError, match="add needs an array, but got a list"):
        base.process(add, [[1.0], SMALL])


def test_infinities_are_answers_and_no_warnings():
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = base.process(log, [array(np.float32([0.0, -1.0]))])[0]
    assert out.tolist()[0] == -np.inf
    assert np.isnan(out.tolist()[1])
    assert np.geterr() == before, "NumPy warns as it did"


def test_infinities_are_answers_on_every_thread():
    found = []

    def use():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append(base.process(log, [array(np.float32([0.0]))])[0].tolist())

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert found == [[-np.inf]]


# -- refusals --------------------------------------------------------------------------


def test_tracers_are_refused_while_they_are_alive_and_afterwards():
    kept = []

    def fun(x):
        kept.append(x)
        with pytest.raises(UnexpectedTracerError, match="runs outside of"):
            base.process(sin, [x])
        return x

    cv.eval_shape(fun, SMALL)
    with pytest.raises(UnexpectedTracerError, match="after the transformation"):
        base.process(sin, kept)


def test_after_a_refusal_the_operation_runs_as_before():
    with pytest.raises(TypeMismatch):
        add(SMALL, vector(2))
    types = ArrayType((3,), dtypes.float32), ArrayType((2,), dtypes.float32)
    assert types not in add.plans, "what failed is not remembered"
    assert add(SMALL, SMALL).tolist() == [2.0, 4.0, 6.0]


def test_an_exception_of_the_host_function_passes_through():
    class Fails(Primitive):
        def type_rule(self, x):
            return (x,)

        def on_host(self, x):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Fails()(SMALL)
    assert sin(SMALL).type is SMALL.type


# -- large operands, the first times ---------------------------------------------------

MANY = np.ones(100_000, np.float32)


class Sum(Primitive):
    """The sum of two operands of one type."""

    interned = False

    def type_rule(self, x, y):
        return (x,)

    def on_host(self, x, y):
        return x + y


def test_large_operands_meet_in_numpy_until_compiling_pays(compiled):
    x, op = array(MANY), Sum()
    times = 0
    while not compiled:
        assert op(x, x).host()[-1] == 2
        times += 1
    assert times == int(COMPILE_COST / (CALL + 3 * MANY.size / LARGE_PACE)) + 1
    op(x, x)
    assert len(compiled) == 1


@pytest.mark.parametrize("where", ["placed", "on a device"])
def test_large_operands_that_are_elsewhere_are_compiled_at_once(compiled, where):
    x, op = array(MANY), Sum()
    if where == "placed":
        x = cv.device_put(x, cv.devices()[0])
    else:
        x = ConcreteArray(x.type, None, x.buffer(client.default_device()))
    op(x, x)
    assert bool(compiled) == (where == "placed")


def test_an_array_that_is_too_large_for_numpy_is_compiled_at_once(compiled):
    op = Sum()
    size = int(COMPILE_COST * LARGE_PACE / 3) + 1
    wide = np.broadcast_to(np.float32(1), size)
    op(*[ConcreteArray(ArrayType((size,), np.dtype("f")), wide)] * 2)
    assert compiled


@pytest.mark.parametrize(
    "op", [Sort(0, True, 2), Lgamma(), DotGeneral((((0,), (0,)), ((), ())))]
)
def test_what_numpy_does_element_by_element_is_compiled_at_once(op):
    types = [ArrayType((1_000_000,), dtypes.bfloat16)] * (1 + (op.name != "lgamma"))
    assert op.plan(tuple(types)).budget is None


def test_numpy_and_the_program_give_the_same(monkeypatch):
    x = array(np.random.default_rng(0).normal(size=40_000).astype("f"))
    y = array(np.random.default_rng(1).normal(size=40_000).astype("f"))
    functions = [cnp.add, cnp.hypot, cnp.arctan2, cnp.where, cnp.logaddexp, cnp.fmod]
    calls = [functools.partial(f, *[x > 0][: f is cnp.where], x, y) for f in functions]
    calls += [x.var, functools.partial(cnp.median, x)]
    in_numpy = [f() for f in calls]
    monkeypatch.setattr(HostBudget, "try_spend", lambda self: False)
    for a, f in zip(in_numpy, calls, strict=True):
        b = f()
        assert a.type is b.type
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=1e-6)
