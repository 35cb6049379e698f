"""Conversion of element types, bit casts, and reduced precision.

ConvertElementType    the value, as near as the other type has it
BitcastConvertType    the bits
ReducePrecision       the value as a narrower float has it, in the type it was
"""

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    BatchDims,
    Batched,
    DType,
    HostArray,
    LinearMaps,
    Value,
    Values,
)
from covector.core.convert import scalar, to_be_cast
from covector.core.number_info import bit_width, finfo, iinfo
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.core.work import Work, costs_nothing, moves
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align, with_axes_in_order
from covector.operations.families import Elementwise, widened

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class ConvertElementType(Primitive):
    """The operand's values in another element type.

    Floats become integers by truncation, out-of-range values saturate and NaN gives 0;
    complex numbers lose their imaginary part.
    """

    element_wise = True
    dtype: Any
    weak: bool = False

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if dtypes.is_key(x.dtype) != dtypes.is_key(self.dtype):
            raise DTypeError(
                f"random keys are not numbers: {x} cannot become "
                f"{dtypes.short_name(self.dtype)}. covector.random.key_data gives the "
                "bits of a key and wrap_key_data makes a key of bits."
            )
        return (ArrayType(x.shape, self.dtype, self.weak),)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        saturates = dtypes.is_floating(x.dtype) and dtypes.is_integer(self.dtype)
        if saturates or dtypes.is_complex(x.dtype):
            return self.on_host
        return methodcaller("astype", self.dtype)

    def on_host(self, x: HostArray) -> HostArray:
        to, kind = self.dtype, x.dtype
        if dtypes.is_complex(kind) and not dtypes.is_complex(to):
            x = np.not_equal(x, 0) if dtypes.is_bool(to) else x.real
        if dtypes.is_floating(x.dtype) and dtypes.is_integer(to):
            return _saturate(x, to)
        return x.astype(to)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        if not (dtypes.is_inexact(x.type.dtype) and dtypes.is_inexact(self.dtype)):
            return [None]
        return [ConvertElementType(self.dtype)]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [ConvertElementType(x.type.dtype)(cotangents[0])]

    def linear_in(self, args: Sequence[Operand]) -> bool:
        before, after = args[0].type.dtype, self.dtype
        if dtypes.is_inexact(before):
            return dtypes.is_inexact(after)
        return dtypes.is_integer(before) and dtypes.is_integer(after)

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return with_axes_in_order(self, orders)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        return (self(args[0]),), dims

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        if types[0].dtype == self.dtype:
            return costs_nothing(self, types, outs)
        return Work(flops=outs[0].size)

    def of_elements(self, x: ArrayType) -> Primitive | None:  # type: ignore[override]
        complex_ = dtypes.is_complex(x.dtype) or dtypes.is_complex(self.dtype)
        return None if complex_ or dtypes.is_key(x.dtype) else self

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (out,) = ctx.in_types, ctx.out_types
        if dtypes.is_complex(source.dtype) and not dtypes.is_complex(out.dtype):
            if dtypes.is_bool(out.dtype):
                return _lower_nonzero(ctx, x, source, out)
            source = source.with_dtype(dtypes.real_part(source.dtype))
            x = ctx.op("stablehlo.real", [x], [source])
        if dtypes.is_bool(out.dtype) and not dtypes.is_bool(source.dtype):
            return _lower_nonzero(ctx, x, source, out)
        if dtypes.is_bool(source.dtype) and dtypes.is_inexact(out.dtype):
            # XLA makes a selection of the product of y and a bool that was cast: 0, and
            # not NaN, of False and infinity. It does not see through a number between.
            x = ctx.op("stablehlo.convert", [x], [source.with_dtype(dtypes.uint8)])
        return ctx.op("stablehlo.convert", [x])


def _saturate(x: HostArray, to: np.dtype) -> HostArray:
    """Float to integer as XLA does it: clamp to the range, NaN to zero."""
    limits = iinfo(to)
    # What is in range, as most often all is, needs no further look.
    if x.size and float(limits.min) <= x.min() and x.max() < float(limits.max):
        return x.astype(to)
    wide = np.nan_to_num(
        np.asarray(x, np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf
    )
    low, high = float(limits.min), float(limits.max)
    inside = np.clip(wide, low, high)
    out = np.where(inside < high, inside, 0).astype(np.int64 if low else np.uint64)
    top = np.asarray(limits.max).astype(out.dtype)
    return np.where(inside >= high, top, out).astype(to)


def _lower_nonzero(
    ctx: "Lowering", x: HloValue, source: ArrayType, out: ArrayType
) -> HloValue:
    zero = ctx.constant(0, source)
    return ctx.op(
        "stablehlo.compare",
        [x, zero],
        [out],
        comparison_direction="#stablehlo<comparison_direction NE>",
    )


@operation
class BitcastConvertType(Primitive):
    """The bits of the operand as elements of another type.

    To a narrower type each element becomes several, along a new last axis, the lowest
    bits first; to a wider one the elements along the last axis become one, and the axis
    goes. Nothing moves through it: it has no derivative.
    """

    new_dtype: Any

    # In NumPy, integers narrower than a byte have one each.
    not_on_host = dtypes.SUB_BYTE
    work = moves

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if x.dtype == self.new_dtype:
            return (x.strong(),)
        if not (dtypes.is_real(x.dtype) and dtypes.is_real(self.new_dtype)):
            raise DTypeError(
                f"bitcast_convert_type is for integers and floats, but got {x} for "
                f"{dtypes.short_name(self.new_dtype)}. Convert bools with astype; take "
                "complex numbers apart with real and imag."
            )
        old, new = bit_width(x.dtype), bit_width(self.new_dtype)
        shape = x.shape
        if new < old:
            shape = (*x.shape, old // new)
        elif new > old:
            if x.shape[-1:] != (new // old,):
                wanted = dtypes.short_name(self.new_dtype)
                raise TypeMismatch(
                    f"bitcast_convert_type of {x} to {wanted} joins {new // old} "
                    "elements along the last axis, and that must be its length. "
                    "Reshape first."
                )
            shape = x.shape[:-1]
        return (ArrayType(shape, self.new_dtype),)

    def on_host(self, x: HostArray) -> HostArray:
        x, ratio = np.asarray(x), x.dtype.itemsize / self.new_dtype.itemsize
        if ratio > 1:
            return np.ascontiguousarray(x[..., None]).view(self.new_dtype)
        if ratio < 1:
            return np.ascontiguousarray(x).view(self.new_dtype)[..., 0]
        return x.view(self.new_dtype)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [None]

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        (x,) = align(size, args, dims)
        return (self(x),), (0,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.bitcast_convert", [x])


@operation
class ReducePrecision(Elementwise):
    """x rounded to a float of so many exponent and mantissa bits, ties to even.

    What is too large becomes infinite; what would be subnormal in that format becomes
    0. Tangents and cotangents are rounded likewise, as the conversion to such a type
    and back would do.
    """

    exponent_bits: int
    mantissa_bits: int

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if self.exponent_bits < 1 or self.mantissa_bits < 0:
            raise TypeMismatch(
                f"reduce_precision of {x} needs at least 1 exponent bit and 0 mantissa "
                f"bits, but got {self.exponent_bits} and {self.mantissa_bits}."
            )
        return super().type_rule(x)

    def on_host(self, x: HostArray) -> HostArray:
        rounded = self._rounded(np.asarray(widened(x)))
        if self.exponent_bits >= finfo(x.dtype).nexp:
            return rounded.astype(x.dtype)
        _, exponent = np.frexp(rounded)  # of a fraction from 1/2 to 1
        top = 2 ** (self.exponent_bits - 1)
        size = np.where(exponent > top, np.inf, np.where(exponent < 3 - top, 0, 1))
        finite = np.isfinite(rounded) & (rounded != 0)
        return np.where(finite, rounded * size, rounded).astype(x.dtype)

    def _rounded(self, x: HostArray) -> HostArray:
        """``x`` with a short mantissa; a carry out of it raises the exponent."""
        dropped = finfo(x.dtype).nmant - self.mantissa_bits
        if dropped <= 0:
            return x
        one = np.asarray(1, f"u{x.dtype.itemsize}")
        bits, positions = x.view(one.dtype), dropped * one
        odd = (bits >> positions) & one
        rounded = (
            (bits + (one << (positions - one)) - one + odd) >> positions << positions
        )
        return np.where(np.isfinite(x), rounded.view(x.dtype), x)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [self(cotangents[0])]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op(
            "stablehlo.reduce_precision",
            [x],
            exponent_bits=f"{self.exponent_bits} : i32",
            mantissa_bits=f"{self.mantissa_bits} : i32",
        )


def in_dtype(value: Any, dtype: DType, who: str, weak: bool = False) -> Value:
    """An array or a number as an array of this element type.

    An integer that it does not have raises IntegerOverflow: made an array first, it
    would wrap around without a word.
    """
    if type(value) in (bool, int, float, complex) and not dtypes.is_key(dtype):
        return scalar(value, dtype, weak)
    return convert(to_be_cast(value, who), dtype, weak)


def convert(x: Value, dtype: DType, weak: bool = False) -> Value:
    """``x`` with this element type; ``x`` itself when it has it already."""
    if x.type.dtype == dtype and x.type.weak == weak:
        return x
    return ConvertElementType(dtype, weak)(x)
