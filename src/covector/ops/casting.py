"""Changing the element type: by value (``ConvertElementType``), or keeping the bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.number_info import iinfo
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.errors import DTypeError


@dataclass(frozen=True, eq=False)
class ConvertElementType(Primitive):
    """The operand's values in another element type.

    Floats become integers by truncation, out-of-range values saturate and NaN gives 0;
    complex numbers lose their imaginary part.
    """

    dtype: Any
    weak: bool = False

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if dtypes.is_key(x.dtype) != dtypes.is_key(self.dtype):
            raise DTypeError(
                f"random keys are not numbers: {x} cannot become "
                f"{dtypes.short_name(self.dtype)}. covector.random.key_data gives the bits "
                "of a key and wrap_key_data makes a key of bits."
            )
        return (ArrayType(x.shape, self.dtype, self.weak),)

    def on_host(self, x: Any) -> Any:
        to, kind = self.dtype, x.dtype
        if dtypes.is_complex(kind) and not dtypes.is_complex(to):
            x = np.not_equal(x, 0) if dtypes.is_bool(to) else x.real
        if dtypes.is_floating(x.dtype) and dtypes.is_integer(to):
            return _saturate(x, to)
        return x.astype(to)

    def differential(self, out: Any, x: Any) -> Any:
        if not (dtypes.is_inexact(x.type.dtype) and dtypes.is_inexact(self.dtype)):
            return [None]
        return [ConvertElementType(self.dtype)]

    def transpose(self, cotangents: Any, x: Any) -> Any:
        return [ConvertElementType(x.type.dtype)(cotangents[0])]

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return (self(args[0]),), dims

    def lower(self, ctx: Any, x: Any) -> Any:
        (source,), (out,) = ctx.in_types, ctx.out_types
        if dtypes.is_complex(source.dtype) and not dtypes.is_complex(out.dtype):
            if dtypes.is_bool(out.dtype):
                return _lower_nonzero(ctx, x, source, out)
            source = source.with_dtype(dtypes.real_part(source.dtype))
            x = ctx.op("stablehlo.real", [x], [source])
        if dtypes.is_bool(out.dtype) and not dtypes.is_bool(source.dtype):
            return _lower_nonzero(ctx, x, source, out)
        return ctx.op("stablehlo.convert", [x])


def _saturate(x: Any, to: np.dtype) -> Any:
    """Float to integer as XLA does it: clamp to the range, NaN to zero."""
    limits = iinfo(to)
    wide = np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = float(limits.min), float(limits.max)
    inside = np.clip(wide, low, high)
    out = np.where(inside < high, inside, 0).astype(np.int64 if low else np.uint64)
    top = np.asarray(limits.max).astype(out.dtype)
    return np.where(inside >= high, top, out).astype(to)


def _lower_nonzero(ctx: Any, x: Any, source: ArrayType, out: ArrayType) -> Any:
    zero = ctx.constant(0, source)
    return ctx.op(
        "stablehlo.compare",
        [x, zero],
        [out],
        comparison_direction="#stablehlo<comparison_direction NE>",
    )


def convert(x: Any, dtype: Any, weak: bool = False) -> Any:
    """``x`` with this element type; ``x`` itself when it has it already."""
    if x.type.dtype == dtype and x.type.weak == weak:
        return x
    return ConvertElementType(dtype, weak)(x)
