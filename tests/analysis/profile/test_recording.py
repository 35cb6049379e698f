"""What the profiler recorded becomes kernels with times; ends are found where noted."""

import pytest

from covector import profiler
from covector.analysis.compiled.reading import parse
from covector.analysis.profile.attribution import attribute
from covector.analysis.profile.recording import KernelEvent, Recording, bare_name, read
from covector.runtime.compile_options import _field as field
from covector.runtime.compile_options import _varint
from covector.runtime.protocol_buffers import fields

PROGRAM = parse(
    """HloModule m
body (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %inner = f32[4]{0} sine(%p)
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %first = f32[4]{0} sine(%x)
  %other = f32[4]{0} bitcast(%first)
  %second = f32[4]{0} cosine(%other)
  ROOT %loop = f32[4]{0} while(%second), condition=%body, body=%body
}"""
)


def times(*events, runs=((0, 100),)):
    made = [KernelEvent("m", *event) for event in events]
    return attribute(Recording(made, [], {"m": PROGRAM}), runs)


def test_kernels_that_run_at_once_share_the_time():
    found = times(("x", 0, 10), ("y", 5, 15))
    assert found.time == {("m", "x"): 7.5, ("m", "y"): 7.5}
    assert found.total == 100


def test_a_loop_has_the_time_in_which_nothing_inside_runs():
    found = times(("loop", 0, 20), ("inner", 2, 8), ("inner", 10, 18))
    assert found.time == {("m", "loop"): 6, ("m", "inner"): 14}
    assert found.calls == {("m", "loop"): 1, ("m", "inner"): 2}


def test_a_kernel_ends_before_one_starts_that_uses_its_result():
    found = times(("first", 0, 50), ("second", 10, 30), ("first", 40, 60))
    assert found.time == {("m", "first"): 30, ("m", "second"): 20}


def test_a_kernel_counts_in_the_run_in_which_it_starts():
    runs = (0, 10), (20, 30)
    found = times(("x", 5, 25), ("x", 15, 18), ("x", 25, 26), runs=runs)
    assert found.time == {("m", "x"): 6}
    assert found.calls == {("m", "x"): 2}
    assert found.total == 20


def test_programs_have_names_without_their_numbers():
    assert bare_name("jit_f(12)") == "jit_f"
    assert bare_name("jit_f") == "jit_f"


def test_fields_are_read_as_they_are_written():
    message = field(1, b"x" * 300) + field(2, field(500, b"")) + b"\x18\xac\x02"
    (one, x), (two, inner), (three, number) = fields(memoryview(message))
    assert (one, bytes(x), two, three, number) == (1, b"x" * 300, 2, 3, 300)
    assert [n for n, _ in fields(inner)] == [500]


@pytest.mark.parametrize("content", [b"\x0a\x05ab", b"\x0b", b"\x80", b"\x0a\xff"])
def test_what_is_no_message_is_refused(content):
    with pytest.raises(ValueError, match="not a protocol buffer, or it is cut off"):
        list(fields(memoryview(content)))


def plane(name, lines):
    """A plane of an XSpace: of each line the kernels (name, start, duration) in µs."""
    stats = {1: "hlo_op", 2: "hlo_module"}
    kernels = dict.fromkeys([k for events in lines.values() for k, _, _ in events])
    numbers = {kernel: i for i, kernel in enumerate(kernels, 1)}
    content = field(2, name.encode())
    for number, (line, events) in enumerate(lines.items(), 1):
        made = integer(1, number) + field(2, line.encode())
        for kernel, start, duration in events:
            about = [(1, kernel), (2, "jit_f")]
            made += field(
                4,
                integer(1, numbers[kernel])
                + integer(2, start * 10**6)
                + integer(3, duration * 10**6)
                + b"".join(
                    [field(4, integer(1, k) + field(5, v.encode())) for k, v in about]
                ),
            )
        content += field(3, made)
    for part, names in ((4, {i: k for k, i in numbers.items()}), (5, stats)):
        for i, text in names.items():
            named = integer(1, i) + field(2, text.encode())
            content += field(part, integer(1, i) + field(2, named))
    return field(1, content)


def integer(number, value):
    return _varint(number << 3) + _varint(value)


@pytest.mark.parametrize(
    "lines",
    [
        {"Stream #1": [("fusion", 5, 2)], "XLA Ops": [("fusion", 5, 2)]},
        {"Steps": [("1", 0, 9)], "XLA Ops": [("fusion", 5, 2)]},
    ],
)
def test_kernels_of_other_devices_count_once(lines):
    host = plane("/host:CPU", {"python": [("fusion", 1, 1)]})
    found = read(host + plane("/device:GPU:0", lines))
    assert found.events == [KernelEvent("jit_f", "fusion", 5000, 7000)]


def test_other_files_are_no_recordings():
    with pytest.raises(ValueError, match="no XSpace"):
        read(b"not an XSpace")


def test_an_empty_recording_has_no_kernels():
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    found = read(profiler.record("test", lambda: None, options))
    assert (found.events, found.runs, found.modules) == ([], [], {})
