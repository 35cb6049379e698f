"""From rows to Markdown: a summary, what is behind, a table by group, what went wrong.

Times are the least of all rounds, and verdicts are about their ratios. Next to the
ratio to JAX stands its range over the rounds; a missed goal that lies inside this range
is marked as within the noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import exp, log
from typing import Any

from benchmarks.measure import BEST, COVECTOR, JAX, NO_SLOWER, TIED, Goal
from benchmarks.reasons import reason
from benchmarks.session import Row

PREFACE = """\
# covector beside its peers

Written by `python -m benchmarks`. Every peer runs in a process of its own; the peers
take turns, round after round. Their results are compared before they are timed. A time
is the least over the rounds; calls are made one after the other, and the last is waited
for. Ratios are covector's time over a peer's: smaller is better. A few tens of
nanoseconds per call are the loop of the benchmark itself.

numpy is NumPy and SciPy, torch is eager PyTorch, compiled is `torch.compile`. Everyone
runs with their defaults, except that caches on disk are off. covector's default is to
keep freed memory for later results (`COVECTOR_KEEP_MEMORY=0` changes it), and the rows
about large arrays show that too.
"""

AHEAD = 0.95
"""Ratios below are ahead, ratios above a goal behind, those between tied."""

MOSTLY, MEAN, NEAR = 0.8, 0.9, 1.5
"""Goals: the share of rows that are tied with the best peer or ahead; the geometric
mean of the ratios to it; elementwise rows over the machine's limit."""

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def report(
    rows: Iterable[Row],
    peers: Sequence[str],
    facts: Mapping[str, str],
    limits: Any = None,
) -> str:
    """The whole of ``results.md``."""
    rows = list(rows)
    machine = [f"- {name}: {fact}" for name, fact in facts.items()]
    parts = [PREFACE, "\n".join(machine), "## Summary"]
    parts += ["\n".join(summary(rows, limits)), by_group(rows), *losses(rows)]
    for title, group in groupby(rows, lambda row: row.subject):
        parts += [f"## {title}", table(list(group), peers, limits)]
    parts += notes(rows)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


# -- the summary -----------------------------------------------------------------------


def summary(rows: Sequence[Row], limits: Any) -> list[str]:
    """The goals of all rows together, and those of single rows."""
    to_jax = [row for row in rows if row.ratio(JAX) is not None]
    to_best = [row for row in rows if row.ratio(BEST) is not None]
    behind = [row for row in to_jax if verdict(row, NO_SLOWER).startswith("missed")]
    sure = [row for row in behind if "noise" not in verdict(row, NO_SLOWER)]
    level = [row for row in to_best if verdict(row, TIED).startswith("met")]
    memory = [r for r in rows if r.subject == "Elementwise" and beyond_caches(r)]
    over = [x for row in memory if (x := to_limit(row, limits)) is not None]
    single = [verdict(row, goal) for row in rows for goal in row.measure.goals]
    lines = [
        f"- JAX: {len(behind)} of {len(to_jax)} rows are above {NO_SLOWER.limit} of "
        f"its time, {len(sure)} of them outside the noise (goal: 0); geometric mean "
        f"{mean(to_jax, JAX)}.",
        f"- The best peer of each row: {len(level)} of {len(to_best)} rows are at most "
        f"{TIED.limit} of its time, {100 * share(level, to_best):.0f} % (goal: "
        f"{100 * MOSTLY:.0f} %); geometric mean {mean(to_best, BEST)} (goal: {MEAN}).",
    ]
    if over:
        met = sum(x <= NEAR for x in over)
        lines.append(
            f"- The machine: {met} of {len(over)} elementwise rows beyond its caches "
            f"take at most {NEAR} of what memory allows (goal: all)."
        )
    met = sum(v.startswith("met") for v in single)
    return [*lines, f"- Single rows: {met} of {len(single)} goals met."]


def by_group(rows: Sequence[Row]) -> str:
    """How many rows of each group are ahead, tied and behind, and geometric means."""
    words = ["ahead", "tied", "behind", "mean"]
    head = [
        "group",
        "rows",
        *[f"{w}, JAX" for w in words],
        *[f"{w}, best" for w in words],
    ]
    groups = [(title, list(g)) for title, g in groupby(rows, lambda row: row.subject)]
    body = [counts(title, group) for title, group in groups]
    return markdown(head, "lrrrrrrrrr", [*body, counts("**all**", rows)])


def counts(title: str, rows: Sequence[Row]) -> list[str]:
    cells = [title, str(len(rows))]
    for goal in (NO_SLOWER, TIED):
        standings = [standing(row, goal) for row in rows]
        cells += [str(standings.count(w) or "") for w in ("ahead", "tied", "behind")]
        cells.append(mean(rows, goal.peer or ""))
    return cells


def standing(row: Row, goal: Goal) -> str:
    """Ahead, tied or behind the peer of a goal; nothing without a ratio."""
    ratio = row.ratio(goal.peer or "")
    if ratio is None:
        return ""
    return "ahead" if ratio < AHEAD else "tied" if ratio <= goal.limit else "behind"


def mean(rows: Iterable[Row], peer: str) -> str:
    """The geometric mean of the ratios to a peer."""
    ratios = [ratio for row in rows if (ratio := row.ratio(peer)) is not None]
    if not ratios:
        return ""
    return f"{exp(sum(log(ratio) for ratio in ratios) / len(ratios)):.2f}"


def share(some: Sequence[Row], of: Sequence[Row]) -> float:
    return len(some) / len(of) if of else 0.0


def losses(rows: Sequence[Row]) -> list[str]:
    """Every row that is behind JAX or behind the best peer, worst first, and why."""
    behind = [
        row
        for row in rows
        if "behind" in (standing(row, NO_SLOWER), standing(row, TIED))
    ]
    if not behind:
        return []
    behind.sort(key=lambda row: -(row.ratio(BEST) or 0.0))
    body = [
        [
            f"{row.subject}: {row.measure.name}",
            number(row.ratio(JAX)) + noise(row, NO_SLOWER),
            f"{number(row.ratio(BEST))} {row.best_peer()}" + noise(row, TIED),
            reason(row.subject, row.measure.name),
        ]
        for row in behind
    ]
    head = ["workload", "ratio to JAX", "ratio to the best", "why"]
    return ["## Behind", markdown(head, "lrrl", body)]


def noise(row: Row, goal: Goal) -> str:
    return " (noise)" if "noise" in verdict(row, goal) else ""


# -- tables ----------------------------------------------------------------------------


def table(rows: Sequence[Row], peers: Sequence[str], limits: Any) -> str:
    """The rows as a Markdown table."""
    shown = [p for p in peers if any(r.measure.setup_for(p) for r in rows)]
    bounded = limits is not None and any(row.measure.bound for row in rows)
    own = any(row.measure.goals for row in rows)
    head = ["measure", *shown, "ratio to JAX", "ratio to the best"]
    head += ["÷ limit"] * bounded + ["goal", "verdict"] * own
    body = [
        [
            row.measure.name,
            *(cell(row, peer) for peer in shown),
            ratio_text(row),
            f"{number(row.ratio(BEST))} {row.best_peer() or ''}".strip(),
            *[number(to_limit(row, limits))] * bounded,
            *["<br>".join(str(goal) for goal in row.measure.goals)] * own,
            *["<br>".join(verdict(row, goal) for goal in row.measure.goals)] * own,
        ]
        for row in rows
    ]
    right = len(shown) + 2 + bounded
    return markdown(head, "l" + "r" * right + "ll" * own, body)


def markdown(head: Sequence[str], sides: str, body: Iterable[Sequence[str]]) -> str:
    """A table; ``sides`` has l or r for each column."""
    rule = ["---:" if side == "r" else "---" for side in sides]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body])


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


def number(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"


def ratio_text(row: Row) -> str:
    each = row.ratios(JAX)
    if not each:
        return ""
    return f"{number(row.ratio(JAX))} ({min(each):.3g}–{max(each):.3g})"


def to_limit(row: Row, limits: Any) -> float | None:
    """covector's time over the least that this machine could need."""
    own, bound = row.seconds(COVECTOR), row.measure.bound
    if own is None or bound is None or limits is None:
        return None
    return own / bound.seconds(limits)


def beyond_caches(row: Row) -> bool:
    bound = row.measure.bound
    return bound is not None and bound.bytes > 64e6 and not bound.flops


def verdict(row: Row, goal: Goal) -> str:
    """Met or missed and by how much; or why there is nothing to judge."""
    if COVECTOR in row.failures:
        return "missed: does not run"
    if goal.peer in row.answers and row.differs(goal.peer):
        return f"missed: not the same {row.measure.same} as {goal.peer}"
    if goal.peer is None:
        found = row.seconds(COVECTOR)
        each = [sample.seconds for sample in row.answers.get(COVECTOR, [])]
    else:
        found, each = row.ratio(goal.peer), row.ratios(goal.peer)
    if found is None:
        return "not measured"
    share = found / goal.limit
    if share <= 1:
        return f"met: {share:.2g} of the goal"
    noise = " (within the noise)" if min(each) <= goal.limit else ""
    return f"missed: {share:.3g} times the goal{noise}"


# -- notes -----------------------------------------------------------------------------


def notes(rows: Iterable[Row]) -> list[str]:
    """What a table has no room for: errors, and results that differ."""
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
        missed = [g for g in row.measure.goals if verdict(row, g).startswith("missed")]
        if missed and (why := reason(row.subject, name)):
            lines.append(f"- {name}: {why}")
    return ["## Notes", "\n".join(lines)] if lines else []
