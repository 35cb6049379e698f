"""One run: every measure of a subject, every peer in turn, round after round.

    round 1:  add: A B C   index: A B C   …
    round 2:  add: A B C   index: A B C   …

A subject's workers live through its rounds, so the peers' caches stay warm, and end
with it, so that no subject sees what another has done to its process.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from math import isclose
from statistics import median

from benchmarks.measure import COVECTOR, Measure
from benchmarks.worker import Binding, Failure, Request, Sample, Worker


@dataclass(frozen=True)
class Effort:
    """How long to look: rounds, and seconds per program and round."""

    rounds: int
    budget: float
    tiny: bool = False


FULL = Effort(rounds=5, budget=0.1)
QUICK = Effort(rounds=2, budget=0.03)
TINY = Effort(rounds=1, budget=0.0, tiny=True)


@dataclass
class Row:
    """What the peers answered to one measure."""

    subject: str
    measure: Measure
    answers: dict[str, list[Sample]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, peer: str, answer: Sample | Failure) -> None:
        if isinstance(answer, Failure):
            self.failures[peer] = answer.error
        else:
            self.answers.setdefault(peer, []).append(answer)

    def seconds(self, peer: str) -> float | None:
        """The median over rounds, or None when the peer has no complete answer."""
        if peer in self.failures or peer not in self.answers:
            return None
        return median(sample.seconds for sample in self.answers[peer])

    def ratios(self, peer: str) -> list[float]:
        """covector's time over ``peer``'s, round by round."""
        if self.seconds(COVECTOR) is None or self.seconds(peer) is None:
            return []
        pairs = zip(self.answers[COVECTOR], self.answers[peer], strict=True)
        return [own.seconds / other.seconds for own, other in pairs]

    def differs(self, peer: str) -> bool:
        """Whether ``peer`` computed something else than covector did."""
        if self.seconds(COVECTOR) is None or self.seconds(peer) is None:
            return False
        own, other = self.answers[COVECTOR][0], self.answers[peer][0]
        if own.digest == other.digest or own.sums is None or other.sums is None:
            return False
        if self.measure.same == "bits":
            return True
        near = 1e-3 * max(own.sums[1], other.sums[1])
        pairs = zip(own.sums, other.sums, strict=True)
        return not all(isclose(a, b, abs_tol=near) for a, b in pairs)


def run_subject(
    subject: str,
    bindings: Iterable[Binding],
    effort: Effort,
    wanted: Callable[[str], bool] = lambda name: True,
) -> list[Row]:
    """The rows of the measures module ``subject`` whose names are wanted."""
    measures = import_module(subject).measures(effort.tiny)
    title = import_module(subject).TITLE
    rows = [Row(title, m) for m in measures if wanted(m.name)]
    workers = [Worker(binding, subject, effort.tiny) for binding in bindings]
    try:
        for _ in range(effort.rounds):
            for row in rows:
                ask_all(row, workers, effort.budget)
    finally:
        for worker in workers:
            worker.stop()
    return rows


def ask_all(row: Row, workers: Iterable[Worker], budget: float) -> None:
    """One round of one measure: every peer that has a program and has not failed."""
    for worker in workers:
        peer = worker.binding.peer
        if row.measure.setup_for(peer) is not None and peer not in row.failures:
            row.add(peer, worker.ask(Request(row.measure.name, budget)))
