"""The benchmark harness: every program runs, and no failing program ends a run."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks import kept
from benchmarks.measure import BEST, COVECTOR, JAX, Bound, Goal, Measure
from benchmarks.measures import SUBJECTS, reductions
from benchmarks.reasons import REASONS
from benchmarks.report import duration, report, verdict
from benchmarks.session import Effort, Row, run_subject
from benchmarks.worker import Binding, Failure, Sample, fingerprint
from covector.analysis import MachineLimits

ROOT = Path(__file__).parent.parent

SUBJECT = """
import os
from time import perf_counter
from benchmarks.measure import Goal, Measure

TITLE = "Made up"

def measures(tiny):
    return [
        Measure("runs", lambda module: lambda: module.sqrt(4.0), goals=(Goal(9.0),)),
        Measure("raises", lambda module: lambda: module.sqrt(-4.0)),
        Measure("crashes", lambda module: lambda: os._exit(3)),
        Measure("clocks itself", lambda module: lambda: 6e-3, clocked=True, per=2),
    ]
"""

BINDINGS = (Binding(COVECTOR, "math"), Binding(JAX, "cmath"))


@pytest.fixture
def rows(tmp_path, monkeypatch):
    (tmp_path / "made_up_subject.py").write_text(SUBJECT)
    monkeypatch.syspath_prepend(tmp_path)
    rows = run_subject(
        "made_up_subject", BINDINGS, Effort(rounds=2, most=2, budget=0.001)
    )
    return {row.measure.name: row for row in rows}


def row_of(covector, jax, *goals, **options):
    """A row with one sample per given time."""
    row = Row("Subject", Measure("name", program=None, goals=goals, **options))
    for peer, times in ((COVECTOR, covector), (JAX, jax)):
        for seconds in times:
            row.add(peer, Sample(seconds))
    return row


def benchmarks(*arguments):
    command = [sys.executable, "-m", "benchmarks", "--tiny", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_program_runs_in_covector():
    text = benchmarks("--peers", COVECTOR)
    assert "does not run" not in text
    assert "Compiling" in text


def test_the_peers_that_are_installed_compute_what_covector_computes():
    text = benchmarks("--only", "reductions")
    assert "does not run" not in text
    assert "not the same" not in text
    assert "argmax of rows" in text


def test_only_rows_that_were_asked_for_are_run():
    text = benchmarks("--only", "dispatch", "--peers", COVECTOR)
    assert "jit call, 1 leaf" in text
    assert "import" not in text.partition("goals met")[2]


def test_a_report_is_written_where_it_was_asked_for(tmp_path):
    output = tmp_path / "report.md"
    text = benchmarks("--only", "dispatch", "--peers", COVECTOR, "--output", output)
    assert output.read_text() == text


def test_a_round_of_every_measure_gives_a_sample(rows):
    assert len(rows["runs"].answers[COVECTOR]) == 2
    assert rows["runs"].seconds(COVECTOR) < 1e-3
    assert rows["clocks itself"].seconds(COVECTOR) == pytest.approx(3e-3)


def test_a_program_that_raises_is_told_with_its_error(rows):
    assert rows["raises"].failures == {COVECTOR: "ValueError: math domain error"}
    assert rows["raises"].seconds(JAX) is not None


def test_a_program_that_kills_its_process_does_not_end_the_run(rows):
    error = "the process ended (exit code 3)"
    assert rows["crashes"].failures == {COVECTOR: error, JAX: error}
    assert rows["clocks itself"].seconds(JAX) is not None


def test_errors_stand_below_the_table(rows):
    text = report(rows.values(), [COVECTOR, JAX], {"date": "today"})
    assert "| raises | does not run | " in text
    assert "- raises: covector does not run: ValueError: math domain error" in text


def test_a_peer_with_another_result_is_told(rows):
    row = rows["runs"]
    row.answers[JAX][0] = Sample(1.0, digest="", sums=(3.0, 3.0))
    assert verdict(row, Goal(9.0)) == "missed: not the same value as jax"


def test_not_a_number_is_another_result():
    row = Row("Subject", Measure("name", program=None))
    row.add(COVECTOR, Sample(1.0, digest="a", sums=(float("nan"), 1.0)))
    row.add(JAX, Sample(1.0, digest="b", sums=(1.0, 1.0)))
    assert row.differs(JAX)


def test_a_peer_that_draws_other_numbers_is_not_compared():
    row = Row("Subject", Measure("name", program=None, compared=(JAX,)))
    for peer, total in ((COVECTOR, 1.0), (JAX, 2.0), ("numpy", 3.0)):
        row.add(peer, Sample(1.0, digest=peer, sums=(total, total)))
    assert row.differs(JAX)
    assert not row.differs("numpy")


def test_bits_are_compared_exactly():
    row = Row("Subject", Measure("name", program=None, same="bits"))
    row.add(COVECTOR, Sample(1.0, digest="a", sums=(1.0, 1.0)))
    row.add(JAX, Sample(1.0, digest="b", sums=(1.0, 1.0)))
    assert row.differs(JAX)


@pytest.mark.parametrize(
    ("covector", "goal", "words"),
    [
        ([1.0, 1.0, 1.0], Goal(0.5), "met: 0.2 of the goal"),
        ([6.0, 6.0, 6.0], Goal(0.5), "missed: 1.2 times the goal"),
        ([9.0, 4.0, 9.0], Goal(0.5), "met: 0.8 of the goal"),
        ([2.0, 2.0, 2.0], Goal(1.0, peer=None), "missed: 2 times the goal"),
        ([2.0, 2.0, 2.0], Goal(1.0, peer="autograd"), "not measured"),
    ],
)
def test_a_verdict_says_by_how_much(covector, goal, words):
    assert verdict(row_of(covector, [10.0, 10.0, 10.0], goal), goal) == words


def test_a_miss_that_some_round_does_not_show_is_noise():
    row = row_of([6.0, 6.0], [10.0, 20.0])
    assert verdict(row, Goal(0.5)) == "missed: 1.2 times the goal (within the noise)"


def test_a_program_that_does_not_run_misses_its_goal():
    row = row_of([], [1.0], Goal(1.0))
    row.add(COVECTOR, Failure("ImportError"))
    assert verdict(row, Goal(1.0)) == "missed: does not run"


def test_a_missed_goal_comes_with_its_reason(monkeypatch):
    monkeypatch.setitem(REASONS, "Subject: na", "the moon is full")
    missed = row_of([9.0], [1.0], Goal(1.0))
    met = row_of([0.1], [1.0], Goal(1.0))
    text = report([missed, met], [COVECTOR, JAX], {})
    assert text.count("- name: the moon is full") == 1
    assert "- Single rows: 1 of 2 goals met." in text


def test_each_reason_is_that_of_a_row():
    titles = [
        f"{module.TITLE}: {measure.name}"
        for module in map(import_module, SUBJECTS)
        for measure in module.measures(tiny=False)
    ]
    first = {next((s for s in REASONS if re.match(s, t)), "") for t in titles}
    assert not set(REASONS) - first


def test_a_time_is_the_least_of_all_rounds():
    row = row_of([3.0, 2.0, 4.0], [4.0, 5.0, 8.0])
    assert row.ratio(JAX) == 0.5
    assert row.ratios(JAX) == [0.75, 0.4, 0.5]


def test_the_best_peer_is_one_that_computes_the_same():
    row = row_of([2.0], [4.0])
    row.add("numpy", Sample(3.0))
    row.add("torch", Sample(1.0, digest="b", sums=(1.0, 1.0)))
    row.answers[COVECTOR][0] = Sample(2.0, digest="a", sums=(5.0, 5.0))
    assert row.best_peer() == "numpy"
    assert row.ratio(BEST) == pytest.approx(2 / 3)


def test_rows_are_counted_by_group_against_jax_and_the_best_peer():
    rows = [row_of([1.0], [2.0]), row_of([1.0], [1.0]), row_of([4.0], [1.0])]
    rows[0].add("numpy", Sample(0.5))
    counted = "| Subject | 3 | 1 | 1 | 1 | 1.26 |  | 1 | 2 | 2.00 |"
    text = report(rows, [COVECTOR, JAX, "numpy"], {})
    assert counted in text
    assert "| Subject: name | 4 | 4 jax |  |" in text


def test_entries_that_changed_places_are_another_result():
    left, right = (fingerprint(np.arange(5.0)[::step]) for step in (1, -1))
    row = Row("Subject", Measure("name", program=None))
    row.add(COVECTOR, left)
    row.add(JAX, right)
    assert row.differs(JAX)


def test_rows_are_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    (name, *_) = [m.name for m in reductions.measures(tiny=False)]
    row = Row(reductions.TITLE, reductions.measures(tiny=False)[0])
    row.add(COVECTOR, Sample(1.0, digest="a", sums=(1.0, 2.0, 3.0)))
    row.add(JAX, Failure("no such module"))
    kept.write(reductions.__name__, [row])
    found = kept.read(reductions.__name__)[name]
    assert (found.answers, found.failures) == (row.answers, row.failures)


def test_the_machine_bounds_a_program_by_memory_or_by_arithmetic():
    limits = MachineLimits("", "cpu", 10.0, {"float32": 4.0}, 1.0, 1.0, "")
    assert Bound(bytes=100.0).seconds(limits) == 10.0
    assert Bound(bytes=100.0, flops=80.0).seconds(limits) == 20.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(2.0, "2.00 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.50 µs"), (2.5e-7, "250 ns")],
)
def test_a_duration_has_three_digits_and_a_unit(seconds, words):
    assert duration(seconds) == words


def test_the_front_page_shows_times_that_were_measured():
    """Name, covector's time and JAX's are the first cells of a row in both tables."""
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    results = (ROOT / "benchmarks" / "results.md").read_text("utf-8").splitlines()
    table = page.split("| measure |")[1].split("\n\n")[0].splitlines()
    shown, measured = (
        {tuple(cell.strip() for cell in row.split("|")[1:4]) for row in rows}
        for rows in (table[2:], results)
    )
    assert shown
    assert shown <= measured
