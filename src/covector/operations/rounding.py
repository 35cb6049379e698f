"""Rounding to integers, which stay floats, and stepping to the next float.

Rounding has derivative 0; it does not exist at the jumps.
"""

import enum
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, LinearMaps, Value
from covector.core.primitive import operation
from covector.errors import NotDifferentiable
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.families import Elementwise, widened

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class RoundingMethod(enum.IntEnum):
    """The rounding of a number halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Rounding(Elementwise):
    """A piecewise constant function: its derivative is zero between the jumps."""

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [None]


class Floor(Rounding):
    """The largest integer that is not above x."""

    hlo = "stablehlo.floor"
    on_host = staticmethod(np.floor)


class Ceil(Rounding):
    """The smallest integer that is not below x."""

    hlo = "stablehlo.ceil"
    on_host = staticmethod(np.ceil)


@operation
class Round(Rounding):
    """The integer nearest to x; the method says which of two that are equally near."""

    rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO

    def on_host(self, x: HostArray) -> HostArray:
        if self.rounding_method is RoundingMethod.TO_NEAREST_EVEN:
            return np.rint(x)
        wide = widened(x)
        whole = np.trunc(wide)
        # wide - whole is exact; adding a half before truncating would not be.
        up = np.greater_equal(np.abs(wide - whole), 0.5)
        return np.copysign(np.abs(whole) + up, wide).astype(x.dtype, copy=False)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        even = self.rounding_method is RoundingMethod.TO_NEAREST_EVEN
        return ctx.op(f"stablehlo.round_nearest_{'even' if even else 'afz'}", [x])


class Nextafter(Elementwise):
    """The float next to x in the direction of y; y where they are equal."""

    hlo = "chlo.next_after"
    on_host = staticmethod(np.nextafter)
    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def differential(self, out: Value, x: Value, y: Value) -> LinearMaps:
        raise NotDifferentiable(
            f"nextafter of {x.type} has no derivative: its step, of one unit in the "
            "last index, jumps with x. Use stop_gradient on its operands."
        )


floor, ceil, nextafter = Floor(), Ceil(), Nextafter()
