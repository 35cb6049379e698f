"""``vmap(f, memory=)``: batches in chunks, within a budget of compiled memory."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.memory_budgets.chunks import largest_chunk
from covector.runtime.executable import MemoryUse
from tests.memory_budgets.compiled import assert_near, peak, run

rng = np.random.default_rng(0)
CENTRES = rng.normal(size=40).astype(np.float32)
POINTS = rng.normal(size=(30, 40)).astype(np.float32)


def closeness(centres, point):
    """Two results, of which 40 × 40 temporaries are made."""
    near = cnp.exp(-cnp.abs(point[:, None] * centres - point))
    return (near @ near).sum(0), {"all": near.sum()}


plain = cv.vmap(closeness, in_axes=(None, 0))


def test_a_batch_in_chunks_stays_below_its_budget_and_gives_the_same():
    wanted, before = run(plain, CENTRES, POINTS)
    for budget in (before // 2, before // 3):
        chunked = cv.vmap(closeness, in_axes=(None, 0), memory=budget)
        found, needed = run(chunked, CENTRES, POINTS)
        assert budget / 3 < needed <= budget
        assert_near(found, wanted)
    # With room for all lanes there are no chunks.
    whole = cv.vmap(closeness, in_axes=(None, 0), memory=before + 1024)
    assert "scan" not in str(cv.make_jaxpr(whole)(CENTRES, POINTS).eqns[0].op.program)


def loss_over(batched):
    def loss(centres, points):
        near, more = batched(centres, points)
        return (near**2).sum() + (more["all"] ** 2).sum()

    return loss


def test_gradients_of_a_batch_in_chunks_stay_below_the_budget():
    plainly = cv.grad(loss_over(plain), (0, 1))
    wanted, before = run(plainly, CENTRES, POINTS)
    budget = before // 4
    chunked = cv.vmap(closeness, in_axes=(None, 0), memory=budget)
    found, needed = run(cv.grad(loss_over(chunked), (0, 1)), CENTRES, POINTS)
    assert needed <= budget
    assert_near(found, wanted)


def test_lanes_that_no_chunk_divides_come_after_the_chunks():
    def f(x):
        return closeness(CENTRES, x)

    xs = POINTS[:29]
    budget = peak(cv.vmap(f), xs) // 2
    assert_near(cv.vmap(f, memory=budget)(xs), cv.vmap(f)(xs))


def test_axes_names_keywords_and_shared_results_are_those_of_vmap():
    def f(tree, options, times, mode, *, shift):
        assert (times, mode) == (2, "up")
        scale = options["scale"] * options["n"]
        wide, more = closeness(CENTRES, tree["x"])
        return {"wide": wide * scale + shift * more["all"], "shared": scale * times}

    axes = {
        "in_axes": ({"x": 1}, None, None, None),
        "out_axes": {"wide": 1, "shared": None},
        "axis_name": "lanes",
    }
    options, shifts = {"scale": np.float32(0.5), "n": 3}, np.arange(30.0, dtype="f4")
    args = ({"x": POINTS.T}, options, 2, "up")
    wanted = cv.vmap(f, **axes)(*args, shift=shifts)
    chunked = cv.vmap(f, **axes, memory="60kB")
    assert_near(chunked(*args, shift=shifts), wanted)
    inside = cv.jit(lambda tree, shift: chunked(tree, *args[1:], shift=shift))
    assert "while" in inside.lower(args[0], shifts).as_text()
    assert_near(inside(args[0], shifts), wanted)


def test_chunks_nest_in_other_batches():
    inner = {"in_axes": (None, 0), "memory": "150kB"}
    scales = np.arange(1.0, 4.0, dtype=np.float32)[:, None] * CENTRES
    both = cv.vmap(cv.vmap(closeness, **inner), in_axes=(0, None))
    wanted = cv.vmap(cv.vmap(closeness, in_axes=(None, 0)), in_axes=(0, None))
    assert_near(both(scales, POINTS), wanted(scales, POINTS))


def test_a_budget_that_one_lane_exceeds_says_the_smallest_one_and_the_line():
    chunked = cv.vmap(closeness, in_axes=(None, 0), memory="20kB")
    wanted = (
        r"vmap of closeness .* cannot run in 20.0 KB. The smallest budget that it can "
        r"keep is [\d.]+ KB \((\d+) bytes\): its arguments and results take 9.9 KB, "
        r"its temporaries [\d.]+ KB. The largest value that it keeps is f32\[40,40\] "
        r"\(6.4 KB\) from \w+ at \S*test_chunks.py:\d+ "
    )
    with pytest.raises(errors.OverBudget, match=wanted) as caught:
        chunked(CENTRES, POINTS)
    least = int(str(caught.value).split("(")[2].split(" bytes")[0])
    enough = cv.vmap(closeness, in_axes=(None, 0), memory=least)
    assert peak(enough, CENTRES, POINTS) <= least


def test_what_chunks_cannot_do_is_refused_in_words():
    def centred(x):
        return x - lax.psum(x, "lanes")

    with pytest.raises(errors.AxisError, match="communicates over its axis 'lanes'"):
        cv.vmap(centred, axis_name="lanes", memory="1MB")(POINTS)
    summed = cv.custom_vjp(lambda x: x)
    summed.defvjp(lambda x: (x, None), lambda _, g: (lax.psum(g, "lanes"),))
    batched = cv.vmap(summed, axis_name="lanes", memory="1MB")
    with pytest.raises(errors.AxisError, match="no axis is named here") as caught:
        cv.grad(lambda x: batched(x).sum())(POINTS)
    assert "rules cannot communicate over its axis, since" in caught.value.__notes__[-1]
    with pytest.raises(errors.ArgumentError, match=r"memory= or spmd_axis_name=, not "):
        cv.vmap(cnp.sin, spmd_axis_name="x", memory="1MB")
    with pytest.raises(errors.ArgumentError, match="the memory of vmap of sin takes"):
        cv.vmap(cnp.sin, memory="-1MB")
    counter = cv.new_ref(0.0)

    def counts(x):
        counter[...] += 1.0
        return x

    with pytest.raises(errors.RefError, match="references, but lanes in chunks"):
        cv.vmap(counts, memory="1MB")(POINTS)


def test_few_programs_are_compiled_to_find_the_size_of_a_chunk():
    tried = []

    def use(chunk):
        tried.append(chunk)
        return MemoryUse(1000, 1000, 300 * chunk + 777, 0)

    assert largest_chunk(1024, use, 1000 + 1000 + 777 + 300 * 300) == 256
    assert tried == [1024, 1, 256]
    assert largest_chunk(1024, use, 2000) is None
    assert largest_chunk(1, use, 10**9) == 1
    assert largest_chunk(0, use, 10**9) == 0


def test_keys_branches_and_loops_run_in_chunks():
    def f(key, x):
        step = cv.random.normal(key, x.shape)
        y = lax.cond(x[0] > 0, lambda: closeness(CENTRES, x)[0], lambda: step)
        return lax.fori_loop(0, 2, lambda _, y: cnp.sin(y) + step, y), key

    keys = cv.random.split(cv.random.key(0), 30)
    found, wanted = [cv.vmap(f, memory=m)(keys, POINTS) for m in ("100kB", None)]
    assert_near(found[0], wanted[0])
    assert_near(*[cv.random.key_data(out[1]) for out in (found, wanted)])
    assert_near(cv.vmap(f, memory="1MB")(keys[:0], POINTS[:0])[0], wanted[0][:0])
