"""Effects: each kind implies those above it, and programs pass on what they have."""

from itertools import pairwise

import pytest

from covector.core.effects import (
    CALLS,
    LASTS,
    NONE,
    ORDERED,
    effects_among,
    is_program,
)
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.primitive import ManyResults, operation

KINDS = (NONE, CALLS, LASTS, ORDERED)


@operation
class Acts(ManyResults):
    kind: frozenset
    programs: tuple = ()

    def __post_init__(self):
        object.__setattr__(self, "effects", self.kind | self.effects)


def program(*operations):
    return Jaxpr((), [Equation(op, (), (), None) for op in operations], ())


def test_each_kind_of_effect_implies_those_before_it():
    assert all(a < b for a, b in pairwise(KINDS))


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_last_may_be_dropped(kind):
    assert Acts(kind).pure == (kind <= CALLS)


def test_a_program_has_the_effects_of_all_its_operations():
    for a in KINDS:
        for b in KINDS:
            assert program(Acts(a), Acts(b)).effects == a | b


def test_an_operation_has_the_effects_of_the_programs_it_carries_at_any_depth():
    for kind in KINDS:
        inner = program(Acts(NONE), Acts(kind))
        outer = program(Acts(NONE, (inner, program())))
        assert Acts(NONE, (program(), outer)).effects == kind
        assert effects_among([1, "name", ((outer,),)]) == kind


def test_only_what_has_equations_is_a_program():
    assert is_program(program())
    assert not any(map(is_program, (None, (), "equations", Acts(NONE))))


def test_effects_are_printed_by_name():
    assert sorted(map(repr, ORDERED)) == [
        "Effect.CALLS",
        "Effect.LASTS",
        "Effect.ORDERED",
    ]
