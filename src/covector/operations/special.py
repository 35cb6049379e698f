"""Error functions, gamma functions of one argument and their kin, as XLA has them.

The incomplete gamma and beta functions are in ``gamma`` and ``beta``.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.convert import scalar
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.lowering.spelling import HloResults, HloValue
from covector.operations import gamma_function, inverse_erf
from covector.operations.accuracy import is_by_vectors, lower_by_vectors
from covector.operations.arithmetic import mul, neg
from covector.operations.comparison import eq
from covector.operations.composite import Composite, number
from covector.operations.families import TRANSCENDENTAL, broadcast_operands
from covector.operations.partials import WithPartials
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.transcendental import exp

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements up to which a Python function of each is quicker than to compile
_FEW = 256


class Special(WithPartials):
    """A function of floats that XLA works out, in at least 32 bits."""

    each = TRANSCENDENTAL

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"
    host_limit = _FEW

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        full, (out,) = broadcast_operands(ctx, operands), ctx.out_types
        if out.dtype.itemsize >= 4:
            return ctx.op(self.hlo, full)
        type_ = out.with_dtype(dtypes.float32)
        wide = [ctx.op("stablehlo.convert", [x], [type_]) for x in full]
        return ctx.op("stablehlo.convert", [ctx.op(self.hlo, wide, [type_])])


def _by_element(function: Callable[[float], float]) -> Any:
    """A NumPy function from one of Python floats."""
    each = np.frompyfunc(function, 1, 1)

    def on_host(x: HostArray) -> HostArray:
        values = each(np.asarray(x, np.float64))
        return np.asarray(values, np.float64).astype(x.dtype)

    return staticmethod(on_host)


# -- error functions -------------------------------------------------------------------


class Erf(Special):
    """2/√π · ∫₀ˣ exp(−t²) dt."""

    hlo = "chlo.erf"
    on_host = _by_element(math.erf)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: 2 / math.sqrt(math.pi) * exp(neg(mul(x, x)))]


class Erfc(Special):
    """1 − erf(x), accurate where that is small."""

    hlo = "chlo.erfc"
    on_host = _by_element(math.erfc)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: -2 / math.sqrt(math.pi) * exp(neg(mul(x, x)))]


class ErfInv(Special):
    """The number with error function x: ±∞ of ±1, NaN of |x| > 1."""

    hlo = "chlo.erf_inv"
    on_host = staticmethod(inverse_erf.erf_inv)
    not_on_host = frozenset({dtypes.float64})
    host_limit = 8192

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: math.sqrt(math.pi) / 2 * exp(mul(out, out))]

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        if ctx.out_types[0].dtype == dtypes.float64:
            return ctx.through(lambda x: [inverse_erf.precise_erf_inv(x)], *operands)
        if is_by_vectors(ctx):
            return lower_by_vectors(
                ctx, "inverse_error_function", *operands, module="logarithms_on_cpu"
            )
        return super().lower(ctx, *operands)


erf, erfc, erf_inv = Erf(), Erfc(), ErfInv()


# -- the gamma function, its logarithm, and the derivatives of that --------------------


def _lgamma(x: float) -> float:
    if x <= 0 and x % 1 == 0:
        return math.inf
    if 0.5 < x < 3:  # where Python's own has no more digits than 1.0 has
        return gamma_function.log_gamma_near_zeros(x)
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


class Gamma(Composite):
    """Γ(x): ±∞ at ±0, NaN at whole x < 0 and at −∞. The derivative is Γ(x) ψ(x)."""

    def formula(self, x: Value) -> Value:
        return gamma_function.gamma(x)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: mul(out, digamma(x))]


class Lgamma(Composite):
    """log|Γ(x)|, infinite at whole x ≤ 0."""

    host_limit = _FEW
    on_host = _by_element(_lgamma)

    def formula(self, x: Value) -> Value:
        return gamma_function.log_gamma(x)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: digamma(x)]


class Digamma(Composite):
    """ψ(x) = Γ′(x) / Γ(x), NaN at whole x ≤ 0."""

    def formula(self, x: Value) -> Value:
        return gamma_function.digamma(x)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: polygamma(scalar(1, x.type.dtype), x)]


class Polygamma(Composite):
    """The derivative of order m of the digamma function at x, for whole m ≥ 0.

    It is (−1)ᵐ⁺¹ m! ζ(m + 1, x) for m > 0.
    """

    def formula(self, m: Value, x: Value) -> Value:
        zero, one = number(0, x), number(1, x)
        none = eq(m, zero)
        order, half = where(none, one, m), 0.5 * m
        value = gamma(order + 1) * zeta(order + 1, x)
        value = where(eq(half, floor(half)), neg(value), value)
        return where(none, digamma(x), value)

    def partials(self, out: Value, m: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: no_slope(self, "its order m", [m.type, x.type]),
            lambda: polygamma(m + 1, x),
        ]


class Zeta(Special):
    """ζ(s, q) = Σ 1/(k + q)ˢ over k ≥ 0, for s > 1; infinite at whole q ≤ 0."""

    hlo = "chlo.zeta"

    def partials(self, out: Value, s: Value, q: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: no_slope(self, "its exponent", [s.type, q.type]),
            lambda: neg(mul(s, zeta(s + 1, q))),
        ]


def no_slope(op: Any, operand: str, types: Sequence[ArrayType]) -> Any:
    """Raise: there is no formula for the derivative by this operand."""
    shown = ", ".join(map(str, types))
    raise NotDifferentiable(
        f"{op.name} of {shown} has no derivative by {operand}. If none is wanted, pass "
        "that operand through stop_gradient."
    )


gamma, lgamma, digamma = Gamma(), Lgamma(), Digamma()
polygamma, zeta = Polygamma(), Zeta()
