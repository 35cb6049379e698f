"""Evaluation: small values by NumPy, the others by one compiled operation."""

import threading
import warnings

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.array import from_host
from covector.core.primitive import ManyResults, Primitive
from covector.core.types import ArrayType
from covector.errors import DTypeError, MissingRule, TypeMismatch, UnexpectedTracerError
from covector.lowering import evaluate
from covector.lowering.evaluate import base
from covector.operations.arithmetic import add
from covector.operations.logarithms import log
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

    monkeypatch.setattr(evaluate, "compile_operation", compile_operation)
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
