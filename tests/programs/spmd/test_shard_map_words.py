"""What shard_map says where its caller is wrong, before anything runs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.errors import NotDifferentiable, ShardingError, TreeMismatch, TypeMismatch
from covector.sharding import NamedSharding
from tests.meshes import mesh

X = np.arange(8, dtype=np.float32)
W = np.float32(3.0)
SHARDED = P("x")


def says(f, *words, args=(X,), error=ShardingError, **how):
    how = {
        "mesh": cv.make_mesh((4,), ("x",)),
        "in_specs": SHARDED,
        "out_specs": SHARDED,
    } | how
    with pytest.raises(error) as caught:
        cv.shard_map(f, **how)(*args)
    for word in words:
        assert word in str(caught.value), caught.value


def test_a_result_that_still_varies():
    def loss(x):
        return {"loss": cnp.sum(x), "n": lax.psum(cnp.sum(x), "x")}

    says(
        loss,
        "the result at ['loss'], f32[]{x}, still varies over 'x'",
        "made at",
        "test_shard_map_words.py",
        "P() does not name it",
        "psum, pmean, pmax",
        "'x' in the out_specs entry",
        out_specs=P(),
    )


def test_a_result_that_varies_over_one_of_two_axes():
    says(
        lambda x: lax.psum(x, "x"),
        "f32[1]{y}, still varies over 'y'",
        mesh=cv.make_mesh((2, 4), ("x", "y")),
        in_specs=P(("x", "y")),
        out_specs=P(),
    )


def test_a_scalar_for_each_device():
    says(
        cnp.sum,
        "out_specs of the result is P('x'), but each device returns f32[]{x}",
        "x[None]",
        "psum, pmean",
    )


def test_an_argument_that_cannot_be_sharded():
    says(
        lambda x: x,
        "in_specs of argument x['a']",
        "(6,) into 4 shards",
        "Pad the axis by 2, to 8",
        args=({"a": X[:6]},),
    )


def test_a_spec_of_too_many_axes():
    says(lambda x: x, "argument x", "has 3 entries", in_specs=P("x", None, None))


def test_an_axis_that_the_mesh_does_not_have():
    says(lambda x: x, "'rows'", "('x',)", in_specs=P("rows"))
    says(lambda x: x, "out_specs of the result", "'rows'", out_specs=P("rows"))


def test_an_axis_to_map_that_the_mesh_does_not_have():
    mesh = cv.make_mesh((4,), ("batch",))
    says(
        lambda x: x,
        "axis_names has 'bach'",
        "Did you mean 'batch'?",
        mesh=mesh,
        axis_names={"bach"},
        in_specs=P("batch"),
        out_specs=P("batch"),
    )


def test_a_spec_that_names_an_axis_that_is_not_mapped():
    says(
        lambda x: x,
        "names the axis 'y', but only 'x' are mapped",
        mesh=cv.make_mesh((2, 4), ("x", "y")),
        axis_names={"x"},
        in_specs=P("y"),
        out_specs=P("x"),
    )


def test_no_mesh():
    says(lambda x: x, "needs a mesh", "set_mesh", mesh=None)


def test_what_is_no_spec():
    says(lambda x: x, "must be PartitionSpecs", "'x'", in_specs="x")
    says(lambda x: x, "must be PartitionSpecs", "'x'", in_specs=("x",))


def test_another_number_of_specs_than_arguments():
    says(lambda x: x, "in_specs for 2 arguments", "called with 1", in_specs=(P(), P()))


def test_specs_that_do_not_fit_the_result():
    says(
        lambda x: (x, x),
        "out_specs must be a prefix of the result",
        error=TreeMismatch,
        out_specs=(P("x"), P("x"), P("x")),
    )


def test_the_same_axis_mapped_twice():
    def outer(x):
        inner = cv.shard_map(
            lambda x: x, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )
        return inner(x)

    says(outer, "maps the axis 'x', but a shard_map around it does so already")


def test_no_axis_left_to_map():
    def outer(x):
        return cv.shard_map(lambda x: x, in_specs=P(), out_specs=P())(x)

    says(outer, "are mapped by a shard_map around it")


def test_devices_that_part_ways_cannot_talk():
    def choose(x):
        return lax.cond(cnp.sum(x) > 4, lambda x: lax.psum(x, "x"), lambda x: x, x)

    says(
        choose,
        "the predicate varies over the mesh axis 'x'",
        "communicates over 'x' (psum at",
        "covector.lax.pmax",
        error=TypeMismatch,
    )

    def repeat(x):
        return lax.while_loop(
            lambda x: cnp.sum(x) < 100, lambda x: x + lax.pmean(x, "x"), x
        )

    says(repeat, "the test varies over the mesh axis 'x'", error=TypeMismatch)


def test_a_collective_over_an_axis_that_is_not_there():
    with pytest.raises(cv.errors.AxisError, match="Did you mean 'batch'"):
        cv.shard_map(
            lambda x: lax.psum(x, "bach"),
            mesh=cv.make_mesh((4,), ("batch",)),
            in_specs=P("batch"),
            out_specs=P("batch"),
        )(X)


def slopes(w, x):
    return cv.grad(lambda w: cnp.sum(w * x))(w)


def test_a_sum_over_devices_that_nobody_asked_for():
    how = {"in_specs": (P(), P("x")), "out_specs": P(), "args": (W, X)}
    with cv.check_implicit_sums(True):
        says(
            slopes,
            "grad of <lambda>",
            "its result f32[]{x} varies over the mesh axis 'x'",
            "f32[], does not: the gradient is summed over the devices",
            "made at",
            "pmean over 'x'",
            "pcast(x, 'x', to='varying')",
            error=NotDifferentiable,
            **how,
        )


def test_the_ways_out_of_that():
    def reduced(w, x):
        return cv.grad(lambda w: lax.pmean(cnp.sum(w * x), "x"))(w)

    def of_each(w, x):
        return slopes(lax.pcast(w, "x", to="varying"), x)[None]

    mesh = cv.make_mesh((4,), ("x",))
    with cv.check_implicit_sums(True):
        f = cv.shard_map(reduced, mesh=mesh, in_specs=(P(), P("x")), out_specs=P())
        assert float(f(W, X)) == X.sum() / 4
        f = cv.shard_map(of_each, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"))
        np.testing.assert_allclose(f(W, X), X.reshape(4, 2).sum(1))


def test_a_cotangent_that_varies_more_than_its_value():
    def f(w, x):
        _, pull = cv.vjp(lambda w: w * 2, w)
        return pull(cnp.sum(x))[0][None]

    says(
        f,
        "a cotangent of type f32[], but got f32[]{x}",
        "psum or pmean",
        error=TypeMismatch,
        in_specs=(P(), P("x")),
        args=(W, X),
    )


def test_pcast_to_something_else():
    says(
        lambda x: lax.pcast(x, "x", to="replicated"),
        "to='replicated'",
        "psum, pmean",
        error=TypeMismatch,
    )


def test_after_an_error_all_is_as_before():
    says(cnp.sum, out_specs=P())
    assert float(cv.grad(lambda x: x**2)(3.0)) == 6.0
    with pytest.raises(cv.errors.AxisError):
        lax.psum(X, "x")


def test_one_over_another_mesh_inside():
    other = cv.make_mesh((2,), ("y",))

    def outer(x):
        return cv.shard_map(lambda x: x, mesh=other, in_specs=P("y"), out_specs=P("y"))(
            x
        )

    says(
        outer,
        "is over Mesh('y': 2), but it is called inside of a shard_map, or a pmap, over "
        "Mesh('x': 4), and a program runs on one mesh. Make that mesh with the axes of "
        "both, and name those of each with axis_names=; or use vmap inside.",
    )
    with pytest.raises(ShardingError, match="a program runs on one mesh"):
        cv.pmap(outer)(X)


@pytest.mark.parametrize(
    "constrain",
    [
        lambda x: lax.with_sharding_constraint(x, P("x")),
        lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh(), P("x"))),
        lambda x: cv.device_put(x, NamedSharding(mesh(), P(None, ("y", "x")))),
        cv.jit(lambda x: x, in_shardings=P("x")),
    ],
)
def test_a_constraint_over_an_axis_that_is_mapped_by_hand_is_refused(constrain):
    over = cv.shard_map(
        constrain, mesh=mesh(), in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    words = r"names the axis 'x' in .* inside of a shard_map over .*shards \('y'\)"
    with cv.set_mesh(mesh()), pytest.raises(ShardingError, match=words):
        over(cnp.ones((8, 8)))


def test_shard_map_without_in_specs_says_that_types_do_not_have_them():
    with pytest.raises(ShardingError, match="needs in_specs: types of arrays do not"):
        cv.shard_map(lambda x: x, mesh=mesh(), out_specs=P())
