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
BEST = "the best peer"

MODULES = {
    COVECTOR: "covector",
    JAX: "jax",
    "numpy": "numpy",
    "torch": "torch",
    "compiled": "torch",
    "numba": "numba",
    "autograd": "autograd",
}
"""The module that a peer's programs are given. numpy stands for NumPy and SciPy, torch
for eager PyTorch, compiled for ``torch.compile``."""

PEERS = tuple(MODULES)


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

TIED = Goal(1.1, BEST)


@dataclass(frozen=True)
class Bound:
    """What a program must do at least: bytes to read and write, FLOPs in a dtype."""

    bytes: float = 0.0
    flops: float = 0.0
    dtype: str = "float32"

    def seconds(self, limits: Any) -> float:
        """The least time on a machine with these ``machine_limits``."""
        moving = self.bytes / limits.bandwidth(self.bytes)
        return max(moving, self.flops / limits.flops_in(self.dtype))


@dataclass(frozen=True)
class Measure:
    """One row.

    Attributes:
      name: what is timed, in words; unique within its subject.
      program: the setup for covector and for JAX, which share their API.
      others: the setups of further peers, by name.
      goals: what covector is to reach besides the goals of every row.
      clocked: the timed callable times itself and returns seconds. For work that can
        be done only once per fresh input, such as compiling.
      samples: how many samples one round takes at least; exactly, when ``clocked``.
      per: the time is divided by this, e.g. by the number of operations in a program.
      same: what the results of all peers must share: "value", "bits" or nothing.
      compared: the peers whose results are compared with covector's; default: all.
      bound: what the program must do at least, if that says something.
    """

    name: str
    program: Setup
    others: Mapping[str, Setup] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    clocked: bool = False
    samples: int = 1
    per: int = 1
    same: str = "value"
    compared: tuple[str, ...] = PEERS
    bound: Bound | None = None

    def setup_for(self, peer: str) -> Setup | None:
        """The program of ``peer``, or None when the row is not for it."""
        return self.program if peer in (COVECTOR, JAX) else self.others.get(peer)
