"""Elementwise functions given by their partial derivatives: df = Σₖ ∂f/∂xₖ · dxₖ.

Each partial derivative is a function without arguments, so that the one of an operand
without a tangent is never computed: ``maximum(x, 0)`` asks for one, not for two.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.primitive import Linearized
from covector.operations.arithmetic import mul, pushforward, sum_of_products
from covector.operations.broadcasting import broadcast_like
from covector.operations.families import Elementwise


class WithPartials(Elementwise):
    """An elementwise function of several operands, with ``partials`` for its rule."""

    def partials(self, out: Value, *operands: Value) -> Sequence[Callable[[], Any]]:
        """For each operand, a function without arguments that computes ∂f/∂xₖ."""
        raise self._missing("partials", "differentiation", [x.type for x in operands])

    def slopes(
        self, active: Sequence[bool], out: Value, *operands: Value
    ) -> list[Value | None]:
        """The partial derivatives by the active operands."""
        partials = self.partials(out, *operands)
        return [p() if a else None for p, a in zip(partials, active, strict=True)]

    def linearize(self, active: Sequence[bool], *operands: Value) -> Linearized:
        out = self(*operands)
        known = self.slopes(active, out, *operands)

        def push(*tangents: Value | None) -> Sequence[Array]:
            given = [
                (t, s) for t, s in zip(tangents, known, strict=True) if t is not None
            ]
            if len(given) == 2:
                (dx, sx), (dy, sy) = given
                return (broadcast_like(sum_of_products(dx, sx, dy, sy), out),)
            return pushforward(out, *[lambda dx, s=s: mul(dx, s) for s in known])(
                *tangents
            )

        return (out,), push
