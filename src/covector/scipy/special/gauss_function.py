"""Gauss's hypergeometric function ₂F₁(a, b; c; x) of real numbers.

Every x < 1 is brought to w in [0, 1) with factors before the function (NIST Handbook of
Mathematical Functions, 15.8.1):

    F(a, b; c; x) = (1 − x)⁻ᵃ F(a, c − b; c; x/(x − 1))           for x < 0
                  = (1 − x)ᶜ⁻ᵃ⁻ᵇ F(c − a, c − b; c; x)            for x > 0

The series is summed as far as its terms do not cancel. From there the function goes on
by Taylor series of the solutions of its differential equation

    w (1 − w) F″ + (c − (a + b + 1) w) F′ − a b F = 0,

in steps that are a part of the way to the nearer of the singular points 0 and 1. So
there are no parameters for which the connection of 0 and 1 would be a special case.
"""

import math

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.numpy.fuse import fuse
from covector.operations.special import gamma
from covector.scipy.special.hypergeometric_series import (
    inverse_gamma,
    is_whole_below,
    series,
)

#: how many terms of all steps together; what needs more is NaN
_TERMS = 100_000
#: how far a step goes, of the way to the nearer singular point
_PART = 0.4
#: as far as this, terms of one sign are summed at once
_FAR = 0.8


@fuse()
def gauss_function(a: Value, b: Value, c: Value, x: Value) -> Array:
    """₂F₁(a, b; c; x) of arrays of one shape."""
    # The parameter that ends the series, if one does, comes first, and of two the last.
    swapped = is_whole_below(b) & ~(is_whole_below(a) & (a >= b))
    a, b = cnp.where(swapped, b, a), cnp.where(swapped, a, b)
    ends = is_whole_below(a)
    polynomial = _polynomial(*_safe(ends, (-1, 1, 1, 0), a, b, c, x))
    inside = ~ends & (x < 1)
    beyond = cnp.where(x == 1, _at_one(a, b, c), cnp.where(x > 1, cnp.nan, x))
    function = _function(*_safe(inside, (1, 1, 1, 0), a, b, c, x))
    value = cnp.where(ends, polynomial, cnp.where(inside, function, beyond))
    pole = is_whole_below(c) & ~(ends & (a >= c)) & (x != 0) & (x <= 1)
    return cnp.where(pole, math.inf, cnp.where(cnp.isnan(a + b + c), cnp.nan, value))


def _safe(where: Value, others: tuple[int, ...], *values: Value) -> tuple[Array, ...]:
    """The values there, and elsewhere others."""
    pairs = zip(values, others, strict=True)
    return tuple([cnp.where(where, value, other) for value, other in pairs])


def _function(a: Value, b: Value, c: Value, x: Value) -> Array:
    """F for x < 1, which is not a polynomial."""
    c = cnp.where(is_whole_below(c), 0.5, c)
    low, high, left = cnp.minimum(a, b), cnp.maximum(a, b), x < 0
    # With the lesser parameter as exponent nothing overflows; c less the greater one
    # may be negative.
    first = cnp.where(c >= high, low, high)
    turned = ~left & (a + b > c) & (c >= high)
    p = cnp.where(left, first, cnp.where(turned, c - a, a))
    q = cnp.where(left, c - (low + high - first), cnp.where(turned, c - b, b))
    rest = cnp.where(left, 1 / (1 - cnp.where(left, x, 0)), 1 - x)
    w = cnp.where(left, cnp.where(left, -x, 0) * rest, x)
    power = cnp.where(left, first, cnp.where(turned, c - a - b, 0))
    return rest**power * _continued(p, q, c, w, rest)


def _at_one(a: Value, b: Value, c: Value) -> Array:
    """Gauss's sum at x = 1, which is finite for c > a + b."""
    excess = c - a - b
    s = cnp.where(excess > 0, excess, 1)
    value = gamma(c) * gamma(s) * inverse_gamma(c - a) * inverse_gamma(c - b)
    return cnp.where(excess > 0, value, math.inf)


# -- polynomials -----------------------------------------------------------------------


def _polynomial(a: Value, b: Value, c: Value, x: Value) -> Array:
    """F for whole a = −n ≤ 0.

    From the other end it is F(a, b; c; 1) F(a, b; a + b − c + 1; 1 − x).
    """
    d = a + b - c + 1
    back = (x > 0.5) & (d > 0)
    at_one = _value_at_one(a, b, c)
    p, y = cnp.where(back, d, c), cnp.where(back, 1 - x, x)
    inner = (y > 0) & (y < 1)
    p = cnp.where(is_whole_below(p) & (a < p), 0.5, p)
    by_series = series((a, b), (p,), cnp.where(inner, 0, y))
    y = cnp.where(inner, y, 0.5)
    by_steps = _continued(a, b, p, y, cnp.where(back & inner, x, 1 - y))
    return cnp.where(back, at_one, 1) * cnp.where(inner, by_steps, by_series)


def _value_at_one(a: Value, b: Value, c: Value) -> Array:
    """The product of (c − b + k)/(c + k) over k below n = −a."""
    c = cnp.where(is_whole_below(c), 0.5, c)

    def step(k: Value, product: Value) -> Array:
        k = k.astype(c.dtype)
        return product * cnp.where(k < -a, (c - b + k) / (c + k), 1)

    most = cnp.max(-a, initial=0).astype(cnp.int32)
    return lax.while_loop(
        lambda state: state[0] < most,
        lambda state: (state[0] + 1, step(*state)),
        (cnp.zeros((), cnp.int32), cnp.ones_like(c)),
    )[1]


# -- on from where the series converges ------------------------------------------------


def _continued(a: Value, b: Value, c: Value, w: Value, rest: Value) -> Array:
    """F for 0 ≤ w < 1, where ``rest`` is 1 − w."""
    alike = (a >= 0) & (b >= 0) & (c > 0)
    near = cnp.minimum(_FAR, 4 * cnp.abs(c) / cnp.maximum(cnp.abs(a * b), 1e-30))
    bound = lax.stop_gradient(cnp.where(alike, _FAR, near))
    start = cnp.where(w <= bound, w, bound)
    value = series((a, b), (c,), start)
    slope = a * b / c * series((a + 1, b + 1), (c + 1,), start)
    left = cnp.where(start == w, rest, 1 - start)
    return _stepped(a, b, c, left, rest, value, slope)


def _step_size(a: Value, b: Value, c: Value, left: Value, rest: Value) -> Array:
    """The step from w = 1 − left: not so far that terms cancel, nor too far."""
    w = 1 - left
    turns = cnp.abs(c - (a + b + 1) * w) / (w * left)
    turns = turns + cnp.sqrt(cnp.abs(a * b) / (w * left))
    size = cnp.minimum(_PART * cnp.minimum(w, left), 4 / turns)
    # What would be left of the way is gone with the last step.
    return cnp.where(size > 0.9 * (left - rest), left - rest, size)


def _stepped(
    a: Value, b: Value, c: Value, left: Value, rest: Value, value: Value, slope: Value
) -> Array:
    """F at 1 − rest, from F and F′ at 1 − left.

    Each element is at a term of a step of its own; where it is the last one that
    counts, it goes on to the next step.
    """
    enough = cnp.finfo(a.dtype).eps / 8

    def begun(left: Value, value: Value, slope: Value) -> tuple[Value, ...]:
        size = _step_size(a, b, c, left, rest)
        first = slope * size
        n = cnp.zeros_like(left)
        return n, left, size, value, first, value + first, first

    def going(state: tuple[Value, ...]) -> Array:
        return (state[0] < _TERMS) & cnp.any(state[2] > rest)

    def advance(state: tuple[Value, ...]) -> tuple[Value, ...]:
        count, n, left, size, last, latest, total, moment = state
        w = 1 - left
        back = (n + 1) * ((1 - 2 * w) * n + c - (a + b + 1) * w) * size * latest
        ahead = (n + a) * (n + b) * (size * size) * last
        term = (ahead - back) / (w * left * (n + 2) * (n + 1))
        grown = (
            n + 1,
            left,
            size,
            latest,
            term,
            total + term,
            moment + (n + 2) * term,
        )
        bound = enough * (cnp.abs(total) + cnp.abs(moment))
        done = (n > 3) & (cnp.abs(latest) * n < bound) & (cnp.abs(term) * n < bound)
        there = left - size
        there = cnp.where(there - rest < enough * rest, rest, there)
        safe = cnp.where(left > rest, there, left)
        fresh = begun(safe, grown[5], grown[6] / cnp.where(size == 0, 1, size))
        active = left > rest
        chosen = [
            cnp.where(active, cnp.where(done, f, g), s)
            for f, g, s in zip(fresh, grown, state[1:], strict=True)
        ]
        return count + 1, *chosen

    # Where nothing is to do, safe numbers keep derivatives finite.
    idle = left <= rest
    left = cnp.where(idle, 0.5, left)
    inner = cnp.where(idle, 0.5, rest)
    rest = inner
    start = cnp.zeros((), cnp.int32), *begun(left, value, slope)
    found = lax.while_loop(going, advance, start)
    return cnp.where(idle, value, cnp.where(found[2] > rest, cnp.nan, found[4]))
