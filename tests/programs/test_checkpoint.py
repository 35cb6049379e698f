"""``checkpoint``: derivatives stay what they are; what is kept follows the policy."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.ad_checkpoint import checkpoint_name
from covector.core.jaxpr import used_inputs

policies = cv.checkpoint_policies
W = np.eye(3, dtype=np.float32) / 2
X = np.ones((2, 3), np.float32)


def net(w, x):
    """Two layers: two products, two named values, and what lies between."""
    h = checkpoint_name(cnp.tanh(x @ w), "h")
    k = checkpoint_name(cnp.sin(h @ w), "k")
    return cnp.sum(cnp.cos(k))


#: by policy: how many values are kept besides inputs and results
KEPT = {
    "default": (None, 0),
    "nothing": (policies.nothing_saveable, 0),
    "products": (policies.dots_saveable, 2),
    "products, other name": (policies.checkpoint_dots, 2),
    "unbatched products": (policies.dots_with_no_batch_dims_saveable, 2),
    "h": (policies.save_only_these_names("h"), 1),
    "h and k": (policies.save_only_these_names("h", "k"), 2),
    "names but h": (policies.save_any_names_but_these("h"), 1),
    "h or products": (
        policies.save_from_both_policies(
            policies.save_only_these_names("h"), policies.dots_saveable
        ),
        3,
    ),
    "offloaded names": (
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["h"],
            names_which_can_be_offloaded=["k"],
            offload_src="device",
            offload_dst="pinned_host",
        ),
        2,
    ),
    "offloaded products": (
        policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
        2,
    ),
}


def kept(f, *args):
    """How many values the derivative of a checkpointed function is handed, besides the
    inputs and the tangents.
    """

    def gradient(*args):
        return cv.grad(f)(*args)

    program = cv.make_jaxpr(gradient)(*args)
    (forward,) = [
        e for e in program.eqns if e.op.name == "jit" and len(e.inputs) == len(args)
    ]
    return len(forward.outputs) - 1


@pytest.mark.parametrize(("policy", "count"), KEPT.values(), ids=KEPT)
def test_what_is_kept_follows_the_policy(policy, count):
    assert kept(cv.checkpoint(net, policy=policy), W, X) == count


@pytest.mark.parametrize(("policy", "count"), KEPT.values(), ids=KEPT)
def test_a_policy_sees_inside_jitted_functions(policy, count):
    inner = cv.jit(net)
    f = cv.checkpoint(lambda w, x: inner(w, x), policy=policy)  # noqa: PLW0108
    assert kept(f, W, X) == count


def test_everything_may_be_kept_or_all_but_a_name():
    everything = kept(cv.checkpoint(net, policy=policies.everything_saveable), W, X)
    but_h = policies.save_anything_except_these_names("h")
    assert kept(cv.checkpoint(net, policy=but_h), W, X) == everything - 1
    assert everything > 3


def test_batched_products_are_not_those_of_weights():
    def batched(w, x):
        return cnp.sum(cnp.sin(cnp.einsum("bij,bjk->bik", w, x)))

    given = np.ones((2, 3, 3), np.float32), np.ones((2, 3, 3), np.float32)
    for policy, count in (
        (policies.dots_saveable, 1),
        (policies.dots_with_no_batch_dims_saveable, 0),
    ):
        assert kept(cv.checkpoint(batched, policy=policy), *given) == count


@pytest.mark.parametrize(
    "policy",
    [*[p for p, _ in KEPT.values()], policies.everything_saveable],
    ids=[*KEPT, "everything"],
)
def test_the_derivatives_are_those_without_a_checkpoint(policy):
    f = cv.checkpoint(net, policy=policy)
    expected = cv.grad(net)(W, X)
    np.testing.assert_allclose(f(W, X), net(W, X), rtol=1e-6)
    np.testing.assert_allclose(cv.grad(f)(W, X), expected, rtol=1e-5)
    np.testing.assert_allclose(cv.jit(cv.grad(f))(W, X), expected, rtol=1e-5)
    np.testing.assert_allclose(
        cv.vmap(cv.grad(f), in_axes=(None, 0))(W, X[None])[0], expected, rtol=1e-5
    )
    pushed, plain = (cv.jvp(g, (W, X), (W, X))[1] for g in (f, net))
    np.testing.assert_allclose(pushed, plain, rtol=1e-5)


def test_the_second_computation_survives_the_compiler():
    def products(f):
        both = cv.jit(cv.value_and_grad(f)).lower(W, X)
        return both.compile().as_text().count(" dot(")

    plain = products(net)
    assert products(cv.checkpoint(net)) == plain + 2
    assert products(cv.checkpoint(net, policy=policies.dots_saveable)) == plain


def test_inputs_that_the_derivative_does_not_read_are_not_handed_on():
    f = cv.checkpoint(lambda x, y: cnp.sum(cnp.sin(x)) + cnp.sum(y))
    _, push = cv.linearize(f, W, X)
    program = cv.make_jaxpr(push)(W, X)
    assert sum(used_inputs(program)) <= 2


# -- calls -----------------------------------------------------------------------------


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


# -- under other transformations -------------------------------------------------------


def closing(x, a):
    return cv.checkpoint(lambda y: cnp.sin(y * a))(x)


def test_what_it_closes_over_is_differentiated_too():
    found = cv.grad(closing, argnums=1)(2.0, 3.0)
    np.testing.assert_allclose(found, 2 * np.cos(6), rtol=1e-6)
    compiled = cv.jit(cv.grad(closing, argnums=1))(2.0, 3.0)
    np.testing.assert_allclose(compiled, 2 * np.cos(6), rtol=1e-6)
    batched = cv.vmap(cv.grad(closing))(cnp.ones(2), cnp.arange(2.0))
    np.testing.assert_allclose(batched, [0.0, np.cos(1)], rtol=1e-6)


def test_nested_checkpoints_and_second_order():
    twice = cv.checkpoint(cv.checkpoint(cnp.sin))
    np.testing.assert_allclose(cv.grad(twice)(1.0), np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(cv.grad(cv.grad(twice))(1.0), -np.sin(1), rtol=1e-6)
    third = cv.grad(cv.grad(cv.grad(cv.checkpoint(cnp.sin))))
    np.testing.assert_allclose(cv.jit(third)(1.0), -np.cos(1), rtol=1e-6)


def test_each_step_of_a_scan():
    def through(step):
        return lambda x: lax.scan(lambda c, _: (step(c), None), x, None, length=5)[0]

    expected = cv.grad(through(cnp.sin))(0.3)
    for policy in (None, policies.everything_saveable):
        f = through(cv.checkpoint(cnp.sin, policy=policy, prevent_cse=False))
        np.testing.assert_allclose(cv.grad(f)(0.3), expected, rtol=1e-6)
        np.testing.assert_allclose(cv.jit(cv.grad(f))(0.3), expected, rtol=1e-6)


def test_a_name_is_the_value_itself():
    named = functools.partial(checkpoint_name, name="here")
    given = {"a": cnp.ones(2), "b": [2.0]}
    assert cv.tree.map(lambda x: np.asarray(x).tolist(), named(given)) == {
        "a": [1.0, 1.0],
        "b": [2.0],
    }
    assert float(cv.grad(lambda x: named(x) * 3)(1.0)) == 3.0
    assert cv.vmap(named)(cnp.arange(2)).tolist() == [0, 1]
    assert cv.jit(named)(cnp.arange(2)).tolist() == [0, 1]
    assert float(cv.linear_transpose(named, 1.0)(2.0)[0]) == 2.0
