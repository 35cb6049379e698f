"""Logarithms of the gamma, beta, binomial and Poisson densities.

They are sums of deviances from the mode (Loader 2000, ``operations/densities.py``), so
large parameters do not cancel: the density of x = a = 10⁶ has all its digits.
"""

from typing import Any

import numpy as np

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.operations.densities import deviance, stirling_error
from covector.scipy.special import xlog1py, xlogy
from covector.scipy.stats.arguments import HALF_LOG_TAU


def log_gamma_density(x: Any, a: Any) -> Array:
    """log(xᵃ⁻¹ e⁻ˣ / Γ(a)) for x ≥ 0."""
    edge = (x == 0) | (x == np.inf)
    inside = cnp.where(edge, 1.0, x)
    amplitude = 0.5 * cnp.log(a) - HALF_LOG_TAU - stirling_error(a)
    regular = amplitude - deviance(a, inside, inside - a) - cnp.log(inside)
    at_zero = cnp.where(a == 1, -x, cnp.where(a < 1, np.inf, -np.inf))
    return cnp.where(edge, cnp.where(x == 0, at_zero, -np.inf), regular)


def log_poisson(k: Any, mu: Any) -> Array:
    """log(μᵏ e⁻ᵘ / k!) for whole k ≥ 0, μ ≥ 0."""
    plain = (k == 0) | (mu == 0) | (k == np.inf)
    count, mean = cnp.where(plain, 1.0, k), cnp.where(plain, 1.0, mu)
    peak = -HALF_LOG_TAU - 0.5 * cnp.log(count) - stirling_error(count)
    regular = peak - deviance(count, mean, mean - count)
    never = (k == np.inf) | (mu == 0) & (k > 0)
    return cnp.where(
        plain, cnp.where(never, -np.inf, cnp.where(cnp.isnan(k), k, -mu)), regular
    )


def log_binomial(k: Any, n: Any, p: Any, q: Any) -> Array:
    """log(C(n, k) pᵏ qⁿ⁻ᵏ) for 0 ≤ k ≤ n and p + q = 1; k and n may be any numbers."""
    plain = (k == 0) | (k == n) | (p == 0) | (q == 0)
    m = cnp.where(plain, 2.0, n)
    j = cnp.where(plain, 1.0, k)
    s, t = cnp.where(plain, 0.5, p), cnp.where(plain, 0.5, q)
    far = m * s - j
    spread = cnp.log(m / (j * (m - j)))
    errors = stirling_error(m) - stirling_error(j) - stirling_error(m - j)
    regular = errors + 0.5 * spread - HALF_LOG_TAU
    regular = regular - deviance(j, m * s, far) - deviance(m - j, m * t, -far)
    # No power of a probability has no derivative by it.
    cornered = xlogy(k, cnp.where(k == 0, 1.0, p))
    cornered = cornered + xlogy(n - k, cnp.where(n == k, 1.0, q))
    return cnp.where(plain, cornered, regular)


def log_beta_density(x: Any, a: Any, b: Any) -> Array:
    """log(xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)) for 0 ≤ x ≤ 1."""
    edge = (x == 0) | (x == 1)
    inside = cnp.where(edge, 0.5, x)
    other = 1 - inside
    n = a + b
    far = b * inside - a * other
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b)
    amplitude = errors + 0.5 * cnp.log(a / n * b) - HALF_LOG_TAU
    far_parts = deviance(a, n * inside, far) + deviance(b, n * other, -far)
    regular = amplitude - far_parts - cnp.log(inside) - cnp.log(other)
    zero, one = cnp.where(x == 0, x, 0.0), cnp.where(x == 1, x, 1.0)
    flat = xlog1py(b - 1, -zero) + cnp.log(b)
    at_zero = cnp.where(a == 1, flat, cnp.where(a < 1, np.inf, -np.inf))
    flat = xlogy(a - 1, one) + cnp.log(a)
    at_one = cnp.where(b == 1, flat, cnp.where(b < 1, np.inf, -np.inf))
    return cnp.where(x == 0, at_zero, cnp.where(x == 1, at_one, regular))
