"""``checkpoint`` as it is called: arguments, options, and their errors."""

import functools

import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors
from covector.ad_checkpoint import checkpoint_policies as policies


def test_a_policy_that_is_no_function():
    with pytest.raises(
        errors.ArgumentError, match=r"(?s)needs a policy .* 'dots'\. .* dots_saveable"
    ):
        cv.checkpoint(cnp.sin, policy="dots")


def test_concrete_values_are_not_there():
    with pytest.raises(errors.ArgumentError, match=r"concrete=True .* static_argnums"):
        cv.checkpoint(cnp.sin, concrete=True)


def test_a_static_argument_that_cannot_be_hashed_is_read_in_each_call():
    options = {"power": 2}
    f = cv.checkpoint(lambda options, x: x ** options["power"], static_argnums=0)
    slope = cv.grad(lambda x: f(options, x))
    assert float(slope(3.0)) == 6.0
    options["power"] = 3
    assert float(slope(3.0)) == 27.0
    with pytest.raises(errors.StaticArgumentError, match="must be known"):
        cv.grad(lambda x: f(x, x))(1.0)
    with pytest.raises(errors.StaticArgumentError, match=r"but got f32\[2\]"):
        f(cnp.ones(2), 1.0)


def test_static_arguments_by_position_and_by_name():
    def f(x, n=4):
        return x * n if isinstance(n, int) else 0 * x

    for g in (
        cv.checkpoint(f, static_argnums=1),
        cv.checkpoint(f, static_argnums=-1),
        cv.checkpoint(f, static_argnames="n"),
    ):
        assert float(cv.grad(g)(2.0)) == 4.0
        assert float(cv.grad(g)(2.0, 3)) == 3.0
        assert float(cv.grad(g)(2.0, n=3)) == 3.0
        assert float(cv.jit(cv.grad(lambda x, g=g: g(x, 5)))(2.0)) == 5.0


def test_keywords_trees_and_integers():
    f = cv.checkpoint(lambda p, *, i, n: ({"y": p["w"] * i, "i": i, "n": n},))
    out = f({"w": 2.0}, i=3, n=None)
    assert (float(out[0]["y"]), int(out[0]["i"]), out[0]["n"]) == (6.0, 3, None)
    found = cv.grad(lambda p: f(p, i=3, n=None)[0]["y"])({"w": 2.0, "z": None})
    assert cv.tree.map(float, found) == {"w": 3.0, "z": None}


def test_as_a_decorator():
    @cv.checkpoint
    def a(x):
        return x * 2

    @cv.checkpoint(policy=policies.dots_saveable)
    def b(x):
        return x * 3

    @functools.partial(cv.remat, prevent_cse=False)
    def c(x):
        return x * 4

    assert [float(cv.grad(f)(1.0)) for f in (a, b, c)] == [2.0, 3.0, 4.0]
    assert a.__name__ == "a"


def test_an_argument_that_is_no_array():
    with pytest.raises(errors.StaticArgumentError, match=r"checkpoint of .* 'fast'"):
        cv.checkpoint(lambda x, mode: x)(1.0, "fast")


def test_a_checkpointed_function_is_traced_once_per_types():
    traces = []

    @cv.checkpoint
    def f(x):
        traces.append(1)
        return cnp.sin(x)

    for value in (1.0, 2.0, 3.0):
        cv.grad(f)(value)
    assert len(traces) == 1
