"""A program becomes a module: one function for each program that it calls."""

import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import Primitive
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import MissingRule
from covector.lowering import hlo, spelling
from covector.lowering.module import SEPARATE_FROM, lower_module
from covector.operations.arithmetic import add, mul
from covector.operations.transcendental import sin
from covector.programs.higher_order.call import call
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
WEIGHTS = array(np.float32([1.0, 2.0, 4.0]))


def staged(fun, *types, name=""):
    return stage(fun, types or [F32], name).jaxpr


def lowered(jaxpr, **options):
    with hlo.lock, hlo.context, hlo.unknown:
        return lower_module(jaxpr, "test", "cpu", **options).text()


def operations(text):
    """The operations in order, without the dialect."""
    return re.findall(r"(?:stablehlo|chlo)\.(\w+)", text)


def functions(text):
    return re.findall(r"func\.func (?:public|private) @([\w\"]+)\(", text)


# -- equations -------------------------------------------------------------------------


def test_each_equation_becomes_its_operation_in_order():
    text = lowered(staged(lambda x: [mul(add(x, x), sin(x))]))
    assert operations(text) == ["add", "sine", "multiply"]
    assert functions(text) == ["main"]


def test_the_main_function_takes_and_gives_the_types_of_the_program():
    wide = ArrayType((2, 2), dtypes.int8)
    text = lowered(staged(lambda x, y: [y, x], F32, wide))
    assert "@main(%arg0: tensor<3xf32>, %arg1: tensor<2x2xi8>)" in text
    assert "-> (tensor<2x2xi8>, tensor<3xf32>)" in text
    assert "return %arg1, %arg0" in text


def test_equations_have_the_location_of_their_line():
    def fun(x):
        return [sin(x)]

    with hlo.lock, hlo.context, hlo.unknown:
        module = lower_module(staged(fun), "test", "cpu")
        text = module.text(debug_info=True)
    line = fun.__code__.co_firstlineno + 1
    assert re.search(rf'test_module\.py":{line}', text)


def test_what_an_operation_is_lowered_as_has_the_line_of_its_equation():
    def fun(x):
        return cnp.sort(x)

    text = cv.jit(fun).lower(np.ones(9, np.float32)).as_text(debug_info=True)
    line = fun.__code__.co_firstlineno + 1
    assert set(re.findall(r'test_module\.py":(\d+)', text)) == {str(line)}


def test_what_operations_share_has_the_lines_of_none():
    def first(x):
        return cnp.sin(x)

    def second(x):
        return cnp.sin(x)

    for fun in (first, second):
        text = cv.jit(fun).lower(np.ones(9, np.float32)).as_text(debug_info=True)
        line = fun.__code__.co_firstlineno + 1
        assert set(re.findall(r'test_module\.py":(\d+)', text)) == {str(line)}


def test_an_operation_without_the_rule_is_named():
    class Strange(Primitive):
        name = "strange"

        def type_rule(self, x):
            return (x,)

    x, y = Var(F32), Var(F32)
    jaxpr = Jaxpr((x,), [Equation(Strange(), (x,), (y,), None)], (y,))
    with pytest.raises(MissingRule, match=r"strange has no `lower` rule.*f32\[3\]"):
        lowered(jaxpr)


def test_after_a_failure_other_modules_are_built():
    test_an_operation_without_the_rule_is_named()
    assert operations(lowered(staged(lambda x: [sin(x)]))) == ["sine"]


# -- constants -------------------------------------------------------------------------


def test_a_literal_is_written_once_however_often_it_is_read():
    text = lowered(staged(lambda x: [add(mul(x, WEIGHTS), WEIGHTS), WEIGHTS]))
    assert operations(text) == ["constant", "multiply", "add"]


def test_a_scalar_is_broadcast_to_the_shape_of_the_result():
    text = lowered(staged(lambda x: [mul(x, 2.0)]))
    assert operations(text) == ["constant", "broadcast_in_dim", "multiply"]


def test_a_constant_of_no_elements_is_written():
    empty = array(np.zeros((0, 3), np.float32))
    assert "tensor<0x3xf32>" in lowered(staged(lambda x: [empty]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int4", "bool", "complex64"])
def test_literals_keep_their_element_type(dtype):
    literal = array(np.ones(3).astype(dtypes.as_dtype(dtype)))
    name = spelling.element_name(literal.dtype)
    assert f": tensor<3x{name}>" in lowered(staged(lambda x: [literal]))


# -- programs --------------------------------------------------------------------------


def layer(name="layer"):
    return staged(lambda x: [sin(mul(x, x))], name=name)


def test_a_program_is_one_function_however_often_it_is_called():
    inner = layer()
    text = lowered(staged(lambda x: call(inner)(*call(inner)(*call(inner)(x)))))
    assert sorted(functions(text)) == ["layer", "main"]
    assert text.count("call @layer(") == 3
    assert operations(text) == ["multiply", "sine"]


def test_different_programs_of_one_name_are_different_functions():
    first, second = layer(), staged(lambda x: [add(x, x)], name="layer")
    text = lowered(staged(lambda x: call(second)(*call(first)(x))))
    assert len({*functions(text)}) == 3


def test_a_program_that_is_called_by_a_program_is_a_function_beside_it():
    inner = layer("inner")
    outer = staged(lambda x: call(inner)(*call(inner)(x)), name="outer")
    text = lowered(staged(lambda x: [*call(outer)(x), *call(inner)(x)]))
    assert sorted(functions(text)) == ["inner", "main", "outer"]


def test_any_name_will_do_for_a_function():
    for name in ("<lambda>", "fits.<locals>.f", "größe", 'a "b"', "\\", "a\nb"):
        inner = layer(name)
        assert operations(lowered(staged(call(inner)))) == ["multiply", "sine"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("length", [SEPARATE_FROM - 1, SEPARATE_FROM])
def test_a_large_program_that_is_called_repeatedly_is_compiled_by_itself(count, length):
    def fun(x):
        for _ in range(length):
            x = sin(x)
        return [x]

    inner = staged(fun, name="layer")

    def repeated(x):
        for _ in range(count):
            (x,) = call(inner)(x)
        return [x]

    separate = lowered(staged(repeated)).count('inlineable = "false"')
    assert separate == (count if count > 1 and length >= SEPARATE_FROM else 0)


def test_a_separate_call_is_compiled_by_itself_at_once():
    text = lowered(staged(call(layer(), True)))
    assert text.count('inlineable = "false"') == 1


# -- regions ---------------------------------------------------------------------------


def test_the_program_of_a_loop_is_a_region_and_no_function():
    def fun(x):
        return cv.lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 2, x)

    text = lowered(staged(lambda x: [fun(x)]))
    assert functions(text) == ["main"]
    assert operations(text).count("while") == 1
    assert text.count("stablehlo.return") >= 2


def test_the_branches_of_a_cond_see_the_values_around_them():
    def fun(x):
        y = sin(x)
        return cv.lax.cond(x.sum() > 0, lambda: y, lambda: y * 2)

    text = lowered(staged(lambda x: [fun(x)]))
    assert operations(text).count("case") + operations(text).count("if") == 1
    assert operations(text).count("sine") == 1


def test_a_literal_of_a_region_is_written_inside_of_it():
    def fun(x):
        body = lambda c: c * WEIGHTS  # noqa: E731
        return cv.lax.while_loop(lambda c: c.sum() < 9, body, x) + WEIGHTS

    text = lowered(staged(lambda x: [fun(x)]))
    assert text.count("[1.000000e+00, 2.000000e+00, 4.000000e+00]") == 2


# -- arguments -------------------------------------------------------------------------


def test_only_donated_arguments_are_marked():
    text = lowered(staged(lambda x, y: [add(x, y)], F32, F32), donated=[False, True])
    assert text.count("jax.buffer_donor") == 1
    assert "%arg1: tensor<3xf32> {jax.buffer_donor = true}" in text


def test_the_same_program_has_the_same_text():
    def fun(x):
        return [cnp.where(x > 0, cnp.cumsum(x), 1.0)]

    assert lowered(staged(fun)) == lowered(staged(fun))
