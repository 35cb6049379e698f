"""The order of effects, as values that each gives to the next."""

from itertools import pairwise

import pytest

from covector.core import dtypes
from covector.core.check import check_jaxpr
from covector.core.effects import CALLS, LASTS, ORDERED
from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations
from covector.core.primitive import ManyResults, operation
from covector.core.types import ArrayType
from covector.errors import MissingRule
from covector.lowering.tokens import TOKEN, ordered, with_token
from covector.operations.transcendental import sin
from covector.programs.higher_order.call import call

F32 = ArrayType((3,), dtypes.float32)


@operation
class Acts(ManyResults):
    """Does something, and gives its operand back, its token at index ``position``."""

    number: int
    kind: frozenset = LASTS
    position: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "effects", self.kind)

    def type_rule(self, *types):
        given = list(types)
        token = [] if self.position is None else [given.pop(self.position)]
        return [*token, *given]

    def with_token(self):
        position = self.number % 2
        return self.replace(position=position), position


@operation
class Unordered(ManyResults):
    """Has an effect, and no form with a token."""

    kind: frozenset

    def __post_init__(self):
        object.__setattr__(self, "effects", self.kind)

    def type_rule(self, x):
        return (x,)


def program(*operations, name=""):
    """A program that applies operations of one operand, each to its input."""
    x, equations, outs = Var(F32), [], []
    for op in operations:
        outs.append(Var(F32))
        equations.append(Equation(op, (x,), (outs[-1],), None))
    return Jaxpr((x,), equations, outs, name)


def reads(later, earlier):
    """Whether an equation reads a result of another."""
    return any(a is v for a in later.inputs for v in earlier.outputs)


def test_a_program_without_lasting_effects_stays_as_it_is():
    for jaxpr in (program(sin, sin), program(sin, Acts(0, CALLS))):
        assert ordered(jaxpr) is jaxpr


@pytest.mark.parametrize("kind", [LASTS, ORDERED])
def test_each_effect_reads_what_the_one_before_it_gives(kind):
    jaxpr = ordered(program(Acts(0, kind), sin, Acts(1, kind), Acts(2, kind)))
    check_jaxpr(jaxpr)
    acts = [e for e in jaxpr.equations if type(e.op) is Acts]
    for before, after in pairwise(acts):
        assert reads(after, before)
        assert not reads(before, after)


def test_the_last_effect_depends_on_all_before_it():
    jaxpr = ordered(program(*[Acts(k) for k in range(4)]))
    equations = [_pure(e) for e in jaxpr.equations]
    assert len(needed_equations(equations, equations[-1].outputs)) == 4
    loose = [_pure(e) for e in program(*[Acts(k) for k in range(4)]).equations]
    assert len(needed_equations(loose, loose[-1].outputs)) == 1


def _pure(e):
    """An equation that is needed only for its results."""
    return Equation(e.op.replace(kind=CALLS), e.inputs, e.outputs, e.line)


def test_the_token_stands_where_the_operation_wants_it_and_first_in_results():
    jaxpr = ordered(program(Acts(0), Acts(1)))
    for number, e in enumerate(jaxpr.equations):
        assert e.op.position == number
        assert e.inputs[number].type is TOKEN
        assert e.inputs[1 - number] is jaxpr.inputs[0]
        assert e.outputs[0].type is TOKEN


def test_inputs_and_outputs_of_the_program_are_those_from_before():
    before = program(Acts(0), sin, Acts(1), name="loss")
    after = ordered(before)
    assert (after.inputs, after.outputs) == (before.inputs, before.outputs)
    assert after.name == "loss"
    assert after.effects == before.effects


@pytest.mark.parametrize("position", [0, 1])
def test_a_program_with_a_token_takes_it_at_its_index_and_gives_the_last(position):
    before = program(Acts(0), sin, Acts(1))
    after = with_token(before, position)
    check_jaxpr(after)
    assert after.inputs[position].type is TOKEN
    assert after.inputs[1 - position] is before.inputs[0]
    assert after.outputs[1:] == before.outputs
    first, *_, last = after.equations
    assert after.inputs[position] in first.inputs
    assert after.outputs[0] is last.outputs[0]


def test_a_program_without_effects_passes_its_token_through():
    after = with_token(program(sin))
    assert after.outputs[0] is after.inputs[0]


def test_programs_that_contain_effects_stand_in_the_same_order():
    inner = program(Acts(0), name="inner")
    jaxpr = ordered(program(call(inner), Acts(1), call(inner)))
    check_jaxpr(jaxpr)
    first, second, third = jaxpr.equations
    assert reads(second, first)
    assert reads(third, second)
    for e in (first, third):
        assert e.op.jaxpr.in_types == (TOKEN, F32)


def test_ordered_effects_without_the_rule_are_refused():
    with pytest.raises(MissingRule, match=r"unordered carries .* no `threaded` rule"):
        ordered(program(Unordered(ORDERED)))


def test_effects_that_need_no_order_stay_among_the_others():
    jaxpr = ordered(program(Acts(0), Unordered(LASTS), Acts(1)))
    first, free, second = jaxpr.equations
    assert reads(second, first)
    assert [a.type for a in free.inputs] == [F32]
