"""Comparisons and ``is_finite``; the results are bools.

Complex numbers are ordered by their real parts and then by their imaginary parts, as in
NumPy. Nothing here has a derivative.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, HostArray, LinearMaps, Value
from covector.core.types import ArrayType
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.wide_keys import halves
from covector.operations.families import Elementwise, broadcast_operands, widened

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Predicate(Elementwise):
    """An elementwise question."""

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        (out,) = super().type_rule(*types)
        return (ArrayType(out.shape, dtypes.bool_),)

    def differential(self, out: Value, *operands: Value) -> LinearMaps:
        return [None] * len(operands)


class IsFinite(Predicate):
    """Whether x is neither infinite nor NaN."""

    hlo = "stablehlo.is_finite"
    on_host = staticmethod(np.isfinite)
    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"


def _is_number_or_bool(dtype: DType) -> bool:
    return dtypes.is_numeric(dtype) or dtypes.is_bool(dtype)


def _has_equality(dtype: DType) -> bool:
    return _is_number_or_bool(dtype) or dtypes.is_key(dtype)


class Comparison(Predicate):
    """One of the six relations. NaN is unequal to all and in order with none."""

    direction: str = ""
    vectors = dtypes.MACHINE_NUMBERS
    accepts = staticmethod(_is_number_or_bool)
    accepted = "numbers or bools"

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        x, y = broadcast_operands(ctx, operands)
        dtype = ctx.in_types[0].dtype
        if dtypes.is_complex(dtype) and self.direction not in ("EQ", "NE"):
            part = ctx.out_types[0].with_dtype(dtypes.real_part(dtype))
            return _lexicographic(ctx, self.direction, x, y, part)
        return _compare(ctx, self.direction, x, y)


def _compare(
    ctx: "Lowering", direction: str, x: HloValue, y: HloValue, **attributes: Any
) -> HloValue:
    return ctx.op(
        "stablehlo.compare",
        [x, y],
        comparison_direction=f"#stablehlo<comparison_direction {direction}>",
        **attributes,
    )


def _lexicographic(
    ctx: "Lowering", direction: str, x: HloValue, y: HloValue, part: ArrayType
) -> HloValue:
    """Order by real parts, unless a part is NaN, and where equal by imaginary parts."""

    def both(a: HloValue, b: HloValue) -> HloValue:
        return ctx.op("stablehlo.and", [a, b])

    (xr, xi), (yr, yi) = [
        [ctx.op(f"stablehlo.{name}", [z], [part]) for name in ("real", "imag")]
        for z in (x, y)
    ]
    known = both(_compare(ctx, "EQ", xi, xi), _compare(ctx, "EQ", yi, yi))
    by_real = both(_compare(ctx, direction[0] + "T", xr, yr), known)
    by_imag = both(_compare(ctx, "EQ", xr, yr), _compare(ctx, direction, xi, yi))
    return ctx.op("stablehlo.or", [by_real, by_imag])


class Equality(Comparison):
    """Whether operands are the same; of random keys as well."""

    #: what tells of the halves of keys whether they are the same
    of_halves = "stablehlo.and"
    accepts = staticmethod(_has_equality)
    accepted = "numbers, bools or keys"

    def is_same_on_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        # In NumPy a key of 128 bits is a complex number, which may be a NaN.
        wide = dtypes.is_wide_key(types[0].dtype)
        return not wide and super().is_same_on_host(types, outs)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        kind = ctx.in_types[0]
        if not dtypes.is_wide_key(kind.dtype):
            return super().lower(ctx, *operands)
        kind = ctx.out_types[0].with_dtype(kind.dtype)
        x, y = [halves(ctx, o, kind) for o in broadcast_operands(ctx, operands)]
        found = [
            _compare(ctx, self.direction, *pair) for pair in zip(x, y, strict=True)
        ]
        return ctx.op(self.of_halves, found)


class Eq(Equality):
    """x = y."""

    direction = "EQ"
    on_host = staticmethod(np.equal)


class Ne(Equality):
    """x ≠ y."""

    direction = "NE"
    of_halves = "stablehlo.or"
    on_host = staticmethod(np.not_equal)


class Lt(Comparison):
    """x < y."""

    direction = "LT"
    on_host = staticmethod(np.less)


class Le(Comparison):
    """x ≤ y."""

    direction = "LE"
    on_host = staticmethod(np.less_equal)


class Gt(Comparison):
    """x > y."""

    direction = "GT"
    on_host = staticmethod(np.greater)


class Ge(Comparison):
    """x ≥ y."""

    direction = "GE"
    on_host = staticmethod(np.greater_equal)


eq, ne, lt, le, gt, ge = Eq(), Ne(), Lt(), Le(), Gt(), Ge()
is_finite = IsFinite()


# -- total order -----------------------------------------------------------------------


def _is_real_or_bool(dtype: DType) -> bool:
    return dtypes.is_real(dtype) or dtypes.is_bool(dtype)


class TotalOrder(Predicate):
    """A relation in the order −NaN < −∞ < … < −0 < 0 < … < ∞ < NaN, NaNs by their bits.

    No two floats of different bits are equal in it. Of integers it is the usual order.
    """

    direction: str = ""
    accepts = staticmethod(_is_real_or_bool)
    accepted = "real numbers or bools"

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        x, y = broadcast_operands(ctx, operands)
        if not dtypes.is_floating(ctx.in_types[0].dtype):
            return _compare(ctx, self.direction, x, y)
        kind = "#stablehlo<comparison_type TOTALORDER>"
        return _compare(ctx, self.direction, x, y, compare_type=kind)


def _rank(x: HostArray) -> HostArray:
    """Integers in the total order of x: the bits, those of negative floats reversed."""
    if not dtypes.is_floating(x.dtype):
        return x
    x = np.asarray(widened(x))
    width = 8 * x.dtype.itemsize
    bits = x.view(f"i{x.dtype.itemsize}")
    return bits ^ ((bits >> (width - 1)) & np.asarray(2 ** (width - 1) - 1, bits.dtype))


class EqTo(TotalOrder):
    """x = y in the total order."""

    direction = "EQ"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.equal(_rank(x), _rank(y))


class LtTo(TotalOrder):
    """x < y in the total order."""

    direction = "LT"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.less(_rank(x), _rank(y))


class LeTo(TotalOrder):
    """x ≤ y in the total order."""

    direction = "LE"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.less_equal(_rank(x), _rank(y))


eq_to, lt_to, le_to = EqTo(), LtTo(), LeTo()
