"""``LogAddExp``: log(eˣ + eʸ) without overflow."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, neg, sub
from covector.operations.bitwise import and_
from covector.operations.casting import convert
from covector.operations.comparison import eq, ge, ne
from covector.operations.complex import real
from covector.operations.extrema import max_
from covector.operations.families import widened
from covector.operations.logarithms import log1p
from covector.operations.magnitude import abs_
from covector.operations.partials import WithPartials
from covector.operations.selection import where
from covector.operations.transcendental import exp, logistic

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


class LogAddExp(WithPartials):
    """log(eˣ + eʸ) as a + log(1 + eᵇ⁻ᵃ), a ≥ b of x and y, where nothing overflows.

    ∂/∂x = 1 / (1 + eʸ⁻ˣ). Where both are one infinity, both are ½.
    """

    name = "logaddexp"
    not_on_host = WithPartials.not_on_host.union(dtypes.COMPLEX)
    accepts = staticmethod(dtypes.is_inexact)
    accepted = "floating-point or complex numbers"
    #: the larger one, the smaller one, their difference, which infinities need not
    #: have, and a sum
    each = Work(flops=3 + 5 + 1, transcendentals=2)

    def on_host(self, x: HostArray, y: HostArray) -> HostArray:
        return np.logaddexp(widened(x), widened(y)).astype(x.dtype, copy=False)

    def partials(self, out: Value, x: Value, y: Value) -> Sequence[Callable[[], Any]]:
        return [
            lambda: logistic(_difference(x, y)),
            lambda: logistic(_difference(y, x)),
        ]

    def lower(self, ctx: "Lowering", x: HloValue, y: HloValue) -> HloResults:
        return ctx.through(_log_sum, x, y)


def _log_sum(x: Value, y: Value) -> Sequence[Array]:
    dtype = x.type.dtype
    if dtypes.is_floating(dtype) and dtype.itemsize < dtypes.float32.itemsize:
        (wide,) = _log_sum(*[convert(v, dtypes.float32) for v in (x, y)])
        return [convert(wide, dtype)]
    if dtype != dtypes.float32:
        ranks = [real(v) if dtypes.is_complex(dtype) else v for v in (x, y)]
        x_is_first = ge(*ranks)
        high, low = where(x_is_first, x, y), where(x_is_first, y, x)
        return [add(high, log1p(exp(_difference(low, high))))]
    distance = where(eq(x, y), scalar(0, dtype), abs_(sub(x, y)))  # also of infinities
    u = exp(neg(distance))
    return [add(max_(x, y), _log1p(u))]


def _log1p(u: Value) -> Value:
    """log(1 + u) of 0 ≤ u ≤ 1 in float32, within 1.6 units in the last place. Of any u,
    XLA computes two formulas, of which one holds.
    """
    # Not all programs need it.
    from covector.operations.chebyshev import interpolated, polynomial  # noqa: PLC0415

    second = interpolated(lambda u: (np.log1p(u) - u) / u**2, 10, 0, 1)
    return u + u * u * polynomial(second, u)


def _difference(x: Value, y: Value) -> Value:
    """The difference x − y, which is 0 where both are the same infinity."""
    difference = sub(x, y)
    same = and_(eq(x, y), ne(difference, difference))
    return where(same, scalar(0, x.type.dtype), difference)


logaddexp = LogAddExp()
