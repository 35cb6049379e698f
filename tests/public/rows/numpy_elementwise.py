"""Rows of ``covector.numpy``: functions of numbers, element by element.

Those that are all that their operation is come from there: ``operations``.
"""

import importlib
from typing import Any

import numpy as np

from tests.public.draws import Draw, Scalar
from tests.public.makers import elementwise
from tests.public.table import rows

REAL, ANY = "biuf", "biufc"
#: of extrema: which of 0.0 and -0.0 is the larger, nobody says
EITHER_ZERO: dict[str, Any] = {"zeros": False}
POSITIVE = (0.1, 3.0)


def spacing(x: Any) -> Any:
    """The distance away from zero, which NumPy does not give in float16."""
    return np.nextafter(x, np.copysign(np.asarray(np.inf, x.dtype), x)) - x


def floor_divide(x: Any, y: Any) -> Any:
    """With infinities that stay infinite, as the array API standard has it."""
    infinite = np.isinf(x) | np.isinf(y)
    return np.where(infinite, np.floor(np.divide(x, y)), np.floor_divide(x, y))


def power(x: Any, y: Any) -> Any:
    """Of complex numbers that are not finite JAX is asked, but for powers of 0: NumPy
    finds others, and nobody says which are right.
    """
    complex_ = np.iscomplexobj(x) or np.iscomplexobj(y)
    if not complex_ or np.all(np.isfinite(x) & np.isfinite(y)):
        return np.power(x, y)
    jax = importlib.import_module("jax")
    with jax.enable_x64(True):
        out = np.asarray(jax.numpy.power(x, y))
    return np.where((x == 0) & (np.real(y) > 0), 0, out)


def rounded(x: Any, decimals: int = 0) -> Any:
    """Of integers with as many digits as it takes, and then the bits that they have."""
    x = np.asarray(x)
    if x.dtype.kind not in "iu" or decimals >= 0:
        return np.round(x, decimals)
    unit = 10**-decimals
    tens, rest = np.divmod(x.astype(object), unit)
    tens = tens + ((2 * rest > unit) | ((2 * rest == unit) & (tens % 2 == 1)))
    return np.asarray(tens * unit % (1 << 64), dtype=np.uint64).astype(x.dtype)


def clipped(draw: Draw) -> Any:
    """An array between bounds that may be numbers, or be missing."""
    (x, low, high), _ = elementwise("iuf", "iuf", "iuf")(draw)
    x = draw.array("iuf") if isinstance(x, Scalar) else x
    return x, *draw.pick((low, high), (low, high), (low, None), (None, high))


def float_power(x: Any, y: Any) -> Any:
    return power(*[np.asarray(v).astype(np.result_type(v, np.float64)) for v in (x, y)])


rows("numpy", "square", elementwise(ANY))
rows("numpy", "log10", elementwise(ANY, smooth=POSITIVE))
rows("numpy", "arcsinh", elementwise(ANY))
rows("numpy", "deg2rad rad2deg sinc i0", elementwise(REAL))
rows("numpy", "floor ceil trunc rint fabs", elementwise("iuf"))
rows("numpy", "spacing", elementwise("iuf"), derivative=False, numpy=spacing)
rows("numpy", "absolute positive negative", elementwise("iufc"))
rows("numpy", "sign", elementwise("iufc"))
rows("numpy", "reciprocal", elementwise("iufc", smooth=POSITIVE),
     numpy=lambda x: np.divide(1, x))
rows("numpy", "isfinite isinf isnan isreal iscomplex real imag", elementwise(ANY))
rows("numpy", "conj", elementwise(ANY))
rows("numpy", "angle", elementwise(ANY, deg=(True, False)))
rows("numpy", "isneginf isposinf signbit", elementwise(REAL))
rows("numpy", "nan_to_num", elementwise(ANY, nan=(1.5,), posinf=(7.0,), neginf=(-7,)))
rows("numpy", "round", elementwise("iufc", decimals=(-1, 0, 1, 2)), cancels=True,
     numpy=rounded)
rows("numpy", "logical_not", elementwise(ANY))
rows("numpy", "invert", elementwise("biu"))
rows("numpy", "bitwise_count", elementwise("iu"))
rows("numpy", "frexp modf", elementwise("f"), derivative=False)

rows("numpy", "add multiply", elementwise(ANY, ANY), cancels=True)
rows("numpy", "subtract", elementwise("iufc", "iufc"), cancels=True)
rows("numpy", "true_divide", elementwise("iufc", "iufc"))
rows("numpy", "floor_divide", elementwise("iuf", "iuf"), numpy=floor_divide,
     promotes=True)
rows("numpy", "remainder fmod", elementwise("iuf", "iuf"), cancels=True,
     promotes=True)
rows("numpy", "divmod", elementwise("iuf", "iuf"), cancels=True, promotes=True,
     numpy=lambda x, y: (floor_divide(x, y), np.remainder(x, y)))
rows("numpy", "maximum minimum", elementwise(ANY, ANY), promotes=True, **EITHER_ZERO)
rows("numpy", "fmax fmin", elementwise(REAL, REAL), promotes=True, **EITHER_ZERO)
rows("numpy", "equal not_equal less less_equal greater greater_equal",
     elementwise(ANY, ANY), promotes=True)
rows("numpy", "logical_and logical_or logical_xor", elementwise(ANY, ANY))
rows("numpy", "bitwise_and bitwise_or bitwise_xor", elementwise("biu", "biu"))
rows("numpy", "left_shift right_shift",
     elementwise("iu", "iu", within=(0, 7)))
rows("numpy", "arctan2 hypot copysign", elementwise(REAL, REAL))
rows("numpy", "nextafter", elementwise(REAL, REAL), derivative=False)
rows("numpy", "logaddexp logaddexp2", elementwise(REAL, REAL))
rows("numpy", "heaviside", elementwise(REAL, REAL))
# An error in the logarithm is multiplied by the exponent of a large number: ln 1e308.
rows("numpy", "power", elementwise("iufc", "iufc", smooth=POSITIVE), numpy=power,
     rounding=2048)
rows("numpy", "float_power", elementwise("iufc", "iufc", smooth=POSITIVE),
     numpy=float_power, rounding=2048)
rows("numpy", "gcd lcm", elementwise("iu", "iu"), promotes=True)
rows("numpy", "ldexp", elementwise("f", "i", within=(-4, 5)))
rows("numpy", "isclose", elementwise(ANY, ANY, rtol=(0.1,), atol=(0.0, 0.5), equal_nan=(True, False)))
rows("numpy", "where", elementwise("b", ANY, ANY))
rows("numpy", "clip", clipped, promotes=True, **EITHER_ZERO)
