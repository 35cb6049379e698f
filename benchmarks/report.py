"""From rows to Markdown: times, ratios, verdicts, and what went wrong.

A verdict is about the medians. Next to it stands the range of the ratio over the
rounds; a missed goal that lies inside this range is marked as within the noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from benchmarks.measure import COVECTOR, JAX, Goal
from benchmarks.session import Row

PREFACE = """\
# covector beside its peers

Written by `python -m benchmarks`. Every peer runs in a process of its own; the peers
take turns, round after round. A time is the median over the rounds of the fastest batch
of a round, waiting for the result included. The ratio is covector's time over JAX's
(smaller is better), with its range over the rounds. A few tens of nanoseconds per call
are the loop of the benchmark itself.

Everyone runs with their defaults, except that caches on disk are off. covector's
default is to keep freed memory for later results (`COVECTOR_KEEP_MEMORY=0` changes it),
and the rows about large arrays and steps show that too.
"""

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def report(
    rows: Iterable[Row], peers: Sequence[str], facts: Mapping[str, str], rounds: int
) -> str:
    """The whole of ``results.md``."""
    rows = list(rows)
    machine = [f"- {name}: {fact}" for name, fact in facts.items()]
    parts = [PREFACE, "\n".join([*machine, f"- rounds: {rounds}"]), summary(rows)]
    for title, group in groupby(rows, lambda row: row.subject):
        parts += [f"## {title}", table(list(group), peers)]
    parts += notes(rows)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def table(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """The rows as a Markdown table."""
    shown = [p for p in peers if any(r.measure.setup_for(p) for r in rows)]
    head = ["measure", *shown, "ratio to JAX", "goal", "verdict"]
    lines = [head, ["---", *["---:"] * (len(shown) + 1), "---", "---"]]
    lines += [
        [
            row.measure.name,
            *(cell(row, peer) for peer in shown),
            ratio_text(row),
            "<br>".join(str(goal) for goal in row.measure.goals),
            "<br>".join(verdict(row, goal) for goal in row.measure.goals),
        ]
        for row in rows
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def summary(rows: Iterable[Row]) -> str:
    """How many goals are met."""
    verdicts = [verdict(row, goal) for row in rows for goal in row.measure.goals]
    met = sum(v.startswith("met") for v in verdicts)
    return f"**{met} of {len(verdicts)} goals met.**"


def cell(row: Row, peer: str) -> str:
    """What one peer needed; a number or what stands in its way."""
    if peer in row.failures:
        return "does not run"
    seconds = row.seconds(peer)
    return "" if seconds is None else duration(seconds)


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    scale, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    value = seconds / scale
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def ratio_to(row: Row, peer: str) -> float | None:
    own, other = row.seconds(COVECTOR), row.seconds(peer)
    return None if own is None or other is None else own / other


def ratio_text(row: Row) -> str:
    ratio = ratio_to(row, JAX)
    if ratio is None:
        return ""
    each = row.ratios(JAX)
    return f"{ratio:.3g} ({min(each):.3g}–{max(each):.3g})"


def verdict(row: Row, goal: Goal) -> str:
    """Met or missed and by how much; or why there is nothing to judge."""
    if COVECTOR in row.failures:
        return "missed: does not run"
    if goal.peer is not None and row.differs(goal.peer):
        return f"missed: not the same {row.measure.same} as {goal.peer}"
    if goal.peer is None:
        found = row.seconds(COVECTOR)
        each = [sample.seconds for sample in row.answers.get(COVECTOR, [])]
    else:
        found, each = ratio_to(row, goal.peer), row.ratios(goal.peer)
    if found is None:
        return "not measured"
    share = found / goal.limit
    if share <= 1:
        return f"met: {share:.2g} of the goal"
    noise = " (within the noise)" if min(each) <= goal.limit else ""
    return f"missed: {share:.3g} times the goal{noise}"


def notes(rows: Iterable[Row]) -> list[str]:
    """What a table has no room for: errors, differing results, reasons for a miss."""
    lines = []
    for row in rows:
        name = row.measure.name
        for peer, error in row.failures.items():
            lines.append(f"- {name}: {peer} does not run: {error}")
        lines += [
            f"- {name}: {peer} and covector do not compute the same {row.measure.same}."
            for peer in row.answers
            if row.differs(peer)
        ]
        missed = any(verdict(row, g).startswith("missed") for g in row.measure.goals)
        if missed and row.measure.reason:
            lines.append(f"- {name}: {row.measure.reason}")
    return ["## Notes", "\n".join(lines)] if lines else []
