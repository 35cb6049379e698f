"""A profile says where the time of a function goes, and other viewers can open it."""

import gzip
import json

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import profiler
from covector.cli.main import main
from covector.core.host_budget import HostBudget
from covector.errors import ArgumentError, ProfilerError

X = np.linspace(-1, 1, 300 * 300, dtype=np.float32).reshape(300, 300)


@cv.jit
def model(x):
    y = cnp.sort(x.ravel())
    z = cnp.tanh(x @ x)
    return y, z * 2


LINE = model.fun.__code__.co_firstlineno


@pytest.fixture(scope="module")
def measured():
    return cv.profile(model)(X)


def test_times_add_up_and_lines_are_those_of_the_source(measured):
    parts = measured.kernels_s + measured.callbacks_s + measured.dispatch_s
    assert parts == pytest.approx(measured.wall_s, rel=1e-6)
    assert len(measured.times) == measured.runs >= 3
    lines = measured.by_line()
    assert {line.line - LINE for line in lines} == {2, 3, 4}
    assert {line.file for line in lines} == {__file__}
    in_lines = sum([line.seconds for line in lines])
    assert in_lines == pytest.approx(measured.kernels_s, rel=0.01)
    assert sum([k.share for k in measured.kernels]) <= 1
    assert measured.by_program().keys() == {"jit_model"}
    sort = next(line for line in lines if line.line == LINE + 2)
    assert sort.source == "y = cnp.sort(x.ravel())"
    assert sort.share > 0.2


def test_kernels_have_kinds_and_numbers_of_runs(measured):
    kinds = {kernel.kind for kernel in measured.kernels}
    assert {"library", "loop fusion"} <= kinds
    assert all(kernel.calls == 1 for kernel in measured.kernels)
    for kernel in measured.kernels:
        assert sum([part.share for part in kernel.lines]) == pytest.approx(1)


def test_a_profile_is_printed_and_is_data(measured, capsys):
    assert "y = cnp.sort(x.ravel())" in str(measured)
    assert "one run takes" in repr(measured)
    measured.show(120)
    assert "by kernel" in capsys.readouterr().out
    data = json.loads(json.dumps(measured.to_dict()))
    assert data["lines"][0]["source"]
    assert data["wall_s"] == measured.wall_s


@pytest.mark.parametrize("name", ["p.json.gz", "p.json", "p.xplane.pb"])
def test_a_file_that_was_saved_is_viewed(measured, tmp_path, capsys, name):
    file = tmp_path / name
    measured.save(file)
    if name.endswith(".gz"):
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
        lines = [e["args"]["lines"] for e in events if "lines" in e.get("args", {})]
        assert any(f"{__file__}:{LINE + 2} (model)" in text for text in lines)
    assert main(["trace", "view", str(file), "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "jit_model" in out
    assert f"test_profile.py:{measured.by_line()[0].line}" in out


def test_a_trace_of_the_profiler_is_viewed(tmp_path, capsys):
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    with profiler.trace(tmp_path, profiler_options=options):
        cv.block_until_ready(model(X))
    (file,) = tmp_path.rglob("*.trace.json.gz")
    for path in (tmp_path, file):
        assert main(["trace", "view", str(path), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert LINE + 2 in {line["line"] for line in data["lines"]}
    (beside,) = tmp_path.rglob("*.xplane.pb")
    beside.unlink()
    assert main(["trace", "view", str(tmp_path)]) == 0
    assert "jit_model" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "no trace"), (b"{", "no trace"), (b"[]", None), (b"{}", None)],
)
def test_what_is_no_trace_is_refused(tmp_path, capsys, content, words):
    file = tmp_path / "trace.json"
    file.write_bytes(content)
    assert main(["trace", "view", str(file)]) == (words is not None)
    assert (words or "") in capsys.readouterr().err
    assert main(["trace", "view", str(tmp_path / "nowhere")]) == 1


def test_every_stage_and_plain_functions_are_run(monkeypatch):
    compiled = model.lower(X).compile()
    assert cv.profile(compiled, repeats=1)(X).by_program().keys() == {"jit_model"}
    monkeypatch.setattr(HostBudget, "try_spend", lambda self: False)
    eager = cv.profile(lambda x: model(x)[1] @ x, repeats=1)(X)
    assert {"jit_model", "eager_dot_general"} <= eager.by_program().keys()


def test_a_function_keeps_its_lines_when_an_equal_one_was_compiled_before():
    jaxpr = cv.make_jaxpr(lambda x: cnp.sin(x) - 9)(X)
    cv.jit(lambda x: cnp.sin(x) - 9)(X)
    again = cv.make_jaxpr(lambda x: cnp.sin(x) - 9)(X)
    for program in (jaxpr, again):
        found = cv.profile(cv.jit(lambda x, p=program: p(x)[0]), repeats=1)(X)
        lines = {e.line.number for e in program.equations}
        assert {line.line for line in found.by_line()} == lines


def test_callbacks_have_times_of_their_own():
    def slow(x):
        return np.sort(np.concatenate([x.ravel()] * 4))[:3]

    def fun(x):
        return cv.pure_callback(slow, cv.ShapeDtypeStruct((3,), np.float32), x)

    found = cv.profile(cv.jit(fun), repeats=2)(X)
    assert found.callbacks_s > 0.3 * found.wall_s


def test_donated_arguments_are_copied_for_each_run():
    fun = cv.jit(lambda x: x + 1, donate_argnums=0)
    x = cnp.asarray(X)
    assert cv.profile(fun, repeats=2)(x).runs == 2
    assert float(x[0, 0]) == -1


def test_a_profile_is_taken_outside_of_traces():
    with pytest.raises(ArgumentError, match="profile takes repeats of 1 or more"):
        cv.profile(model, repeats=0)
    with pytest.raises(ArgumentError, match="while another one is being traced"):
        cv.jit(cv.profile(model))(X)


def test_there_is_one_recording_at_a_time(tmp_path):
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    words = f"profile was called while a trace is being recorded into {tmp_path}; .*"
    with (
        profiler.trace(tmp_path, profiler_options=options),
        pytest.raises(ProfilerError, match=words),
    ):
        cv.profile(model, repeats=1)(X)
    assert cv.profile(model, repeats=1)(X).runs == 1
