"""Logarithms of incomplete gamma and beta functions, also where these underflow.

There the integral is the density times a sum or a continued fraction, which converges
fast far from the mode.
"""

from typing import Any

import numpy as np

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.number_info import finfo
from covector.lax.control_flow import fori_loop
from covector.scipy.special import betainc, gammainc, gammaincc
from covector.scipy.stats.log_densities import log_beta_density, log_gamma_density

#: terms of the sums: what underflows is far from the mode, where few are enough
TERMS = 80


def _least(value: Array) -> float:
    """Smaller numbers have lost digits, or are about to."""
    return finfo(value.dtype).tiny / finfo(value.dtype).eps


def _logarithm(value: Array, rest: Array, far: Any) -> Array:
    """log(value), also as log(1 − rest) where that is more accurate.

    It is ``far(mask)`` where the value is so small that it has lost digits.
    """
    lost = value < _least(value)
    most = value > 0.5
    near = cnp.log1p(-cnp.where(most, rest, 0.0))
    middle = cnp.log(cnp.where(lost | most, 1.0, value))
    return cnp.where(lost, far(lost), cnp.where(most, near, middle))


def log_gammaincc(a: Any, x: Any) -> Array:
    """log Q(a, x), the upper part, for x ≥ 0."""

    def far(lost: Any) -> Array:
        y = cnp.where(lost & (x < np.inf), x, a + 1)

        def term(i: Any, below: Any) -> Any:
            n = (TERMS - i).astype(y.dtype)
            return y + 2 * n - 1 - a - n * (n - a) / below

        # Legendre's continued fraction, from its last term on.
        below = fori_loop(0, TERMS, term, y + 2 * TERMS + 1 - a)
        value = log_gamma_density(y, a) + cnp.log(y) - cnp.log(below)
        return cnp.where(x < np.inf, value, -np.inf)

    return _logarithm(gammaincc(a, x), gammainc(a, x), far)


def log_gammainc(a: Any, x: Any) -> Array:
    """log P(a, x), the lower part, for x ≥ 0."""

    def far(lost: Any) -> Array:
        y = cnp.where(lost & (x > 0), x, a / 2)

        def term(i: Any, total: Any) -> Any:
            return 1 + total * y / (a + (TERMS - i).astype(y.dtype))

        total = fori_loop(0, TERMS, term, cnp.ones_like(y))
        value = log_gamma_density(y, a) + cnp.log(y / a) + cnp.log(total)
        return cnp.where(x > 0, value, -np.inf)

    return _logarithm(gammainc(a, x), gammaincc(a, x), far)


def log_betainc(a: Any, b: Any, x: Any) -> Array:
    """log I(a, b; x) for 0 ≤ x ≤ 1."""
    # The smaller of both parts is computed: beyond the mean that is the upper one.
    upper = x > a / (a + b)
    part = betainc(
        cnp.where(upper, b, a), cnp.where(upper, a, b), cnp.where(upper, 1 - x, x)
    )

    def far(lost: Any) -> Array:
        y = cnp.where(lost & (x > 0), x, 0.5 * a / (a + b))

        def term(i: Any, total: Any) -> Any:
            n = (TERMS - i).astype(y.dtype)
            return 1 + total * y * (a + b + n - 1) / (a + n)

        total = fori_loop(0, TERMS, term, cnp.ones_like(y))
        density = log_beta_density(y, a, b) + cnp.log1p(-y)
        value = density + cnp.log(y / a) + cnp.log(total)
        return cnp.where(x > 0, value, -np.inf)

    lost = ~upper & (part < _least(part))
    near = cnp.log1p(-cnp.where(upper, part, 0.0))
    middle = cnp.log(cnp.where(lost | upper, 1.0, part))
    return cnp.where(upper, near, cnp.where(lost, far(lost), middle))
