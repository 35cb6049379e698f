"""Random nests of loops and lanes, with a NaN in one step of one lane: ``explain_nan``
and the debugger know which.
"""

import io
import random
from pathlib import Path

import pytest

import covector as cv
import covector.numpy as cnp
from covector import debug, lax

LINES = enumerate(Path(__file__).read_text("utf-8").splitlines(), 1)
PLANTED = next(i for i, text in LINES if text.endswith("# planted"))


def scan(inner, size, x, reverse=False):
    numbers = cnp.arange(size)
    step = lambda c, i: (c + inner(i, x), None)  # noqa: E731
    return lax.scan(step, 0.0, numbers, reverse=reverse)[0]


def run_while(inner, size, x):
    step = lambda c: (c[0] + 1, c[1] + inner(c[0], x))  # noqa: E731
    return lax.while_loop(lambda c: c[0] < size, step, (0, 0.0))[1]


OVER = {
    "lane": lambda inner, n, x: cv.vmap(lambda i: inner(i, x))(cnp.arange(n)).sum(),
    "scan": scan,
    "reversed": lambda inner, n, x: scan(inner, n, x, reverse=True),
    "while": run_while,
    "fori": lambda inner, n, x: lax.fori_loop(0, n, lambda i, c: c + inner(i, x), 0.0),
    "map": lambda inner, n, x: lax.map(lambda i: inner(i, x), cnp.arange(n)).sum(),
}
AROUND = {
    "nothing": lambda f: f,
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "cond": lambda f: lambda i, x: lax.cond(x > -1e9, f, lambda i, x: x, i, x),
}


def nest(draw):
    """A function, and the step and the lane of its NaN, in a gradient or not."""
    depth = draw.randint(2, 4)
    over = [draw.choice(list(OVER)) for _ in range(depth)]
    around = [draw.choice(list(AROUND)) for _ in range(depth)]
    sizes = [draw.randint(2, 4) for _ in range(depth)]
    target = [draw.randrange(size) for size in sizes]
    backward = draw.random() < 0.6

    def core(ids, x):
        hit = cnp.asarray([i == t for i, t in zip(ids, target, strict=True)]).all()
        root = cnp.sqrt(x - (1 if backward else 2) * x * hit)
        return cnp.where(hit & backward, 0.0, root)  # planted

    def level(k, ids, x):
        if k == depth:
            return core(ids, x)
        inner = AROUND[around[k]](lambda i, x: level(k + 1, [*ids, i], x))
        return OVER[over[k]](inner, sizes[k], x)

    def function(x):
        return level(0, [], x)

    lanes = tuple([t for t, o in zip(target, over, strict=True) if o == "lane"])
    steps = tuple([t for t, o in zip(target, over, strict=True) if o != "lane"])
    return cv.grad(function) if backward else function, backward, lanes, steps


def numbers(found):
    return found if isinstance(found, tuple) else () if found is None else (found,)


@pytest.mark.parametrize("seed", range(4))
def test_the_step_and_the_lane_are_known(seed):
    function, backward, lanes, steps = nest(random.Random(seed))
    origin = cv.explain_nan(cv.jit(function))(1.0)
    assert (numbers(origin.lane), numbers(origin.step)) == (lanes, steps)
    assert origin.line.number == PLANTED - 1
    assert ("adjoint of sqrt" in origin.reason) == backward

    shown = io.StringIO()
    where = {"step": steps or None, "lane": lanes or None}
    stop = debug.at(f"test_nested_programs.py:{PLANTED}", **where)
    debug.debug(cv.jit(function), stop, stdout=shown)(1.0)
    assert shown.getvalue().count("stopped at") == 1
    assert "hit = Array(True, dtype=bool)" in shown.getvalue()
