"""Every public function has a row, and samples of today's seed obey all checks.

The seed changes every day; ``TEST_SEED=…`` repeats one, and the summary of the tests
prints it. ``make fuzz`` tries many more.
"""

import pytest

from tests.public.checks import CHECKS, differences
from tests.public.seeds import SEED
from tests.public.table import load

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


def test_every_check_is_run():
    assert NUMBERS.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", TABLE)
def test_samples_obey_every_check(name):
    told = []
    for number in range(max(NUMBERS.values())):
        names = [check for check, count in NUMBERS.items() if number < count]
        told += differences(TABLE[name], SEED, number, names)
    assert not told, "\n" + "\n".join(told)
