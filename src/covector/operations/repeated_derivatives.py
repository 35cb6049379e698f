"""Derivatives of any order, of products and of powers of e, in several variables.

An order is a tuple: how often by each variable.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import comb, prod
from typing import Any, TypeAlias

Order: TypeAlias = tuple[int, ...]
#: derivatives, by their order
Derivatives: TypeAlias = Callable[[Order], Any]


def of_product(order: Order, f: Derivatives, g: Derivatives) -> Any:
    """The derivative of f · g, by Leibniz's rule."""
    terms = [n * f(rest) * g(part) for n, rest, part in _splits(order)]
    return sum(terms[1:], terms[0])


def of_exponential(exponent: Derivatives) -> Derivatives:
    """The derivatives of eᶠ, divided by eᶠ, from those of f.

    (eᶠ)′ = eᶠ f′, of which Leibniz's rule makes the higher ones.
    """

    @cache
    def derivative(order: Order) -> Any:
        if not any(order):
            return 1.0
        k = next(i for i, n in enumerate(order) if n)
        less = tuple([n - (i == k) for i, n in enumerate(order)])

        def slope(part: Order) -> Any:
            return exponent(tuple([n + (i == k) for i, n in enumerate(part)]))

        return of_product(less, derivative, slope)

    return derivative


def _splits(order: Order) -> Iterator[tuple[int, Order, Order]]:
    """An order in two parts, in every way, and in how many ways it is that."""
    for part in product(*[range(n + 1) for n in order]):
        rest = tuple([n - k for n, k in zip(order, part, strict=True)])
        yield prod([comb(n, k) for n, k in zip(order, part, strict=True)]), rest, part
