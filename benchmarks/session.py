"""One run: every measure of a subject, every peer in turn, round after round.

    add:    A B C prepare and are compared;  A B C   A B C   A B C
    index:  A B C prepare and are compared;  A B C   A B C   A B C   …

The peers of a row alternate within seconds, so that what else runs on the machine
meets them all. A row that is close to a peer gets more rounds; a peer that is far
behind is timed once. A subject's workers live as long as the subject, so that no
subject sees what another has done to its process; they hold the arrays of one row at a
time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import isclose

from benchmarks.measure import BEST, COVECTOR, Measure
from benchmarks.worker import Binding, Failure, Request, Sample, Worker

CLOSE = 2.0
"""A row whose best peer is within this factor of covector gets all rounds."""

FAR = 8.0
"""A peer that takes so many times the least time of the row is timed once."""


@dataclass(frozen=True)
class Effort:
    """How long to look: rounds, at most so many, and seconds per program and round."""

    rounds: int
    most: int
    budget: float
    tiny: bool = False


FULL = Effort(rounds=3, most=6, budget=0.1)
QUICK = Effort(rounds=2, most=2, budget=0.03)
TINY = Effort(rounds=1, most=1, budget=0.0, tiny=True)


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
        """The least of all rounds, or None when the peer has no complete answer."""
        if peer == BEST:
            peer = self.best_peer() or ""
        if peer in self.failures or peer not in self.answers:
            return None
        return min(sample.seconds for sample in self.answers[peer])

    def best_peer(self) -> str | None:
        """The fastest of the peers that compute what covector computes."""
        times = {
            peer: seconds
            for peer in self.answers
            if peer != COVECTOR and not self.differs(peer)
            if (seconds := self.seconds(peer)) is not None
        }
        return min(times, key=lambda peer: times[peer], default=None)

    def ratio(self, peer: str) -> float | None:
        """covector's least time over that of ``peer``."""
        own, other = self.seconds(COVECTOR), self.seconds(peer)
        return None if own is None or other is None else own / other

    def ratios(self, peer: str) -> list[float]:
        """covector's time over that of ``peer``, round by round."""
        if peer == BEST:
            peer = self.best_peer() or ""
        if self.ratio(peer) is None:
            return []
        pairs = zip(self.answers[COVECTOR], self.answers[peer], strict=False)
        return [own.seconds / other.seconds for own, other in pairs]

    def differs(self, peer: str) -> bool:
        """Whether ``peer`` computed something else than covector did."""
        if self.seconds(COVECTOR) is None or self.seconds(peer) is None:
            return False
        if peer not in self.measure.compared:
            return False
        own, other = self.answers[COVECTOR][0], self.answers[peer][0]
        if own.digest == other.digest or own.sums is None or other.sums is None:
            return False
        if self.measure.same == "bits":
            return True
        near = 1e-3 * max(own.sums[1], other.sums[1])
        pairs = zip(own.sums, other.sums, strict=True)
        return not all(isclose(a, b, abs_tol=near) for a, b in pairs)

    def is_close(self) -> bool:
        """Whether more rounds may change who is faster."""
        ratio = self.ratio(BEST)
        return ratio is not None and 1 / CLOSE < ratio < CLOSE

    def is_far(self, peer: str) -> bool:
        """Whether more rounds will not bring ``peer`` near the fastest."""
        times = [self.seconds(p) for p in self.answers]
        least = min([t for t in times if t is not None], default=0.0)
        own = self.seconds(peer)
        return peer != COVECTOR and own is not None and own > FAR * least


def run_subject(
    subject: str,
    bindings: Iterable[Binding],
    effort: Effort,
    wanted: Callable[[str], bool] = lambda name: True,
    tell: Callable[[Row], object] = lambda row: None,
) -> list[Row]:
    """The rows of the measures module ``subject`` whose names are wanted; each is told
    when it is done.
    """
    measures = import_module(subject).measures(effort.tiny)
    title = import_module(subject).TITLE
    rows = [Row(title, m) for m in measures if wanted(m.name)]
    workers = [Worker(binding, subject, effort.tiny) for binding in bindings]
    try:
        for row in rows:
            run_row(row, workers, effort)
            tell(row)
    finally:
        for worker in workers:
            worker.stop()
    return rows


def run_row(row: Row, workers: Sequence[Worker], effort: Effort) -> None:
    """All rounds of one measure: every peer that has a program and has not failed."""
    name = row.measure.name
    asked = [w for w in workers if row.measure.setup_for(w.binding.peer)]
    for worker in asked:
        answer = worker.ask(Request(name))
        if isinstance(answer, Failure):
            row.add(worker.binding.peer, answer)
    for turn in range(effort.most):
        if turn >= effort.rounds and not row.is_close():
            break
        for worker in asked:
            peer = worker.binding.peer
            if peer not in row.failures and not (turn and row.is_far(peer)):
                row.add(peer, worker.ask(Request(name, effort.budget)))
