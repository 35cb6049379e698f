"""What hypergeometric functions are made of: their series, and 1 / Γ.

A series is a loop that ends when no element changes any more. It is differentiated as
it stands, by the parameters too: the derivatives of terms fall off as the terms do.
"""

from covector import lax
from covector import numpy as cnp
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.operations.special import gamma

#: a series that needs more terms is NaN
_TERMS = 20_000


def series(above: tuple[Value, ...], below: tuple[Value, ...], x: Value) -> Array:
    """Σ Π(p)ₖ/Π(q)ₖ xᵏ/k!."""
    enough = cnp.finfo(x.dtype).eps / 8

    def changes(state: tuple[Value, Value, Value]) -> Array:
        k, term, total = state
        going = cnp.abs(term) > enough * cnp.abs(total)
        return (k < _TERMS) & cnp.any(going | (k < 3))

    def step(state: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        k, term, total = state
        factor = x / (k + 1)
        for p in above:
            factor = factor * (p + k)
        for q in below:
            factor = factor / (q + k)
        # A polynomial has ended, whatever q is.
        term = cnp.where(term == 0, 0, term * factor)
        return k + 1, term, total + term

    start = cnp.zeros((), x.dtype), cnp.ones_like(x), cnp.ones_like(x)
    _, term, total = lax.while_loop(changes, step, start)
    return cnp.where(cnp.abs(term) > enough * cnp.abs(total), cnp.nan, total)


def inverse_gamma(x: Value) -> Array:
    """1 / Γ(x), which is 0 at its poles."""
    pole = (x <= 0) & (x == cnp.floor(x))
    return cnp.where(pole, 0, 1 / gamma(cnp.where(pole, 1, x)))


def is_whole_below(x: Value) -> Array:
    """Whether x is a whole number ≤ 0."""
    return (x <= 0) & (x == cnp.floor(x))
