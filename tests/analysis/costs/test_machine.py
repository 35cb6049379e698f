"""``machine_limits``: what is measured, and where it is kept."""

import dataclasses
import json
import re

import pytest

import covector as cv
from covector import errors, options
from covector.analysis import MachineLimits, machine_limits
from covector.analysis.costs import machine

RATES = dict.fromkeys(machine._DTYPES, 1e9)
CACHED = tuple([(12 * n, 4e9) for n in machine._CACHED])
SLOW = MachineLimits("slow", "cpu", 1e9, RATES, 1e9, 1e8, "2026-01-01", CACHED)


@pytest.fixture(autouse=True)
def measured(tmp_path, monkeypatch):
    """The devices that are measured; nothing is known before."""
    found = []
    monkeypatch.setattr(machine, "known", {})
    monkeypatch.setattr(machine, "folder", tmp_path / "a" / "b")
    monkeypatch.setattr(machine, "measured", lambda d: (found.append(d), SLOW)[1])
    return found


def the_file(tmp_path):
    (path,) = (tmp_path / "a" / "b").iterdir()
    return path


def test_a_machine_is_measured_once_in_a_process(measured):
    assert machine_limits() is machine_limits(cv.devices()[0])
    assert measured == [cv.devices()[0]]


def test_what_was_measured_is_kept_for_other_processes(measured):
    first = machine_limits()
    machine.known.clear()
    assert machine_limits() == first
    assert len(measured) == 1


def test_a_file_that_is_not_as_it_must_be_is_measured_anew_and_replaced(
    measured, tmp_path
):
    machine_limits()
    path = the_file(tmp_path)
    good = path.read_text()
    content = json.loads(good)
    other = {"key": "another jaxlib", "limits": content["limits"]}
    damaged = ["", "{", "[]", "null", "\x00\xff", "[" * 100_000, json.dumps(other)]
    for name, value in [
        ("bytes_per_s", -1.0),
        ("bytes_per_s", "fast"),
        ("bytes_per_s", float("nan")),
        ("flops_per_s", {"float32": 1e9}),
        ("flops_per_s", [1e9]),
        ("name", None),
        ("cached", []),
        ("cached", [[n, 0.0] for n, _ in CACHED]),
        ("cached", 7),
        ("further", 1.0),
    ]:
        damaged.append(
            json.dumps(content | {"limits": content["limits"] | {name: value}})
        )
    for k, text in enumerate(damaged):
        path.write_text(text)
        machine.known.clear()
        assert machine_limits() == SLOW
        assert len(measured) == k + 2, text[:80]
        assert path.read_text() == good


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path, monkeypatch):
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    monkeypatch.setattr(machine, "folder", no_folder)
    assert machine_limits() == SLOW


def test_measured_again_the_larger_limits_are_kept(monkeypatch):
    machine_limits()
    rates = {"float32": 9e9, "float64": 1.0, "bfloat16": 9e9}
    cached = tuple([(n, 5e9) for n, _ in CACHED])
    now = dataclasses.replace(SLOW, bytes_per_s=1.0, flops_per_s=rates, cached=cached)
    monkeypatch.setattr(machine, "measured", lambda device: now)
    found = machine_limits(measure=True)
    assert found.bytes_per_s == 1e9
    assert found.flops_per_s == {"float32": 9e9, "float64": 1e9, "bfloat16": 9e9}
    assert found.flops_in("int8") == 9e9
    assert found.cached == cached


def test_what_a_cache_holds_is_read_at_its_bandwidth():
    limits = dataclasses.replace(SLOW, cached=((1000, 3e9), (50_000, 4e9)))
    sizes = [10, 1000, 2000, 50_000, 50_001]
    assert [limits.bandwidth(n) for n in sizes] == [4e9, 4e9, 4e9, 4e9, 1e9]


def test_a_device_of_another_process_is_refused(monkeypatch):
    monkeypatch.setattr(machine.client, "is_local", lambda device: False)
    with pytest.raises(errors.DeviceError, match="devices of this process, but"):
        machine_limits()


def test_what_is_measured_runs_and_takes_some_time():
    trials = [machine._triad, machine._sums_and_products, machine._square_roots]
    trials += [machine._product(dtype) for dtype in machine._DTYPES]
    with machine._undisturbed():
        rates = [machine._best_rate(t, [8], cv.devices()[0]) for t in trials]
    assert all(rate > 0 for rate in rates)


def test_each_step_of_a_triad_reads_and_writes_its_arrays():
    """They were four steps in one pass, so memory seemed four times as fast."""
    sizes = [*machine._CACHED, 2**22]
    with machine._undisturbed():
        for n in sizes:
            triads, arrays, amount = machine._triad(n)
            steps = (amount - 8 * n) // (12 * n)
            program = cv.jit(triads).lower(*arrays).compile().as_text()
            (kernel,) = re.findall(r"fused_computation \(.*?\n}", program, re.DOTALL)
            assert f'"known_trip_count":{{"n":"{steps}"}}' in program
            assert kernel.count(" multiply(") == 1


def test_measuring_minds_neither_options_nor_what_is_traced():
    rates = []

    @cv.jit
    def traced(x):
        with (
            options.override(no_recompile="strict", disable_jit=True),
            machine._undisturbed(),
        ):
            rates.append(machine._best_rate(machine._triad, [8], cv.devices()[0]))
        return x

    traced(1.0)
    assert rates[0] > 0
