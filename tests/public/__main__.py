"""``make fuzz``: random samples of every public function, until the time is over.

    python -m tests.public --minutes 30                       fresh seeds
    python -m tests.public numpy.clip --seed 7 --number 3     one sample, all checks

Every difference is one line that ends with what reproduces it; the exit status is 1 if
there were any.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import covector as cv
from tests.public.checks import CHECKS, differences
from tests.public.table import load
from tests.random_programs.running import in_turns

#: samples of a function between two looks at the clock
NUMBERS = 4


def functions(seed: int, names: list[str]) -> Iterator[list[str]]:
    """Samples of the public functions, one function after another."""
    table = load()
    for name in names or table:
        for number in range(NUMBERS):
            yield differences(table[name], seed, number, list(CHECKS))
        cv.clear_caches()


#: what is fuzzed, in turns: a part takes a seed and names, and yields again and again
#: the lines of the differences that it has found meanwhile
PARTS: dict[str, Callable[[int, list[str]], Iterator[list[str]]]] = {
    "functions": functions,
    "programs": in_turns,
}


def fuzz(parts: list[str], names: list[str], seed: int, minutes: float) -> int:
    """Run parts in turns, each round with the next seed; the number of differences."""
    end, found, rounds = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end:
        print(f"seed {seed + rounds}", flush=True)
        for part in parts:
            for lines in PARTS[part](seed + rounds, names):
                found += len(lines)
                print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
                if time.monotonic() > end:
                    return found
        rounds += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.public", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions, numpy.clip for instance")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 10**9)
    parser.add_argument("--number", type=int, help="only this sample of the seed")
    parser.add_argument("--part", action="append", choices=list(PARTS))
    given = parser.parse_args()
    cv.config.update("num_cpu_devices", 8)
    warnings.simplefilter("error")
    if given.number is None:
        found = fuzz(given.part or list(PARTS), given.names, given.seed, given.minutes)
    else:
        rows = [load()[name] for name in given.names]
        lines = [
            line
            for row in rows
            for line in differences(row, given.seed, given.number, list(CHECKS))
        ]
        print(*lines or ["no difference"], sep="\n")
        found = len(lines)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
