"""``backward``: a linear program run from output to input cotangents."""

import numpy as np
import pytest

import covector.numpy as cnp
from covector.core import dtypes
from covector.core.primitive import Linear, Primitive
from covector.core.source import running
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import MissingRule, NonFiniteError
from covector.operations.arithmetic import add, mul, neg
from covector.operations.transcendental import sin
from covector.transforms.batch import batch_flat
from covector.transforms.transpose import backward, instantiate, transpose_jaxpr
from tests.laws import array
from tests.transforms.traces import operations_of, values, vector

F32 = ArrayType((3,), dtypes.float32)
SCALAR = ArrayType((), dtypes.float32)
LINEAR = Linear(F32)


X, CT = vector(1, 2, 3), vector(10, 20, 30)


class OneWay(Primitive):
    """Gives its operand, and is given nothing back."""

    def type_rule(self, x):
        return (x,)

    def on_host(self, x):
        return x


class NotFinite(OneWay):
    """One of which the adjoint finds a NaN."""

    def transpose(self, cotangents, x):
        raise NonFiniteError("a NaN")


def program(fun, types=(F32, F32)):
    return stage(fun, types, "f").jaxpr


# -- cotangents ------------------------------------------------------------------------


def test_linear_inputs_get_cotangents_and_the_others_none():
    jaxpr = program(lambda x, y: [mul(x, y)])
    assert values(backward(jaxpr, [LINEAR, X], [CT])) == [[10, 40, 90], None]
    assert values(backward(jaxpr, [X, LINEAR], [CT])) == [None, [10, 40, 90]]


def test_an_input_without_influence_has_no_cotangent():
    jaxpr = program(lambda x, y: [neg(x)])
    assert values(backward(jaxpr, [LINEAR, LINEAR], [CT])) == [[-10, -20, -30], None]


def test_cotangents_of_several_uses_are_added():
    jaxpr = program(lambda x: [add(neg(x), add(x, mul(x, X)))], [F32])
    assert values(backward(jaxpr, [LINEAR], [CT])) == [[10, 40, 90]]


def test_an_input_that_is_an_output_adds_the_cotangent_of_that():
    jaxpr = program(lambda x: [neg(x), x, x], [F32])
    ones = vector(1, 1, 1)
    assert values(backward(jaxpr, [LINEAR], [CT, ones, ones])) == [[-8, -18, -28]]


def test_an_output_given_twice_has_both_cotangents():
    def fun(x):
        y = neg(x)
        return [y, y]

    found = backward(program(fun, [F32]), [LINEAR], [CT, vector(1, 1, 1)])
    assert values(found) == [[-11, -21, -31]]


def test_absent_cotangents_cost_nothing():
    jaxpr = program(lambda x, y: [OneWay()(x), neg(y), x])
    assert backward(jaxpr, [LINEAR, LINEAR], [None, None, None]) == [None, None]
    assert values(backward(jaxpr, [LINEAR, LINEAR], [None, CT, None])) == [
        None,
        [-10, -20, -30],
    ]
    assert not operations_of(lambda: backward(jaxpr, [LINEAR, LINEAR], [None] * 3))


def test_cotangents_of_outputs_that_do_not_depend_on_linear_inputs_go_nowhere():
    jaxpr = program(lambda x, y: [x, y, X])
    found = backward(jaxpr, [LINEAR, X], [None, CT, CT])
    assert found == [None, None]


def test_what_is_not_linear_is_run_forward_once_and_first():
    jaxpr = program(lambda x, y: [mul(mul(x, sin(y)), sin(y)), sin(y)])
    ops = operations_of(lambda: backward(jaxpr, [LINEAR, X], [CT, CT]))
    assert ops[:3] == [sin] * 3 and ops[3:] == [mul] * 2
    (found, _) = backward(jaxpr, [LINEAR, X], [CT, None])
    np.testing.assert_allclose(found, np.asarray(CT) * np.sin(X) ** 2, rtol=1e-6)


def test_a_program_is_transposed_over_a_batch():
    jaxpr = program(lambda x, y: [mul(x, y)])
    rows = array(np.float32([[1, 2, 3], [4, 5, 6]]))
    (found,), (dim,) = batch_flat(
        lambda ct: [backward(jaxpr, [LINEAR, X], [ct])[0]], 2, [rows], [0]
    )
    assert dim == 0 and values([found]) == [[[1, 4, 9], [4, 10, 18]]]


# -- programs --------------------------------------------------------------------------


def test_a_transposed_program_takes_known_values_and_the_given_cotangents():
    jaxpr = program(lambda x, y: [mul(x, y), neg(x)])
    made, nonzero = transpose_jaxpr(jaxpr, (True, False), (True, False))
    assert made.name == "f_transposed"
    assert made.in_types == (F32, F32) and nonzero == (True, False)
    assert values(made(X, CT)) == [[10, 40, 90]]
    both, _ = transpose_jaxpr(jaxpr, (True, False), (True, True))
    assert values(both(X, CT, vector(1, 1, 1))) == [[9, 39, 89]]


def test_a_transposed_program_gives_no_cotangent_that_is_zero():
    jaxpr = program(lambda x, y: [neg(y)])
    made, nonzero = transpose_jaxpr(jaxpr, (True, True), (True,))
    assert nonzero == (False, True) and len(made.outputs) == 1
    nothing, nonzero = transpose_jaxpr(jaxpr, (True, True), (False,))
    assert nonzero == (False, False) and nothing.outputs == ()


def test_cotangents_are_strong_also_of_weak_results():
    weak = ArrayType((), dtypes.float32, weak=True)
    made, _ = transpose_jaxpr(program(lambda x: [neg(x)], [weak]), (True,), (True,))
    assert made.in_types == (SCALAR,) and made.out_types == (SCALAR,)


def test_transposing_twice_gives_the_program_again():
    jaxpr = program(lambda x: [cnp.cumsum(mul(x, X))], [F32])
    once, _ = transpose_jaxpr(jaxpr, (True,), (True,))
    twice, _ = transpose_jaxpr(once, (True,), (True,))
    assert values(twice(CT)) == values(jaxpr(CT))


def test_equations_have_the_lines_of_those_they_are_the_adjoints_of():
    def fun(x):
        y = mul(x, X)
        return [neg(y)]

    made, _ = transpose_jaxpr(program(fun, [F32]), (True,), (True,))
    first = fun.__code__.co_firstlineno
    lines = [(e.op, e.line.number - first) for e in made.equations]
    assert lines == [(neg, 2), (mul, 1)]


def test_instantiate_makes_zeros_of_what_is_absent():
    assert instantiate(CT, F32) is CT
    assert values([instantiate(None, F32)]) == [[0, 0, 0]]


# -- what fails ------------------------------------------------------------------------


@pytest.mark.parametrize("op", [OneWay(), NotFinite()])
def test_after_an_exception_no_equation_is_running(op):
    trace = current.trace
    jaxpr = program(lambda x: [op(neg(x))], [F32])
    with pytest.raises((MissingRule, NonFiniteError)):
        backward(jaxpr, [LINEAR], [CT])
    assert running.equation is None and current.trace is trace
    with pytest.raises((MissingRule, NonFiniteError)):
        transpose_jaxpr(jaxpr, (True,), (True,))
    assert running.equation is None and current.trace is trace


def test_an_operation_without_an_adjoint_is_named():
    jaxpr = program(lambda x: [OneWay()(x)], [F32])
    words = "one_way has no `transpose` rule, which reverse-mode differentiation needs"
    with pytest.raises(MissingRule, match=words):
        backward(jaxpr, [LINEAR], [CT])


def test_a_nan_of_the_backward_pass_says_in_which_operation_and_line():
    jaxpr = program(lambda x: [NotFinite()(x)], [F32])
    with pytest.raises(NonFiniteError) as raised:
        backward(jaxpr, [LINEAR], [CT])
    (note,) = raised.value.__notes__
    assert note.startswith("in the backward pass of not_finite, made at")
    assert "test_transpose.py" in note
