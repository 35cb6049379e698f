"""The inverse of the error function, and of the normal distribution.

In 32 bits, and in NumPy, one of two polynomials in w = −log(1 − x²), which are also
what XLA has (M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011).
In 64 bits, where XLA's lose half of the digits near ±1, rational functions.
"""

import math
from collections.abc import Sequence

import numpy as np

from covector.core.annotations import HostArray, Value
from covector.operations.arithmetic import neg
from covector.operations.chebyshev import polynomial
from covector.operations.comparison import eq, gt, lt
from covector.operations.composite import number
from covector.operations.extrema import min_
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_, sign
from covector.operations.roots import sqrt
from covector.operations.selection import where

#: coefficients, the highest first: of w − 2.5 for w < FAR, and of √w − 3 beyond
FAR = 5
CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
#: of each power, the highest first, one in either polynomial
_COEFFICIENTS = list(
    np.array([CENTRE, TAIL], np.float32).astype(np.float64).T[..., None]
)


def erf_inv(x: HostArray) -> HostArray:
    """erf⁻¹ of floats of up to 32 bits, in their dtype."""
    single = np.asarray(x, np.float32)
    flat = single.reshape(-1)
    w = -np.log1p(-flat * flat)
    far = w >= FAR
    w = np.where(far, np.sqrt(w) - np.float32(3), w - np.float32(2.5))
    # In f64, and rounded once: XLA works with fused products and sums, not twice
    # rounded.
    value = _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:]:
        value = value * w + coefficient
    ends = np.where(np.abs(flat) == 1, np.inf, np.where(far, value[1], value[0]))
    return (ends * flat).astype(x.dtype).reshape(single.shape)


# -- in 64 bits ------------------------------------------------------------------------

# Numerators and denominators of three rational functions. (M. Wichura, Algorithm AS
# 241: The percentage points of the normal distribution, Applied Statistics 37, 1988.)
_IN_CENTRE = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_IN_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_IN_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
     1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
     1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def quantile(excess: Value, tail: Value) -> Value:
    """The x > 0 or < 0 with Φ(x) = ½ + excess, and with the given lesser ``tail``."""
    near = lt(abs_(excess), number(0.425, excess))
    inner = where(near, excess, number(0, excess))
    centre = inner * _ratio(_IN_CENTRE, 0.180625 - inner * inner)
    r = sqrt(neg(log(where(near, number(0.05, tail), tail))))
    middle = lt(r, number(5, r))
    nearer, farther = (where(middle, r, number(5, r)), where(middle, number(5, r), r))
    farther = min_(farther, number(40, r))
    far = where(
        middle, _ratio(_IN_TAIL, nearer - 1.6), _ratio(_IN_FAR_TAIL, farther - 5)
    )
    far = where(eq(tail, number(0, r)), number(math.inf, r), far)
    return where(near, centre, sign(excess) * far)


def _ratio(polynomials: tuple[Sequence[float], Sequence[float]], x: Value) -> Value:
    above, below = [polynomial(p, x) for p in polynomials]
    return above / below


def precise_erf_inv(x: Value) -> Value:
    """erf⁻¹: ±∞ of ±1, NaN of |x| > 1."""
    size = abs_(x)
    value = quantile(0.5 * x, 0.5 * (1 - size)) * math.sqrt(0.5)
    return where(gt(size, number(1, x)), number(math.nan, x), value)
