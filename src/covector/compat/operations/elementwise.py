"""Elementwise operations, which have the same names and parameters in the field.

They are collected from their rooms: one that is added is entered by itself.
"""

from types import ModuleType
from typing import Any

from covector.compat.operation_primitives import primitive
from covector.core.primitive import Primitive
from covector.operations import (
    arithmetic,
    bessel,
    bitwise,
    comparison,
    complex,
    extrema,
    gamma,
    incomplete_beta,
    logarithms,
    magnitude,
    powers,
    roots,
    rounding,
    selection,
    special,
    transcendental,
)
from covector.operations.casting import (
    BitcastConvertType,
    ConvertElementType,
    ReducePrecision,
)

_ROOMS = (
    *[arithmetic, bessel, bitwise, comparison, complex, extrema, gamma],
    *[incomplete_beta, logarithms, magnitude, powers, roots, rounding],
    *[selection, special, transcendental],
)
#: those with a spelling of their own, and those that the field has not (``ours.py``)
_OTHERWISE = {
    *[arithmetic.SumOfProducts, complex.Conj, gamma.IgammaDerivative],
    *[gamma.GammaDensity, incomplete_beta.BetaDensity],
    *[incomplete_beta.BetaincDerivative, special.Gamma, logarithms.Log2],
}


def _is_family(x: type) -> bool:
    """Whether operations of ours are of this class; one of a user's may be, too."""
    return any([c.__module__.startswith("covector.") for c in x.__subclasses__()])


def _is_operation(x: Any, room: ModuleType) -> bool:
    """Whether an attribute of a room is an operation of it, and no family of them."""
    return (
        isinstance(x, type)
        and issubclass(x, Primitive)
        and x.__module__ == room.__name__
        and not _is_family(x)
        and not x.__name__.startswith("_")
    )


for _room in _ROOMS:
    for _cls in vars(_room).values():
        if _is_operation(_cls, _room) and _cls not in _OTHERWISE:
            primitive(_cls.name, _cls)

primitive("igamma_grad_a", gamma.IgammaDerivative)
primitive(
    "conj",
    complex.Conj,
    derived={"input_dtype": lambda op, types: types[0].dtype},
)
primitive(
    "convert_element_type",
    ConvertElementType,
    new_dtype="dtype",
    weak_type="weak",
    constant={"sharding": None},
)
primitive("bitcast_convert_type", BitcastConvertType)
primitive("reduce_precision", ReducePrecision)
