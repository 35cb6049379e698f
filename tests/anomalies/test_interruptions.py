"""After interrupts and exceptions the library is as before."""

import pytest

from tests.anomalies import interruptions


@pytest.mark.parametrize("name", interruptions.PROGRAMS)
def test_an_exception_at_any_operation_leaves_a_clean_state(name):
    assert interruptions.failing(name, 1.25) == ""


def test_interrupts_at_random_calls_leave_a_clean_state():
    assert interruptions.failures(seed=8, rounds=48) == []
