"""The law of guards: what is refused is refused through every wrapper.

A function that must not communicate, act in an order, or let a traced value out must
not do so either when it comes wrapped in a rule, a loop, a branch or a transformation.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.custom_batching import custom_vmap
from covector.custom_derivatives import linear_call
from covector.errors import (
    ArgumentError,
    LeakedTracerError,
    NotDifferentiable,
    TypeMismatch,
)
from covector.experimental import io_callback

X = np.arange(8, dtype=np.float32)


def with_jvp_rule(f, _):
    ruled = cv.custom_jvp(f)
    ruled.defjvp(lambda p, t: cv.jvp(f, p, t))
    return ruled


def with_vjp_rule(f, _):
    ruled = cv.custom_vjp(f)
    ruled.defvjp(lambda x: (f(x), x), lambda x, ct: cv.vjp(f, x)[1](ct))
    return ruled


def with_batch_rule(f, _):
    ruled = custom_vmap(f)
    ruled.def_vmap(lambda size, batched, x: (cv.vmap(f)(x), True))
    return ruled


#: a function of one array, wrapped; the second argument is a traced bool
WRAPPERS = {
    "nothing": lambda f, _: f,
    "jit": lambda f, _: cv.jit(f),
    "custom_jvp": with_jvp_rule,
    "custom_vjp": with_vjp_rule,
    "custom_vmap": with_batch_rule,
    "linear_call": lambda f, _: (
        lambda x: linear_call(lambda _, x: f(x), lambda _, ct: ct, (), x)
    ),
    "checkpoint": lambda f, _: cv.checkpoint(f),
    "scan": lambda f, _: lambda x: lax.scan(lambda c, _: (f(c), None), x, length=1)[0],
    "while_loop": lambda f, _: lambda x: lax.fori_loop(0, 1, lambda _, c: f(c), x),
    "cond": lambda f, yes: lambda x: lax.cond(yes, f, lambda x: x, x),
    "vmap": lambda f, _: lambda x: cv.vmap(f)(x[None])[0],
    "jit of custom_jvp": lambda f, _: cv.jit(with_jvp_rule(cv.jit(f), _)),
    "checkpoint of custom_vjp": lambda f, _: cv.checkpoint(with_vjp_rule(f, _)),
}
every_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


def on_devices(body):
    """``body(yes, x)`` on four devices, each of which has a part of x."""
    mesh = cv.make_mesh((4,), ("x",))
    f = cv.shard_map(body, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"))
    return cv.jit(f).lower(True, X)  # a program that could hang is never run


def with_sum(x):
    return x + lax.psum(x, "x")


@every_wrapper
def test_devices_in_different_branches_do_not_communicate(wrap):
    def body(yes, x):
        return lax.cond(
            lax.axis_index("x") < 2, wrap(with_sum, yes), lambda v: v * 2, x
        )

    with pytest.raises(TypeMismatch, match=r"the predicate varies .* never answer"):
        on_devices(body)


@every_wrapper
def test_devices_that_stop_at_different_times_do_not_communicate(wrap):
    def body(yes, x):
        step = wrap(with_sum, yes)
        return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: step(c) + 1.0, x)

    with pytest.raises(TypeMismatch, match=r"the test varies .* never answer"):
        on_devices(body)


def summing_backwards(x):
    f = cv.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda _, ct: (with_sum(ct),))
    return f(x)


@pytest.mark.parametrize(
    "name", [n for n in WRAPPERS if n not in ("linear_call", "custom_jvp")]
)
def test_nor_do_their_backward_rules(name):
    """A linear_call has a transpose of its own, and a custom_jvp asks for a jvp."""
    wrap = WRAPPERS[name]

    def body(yes, x):
        def loss(x):
            f = wrap(summing_backwards, yes)
            return lax.cond(lax.axis_index("x") < 2, f, lambda v: v * 2, x).sum()

        return cv.grad(loss)(x)

    with pytest.raises(TypeMismatch, match=r"varies .* never answer"):
        on_devices(body)


def test_nor_do_their_forward_rules():
    f = cv.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda p, t: (p[0] * 2, with_sum(t[0])))

    def body(yes, x):
        chosen = lambda x: lax.cond(lax.axis_index("x") < 2, f, lambda v: v * 2, x)  # noqa: E731
        return cv.jvp(chosen, (x,), (x,))[1]

    with pytest.raises(TypeMismatch, match=r"varies .* never answer"):
        on_devices(body)


@every_wrapper
def test_communication_is_allowed_where_all_devices_go_one_way(wrap):
    def body(yes, x):
        return lax.cond(yes, wrap(with_sum, yes), lambda v: v * 2, x)

    mesh = cv.make_mesh((4,), ("x",))
    f = cv.shard_map(body, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"))
    wanted = X + np.tile(X.reshape(4, 2).sum(0), 4)
    np.testing.assert_allclose(cv.jit(f)(True, X), wanted)


@every_wrapper
def test_lanes_of_a_batch_act_in_no_order(wrap):
    act = lambda x: io_callback(np.sin, x, x, ordered=True)  # noqa: E731
    f = cv.vmap(lambda yes, x: wrap(act, yes)(x), in_axes=(None, 0))
    with pytest.raises(ArgumentError, match="order of what"):
        cv.jit(f).lower(True, X)


@every_wrapper
def test_gradients_that_are_summed_over_devices_are_refused_where_asked(wrap):
    def body(yes, x):
        loss = lambda w: (wrap(lambda v: v * 2, yes)(w * x)).sum()  # noqa: E731
        return cv.grad(loss)(cnp.float32(2)) * x

    with (
        cv.check_implicit_sums(True),
        pytest.raises(NotDifferentiable, match="summed over the devices"),
    ):
        on_devices(body)


@every_wrapper
def test_a_traced_value_that_gets_out_is_found(wrap):
    kept = []

    def keep(x):
        kept.append(x)
        return x * 2

    with (
        cv.checking_leaks(),
        pytest.raises(LeakedTracerError, match="still holds a traced value"),
    ):
        cv.jit(lambda yes, x: wrap(keep, yes)(x)).lower(True, X)
