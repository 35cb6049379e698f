"""Looking at functions without running them."""

import inspect

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.core.array import ConcreteArray
from covector.core.trace import current

SQUARE = cv.ShapeDtypeStruct((2, 2), "bfloat16")


# -- eval_shape ------------------------------------------------------------------------


def test_shapes_of_results_without_values():
    found = cv.eval_shape(lambda x, k: {"y": x @ x, "n": None, "k": k}, SQUARE, k=1)
    assert found["y"] == SQUARE
    assert found["n"] is None
    assert (found["k"].dtype, found["k"].weak_type) == (np.int32, True)


def test_shapes_of_anything_that_has_a_shape_and_a_dtype():
    for x in (np.ones(2), cnp.ones(2), cv.ShapeDtypeStruct((2,), "float32")):
        assert cv.eval_shape(lambda x: x, x) == cv.ShapeDtypeStruct((2,), "float32")
    assert cv.jit(lambda x: x + 1).eval_shape(SQUARE) == SQUARE


def test_shapes_cost_no_memory():
    huge = cv.ShapeDtypeStruct((1 << 40,), "float32")
    assert cv.eval_shape(lambda x: cnp.sum(x * 2), huge).shape == ()
    assert cv.eval_shape(lambda x: cnp.zeros(1 << 40) + x, 1.0).shape == (1 << 40,)


def test_shapes_of_derivatives_and_batches():
    f = cv.grad(lambda x: cnp.sum(x.astype(float) ** 2))
    assert cv.eval_shape(f, SQUARE) == SQUARE
    assert cv.eval_shape(cv.vmap(f), SQUARE) == SQUARE


def test_a_traced_value_has_no_value_here_either():
    with pytest.raises(errors.TracerBoolConversionError):
        cv.eval_shape(lambda x: 1 if x else 2, True)


# -- make_jaxpr ------------------------------------------------------------------------


def names(program):
    return [e.op.name for e in program.eqns]


def test_the_program_of_a_function():
    program = cv.make_jaxpr(lambda x, y: cnp.sin(x) * y)(1.0, np.ones(2, np.float32))
    assert names(program) == ["sin", "mul"]
    assert [str(t) for t in program.in_avals] == ["f32[]", "f32[2]"]
    assert [str(t) for t in program.out_avals] == ["f32[2]"]
    assert [np.asarray(v).tolist() for v in program(0.0, cnp.ones(2))] == [[0.0, 0.0]]


def test_static_arguments_of_a_program():
    program = cv.make_jaxpr(lambda x, n: x * n if n > 2 else x, static_argnums=1)
    assert names(program(1.0, 3)) == ["mul"]
    assert names(program(1.0, 2)) == []


def test_named_axes_of_a_program():
    program = cv.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])
    assert names(program(1.0)) == ["psum"]
    with pytest.raises(errors.CovectorError, match="i"):
        cv.make_jaxpr(lambda x: lax.psum(x, "i"))(1.0)


def test_the_shapes_beside_a_program():
    program, shape = cv.make_jaxpr(lambda x: {"y": x}, return_shape=True)(SQUARE)
    assert (names(program), shape) == ([], {"y": SQUARE})


def test_programs_of_transformed_functions():
    assert names(cv.make_jaxpr(cv.grad(cnp.sin))(cnp.ones(()))) == ["sin", "cos", "mul"]
    assert names(cv.make_jaxpr(cv.jit(cnp.sin))(1.0)) == ["jit"]
    assert cv.jit(lambda x: names(cv.make_jaxpr(cnp.sin)(x)) == ["sin"] and x)(1.0) == 1


def test_a_program_holds_what_its_function_closed_over():
    large = cnp.arange(2000.0)
    program = cv.make_jaxpr(lambda x: x + large)(1.0)
    assert len(program.invars) == 1
    assert program(1.0)[0].tolist() == (np.arange(2000.0) + 1).tolist()


def test_a_program_with_a_large_array_from_outside_may_have_numbers_too():
    large = cnp.arange(2000.0)
    program = cv.make_jaxpr(lambda x: ((x + large) * 2.0, 1.5))(1.0)
    product, number = program(cnp.float32(3.0))
    assert (float(product[1]), float(number)) == (8.0, 1.5)


def test_a_function_of_nothing():
    assert np.asarray(cv.make_jaxpr(lambda: 3)()()[0]) == 3


# -- closures, types, and running at once ----------------------------------------------


def test_a_converted_closure_can_be_called_where_its_values_are_arguments():
    def f(a):
        converted, values = cv.closure_convert(lambda x: a * x, 1.0)
        assert len(values) == 1
        return converted(3.0, *values)

    assert float(cv.grad(f)(2.0)) == 3.0
    assert float(cv.jit(f)(2.0)) == 6.0


def test_operations_run_at_once_inside_the_block():
    def f(x):
        with cv.ensure_compile_time_eval():
            n = int(cnp.sum(cnp.arange(1000)))
        return x + n

    assert float(cv.jit(f)(1.0)) == 499501.0
    assert names(cv.make_jaxpr(f)(1.0)) == ["add"]


def test_an_error_inside_the_block_restores_the_trace():
    @cv.jit
    def f(x):
        with pytest.raises(ZeroDivisionError), cv.ensure_compile_time_eval():
            raise ZeroDivisionError
        return x + 1

    assert float(f(1.0)) == 2.0


def test_types():
    assert str(cv.typeof(cnp.zeros((2, 3)))) == "f32[2,3]"
    assert str(cv.typeof(np.zeros(2, np.int8))) == "i8[2]"
    assert cv.typeof(1.0).weak_type
    assert str(cv.typeof(SQUARE)) == "bf16[2,2]"


def test_a_function_may_return_shapes_where_only_shapes_are_asked():
    wanted = cv.ShapeDtypeStruct((4,), np.float32)
    found = cv.eval_shape(lambda x: {"new": wanted, "same": x}, wanted)
    assert found == {"new": wanted, "same": wanted}
    with pytest.raises(errors.TypeMismatch, match="must return arrays and numbers"):
        cv.jit(lambda: wanted)()


def test_at_compile_time_traced_values_stay_traced():
    @cv.jit
    def f(x):
        with cv.ensure_compile_time_eval():
            known = cnp.sum(cnp.arange(1000.0))
            assert isinstance(known, ConcreteArray)
            y = cv.lax.cond(x > 0, cnp.sin, cnp.cos, x)
            return y + known

    assert float(f(0.5)) == pytest.approx(np.sin(0.5) + 499500)
    assert float(cv.grad(f)(0.5)) == pytest.approx(np.cos(0.5))
    batch = cnp.array([0.5, -0.5])
    assert cv.vmap(f)(batch).shape == (2,)
    assert current.trace is type(current).trace


def test_an_exception_at_compile_time_leaves_the_trace_as_it_was():
    @cv.jit
    def f(x):
        with pytest.raises(errors.TypeMismatch), cv.ensure_compile_time_eval():
            cnp.ones(2) + cnp.ones(3)
        return x + 1

    assert float(f(1.0)) == 2


def test_shapes_of_a_jitted_function_with_static_arguments():
    jitted = cv.jit(cnp.tile, static_argnums=1)
    assert cv.eval_shape(jitted, SQUARE, 2).shape == (2, 4)


def test_the_signature_is_told_to_those_who_do_not_look_at_what_is_wrapped():
    def scaled(x, factor=2.0):
        return x * factor

    found = inspect.signature(cv.jit(scaled), follow_wrapped=False)
    assert found == inspect.signature(scaled)
    assert "fun" in inspect.signature(type(cv.jit(scaled))).parameters


def test_packages_recognise_a_jitted_function_by_the_name_of_its_class():
    assert type(cv.jit(abs)).__name__ == "PjitFunction"
