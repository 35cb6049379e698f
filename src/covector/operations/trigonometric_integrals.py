"""Integrals of oscillating functions: sine and cosine integrals, Fresnel's.

    Si(x) = ∫₀ˣ sin t/t dt           Ci(x) = γ + log x + ∫₀ˣ (cos t − 1)/t dt
    S(x) = ∫₀ˣ sin(πt²/2) dt         C(x) = ∫₀ˣ cos(πt²/2) dt

Near 0 they are smooth; far out they are what they tend to, and a slowly varying f times
the sine of a phase, and g times its cosine (NIST Handbook of Mathematical Functions,
6.2(iii), 7.2(iv)). All are sums of Chebyshev polynomials, computed in 45 digits.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.operations.arithmetic import mul, rem
from covector.operations.casting import ReducePrecision
from covector.operations.chebyshev import chebyshev, polynomial
from covector.operations.comparison import eq, lt
from covector.operations.composite import Composite, number
from covector.operations.extrema import min_
from covector.operations.gamma_function import sin_pi
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_, sign
from covector.operations.selection import where
from covector.operations.transcendental import cos, sin

_SI = (
    0.684217670090758, -0.2776578526973602, 0.03544140548666592, -0.0025631631447933976,
    0.00011623653904970093, -3.5904327241606043e-06, 8.023421237057102e-08,
    -1.3562997692540251e-09, 1.7944072159973677e-11, -1.9083873430871455e-13,
    1.6669989586824331e-15, -1.2173098836850304e-17,
)  # fmt: skip
_CI = (
    -0.18537250875454844, 0.058935748963644466, -0.005381896421135691,
    0.00029860052841962137, -1.09557257532162e-05, 2.840545487734663e-07,
    -5.469739948753849e-09, 8.124187461318157e-11, -9.58685931177066e-13,
    9.20266004392351e-15, -7.325887999017895e-17,
)  # fmt: skip
_F = (
    0.9656044413080099, 0.04013000026983878, -0.006907738579648009,
    0.0014160931078934075, -0.00029630128074145803, 6.527336314879136e-05,
    -1.4467166309759915e-05, 3.309620207949803e-06, -7.548149040202896e-07,
    1.77148706076125e-07, -4.0998499319164884e-08, 9.841372002178434e-09,
    -2.2829634878287226e-09, 5.639827607573965e-10, -1.2843191553116397e-10,
    3.350331029822198e-11, -7.100776030970503e-12, 2.120559198724355e-12,
    -3.5213135371524997e-13, 1.5470797434762387e-13, -8.189733823384048e-15,
    1.5029422382751484e-14, 2.147723890148184e-15, 2.136197682176821e-15,
    7.107700984693078e-16, 4.082020559206991e-16, 1.7859789339951338e-16,
    9.154641871531805e-17, 4.413431961422521e-17, 2.2359996518870308e-17,
    1.1251483189859865e-17, 5.778049323999351e-18,
)  # fmt: skip
_G = (
    0.9109022326524667, 0.09995120324743476, -0.012996044833023726,
    0.0025203021045775123, -0.0004603774651045861, 9.85311497667379e-05,
    -1.9607686123444407e-05, 4.482185171069198e-06, -9.1182749478219e-07,
    2.2363064794181283e-07, -4.396777841497923e-08, 1.2130754205651504e-08,
    -2.0543196904490748e-09, 7.399521951781262e-10, -7.331451047352069e-11,
    5.5620479487814776e-11, 2.2640651776360313e-12, 5.782020327780537e-12,
    1.2897097977039504e-12, 8.420444204544258e-13, 3.054050664333988e-13,
    1.5470927689916818e-13, 6.723710941712874e-14, 3.247958657036681e-14,
    1.5218558082853276e-14, 7.410115751792164e-15, 3.615634759307656e-15,
    1.7982829683887547e-15, 9.030112629302974e-16, 4.595096075802626e-16,
    2.3631285603775684e-16, 1.2287808207658513e-16, 6.453971983062444e-17,
    3.4232771848124764e-17, 1.832676460242313e-17, 9.899332905732282e-18,
    5.3930055484356545e-18,
)  # fmt: skip
_C_NEAR = (
    0.34000378753284183, -0.21463555314242846, 0.15086068597273897,
    -0.16275298115965597, 0.09439188697085799, -0.030258674844348032,
    0.006136259345258138, -0.0008630100768587364, 8.952601506384834e-05,
    -7.155197218935395e-06, 4.5507060807857273e-07, -2.3613846621675632e-08,
    1.0198188673971249e-09, -3.7256112709362435e-11, 1.1669697174334323e-12,
    -3.170123708177304e-14, 7.542382946843456e-16, -1.5850932611248597e-17,
)  # fmt: skip
_S_NEAR = (
    0.13731418077153454, -0.16960110942188242, 0.11972244946441143,
    -0.06682747887872158, 0.02369897694891726, -0.0054552598760263605,
    0.0008685834651337593, -0.00010109296316378186, 8.977617585237801e-06,
    -6.288000115046214e-07, 3.565188007583185e-08, -1.6709016343051067e-09,
    6.584983337650556e-11, -2.21355991286889e-12, 6.423967722207285e-14,
    -1.6262360081997799e-15, 3.623474949675941e-17, -7.162016873195094e-19,
)  # fmt: skip
_FRESNEL_F = (
    0.9963328957401564, -0.003598309670657881, 6.571370067989755e-05,
    -2.8536780198887793e-06, 2.0392432873227112e-07, -2.0266109330631773e-08,
    2.552087597911368e-09, -3.845541164875694e-10, 6.675316364065206e-11,
    -1.2999222228183651e-11, 2.7854753661035737e-12, -6.472837551675955e-13,
    1.6129097288670446e-13, -4.271416785005461e-14, 1.1935909122483213e-14,
    -3.4986337790445387e-15, 1.0704597151201907e-15, -3.4046904742558257e-16,
    1.1217459941997248e-16, -3.8168960882542417e-17, 1.3377953507119546e-17,
)  # fmt: skip
_FRESNEL_G = (
    0.982434032233484, -0.01700279800137119, 0.0005287544471589305,
    -3.1278400741370834e-05, 2.7605485861992255e-06, -3.211089249673797e-07,
    4.578135622392606e-08, -7.637872578693759e-09, 1.4448487265855392e-09,
    -3.0303289556955057e-10, 6.930478759520513e-11, -1.7066500942834794e-11,
    4.480592314031894e-12, -1.2442427970638398e-12, 3.6313309725247755e-13,
    -1.1079432976543775e-13, 3.51833687037071e-14, -1.1585086601591264e-14,
    3.942881111955888e-15, -1.3831925795114216e-15, 4.989590813819003e-16,
    -1.8469233353862457e-16, 7.002143639625525e-17, -2.714557595751917e-17,
    1.0745287759496682e-17,
)  # fmt: skip
_EULER = 0.5772156649015329
#: of sin y / y in y², enough for |y| ≤ 1 and the derivatives there
_SINC = [(-1) ** k / math.factorial(2 * k + 1) for k in range(12)]


class Si(Composite):
    """∫₀ˣ sin t/t dt, ±π/2 at ±∞. The derivative is sin x / x."""

    def formula(self, x: Value) -> Value:
        near, inner, outer = _split(x, 4)
        value = inner * chebyshev(_SI, inner * inner / 8 - 1)
        f, g = _sine_parts(outer)
        far = 0.5 * math.pi - f * cos(outer) - g * sin(outer)
        far = where(eq(outer, number(math.inf, x)), number(0.5 * math.pi, x), far)
        return _odd(x, where(near, value, far))

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        def slope() -> Any:
            small = lt(abs_(x), number(1, x))
            inner, outer = where(small, x, number(0, x)), where(small, number(1, x), x)
            series = polynomial(_SINC, mul(inner, inner))
            return where(small, series, sin(outer) / outer)

        return [slope]


class Ci(Composite):
    """γ + log|x| + ∫₀ˣ (cos t − 1)/t dt: −∞ at 0. The derivative is cos x / x."""

    def formula(self, x: Value) -> Value:
        near, inner, outer = _split(x, 4)
        square = inner * inner
        value = _EULER + log(inner) + square * chebyshev(_CI, square / 8 - 1)
        f, g = _sine_parts(outer)
        far = f * sin(outer) - g * cos(outer)
        far = where(eq(outer, number(math.inf, x)), number(0, x), far)
        return where(near, value, far)

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: cos(x) / x]


def _split(x: Value, bound: float) -> tuple[Any, Any, Any]:
    """Whether |x| is below a bound; |x| where it is and where it is not."""
    size, edge = abs_(x), number(bound, x)
    near = lt(size, edge)
    return near, where(near, size, edge), where(near, edge, size)


def _odd(x: Value, value: Value) -> Any:
    """An odd function of x, of which ``value`` is that of |x|."""
    return where(eq(x, number(0, x)), x, sign(x) * value)


def _sine_parts(x: Value) -> tuple[Any, Any]:
    """The functions f and g of the sine and cosine integrals for x ≥ 4."""
    t = 1 - 92 / (min_(x, number(1e9, x)) ** 2 + 30)
    return chebyshev(_F, t) / x, chebyshev(_G, t) / x / x


class FresnelS(Composite):
    """∫₀ˣ sin(πt²/2) dt, ±½ at ±∞. The derivative is sin(πx²/2)."""

    def formula(self, x: Value) -> Value:
        near, inner, outer = _split(x, 2.5)
        cube, t = inner * inner * inner, _fourth_power(inner)
        value = cube * chebyshev(_S_NEAR, t)
        f, g, sine, cosine = _fresnel_parts(outer)
        return _odd(x, where(near, value, 0.5 - f * cosine - g * sine))

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: sin_pi(_half_square(x))]


class FresnelC(Composite):
    """∫₀ˣ cos(πt²/2) dt, ±½ at ±∞. The derivative is cos(πx²/2)."""

    def formula(self, x: Value) -> Value:
        near, inner, outer = _split(x, 2.5)
        value = inner * chebyshev(_C_NEAR, _fourth_power(inner))
        f, g, sine, cosine = _fresnel_parts(outer)
        return _odd(x, where(near, value, 0.5 + f * sine - g * cosine))

    def partials(self, out: Value, x: Value) -> Sequence[Callable[[], Any]]:
        return [lambda: sin_pi(_half_square(x) + 0.5)]


def _fourth_power(x: Value) -> Value:
    """The power x⁴, brought from [0, 2.5⁴] to [−1, 1]."""
    square = x * x
    return square * square * (2 / 2.5**4) - 1


def _fresnel_parts(x: Value) -> tuple[Any, Any, Any, Any]:
    """The f and g of Fresnel's integrals for x ≥ 2.5; sine and cosine of the phase."""
    bounded = min_(x, number(1e6, x))
    inverse = 2.5 / bounded
    square = inverse * inverse
    t = 2 * square * square - 1
    f = chebyshev(_FRESNEL_F, t) / (math.pi * x)
    g = chebyshev(_FRESNEL_G, t) / (math.pi**2 * x) / x / x
    half = _half_square(bounded)
    return f, g, sin_pi(half), sin_pi(half + 0.5)


def _half_square(x: Value) -> Value:
    """The half square x²/2 less a multiple of 2.

    With x in two parts of half of the digits, their products are exact.
    """
    wide = x.type.dtype == dtypes.float64
    high = ReducePrecision(11 if wide else 8, 25 if wide else 11)(x)
    low, four = x - high, number(4, x)
    parts = high * high, 2 * high * low, low * low
    return 0.5 * sum([rem(part, four) for part in parts], start=number(0, x))


si, ci = Si(), Ci()
fresnel_s, fresnel_c = FresnelS(), FresnelC()
