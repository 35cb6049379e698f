"""Identity operations that change derivatives or compilation, not values."""

from collections.abc import Sequence
from typing import Any

from covector.core.primitive import Primitive
from covector.core.types import ArrayType


class Identity(Primitive):
    """The operand, of whatever type."""

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return (x,)

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return (self(args[0]),), dims

    def lower(self, ctx: Any, x: Any) -> Any:
        return x


class StopGradient(Identity):
    """x as a constant: derivatives do not pass."""

    def evaluate(self, x: Any) -> Any:
        return (x,)

    def differential(self, out: Any, x: Any) -> Any:
        return [None]


class Copy(Identity):
    """x in memory of its own."""

    def evaluate(self, x: Any) -> Any:
        return (x.copy(),)

    def differential(self, out: Any, x: Any) -> Any:
        return [self]

    def transpose(self, cotangents: Any, x: Any) -> Any:
        return cotangents


stop_gradient, copy = StopGradient(), Copy()
