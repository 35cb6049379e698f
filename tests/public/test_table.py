"""Every public function has a row, and samples of today's seed obey all checks.

The seed changes every day; ``TEST_SEED=…`` repeats one, and the summary of the tests
prints it. ``make fuzz`` tries many more.
"""

import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from tests.public.checks import CHECKS, differences
from tests.public.seeds import SEED
from tests.public.table import load

ROOT = Path(__file__).parents[2]
TABLE = load()
#: samples for each check: few where each of them is compiled
NUMBERS = {
    "beside_numpy": 8,
    "beside_jax": 1,
    "compiled": 1,
    "placed": 1,
    "batched": 2,
    "watched": 2,
    "derivatives": 1,
}
#: seconds of the processor after which a function that is compiled for each sample is
#: left, once it has had this many
ENOUGH, LEAST = 0.5, 2
#: of so many functions one is checked so, another one with each seed: what compiles
#: most is the dearest
ONE_OF = {"beside_jax": 5, "compiled": 3, "placed": 3}


def is_drawn(check: str, name: str, seed: int) -> bool:
    """Whether the samples of this seed undergo a check."""
    return zlib.crc32(f"{seed} {check} {name}".encode()) % ONE_OF.get(check, 1) == 0


def test_every_check_is_run():
    assert NUMBERS.keys() == CHECKS.keys()
    for check in ONE_OF:
        days = {n for n in TABLE for seed in range(80) if is_drawn(check, n, seed)}
        assert days == TABLE.keys()


@pytest.mark.parametrize("name", TABLE)
def test_samples_obey_every_check(name):
    told = []
    drawn = {c: n for c, n in NUMBERS.items() if is_drawn(c, name, SEED)}
    start = time.process_time()
    for number in range(max(drawn.values())):
        if number >= LEAST and time.process_time() - start > ENOUGH:
            break
        names = [check for check, count in drawn.items() if number < count]
        told += differences(TABLE[name], SEED, number, names)
    assert not told, "\n" + "\n".join(told)


def test_by_itself_the_command_finds_no_difference_where_there_is_none():
    # It has all devices that checks put arrays on, also where pytest did not say so.
    sample = ["numpy.copy", "--seed", "1", "--number", "0"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVECTOR_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.public", *sample],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "no difference\n"), done.stderr
