"""Exponential integrals: E₁, Ei and Eₙ of real numbers.

    E₁(x) = ∫ₓ^∞ e⁻ᵗ/t dt          Ei(x) = −E₁(−x), by its principal value for x > 0
    Eₙ(x) = ∫₁^∞ e⁻ˣᵗ/tⁿ dt

E₁ and Ei are sums of Chebyshev polynomials, computed in 45 digits, in pieces that are
those of W. Cody and H. Thacher (Chebyshev approximations for the exponential integral
Ei(x), Math. Comp. 23, 1969).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.operations.arithmetic import neg
from covector.operations.bitwise import and_, not_, or_
from covector.operations.chebyshev import chebyshev
from covector.operations.comparison import eq, ge, gt, lt
from covector.operations.composite import Composite, number
from covector.operations.extrema import max_, min_
from covector.operations.logarithms import log, log1p
from covector.operations.magnitude import abs_
from covector.operations.quadrature import integral
from covector.operations.roots import rsqrt
from covector.operations.rounding import floor
from covector.operations.selection import where
from covector.operations.special import digamma, lgamma, no_slope
from covector.operations.transcendental import exp

_NEAR = (
    0.8929826881663436, -0.101460888300299, 0.00530781119573653,
    -0.00023899597694710021, 9.290769396383831e-06, -3.1581738828230066e-07,
    9.510775521324008e-09, -2.566991224055996e-10, 6.27159499700903e-12,
    -1.3988053416635327e-13, 2.8688702680848184e-15, -5.4444045385000516e-17,
)  # fmt: skip
_FAR = (
    1.062421314003848, -0.08944777529480638, 0.03222061478411663, -0.006518167587486157,
    0.001611314851549377, -0.0003594868087875015, 8.862874184420737e-05,
    -2.0625566630531385e-05, 5.1576212554409544e-06, -1.22711726684983e-06,
    3.11648295271518e-07, -7.496825491634816e-08, 1.9357534171666858e-08,
    -4.666217911489796e-09, 1.229393484958032e-09, -2.93907622725768e-10,
    7.968684924923627e-11, -1.8593177613431917e-11, 5.281854779201032e-12,
    -1.167816170637905e-12, 3.6075565391325085e-13, -7.11168548180311e-14,
    2.5830223544952705e-14, -3.9420092837314214e-15, 2.0008610101956586e-15,
    -1.5334672626287945e-16, 1.754471133339312e-16, 6.011706820396549e-18,
    1.8150784726912067e-17,
)  # fmt: skip
_BESIDE_ZERO = (
    5.257958226943482, 6.004639395661629, 2.469688170948231, 0.7902956029932626,
    0.2071548491532639, 0.04602682604407321, 0.008880237057344323,
    0.0015146911094885722, 0.00023159134968734474, 3.2092485124027427e-05,
    4.066921310320624e-06, 4.748419512679941e-07, 5.140302084703391e-08,
    5.187110649842181e-09, 4.902148216697985e-10, 4.356558086355594e-11,
    3.6539244499196015e-12, 2.901505315385807e-13, 2.1876473555324577e-14,
    1.5701440360230516e-15, 1.0752799606371169e-16,
)  # fmt: skip
_TO_12 = (
    1.186519731605943, 0.08867277799156566, 0.004538849615854891,
    -0.0007360917133533506, -0.0001311802094421383, 1.860281858277769e-05,
    1.7610424153850599e-06, -6.410426692376372e-07, 4.3431190977401596e-08,
    9.457713014017885e-09, -2.804867660824966e-09, 2.9077513809389464e-10,
    1.5005396668585005e-11, -1.1038674953026538e-11, 2.0752769575841014e-12,
    -1.824894014255641e-13, -1.3060424323093775e-14, 8.22817443438954e-15,
    -1.7064640854405607e-15, 2.0895115006185691e-16, -6.96952388785186e-18,
)  # fmt: skip
_TO_24 = (
    1.0733284937260361, 0.028589376984320986, 0.0009877354599019657,
    6.535142674684368e-05, 4.080867437625506e-06, -3.589926611838061e-07,
    -1.3445734356897559e-07, -3.096554001036047e-09, 2.9939580378560676e-09,
    6.636901195446687e-11, -7.580298873512545e-11, 2.91093271006445e-12,
    1.6949183480316525e-12, -2.4843531143767757e-13, -1.4921371160913075e-14,
    8.569592517547666e-15, -8.552327771250706e-16, -9.567382338710219e-17,
    3.92278471915959e-17,
)  # fmt: skip
_BEYOND_24 = (
    1.0222957360954668, 0.022812793514753286, 0.0005360936928493524,
    2.0034094292122614e-05, 1.0686092350144287e-06, 7.746060698591084e-08,
    7.504513851387549e-09, 9.65386432321799e-10, 1.5701407029249868e-10,
    2.779058341161681e-11, 3.828483997307224e-12, -1.9274603059481113e-13,
    -3.984438522784285e-13, -1.5561943489863476e-13, -2.6325433913268538e-14,
    5.119012243843834e-15, 4.450825135967824e-15, 8.977579029888121e-16,
    -2.2282754984589544e-16, -1.6452081405038015e-16, -1.5179371674871094e-17,
    1.6736756138129383e-17, 5.4633715506034455e-18,
)  # fmt: skip
#: the zero of Ei, to 24 bits, and what is left of it
_ZERO = (0.3725074231624603, -1.2381093692686445e-08)
_EULER = 0.5772156649015329


class Exp1(Composite):
    """E₁(x) for x ≥ 0, NaN below. The derivative is −e⁻ˣ/x."""

    def formula(self, x: Value) -> Value:
        value = exponential_integral(max_(x, number(0, x)))
        return where(lt(x, number(0, x)), number(math.nan, x), value)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: neg(exp(neg(x))) / x]


def exponential_integral(x: Value) -> Value:
    """E₁(x) for x ≥ 0."""
    one = number(1, x)
    small = lt(x, one)
    inner, outer = where(small, x, one), where(small, one, x)
    near = inner * chebyshev(_NEAR, 2 * inner - 1) - log(inner) - _EULER
    far = exp(neg(outer)) * (chebyshev(_FAR, 1 - 6 / (outer + 2)) / (outer + 1))
    return where(small, near, far)


class Expi(Composite):
    """Ei(x): −∞ at 0. The derivative is eˣ/x."""

    def formula(self, x: Value) -> Value:
        one = number(1, x)
        positive = gt(x, number(0, x))
        left = neg(exponential_integral(where(positive, one, neg(x))))
        return where(positive, _expi_of_positive(where(positive, x, one)), left)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: exp(x) / x]


def _expi_of_positive(x: Value) -> Value:
    """Ei(x) for x > 0."""
    six, inverse = number(6, x), 1 / max_(x, number(6, x))
    inner = min_(x, six)
    # log(x / r) + (x − r) g(x), in which nothing cancels near the zero r.
    excess = (inner - _ZERO[0]) / sum(_ZERO) - _ZERO[1] / sum(_ZERO)
    close = lt(abs_(excess), number(0.5, x))
    near = log1p(where(close, excess, number(0, x)))
    near = where(close, near, log(inner / sum(_ZERO)))
    near = near + sum(_ZERO) * excess * chebyshev(_BESIDE_ZERO, inner / 3 - 1)
    # x e⁻ˣ Ei(x) in 1/x, and e^{x/2} twice, which overflows when the value does.
    factor = chebyshev(_BEYOND_24, min_(48 * inverse - 1, number(1, x)))
    to_24 = chebyshev(_TO_24, min_(max_(48 * inverse - 3, number(-1, x)), number(1, x)))
    to_12 = chebyshev(_TO_12, max_(24 * inverse - 3, number(-1, x)))
    factor = where(
        gt(x, number(24, x)), factor, where(gt(x, number(12, x)), to_24, to_12)
    )
    half = exp(0.5 * x)
    far = where(eq(inverse, number(0, x)), x, half * (factor * inverse) * half)
    return where(lt(x, six), near, far)


class Expn(Composite):
    """Eₙ(x) for whole n ≥ 0 and x ≥ 0, NaN elsewhere. ∂/∂x = −Eₙ₋₁(x).

    For n ≥ 2 it is integrated where x ≥ 1, with t = 1 + s, and elsewhere summed (NIST
    Handbook of Mathematical Functions, 8.19.8).
    """

    def formula(self, n: Value, x: Value) -> Value:
        zero, one, two = (number(k, x) for k in (0, 1, 2))
        order, inside = max_(n, two), and_(ge(x, zero), lt(x, number(math.inf, x)))
        point = where(inside, x, one)
        far = exp(neg(point)) * _integral(order, max_(point, one))
        value = where(lt(point, one), _series(order, min_(point, one)), far)
        value = where(eq(n, one), exponential_integral(point), value)
        value = where(eq(n, zero), exp(neg(point)) / point, value)
        outside = or_(lt(x, zero), lt(n, zero))
        value = where(inside, value, zero)
        known = and_(eq(x, x), eq(n, n))
        return where(and_(known, not_(outside)), value, number(math.nan, x))

    def partials(self, out: Value, n: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            none = eq(n, number(0, x))
            lower = expn(where(none, number(2, x), n - 1), x)
            return where(none, neg(out) * (1 + 1 / x), neg(lower))

        return [lambda: no_slope(self, "its order n", [n.type, x.type]), slope]


def _integral(n: Value, x: Value) -> Value:
    """∫₀^∞ exp(−x s) (1 + s)⁻ⁿ ds for x ≥ 1, which is eˣ Eₙ(x)."""
    # Between the scale of the beginning, 1/(x + n), and that of the end, 1/x.
    scale = rsqrt(x * (x + n - 1))

    def falling(s: Value, n: Value, x: Value, scale: Value) -> Value:
        s = s * scale
        return exp(neg(x * s + n * log1p(s)))

    return scale * integral(falling, n, x, scale)


def _series(n: Value, x: Value) -> Value:
    """Eₙ(x) for 0 ≤ x ≤ 1 and n ≥ 2.

    (−x)ⁿ⁻¹/(n−1)! (ψ(n) − log x) − Σ (−x)ᵐ/((m + 1 − n) m!) over all other m ≥ 0.
    """
    order, zero = n - 1, number(0, x)
    total, factor = zero, number(1, x)
    for m in range(20):
        alone = eq(order, number(m, x))
        divisor = where(alone, number(1, x), m - order)
        total = total - where(alone, zero, factor / divisor)
        factor = factor * neg(x) / (m + 1)
    safe = where(eq(x, zero), number(1, x), x)
    size = exp(order * log(safe) - lgamma(n)) * (digamma(n) - log(safe))
    odd = eq(order - 2 * floor(0.5 * order), number(1, x))
    single = where(odd, neg(size), size)
    return total + where(eq(x, zero), zero, single)


exp1, expi, expn = Exp1(), Expi(), Expn()
