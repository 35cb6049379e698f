"""Running checks over random programs, and the words for one that fails."""

import inspect
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from tests.random_programs import checks, prelude
from tests.random_programs.maker import make
from tests.random_programs.program import Program
from tests.random_programs.shrinking import shrunk

#: how far two ways to a result may be from each other, as a part of its size
EXACT, ROUGH = 1e-7, 2e-2
#: every so many programs one is kept, to be run again
KEPT = 20
#: so many are kept until they are run again, and the caches cleared
ROUND = 20


@dataclass(frozen=True)
class Failure:
    """A program, the check that it fails, and how."""

    program: Program
    check: Callable[..., Any]
    error: Exception

    def made_small(self, seconds: float) -> "Failure":
        """The same failure of a smaller program."""

        def fails(program: Program) -> bool:
            error = error_of(program, self.check)
            return type(error) is type(self.error) and _kind(error) == _kind(self.error)

        small = shrunk(self.program, fails, seconds)
        error = error_of(small, self.check)
        return Failure(small, self.check, error)

    def script(self) -> str:
        """A script that needs only covector, NumPy and an interpreter."""
        program = self.program
        names = ", ".join([v.name for v in program.block.parameters])
        return "\n".join(
            [
                f"# program {program.seed}, check {self.check.__name__}",
                "import os",
                'os.environ["COVECTOR_NUM_CPU_DEVICES"] = "8"',
                inspect.getsource(prelude),
                'cv.config.update("enable_x64", True)',
                inspect.getsource(checks),
                program.source(),
                program.written_arguments(),
                f"arguments = [{names}]",
                f"{self.check.__name__}(program, arguments, {program.active}, "
                f"{tolerance(program)})",
            ]
        )

    def words(self) -> str:
        where = "".join(
            traceback.format_exception_only(type(self.error), self.error)
        ).strip()
        return f"{where}\n\n{self.script()}"


def _kind(error: Exception) -> str:
    """How a failure begins, without the numbers in it."""
    return re.sub(r"[\d.]+", "#", str(error).split(":")[0])[:80]


def tolerance(program: Program) -> float:
    return EXACT if program.exact else ROUGH


def error_of(program: Program, check: Callable[..., Any]) -> Any:
    """What a check of a program raises, else what it returns."""
    arguments = [cnp.asarray(x) for x in program.arguments]
    try:
        return check(program.function(), arguments, program.active, tolerance(program))
    except Exception as error:  # noqa: BLE001  any error is a finding
        return error


def applies(program: Program, check: Callable[..., Any]) -> bool:
    if check in checks.FORWARD and not program.forward:
        return False
    if check is checks.difference_quotient and not program.exact:
        return False
    counts = set(re.findall(r"over_devices\(\w+, (\d+)", program.source()))
    if check is checks.on_devices:
        return not counts
    return check is not checks.sharded or counts <= {"2"}


def chosen(program: Program) -> list[Callable[..., Any]]:
    """The checks of a program: some, by its seed, and at least one."""
    rng = np.random.default_rng([program.seed, 2])
    found = [c for c, often in checks.CHECKS.items() if rng.random() < often]
    return [c for c in found or [checks.compiled] if applies(program, c)]


class Log:
    """What was run, counted."""

    def __init__(self) -> None:
        self.programs = self.steps = self.inconclusive = 0
        self.checks: Counter[str] = Counter()

    def __str__(self) -> str:
        made = ", ".join([f"{name} {n}" for name, n in self.checks.most_common()])
        return (
            f"{self.programs} programs of {self.steps} steps; {made}; "
            f"{self.inconclusive} checks told nothing"
        )


def in_turns(seed: int, names: list[str]) -> Iterator[list[str]]:
    """A part of ``make fuzz``: programs, where no functions are named."""
    with cv.enable_x64(True):
        for first in range(1000 * seed, 1000 * seed + 100, 10):
            if not names:
                failures, _ = run(first, 600.0, 10, cv.device_count())
                yield [failure.words() for failure in failures]


def run(
    first: int,
    seconds: float,
    programs: int | None = None,
    devices: int = 1,
    *,
    tell: Callable[[Failure], None] = lambda failure: None,
    begin: Callable[[str], None] = lambda words: None,
) -> tuple[list[Failure], Log]:
    """Programs of the seeds from ``first`` on, until the time or the number is over.

    ``tell`` is called with each failure at once, ``begin`` with what is about to run,
    which may end the process. After each round and at the end, some of the programs are
    run again: before and after the caches are cleared they give what they gave first.
    """
    end, log, failures = time.monotonic() + seconds, Log(), []
    earlier: list[tuple[Program, list[np.ndarray]]] = []
    over = False
    while not over:
        program = make(first + log.programs, devices)
        found = _checked(program, log, begin)
        if not found and log.programs % KEPT == 1:
            earlier.append((program, compiled_values(program)))
        over = time.monotonic() > end or log.programs == programs
        if over or len(earlier) >= ROUND:
            found += again(earlier)
            earlier.clear()
        for failure in found:
            tell(failure)
        failures += found
    return failures, log


def _checked(
    program: Program, log: Log, begin: Callable[[str], None], seconds: float = 60.0
) -> list[Failure]:
    """The first check that fails, with the program made small."""
    log.programs += 1
    log.steps += program.size
    for check in chosen(program):
        begin(f"program {program.seed}, check {check.__name__}")
        log.checks[check.__name__] += 1
        found = error_of(program, check)
        if isinstance(found, AssertionError) and is_chaotic(program):
            found = False
        log.inconclusive += found is False
        if isinstance(found, Exception):
            return [Failure(program, check, found).made_small(seconds)]
    return []


def is_chaotic(program: Program) -> bool:
    """Whether values move as far as a check allows, where arguments move by a few units
    in their last place: then two ways to round give two results.
    """
    given = program.arguments
    moved = [
        x * (1 + 4 * np.finfo(x.dtype).eps) if x.dtype.kind == "f" else x for x in given
    ]
    one, other = [program.function()(*map(cnp.asarray, xs)) for xs in (given, moved)]
    try:
        checks.agree(one, other, tolerance(program) / 10, "")
    except AssertionError:
        return True
    return False


def compiled_values(
    program: Program, constants: dict[str, float] | None = None
) -> list[np.ndarray]:
    """What ``jit`` of a new function of the program's text gives."""
    arguments = [cnp.asarray(x) for x in program.arguments]
    return [np.asarray(x) for x in cv.jit(program.function(constants))(*arguments)]


def again(earlier: list[tuple[Program, list[np.ndarray]]]) -> list[Failure]:
    """Those of the programs that give something else after others have run.

    In between runs a twin: the same text, with other numbers for its globals.
    """
    first = [_differs(program, before) for program, before in earlier[::2]]
    cv.clear_caches()
    second = [_differs(program, before) for program, before in earlier[1::2]]
    return [f for f in (*first, *second) if f is not None]


def _differs(program: Program, before: list[np.ndarray]) -> Failure | None:
    twin = {name: value / 2 for name, value in program.constants.items()}
    try:
        compiled_values(program, twin)
        checks.agree(
            compiled_values(program), before, 0.0, "the program again and at first"
        )
    except Exception as error:  # noqa: BLE001  any error is a finding
        return Failure(program, checks.compiled, error)
    return None
