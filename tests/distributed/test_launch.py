"""``covector launch`` starts processes, shows what they print, and ends them all."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from covector.cli.launch import environment as environment_of
from covector.cli.main import main
from tests.distributed.starting import (
    LAUNCH,
    PATIENCE,
    command,
    environment,
    launch,
    output,
    running,
)


def test_every_process_gets_the_arguments_and_a_prefix():
    done = launch(2, "hello", "--epochs", 3)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [
        "[0] rank 0 --epochs 3",
        "[1] rank 1 --epochs 3",
    ]


def test_one_that_fails_ends_all_and_its_last_lines_are_shown():
    done = launch(3, "printing")  # the others would sleep on
    assert done.returncode == 3
    assert output(done, 0) == "a line of its own"
    words = "covector launch: process 1 ended with exit code 3. Ending processes 0, 2."
    assert words in done.stderr
    last = done.stderr.split("Its last lines:\n")[1].splitlines()
    assert last == [f"  [1] line {k}" for k in range(10, 20)]


# A peer that was used in this process warns of the fork that runs preexec_fn.
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all(number):
    with running(
        command(2, "sleeping"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has interrupts ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as started:
        children = sleeping(started)
        started.send_signal(number)
        _, errors = started.communicate()
    wait_for_end(children)
    assert started.returncode == 128 + number
    assert "Traceback" not in errors


def test_a_pipe_that_is_closed_early_ends_all_in_silence(tmp_path):
    program = tmp_path / "printing.py"
    program.write_text("while True: print('a line')")
    with running(
        [sys.executable, "-c", *LAUNCH, "-n", "2", str(program)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        assert "a line" in started.stdout.readline()
        started.stdout.close()
        assert started.stderr.read() == ""
    assert started.returncode == 141


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_while_processes_are_started_ends_those_begun(
    monkeypatch, capsys, tmp_path
):
    begun = []

    def start(*arguments, **options):
        if begun:
            raise KeyboardInterrupt
        begun.append(Popen(*arguments, **options))
        return begun[0]

    Popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    program = tmp_path / "sleeping.py"
    program.write_text("import time; time.sleep(1000)")
    assert main(["launch", "-n", "2", str(program)]) == 128 + signal.SIGINT
    assert begun[0].returncode == -signal.SIGTERM
    while not (begun[0].stdout.closed and begun[0].stderr.closed):
        time.sleep(0.01)
    assert "interrupted; ending all processes" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children")
def test_a_launcher_that_is_killed_takes_its_processes_with_it():
    with running(
        command(2, "sleeping"), env=environment(), stdout=subprocess.PIPE
    ) as started:
        children = sleeping(started)
    wait_for_end(children)


def sleeping(started):
    """The processes that a launcher has started, once each has begun to sleep."""
    for _ in range(2):
        assert "] a line of its own" in started.stdout.readline()
    if sys.platform != "linux":
        return []
    path = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    children = [int(child) for child in path.read_text().split()]
    assert len(children) == 2
    return children


def wait_for_end(processes):
    """Wait until none of them runs; they would sleep for longer than this waits."""
    end = time.monotonic() + PATIENCE
    while any(map(alive, processes)) and time.monotonic() < end:
        time.sleep(0.02)
    assert [process for process in processes if alive(process)] == []


def alive(process):
    """Whether a process runs; one that has ended may wait for init to notice."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_environment_says_who_is_who():
    found = environment_of({"HOME": "here"}, 1, 4, 1234)
    assert found["COVECTOR_COORDINATOR_ADDRESS"] == "127.0.0.1:1234"
    assert found["COVECTOR_NUM_PROCESSES"] == "4"
    assert found["COVECTOR_PROCESS_ID"] == "1"
    assert found["HOME"] == "here"


@pytest.mark.parametrize("count", ["0", "-1", "some"])
def test_a_number_of_processes_that_is_none_is_refused(count, capsys):
    with pytest.raises(SystemExit):
        main(["launch", "-n", count, "program.py"])
    words = f"a positive whole number is needed, not '{count}'"
    assert words in capsys.readouterr().err
