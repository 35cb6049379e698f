"""Programs for ``test_endings.py``: daemon threads, forks and signals.

python -m tests.runtime.endings daemons compile
"""

import _imp
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.errors import DeviceError

#: seconds after which a child is taken to hang, also on a busy machine
_PATIENCE = 120


def _compiling(n: int) -> None:
    cv.jit(lambda x: x * n + 1)(cnp.ones(3 + n % 50))


@cv.jit
def called(x: Any) -> Any:
    return cnp.sin(x) + 1


@cv.jit
def calling_python(x: Any) -> Any:
    like = cv.ShapeDtypeStruct(x.shape, np.float32)
    return cv.pure_callback(np.asarray, like, x)


WORK: dict[str, Callable[[int], Any]] = {
    "compile": _compiling,
    "call": lambda n: called(cnp.ones(1000)).block_until_ready(),
    "large": lambda n: cnp.ones((300, 300)) @ cnp.ones((300, 300)),
    "small": lambda n: cnp.sin(cnp.ones(5)) + n,
    "callback": lambda n: float(calling_python(cnp.ones(3))[0]),
    "sleep": lambda n: (time.sleep(10), called(cnp.ones(1000))),
}


def daemons(name: str) -> None:
    """End while daemon threads compute."""
    called(cnp.ones(1000))

    def work() -> None:
        for n in range(10**9):
            WORK[name](n)

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)
    sys.stdout.write("done\n")


def in_child(use: Callable[[], Any]) -> int:
    """The exit code of a forked child that does this; a hang is ended by SIGALRM."""
    child = os.fork()
    if not child:
        signal.alarm(_PATIENCE)
        code = 1
        try:
            use()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _works_in_a_child() -> None:
    assert (cnp.ones(3) + 1).tolist() == [2, 2, 2]
    assert called(cnp.zeros(1000))[0] == 1
    assert cv.grad(lambda x: x * x)(cnp.asarray(3.0)) == 6


def _is_refused_in_a_child() -> None:
    for compiling in (lambda: _compiling(-7), lambda: calling_python(cnp.ones(2))):
        try:
            compiling()
        except DeviceError as error:
            assert "it was forked, as multiprocessing does" in str(error)
        else:
            raise AssertionError("it was compiled")
    _works_in_a_child()


def _double(n: int) -> float:
    return float(called(cnp.full(1000, float(n)))[0])


def forks() -> None:
    """Fork while other threads compile."""
    called(cnp.ones(1000))
    stop = threading.Event()

    def work() -> None:
        n = 0
        while not stop.is_set():
            _compiling(n := n + 1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for use in [_works_in_a_child, _is_refused_in_a_child] * 5:
        time.sleep(0.02 * random.random())
        code = in_child(use)
        sys.stdout.write(f"{use.__name__} {code}\n" if code else "")
    stop.set()
    for thread in threads:
        thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(_double, range(4))
    np.testing.assert_allclose(found, np.sin(np.arange(4)) + 1, rtol=1e-6)
    sys.stdout.write("done\n")


def _interrupted(after: float) -> None:
    """Compile for the first time, while a signal's handler computes as well."""
    seen = []

    def handler(*_: Any) -> None:
        seen.append(float(cv.jit(lambda x: x.sum() * 2)(cnp.ones(3))))

    signal.signal(signal.SIGUSR1, handler)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(after, signal.pthread_kill, (main, signal.SIGUSR1))
    timer.start()
    found = cv.jit(lambda x: cnp.sin(x) * 3)(cnp.zeros(4))
    assert found.tolist() == [0] * 4
    timer.join()
    time.sleep(0.01)
    assert seen == [6]


def signals(rounds: str) -> None:
    """First compilations with a signal at any moment."""
    chance = random.Random(3)
    for _ in range(int(rounds)):
        after = 0.15 * chance.random()
        code = in_child(lambda: _interrupted(after))  # noqa: B023  it is run now
        sys.stdout.write(f"after {after}: {code}\n" if code else "")
    sys.stdout.write("done\n")


def _amid_an_import() -> None:
    _imp.acquire_lock()  # as while a module is looked for
    assert cv.jit(lambda x: cnp.sin(x) * 3)(cnp.zeros(4)).tolist() == [0] * 4
    _imp.release_lock()


def imports() -> None:
    """A first compilation by a handler that came while the main thread imports."""
    sys.stdout.write(f"{in_child(_amid_an_import)}\n")


if __name__ == "__main__":
    {
        "daemons": daemons,
        "forks": forks,
        "signals": signals,
        "imports": imports,
    }[sys.argv[1]](*sys.argv[2:])
