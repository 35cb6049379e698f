"""The kernels of LAPACK are bound before a program that calls them can run, and have
one thread where several would get in each other's way.
"""

import subprocess
import sys
import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.operations.linear_algebra.cholesky import cholesky
from covector.runtime import lapack

CODE = """
import sys, numpy as np
from covector.runtime import buffers, client, compiler
device = client.cpu_device()
program = open(sys.argv[1], "rb").read()
found = compiler.load_executable(program, device, [((2, 2), "f4")])
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


@pytest.fixture
def threads():
    """The functions of OpenBLAS, which has two threads meanwhile."""
    found = lapack._threads()
    if found is None:
        pytest.skip("SciPy has another BLAS")
    before = found.get()
    found.set(2)
    yield found
    found.set(before)


@pytest.mark.parametrize(
    ("calls", "one"),
    [
        ([], False),
        ([("geqrf", (16, 16))], False),
        ([("geqrf", (2000, 20))], True),
        ([("geqrf", (512, 512)), ("trsm", (8, 8))], True),
        ([("geqrf", (512, 512)), ("trsm", (1024, 1024))], False),
        ([("gesdd", (512, 512)), ("geqrf", (513, 700))], False),
        ([("getrf", (256, 256)), ("trsm", (256, 256))], False),
    ],
)
def test_threads_of_blas_are_for_large_matrices(calls, one):
    assert lapack.wants_one_thread(calls) is one


def test_a_program_of_small_matrices_runs_with_one_thread_of_blas(threads, monkeypatch):
    told = []
    recorded = lapack._Threads(threads.get, lambda n: [told.append(n), threads.set(n)])
    monkeypatch.setattr(lapack, "_threads", lambda: recorded)
    x = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    q, r = cv.jit(cnp.linalg.qr)(x)
    np.testing.assert_allclose(q @ r, x, atol=1e-4)
    assert told[:2] == [1, 2]
    assert told[::2] == [1] * (len(told) // 2)
    assert threads.get() == 2
    told.clear()
    cv.jit(cnp.linalg.inv)(cnp.eye(64))
    assert not told


def test_programs_on_several_threads_leave_blas_as_many_threads_as_it_had(threads):
    factorize = cv.jit(cnp.linalg.qr)
    x = cnp.asarray(np.random.default_rng(0).normal(size=(200, 100)))
    cv.block_until_ready(factorize(x))

    def work():
        for _ in range(20):
            cv.block_until_ready(factorize(x))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads.get() == 2


def test_a_program_that_fails_leaves_blas_as_many_threads_as_it_had(threads):
    def fail(buffers):
        assert threads.get() == 1
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        lapack.with_one_thread(fail)([])
    assert threads.get() == 2
