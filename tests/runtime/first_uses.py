"""First uses of everything, each by eight threads at once in a process of its own.

The program imports covector and forks: a child has compiled nothing, has no client and
no threads but its own, as if it had just started, which costs a tenth of a start.

    python -m tests.runtime.first_uses ROUNDS     prints what failed; exit code 1
"""

import faulthandler
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.errors import DeviceError, DistributedError

_THREADS = 8
#: seconds after which a child is taken to hang
_PATIENCE = 180
_AT_ONCE = 2


def compiling(n: int) -> None:
    found = cv.jit(lambda x: (cnp.sin(x) * n).sum())(cnp.ones(n + 2))
    assert np.isclose(found, np.sin(1) * n * (n + 2))


def equal_programs(_: int) -> None:
    assert cv.jit(lambda x: x * 2 + 1)(cnp.ones(3)).tolist() == [3, 3, 3]


def large_operations(_: int) -> None:
    assert float(cnp.sum(cnp.ones((300, 300)) + 1)) == 180000


def derivatives_under_options(n: int) -> None:
    with cv.default_matmul_precision("highest" if n % 2 else "default"):
        loss = lambda w: ((w @ w) * n).sum()  # noqa: E731
        assert cv.jit(cv.grad(loss))(cnp.ones((2, 2))).tolist() == [[4 * n] * 2] * 2


def loops_and_branches(n: int) -> None:
    def step(c: Any, x: Any) -> Any:
        return cv.lax.cond(x > n, lambda: c + x, lambda: c), x

    total, _ = cv.jit(lambda: cv.lax.scan(step, 0, cnp.arange(9)))()
    assert int(total) == sum(x for x in range(9) if x > n)
    assert int(cv.lax.while_loop(lambda i: i < 100, lambda i: i + 7, n)) >= 100


def modules_of_the_package(n: int) -> None:
    key = cv.random.key(n)
    drawn = cv.random.normal(key, (3,))
    compiled = cv.jit(cv.random.normal, static_argnums=1)(key, (3,))
    np.testing.assert_allclose(drawn, compiled, rtol=1e-5)
    assert cv.nn.relu(cnp.asarray(-1.0)) == 0
    assert cv.lax.erf(cnp.asarray(0.0)) == 0


def several_devices(_: int) -> None:
    cv.config.update("num_cpu_devices", 2)
    mesh = cv.make_mesh((2,), ("x",))
    total = cv.shard_map(
        lambda x: cv.lax.psum(x, "x"), mesh=mesh, in_specs=cv.P("x"), out_specs=cv.P()
    )
    assert cv.jit(total)(cnp.arange(4.0)).tolist() == [2, 4]


def python_functions(n: int) -> None:
    def called(x: Any) -> Any:
        return np.asarray(x) + n

    like = cv.ShapeDtypeStruct((3,), np.float32)
    found = cv.jit(lambda x: cv.pure_callback(called, like, x))(cnp.zeros(3))
    assert found.tolist() == [n] * 3


def platforms(_: int) -> None:
    assert cv.devices("cpu")[0].platform == "cpu"
    try:
        cv.devices("gpu")
    except DeviceError as error:
        assert "gpu" in str(error)
    assert "jaxlib" in (cv.print_environment_info(return_string=True) or "")


def files_of_programs(_: int) -> None:
    cv.config.update("compilation_cache_dir", _folder)
    assert cv.jit(lambda x: x * 3)(cnp.ones(3)).tolist() == [3, 3, 3]


def checkpoints(n: int) -> None:
    from covector.experimental import checkpoint  # noqa: PLC0415  a first use

    checkpoint.save(f"{_folder}/{n}", {"w": cnp.arange(n + 1)})
    assert checkpoint.restore(f"{_folder}/{n}")["w"].tolist() == list(range(n + 1))


def joining(_: int) -> None:
    try:
        cv.distributed.initialize(f"127.0.0.1:{_port}", 1, 0)
    except DistributedError as error:
        assert "joined the others already" in str(error)
    assert cv.distributed.is_initialized()
    assert cv.jit(lambda x: x + 1)(cnp.ones(2)).tolist() == [2, 2]


FIRST_USES: list[Callable[[int], None]] = [
    compiling,
    derivatives_under_options,
    large_operations,
    loops_and_branches,
    equal_programs,
    modules_of_the_package,
    python_functions,
    several_devices,
    platforms,
    files_of_programs,
    checkpoints,
    joining,
]
#: of each child
_folder, _port = "", 0


def at_once(use: Callable[[int], None]) -> int:
    """Run a use in all threads at once; how many of them failed."""
    barrier, failures = threading.Barrier(_THREADS), []

    def work(n: int) -> None:
        barrier.wait()
        try:
            use(n)
        except BaseException:  # noqa: BLE001  whatever it is, it is told
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stderr.write("".join(failures[:1]))
    return len(failures)


def started(use: Callable[[int], None], folder: str) -> int:
    """The process id of a child in which a use is the first one."""
    global _folder, _port
    port = _free_port()
    child = os.fork()
    if child:
        return child
    faulthandler.enable()
    signal.alarm(_PATIENCE)
    _folder, _port = folder, port
    os._exit(min(1, at_once(use)))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def main(rounds: int) -> int:
    """Every use, as often as this; how many children failed."""
    left = FIRST_USES * rounds
    running: dict[int, str] = {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        while left or running:
            while left and len(running) < _AT_ONCE:
                use = left.pop()
                own = tempfile.mkdtemp(dir=folder)
                running[started(use, own)] = use.__name__
            child, status = os.wait()
            name = running.pop(child)
            code = os.waitstatus_to_exitcode(status)
            if code:
                failed += 1
                sys.stdout.write(f"{name}: {code}\n")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]))))
