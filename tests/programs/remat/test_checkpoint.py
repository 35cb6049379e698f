"""``checkpoint``: derivatives stay what they are; what is kept follows the policy."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.ad_checkpoint import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
    print_saved_residuals,
    saved_residuals,
)
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


def test_a_checkpointed_function_that_gives_a_number_has_a_gradient_of_zero():
    def both(x):
        return cnp.float32(0.5), cnp.sin(x)

    def total(x):
        constant, wave = cv.checkpoint(both)(x)
        return constant * wave

    assert cv.grad(cv.checkpoint(lambda x: cnp.float32(0.5)))(1.0) == 0.0
    np.testing.assert_allclose(cv.grad(total)(1.0), 0.5 * np.cos(1.0), rtol=1e-6)


@pytest.mark.parametrize(("policy", "count"), KEPT.values(), ids=KEPT)
def test_what_is_kept_follows_the_policy(policy, count):
    assert kept(cv.checkpoint(net, policy=policy), W, X) == count


@pytest.mark.parametrize(("policy", "count"), KEPT.values(), ids=KEPT)
def test_a_policy_sees_inside_jitted_functions(policy, count):
    inner = cv.jit(net)
    f = cv.checkpoint(lambda w, x: inner(w, x), policy=policy)  # noqa: PLW0108
    assert kept(f, W, X) == count


def test_everything_may_be_kept_or_all_but_a_name():
    everything = policies.everything_saveable
    assert kept(cv.checkpoint(net, policy=everything), W, X) == 4
    but_h = policies.save_anything_except_these_names("h")
    # What h is a name of is kept instead.
    assert kept(cv.checkpoint(net, policy=but_h), W, X) == 4


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


# -- inside of operations that carry programs ------------------------------------------


def in_scan(layer):
    def f(w, x):
        return lax.scan(lambda x, w: (layer(w, x), None), x, cnp.stack([w] * 4))[0]

    return f


def in_scan_of_outputs(layer):
    def f(w, x):
        return lax.scan(lambda c, w: (c, layer(w, x)), 0.0, cnp.stack([w, w]))[1][1]

    return f


def in_cond(layer):
    def other(w, x):
        return cnp.cos(checkpoint_name(x + cnp.sum(w), "elsewhere"))

    return lambda w, x: lax.cond(cnp.sum(x) > -100, layer, other, w, x)


def in_custom_jvp(layer):
    f = cv.custom_jvp(layer)
    f.defjvp(lambda p, t: (f(*p), cv.jvp(layer, p, t)[1]))
    return f


def in_custom_vjp(layer):
    f = cv.custom_vjp(layer)
    f.defvjp(lambda *p: (f(*p), p), lambda p, ct: cv.vjp(layer, *p)[1](ct))
    return f


def in_two_jits(layer):
    return cv.jit(lambda w, x: cv.jit(layer)(w, cv.jit(layer)(w, x)))


def in_scan_of_jit(layer):
    return in_scan(cv.jit(layer))


def in_scan_of_custom_jvp(layer):
    return in_scan(in_custom_jvp(layer))


def in_scan_of_cond(layer):
    return in_scan(in_cond(layer))


def in_checkpoint(layer):
    return cv.checkpoint(layer, policy=policies.everything_saveable)


def in_while_loop(layer):
    def f(w, x):
        def step(carry):
            i, x, total = carry
            return i + 1, layer(w, x), total + cnp.sum(x)

        return lax.while_loop(lambda carry: carry[0] < 3, step, (0, x, 0.0))[1]

    return f


def in_custom_vmap(layer):
    f = cv.custom_batching.custom_vmap(layer)

    @f.def_vmap
    def rule(size, batched, w, x):
        return cv.vmap(layer, [0 if b else None for b in batched])(w, x), True

    return f


def in_shard_map(layer):
    mesh = cv.make_mesh((len(cv.devices()[:2]),), ("i",))
    return cv.shard_map(
        layer, mesh=mesh, in_specs=(cv.P(), cv.P("i")), out_specs=cv.P("i")
    )


def in_root(layer):
    """y = x + layer(y) / 10, by repetition."""

    def solve(f, y):
        return lax.fori_loop(0, 20, lambda _, y: y - f(y), y)

    def tangent_solve(g, y):
        return lax.fori_loop(0, 20, lambda _, v: v + (y - g(v)), y)

    def f(w, x):
        return lax.custom_root(
            lambda y: y - 0.1 * layer(w, y) - x, x, solve, tangent_solve
        )

    return f


def in_linear_solve(layer):
    def f(w, x):
        d = 2 + layer(w, x)
        return lax.custom_linear_solve(
            lambda v: d * v, x, lambda _, b: b / (2 + layer(w, x)), symmetric=True
        )

    return f


def layer(w, x):
    return cnp.sin(cnp.tanh(checkpoint_name(cnp.sin(x @ w), "h")))


CARRIERS = {
    f.__name__: f
    for f in (
        in_scan,
        in_scan_of_outputs,
        in_cond,
        in_custom_jvp,
        in_custom_vjp,
        in_two_jits,
        in_scan_of_jit,
        in_scan_of_custom_jvp,
        in_scan_of_cond,
        in_checkpoint,
        in_while_loop,
        in_custom_vmap,
        in_shard_map,
        in_root,
        in_linear_solve,
    )
}
#: of these, all that a policy would keep is computed again for other reasons: a rule of
#: the user's begins with it, or a loop takes its steps again
COMPUTED_ANYWAY = {
    "in_custom_vjp",
    "in_while_loop",
    "in_custom_vmap",
    "in_linear_solve",
}
SEEN = {
    "nothing": None,
    "products": policies.dots_saveable,
    "h": policies.save_only_these_names("h"),
    "everything": policies.everything_saveable,
    "but h": policies.save_anything_except_these_names("h"),
}


def summed(f):
    return lambda w, x: cnp.sum(cnp.sin(f(w, x)))


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("policy", SEEN)
def test_derivatives_with_values_kept_in_programs_that_are_carried(carrier, policy):
    plain = summed(CARRIERS[carrier](layer))
    f = cv.checkpoint(plain, policy=SEEN[policy])
    w = np.arange(9, dtype="f").reshape(3, 3) / 9
    found, expected = (
        cv.tree.leaves(cv.jit(cv.value_and_grad(g, (0, 1)))(w, X)) for g in (f, plain)
    )
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_batches_with_values_kept_in_programs_that_are_carried(carrier):
    plain = summed(CARRIERS[carrier](layer))
    f = cv.checkpoint(plain, policy=policies.save_only_these_names("h"))
    w = np.arange(9, dtype="f").reshape(3, 3) / 9
    ws = np.stack([w, 2 * w])
    found, expected = (
        cv.jit(cv.vmap(cv.grad(g), (0, None)))(ws, X) for g in (f, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cv.grad(f)(w, X), found[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_second_order_with_values_kept_in_programs_that_are_carried(carrier):
    def second(f):
        return cv.jit(cv.grad(lambda w: cnp.sum(cv.grad(f)(w, X) ** 2)))

    plain = summed(CARRIERS[carrier](layer))
    f = cv.checkpoint(plain, policy=policies.save_only_these_names("h"))
    w = np.arange(9, dtype="f").reshape(3, 3) / 9
    np.testing.assert_allclose(second(f)(w), second(plain)(w), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "carrier", [c for c in CARRIERS if c not in ("in_checkpoint", "in_while_loop")]
)
def test_a_product_kept_inside_is_not_computed_again(carrier):
    def products(policy):
        f = cv.checkpoint(summed(CARRIERS[carrier](layer)), policy=policy)
        both = cv.jit(cv.value_and_grad(f, (0, 1))).lower(W, X)
        return both.compile().as_text().count(" dot(")

    everything = products(policies.everything_saveable)
    assert products(policies.dots_saveable) == everything
    if carrier not in COMPUTED_ANYWAY:
        assert products(None) > everything


def test_what_a_scan_keeps_is_kept_for_each_step():
    f = summed(in_scan(layer))
    shapes = {}
    for name, policy in SEEN.items():
        program = cv.make_jaxpr(cv.grad(cv.checkpoint(f, policy=policy)))(W, X)
        (forward,) = [
            e for e in program.eqns if e.op.name == "jit" and len(e.inputs) == 2
        ]
        shapes[name] = [v.type.shape for v in forward.outputs[1:]]
    assert shapes["nothing"] == []
    assert shapes["h"] == [(4, 2, 3)]
    assert (4, 2, 3) in shapes["products"]
    assert all(len(shape) == 3 for shape in shapes["products"])


def test_results_of_a_while_loop_are_kept_where_the_policy_keeps_what_makes_them():
    """The loop is not run again for its results; nothing of it has a derivative."""

    def f(x, n):
        def step(carry):
            i, y, z = carry
            return i + 1, checkpoint_name(cnp.cos(y), "y"), checkpoint_name(z * 2, "z")

        start = (0, lax.stop_gradient(x), 1.0)
        _, y, z = lax.while_loop(lambda carry: carry[0] < n, step, start)
        return cnp.sin(y * x) * cnp.sin(z * x)

    def loops_again(policy):
        program = cv.make_jaxpr(cv.grad(cv.checkpoint(f, policy=policy)))(1.0, 3)
        _, again = [e.op.jaxpr for e in program.eqns if e.op.name == "jit"]
        return [e.outputs for e in again.equations if e.op.name == "while"]

    (both,) = loops_again(None)
    (without_y,) = loops_again(policies.save_only_these_names("y"))
    assert (len(both), len(without_y)) == (3, 2)
    assert loops_again(policies.save_only_these_names("y", "z")) == []
    assert loops_again(policies.everything_saveable) == []
    for policy in (None, policies.save_only_these_names("y")):
        g = cv.grad(cv.checkpoint(f, policy=policy))
        np.testing.assert_allclose(g(0.7, 3), cv.grad(f)(0.7, 3), rtol=1e-6)


def test_rules_of_custom_functions_are_kept_when_values_inside_are():
    @cv.custom_jvp
    def odd(x):
        return cnp.sin(checkpoint_name(cnp.tan(x), "t"))

    odd.defjvp(lambda p, t: (odd(*p), 7 * odd(*p) * t[0]))
    plain = lambda x: cnp.cos(odd(cnp.exp(x)))  # noqa: E731
    f = cv.checkpoint(plain, policy=policies.save_only_these_names("t"))
    np.testing.assert_allclose(cv.grad(f)(0.1), cv.grad(plain)(0.1), rtol=1e-5)
    for twice in (cv.jacfwd(cv.grad(f)), cv.grad(cv.grad(f)), cv.hessian(f)):
        np.testing.assert_allclose(twice(0.1), cv.hessian(plain)(0.1), rtol=1e-5)


# -- memory ----------------------------------------------------------------------------


def wide(w, x):
    """A product, and four operations on each element."""
    y = x @ w
    return cnp.sin(y) * cnp.tanh(y) + cnp.exp(-y * y)


def chain(layer):
    def loss(ws, x):
        for w in ws:
            x = layer(x=x, w=w)
        return cnp.sum(x * x)

    return loss


def temporary_bytes(f, *args):
    compiled = cv.jit(cv.grad(f)).lower(*args).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_the_gradient_of_a_chain_of_checkpointed_layers_takes_less_memory():
    ws = [cv.ShapeDtypeStruct((128, 128), "float32")] * 16
    x = cv.ShapeDtypeStruct((4096, 128), "float32")
    less = temporary_bytes(chain(cv.checkpoint(wide)), ws, x)
    # Measured: 0.27, for a gradient that takes 1.1 to 1.4 times as long.
    assert less <= 0.75 * temporary_bytes(chain(wide), ws, x)


def test_a_scan_over_checkpointed_layers_keeps_its_carry_alone():
    def over(layer):
        def loss(ws, x):
            return cnp.sum(lax.scan(lambda x, w: (layer(w, x), None), x, ws)[0])

        return loss

    ws = cv.ShapeDtypeStruct((16, 128, 128), "float32")
    x = cv.ShapeDtypeStruct((1024, 128), "float32")
    plain = temporary_bytes(over(wide), ws, x)
    carry = 16 * 1024 * 128 * 4
    for prevent_cse in (True, False):
        layer = cv.checkpoint(wide, prevent_cse=prevent_cse)
        less = temporary_bytes(over(layer), ws, x)
        assert carry <= less <= 0.75 * plain


# -- what is kept, in words ------------------------------------------------------------


def test_saved_residuals_say_what_is_kept_and_where_it_was_made(capsys):
    def f(p, x):
        y = cnp.sin(p["w"] * x)
        return cnp.sum(y * checkpoint_name(cnp.exp(y), "e"))

    print_saved_residuals(f, {"w": X}, X)
    found = capsys.readouterr().out.splitlines()
    assert any(line == "f32[2,3] from argument 1" for line in found)
    assert any(line.startswith("f32[2,3] named 'e' at") for line in found)
    assert any("from cos at" in line and "test_checkpoint.py" in line for line in found)
    kept = saved_residuals(cv.checkpoint(f), {"w": X}, X)
    assert sorted(map(str, kept)) == [
        "f32[2,3] from argument 0['w']",
        "f32[2,3] from argument 1",
    ]
    named = cv.checkpoint(f, policy=policies.save_only_these_names("e"))
    sources = [source for _, source in saved_residuals(named, {"w": X}, X)]
    assert any(source.startswith("named 'e' at") for source in sources)
    assert len(sources) == 3


def test_saved_residuals_of_loops_and_closures():
    big = cnp.ones(2000)

    def f(x):
        return lax.scan(lambda c, _: (cnp.sin(c), None), x, None, length=3)[0] * big

    found = [str(r) for r in saved_residuals(f, cnp.ones(2000))]
    assert any(r.startswith("f32[3,2000] from cos at") for r in found)
    assert any(r.endswith(", of each step") for r in found)
    assert "f32[2000] from a constant or a closure" in found


def test_verdicts_of_policies():
    def by(verdict):
        def policy(op, *_, **__):
            return verdict if op.name == "dot_general" else Recompute

        return policy

    assert kept(cv.checkpoint(net, policy=by(Saveable)), W, X) == 2
    assert kept(cv.checkpoint(net, policy=by(Offloadable("device", "host"))), W, X) == 2
    assert kept(cv.checkpoint(net, policy=by(Recompute)), W, X) == 0
    assert repr(Recompute) == "Recompute"


def test_effects_happen_once(capsys):
    @cv.checkpoint
    def f(x):
        cv.debug.print("x is {}", x)
        return cnp.sin(cnp.sin(x))

    cv.grad(f)(1.0).block_until_ready()
    cv.jit(cv.grad(f))(2.0).block_until_ready()
    each = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]  # noqa: E731
    cv.jit(cv.grad(each))(3.0).block_until_ready()
    assert capsys.readouterr().out.count("x is") == 4


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
