"""``FFT``: discrete Fourier transforms over the last one, two or three axes.

    FFT      X[k] = Σ_j x[j] exp(−2πi jk/n)             complex to complex
    IFFT     x[j] = 1/n Σ_k X[k] exp(2πi jk/n)          its inverse
    RFFT     the X[k] with k ≤ n/2, of real x           real to complex
    IRFFT    real x, of the X[k] with k ≤ n/2           its inverse

Of several axes, RFFT halves the last one. All are linear. The imaginary parts of X[0]
and, for even n, X[n/2] have no part in a real x: IRFFT does not read them.
"""

import enum
from collections.abc import Sequence
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.array import from_host
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType, Shape
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import mul
from covector.operations.broadcasting import BroadcastInDim, move_axis, zeros
from covector.operations.complex import conj

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class FftType(enum.IntEnum):
    """Which Fourier transform: forward or inverse, of complex or of real numbers."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_ON_HOST = {
    FftType.FFT: (np.fft.fft, np.fft.fftn),
    FftType.IFFT: (np.fft.ifft, np.fft.ifftn),
    FftType.RFFT: (np.fft.rfft, np.fft.rfftn),
    FftType.IRFFT: (np.fft.irfft, np.fft.irfftn),
}


@operation
class FFT(Primitive):
    """The transform over the last axes; ``lengths`` are those of the signal along them.

    For IRFFT they are those of the result: the operand, with n // 2 + 1 elements along
    the last axis, does not tell whether n is odd.
    """

    fft_type: FftType
    lengths: Shape

    name = "fft"
    host_limit = 4096  # beyond, the compiled transform is quicker by more than its call

    def __repr__(self) -> str:
        return f"FFT({self.fft_type.name}, {self.lengths})"

    @property
    def halved(self) -> Shape:
        """The lengths of the coefficients of a real signal."""
        return (*self.lengths[:-1], self.lengths[-1] // 2 + 1)

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        lengths, kind = self.lengths, self.fft_type
        if not 1 <= len(lengths) <= 3 or min(lengths) < 1:
            raise TypeMismatch(
                f"{kind.name} needs one, two or three lengths that are at least 1, but "
                f"got {lengths}."
            )
        real = kind is FftType.RFFT
        wanted = (dtypes.float32, dtypes.float64) if real else dtypes.COMPLEX
        if x.dtype not in wanted:
            raise DTypeError(
                f"{kind.name} needs {' or '.join([d.name for d in wanted])}, but got "
                f"{x}. Functions of covector.numpy.fft promote."
            )
        shape = self.halved if kind is FftType.IRFFT else lengths
        front = x.shape[: -len(lengths)]
        if x.shape != (*front, *shape) or x.ndim < len(lengths):
            raise TypeMismatch(
                f"{kind.name} of a signal of the lengths {lengths} needs {shape} as "
                f"the last axes of its operand, but got {x}."
            )
        if real:
            return (ArrayType((*front, *self.halved), dtypes.complex_of(x.dtype)),)
        if kind is FftType.IRFFT:
            return (ArrayType((*front, *lengths), dtypes.real_part(x.dtype)),)
        return (x.strong(),)

    def on_host(self, x: HostArray) -> HostArray:
        along_one, along_several = _ON_HOST[self.fft_type]
        if len(self.lengths) == 1:
            return along_one(x, self.lengths[0])
        return along_several(x, self.lengths, range(-len(self.lengths), 0))

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        # The matrices of FFT and IFFT are symmetric. IRFFT reads each X[k] and its
        # mirror image X[n − k] = X[k]* at once, so that with weights c[k] of 1 for
        # what is its own mirror image and 2 for others
        #     x[j] = 1/n Σ_k c[k] Re(X[k] exp(2πi jk/n)),    X̄[k] = c[k]/n RFFT(x̄)[k]*,
        # and RFFT, without the mirror images, has x̄ = n IRFFT(X̄* / c).
        (ct,) = cotangents
        count = prod(self.lengths)
        if self.fft_type is FftType.RFFT:
            inverse = FFT(FftType.IRFFT, self.lengths)
            return [inverse(mul(conj(ct), self._weights(ct, count / self._mirrored)))]
        if self.fft_type is FftType.IRFFT:
            out = conj(FFT(FftType.RFFT, self.lengths)(ct))
            return [mul(out, self._weights(out, self._mirrored / count))]
        return [self(ct)]

    @property
    def _mirrored(self) -> HostArray:
        """The count of each coefficient of the last axis in the full spectrum."""
        n = self.lengths[-1]
        k = np.arange(n // 2 + 1)
        return np.where((k == 0) | (2 * k == n), 1.0, 2.0)

    def _weights(self, x: Value, values: HostArray) -> Value:
        """Weights along the last axis, in the shape and dtype of ``x``."""
        weights = from_host(values.astype(x.type.dtype))
        return BroadcastInDim(x.type.shape, (x.type.ndim - 1,))(weights)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(move_axis(args[0], dims[0], 0)),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        """Radix-2: for each element and each doubling of the length 8 FLOPs, as XLA has
        it; half of that where elements are real.
        """
        (x,), length = types, prod(self.lengths)
        real = self.fft_type in (FftType.RFFT, FftType.IRFFT)
        each = (4 if real else 8) * length * sum([log2(n) for n in self.lengths])
        return Work(flops=prod(x.shape[: -len(self.lengths)]) * round(each))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type_,), (out,) = ctx.in_types, ctx.out_types
        if not out.size:
            return ctx.through(lambda _: [zeros(out)], x)
        # XLA's own way to divide a transform between devices ends the process for some
        # lengths, so devices may only divide the axes in front.
        front = out.ndim - len(self.lengths)
        made = ctx.op(
            "stablehlo.fft",
            [ctx.replicated(x, type_, front)],
            fft_type=f"#stablehlo<fft_type {self.fft_type.name}>",
            fft_length=self.lengths,
        )
        return ctx.replicated(made, out, front)
