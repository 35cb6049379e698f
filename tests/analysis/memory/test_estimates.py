"""``memory.estimate``: what a program will need, before it runs, by line."""

import json

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import memory
from covector.analysis.memory.plan import slots_of
from tests.analysis.costs.test_programs import PROGRAMS

S = cv.ShapeDtypeStruct
FLOAT = "float32"
#: programs that say nothing that ten others do not
LIKE_OTHERS = {
    "filter_of_a_spectrum",
    "gradient_of_a_language_model",
    "hessian_of_a_logistic_regression",
}


def layer(w, x):
    return cnp.sort(cnp.tanh(x @ w), axis=0)


def loss(params, x):
    for w in params:
        x = layer(w, x)
    return (x * x).mean()


@pytest.mark.parametrize("name", sorted({*PROGRAMS} - LIKE_OTHERS))
def test_what_lines_are_told_to_hold_is_what_xla_plans(name):
    """Within 2 %: the rest is what is lost between values."""
    f, args = PROGRAMS[name]
    compiled = cv.jit(f).lower(*args).compile()
    plan = compiled.memory_analysis()
    found = memory.estimate(compiled)()
    sizes = plan.argument_size_in_bytes, plan.output_size_in_bytes
    needed = sum(sizes) + plan.temp_size_in_bytes - plan.alias_size_in_bytes
    assert found.peak_bytes == needed
    by_name = sum(a.bytes for a in found.arguments)
    by_line = sum(line.bytes for line in found.lines)
    assert by_name + by_line == pytest.approx(needed, rel=0.02)
    assert found.unused_bytes >= 0


def test_lines_are_those_of_the_users_function():
    needs = memory.estimate(lambda x: layer(cnp.eye(200), x))(S((1000, 200), FLOAT))
    line = layer.__code__.co_firstlineno + 1
    assert needs.lines[0].name.endswith(f"test_estimates.py:{line} (layer)")
    assert needs.lines[0].results == 800_000
    assert needs.arguments == (memory.ArgumentNeed("x", 800_000),)


def test_a_stage_knows_its_arguments_by_number():
    lowered = cv.jit(layer).lower(S((3, 3), FLOAT), S((5, 3), FLOAT))
    names = [a.name for a in memory.estimate(lowered)().arguments]
    assert names == ["argument 1", "argument 0"]


def test_donated_arguments_share_their_memory_with_results():
    def step(params, x):
        found = cv.grad(loss)(params, x)
        return [w - 0.1 * g for w, g in zip(params, found, strict=True)]

    given = [S((64, 64), FLOAT)] * 2, S((128, 64), FLOAT)
    kept = memory.estimate(step)(*given)
    donated = memory.estimate(cv.jit(step, donate_argnums=0))(*given)
    assert kept.shared_bytes == 0
    assert donated.shared_bytes == 2 * 64 * 64 * 4
    assert donated.result_bytes == kept.result_bytes >= donated.shared_bytes
    assert "of them in donated arguments" in str(donated)
    names = [a.name for a in donated.arguments]
    assert sorted(names) == ["params[0]", "params[1]", "x"]


def test_a_traced_peak_needs_no_fusion():
    needs = memory.estimate(lambda x: cnp.sin(cnp.cos(x) + 1).sum())(S((1000,), FLOAT))
    assert needs.traced_peak_bytes == 12_000
    assert needs.peak_bytes <= 8_200


def test_what_a_loop_carries_and_keeps_is_counted_by_line():
    def f(x):
        def step(c, _):
            c = cnp.tanh(c @ c)
            return c, c

        return cv.lax.scan(step, x, None, length=10)[1].sum()

    needs = memory.estimate(cv.grad(f))(S((100, 100), FLOAT))
    assert needs.temporary_bytes >= 400_000
    here = [line.temporaries for line in needs.lines if "test_estimates" in line.name]
    assert sum(here) == pytest.approx(needs.temporary_bytes, rel=0.02)


def test_an_estimate_is_data_and_a_table():
    needs = memory.estimate(layer)(S((8, 8), FLOAT), np.ones((16, 8), np.float32))
    data = json.loads(json.dumps(needs.to_dict()))
    assert data["peak_bytes"] == needs.peak_bytes
    assert data["lines"][0]["bytes"] == needs.lines[0].bytes
    assert str(needs).startswith("jit of layer (test_estimates.py:")
    assert "fullest moment" in needs._repr_html_()


def test_nothing_is_run():
    def f(x):
        cv.debug.callback(lambda: seen.append(1))
        return x + 1

    seen = []
    memory.estimate(f)(S((3,), FLOAT))
    assert seen == []


def test_an_executable_without_a_plan_has_no_slots():
    class Untold:
        serialized_buffer_assignment_proto = b""

        def memory_analysis(self):
            return self

    assert slots_of(Untold()) == []
