"""Several processes on this machine, whose cores they share: with two cores, more than
two processes cannot be quicker, and two have to share them with their communication.

    strong   one batch, divided between the processes: the ideal is 1 / processes
    weak     a batch for each: the ideal is the time of one process

The collective's share of a step is that of the row that only reduces the gradients.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import Measure, Setup

TITLE = f"Several processes, on {os.cpu_count()} cores"

PATIENCE = 120

PROGRAM = """
import sys
from time import perf_counter
import numpy as np
import {peer} as cv

address, count, rank = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
start = perf_counter()
if count > 1:
    cv.distributed.initialize(address, count, rank)
initialize = perf_counter() - start
devices = cv.devices()
start = perf_counter()
{statements}
if rank == 0:
    print("seconds", {answer})
"""

STEP = """
P = cv.sharding.PartitionSpec
mesh = cv.sharding.Mesh(np.array(devices), ("data",))
rows = cv.sharding.NamedSharding(mesh, P("data"))
whole = cv.sharding.NamedSharding(mesh, P())
wide, batch = {wide}, {batch}
random = np.random.default_rng(0)
sizes = (784, wide, wide, 10)
weights = [0.05 * random.normal(size=s) for s in zip(sizes, sizes[1:])]
weights = cv.device_put([w.astype(np.float32) for w in weights], whole)
share = batch // count
data = [random.normal(size=(share, n)).astype(np.float32) for n in (784, 10)]
data = [cv.make_array_from_process_local_data(rows, v) for v in data]

def loss(weights, x, y):
    for w in weights[:-1]:
        x = cv.numpy.tanh(x @ w)
    return ((x @ weights[-1] - y) ** 2).mean()

def step(weights, x, y):
    slopes = cv.grad(loss)(weights, x, y)
    return [w - 1e-3 * s for w, s in zip(weights, slopes)]

def reduce(weights, x, y):
    mean = lambda ws: [cv.lax.pmean(w, "data") for w in ws]
    return cv.shard_map(mean, mesh=mesh, in_specs=P("data"), out_specs=P())(weights)

program = cv.jit({program})
if program_is_reduce := ({program} is reduce):
    tall = lambda w: np.zeros((count * w.shape[0], w.shape[1]), np.float32)
    weights = cv.device_put([tall(w) for w in weights], rows)
best = float("inf")
for turn in range(4):
    start = perf_counter()
    for _ in range({steps}):
        found = program(weights, *data)
        weights = weights if program_is_reduce else found
    cv.block_until_ready(found)
    if turn:
        best = min(best, (perf_counter() - start) / {steps})
"""


def measures(tiny: bool) -> list[Measure]:
    counts = (2,) if tiny else (1, 2)
    wide, batch, steps = (8, 16, 2) if tiny else (512, 512, 20)
    sizes = {"wide": wide, "steps": steps}
    several = [n for n in counts if n > 1]
    return [
        *[row(f"initialize, {n} processes", n, "", "initialize") for n in several],
        *[
            row(
                f"strong: MLP step, batch {batch} in all, {n} process(es)",
                n,
                STEP.format(batch=batch, program="step", **sizes),
                "best",
            )
            for n in counts
        ],
        *[
            row(
                f"weak: MLP step, batch {batch} each, {n} processes",
                n,
                STEP.format(batch=batch * n, program="step", **sizes),
                "best",
            )
            for n in several
        ],
        *[
            row(
                f"the gradients' all-reduce alone, {n} processes",
                n,
                STEP.format(batch=batch, program="reduce", **sizes),
                "best",
            )
            for n in several
        ],
    ]


def row(name: str, count: int, statements: str, answer: str) -> Measure:
    setup = in_processes(count, statements, answer)
    return Measure(name, setup, clocked=True, samples=1)


def in_processes(count: int, statements: str, answer: str) -> Setup:
    """Statements about the module ``cv`` in several processes; process 0 answers."""

    def setup(module: Any) -> Callable[[], float]:
        program = PROGRAM.format(
            peer=module.__name__, statements=statements, answer=answer
        )

        def clocked() -> float:
            with socket.create_server(("127.0.0.1", 0)) as free:
                address = f"127.0.0.1:{free.getsockname()[1]}"
            started = [start(program, address, count, rank) for rank in range(count)]
            begin_together(started)
            said = [process.communicate(timeout=PATIENCE) for process in started]
            for process, (_, errors) in zip(started, said, strict=True):
                if process.returncode:
                    raise RuntimeError(errors.strip().splitlines()[-1])
            answers = [x for x in said[0][0].splitlines() if x.startswith("seconds ")]
            return float(answers[0].split()[1])

        return clocked

    return setup


def begin_together(started: Sequence[subprocess.Popen[str]]) -> None:
    """Let processes go on once all have imported what they need."""
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def start(program: str, address: str, count: int, rank: int) -> subprocess.Popen[str]:
    # Measures of many devices may have set these for a process of their own.
    mine = {k: v for k, v in os.environ.items() if "DEVICES" not in k}
    mine.pop("XLA_FLAGS", None)
    return subprocess.Popen(
        [sys.executable, "-c", program, address, str(count), str(rank)],
        env={**mine, "JAX_PLATFORMS": "cpu"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
