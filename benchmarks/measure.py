"""A measure: one row of the table, declared once.

A row is a name, a program per peer, and a goal. covector and JAX run one source, given
either module; the other peers have a program each. A program is a *setup*: it takes the
peer's module, does what must not be timed, and returns the callable that is timed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Setup: TypeAlias = Callable[[Any], Callable[[], Any]]

COVECTOR = "covector"
JAX = "jax"
PEERS = (COVECTOR, JAX, "numpy", "autograd", "torch")


@dataclass(frozen=True)
class Goal:
    """At most ``limit`` times the time of ``peer``; seconds when there is no peer."""

    limit: float
    peer: str | None = JAX

    def __str__(self) -> str:
        if self.peer is None:
            return f"≤ {self.limit * 1e3:g} ms"
        return f"≤ {self.limit:g} × {self.peer}"


NO_SLOWER = Goal(1.05)
"""As fast as JAX: one program timed twice on a quiet machine differs by up to 5 %."""


@dataclass(frozen=True)
class Measure:
    """One row.

    Attributes:
      name: what is timed, in words; unique within its subject.
      program: the setup for covector and for JAX, which share their API.
      others: the setups of further peers, by name.
      goals: what covector is to reach.
      clocked: the timed callable times itself and returns seconds. For work that can
        be done only once per fresh input, such as compiling.
      samples: how many samples one round takes at least; exactly, when ``clocked``.
      per: the time is divided by this, e.g. by the number of operations in a program.
      same: what the results of all peers must share: "value", "bits" or nothing.
      reason: why a goal is missed; printed below the table when it is.
    """

    name: str
    program: Setup
    others: Mapping[str, Setup] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    clocked: bool = False
    samples: int = 3
    per: int = 1
    same: str = "value"
    reason: str = ""

    def setup_for(self, peer: str) -> Setup | None:
        """The program of ``peer``, or None when the row is not for it."""
        return self.program if peer in (COVECTOR, JAX) else self.others.get(peer)
