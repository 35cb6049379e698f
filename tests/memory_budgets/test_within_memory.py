"""``checkpoint(f, memory=)`` and ``grad(f, memory=)``: plans within a budget."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.memory_budgets.scan_segments import in_segments
from tests.memory_budgets.compiled import assert_near, peak, run

rng = np.random.default_rng(0)
WEIGHTS = [rng.normal(size=(32, 32)).astype(np.float32) / 6 for _ in range(8)]
X = rng.normal(size=(512, 32)).astype(np.float32)
STEPS = rng.normal(size=(96, 32, 32)).astype(np.float32) / 4


@cv.jit
def layer(w, x):
    return cnp.tanh(x @ w)


def chain(ws, x):
    for w in ws:
        x = layer(w, x)
    return (x**2).sum()


def recurrent(w, xs, reverse=False):
    def step(h, x):
        h = cnp.tanh(h @ w + x)
        return h, h.sum()

    last, ys = lax.scan(step, cnp.zeros((32, 32)), xs, reverse=reverse)
    return (last**2).sum() + (ys**2).sum()


@pytest.mark.parametrize(
    ("f", "args", "parts"),
    [(chain, (WEIGHTS, X), (0.7,)), (recurrent, (WEIGHTS[0], STEPS), (0.7,))],
)
def test_a_gradient_stays_below_its_budget_and_is_the_same(f, args, parts):
    wanted, before = run(cv.value_and_grad(f, (0, 1)), *args)
    for part in parts:
        budget = int(part * before)
        found, needed = run(cv.value_and_grad(f, (0, 1), memory=budget), *args)
        assert needed <= budget
        assert_near(found, wanted)


def test_with_room_for_everything_nothing_is_computed_again():
    budget = peak(cv.grad(chain), WEIGHTS, X) + 1024
    within = cv.grad(chain, memory=budget)
    assert "checkpoint" not in str(cv.make_jaxpr(within)(WEIGHTS, X))


def test_checkpoint_takes_a_budget_and_composes_with_other_transformations():
    budget = int(0.75 * peak(cv.value_and_grad(chain), WEIGHTS, X))
    kept = cv.checkpoint(chain, memory=budget)
    np.testing.assert_allclose(kept(WEIGHTS, X), chain(WEIGHTS, X), rtol=1e-5)
    wanted = cv.grad(chain)(WEIGHTS, X)
    assert_near(cv.grad(kept)(WEIGHTS, X), wanted)
    w, few = WEIGHTS[:1], np.stack([X, 2 * X])[:, :8]
    kept = cv.checkpoint(chain, memory="1MB")
    _, tangent = cv.jvp(kept, (w, X), (w, X))
    assert_near(tangent, cv.jvp(chain, (w, X), (w, X))[1])
    found, wanted = [cv.vmap(cv.grad(f), (None, 0))(w, few) for f in (kept, chain)]
    assert_near(found, wanted)


def test_a_scan_in_segments_is_the_scan():
    def f(w, xs):
        step = lambda h, x: (cnp.tanh(h @ w + x), h)  # noqa: E731
        return cv.tree.leaves(lax.scan(step, xs[0], xs, reverse=True))

    def total(run):
        return lambda *args: sum([(x**2).sum() for x in run(*args)])

    args = WEIGHTS[0], STEPS[:12]
    jaxpr = cv.make_jaxpr(f)(*args)
    (k,) = [k for k, e in enumerate(jaxpr.equations) if e.op.name == "scan"]
    wanted = cv.grad(total(f), (0, 1))(*args)
    for segment, count in ((1, 5), (3, 2)):
        equations = [*jaxpr.equations]
        equations[k : k + 1] = in_segments(equations[k], segment, count)
        segmented = type(jaxpr)(jaxpr.inputs, equations, jaxpr.outputs, "segmented")
        assert_near(segmented(*args), f(*args))
        assert_near(cv.grad(total(segmented), (0, 1))(*args), wanted)


def test_a_budget_that_no_plan_keeps_says_the_smallest_one_and_the_line():
    wanted = (
        r"^grad of chain \(test_within_memory.py:\d+\) cannot run in 200.0 KB. The "
        r"smallest budget that it can keep is [\d.]+ KB \((\d+) bytes\): its arguments"
        r" and results take [\d.]+ KB, its temporaries [\d.]+ KB. The largest value "
        r"that it keeps is f32\[512,32\] \(65.5 KB\) from \w+ at \S*test_within_mem"
    )
    with pytest.raises(errors.OverBudget, match=wanted) as caught:
        cv.grad(chain, memory="200kB")(WEIGHTS, X)
    least = int(str(caught.value).split(" bytes")[0].split("(")[-1])
    within = cv.grad(chain, memory=least)
    assert peak(within, WEIGHTS, X) <= least


def test_auxiliary_results_and_reductions_go_with_a_budget():
    def loss(ws, x):
        y = layer(ws[0], x)
        return y.sum(), {"y": y}

    value, gradient = cv.value_and_grad(loss, has_aux=True, memory="1GB")(WEIGHTS, X)
    assert_near(value, loss(WEIGHTS, X))
    assert_near(gradient, cv.grad(loss, has_aux=True)(WEIGHTS, X)[0])
    summed = cv.grad(layer, reduce=cnp.sum, memory="1GB")(WEIGHTS[0], X)
    assert_near(summed, gradient[0])
    both = cv.grad(lambda n, x: n * x, (0, 1), allow_int=True, memory="1GB")(2, 3.0)
    assert [both[0].dtype, float(both[1])] == [cv.float0, 2.0]


def test_what_a_budget_cannot_be_is_refused_in_words():
    policy = cv.checkpoint_policies.dots_saveable
    with pytest.raises(
        errors.ArgumentError, match="takes policy= or memory=, not both"
    ):
        cv.checkpoint(chain, policy=policy, memory="1GB")
    with pytest.raises(errors.ArgumentError, match="the memory of checkpoint of chain"):
        cv.checkpoint(chain, memory="1 elephant")
    with pytest.raises(errors.ArgumentError, match="the memory of grad of chain"):
        cv.grad(chain, memory=-1)
    loss = cv.grad(lambda x: lax.psum(x, "lanes"), memory="1GB")
    with pytest.raises(
        errors.ArgumentError, match="inside of the named axes lanes, but"
    ):
        cv.vmap(loss, axis_name="lanes")(X[0])
