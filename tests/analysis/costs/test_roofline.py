"""``roofline``: the least time of a program, and what could be gained."""

import dataclasses

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.analysis import MachineLimits, Part, cost, machine_limits, roofline

LIMITS = MachineLimits(
    "a machine", "cpu", 1e9, {"float32": 1e10, "float64": 5e9}, 1e10, 1e8, "today"
)


def test_a_part_takes_as_long_as_its_bytes_or_its_operations_need():
    parts = [
        Part(flops=1e6, bytes=1e9),
        Part(flops=1e11, bytes=1e9),
        Part(flops=1e11, bytes=1e9, dtype="float64"),
        Part(flops=0, bytes=1e6, transcendentals=1e8),
        Part(flops=5, bytes=0),
    ]
    found = roofline(parts, LIMITS)
    assert [b.seconds for b in found.parts] == pytest.approx([1, 10, 20, 1, 5e-10])
    by = ["memory", "compute", "compute", "compute", "compute"]
    assert [b.by for b in found.parts] == by
    assert [b.intensity for b in found.parts] == [1e-3, 100, 100, 0, None]
    assert found.seconds == pytest.approx(32)


def test_what_each_run_touches_may_stay_in_a_cache():
    cached = dataclasses.replace(LIMITS, cached=((1000, 4e9),))
    parts = [Part(0, 1e6), Part(0, 1e6, runs=1000)]
    found = [bound.seconds for bound in roofline(parts, cached).parts]
    assert found == pytest.approx([1e-3, 0.25e-3])


def test_what_was_measured_can_gain_what_it_took_above_its_bound():
    found = roofline([Part(0, 1e9, seconds=3.0, lines=[7])], LIMITS)
    assert found.gains == ((7, 2.0, "took 3 times its least time"),)


def test_what_was_faster_than_its_bound_has_nothing_to_gain():
    assert roofline([Part(0, 1e9, seconds=0.5, lines=[7])], LIMITS).gains == ()


def test_a_fusion_saves_bytes_only_down_to_the_time_of_the_operations():
    part = Part(flops=5e9, bytes=1e9, intermediate_bytes=0.9e9, lines=["a", "b"])
    gains = {gain.line: gain.seconds for gain in roofline([part], LIMITS).gains}
    assert gains == {"a": pytest.approx(0.25), "b": pytest.approx(0.25)}


def test_gains_of_a_line_add_up_and_the_largest_is_first():
    parts = [Part(0, 1e9, lines=[k], intermediate_bytes=5e8) for k in (1, 2, 2)]
    assert [(g.line, g.seconds) for g in roofline(parts, LIMITS).gains] == [
        (2, 1.0),
        (1, 0.5),
    ]


def test_of_a_program_each_operation_is_a_part():
    def f(x):
        y = cnp.sin(x)
        return y * 3

    program = cv.make_jaxpr(f)(np.ones(1000, np.float32))
    found = roofline(cost(program), LIMITS)
    assert len(found.parts) == 2
    # The product, which takes a moment for its memory alone, need not read the sine;
    # of that, the writing is hidden behind the sines themselves.
    (gain,) = found.gains
    assert gain.line.number == f.__code__.co_firstlineno + 2
    assert gain.seconds == pytest.approx(4000 / 1e9)


def test_without_limits_those_of_this_machine_count():
    part = Part(0, 1e9)
    assert roofline([part]).seconds == 1e9 / machine_limits().bytes_per_s
