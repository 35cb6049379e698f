"""What packages ask of ``jax.experimental.hijax`` while they are imported."""

import pytest

import covector as cv
from covector.compat import hijax
from covector.compat.traces import get_aval, get_referent
from covector.errors import MissingRule


class Box:
    def __init__(self, held):
        self.held = held


class BoxType(hijax.MutableHiType):
    unboxed = hijax.aval_method(lambda box: box.held)
    size = hijax.aval_property(lambda box: 1)


class Unbox(hijax.HiPrimitive):
    def impl(self, box, *, scale):
        return box.held * scale


unbox_p = Unbox("unbox")


def test_an_operation_on_values_of_a_package_runs_outside_of_transformations_only():
    assert unbox_p.bind(Box(3), scale=2) == 6 and repr(unbox_p) == "unbox"
    with pytest.raises(MissingRule, match="programs of covector have arrays alone"):
        cv.jit(lambda: unbox_p.bind(Box(3), scale=2))()
    with pytest.raises(MissingRule, match=r"box has no rule for evaluation.*def_impl"):
        hijax.HiPrimitive("box").bind(1)


def test_references_are_known_to_the_core_of_the_field():
    ref = cv.new_ref(1.0)
    assert isinstance(get_aval(ref), cv.ref.AbstractRef) and get_referent(ref) is ref
    assert get_aval(2.0).shape == ()


def test_types_and_effects_of_a_package_are_noted():
    hijax.register_hitype(Box, lambda box: BoxType())
    assert type(hijax.types_of_values[Box](Box(1))) is BoxType
    assert BoxType.unboxed.fun(Box(1)) == BoxType.size.fget(Box(1)) == 1
    assert not isinstance(cv.typeof(1.0), BoxType)

    class Change(hijax.Effect): ...

    allowed = hijax.control_flow_allowed_effects
    assert not allowed.contains(Change)
    allowed.add_type(Change)
    assert allowed.contains(Change()) and not allowed.contains(hijax.Effect)
    assert hijax.AvalQDD(BoxType(), None).qdd is None
    assert hijax.AvalMutableQDD("box", 1).aval == "box"
