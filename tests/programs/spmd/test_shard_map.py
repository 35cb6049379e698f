"""shard_map: shards, communication, derivatives, and every program inside."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.sharding import NamedSharding, get_abstract_mesh
from tests.meshes import mesh, numbers

X = np.arange(8, dtype=np.float32)
ROWS = X.reshape(4, 2)
W = np.float32(3.0)


def line(n=4):
    return cv.make_mesh((n,), ("x",))


def grid():
    return cv.make_mesh((2, 4), ("x", "y"))


SHARDED, SAME = P("x"), P()


def over(f, in_specs=SHARDED, out_specs=SHARDED, mesh=None, **how):
    """``f`` on shards, compiled: a small one would run on the host otherwise."""
    mesh = mesh or line()
    return cv.jit(
        cv.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **how)
    )


def weighted(f):
    """The sum over devices of ``f`` of a weight, the same everywhere, and a part."""
    return over(lambda w, x: lax.psum(cnp.sum(f(w, x)), "x"), (P(), P("x")), P())


# -- collectives -----------------------------------------------------------------------

REDUCED = {
    "psum": (lambda x: lax.psum(x, "x"), ROWS.sum(0)),
    "pmean": (lambda x: lax.pmean(x, "x"), ROWS.mean(0)),
    "pmax": (lambda x: lax.pmax(x, "x"), ROWS.max(0)),
    "pmin": (lambda x: lax.pmin(x, "x"), ROWS.min(0)),
    "all_gather": (lambda x: lax.all_gather(x, "x"), ROWS),
    "all_gather tiled": (lambda x: lax.all_gather(x, "x", tiled=True), X),
    "pbroadcast": (lambda x: lax.pbroadcast(x, "x", 2), ROWS[2]),
}


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_the_same_everywhere(name, compiled):
    f, wanted = REDUCED[name]
    g = cv.shard_map(f, mesh=line(), in_specs=P("x"), out_specs=P())
    np.testing.assert_allclose((cv.jit(g) if compiled else g)(X), wanted)


ring = [(k, (k + 1) % 4) for k in range(4)]
DERIVATIVES = {
    "ppermute": (lambda x: lax.ppermute(x, "x", ring), np.roll(ROWS, 1, 0)),
    "ppermute to some": (
        lambda x: lax.ppermute(x, "x", [(0, 2)]),
        np.array([[0, 0], [0, 0], [0, 1], [0, 0]]),
    ),
    "pshuffle": (lambda x: lax.pshuffle(x, "x", [3, 2, 1, 0]), ROWS[::-1]),
    "axis_index": (lambda x: x * 0 + lax.axis_index("x"), np.arange(4).repeat(2)),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("compiled", [True, False])
def test_what_differs(name, compiled):
    f, wanted = DERIVATIVES[name]
    g = cv.shard_map(f, mesh=line(), in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose((cv.jit(g) if compiled else g)(X), wanted.ravel())


EXCHANGED = {
    "psum_scatter": lambda x: lax.psum_scatter(x.reshape(4, 2, 3), "x"),
    "psum_scatter tiled": lambda x: lax.psum_scatter(x, "x", tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x.reshape(4, 2, 3), "x", 0, 2),
    "all_to_all back": lambda x: lax.all_to_all(x.reshape(2, 4, 3), "x", 1, 0),
    "all_to_all tiled": lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True),
    "pswapaxes": lambda x: lax.pswapaxes(x.reshape(2, 4, 3), "x", 1),
}


@pytest.mark.parametrize("name", EXCHANGED)
def test_exchanges_are_those_of_vmap(name):
    f = EXCHANGED[name]
    z = np.random.default_rng(0).normal(size=(4, 8, 3)).astype(np.float32)
    wanted = cv.vmap(f, axis_name="x")(z)
    np.testing.assert_allclose(over(lambda x: f(x[0])[None])(z), wanted, rtol=1e-6)

    def slope(g):
        return cv.grad(lambda z: cnp.sum(cnp.sin(g(z))))(z)

    found = slope(over(lambda x: f(x[0])[None]))
    np.testing.assert_allclose(
        found, slope(cv.vmap(f, axis_name="x")), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_extremes_keep_nan_and_the_order_of_zeros(dtype):
    z = np.array([-0.0, 1, 2, np.nan, 4, -np.inf, 0.0, 7], np.float32)
    rows = z.reshape(4, 2)
    with cv.enable_x64(dtype == "float64"):
        most, least = over(lambda x: (lax.pmax(x, "x"), lax.pmin(x, "x")), P("x"), P())(
            cnp.asarray(z, dtype)
        )
    np.testing.assert_array_equal(np.asarray(most, np.float32), rows.max(0))
    np.testing.assert_array_equal(np.asarray(least, np.float32), rows.min(0))


def test_several_axes_are_one_sum():
    total = over(lambda x: lax.psum(x, ("x", "y")), P(("x", "y")), P(), grid())
    assert total(X).tolist() == [28.0]
    text = total.lower(X).as_text()
    assert text.count("all_reduce") == 1


def test_the_slope_of_an_extreme_is_that_of_who_has_it():
    slope = cv.grad(over(lambda x: lax.pmax(cnp.max(x), "x") ** 2, P("x"), P()))
    assert slope(X).tolist() == [0, 0, 0, 0, 0, 0, 0, 14]
    tied = slope(np.array([1, 5, 5, 0, 0, 0, 0, 0], np.float32))
    assert tied.tolist() == [0, 5, 5, 0, 0, 0, 0, 0]


# -- derivatives -----------------------------------------------------------------------


def test_a_gradient_with_respect_to_what_does_not_vary_is_the_sum():
    slope = over(lambda w, x: cv.grad(lambda w: cnp.sum(w * x))(w), (P(), P("x")), P())
    assert float(slope(W, X)) == X.sum()


def test_a_gradient_with_respect_to_what_varies_is_of_each_device():
    def slope(w, x):
        w = lax.pcast(w, "x", to="varying")
        return cv.grad(lambda w: cnp.sum(w * x))(w)[None]

    found = over(slope, (P(), P("x")))(W, X)
    np.testing.assert_allclose(found, ROWS.sum(1))


def _with_jvp(f):
    g = cv.custom_jvp(f)
    g.defjvp(lambda primals, tangents: cv.jvp(f, primals, tangents))
    return g


def _with_vjp(f):
    g = cv.custom_vjp(f)
    g.defvjp(lambda w, x: (f(w, x), (w, x)), lambda r, ct: cv.vjp(f, *r)[1](ct))
    return g


def _with_summing_vjp(f):
    """The rule gives a cotangent of each device for a weight that does not vary."""
    g = cv.custom_vjp(f)

    def bwd(residuals, ct):
        w, x = residuals
        slopes = cnp.cos(w * x)
        return cnp.sum(ct * slopes * x), ct * slopes * w

    g.defvjp(lambda w, x: (f(w, x), (w, x)), bwd)
    return g


PROGRAMS = {
    "plain": lambda f: f,
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "jit of checkpoint": lambda f: cv.jit(cv.checkpoint(f)),
    "scan": lambda f: (
        lambda w, x: lax.scan(lambda c, _: (c + cnp.sum(f(w, x)), None), 0.0, None, 1)[
            0
        ]
    ),
    "scan over shards": lambda f: (
        lambda w, x: lax.scan(lambda c, e: (c, f(w, e)), 0.0, x)[1]
    ),
    "while_loop": lambda f: (
        lambda w, x: lax.while_loop(
            lambda c: c[0] < 1, lambda c: (c[0] + 1, c[1] + cnp.sum(f(w, x))), (0, 0.0)
        )[1]
    ),
    "cond": lambda f: lambda w, x: lax.cond(w > 0, f, lambda w, x: 0 * x, w, x),
    "cond that devices decide": lambda f: (
        lambda w, x: lax.cond(cnp.sum(x) > 4, f, lambda w, x: f(w, x) + 0.0, w, x)
    ),
    "custom_jvp": _with_jvp,
    "custom_vjp": _with_vjp,
    "custom_vjp that sums": _with_summing_vjp,
    "vmap": lambda f: cv.vmap(f, (None, 0)),
    "named vmap": lambda f: (
        lambda w, x: cv.vmap(lambda e: f(w, lax.psum(e, "i") / 2), axis_name="i")(
            cnp.stack([x, x])
        )[0]
    ),
    "shard_map": lambda f: f,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_programs_inside(name):
    wave = PROGRAMS[name](lambda w, x: cnp.sin(w * x))
    total, at = weighted(wave), (W, X / 4)
    z = X / 4
    np.testing.assert_allclose(total(*at), np.sin(3 * z).sum(), rtol=1e-5)
    slope = cv.grad(total)
    np.testing.assert_allclose(slope(*at), (np.cos(3 * z) * z).sum(), rtol=1e-4)
    np.testing.assert_allclose(
        cv.grad(total, 1)(*at), np.cos(3 * z) * 3, rtol=1e-4, atol=1e-5
    )
    curve = -(np.sin(3 * z) * z * z).sum()
    np.testing.assert_allclose(cv.grad(slope)(*at), curve, rtol=1e-4)
    np.testing.assert_allclose(
        cv.jvp(slope, at, (np.float32(1), 0 * z))[1], curve, rtol=1e-4
    )


def test_vmap_of_it():
    total = weighted(lambda w, x: cnp.sin(w * x))
    weights = cnp.arange(3.0)
    found = cv.vmap(total, (0, None))(weights, X)
    np.testing.assert_allclose(
        found, [np.sin(w * X).sum() for w in range(3)], rtol=1e-5, atol=1e-5
    )
    both = cv.vmap(cv.grad(total), (0, 1), 0)(weights, cnp.stack([X, -X, X / 2], 1))
    wanted = [(np.cos(w * z) * z).sum() for w, z in enumerate([X, -X, X / 2])]
    np.testing.assert_allclose(both, wanted, rtol=1e-4, atol=1e-4)


def test_jacobians_of_it():
    f = over(lambda x: cnp.sin(x) * lax.psum(cnp.sum(x), "x"), P("x"), P("x"))
    total = X.sum() / 8
    wanted = np.diag(np.cos(X / 8) * total) + np.sin(X / 8)[:, None]
    np.testing.assert_allclose(cv.jacfwd(f)(X / 8), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(cv.jacrev(f)(X / 8), wanted, rtol=1e-4, atol=1e-5)


def test_one_inside_another_over_other_axes():
    def inner(y):
        return lax.psum(y, "y") + lax.axis_index("x")

    def outer(x):
        f = cv.shard_map(inner, in_specs=P("y"), out_specs=P(), axis_names={"y"})
        return f(x) * 2

    f = over(outer, P("x"), P("x"), grid(), axis_names={"x"})
    assert f(X).tolist() == [12.0, 46.0]
    slope = cv.grad(lambda x: cnp.sum(f(x) ** 2))(X)
    assert slope.tolist() == [48.0] * 4 + [184.0] * 4


def test_axes_left_to_the_compiler():
    f = over(lambda x: lax.psum(x, "x"), P("x"), P(), grid(), axis_names={"x"})
    np.testing.assert_allclose(f(X), X.reshape(2, 4).sum(0))
    slope = cv.grad(lambda x: cnp.sum(f(x) ** 2))(X)
    np.testing.assert_allclose(slope, np.tile(2 * X.reshape(2, 4).sum(0), 2))


@pytest.mark.parametrize("checked", [True, False])
def test_unchecked_gives_the_same_for_what_is_reduced(checked):
    total = over(
        lambda w, x: lax.psum(cnp.sum(cnp.sin(w * x)), "x"),
        (P(), P("x")),
        P(),
        check_vma=checked,
    )
    z = X / 4
    np.testing.assert_allclose(
        cv.grad(total)(W, z), (np.cos(3 * z) * z).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(
        cv.grad(total, 1)(W, z), np.cos(3 * z) * 3, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        cv.grad(cv.grad(total))(W, z), -(np.sin(3 * z) * z * z).sum(), rtol=1e-5
    )


def test_the_older_name_of_the_check():
    f = cv.shard_map(
        cnp.sum,
        mesh=line(),
        in_specs=P("x"),
        out_specs=P(),
        check_rep=False,
    )
    assert np.asarray(f(X)).shape == ()


def test_results_of_loops_that_devices_leave_at_different_times():
    def steps(x):
        start = (cnp.sum(x) + 1, 0)
        return lax.while_loop(
            lambda c: c[0] < 10, lambda c: (c[0] * 2, c[1] + 1), start
        )[1][None]

    assert over(steps)(X).tolist() == [3, 1, 0, 0]


def test_the_gradient_of_loops_that_devices_leave_at_different_times():
    def grown(w, x):
        c = lax.while_loop(lambda c: c < 10, lambda c: c * w, cnp.sum(x) + 1)
        return c[None]

    total = over(grown, (P(), P("x")))
    slope = cv.grad(lambda w: cnp.sum(total(w, X)))(np.float32(2))
    assert float(slope) == 2 * 3 * 2**2 + 6 * 1  # of 2·w³, 6·w, and 10, 14


def test_closed_over_values_are_the_same_everywhere():
    large = np.arange(2048, dtype=np.float32)

    def loss(w):
        f = over(lambda x: cnp.sum(x * w * large[:2])[None] + cnp.sum(large) * 0)
        return cnp.sum(f(X))

    np.testing.assert_allclose(cv.grad(loss)(W), ROWS[:, 1].sum())


def test_trees_and_prefixes_of_specs():
    def f(batch, state):
        return {"y": batch["x"] * state[0]}, lax.psum(cnp.sum(batch["b"]), "x")

    g = over(f, ({"x": P("x"), "b": P("x")}, P()), ({"y": P("x")}, P()))
    out, total = g({"x": X, "b": X}, (W, None))
    np.testing.assert_allclose(out["y"], 3 * X)
    assert float(total) == 28


def test_a_mesh_of_one_device():
    f = over(
        lambda x: lax.psum(x + lax.axis_index("x"), "x") + lax.pmax(x, "x"),
        P("x"),
        P(),
        line(1),
    )
    np.testing.assert_allclose(f(X), 2 * X)
    np.testing.assert_allclose(cv.grad(lambda x: cnp.sum(f(x)))(X), np.full(8, 2.0))


def test_the_mesh_in_force():
    with cv.set_mesh(line()):
        f = cv.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
        np.testing.assert_allclose(f(X), ROWS.sum(0))


def test_as_a_decorator():
    @cv.shard_map(mesh=line(), in_specs=P("x"), out_specs=P("x"))
    def doubled(x):
        return 2 * x

    np.testing.assert_allclose(doubled(X), 2 * X)


def test_results_are_sharded_as_the_specs_say():
    f = over(lambda x: (x, lax.psum(x, "x")), P("x"), (P("x"), P()))
    sharded, replicated = f(X)
    assert sharded.addressable_shards[3].data.tolist() == [6.0, 7.0]
    assert replicated.is_fully_replicated
    assert [len(a.addressable_shards) for a in (sharded, replicated)] == [4, 4]


def test_random_keys_differ_between_devices():
    def draw(key):
        key = cv.random.fold_in(key, lax.axis_index("x"))
        return cv.random.uniform(key, (2,))

    found = over(draw, P(), P("x"))(cv.random.key(0))
    wanted = [
        cv.random.uniform(cv.random.fold_in(cv.random.key(0), k), (2,))
        for k in range(4)
    ]
    np.testing.assert_array_equal(found, np.concatenate(wanted))


# -- the mesh inside -------------------------------------------------------------------


def test_inside_the_mesh_in_force_has_the_axes_that_are_mapped_by_hand():
    seen = []

    @cv.jit
    def look(x):
        inside = get_abstract_mesh()
        seen.append((inside.manual_axes, inside.auto_axes))
        return x

    def over(f, axis):
        spec = P("x") if axis == "x" else P(None, "y")
        return cv.shard_map(f, in_specs=spec, out_specs=spec, axis_names={axis})

    x = cnp.ones((8, 8))
    with cv.set_mesh(mesh()):
        look(x)
        over(look, "x")(x)
        over(over(look, "y"), "x")(x)
        look(x)
        assert get_abstract_mesh() is mesh().abstract_mesh
    assert seen == [((), ("x", "y")), (("x",), ("y",)), (("x", "y"), ())]
    with pytest.raises(ZeroDivisionError):
        cv.shard_map(lambda x: 1 / 0, mesh=mesh(), in_specs=P(), out_specs=P())(x)
    assert get_abstract_mesh().empty


def test_a_spec_inside_means_the_axes_that_are_left_to_the_compiler():
    def rows(x):
        return lax.with_sharding_constraint(2 * x, P("y"))

    over = cv.shard_map(
        rows, mesh=mesh(), in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    x = numbers(8, 8)
    got = cv.jit(over)(x)
    np.testing.assert_allclose(got, 2 * x)
    # What is not mapped by hand stays sharded when the function returns.
    assert got.sharding == NamedSharding(mesh(), P(("x", "y")))
    slope = cv.grad(lambda x: (over(x) * over(x)).sum())(x)
    np.testing.assert_allclose(slope, 8 * x, rtol=1e-6)


def test_arguments_without_a_spec_are_handed_over_as_they_are():
    def apply(f, scale, x):
        return f(x) * scale

    mapped = cv.shard_map(
        apply, mesh=line(), in_specs=(None, None, SHARDED), out_specs=SHARDED
    )
    np.testing.assert_allclose(mapped(cnp.sin, 2, X), 2 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(
        cv.jit(lambda s, x: mapped(cnp.sin, s, x))(3.0, X), 3 * np.sin(X), rtol=1e-6
    )


def test_a_reduction_that_keeps_its_order_runs_on_shards():
    def differences(x):
        return lax.reduce(x, np.float32(9), lambda a, b: a - b, (1,))

    np.testing.assert_allclose(over(differences)(ROWS), 9 - ROWS.sum(1))
    slopes = cv.grad(lambda x: over(differences)(x).sum())(ROWS)
    np.testing.assert_allclose(slopes, -np.ones_like(ROWS))


def test_a_rule_that_is_traced_when_it_is_lowered_runs_on_the_devices_of_its_mesh():
    """Its program is not there yet when the devices of the whole are chosen."""
    mesh = cv.make_mesh((2,), ("d",))
    over = cv.shard_map(
        lambda a: a + 0 * lax.axis_index("d"),
        mesh=mesh,
        in_specs=P("d"),
        out_specs=P("d"),
    )

    def f(x):
        return over(x).sum()

    g = cv.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: cv.vjp(f, x)[1](ct))
    g.defjvp(lambda primals, tangents: cv.jvp(f, primals, tangents))
    x = cnp.ones((4, 2))
    assert [float(y) for y in cv.jvp(cv.jit(g), (x,), (x,))] == [8, 8]
