"""What optimisation did is told in numbers that say how they are counted."""

import json

import pytest

import covector as cv
import covector.numpy as cnp
from covector.analysis.compiled.changes import changes
from tests.analysis.compiled.programs import PROGRAMS, M, V, compiled


def done(fun, *args):
    """The changes by kind."""
    return {change.kind: change for change in changes(fun)(*args).done}


def test_what_is_dead_folded_merged_and_inlined_is_counted():
    inner = cv.jit(lambda x: cnp.exp(x) + 1)

    def whole(x):
        unused = cnp.sin(x)
        assert unused.shape == x.shape
        known = cnp.sqrt(cnp.arange(500.0)).sum()
        return inner(x) * known + cnp.cos(x) * cnp.cos(x) + inner(x + 1)

    found = done(whole, V)
    counts = {k: c.count for k, c in found.items()}
    assert counts == {"dead": 1, "folded": 2, "merged": 1, "inlined": 2, "fused": 11}
    line = whole.__code__.co_firstlineno
    lines = {k: {n - line for _, n in found[k].lines} for k in found}
    assert lines["dead"] == {1}
    assert lines["folded"] == {3}
    assert lines["merged"] == lines["inlined"] == {4}
    assert all(c.counted for c in found.values())


def test_a_program_has_a_size_before_and_after():
    made = changes(compiled("elementwise"))()
    assert (made.equations, made.given, made.instructions) == (4, 5, 5)
    assert (made.kernels, made.fusions) == (1, 1)
    assert "4 equations → 5 instructions → 5 instructions in 1 kernels" in str(made)
    json.dumps(made.to_dict())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gradient of a layer", "library"),
        ("small loop", "loop in one kernel"),
        ("callback", "callback"),
        ("several devices", "communication"),
        ("large loop", "copied"),
    ],
)
def test_kinds_of_kernels_are_changes_with_lines(name, kind):
    (change,) = [c for c in changes(compiled(name))().done if c.kind == kind]
    assert change.count > 0
    assert {file.rpartition("/")[2] for file, _ in change.lines} == {"programs.py"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_changes(name):
    made = changes(compiled(name))()
    assert made.given >= made.kernels or made.instructions >= made.kernels
    assert [n.bytes for n in made.not_done] == sorted(
        [n.bytes for n in made.not_done], reverse=True
    )


def test_what_is_donated_is_named_and_what_could_be():
    def step(params, x):
        def loss(params):
            return ((x @ params["w"]) ** 2).mean()

        gradient = cv.grad(loss)(params)
        return {"w": params["w"] - 0.1 * gradient["w"]}

    kept = changes(cv.jit(step))({"w": M}, M[:7])
    (advice,) = [n for n in kept.not_done if "donate_argnums" in n.reason]
    assert "argument params['w'] is not donated" in advice.reason
    assert advice.bytes == M.nbytes
    given_up = changes(cv.jit(step, donate_argnums=0))({"w": M}, M[:7])
    (donated,) = [c for c in given_up.done if c.kind == "donated"]
    assert "argument params['w']: 9.2 KB less" in donated.reason
    assert not [n for n in given_up.not_done if "donate_argnums" in n.reason]


def test_copies_have_a_reason():
    def overwritten(x):
        return cv.lax.fori_loop(0, 9, lambda k, c: c.at[k % 7].set(c[k % 5] + 1), x)

    reasons = [n.reason for n in changes(overwritten)(V).not_done]
    assert "argument x is not donated, so its memory cannot be written" in reasons

    reasons = [n.reason for n in changes(compiled("updates"))().not_done]
    words = "the result needs the axes in memory as {1,0}, and they are {0,1}"
    assert words in reasons
