"""Programs as text."""

import numpy as np

import covector
from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.key_types import KeyType
from covector.core.show import show_jaxpr, show_operation
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.operations.arithmetic import add, mul
from covector.operations.broadcasting import BroadcastInDim, ReduceSum
from covector.operations.casting import ConvertElementType
from covector.operations.transcendental import sin
from covector.operations.transposing import Transpose
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
WEIGHTS = array(np.arange(3, dtype=np.float32))
TWO = array(np.float32(2.0))


def program(fun, *types):
    return stage(fun, types, fun.__name__).jaxpr


def loss(x, y):
    z = mul(sin(x), y)
    return [ReduceSum((0,))(add(mul(z, TWO), WEIGHTS))]


def test_a_program_has_letters_types_parameters_and_literals(golden):
    golden("jaxpr/loss.txt", show_jaxpr(program(loss, F32, F32)))


def test_the_line_that_asked_for_an_equation_can_be_shown():
    text = show_jaxpr(program(loss, F32, F32), lines=True)
    number = loss.__code__.co_firstlineno + 1
    assert f"  c:f32[3] = sin a  # test_show.py:{number} (loss)" in text


def test_nested_programs_stand_below_and_once(golden):
    @covector.jit
    def layer(x):
        return sin(mul(x, x))

    def network(x):
        return [layer(layer(x))]

    golden("jaxpr/nested.txt", show_jaxpr(program(network, F32)))


def test_different_programs_of_one_name_are_told_apart(golden):
    def scaled(by):
        @covector.jit
        def scale(x):
            return mul(x, by)

        return scale

    def network(x):
        return [scaled(TWO)(scaled(add(TWO, TWO))(x))]

    golden("jaxpr/one_name.txt", show_jaxpr(program(network, F32)))


def test_a_derivative_is_a_program_like_others(golden):
    def gradient(x, y):
        return covector.vjp(lambda x: loss(x, y)[0], x)[1](TWO)

    golden("jaxpr/gradient.txt", show_jaxpr(program(gradient, F32, F32)))


def test_repr_of_a_program_is_its_text():
    made = program(loss, F32, F32)
    assert repr(made) == show_jaxpr(made)


def test_the_empty_program_without_a_name():
    assert show_jaxpr(Jaxpr((), (), ())) == "{ .\n    return }"


def test_a_program_that_returns_an_input_and_a_literal():
    x = Var(F32)
    assert show_jaxpr(Jaxpr((x,), (), (x, TWO), "pair")).endswith("return a 2.0 }")


def test_letters_go_on_after_z():
    many = [Var(F32) for _ in range(28)]
    assert "z:f32[3] aa:f32[3] ab:f32[3]" in show_jaxpr(Jaxpr(many, (), ()))


def test_keys_are_shown_by_type():
    key = array(np.uint64(7), KeyType("threefry2x32"))
    assert show_jaxpr(Jaxpr((), (), (key,))).endswith("return […]:key<fry>[] }")


def test_an_undefined_variable_is_marked():
    x, y = Var(F32), Var(F32)
    text = show_jaxpr(Jaxpr((), (Equation(sin, (x,), (y,), None),), (y,)))
    assert "a:f32[3] = sin ?:f32[3]" in text


def test_parameters_are_shown_where_they_differ_from_their_default():
    assert show_operation(sin) == "sin"
    assert show_operation(Transpose((1, 0))) == "transpose[permutation=(1, 0)]"
    assert show_operation(ConvertElementType(dtypes.bfloat16)) == (
        "convert_element_type[dtype=bf16]"
    )
    assert show_operation(ConvertElementType(dtypes.int32, weak=True)) == (
        "convert_element_type[dtype=i32, weak=True]"
    )
    assert show_operation(BroadcastInDim((2, 3), (1,))) == (
        "broadcast_in_dim[shape=(2, 3), axes=(1,)]"
    )
