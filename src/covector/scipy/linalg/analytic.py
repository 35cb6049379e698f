"""Derivatives of functions of matrices f(A), of any order and in both modes.

The k-th derivative of an analytic f at A, Dᵏf(A; E₁, …, Eₖ), is linear in each of its
directions and symmetric in them. Hence two facts, from which all follows here:

    d Dᵏf(A; E₁, …) = Dᵏ⁺¹f(A; E₁, …, dA) + Dᵏf(A; dE₁, …) + …
    the adjoint of  E ↦ Dᵏf(A; …, E)  is  Y ↦ Dᵏf(Aᵀ; …ᵀ, Y)

with the pairing Σ Y · Dᵏf of reverse mode, which conjugates nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.operations.linear_algebra.matrices import real_part, transposed
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.programs.custom_rules.derivative_checks import SymbolicZero
from covector.programs.custom_rules.linear_call import linear_call

__all__ = []

#: ``evaluate(a, *directions)``: the derivative in so many directions, f itself in none
Evaluate = Callable[..., Array]


def derivative(evaluate: Evaluate, a: Value, *directions: Value) -> Array:
    """The value of ``evaluate``, with the derivatives of an analytic function."""
    call = custom_jvp(evaluate)

    def rule(primals: Sequence[Value], tangents: Sequence[Any]) -> tuple[Any, Any]:
        a, *directions = primals
        changes = [
            _linear(evaluate, a, [*directions[:i], *directions[i + 1 :]], moved)
            for i, moved in enumerate(tangents[1:])
            if not isinstance(moved, SymbolicZero)
        ]
        if not isinstance(tangents[0], SymbolicZero):
            changes.append(_linear(evaluate, a, directions, tangents[0]))
        value = derivative(evaluate, a, *directions)
        return value, sum(changes[1:], changes[0])

    call.defjvp(rule, symbolic_zeros=True)
    return call(a, *directions)


def _linear(
    evaluate: Evaluate, a: Value, others: Sequence[Value], direction: Value
) -> Array:
    """The derivative as a linear function of one direction."""

    def push(fixed: Sequence[Value], e: Value) -> Array:
        return derivative(evaluate, *fixed, e)

    def pull(fixed: Sequence[Value], y: Value) -> Array:
        a, *others = [transposed(x) for x in fixed]
        found = _linear(evaluate, a, others, y)
        return found if dtypes.is_complex(direction.type.dtype) else real_part(found)

    return linear_call(push, pull, [a, *others], direction)
