"""``covector launch``: run a program as several processes on this machine."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import REMAINDER, ArgumentParser, ArgumentTypeError, Namespace
from collections import deque
from collections.abc import Callable, Mapping
from typing import IO, Any

from covector import variables
from covector.runtime.watchdog import EXIT_CODE

_PR_SET_PDEATHSIG = 1
#: what gloo tells the standard output of every process
_NOISE = "[Gloo] Rank "
#: seconds that processes have to end by themselves, once they were told to
_GRACE = 4.0
#: seconds that the others have to say what they know of the one that failed
_LAST_WORDS = 2.0
_SHOWN_LINES = 10
_INTERRUPTED = 128 + signal.SIGINT


def add_options(parser: ArgumentParser) -> None:
    """The options of launch: the number of processes, and the program."""
    parser.add_argument(
        "-n",
        "--processes",
        type=_positive,
        required=True,
        help="how many processes",
    )
    parser.add_argument(
        "-m",
        "--module",
        action="store_true",
        help="the program is the name of a module, as of python -m",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        help="the port on which process 0 listens (default: one that is free)",
    )
    parser.add_argument("program", help="the program, a Python file")
    parser.add_argument("arguments", nargs=REMAINDER, help="its arguments")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"a positive whole number is needed, not {text!r}")
    return int(text)


def run(options: Namespace) -> int:
    """Start the processes and pass on their output; the exit code of the first one that
    failed, or 0.
    """
    port = options.port or _free_port()
    signal.signal(signal.SIGTERM, _terminated)
    module = ["-m"] if options.module else []
    command = [sys.executable, *module, options.program, *options.arguments]
    launch = Launch(options.processes)
    try:
        launch.start(command, port)
        return launch.wait()
    except KeyboardInterrupt:
        print("covector launch: interrupted; ending all processes", file=sys.stderr)
        return _INTERRUPTED
    finally:
        launch.end()


def _terminated(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def _ending_with_parent() -> Callable[[], None] | None:
    """The function by which a new process asks to be killed when this one ends.

    Linux can do that; elsewhere processes outlive a launcher that was killed itself.
    """
    if sys.platform != "linux":
        return None
    # All is prepared here: between fork and exec little can be done.
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def call() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has gone meanwhile
            os._exit(1)

    return call


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def environment(
    environ: Mapping[str, str], rank: int, size: int, port: int
) -> dict[str, str]:
    """The environment of one process; of several, each gets its share of the cores."""
    return {
        **environ,
        variables.COORDINATOR_ADDRESS.name: f"127.0.0.1:{port}",
        variables.NUM_PROCESSES.name: str(size),
        variables.PROCESS_ID.name: str(rank),
        variables.LOCAL_PROCESS_ID.name: str(rank),
        "PYTHONUNBUFFERED": "1",
    }


class Launch:
    """Processes of one program, and their output."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._printing = threading.Lock()
        #: whether the reader of our output wants no more of it
        self._is_unread = False
        self._last = [deque[str](maxlen=_SHOWN_LINES) for _ in range(size)]
        self.processes: list[subprocess.Popen[str]] = []
        self._readers: list[list[threading.Thread]] = []

    def start(self, command: list[str], port: int) -> None:
        """Start the processes. Where this is interrupted, ``end`` ends those begun."""
        with_parent = _ending_with_parent()
        for rank in range(self.size):
            process = subprocess.Popen(
                command,
                env=environment(os.environ, rank, self.size, port),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                # Ctrl-C is for the launcher, which ends them all.
                start_new_session=True,
                preexec_fn=with_parent,  # noqa: PLW1509  it is two calls of C
            )
            self.processes.append(process)
            assert process.stdout is not None and process.stderr is not None
            self._readers.append(
                [
                    self._reader(rank, process.stdout, sys.stdout),
                    self._reader(rank, process.stderr, sys.stderr),
                ]
            )

    def _reader(self, rank: int, source: IO[str], to: IO[str]) -> threading.Thread:
        def read() -> None:
            with source:
                for line in source:
                    if line.startswith(_NOISE):
                        continue
                    text = line.rstrip("\n")
                    self._last[rank].append(text)
                    try:
                        with self._printing:
                            print(f"[{rank}] {text}", file=to, flush=True)
                    except BrokenPipeError:
                        # Reading goes on: who writes must not wait until it is ended.
                        self._is_unread = True

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def wait(self) -> int:
        """Wait until all have ended well, or one has not; the exit code.

        Raises BrokenPipeError where nobody reads what they print.
        """
        running = dict(enumerate(self.processes))
        while running:
            codes = {rank: p.poll() for rank, p in running.items()}
            running = {r: p for r, p in running.items() if codes[r] is None}
            failed = [r for r, code in codes.items() if code]
            if self._is_unread:
                raise BrokenPipeError
            if failed:
                # Who waited for another one that failed has a code of its own.
                rank = min(failed, key=lambda r: codes[r] == EXIT_CODE)
                code = codes[rank] or 0
                self._report(rank, code, running)
                return code if code > 0 else 128 - code
            time.sleep(0.02)
        for readers in self._readers:
            for reader in readers:
                reader.join(_GRACE)
        return 0

    def _report(
        self, rank: int, code: int, running: Mapping[int, subprocess.Popen[str]]
    ) -> None:
        """Say who failed, after the others had a moment for words of their own."""
        end = time.monotonic() + _LAST_WORDS
        while time.monotonic() < end and any(
            p.poll() is None for p in running.values()
        ):
            time.sleep(0.02)
        for reader in self._readers[rank]:
            reader.join(1.0)
        lines = "".join([f"\n  [{rank}] {line}" for line in self._last[rank]])
        alive = [other for other, p in running.items() if p.poll() is None]
        others = f" Ending {_ranks(alive)}." if alive else ""
        with self._printing:
            print(
                f"covector launch: process {rank} {_ended(code)}.{others} "
                + (f"Its last lines:{lines}" if lines else "It printed nothing."),
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        """End all that still run: politely, then not."""
        for signal_ in (signal.SIGTERM, signal.SIGKILL):
            alive = [p for p in self.processes if p.poll() is None]
            for process in alive:
                process.send_signal(signal_)
                process.send_signal(signal.SIGCONT)  # one that stands still, too
            end = time.monotonic() + _GRACE
            for process in alive:
                try:
                    process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue


def _ended(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"


def _ranks(ranks: list[int]) -> str:
    return f"process{'' if len(ranks) == 1 else 'es'} {', '.join(map(str, ranks))}"
