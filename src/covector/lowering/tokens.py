"""Ordered effects: a token that each effect takes and gives.

    print x                     t1 = print t0 x
    y = scan[body] x      →     t2 y = scan[body with a token in its carry] t1 x

A compiler may move what does not depend on each other. So just before a program is
lowered, a value is threaded through its lasting effects, and through the programs that
contain some: each then depends on the one before. It is a bool, of which no use is
made. (An array without elements would not do: XLA replaces it by a constant.)

An operation says by ``with_token`` what it is with a token: the operation, and the
index of the token among its operands. It is the first of its results. An operation
without such a rule is ordered by data flow only; if its effects must be ordered, that
is an error.

A token is a ``Thread``: values that a pass hands from one equation to the next. The
first failure of a check (``experimental/checkify``) is another. How values go through
the programs that an operation carries, that operation knows: its rule ``threaded``
says it for every thread.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.effects import Effect
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.core.varying import Axes
from covector.errors import MissingRule

TOKEN = ArrayType((), dtypes.bool_)
_FIRST = ConcreteArray(TOKEN, np.zeros((), np.bool_))


def ordered(jaxpr: Jaxpr) -> Jaxpr:
    """The program, its effects in order."""
    if Effect.LASTS not in jaxpr.effects:
        return jaxpr
    equations, _ = _threaded(jaxpr, _FIRST)
    return Jaxpr(jaxpr.inputs, equations, jaxpr.outputs, jaxpr.name)


def with_token(jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
    """The program with a token at this index of its inputs, and first in its outputs
    (memoise on the program).
    """
    first = Var(TOKEN)
    equations, last = _threaded(jaxpr, first)
    inputs = [*jaxpr.inputs[:index], first, *jaxpr.inputs[index:]]
    return Jaxpr(inputs, equations, [last, *jaxpr.outputs], jaxpr.name)


def _threaded(jaxpr: Jaxpr, token: Atom) -> tuple[list[Equation], Atom]:
    """The equations with the token passed on, and the last token."""
    equations = []
    for e in jaxpr.equations:
        if not _takes_token(e.op):
            equations.append(e)
            continue
        op, index = e.op.with_token()
        inputs = [*e.inputs[:index], token, *e.inputs[index:]]
        token = Var(TOKEN)
        equations.append(Equation(op, inputs, [token, *e.outputs], e.line))
    return equations, token


def _takes_token(op: Primitive) -> bool:
    if op.with_token is None and Effect.ORDERED in op.effects:
        raise MissingRule(
            f"{op.name} carries a program with ordered effects, but has no "
            "`threaded` rule that would keep their order. Leave ordered=True out, or "
            "take the effects out of it."
        )
    return op.with_token is not None and Effect.LASTS in op.effects


# -- threads ---------------------------------------------------------------------------


class Thread(Protocol):
    """Values that are passed on through programs."""

    #: ``join(stacked)``: the values, of those that the devices have along a leading
    #: axis; None where they are the same on all devices
    join: Callable[[Sequence[Value]], Sequence[Value]] | None

    @property
    def types(self) -> Sequence[ArrayType]:
        """The types of the values."""
        ...

    def on_devices(self, axes: Axes) -> "Thread":
        """The thread in a program where types say what varies over these axes."""
        ...

    def concerns(self, jaxpr: Jaxpr) -> bool:
        """Whether the values may change in a program."""
        ...

    def through(self, jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
        """The program that takes the values at this index of its inputs, and gives them
        as its first outputs.
        """
        ...


class TokenThread:
    """The token of lasting effects."""

    types = (TOKEN,)
    join = None

    def on_devices(self, axes: Axes) -> "TokenThread":
        return self

    def concerns(self, jaxpr: Jaxpr) -> bool:
        return Effect.LASTS in jaxpr.effects

    def through(self, jaxpr: Jaxpr, index: int = 0) -> Jaxpr:
        return jaxpr.memo(with_token, index)


TOKENS = TokenThread()
