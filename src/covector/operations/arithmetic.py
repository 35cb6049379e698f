"""Arithmetic: the four operations and the remainder.

Powers are in ``powers``, signs in ``magnitude``, maximum and minimum in ``extrema``.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, LinearMaps, Value, Values
from covector.core.primitive import Linear, Linearized, Operand, Primitive
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.accuracy import is_by_vectors, lower_by_vectors
from covector.operations.broadcasting import broadcast_like, unbroadcast
from covector.operations.families import Elementwise, broadcast_operands

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class Neg(Elementwise):
    """−x; unsigned integers wrap around."""

    hlo = "stablehlo.negate"
    on_host = staticmethod(np.negative)
    vectors = dtypes.MACHINE_NUMBERS

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [neg(cotangents[0])]


class Add(Elementwise):
    """x + y."""

    hlo = "stablehlo.add"
    adds = True
    on_host = staticmethod(np.add)
    vectors = dtypes.MACHINE_NUMBERS

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        out = self(x, y)

        def push(dx: Any, dy: Any) -> Sequence[Value | None]:
            if dx is None:
                return (broadcast_like(dy, out),)
            if dy is None:
                return (broadcast_like(dx, out),)
            return (self(dx, dy),)

        return (out,), push

    def transpose(
        self, cotangents: Values, x: Operand, y: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [unbroadcast(ct, a.type) if type(a) is Linear else None for a in (x, y)]


class Sub(Elementwise):
    """x − y."""

    hlo = "stablehlo.subtract"
    on_host = staticmethod(np.subtract)
    vectors = dtypes.MACHINE_NUMBERS

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        out = self(x, y)

        def push(dx: Any, dy: Value | None) -> Sequence[Value | None]:
            if dy is None:
                return (broadcast_like(dx, out),)
            if dx is None:
                return (broadcast_like(neg(dy), out),)
            return (self(dx, dy),)

        return (out,), push

    def transpose(
        self, cotangents: Values, x: Operand, y: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [
            unbroadcast(ct, x.type) if type(x) is Linear else None,
            neg(unbroadcast(ct, y.type)) if type(y) is Linear else None,
        ]


class Mul(Elementwise):
    """x · y."""

    linear_operands = ((0,), (1,))
    hlo = "stablehlo.multiply"
    on_host = staticmethod(np.multiply)
    vectors = dtypes.MACHINE_NUMBERS

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        def push(dx: Value | None, dy: Value | None) -> Sequence[Value | None]:
            if dy is None:
                return (self(dx, y),)
            if dx is None:
                return (self(x, dy),)
            return (sum_of_products(dx, y, dy, x),)

        return (self(x, y),), push

    def transpose(
        self, cotangents: Values, x: Operand, y: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        if type(x) is Linear:
            return [unbroadcast(self(ct, y), x.type), None]
        return [None, unbroadcast(self(ct, x), y.type)]


class SumOfProducts(Elementwise):
    """a · b + c · d, the tangent of a product as one operation; linear in a and c."""

    linear_operands = ((0, 2),)
    each = Work(flops=3)

    def on_host(
        self, a: HostArray, b: HostArray, c: HostArray, d: HostArray
    ) -> HostArray:
        return np.add(np.multiply(a, b), np.multiply(c, d))

    def written_out(self, types: Sequence[ArrayType]) -> Callable[..., Values]:
        return lambda a, b, c, d: [add(mul(a, b), mul(c, d))]

    def differential(
        self, out: Value, a: Value, b: Value, c: Value, d: Value
    ) -> LinearMaps:
        return [
            lambda da: broadcast_like(mul(da, b), out),
            lambda db: broadcast_like(mul(a, db), out),
            lambda dc: broadcast_like(mul(dc, d), out),
            lambda dd: broadcast_like(mul(c, dd), out),
        ]

    def transpose(
        self, cotangents: Values, a: Operand, b: Operand, c: Operand, d: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        return [
            unbroadcast(mul(ct, b), a.type) if type(a) is Linear else None,
            None,
            unbroadcast(mul(ct, d), c.type) if type(c) is Linear else None,
            None,
        ]

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        a, b, c, d = broadcast_operands(ctx, operands)
        left = ctx.op("stablehlo.multiply", [a, b])
        return ctx.op("stablehlo.add", [left, ctx.op("stablehlo.multiply", [c, d])])


class Div(Elementwise):
    """x / y. Of integers the quotient without its fraction, −7 / 2 = −3; x / 0 = −1.

    The smallest integer divided by −1 is itself.
    """

    hlo = "stablehlo.divide"
    vectors = dtypes.MACHINE_FLOATS
    divisor = 1
    linear_operands = ((0,),)

    def host_function(self, x: ArrayType, y: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        return np.divide if dtypes.is_floating(x.dtype) else self.on_host

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        if not dtypes.is_integer(x.dtype):
            out = np.divide(x, y)
            return _with_infinities(out, x, y) if x.dtype.kind == "c" else out
        quotient = np.floor_divide(x - np.fmod(x, y), y)
        return _unless_zero(y, quotient, ~x.dtype.type(0))

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        out = self(x, y)
        ratio = self(out, y) if active[1] else None
        # In reverse the sign comes last. Of a divisor that was broadcast, it is that of
        # a sum then, and not of each element.
        return (out,), pushforward(
            out, lambda dx: self(dx, y), lambda dy: mul(neg(dy), ratio)
        )

    def transpose(
        self, cotangents: Values, x: Operand, y: Operand
    ) -> Sequence[Value | None]:
        return [unbroadcast(self(cotangents[0], y), x.type), None]

    def linear_in(self, args: Sequence[Operand]) -> bool:
        return args[0].type.inexact and super().linear_in(args)


def _with_infinities(quotient: HostArray, x: HostArray, y: HostArray) -> HostArray:
    """Complex quotients as C99 has them (annex G.5.1): NumPy makes NaN of some that are
    infinite or zero, and forgets the sign of a divisor −0.
    """
    if np.isfinite(quotient).all():
        return quotient
    (a, b), (c, d) = [(v.real, v.imag) for v in (x, y)]

    def product(a: Any, b: Any, c: Any, d: Any) -> list[HostArray]:
        return [a * c + b * d, b * c - a * d]

    def ends(v: HostArray) -> HostArray:
        return np.copysign(np.isinf(v).astype(v.dtype), v)

    squares, infinity = c * c + d * d, np.copysign(np.inf, c)
    plain = [part / squares for part in product(a, b, c, d)]
    unknown = np.isnan(plain[0]) & np.isnan(plain[1])
    x_ends, y_ends = [np.isinf(v.real) | np.isinf(v.imag) for v in (x, y)]
    cases = [
        (y == 0, [infinity * a, infinity * b]),
        (
            unknown & x_ends & np.isfinite(y),
            [np.inf * part for part in product(ends(a), ends(b), c, d)],
        ),
        (
            unknown & np.isfinite(x) & y_ends,
            [0 * part for part in product(a, b, ends(c), ends(d))],
        ),
        (x_ends, plain),
    ]
    out, conditions = np.array(quotient), [condition for condition, _ in cases]
    out.real = np.select(conditions, [real for _, (real, _) in cases], np.real(out))
    out.imag = np.select(conditions, [imag for _, (_, imag) in cases], np.imag(out))
    return out


class Rem(Elementwise):
    """x − y · trunc(x / y), which has the sign of x. Of integers, x rem 0 = x.

    Moving y moves the result by −trunc(x / y); the jumps between have no derivative.
    """

    hlo = "stablehlo.remainder"
    divisor = 1
    accepts = staticmethod(dtypes.is_real)
    accepted = "real numbers"

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        if not dtypes.is_integer(x.dtype):
            return np.fmod(x, y)
        return _unless_zero(y, np.fmod(x, y), x)

    def of_elements(self, *types: ArrayType) -> Primitive | None:
        integers = dtypes.is_integer(types[0].dtype)
        return super().of_elements(*types) if integers else None  # as in ``ByVectors``

    def lower(self, ctx: "Lowering", x: HloValue, y: HloValue) -> HloResults:
        if is_by_vectors(ctx):
            return lower_by_vectors(ctx, "remainder", x, y)
        return super().lower(ctx, x, y)

    def linearize(self, active: Sequence[bool], x: Value, y: Value) -> Linearized:
        out = self(x, y)
        slope = div(sub(out, x), y) if active[1] else None
        return (out,), pushforward(out, lambda dx: dx, lambda dy: mul(dy, slope))


def _unless_zero(y: HostArray, value: HostArray, at_zero: HostArray) -> HostArray:
    """The value, but ``at_zero`` where y is 0."""
    zeros = np.equal(y, 0)
    return np.where(zeros, at_zero, value) if zeros.any() else value


neg, add, sub, mul, div, rem = Neg(), Add(), Sub(), Mul(), Div(), Rem()
sum_of_products = SumOfProducts()


def pushforward(
    out: Value, *maps: Callable[[Any], Any]
) -> Callable[..., Sequence[Any]]:
    """The pushforward of ``out``: the sum of each map of its tangent, or None."""

    def push(*tangents: Value | None) -> Sequence[Value | None]:
        total = None
        for tangent, linear in zip(tangents, maps, strict=True):
            if tangent is not None:
                change = broadcast_like(linear(tangent), out)
                total = change if total is None else add(total, change)
        return (total,)

    return push
