"""Every pair of transformations composes, and third order works.

Each wrapper takes an elementwise function to one that is either equal to it or its
derivative. So the sine under any stack of wrappers is one of sin, cos, −sin, −cos,
according to how many of the wrappers differentiate.
"""

import itertools
import random
from functools import partial

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.ad_checkpoint import checkpoint_name
from covector.custom_batching import custom_vmap, sequential_vmap
from covector.custom_derivatives import linear_call

X = np.array([0.3, -1.2, 2.0], np.float32)
DERIVATIVES = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]


def total(f):
    return lambda x: cnp.sum(f(x))


def ones(f, x):
    return cnp.ones_like(f(x))


# -- wrappers that leave a function what it is -----------------------------------------


def by_custom_jvp(f):
    g = cv.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (g(*primals), cv.jvp(f, primals, tangents)[1]))
    return g


def by_custom_vjp(f):
    g = cv.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: cv.vjp(f, x)[1](ct))
    return g


def by_both_rules(f):
    g = cv.custom_vjp(f)
    g.defjvp(lambda primals, tangents: cv.jvp(f, primals, tangents))
    g.defvjp(lambda x: (g(x), x), lambda x, ct: cv.vjp(f, x)[1](ct))
    return g


def by_linear_call(f):
    def scaled(slope, t):
        return slope * t

    return lambda x: linear_call(scaled, scaled, f(x), cnp.ones_like(x))


def by_custom_vmap(f):
    g = custom_vmap(f)
    g.def_vmap(lambda size, in_batched, x: (cv.vmap(f)(x), True))
    return lambda x: cv.vmap(g)(cnp.stack([x, 2 * x]))[0]


def by_sequential_vmap(f):
    return lambda x: cv.vmap(sequential_vmap(f))(cnp.stack([2 * x, x]))[1]


def by_cond(f):
    return lambda x: lax.cond(cnp.sum(x) > -100, f, lambda x: 0 * x, x)


def by_batched_cond(f):
    def either(flag, x):
        return lax.cond(flag, f, lambda x: 0 * x, x)

    return lambda x: cv.vmap(either)(cnp.array([True, False]), cnp.stack([x, x]))[0]


def by_closed_cond(f):
    return lambda x: lax.cond(cnp.sum(x) > -100, lambda: f(x), lambda: 0 * x)


def by_switch(f):
    branches = [lambda x: 0 * x, cnp.cos, f]
    return lambda x: lax.switch((cnp.sum(x) > -100).astype(int) + 1, branches, x)


def by_batched_switch(f):
    def one_of(k, x):
        return lax.switch(k, [lambda x: 0 * x, f, cnp.cos], x)

    return lambda x: cv.vmap(one_of)(cnp.arange(3), cnp.stack([x, x, x]))[1]


def by_scan(f):
    return lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=3)[1][1]


def by_scan_carry(f):
    def step(c, last):
        return cnp.where(last, f(c), c), None

    return lambda x: lax.scan(step, x, np.array([False, False, True]))[0]


def over_rows(f, x, **how):
    rows = cnp.stack([2 * x, x, 3 * x])
    return lax.scan(lambda c, row: (c + 1.0, f(row)), 0.0, rows, **how)[1][1]


def by_scan_over(f):
    return lambda x: over_rows(f, x)


def by_reverse_scan(f):
    return lambda x: over_rows(f, x, reverse=True)


def by_unrolled_scan(f):
    return lambda x: over_rows(f, x, unroll=2)


def by_while_loop(f):
    def once(x):
        return lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))

    return lambda x: once(x)[1]


def by_batched_while_loop(f):
    """Lanes that take different numbers of steps; the last one takes one."""

    def often(n, x):
        def step(c):
            return c[0] + 1, f(x)

        return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]

    counts = cnp.array([3, 0, 1])
    return lambda x: cv.vmap(often)(counts, cnp.stack([x, x, x]))[2]


def by_fori_loop(f):
    return lambda x: lax.fori_loop(0, 2, lambda i, c: cnp.where(i == 1, f(c), c), x)


def by_dynamic_fori_loop(f):
    def loop(x):
        count = (cnp.sum(x) > -100).astype(int)
        return lax.fori_loop(0, count, lambda i, c: f(c), x)

    return loop


def by_map(f):
    return lambda x: lax.map(f, cnp.stack([2 * x, x]))[1]


def by_map_in_batches(f):
    return lambda x: lax.map(f, cnp.stack([2 * x, x, 3 * x]), batch_size=2)[1]


def by_associative_scan(f):
    return lambda x: lax.associative_scan(cnp.add, cnp.stack([f(x), x, x]))[0]


def by_vmap(f):
    return lambda x: cv.vmap(f, in_axes=1, out_axes=1)(cnp.stack([x, 2 * x], 1))[:, 0]


def by_named_vmap(f):
    def mean(x):
        return lax.pmean(f(x), "copies")

    return lambda x: cv.vmap(mean, axis_name="copies")(cnp.stack([x, x]))[0]


def by_linear_transpose(f):
    return lambda x: cv.linear_transpose(lambda t: t * f(x), x)(cnp.ones_like(x))[0]


def by_checkpoint_with(policy):
    return lambda f: cv.checkpoint(
        lambda x: checkpoint_name(f(x), "kept"), policy=policy
    )


def by_debug_callback(f):
    def watched(x):
        cv.debug.callback(lambda _: None, x)
        return f(x)

    return watched


@cv.custom_jvp
def through_host(x):
    return cv.pure_callback(np.asarray, x, x, vmap_method="sequential")


through_host.defjvp(lambda primals, tangents: (through_host(*primals), tangents[0]))


def by_pure_callback(f):
    return lambda x: through_host(f(x))


def by_custom_root(f):
    def root(x):
        def solve(g, y):
            return y - g(y)

        return lax.custom_root(lambda y: y - f(x), x, solve, lambda _, y: y)

    return root


def by_linear_solve(f):
    def halves(_, b):
        return b / 2

    return lambda x: lax.custom_linear_solve(
        lambda y: 2 * y, 2 * f(x), halves, symmetric=True
    )


def by_barrier(f):
    return lambda x: lax.optimization_barrier(f(lax.optimization_barrier(x)))


def by_checkpoint_of_scan(f):
    policy = cv.checkpoint_policies.save_only_these_names("here")

    def step(c, row):
        return c, 2 * checkpoint_name(f(row), "here") / 2

    def over(x):
        return lax.scan(step, 0.0, cnp.stack([2 * x, x]))[1][1]

    return cv.checkpoint(over, policy=policy)


SAME = {
    "jit": cv.jit,
    "jit_inline": partial(cv.jit, inline=True),
    "vmap": by_vmap,
    "named_vmap": by_named_vmap,
    "checkpoint": cv.checkpoint,
    "custom_jvp": by_custom_jvp,
    "custom_vjp": by_custom_vjp,
    "both_rules": by_both_rules,
    "linear_call": by_linear_call,
    "custom_vmap": by_custom_vmap,
    "sequential_vmap": by_sequential_vmap,
    "cond": by_cond,
    "closed_cond": by_closed_cond,
    "batched_cond": by_batched_cond,
    "switch": by_switch,
    "batched_switch": by_batched_switch,
    "scan": by_scan,
    "scan_carry": by_scan_carry,
    "scan_over": by_scan_over,
    "reverse_scan": by_reverse_scan,
    "unrolled_scan": by_unrolled_scan,
    "fori_loop": by_fori_loop,
    "dynamic_fori_loop": by_dynamic_fori_loop,
    "map": by_map,
    "map_in_batches": by_map_in_batches,
    "associative_scan": by_associative_scan,
    "while_loop": by_while_loop,
    "batched_while_loop": by_batched_while_loop,
    "linear_transpose": by_linear_transpose,
    "debug_callback": by_debug_callback,
    "pure_callback": by_pure_callback,
    "custom_root": by_custom_root,
    "linear_solve": by_linear_solve,
    "barrier": by_barrier,
    "named_call": partial(cv.named_call, name="f"),
    "checkpoint_of_scan": by_checkpoint_of_scan,
}

# -- wrappers that differentiate -------------------------------------------------------


def by_value_and_grad(f):
    return lambda x: cv.value_and_grad(total(f))(x)[1]


def by_vjp(f):
    return lambda x: cv.vjp(f, x)[1](ones(f, x))[0]


def by_jvp(f):
    return lambda x: cv.jvp(f, (x,), (cnp.ones_like(x),))[1]


def by_linearize(f):
    return lambda x: cv.linearize(f, x)[1](cnp.ones_like(x))


def rows(jacobian):
    return lambda f: lambda x: cnp.sum(jacobian(f)(x), axis=0)


DERIVED = {
    "grad": lambda f: cv.grad(total(f)),
    "value_and_grad": by_value_and_grad,
    "vjp": by_vjp,
    "jvp": by_jvp,
    "linearize": by_linearize,
    "jacfwd": rows(cv.jacfwd),
    "jacrev": rows(cv.jacrev),
    "jacobian": rows(cv.jacobian),
}
KEEP = cv.checkpoint_policies
POLICIES = {
    "everything": KEEP.everything_saveable,
    "nothing": KEEP.nothing_saveable,
    "dots": KEEP.dots_saveable,
    "unbatched_dots": KEEP.dots_with_no_batch_dims_saveable,
    "names": KEEP.save_only_these_names("kept"),
    "other_names": KEEP.save_any_names_but_these("kept"),
    "all_but_names": KEEP.save_anything_except_these_names("kept"),
    "both": KEEP.save_from_both_policies(
        KEEP.dots_saveable, KEEP.save_only_these_names("kept")
    ),
}
CHECKPOINTS = {
    f"checkpoint_{name}": by_checkpoint_with(policy)
    for name, policy in POLICIES.items()
}
WRAPPERS = {**SAME, **DERIVED, **CHECKPOINTS}


# -- wrappers that run a function on several devices -----------------------------------


def by_shard_map(f):
    size = min(2, cv.device_count())
    over = cv.shard_map(
        lambda x: f(x[0])[None],
        mesh=cv.make_mesh((size,), ("devices",)),
        in_specs=cv.P("devices"),
        out_specs=cv.P("devices"),
    )
    return lambda x: over(cnp.stack([x, 2 * x][:size]))[0]


def by_pmap(f):
    size = min(2, cv.device_count())
    return lambda x: cv.pmap(f)(cnp.stack([x, 2 * x][:size]))[0]


def by_data_parallel(f):
    """A batch of rows, of which the first is looked at."""

    def over(x):
        rows = cnp.stack([x, 2 * x] * (cv.device_count() // 2 or 1))
        per_example = cv.data_parallel(cv.vmap(f), out_specs=cv.P("batch"))
        return per_example(rows)[0]

    return over


MAPPED = {
    "shard_map": by_shard_map,
    "pmap": by_pmap,
    "data_parallel": by_data_parallel,
}
FORWARD = {"jvp", "linearize", "jacfwd"}


def order(names):
    return sum(name in DERIVED for name in names)


def refuses(names):
    """Forward mode of what has only a reverse rule, unless that is differentiated
    within.
    """
    for i, name in enumerate(names):
        if name == "custom_vjp":
            return any(outer in FORWARD for outer in names[:i])
    return False


def check(names):
    fun = cnp.sin
    for name in reversed(names):
        fun = {**WRAPPERS, **MAPPED}[name](fun)
    if refuses(names):
        with pytest.raises(errors.NotDifferentiable, match="only a reverse-mode rule"):
            fun(cnp.asarray(X))
        return
    expected = DERIVATIVES[order(names)](X)
    np.testing.assert_allclose(fun(cnp.asarray(X)), expected, rtol=2e-5, atol=2e-6)


PAIRS = [
    *itertools.product(DERIVED, [*SAME, *DERIVED]),
    *itertools.product(SAME, DERIVED),
    *random.Random(0).sample([*itertools.product(SAME, repeat=2)], 200),
    *itertools.product(["grad", "jvp", "vmap", "jit"], CHECKPOINTS),
    *itertools.product(CHECKPOINTS, ["grad", "scan", "vmap"]),
]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_every_pair_of_transformations_composes(names):
    check(names)


THIRD = [
    *itertools.product(["grad", "jvp", "jacrev"], repeat=3),
    *itertools.product(
        ["jit", "vmap"], ["grad", "jvp"], ["scan", "cond", "checkpoint"]
    ),
    *itertools.product(["vmap", "jit"], ["grad", "jvp"], ["vmap", "jit"]),
    *itertools.product(["grad", "jacfwd"], ["vmap", "scan"], ["grad", "jvp"]),
    ("grad", "scan", "custom_vjp"),
    ("grad", "scan", "custom_jvp"),
    ("jvp", "grad", "jvp", "both_rules"),
    ("grad", "jit", "scan", "both_rules"),
    ("jit", "vmap", "grad", "grad", "custom_vmap"),
    ("grad", "vmap", "jvp", "sequential_vmap", "custom_vjp"),
    ("vmap", "jvp", "scan", "custom_vmap"),
    ("vmap", "grad", "scan", "grad"),
    ("jit", "vmap", "grad", "scan", "checkpoint"),
    ("grad", "jit", "vmap", "cond", "custom_vjp"),
    ("jit", "grad", "jit", "grad", "jit", "grad"),
    ("jvp", "jvp", "jvp", "scan"),
    ("grad", "grad", "grad", "scan"),
    ("grad", "grad", "grad", "cond"),
    ("grad", "grad", "grad", "while_loop"),
    ("grad", "jvp", "grad", "while_loop"),
    ("jvp", "grad", "batched_while_loop"),
    ("grad", "vmap", "grad", "while_loop"),
    ("jit", "vmap", "grad", "while_loop", "checkpoint"),
    ("grad", "scan", "while_loop", "custom_vjp"),
    ("grad", "while_loop", "while_loop", "cond"),
    ("grad", "grad", "grad", "checkpoint"),
    ("grad", "grad", "grad", "custom_root"),
    ("jit", "grad", "grad", "jvp", "linear_solve"),
    ("jit", "vmap", "grad", "custom_root", "linear_solve"),
    ("jvp", "grad", "checkpoint", "custom_jvp"),
]


def sampled(count, seed=0):
    """Stacks of three and four, of first to third order, the same each time."""
    choose = random.Random(seed)
    found = set()
    while len(found) < count:
        names = tuple(choose.choices(list(WRAPPERS), k=choose.choice([3, 4])))
        if 1 <= order(names) <= 3:
            found.add(names)
    return sorted(found)


@pytest.mark.parametrize("names", [*THIRD, *sampled(100)], ids="-".join)
def test_longer_stacks_compose_up_to_third_order(names):
    check(names)


def test_the_hessian_is_the_second_derivative():
    second = cv.hessian(total(cnp.sin))(cnp.asarray(X))
    np.testing.assert_allclose(second, np.diag(-np.sin(X)), rtol=1e-5, atol=1e-6)
    jitted = cv.jit(cv.hessian(total(cv.jit(by_scan(cnp.sin)))))(cnp.asarray(X))
    np.testing.assert_allclose(jitted, np.diag(-np.sin(X)), rtol=1e-5, atol=1e-6)


DEVICES = [
    *itertools.product(["grad", "jvp", "jacrev", "linearize"], MAPPED),
    *itertools.product(MAPPED, ["grad", "jvp", "jacfwd", "vjp"]),
    *itertools.product(["shard_map"], SAME),
    *itertools.product(SAME, ["shard_map"]),
    *itertools.product(["pmap"], ["pmap", "vmap", "scan", "checkpoint"]),
    *itertools.product(["jit", "vmap", "scan", "cond", "checkpoint"], ["pmap"]),
    ("shard_map", "pmap"),
    ("grad", "shard_map", "grad"),
    ("jvp", "shard_map", "scan", "grad"),
    ("grad", "grad", "grad", "shard_map"),
    ("vmap", "grad", "shard_map", "cond"),
    ("grad", "scan", "shard_map", "jvp", "while_loop"),
    ("jit", "grad", "pmap", "grad", "pmap"),
]


@pytest.mark.parametrize("names", DEVICES, ids="-".join)
def test_mapping_over_devices_composes(names):
    check(names)
