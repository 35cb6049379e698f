"""``covector launch`` starts processes, shows what they print, and ends them all."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from covector.cli.launch import environment as environment_of
from covector.cli.main import main
from tests.distributed.starting import PATIENCE, command, environment, launch, output


def test_every_process_gets_the_arguments_and_a_prefix():
    done = launch(2, "hello", "--epochs", 3)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [
        "[0] rank 0 --epochs 3",
        "[1] rank 1 --epochs 3",
    ]


def test_one_that_fails_ends_all_and_its_last_lines_are_shown():
    begin = time.monotonic()
    done = launch(3, "printing")
    assert time.monotonic() - begin < 20
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
    started = subprocess.Popen(
        command(2, "sleeping"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has interrupts ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert started.stdout is not None
    for _ in range(2):
        assert "] a line of its own" in started.stdout.readline()
    begin = time.monotonic()
    started.send_signal(number)
    _, errors = started.communicate(timeout=PATIENCE)
    # That the outputs were closed says that no process is left.
    assert time.monotonic() - begin < 10
    assert started.returncode == 128 + number
    assert "Traceback" not in errors


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children")
def test_a_launcher_that_is_killed_takes_its_processes_with_it():
    started = subprocess.Popen(
        command(2, "sleeping"), env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    for _ in range(2):
        assert "] a line of its own" in started.stdout.readline()
    path = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    children = [int(child) for child in path.read_text().split()]
    assert len(children) == 2
    started.kill()
    started.communicate(timeout=PATIENCE)
    end = time.monotonic() + 10
    while any(map(alive, children)) and time.monotonic() < end:
        time.sleep(0.02)
    assert [child for child in children if alive(child)] == []


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
