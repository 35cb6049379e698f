"""What would wait for ever ends in words, within the time that was set."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from covector.errors import PeerLost
from covector.runtime import rendezvous
from covector.runtime.watchdog import EXIT_CODE
from tests.distributed.starting import (
    PROGRAMS,
    environment,
    launch,
    output,
    running,
)

SOON = {"COVECTOR_PEER_TIMEOUT": "3"}
#: where what is wrong is noticed at once, however busy the machine is meanwhile
AT_LAST = {"COVECTOR_PEER_TIMEOUT": "200"}


def test_processes_that_trace_different_programs_all_raise_with_the_line():
    done = launch(2, "mismatch", **AT_LAST)
    assert done.returncode == 1
    for rank in (0, 1):
        words = output(done, rank)
        assert "ProgramMismatch: processes 0 and 1 are about to run different" in words
        assert "process 0, in jit_differing, at " in words
        assert "process 1, in jit_differing, at " in words
        lines = [x for x in words.splitlines() if x.strip().startswith("line ")]
        assert len(lines) == 2 and lines[0] != lines[1]
        assert f"made at {PROGRAMS}:" in words
        assert "same functions on arrays of the same types, in the same order" in words


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_killed_ends_the_others_in_words(rank):
    begin = time.monotonic()
    done = launch(2, "killed", rank, **AT_LAST)
    assert time.monotonic() - begin < 150
    assert done.returncode == 128 + signal.SIGKILL
    words = output(done, 1 - rank)
    assert (
        f"rocess {rank} of 2 is gone: it ended without a word, or was killed" in words
    )
    assert re.search(rf"process {rank} \(gone\), as it said \d\.\d s before: ", words)
    assert f"process {1 - rank}: " in words and "jit_double" in words
    assert f"process {rank} was killed by SIGKILL" in done.stderr


def test_a_killed_process_is_not_told_to_have_run_nothing():
    words = output(launch(2, "killed_soon", **AT_LAST), 0)
    assert "process 1 (gone), as it said" in words
    assert "had run nothing" not in words


def test_a_process_in_another_program_is_told_to_be_in_that():
    words = output(launch(2, "elsewhere", **SOON), 0)
    assert "PeerLost: Process 1 of 2 did not come to jit_differing within 3 s" in words
    assert "(COVECTOR_PEER_TIMEOUT). Process 1 is in jit_double, its program " in words


@pytest.fixture(scope="module")
def waiting():
    """Programs that mostly wait, run at once: their output, by name and argument."""
    asked = [("stopped",), ("absent", 1), ("absent", 0)]
    with ThreadPoolExecutor() as threads:
        started = [threads.submit(launch, 2, *each, **SOON) for each in asked]
        return {
            each: future.result() for each, future in zip(asked, started, strict=True)
        }


def test_a_process_that_stands_still_ends_the_others(waiting):
    done = waiting["stopped",]
    assert done.returncode == EXIT_CODE
    words = output(done, 0)
    assert (
        "process 0 of 2 ends: it would wait for ever. Process 1 of 2 is gone" in words
    )
    assert "nothing was heard of it for 3 s" in words
    assert "process 0: in jit_double, its program " in words
    assert f"at {PROGRAMS}:" in words


def test_a_process_that_does_not_come_to_a_known_program_ends_the_others(waiting):
    done = waiting["absent", 1]
    assert done.returncode == EXIT_CODE
    words = output(done, 0)
    assert re.search(r"Process 1 did not come to jit_double within [34] s \(COV", words)
    assert "process 0: in jit_double, its program 2" in words
    assert "process 1: last in jit_double, its program 1" in words


def test_a_process_that_does_not_come_to_a_new_program_is_an_error(waiting):
    done = waiting["absent", 0]
    words = output(done, 0)
    assert "PeerLost: Process 1 of 2 did not come to jit_double within 3 s" in words
    assert "process 1: had run nothing together with others; at " in words
    words = output(done, 1)
    assert "process 1 of 2 ends: nothing works without process 0" in words


def test_what_one_process_raised_is_told_to_the_others():
    done = launch(2, "failed", **AT_LAST)
    assert "ArgumentError: these data are no good" in output(done, 1)
    expected = "Process 1 of 2 is gone: it ended (ArgumentError: these data are no good"
    assert f"PeerLost: {expected}" in output(done, 0)


@pytest.mark.parametrize("calls", [2, 1000])
def test_known_programs_in_another_order_are_noticed(calls):
    """Collectives of one size fit each other: nothing waits, and all is wrong."""
    done = launch(2, "other_order", calls, **AT_LAST)
    # Either may be the one who notices, and who tells the other.
    words = r"rocess \d has not run the programs that process \d has, in the same order"
    assert re.search(words, done.stderr)
    assert re.search(r"among the first \d+ .*results are wrong", done.stderr)
    assert bool(done.returncode) is (calls > 2)


# -- before they begin -----------------------------------------------------------------


def join(*calls, seconds=3):
    """What processes say that call ``initialize`` with these arguments."""
    program = (
        "import covector as cv\n"
        f"cv.distributed.initialize({{}}, initialization_timeout={seconds})\n"
    )
    with ExitStack() as all_of_them:
        started = [
            all_of_them.enter_context(
                running(
                    [sys.executable, "-c", program.format(call)],
                    env=environment(),
                    stderr=subprocess.PIPE,
                )
            )
            for call in calls
        ]
        # Messages are wrapped, where depends on the words.
        return [" ".join(process.communicate()[1].split()) for process in started]


def port():
    return 20000 + os.getpid() % 20000


def test_a_coordinator_that_is_not_there_is_an_error_within_the_time():
    (words,) = join(f"'127.0.0.1:{port()}', 2, 1", seconds=1)
    assert "PeerLost: process 1 cannot reach the coordinator at 127.0.0.1:" in words
    assert "within 1 s (initialization_timeout)" in words
    assert "Is process 0 running" in words


@pytest.mark.parametrize("rank", [0, 1])
def test_a_coordinator_that_cannot_be_resolved_is_told_within_seconds(rank):
    call = f"'no-such-host.invalid:{port()}', 2, {rank}"
    program = f"import covector as cv\ncv.distributed.initialize({call})"
    command = [sys.executable, "-c", program]
    with running(command, env=environment(), stderr=subprocess.PIPE) as started:
        words = started.stderr.readline()
    assert words.startswith(
        f"covector: process {rank} cannot resolve the coordinator's name "
        "'no-such-host.invalid' ("
    )
    assert words.endswith("); trying on.\n")


def test_a_name_that_is_not_known_is_told_without_waiting_for_the_time_to_be_over(
    monkeypatch,
):
    """Most of the five seconds is for starting Python, on a machine that is busy."""
    told = []
    monkeypatch.setattr(os, "write", lambda _, text: told.append(time.monotonic()))
    monkeypatch.setattr(rendezvous.socket, "getaddrinfo", unknown)
    start = time.monotonic()
    with pytest.raises(PeerLost, match="cannot resolve the coordinator's name 'gone'"):
        rendezvous.resolve(
            rendezvous.Hello(1, 2, {}), rendezvous.Address("gone", 1), seconds=4
        )
    assert told[0] - start < 2.5


def unknown(*_, **__):
    raise OSError("Name or service not known")


def test_a_coordinator_that_was_never_resolved_is_an_error():
    (words,) = join("'no-such-host.invalid:1', 2, 1", seconds=1)
    assert "PeerLost: process 1 cannot resolve the coordinator's name 'no-such" in words
    assert "within 1 s (initialization_timeout)" in words


def test_a_process_that_was_not_started_is_named():
    address = f"'127.0.0.1:{port() + 1}'"
    for words in join(f"{address}, 4, 0", f"{address}, 4, 2"):
        assert "PeerLost: processes 1 and 3 of 4 did not come within 3 s" in words


def test_two_processes_of_one_number_are_told():
    address = f"'127.0.0.1:{port() + 2}'"
    calls = f"{address}, 3, 0", f"{address}, 3, 1", f"{address}, 3, 1"
    for words in join(*calls, seconds=200):
        assert "two processes were started with process_id=1; each of the 3" in words


def test_processes_that_count_differently_are_told():
    address = f"'127.0.0.1:{port() + 3}'"
    for words in join(f"{address}, 3, 0", f"{address}, 2, 1", seconds=200):
        assert (
            "process 1 was started with num_processes=2, but process 0 with 3" in words
        )
