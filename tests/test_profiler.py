"""Traces hold what ran, annotations name it, and the profiler is started once."""

import gzip
import json
import os
import socket
import threading
import time
import urllib.request

import numpy as np
import pytest

import covector as cv
from covector import profiler
from covector.errors import ProfilerError

X = np.ones((64, 64), np.float32)


@cv.jit
def product(x):
    return cv.numpy.tanh(x @ x)


@profiler.annotate_function
def one_step(x):
    return product(x).block_until_ready()


def options():
    """What is recorded: no calls of Python functions, of which there are many."""
    chosen = profiler.ProfileOptions()
    chosen.python_tracer_level = 0
    return chosen


def events(folder):
    """The recorded events by name, with their statistics."""
    (file,) = folder.glob("plugins/profile/*/*.xplane.pb")
    planes = profiler.ProfileData.from_file(str(file)).planes
    lines = [line for plane in planes for line in plane.lines]
    found = {}
    for event in (event for line in lines for event in line.events):
        found.setdefault(event.name, []).append(dict(event.stats))
    return found


def test_a_trace_holds_annotations_and_the_operations_of_programs(tmp_path):
    one_step(X)
    with profiler.trace(
        tmp_path, create_perfetto_trace=True, profiler_options=options()
    ):
        for number in range(3):
            with profiler.StepTraceAnnotation("train", step_num=number):
                one_step(X)
        with profiler.TraceAnnotation("report", loss=0.5):
            pass
    found = events(tmp_path)
    assert [stats["step_num"] for stats in found["train"]] == [0, 1, 2]
    assert all(stats["_r"] == 1 for stats in found["train"])
    assert float(found["report"][0]["loss"]) == 0.5
    assert len(found["one_step"]) == 3
    modules = {s.get("hlo_module") for each in found.values() for s in each}
    assert "jit_product" in modules
    (file,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    shown = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    (report,) = [e for e in shown if e["name"] == "report"]
    assert float(report["args"]["loss"]) == 0.5
    assert report["dur"] >= 0


def test_a_link_waits_until_it_is_opened(tmp_path, capsys):
    with socket.socket() as taken:
        if taken.connect_ex(("127.0.0.1", 9001)) == 0:
            pytest.skip("the port that ui.perfetto.dev reads from is in use")
    profiler.start_trace(
        tmp_path, create_perfetto_link=True, profiler_options=options()
    )
    waiting = threading.Thread(target=profiler.stop_trace, daemon=True)
    waiting.start()
    shown, end = "", time.monotonic() + 120
    while "url=" not in shown:
        assert time.monotonic() < end, "no link was printed"
        time.sleep(0.01)
        shown += capsys.readouterr().out
    here = shown.strip().partition("url=")[2]
    with urllib.request.urlopen(here) as answer:
        assert "traceEvents" in gzip.decompress(answer.read()).decode()
        allowed = answer.headers["Access-Control-Allow-Origin"]
    assert allowed == "https://ui.perfetto.dev"
    waiting.join(120)
    assert not waiting.is_alive()


def test_there_is_one_trace_at_a_time(tmp_path):
    with pytest.raises(ProfilerError, match=r"stop_trace was called, but no start"):
        profiler.stop_trace()
    with profiler.trace(tmp_path, profiler_options=options()):
        words = f"recorded into {tmp_path}; .* stop_trace"
        with pytest.raises(RuntimeError, match=words):
            profiler.start_trace(tmp_path)
    with pytest.raises(ProfilerError, match=r"no start_trace"):
        profiler.stop_trace()


def test_a_trace_ends_with_an_error_in_its_block(tmp_path):
    with pytest.raises(KeyError), profiler.trace(tmp_path, profiler_options=options()):
        one_step(X)
        raise KeyError
    assert events(tmp_path)["one_step"]
    with profiler.trace(tmp_path / "again", profiler_options=options()):
        pass


def test_a_function_is_annotated_with_a_name_of_its_own(tmp_path):
    half = profiler.annotate_function(lambda x: x / 2, name="half", of="x")
    with profiler.trace(tmp_path, profiler_options=options()):
        assert half(3.0) == 1.5
    assert events(tmp_path)["half"] == [{"of": "x"}]


def test_the_memory_of_devices_is_a_file_for_pprof(tmp_path):
    x = cv.device_put(np.ones(12345, np.float32))
    product(X)
    file = tmp_path / "memory.prof"
    profiler.save_device_memory_profile(file)
    assert b"space" in gzip.decompress(file.read_bytes())
    assert gzip.decompress(profiler.device_memory_profile("cpu"))
    assert x.shape == (12345,)
    with pytest.raises(cv.errors.DeviceError, match="Unknown backend 'abacus'"):
        profiler.device_memory_profile("abacus")


def test_there_is_one_server_which_can_be_stopped():
    with pytest.raises(ProfilerError, match=r"stop_server was called, but no start"):
        profiler.stop_server()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profiler.start_server(port)
    try:
        with pytest.raises(ProfilerError, match=r"server already.*stop_server"):
            profiler.start_server(port)
        take_back = profiler.register_subprocess(1, port)
        take_back()
        with pytest.raises(ProfilerError, match=r"cannot record process .* same pid"):
            profiler.register_subprocess(os.getpid(), port)
    finally:
        profiler.stop_server()
    profiler.start_server(port)
    profiler.stop_server()
