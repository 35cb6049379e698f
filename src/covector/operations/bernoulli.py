"""Bernoulli numbers, exactly."""

from fractions import Fraction
from functools import lru_cache
from math import comb


@lru_cache
def bernoulli_numbers(count: int) -> tuple[Fraction, ...]:
    """B₀, B₁ = −½, B₂, … of that count: Σ C(n + 1, k) Bₖ = 0 over k = 0 … n."""
    found = [Fraction(1)]
    for n in range(1, count):
        if n > 1 and n % 2:
            found.append(Fraction(0))
            continue
        total = sum([comb(n + 1, k) * b for k, b in enumerate(found)], Fraction(0))
        found.append(-total / (n + 1))
    return tuple(found[:count])
