"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.ops.families import Elementwise


class _Transcendental(Elementwise):
    """A function of real or complex arguments."""

    accepts = staticmethod(dtypes.is_inexact)
    accepted = "floating-point or complex numbers"


class Sin(_Transcendental):
    """Sine of an angle in radians."""

    hlo = "stablehlo.sine"
    on_host = staticmethod(np.sin)

    def differential(self, out: Any, x: Any) -> Any:
        slope = cos(x)
        return [lambda dx: dx * slope]


class Cos(_Transcendental):
    """Cosine of an angle in radians."""

    hlo = "stablehlo.cosine"
    on_host = staticmethod(np.cos)

    def differential(self, out: Any, x: Any) -> Any:
        slope = -sin(x)
        return [lambda dx: dx * slope]


sin, cos = Sin(), Cos()
