"""``jax.experimental.hijax``: types of users that programs carry.

covector has no such types: a program has arrays, and trees of them go through it flat.
Packages of the field define theirs while they are imported, for objects that one asks
for by a switch. These definitions are taken; outside of transformations such operations
do what they say, and inside of them they are refused.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from covector.compat.primitives import Primitive
from covector.core.trace import current
from covector.errors import MissingRule
from covector.lowering.evaluate import base


class Effect:
    """What an operation of a package does besides giving results; packages derive
    theirs.
    """


class HiType:
    """A type of a package."""


class MutableHiType(HiType):
    """A type of objects that change."""


#: a type, and what else is known of a value: now, and as it changes
AvalQDD = namedtuple("AvalQDD", "aval qdd")
AvalMutableQDD = namedtuple("AvalMutableQDD", "aval mutable_qdd")
#: a method and a property that traced values of a type have
aval_method = namedtuple("aval_method", "fun")
aval_property = namedtuple("aval_property", "fget")


class HiPrimitive(Primitive):
    """An operation on such values; ``impl`` says what it computes."""

    def bind(self, *args: Any, **parameters: Any) -> Any:
        """The results, outside of transformations."""
        if current.trace is not base:
            raise MissingRule(
                f"{self.name} works on values of a type of its own inside of "
                f"{current.trace.name or 'a transformation'}: programs of covector "
                "have arrays alone. Use a tree of arrays, or references "
                "(covector.new_ref), which programs can change."
            )
        return self.impl(*args, **parameters)


#: functions that give the type of a value, by the class of the value
types_of_values: dict[type, Callable[[Any], Any]] = {}


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Note how values of a class are typed."""
    types_of_values[val_cls] = typeof_fn


class EffectTypes(set[type]):
    """A set of classes of effects."""

    add_type = set.add

    def contains(self, effect: Any) -> bool:
        """Whether ``effect``, an effect or a class of them, is of one of the types."""
        kind = effect if isinstance(effect, type) else type(effect)
        return issubclass(kind, tuple(self))


control_flow_allowed_effects = EffectTypes()
