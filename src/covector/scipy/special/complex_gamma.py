"""The gamma function of complex numbers, and its logarithm."""

import math

from covector import numpy as cnp
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.operations.gamma_function import stirling_series

__all__: list[str] = []

#: steps upwards, after which Stirling's series has all digits
_STEPS = 8


@fuse()
def log_gamma(z: Value) -> Array:
    """The principal branch of log Γ(z), which is analytic but for z ≤ 0.

    By Stirling's series for Re z ≥ 8, by log Γ(z) = log Γ(z + 1) − log z for smaller z,
    and by reflection for Re z < ½.
    """
    left = cnp.real(z) < 0.5
    mirrored = cnp.where(left, 1 - z, z)
    value = _log_gamma_of_right(mirrored)
    value = cnp.where(left, math.log(math.pi) - _log_sin_pi(z) - value, value)
    pole = (
        (cnp.imag(z) == 0)
        & (cnp.real(z) <= 0)
        & (cnp.real(z) == cnp.floor(cnp.real(z)))
    )
    return cnp.where(pole, cnp.nan, value).astype(z.dtype)


@fuse()
def gamma(z: Value) -> Array:
    """Γ(z); NaN at whole z ≤ 0."""
    value = cnp.exp(log_gamma(z))
    return value.astype(z.dtype)


def _log_gamma_of_right(z: Value) -> Array:
    """log Γ(z) for Re z ≥ ½."""
    steps = cnp.where(cnp.real(z) < _STEPS, cnp.ones_like(z), 0)
    shift = cnp.zeros_like(z)
    for k in range(_STEPS):
        shift = shift + steps * cnp.log(z + k)
    far = z + _STEPS * steps
    value = (far - 0.5) * (cnp.log(far) - 1) + stirling_series(far)
    return value + (0.5 * math.log(2 * math.pi) - 0.5) - shift


def _log_sin_pi(z: Value) -> Array:
    """The branch of log sin(πz) that is analytic above, and below, the real line.

    Above, sin(πz) is i/2 · exp(−iπz) (1 − exp(2πiz)), whose last factor is near 1.
    """
    upper = cnp.imag(z) >= 0
    above = cnp.where(upper, z, cnp.conj(z))
    whole = cnp.round(cnp.real(above))
    turned = 2j * math.pi * (above - whole)
    # −expm1 is not far from zero where z is near a whole number.
    value = -1j * math.pi * (above - 0.5) - math.log(2) + cnp.log(-cnp.expm1(turned))
    return cnp.where(upper, value, cnp.conj(value))
