"""Some random programs, others each day; ``make fuzz`` runs more of them.

``TEST_SEED`` chooses the first; the log prints it, and a failure prints a script.
"""

import numpy as np
import pytest

import covector as cv
from tests.public.seeds import SEED
from tests.random_programs import checks
from tests.random_programs.maker import make
from tests.random_programs.program import is_whole, walk
from tests.random_programs.running import Failure, error_of, run

#: seconds of programs in the suite, and how many at most
SECONDS, MOST = 30.0, 40


@pytest.fixture(autouse=True)
def in_double_precision():
    with cv.enable_x64(True):
        yield


def test_programs_have_one_value_and_one_derivative():
    failures, log = run(1000 * SEED, SECONDS, MOST, cv.device_count())
    assert not failures, "\n\n".join([f.words() for f in failures])
    assert log.programs > 0
    assert log.inconclusive <= log.checks["difference_quotient"] / 2 + 1


def test_a_seed_is_a_program():
    program = make(7)
    assert program.source() == make(7).source() != make(8).source()
    assert is_whole(program.block)
    assert any(step.blocks for seed in range(9) for step in walk(make(seed).block))


def test_a_program_that_fails_is_made_small_and_printed_as_a_script():
    """A check that fails because of one operation leaves little but that."""
    program = next(p for p in map(make, range(99)) if "cnp.roll" in p.source())

    def no_roll(f, args, active, tolerance):
        assert "cnp.roll" not in program_of[f].source(), "it rolls"

    program_of = {}

    def function(self, constants=None):
        f = original(self, constants)
        program_of[f] = self
        return f

    original = type(program).function
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(program), "function", function)
        error = error_of(program, no_roll)
        small = Failure(program, no_roll, error).made_small(20.0).program
    assert small.size < min(program.size, 6)
    script = Failure(small, checks.compiled, error).script()
    assert "cnp.roll" in script
    try:
        exec(compile(script, "<script>", "exec"), {"__name__": "script"})
    finally:  # a script sets options for its whole process
        cv.config.update("enable_x64", False)


def test_a_wrong_derivative_is_found():
    """The checks catch what they are for."""

    def wrong(x):
        return (with_wrong_rule(x),)

    with_wrong_rule = cv.custom_jvp(cv.numpy.sin)
    with_wrong_rule.defjvp(lambda p, t: (with_wrong_rule(*p), 1.1 * t[0]))
    x = cv.numpy.asarray(np.array([0.3, 0.5]))
    checks.derivatives(wrong, [x], [0], 1e-7)
    with pytest.raises(AssertionError, match="the difference quotients"):
        checks.difference_quotient(wrong, [x], [0], 1e-7)
