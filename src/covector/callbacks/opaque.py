"""Operations whose inside no transformation sees: functions of Python, and of C.

They have no derivative, and a batch is dealt with as the user says: by the
``vmap_method``.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import BatchDims, Value, Values
from covector.core.primitive import Linearized, ManyResults, Operand
from covector.errors import ArgumentError, NotDifferentiable
from covector.operations.broadcasting import align, in_front

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


class Opaque(ManyResults):
    """A call of a function that is none of covector's."""

    #: the function, for messages
    who: Any
    #: the types of what it returns
    results: Any

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        if any([t.inexact for t in self.results]):
            raise self._no_derivative()
        outs = self(*primals)
        return outs, lambda *_: [None] * len(outs)

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        raise self._no_derivative()

    def linear_in(self, args: Sequence[Operand]) -> bool:
        if self.results:
            raise self._no_derivative()
        return True

    def _no_derivative(self) -> NotDifferentiable:
        return NotDifferentiable(
            f"{self.who} cannot be differentiated: what it computes is outside of "
            "the program. Give the function around it a rule with covector.custom_jvp "
            "or custom_vjp; or, where no derivative is to pass through it, hand it "
            "covector.lax.stop_gradient(x)."
        )


def check_vmap_method(who: str, method: str | None) -> None:
    """Raise where there is no such ``vmap_method``."""
    if method is not None and method not in VMAP_METHODS:
        raise ArgumentError(
            f"{who} has no vmap_method {method!r}; there are {', '.join(VMAP_METHODS)}."
        )


def in_batch(
    who: str, method: str | None, size: int, args: Values, dims: BatchDims
) -> Values:
    """The operands of one call for the whole batch, which is along their first axes.

    Raises:
      ArgumentError: there is no method.
    """
    if method is None:
        raise ArgumentError(
            f"{who} is called under vmap, but was not told how to deal with a batch. "
            f"Pass vmap_method: one of {', '.join(VMAP_METHODS)}."
        )
    if method in ("broadcast_all", "expand_dims"):
        return align(size if method == "broadcast_all" else 1, args, dims)
    return in_front(args, dims)
