"""The inverse error function in NumPy, for ``ErfInv`` on the host.

One of two polynomials in w = −log(1 − x²), which are also what XLA has for 32 bits (M.
Giles, "Approximating the erfinv function", GPU Computing Gems, 2011).
"""

import numpy as np

from covector.core.annotations import HostArray

#: coefficients, the highest first: of w − 2.5 for w < 5, and of √w − 3 beyond
_CENTRE = (
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
_TAIL = (
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
    np.array([_CENTRE, _TAIL], np.float32).astype(np.float64).T[..., None]
)


def erf_inv(x: HostArray) -> HostArray:
    """erf⁻¹ of floats of up to 32 bits, in their dtype."""
    single = np.asarray(x, np.float32)
    flat = single.reshape(-1)
    w = -np.log1p(-flat * flat)
    far = w >= 5
    w = np.where(far, np.sqrt(w) - np.float32(3), w - np.float32(2.5))
    # In f64, and rounded once: XLA works with fused products and sums, not twice
    # rounded.
    value = _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:]:
        value = value * w + coefficient
    ends = np.where(np.abs(flat) == 1, np.inf, np.where(far, value[1], value[0]))
    return (ends * flat).astype(x.dtype).reshape(single.shape)
