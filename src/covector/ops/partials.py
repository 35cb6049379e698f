"""Functions of several operands that say only their slopes: df = Σ slopeₖ · dxₖ.

A slope is given as a function without arguments, so that what an operand that does not
move would need is never computed: ``maximum(x, 0)`` asks for one slope, not for two.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.primitive import Linearized
from covector.ops.arithmetic import mul, pushforward, sum_of_products
from covector.ops.broadcasting import spread_like
from covector.ops.families import Elementwise


class Sloped(Elementwise):
    """An elementwise function of several operands, with a slope for each."""

    def slopes(self, out: Any, *operands: Any) -> Sequence[Callable[[], Any]]:
        """For each operand, what gives ∂f/∂xₖ when called."""
        raise self._missing("slopes", "differentiation", [x.type for x in operands])

    def linearize(self, active: Sequence[bool], *operands: Any) -> Linearized:
        out = self(*operands)
        known = [
            slope() if a else None
            for slope, a in zip(self.slopes(out, *operands), active, strict=True)
        ]

        def push(*tangents: Any) -> Sequence[Any]:
            given = [
                (t, s) for t, s in zip(tangents, known, strict=True) if t is not None
            ]
            if len(given) == 2:
                (dx, sx), (dy, sy) = given
                return (spread_like(sum_of_products(dx, sx, dy, sy), out),)
            return pushforward(out, *[lambda dx, s=s: mul(dx, s) for s in known])(
                *tangents
            )

        return (out,), push
