"""How tests start programs of several processes, and read their output."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs.py"
SOURCES = Path(__file__).parents[2] / "src"
LAUNCH = (
    "import sys; from covector.cli.main import main; sys.exit(main(sys.argv[1:]))",
    "launch",
)
#: seconds until a test gives up on what ends by itself: far more than it takes on a
#: machine that is busy, and less than programs here would sleep or wait for a peer
PATIENCE = 240


def environment(devices: int = 1, **variables: str) -> dict[str, str]:
    """That of this process, without what would make it one of several."""
    paths = [str(SOURCES), os.environ.get("PYTHONPATH", "")]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COVECTOR_")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "COVECTOR_NUM_CPU_DEVICES": str(devices),
        "COVECTOR_PLATFORMS": "cpu",
        "COVECTOR_TRACEBACK": "full",  # with it messages are as they were raised
        **variables,
    }


def command(count: int, program: str, *arguments: object) -> list[str]:
    """``covector launch -n count programs.py program …``."""
    words = ["-n", str(count), str(PROGRAMS), program, *map(str, arguments)]
    return [sys.executable, "-c", *LAUNCH, *words]


def launch(
    count: int, program: str, *arguments: object, devices: int = 1, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a function of ``programs.py`` in several processes."""
    return subprocess.run(
        command(count, program, *arguments),
        env=environment(devices, **variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed at the end, or after PATIENCE; its pipes are closed."""
    with subprocess.Popen(command, text=True, **options) as started:
        watch = threading.Timer(PATIENCE, started.kill)
        watch.start()
        try:
            yield started
        finally:
            watch.cancel()
            started.kill()


def output(done: subprocess.CompletedProcess[str], rank: int) -> str:
    """What one process printed, to either of its outputs."""
    lines = (done.stdout + done.stderr).splitlines()
    mark = f"[{rank}] "
    return "\n".join([x.removeprefix(mark) for x in lines if x.startswith(mark)])


def succeeded(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether all processes ended well; otherwise pytest shows their output."""
    if done.returncode:
        sys.stdout.write(done.stdout + done.stderr)
    return done.returncode == 0
