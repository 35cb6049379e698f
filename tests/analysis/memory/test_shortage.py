"""``OutOfMemory``: what an error for want of memory says."""

import subprocess
import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import memory
from covector.errors import CovectorError, DeviceError, OutOfMemory
from covector.runtime import buffers, compiler
from covector.runtime import memory as runtime_memory

ABSURD = 1 << 44  # 64 TiB of float32


def message(fun, *args):
    with pytest.raises(OutOfMemory) as caught:
        fun(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    "fun",
    [
        lambda: cnp.zeros((ABSURD,)),
        lambda: cnp.full((ABSURD,), 3.0),
        lambda: cnp.broadcast_to(cnp.ones(()), (ABSURD,)),
        lambda: cnp.asarray(np.broadcast_to(np.float32(1), (ABSURD,))),
        cv.core.array.from_host(np.broadcast_to(np.float32(1), (ABSURD,))).copy,
        lambda: cnp.zeros((1 << 62,)),
        lambda: cnp.full((1 << 62,), 3.0),
        lambda: cnp.repeat(cnp.ones((1 << 21,)), ABSURD),
        cv.jit(lambda: cnp.zeros((1 << 32, 1 << 32)).sum()),
    ],
    ids=[
        "zeros",
        "full",
        "broadcast",
        "numpy",
        "copy",
        "zeros of 2**64 bytes",
        "full of 2**64 bytes",
        "repeat of 2**67 bytes",
        "jit of 2**66 bytes",
    ],
)
def test_what_does_not_fit_is_one_error_wherever_it_fails(fun):
    assert message(fun).startswith("out of memory: ")


def test_it_is_what_programs_catch_for_want_of_memory():
    assert issubclass(OutOfMemory, CovectorError | MemoryError)
    assert issubclass(OutOfMemory, RuntimeError)
    assert issubclass(OutOfMemory, DeviceError)
    assert "RESOURCE_EXHAUSTED" in message(
        cv.jit(lambda: cnp.broadcast_to(cnp.float32(1), (ABSURD,)))
    )


def test_it_names_the_largest_arrays_with_their_lines_and_ways_out():
    with memory.record_lines():
        x = cnp.ones((1021, 1000))
    text = message(cnp.zeros, (ABSURD,))
    assert "4.1 MB  f32[1021,1000]  on cpu:0, made at " in text
    assert "(test_it_names_the_largest_arrays" in text
    for way in ("donate_argnums", "checkpoint", "vmap(f, memory=", "smaller"):
        assert way in text
    assert x.shape


def test_it_says_what_the_program_needs_the_first_time_and_when_warm():
    x = cnp.ones(1 << 21)
    outer = cv.jit(lambda x: cnp.outer(x, x))
    outer(cnp.ones(3))
    needs = "needs 17.6 TB on each device: 8.4 MB of arguments, 17.6 TB of results"
    for _ in range(2):
        text = message(outer, x)
        assert text.count(needs) == 1
        assert "jit of <lambda> (test_shortage.py:" in text
        assert "Most of that is for\n  17.6 TB  " in text
    assert "the operation dot_general needs" in message(cnp.outer, x, x)


def test_a_compiler_without_memory_is_the_same_error():
    class Client:
        def compile_and_load(self, *_):
            raise buffers.JaxlibError("RESOURCE_EXHAUSTED: no memory for tuning")

    class Device:
        client = Client()

    words = "out of memory: RESOURCE_EXHAUSTED: no memory for tuning\n"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(OutOfMemory, match=words):
        patch.setattr(compiler.xc, "DeviceList", lambda devices: devices)
        compiler._compile(None, (Device(),), None)


def test_the_error_stands_where_nothing_more_can_be_said(monkeypatch):
    monkeypatch.setattr(runtime_memory._LateBinding, "describes", "covector.missing")
    text = message(cnp.zeros, (ABSURD,))
    assert text.splitlines()[1].startswith("(what holds it could not be listed")


def test_the_library_works_on_afterwards():
    message(cnp.zeros, (ABSURD,))
    assert float(cv.jit(lambda x: x + 1)(cnp.ones(3)).sum()) == 6


def test_a_users_own_memory_error_in_a_callback_stays_what_it_is():
    def fails(x):
        raise MemoryError("mine")

    def f(x):
        return cv.pure_callback(fails, cv.ShapeDtypeStruct((), "float32"), x)

    with pytest.raises(MemoryError, match="mine") as caught:
        f(1.0)
    assert not isinstance(caught.value, OutOfMemory)


def test_a_process_that_may_take_no_more_memory_says_who_holds_it():
    code = """
import os, resource
os.environ["COVECTOR_RECORD_LINES"] = "1"
import covector as cv, covector.numpy as cnp
step = cv.jit(lambda x: cnp.sort(x * 2))
step(cnp.ones(3))
with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
held = []
try:
    while True:
        held.append(cnp.ones(5_000_000))
except MemoryError as error:
    print(type(error).__name__)
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "OutOfMemory"
    assert (
        "20.0 MB  f32[5000000]  on cpu:0, made at <string>:13 (<module>)" in done.stdout
    )
