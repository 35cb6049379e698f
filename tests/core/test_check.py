"""A malformed program is refused, in words that name the operation and the fault."""

import numpy as np
import pytest

from covector import options
from covector.core import dtypes
from covector.core.check import check_jaxpr
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.staging import StagingTrace, stage
from covector.core.types import ArrayType
from covector.errors import MalformedProgram
from covector.lowering.evaluate import base
from covector.operations.arithmetic import add
from covector.operations.transcendental import sin
from covector.programs.higher_order.call import call
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
I32 = ArrayType((3,), dtypes.int32)


def equation(op, inputs, outputs):
    return Equation(op, inputs, outputs, None)


def refused(inputs, equations, outputs):
    """The words with which a program is refused."""
    with pytest.raises(MalformedProgram) as error:
        check_jaxpr(Jaxpr(inputs, equations, outputs, "broken"))
    assert "{ broken" in error.value.__notes__[0]
    return str(error.value)


def test_a_staged_program_passes():
    check_jaxpr(stage(lambda x: [sin(add(x, x))], [F32]).jaxpr)


def test_a_variable_is_read_before_it_is_defined():
    x, y = Var(F32), Var(F32)
    assert refused((), [equation(sin, (x,), (y,))], (y,)) == (
        "sin reads a variable of type f32[3] that nothing before it defines."
    )


def test_equations_are_out_of_order():
    x, y, z = Var(F32), Var(F32), Var(F32)
    swapped = [equation(sin, (y,), (z,)), equation(sin, (x,), (y,))]
    assert "nothing before it defines" in refused((x,), swapped, (z,))


def test_an_output_is_not_defined():
    assert refused((), (), (Var(F32),)) == (
        "return reads a variable of type f32[3] that nothing before it defines."
    )


def test_a_variable_is_defined_twice():
    x, y = Var(F32), Var(F32)
    twice = [equation(sin, (x,), (y,)), equation(sin, (x,), (y,))]
    assert refused((x,), twice, (y,)) == (
        "sin: a variable of type f32[3] is defined a second time."
    )


def test_two_inputs_are_one_variable():
    x = Var(F32)
    assert refused((x, x), (), ()) == (
        "the inputs: a variable of type f32[3] is defined a second time."
    )


def test_an_operand_is_neither_variable_nor_array():
    assert refused((), [equation(sin, (np.zeros(3),), (Var(F32),))], ()) == (
        "sin reads a ndarray, which is neither a variable of the program nor a "
        "concrete array."
    )


def test_operands_do_not_go_together():
    x, y = Var(F32), Var(I32)
    assert refused((x, y), [equation(add, (x, y), (Var(F32),))], ()) == (
        "add does not accept its operands, f32[3], i32[3]."
    )


def test_a_result_has_another_type_than_its_operation_gives():
    x, y = Var(F32), Var(ArrayType((), dtypes.float32))
    assert refused((x,), [equation(sin, (x,), (y,))], (y,)) == (
        "sin of f32[3] gives f32[3], but its results are recorded as f32[]."
    )


def test_weakness_is_part_of_a_type():
    x, y = Var(F32), Var(ArrayType((3,), dtypes.float32, weak=True))
    assert "recorded" in refused((x,), [equation(sin, (x,), (y,))], (y,))


def test_a_nested_program_is_malformed():
    x, y, z = Var(F32), Var(F32), Var(F32)
    inner = Jaxpr((x,), (), (y,), "inner")
    outer = Jaxpr((z,), [equation(call(inner), (z,), (Var(F32),))], (), "outer")
    with pytest.raises(MalformedProgram, match="return reads a variable") as error:
        check_jaxpr(outer)
    assert [note.split()[1] for note in error.value.__notes__] == ["inner", "outer"]


def test_staging_checks_what_it_wrote_when_asked_to(monkeypatch):
    def finish_broken():
        trace = StagingTrace(base, "broken")
        x = trace.input(F32)
        trace.equations.append(equation(sin, (Var(F32),), (Var(F32),)))
        return trace.finish([x], [x])

    with pytest.raises(MalformedProgram):
        finish_broken()
    monkeypatch.setattr(options.settings, "check_programs", False)
    assert len(finish_broken().jaxpr.equations) == 1


def test_literals_are_concrete_arrays():
    check_jaxpr(Jaxpr((), (), (array(np.float32(1.0)),)))
