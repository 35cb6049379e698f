"""Programs that import jax run on covector by its door, in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def test_programs_that_import_jax_run_on_covector():
    files = sorted(PROGRAMS.glob("*.py"))
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", PROGRAMS]
    command = [sys.executable, "-m", "covector", "run", "-m", "pytest", *options]
    done = subprocess.run(
        [*map(str, command), *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COVECTOR_NUM_CPU_DEVICES": "2", "SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 63
