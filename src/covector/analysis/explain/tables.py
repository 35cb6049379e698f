"""An explanation as titled tables of short texts, whatever draws them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from covector.analysis.explain import data
from covector.analysis.explain.data import Data
from covector.analysis.terminal import Row, Table, show_seconds
from covector.core.sizes import show_bytes, show_count

#: what the scope of a line says in the backward pass
BACKWARD = "transpose("
#: fusions, values and changes that a table shows
MOST_ROWS = 8
#: the same of lines, if nothing else is asked for
MOST_LINES = 40

_INDEX = re.compile(r"\[\d+\]")


def tables(whole: Data, lines: int = MOST_LINES) -> list[Table]:
    """All tables of an explanation, with at most so many lines of the program."""
    found = [_summary(whole), _lines(whole, lines), _memory(whole), _graph(whole)]
    if whole.optimisation is not None:
        found += _optimisation(whole, whole.optimisation)
    if whole.roofline is not None:
        found.append(_roofline(whole, whole.roofline))
    return [*found, _compilation(whole)]


# -- numbers ---------------------------------------------------------------------------


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _intensity(intensity: float | None) -> str:
    return "–" if intensity is None else f"{intensity:.2g}"


def _file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def at_line(line: data.ProgramLine) -> str:
    """``model.py:12``, and that it is the backward pass."""
    backward = " backward" if is_backward(line) else ""
    return f"{_file(line.file)}:{line.line}{backward}" if line.file else "no line"


def is_backward(line: data.ProgramLine) -> bool:
    """Whether the line is run backwards, for a derivative."""
    return BACKWARD in line.scope


def _at_lines(whole: Data, lines: Iterable[int | None]) -> str:
    known = [at_line(whole.lines[i]) for i in lines if i is not None]
    shown = list(dict.fromkeys(known))
    return ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")


# -- the tables ------------------------------------------------------------------------


def _summary(whole: Data) -> Table:
    t = whole.totals
    shown = [
        f"{t.equations} operations",
        f"{show_count(t.flops)}FLOP" if t.flops >= 1000 else f"{t.flops:.0f} FLOP",
        f"{show_bytes(t.bytes)} moved",
        f"{_intensity(t.intensity)} FLOP per byte",
    ]
    held = [
        f"arguments {show_bytes(t.argument_bytes)}",
        f"results {show_bytes(t.result_bytes)}",
        f"peak {show_bytes(t.peak_bytes)}",
    ]
    if t.compiled_peak_bytes is not None:
        held.append(f"as compiled {show_bytes(t.compiled_peak_bytes)}")
    sentences = [", ".join(shown), ", ".join(held)]
    times = []
    if t.lower_bound_s is not None:
        times.append(f"at least {show_seconds(t.lower_bound_s)} on this machine")
    if t.measured_s is not None:
        times.append(f"measured {show_seconds(t.measured_s)}")
    if times:
        sentences.append(", ".join(times))
    return Table(f"{whole.name} on {whole.device}", tuple(sentences))


_COLUMNS = ("line", "source", "ops", "FLOP", "bytes", "FLOP/B", "time", "made", "kept")


def _lines(whole: Data, most: int) -> Table:
    measured = whole.totals.measured_s is not None
    columns = (*_COLUMNS[:7], "measured", *_COLUMNS[7:]) if measured else _COLUMNS
    tree = _Tree(whole, most)
    rows = tuple([row for root in tree.groups() for row in tree.shown(root, measured)])
    hidden = len(whole.lines) - len(tree.chosen)
    sentences = []
    if hidden:
        share = 1 - sum([whole.lines[i].estimated_share for i in tree.chosen])
        sentences.append(
            f"{hidden} more lines with {_share(max(share, 0))} of the time"
        )
    optional = ("ops", "bytes", "kept", "made", "FLOP/B")
    return Table("by line", tuple(sentences), columns, rows, 2, optional)


class _Totals(NamedTuple):
    """The cost of a line with all that runs inside of it."""

    operations: int
    flops: float
    bytes: float
    share: float
    measured: float


class _Tree:
    """The lines that are shown: the costliest, and those around them."""

    def __init__(self, whole: Data, most: int) -> None:
        self.whole = whole
        self.children: dict[int | None, list[int]] = {}
        for i, line in enumerate(whole.lines):
            self.children.setdefault(line.parent, []).append(i)
        self.totals: dict[int, _Totals] = {}
        for i in reversed(range(len(whole.lines))):
            self.totals[i] = self._total(i)
        order = sorted(
            range(len(whole.lines)),
            key=lambda i: (whole.lines[i].estimated_share, whole.lines[i].bytes),
            reverse=True,
        )
        self.chosen: set[int] = set()
        for i in order:
            missing = self._missing(i)
            if len(self.chosen) + len(missing) <= most:
                self.chosen.update(missing)

    def _total(self, i: int) -> _Totals:
        line = self.whole.lines[i]
        inside = [self.totals[k] for k in self.children.get(i, ())]
        own = _Totals(
            len(line.equations),
            line.flops,
            line.bytes,
            line.estimated_share,
            line.measured_share or 0,
        )
        return _Totals(*map(sum, zip(own, *inside, strict=True)))

    def _missing(self, i: int) -> list[int]:
        """The line and those around it that are not chosen yet."""
        found: list[int] = []
        at: int | None = i
        while at is not None and at not in self.chosen:
            found.append(at)
            at = self.whole.lines[at].parent
        return found

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """The outermost lines by function, the backward pass after the forward one."""
        found: dict[tuple[bool, str, str], list[int]] = {}
        for i in self.children.get(None, ()):
            line = self.whole.lines[i]
            if i in self.chosen:
                key = is_backward(line), line.file, line.function
                found.setdefault(key, []).append(i)
        for (backward, file, function), members in found.items():
            where = f"{function} ({_file(file)})" if file else "no line"
            yield where + (", backward" if backward else ""), members

    def shown(self, group: tuple[str, list[int]], measured: bool) -> Iterator[Row]:
        title, members = group
        columns = len(_COLUMNS) + measured
        yield Row(("", title, *[""] * (columns - 2)), heading=True)
        for i in self._in_order(members):
            yield from self._rows(i, 0, measured)

    def _in_order(self, members: Iterable[int]) -> list[int]:
        kept = [i for i in members if i in self.chosen]
        lines = self.whole.lines
        return sorted(kept, key=lambda i: (lines[i].file, lines[i].line))

    def _rows(self, i: int, depth: int, measured: bool) -> Iterator[Row]:
        line, total = self.whole.lines[i], self.totals[i]
        source = line.source or line.function or "no line"
        source = "  " * depth + self._steps(line) + source
        cells = [
            str(line.line or ""),
            source,
            str(total.operations),
            show_count(total.flops),
            show_bytes(total.bytes),
            _intensity(total.flops / total.bytes if total.bytes else None),
            _share(total.share),
            show_bytes(line.memory_made),
            show_bytes(line.memory_kept),
        ]
        if measured:
            cells.insert(7, _share(total.measured))
        yield Row(tuple(cells), share=total.share)
        for k in self._in_order(self.children.get(i, ())):
            yield from self._rows(k, depth + 1, measured)

    def _steps(self, line: data.ProgramLine) -> str:
        """The number of runs of a line in each run of what is around it, if not one."""
        if line.parent is None:
            return ""
        around = self.whole.lines[line.parent]
        if around.times_known and not line.times_known:
            return "×? " if around.kind == "loop" else "×0–1 "
        if line.times == around.times:
            return ""
        return f"×{line.times // max(around.times, 1)} "


def _memory(whole: Data) -> Table:
    peak = whole.memory.peak
    alike: dict[tuple[str, str], list[float]] = {}
    for held in peak.values:
        value = whole.values[held.value]
        origin = value.argument or _at_lines(whole, [held.line])
        key = value.type, _INDEX.sub("[…]", origin)
        alike.setdefault(key, []).append(held.bytes)
    rows = []
    for (type, origin), sizes in alike.items():
        size, count = sum(sizes), f"{len(sizes)} × " if len(sizes) > 1 else ""
        share = size / peak.bytes if peak.bytes else 0
        cells = (count + type, origin, show_bytes(size), _share(share))
        rows.append(Row(cells, share=share))
    rows.sort(key=lambda row: -(row.share or 0))
    where = "at the start"
    if 0 <= peak.position < len(whole.equations):
        e = whole.equations[peak.position]
        where = f"at {at_line(whole.lines[e.line])} ({e.operation})"
    sentence = f"the peak is {show_bytes(peak.bytes)} {where}, held by"
    columns = ("value", "from", "bytes", "share")
    return Table("memory", (sentence,), columns, _first(rows), texts=2)


def _graph(whole: Data) -> Table:
    graph = whole.graph
    path = [whole.equations[i] for i in graph.critical_path]
    flops = show_count(graph.critical_path_flops)
    sentence = (
        f"{len(graph.levels)} levels, at most {graph.width} operations at once; the "
        f"critical path has {len(path)} operations and {flops} FLOP"
    )
    lines = Counter([e.line for e in path])
    rows = [
        Row((at_line(whole.lines[i]), whole.lines[i].source, str(count)))
        for i, count in lines.most_common(MOST_ROWS)
    ]
    columns = ("critical path", "source", "operations")
    return Table("data flow", (sentence,), columns, tuple(rows), texts=2)


def _optimisation(whole: Data, found: data.Optimisation) -> list[Table]:
    before, after = found.before, found.after
    counts = (
        f"{before.equations} operations → {before.instructions} instructions → "
        f"{after.instructions} after optimisation, in {after.kernels} kernels, "
        f"{after.fusions} of them fusions"
    )
    changes = [
        Row((c.kind, _at_lines(whole, c.lines), c.reason, str(c.count)))
        for c in found.changes
    ]
    not_done = [
        Row((n.what, _at_lines(whole, [n.line]), n.reason)) for n in found.not_done
    ]
    costly = sorted(found.fusions, key=lambda f: f.lower_bound_s or 0, reverse=True)
    kernels = [
        Row(
            (
                f.name,
                _at_lines(whole, f.lines),
                " ".join(f.operations[:6]) + (" …" if len(f.operations) > 6 else ""),
                show_count(f.flops),
                show_bytes(f.bytes),
                show_seconds(f.lower_bound_s),
                show_seconds(f.measured_s),
            )
        )
        for f in costly[:MOST_ROWS]
    ]
    return [
        Table(
            "what XLA did",
            (counts,),
            ("change", "at", "reason", "count"),
            _first(changes),
            texts=3,
        ),
        Table("what it did not", (), ("what", "at", "reason"), _first(not_done), 3),
        Table(
            "kernels",
            (),
            ("kernel", "at", "operations", "FLOP", "bytes", "at least", "measured"),
            tuple(kernels),
            texts=3,
        ),
    ]


def _first(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(rows[:MOST_ROWS])


def _roofline(whole: Data, found: data.Roofline) -> Table:
    sentences = [f"no run takes less than {show_seconds(found.lower_bound_s)}"]
    machine = whole.machine
    if machine is not None:
        rates = ", ".join(
            [f"{show_count(n)}FLOP/s in {d}" for d, n in machine.flops_per_s.items()]
        )
        sentences.append(
            f"{machine.name}: {show_bytes(machine.bytes_per_s)}/s, {rates}"
        )
    rows = [
        Row((at_line(whole.lines[g.line]), g.why, show_seconds(g.seconds)))
        for g in found.gains
    ]
    columns = ("most to gain at", "why", "at most")
    return Table("limits of the machine", tuple(sentences), columns, tuple(rows), 2)


def _compilation(whole: Data) -> Table:
    c = whole.compilation
    cached = " (it was known already)" if c.cached else ""
    times = (
        f"traced in {show_seconds(c.trace_s)}, lowered in {show_seconds(c.lower_s)}, "
        f"compiled in {show_seconds(c.compile_s)}{cached}"
    )
    sentences = [times]
    if c.recompiled_because is not None:
        sentences.append(f"compiled again because {c.recompiled_because}")
    slow = sorted(c.functions, key=lambda f: f.trace_s, reverse=True)
    functions = [Row((f.name, "traced", show_seconds(f.trace_s))) for f in slow]
    collectives = [
        Row((_communication(x), _at_lines(whole, [x.line]), show_bytes(x.bytes)))
        for x in c.collectives
    ]
    rows = (*_first(functions), *_first(collectives))
    columns = ("what", "at", "time or bytes")
    return Table("compilation", tuple(sentences), columns, rows, texts=2)


def _communication(x: data.CollectiveEntry) -> str:
    return f"{x.operation} over {', '.join(x.axes)}" if x.axes else x.operation
