"""Explanations of programs that were run."""

import json

import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError

X = cnp.ones((300, 300))


def f(x):
    y = x @ x
    z = y @ x
    return cnp.sum(z), cnp.sum(cnp.sin(x[:2]))


@pytest.fixture(scope="module")
def measured():
    return cv.explain(f)(X).run(repeats=3)


def test_what_was_measured_is_the_time_of_lines_that_cost_the_same(measured):
    shares = {line.source: line.measured_share for line in measured.lines}
    assert sum(shares.values()) == pytest.approx(1)
    assert 0.25 < shares["y = x @ x"] / (1 - shares["y = x @ x"]) < 4
    assert measured.totals.measured_s > 0
    assert any(fusion.measured_s for fusion in measured.optimisation.fusions)
    json.dumps(measured.to_dict(), allow_nan=False)


def test_a_slice_keeps_what_was_measured(measured):
    part = measured.slice(output=1)
    assert 0 < sum(line.measured_share for line in part.lines) < 0.5
    again = cv.explain(f)(X).slice(output=1).run(repeats=1)
    assert again.part == part.part
    assert again.totals.measured_s is not None


def test_donated_and_static_arguments_are_there_after_a_run():
    step = cv.jit(lambda n, x: x * n, static_argnums=0, donate_argnums=1)
    x = cnp.ones(3)
    assert cv.explain(step)(2, x).run(repeats=1).totals.measured_s > 0
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "explained",
    [
        lambda: cv.explain(f)(cv.ShapeDtypeStruct((3, 3), "float32")),
        cv.explain(cv.jit(f).lower(X)),
    ],
)
def test_what_was_explained_for_types_has_no_values_to_run_on(explained):
    with pytest.raises(ArgumentError, match="run needs values, but f was explained fo"):
        explained().run()
