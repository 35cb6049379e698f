"""Square and cube roots."""

import math
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, LinearMaps, Value
from covector.core.convert import scalar
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.accuracy import ByVectors, HasAccuracy
from covector.operations.arithmetic import div, mul
from covector.operations.comparison import lt
from covector.operations.complex_functions import ComplexFunction, mend_sqrt
from covector.operations.families import widened
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class _Root(ComplexFunction, HasAccuracy):
    """A root of a real or complex number."""

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type_,) = ctx.in_types
        if ctx.platform == "cpu" and type_.dtype == dtypes.float32:
            # XLA makes no vectors of 1/√x where x comes from memory as it is.
            (x,) = ctx.through(_or_nan, x)
        return super().lower(ctx, x)


class Sqrt(_Root):
    """√x; NaN of negative numbers. The derivative 1/(2√x) is infinite at 0.

    Of a complex number, the root with a real part that is not negative, and with an
    imaginary part of its sign.
    """

    hlo = "stablehlo.sqrt"

    on_host = staticmethod(np.sqrt)
    vectors = dtypes.MACHINE_FLOATS
    mend = staticmethod(mend_sqrt)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [lambda dx: div(dx, out + out)]


class Rsqrt(_Root):
    """1/√x; infinite at 0, NaN of negative numbers."""

    hlo = "stablehlo.rsqrt"
    # NumPy's reciprocals of complex zeros and infinities are NaN.
    not_on_host = _Root.not_on_host.union(dtypes.COMPLEX)

    def on_host(self, x: HostArray) -> HostArray:
        return np.reciprocal(np.sqrt(widened(x))).astype(x.dtype, copy=False)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = -0.5 * (out / x)
        return [lambda dx: mul(dx, slope)]


def _or_nan(x: Value) -> list[Value]:
    """The number, or NaN in place of one without a square root."""
    return [where(lt(x, scalar(0, x.type.dtype)), scalar(math.nan, x.type.dtype), x)]


class Cbrt(ByVectors, HasAccuracy):
    """∛x of real x, with the sign of x. The derivative ∛x/(3x) is infinite at 0."""

    on_cpu = "cube_root"
    hlo = "stablehlo.cbrt"
    on_host = staticmethod(np.cbrt)
    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [lambda dx: div(dx, 3 * (out * out))]


sqrt, rsqrt, cbrt = Sqrt(), Rsqrt(), Cbrt()
