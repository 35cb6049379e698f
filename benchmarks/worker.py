"""A process that holds one peer and times its programs on request.

The process is started fresh (``spawn``). It is not trusted: a program may raise, crash
or hang, and the row then says so.
"""

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.measure import Measure
from benchmarks.timing import calls_per_batch, fastest_call, fastest_sample

PATIENCE = 120.0
"""Seconds after which a program that has not answered is given up."""

GRACE = 2.0
"""Seconds a process has to end by itself once the session has hung up."""

SOME = 100_000
"""Entries of each result that are compared with their positions."""


@dataclass(frozen=True)
class Binding:
    """Which module stands for a peer: itself, unless a null run binds another."""

    peer: str
    module: str


@dataclass(frozen=True)
class Sample:
    """One answer: seconds, and the digest and sums of the program's first result."""

    seconds: float
    digest: str | None = None
    sums: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Failure:
    """One answer: the program does not run, and why."""

    error: str


@dataclass(frozen=True)
class Request:
    """Time the measure called ``name`` for about ``budget`` seconds; without a budget,
    prepare it: its program is set up, run once, and warm.
    """

    name: str
    budget: float | None = None


class Worker:
    """The session's end: starts the process when asked, replaces it when it dies."""

    def __init__(self, binding: Binding, subject: str, tiny: bool) -> None:
        self.binding, self.subject, self.tiny = binding, subject, tiny
        self.process: Any = None
        self.connection: Any = None

    def ask(self, request: Request) -> Sample | Failure:
        """The answer to ``request``, whatever happens to the process."""
        if self.process is None:
            self.start()
        try:
            self.connection.send(request)
            if self.connection.poll(PATIENCE):
                return self.connection.recv()
            error = f"no answer after {PATIENCE:g} s"
        except (EOFError, OSError):
            error = "the process ended"
        return Failure(f"{error} (exit code {self.stop()})")

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far_end = context.Pipe()
        self.process = context.Process(
            target=serve,
            args=(far_end, self.binding, self.subject, self.tiny),
            daemon=True,
        )
        self.process.start()
        far_end.close()

    def stop(self) -> int | None:
        """End the process, if there is one; its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        self.connection.close()
        process.join(GRACE)
        process.kill()
        process.join()
        return process.exitcode


def serve(connection: Connection, binding: Binding, subject: str, tiny: bool) -> None:
    """The worker's end: answer requests until the session hangs up."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the session ends it
    measures = importlib.import_module(subject).measures(tiny)
    bench = Bench(binding, {m.name: m for m in measures})
    with uncompiled(binding.module) if tiny else nullcontext():
        while True:
            try:
                request = connection.recv()
            except EOFError:
                return
            connection.send(bench.answer(request))


def uncompiled(module: str) -> AbstractContextManager[None]:
    """Whether programs run can be seen without waiting for compilers."""
    disable = getattr(importlib.import_module(module), "disable_jit", nullcontext)
    return disable()


class Bench:
    """The programs of one peer: the one that was asked for last is kept."""

    def __init__(self, binding: Binding, measures: dict[str, Measure]) -> None:
        self.binding = binding
        self.measures = measures
        self.name = ""
        self.program: Program | Failure = Failure("nothing was asked for")

    def answer(self, request: Request) -> Sample | Failure:
        try:
            if request.name != self.name:
                self.name, self.program = request.name, Failure("not set up")
                self.program = Program(self.measures[request.name], self.binding)
            if isinstance(self.program, Failure):
                return self.program
            if request.budget is None:
                return self.program.first
            return self.program.sample(request.budget)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is the answer
            self.program = Failure(in_one_line(error))
            return self.program


class Program:
    """A measure bound to a peer and warmed up."""

    def __init__(self, measure: Measure, binding: Binding) -> None:
        module = importlib.import_module(binding.module)
        setup = measure.setup_for(binding.peer)
        assert setup is not None, "the session asks only the peers of a measure"
        self.measure = measure
        self.run = setup(module)
        self.wait = getattr(module, "block_until_ready", lambda value: value)
        self.first = Sample(0.0)
        if not measure.clocked:
            if measure.same:
                self.first = fingerprint(self.run())
            self.calls = calls_per_batch(self.run, self.wait)

    def sample(self, budget: float) -> Sample:
        measure = self.measure
        if measure.clocked:
            seconds = fastest_sample(self.run, measure.samples)
        else:
            seconds = fastest_call(
                self.run, self.wait, self.calls, measure.samples, budget
            )
        return Sample(seconds / measure.per, self.first.digest, self.first.sums)


def fingerprint(result: Any) -> Sample:
    """What two peers can compare without exchanging arrays: a digest of the bits, the
    sums of all entries, signed and absolute, and a sum in which positions count.
    """
    numpy = importlib.import_module("numpy")
    arrays = [flat(numpy, leaf) for leaf in leaves(result)]
    digest = sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
    signed = absolute = placed = 0.0
    for array in arrays:
        wide = array.astype(numpy.float64)
        signed += float(wide.sum())
        absolute += float(numpy.abs(wide, out=wide).sum())
        some = array[:: array.size // SOME + 1].astype(numpy.float64)
        weights = numpy.cos(numpy.arange(some.size))
        placed += float(some @ weights) * array.size / max(some.size, 1)
    return Sample(0.0, digest, (signed, absolute, placed))


def flat(numpy: Any, leaf: Any) -> Any:
    """The entries of a peer's array in one line, complex ones as two."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach()
        leaf = leaf if leaf.dtype.itemsize != 2 else leaf.float()
    array = numpy.ascontiguousarray(leaf)
    return (
        array.view(array.real.dtype).ravel()
        if array.dtype.kind == "c"
        else array.ravel()
    )


def leaves(tree: Any) -> Iterator[Any]:
    """The arrays in nested lists, tuples and dicts, in the order of the keys."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, list | tuple):
        for child in tree:
            yield from leaves(child)
    else:
        yield tree


def in_one_line(error: BaseException) -> str:
    """Type and first line of an error, short enough for a table."""
    lines = str(error).strip().splitlines() or [""]
    text = f"{type(error).__name__}: {lines[0]}"
    return text if len(text) <= 120 else text[:117] + "..."
