"""``Pow``, ``IntegerPow`` and ``Square``; roots and exponentials are elsewhere."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, LinearMaps, Value
from covector.core.convert import scalar
from covector.core.jaxpr import Var
from covector.core.primitive import operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.accuracy import ByVectors
from covector.operations.arithmetic import div, mul, neg, sub
from covector.operations.bitwise import and_, or_, shift_right_logical
from covector.operations.casting import convert
from covector.operations.comparison import eq, gt, lt
from covector.operations.complex import real
from covector.operations.families import Elementwise
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_
from covector.operations.partials import WithPartials
from covector.operations.roots import sqrt
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


#: exponents of which the power is formed by the root, and the dtypes
_HALVES = frozenset({-1.5, -0.5, 0.5, 1.5, 2.5})
_EXACT_ROOTS = frozenset({dtypes.float32, dtypes.float64})


class Pow(ByVectors, WithPartials):
    """xʸ. The exponent has the element type of x, or any integer type if x is inexact.

    Of real x < 0 the power is NaN unless y is a whole number; x⁰ is 1 for every x. Of
    integers with y < 0 it is 0, except that ±1 keep their powers.

    ∂xʸ/∂x = y·xʸ⁻¹ is 0 where y = 0, also at x = 0; ∂xʸ/∂y = xʸ·log x is 0 where x = 0
    and y > 0, and NaN where x < 0.
    """

    hlo = "stablehlo.power"
    on_cpu = "power"
    # NumPy's complex powers of infinity are others than the compiled program's.
    not_on_host = WithPartials.not_on_host.union(dtypes.COMPLEX)

    def type_rule(self, x: ArrayType, y: ArrayType) -> Sequence[ArrayType]:
        if dtypes.is_integer(y.dtype) and dtypes.is_inexact(x.dtype):
            y = y.with_dtype(x.dtype, y.weak)
        return super().type_rule(x, y)

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        if not dtypes.is_integer(x.dtype):
            return _power_on_host(x, y.astype(x.dtype, copy=False))
        if dtypes.is_unsigned(x.dtype):
            return np.power(x, y)
        zero, one = np.asarray(0, x.dtype), np.asarray(1, x.dtype)
        positive = np.power(x, np.where(y < 0, y & one, y))  # of ±1, parity is enough
        return np.where((y < 0) & (np.abs(x) != one), zero, positive)

    def partials(self, out: Value, x: Value, y: Value) -> Sequence[Callable[[], Any]]:
        zero, one = (scalar(n, y.type.dtype) for n in (0, 1))

        def of_base() -> Any:
            # With exponent 0 instead of −1 where y = 0, nothing here is infinite there.
            less = sub(where(eq(y, zero), one, y), one)
            return mul(convert(y, x.type.dtype), power(x, less))

        def of_exponent() -> Any:
            at_zero = eq(x, scalar(0, x.type.dtype))
            return mul(out, log(where(at_zero, scalar(1, x.type.dtype), x)))

        return [of_base, of_exponent]

    def lower(self, ctx: "Lowering", x: HloValue, y: HloValue) -> HloResults:
        base, exponent = ctx.in_types
        if dtypes.is_integer(base.dtype):
            return ctx.through(_power_of_integers, x, y)
        if exponent.dtype != base.dtype:
            return ctx.through(_power_of_inexact, x, y)
        if base.dtype in _EXACT_ROOTS and (halves := _half(ctx.equation.inputs[1])):
            return ctx.through(lambda x, _: [_half_power(x, halves)], x, y)
        out = super().lower(ctx, x, y)
        if dtypes.is_floating(base.dtype):
            return out
        vanishes = ctx.through(_vanishes, x, y)
        zero = ctx.constant(0, ctx.out_types[0])
        return ctx.op("stablehlo.select", [*vanishes, zero, out])


def _power_on_host(x: HostArray, y: HostArray) -> HostArray:
    """xʸ. Of one exponent ½ NumPy takes the root, which differs at −0 and −∞."""
    if y.ndim or y != 0.5:
        return np.power(x, y)
    exponents = np.full(x.shape or (1,), y)
    return np.power(x.reshape(exponents.shape), exponents).reshape(x.shape)


def _half(exponent: Any) -> float | None:
    """An exponent that is known and the half of a small odd number."""
    if type(exponent) is Var or exponent.type.shape:
        return None
    value = float(np.asarray(exponent))
    return value if value in _HALVES else None


def _half_power(x: Value, y: float) -> Value:
    """xʸ by the root: right to 2 units in the last place."""
    dtype = x.type.dtype
    inf, zero, one, nan = [scalar(n, dtype) for n in (np.inf, 0, 1, np.nan)]
    # The powers of −∞ and −0 are those of ∞ and 0.
    x = where(lt(x, zero), where(eq(x, neg(inf)), inf, nan), abs_(x))
    root = sqrt(x)
    if y == -1.5 and dtype is dtypes.float32:
        # In 64 bits, for the product is out of range where its inverse is not.
        x, root, one = [convert(v, dtypes.float64) for v in (x, root, one)]
        return convert(div(one, mul(x, root)), dtype)
    if y < 0:
        inverse = div(one, root)
        return inverse if y == -0.5 else div(inverse, x)
    for _ in range(int(y)):
        root = mul(x, root)
    return root


def _power_of_inexact(x: Value, y: Value) -> list[Value]:
    """xʸ with an exponent of another element type."""
    return [power(x, convert(y, x.type.dtype))]


def _vanishes(x: Value, y: Value) -> list[Value]:
    """The mask of zeros raised to a complex power with a positive real part."""
    real_part = real(y)
    positive = gt(real_part, scalar(0, real_part.type.dtype))
    return [and_(eq(x, scalar(0, x.type.dtype)), positive)]


def _power_of_integers(x: Value, y: Value) -> list[Value]:
    """xʸ by squaring, for each bit of y; StableHLO's own looks at six bits only."""
    dtype = x.type.dtype
    zero, one = scalar(0, dtype), scalar(1, dtype)
    product, square_ = one, x
    for k in range(8 * dtype.itemsize - dtypes.is_signed(dtype)):
        bit = and_(shift_right_logical(y, scalar(k, dtype)), one)
        product = where(eq(bit, one), mul(product, square_), product)
        square_ = mul(square_, square_)
    if dtypes.is_unsigned(dtype):
        return [product]
    unit = or_(eq(x, one), eq(x, neg(one)))
    odd = eq(and_(y, one), one)
    inverse = where(unit, where(odd, x, one), zero)
    return [where(lt(y, zero), inverse, product)]


@operation
class IntegerPow(Elementwise):
    """xⁿ for a known whole number n, by repeated multiplication; x⁰ = 1, also of 0."""

    y: int

    vectors = dtypes.MACHINE_NUMBERS

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if self.y < 0 and dtypes.is_integer(x.dtype):
            raise DTypeError(
                f"integer_pow of {x} needs an exponent that is not negative, but got "
                f"{self.y}: the result would not be whole. Convert it to a float first."
            )
        return super().type_rule(x)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        return np.square if self.y == 2 else self.on_host

    def on_host(self, x: HostArray) -> HostArray:
        if self.y == 0:
            return np.ones_like(x)
        power = _repeated(x, abs(self.y), np.multiply)
        return power if self.y > 0 else np.reciprocal(power)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        if self.y == 0:
            return [None]
        slope = x if self.y == 2 else IntegerPow(self.y - 1)(x)
        slope = mul(slope, scalar(self.y, x.type.dtype))
        return [lambda dx: mul(dx, slope)]

    @property
    def each(self) -> Work:  # type: ignore[override]
        """The multiplications, and the division of a negative power."""
        n = abs(self.y)
        return Work(max(n.bit_length() + n.bit_count() - 2, 0) + (self.y < 0))

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        def multiply(a: HloValue, b: HloValue) -> HloValue:
            return ctx.op("stablehlo.multiply", [a, b])

        if self.y > 0:
            return _repeated(x, self.y, multiply)
        one = ctx.constant(1, ctx.out_types[0])
        if self.y == 0:
            return one
        return ctx.op("stablehlo.divide", [one, _repeated(x, -self.y, multiply)])


def _repeated(x: Any, n: int, multiply: Callable[[Any, Any], Any]) -> Any:
    """xⁿ by squaring, n > 0: the product of x^(2ᵏ) over the bits k set in n."""
    product = None
    while True:
        if n & 1:
            product = x if product is None else multiply(product, x)
        n >>= 1
        if not n:
            return product
        x = multiply(x, x)


class Square(Elementwise):
    """x²."""

    on_host = staticmethod(np.square)
    vectors = dtypes.MACHINE_NUMBERS

    def differential(self, out: Value, x: Value) -> LinearMaps:
        slope = x + x
        return [lambda dx: mul(dx, slope)]

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.multiply", [x, x])


power, square = Pow(), Square()
