"""Rows of ``covector.lax``: element by element, on operands of one shape and dtype.

Those that are all that their operation is come from there: ``operations``.
"""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.makers import alike
from tests.public.rows.numpy_elementwise import EITHER_ZERO
from tests.public.table import rows

REAL, FLOAT, INEXACT = "iuf", "f", "fc"
POSITIVE = (0.2, 3.0)


def betainc(draw: Draw) -> Any:
    dtype, shape = draw.dtype(FLOAT), draw.shape()
    a, b = (draw.values(dtype, shape, POSITIVE) for _ in range(2))
    return a, b, draw.values(dtype, shape, (0.05, 0.95))


rows("lax", "erf erfc", alike(FLOAT))
rows("lax", "erf_inv", alike(FLOAT, within=(-0.95, 0.95)), rounding=256)
rows(
    "lax", "lgamma digamma", alike(FLOAT, within=(0.3, 8.0)), rounding=512, cancels=True
)
rows("lax", "bessel_i0e bessel_i1e", alike(FLOAT, within=(-8, 8)), rounding=512)
rows("lax", "round", alike(FLOAT))
rows("lax", "abs sign neg square", alike("ifc"))
rows("lax", "reciprocal", alike(INEXACT, smooth=POSITIVE))
rows("lax", "real imag conj", alike("c"))
rows("lax", "bitwise_not", alike("biu"))

rows("lax", "add mul sub", alike("iufc", 2), cancels=True)
rows("lax", "div", alike(INEXACT, 2, smooth=POSITIVE))
rows("lax", "rem", alike(FLOAT, 2), cancels=True)
rows("lax", "max min", alike("biufc", 2), **EITHER_ZERO)
rows("lax", "eq ne", alike("biufc", 2))
rows("lax", "lt le gt ge", alike("biuf", 2))
rows("lax", "bitwise_and bitwise_or bitwise_xor", alike("biu", 2))
rows("lax", "shift_left shift_right_arithmetic shift_right_logical",
     alike("iu", 2, within=(0, 7)))  # fmt: skip
rows("lax", "atan2", alike(FLOAT, 2))
rows("lax", "nextafter", alike(FLOAT, 2), derivative=False)
rows("lax", "pow", alike(INEXACT, 2, within=POSITIVE))
rows("lax", "igamma igammac", alike(FLOAT, 2, within=POSITIVE), rounding=4096,
     derivative=False)  # fmt: skip
rows("lax", "igamma_grad_a random_gamma_grad", alike(FLOAT, 2, within=POSITIVE),
     rounding=1 << 14, derivative=False)  # fmt: skip
rows("lax", "zeta", alike(FLOAT, 2, within=(1.5, 6.0)), rounding=4096, derivative=False)
rows("lax", "polygamma", lambda draw: (
    np.full_like(x := draw.array(FLOAT, within=POSITIVE), draw.integer(1, 4)), x,
), rounding=1 << 14, derivative=False, cancels=True)  # fmt: skip
rows("lax", "betainc", betainc, rounding=1 << 13, derivative=False)
rows("lax", "complex", alike("f", 2))
rows("lax", "stop_gradient", alike("biufc"), derivative=False)
rows("lax", "optimization_barrier", alike("biufc"))


def clamped(draw: Draw) -> Any:
    """The bounds are scalars, or of the shape of the operand."""
    dtype, shape = draw.dtype(REAL), draw.shape()
    low, high = (draw.values(dtype, draw.pick((), shape), None) for _ in range(2))
    return low, draw.values(dtype, shape), high


def chosen(draw: Draw) -> Any:
    dtype, shape = draw.dtype("biufc"), draw.shape()
    cases = [draw.values(dtype, shape) for _ in range(2)]
    return draw.array("b", draw.pick((), shape)), *cases


def chosen_among(draw: Draw) -> Any:
    dtype, shape = draw.dtype("biufc"), draw.shape()
    which = draw.values(np.int32, draw.pick((), shape), (0, 3))
    return which, *[draw.values(dtype, shape) for _ in range(3)]


def powered(draw: Draw) -> Any:
    return draw.array("ifc", within=POSITIVE if draw.smooth else None), draw.integer(
        0, 5
    )


def converted(draw: Draw) -> Any:
    names = ("int8", "uint16", "int32", "float16", "bfloat16", "float32", "bool", "complex64")
    return draw.array("biufc"), draw.pick(*names)


def reduced(draw: Draw) -> Any:
    return (draw.array(FLOAT),), {"exponent_bits": 5, "mantissa_bits": 7}


def reinterpreted(draw: Draw) -> Any:
    return draw.array("iu", within=(0, 100)).astype(np.int32), draw.pick(
        "float32", "uint32"
    )


rows("lax", "clamp", clamped, **EITHER_ZERO)
rows("lax", "select", chosen)
rows("lax", "select_n", chosen_among)
rows("lax", "integer_pow", powered)
rows("lax", "convert_element_type", converted, derivative=False)
rows("lax", "reduce_precision", reduced, derivative=False)
rows("lax", "bitcast_convert_type", reinterpreted, derivative=False)
rows("lax", "mulhi", alike("iu", 2))
