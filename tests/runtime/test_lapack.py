"""The kernels of LAPACK are bound before a program that calls them can run."""

import subprocess
import sys

import covector.numpy as cnp
from covector.operations.linear_algebra.cholesky import cholesky

CODE = """
import sys, numpy as np
from covector.runtime import buffers, client, executable
device = client.cpu_device()
program = open(sys.argv[1], "rb").read()
found = executable.load_executable(program, device, [((2, 2), "f4")])
(out,) = found.execute([buffers.put(4 * np.eye(2, dtype="f4"), device)])
print(np.asarray(out).tolist())
"""


def printed(code, *arguments):
    """What a new process prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def test_an_executable_that_calls_lapack_runs_in_a_new_process(tmp_path):
    plan = cholesky.plan((cnp.eye(2).type,))
    cholesky(cnp.eye(2))
    (compiled,) = plan.executable.values()
    file = tmp_path / "cholesky"
    file.write_bytes(compiled.executable.serialize())
    assert printed(CODE, str(file)) == "[[2.0, 0.0], [0.0, 2.0]]"


def test_scipy_is_imported_only_where_a_program_calls_lapack():
    code = (
        "import sys, covector as cv, covector.numpy as cnp\n"
        "cnp.linalg.norm(cv.jit(lambda x: x @ x)(cnp.eye(300)))\n"
        "print('scipy' in sys.modules)\n"
        "cnp.linalg.inv(cnp.eye(2))\n"
        "print('scipy' in sys.modules)\n"
    )
    assert printed(code).split() == ["False", "True"]
