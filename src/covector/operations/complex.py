"""Complex numbers: construction, real and imaginary parts, conjugates.

Derivatives treat a complex number as a pair of real ones. The transpose of a linear map
L is taken for the pairing Re(u · v), without conjugation: Re(ū · L(z)) = Re(Lᵀ(ū) · z).
"""

from collections.abc import Sequence

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray, LinearMaps, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand
from covector.operations.arithmetic import neg
from covector.operations.broadcasting import broadcast_like, unbroadcast
from covector.operations.families import Elementwise


class _OfComplex(Elementwise):
    """A linear function of a complex argument."""

    accepts = staticmethod(dtypes.is_complex)
    accepted = "complex numbers"

    def differential(self, out: Value, z: Value) -> LinearMaps:
        return [self]


class Real(_OfComplex):
    """The real part x of x + iy."""

    hlo = "stablehlo.real"

    def out_dtype(self, dtype: DType) -> DType:
        return dtypes.real_part(dtype)

    def on_host(self, z: HostArray) -> HostArray:
        return z.real.copy()

    def transpose(self, cotangents: Values, z: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [complex_(ct, scalar(0, ct.type.dtype))]


class Imag(_OfComplex):
    """The imaginary part y of x + iy."""

    hlo = "stablehlo.imag"

    def out_dtype(self, dtype: DType) -> DType:
        return dtypes.real_part(dtype)

    def on_host(self, z: HostArray) -> HostArray:
        return z.imag.copy()

    def transpose(self, cotangents: Values, z: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [complex_(scalar(0, ct.type.dtype), neg(ct))]


class Conj(_OfComplex):
    """The conjugate x − iy of x + iy."""

    hlo = "chlo.conj"
    on_host = staticmethod(np.conjugate)

    def transpose(self, cotangents: Values, z: Operand) -> Sequence[Value | None]:
        return [conj(cotangents[0])]


def _has_complex(dtype: DType) -> bool:
    return dtype in (dtypes.float32, dtypes.float64)


class Complex(Elementwise):
    """x + iy of real x and y, in float32 or float64."""

    hlo = "stablehlo.complex"
    accepts = staticmethod(_has_complex)
    accepted = "real and imaginary parts in float32 or float64"

    def out_dtype(self, dtype: DType) -> DType:
        return dtypes.complex_of(dtype)

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        shape = np.shape(x) or np.shape(y)
        out = np.empty(shape, dtypes.complex_of(x.dtype))
        out.real, out.imag = x, y
        return out

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        out = self(x, y)
        zero = scalar(0, x.type.dtype)

        def push(dx: Value | None, dy: Value | None) -> Sequence[Value | None]:
            parts = [zero if d is None else d for d in (dx, dy)]
            return (broadcast_like(self(*parts), out),)

        return (out,), push

    def transpose(
        self, cotangents: Values, x: Operand, y: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [
            unbroadcast(real(ct), x.type) if type(x) is Linear else None,
            unbroadcast(neg(imag(ct)), y.type) if type(y) is Linear else None,
        ]


real, imag, conj, complex_ = Real(), Imag(), Conj(), Complex()
