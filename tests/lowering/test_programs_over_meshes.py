"""Programs over meshes give what they give on one device, and say where results are."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.errors import DeviceMismatch, ShardingError, TreeMismatch
from covector.experimental.pjit import pjit
from covector.sharding import AbstractMesh, Mesh, NamedSharding, SingleDeviceSharding
from tests.meshes import SHAPES, mesh, named, numbers, put

X, Y = numbers(8, 8), numbers(8, 8, seed=1)
SPD = X @ X.T + 8 * np.eye(8, dtype=np.float32)


def layer(h, w):
    return cnp.tanh(h @ w), None


#: functions of two 8x8 arrays
OPS = {
    "arithmetic": lambda x, y: (x + y) * 2.0 - x / (1 + y * y),
    "functions": lambda x, y: cnp.exp(cnp.sin(x)) + cnp.log1p(cnp.abs(y)),
    "comparison": lambda x, y: cnp.where(x > y, x, y),
    "sum": lambda x, y: (cnp.sum(x), cnp.sum(x, 0), cnp.mean(y, 1)),
    "extrema": lambda x, y: (cnp.max(x, 0), cnp.argmin(y, 1), cnp.argmax(x)),
    "extrema with NaN": lambda x, y: (cnp.max(cnp.where(x > 2, cnp.nan, x), 1),),
    "extrema of complex": lambda x, y: cnp.max(x + 1j * y, 0),
    "reductions": lambda x, y: (cnp.prod(x, 0), cnp.any(x > 2, 1), cnp.all(y < 3, 0)),
    "bitwise reductions": lambda x, y: (
        lax.reduce_xor(x.astype("int32"), (0,)),
        lax.reduce_or(y.astype("int32"), (1,)),
    ),
    "reduction by a function": lambda x, y: lax.reduce(
        x, np.float32(0), lambda a, b: a + b + a * b / 8, (0,)
    ),
    "reduction in order": lambda x, y: lax.reduce(
        x * y, cnp.float32(2), lambda a, b: a - b, (0,)
    ),
    "product": lambda x, y: x @ y,
    "einsum": lambda x, y: cnp.einsum("ij,kj->ik", x, y),
    "transpose": lambda x, y: x.T + y,
    "reshape": lambda x, y: (x.reshape(-1), x.reshape(2, 4, 8), x.reshape(16, 4)),
    "index": lambda x, y: (x[0], x[:, 3], x[1:7:2], x[-1, ::-1], x[:3]),
    "gather": lambda x, y: (x[cnp.array([5, 1, 1])], cnp.take(y, 3, 1)),
    "update": lambda x, y: (x.at[2].set(0.0), x.at[cnp.array([1, 1]), 0].add(y[0, 0])),
    "joining": lambda x, y: (cnp.concatenate([x, y]), cnp.stack([x, y], 1)),
    "splitting": lambda x, y: cnp.split(x, 4, 1),
    "pad": lambda x, y: (cnp.pad(x, ((1, 2), (0, 3))), cnp.roll(x, 3, 0)),
    "sort": lambda x, y: (cnp.sort(x, 0), cnp.argsort(y, 1)),
    "cumulative": lambda x, y: (cnp.cumsum(x, 0), lax.cummax(y, 1)),
    "broadcast": lambda x, y: x[:, None] * y[None],
    "casts": lambda x, y: (x.astype("int32"), y.astype("bfloat16").astype("float32")),
    "softmax": lambda x, y: cv.nn.softmax(x, 0) + cv.nn.relu(y),
    "random": lambda x, y: cv.random.normal(cv.random.key(0), (8, 8)) + x,
    "vmap": cv.vmap(cnp.dot),
    "scan": lambda x, y: lax.scan(layer, x, cnp.stack([x, y]))[0],
    "while": lambda x, y: lax.while_loop(
        lambda c: cnp.sum(cnp.abs(c)) < 1e3, lambda c: c * 1.5, x
    ),
    "cond": lambda x, y: lax.cond(cnp.sum(x) > 0, lambda: x, lambda: y),
    "grad": lambda x, y: cv.grad(lambda x: cnp.sum(cnp.tanh(x @ y) ** 2))(x),
    "checkpoint": lambda x, y: cv.grad(
        lambda x: cnp.sum(cv.checkpoint(lambda x: cnp.sin(x @ y) * x)(x))
    )(x),
    "convolution": lambda x, y: lax.conv_general_dilated(
        x[None, None], y[None, None, :3, :3], (1, 1), "SAME"
    ),
}


def agree(found, wanted):
    for got, want in zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
        for shard in got.addressable_shards:
            np.testing.assert_array_equal(shard.data, np.asarray(got)[shard.index])


def divisions(on):
    if on == "2x4":
        return [P("x", "y"), P(None, ("x", "y")), P("y")]
    return [P("x"), P(None, "x")]


@pytest.fixture(scope="module")
def on_one_device():
    return {name: op(cnp.asarray(X), cnp.asarray(Y)) for name, op in OPS.items()}


@pytest.mark.parametrize("on", SHAPES)
def test_compiled_programs_over_meshes(on, on_one_device):
    everything = cv.jit(lambda x, y: {name: op(x, y) for name, op in OPS.items()})
    for spec in divisions(on)[:2]:
        x = put(X, *spec, on=on)
        found = everything(x, Y)
        for name in OPS:
            agree(found[name], on_one_device[name])
            for out in cv.tree.leaves(found[name]):
                assert out.committed and out.devices() == x.devices()


@pytest.mark.parametrize("name", OPS)
def test_operations_one_by_one_over_a_mesh(name, on_one_device):
    x, y = put(X, "x", "y"), put(Y, "y")
    found = OPS[name](x, y)
    agree(found, on_one_device[name])
    for out in cv.tree.leaves(found):
        assert out.devices() == set(cv.devices())


def test_padding_between_elements_that_cuts_off_as_well_does_not_end_the_process():
    config = [(-1, 2, 1), (0, -1, 2)]
    padded = cv.jit(lambda x: lax.pad(x, np.float32(0.25), config))
    np.testing.assert_array_equal(padded(put(X, "x", "y")), padded(X))


def test_a_warm_call_takes_results_that_were_computed_on_the_host():
    double = cv.shard_map(
        lambda x: x * 2, mesh=mesh("2"), in_specs=P("x"), out_specs=P("x")
    )
    x = double(cnp.ones(4))
    jitted = cv.jit(lambda x: x + 1)
    jitted(x)
    np.testing.assert_array_equal(jitted(x * 3), np.full(4, 7.0))


def test_divisions_are_passed_on():
    x = put(X, "x", "y")
    both = {
        "x + 1": (lambda x: x + 1, P("x", "y")),
        "x.T": (lambda x: x.T, P("y", "x")),
        "sum": (cnp.sum, P()),
        "x[0]": (lambda x: x[0], P("y")),
        "x @ x.T": (lambda x: x @ x.T, P("x")),
        "stack": (lambda x: cnp.stack([x, x]), P(None, "x", "y")),
    }
    for name, (fun, spec) in both.items():
        for out in (fun(x), cv.jit(fun)(x)):
            assert out.sharding is NamedSharding(mesh(), spec), name


def test_a_part_of_an_axis():
    x = put(numbers(8), "x", on="8")
    y = cv.jit(lambda x: x.reshape(2, 4))(x)
    agree(y, np.asarray(x).reshape(2, 4))
    agree(cv.jit(lambda y: y * 2)(y), 2 * np.asarray(y))
    agree(y.T @ y, np.asarray(y).T @ np.asarray(y))


def test_arrays_that_may_go_anywhere_follow_the_others():
    x, free = put(X, "x"), cnp.asarray(Y)
    for out in (x + free, cv.jit(cnp.add)(free, x), x + 1.0, x * Y):
        assert out.sharding is named("x") and out.committed
    assert not free.committed and free.sharding == SingleDeviceSharding(cv.devices()[0])


def test_small_and_large_captured_arrays():
    x = put(X, "x")
    large = cv.device_put(numbers(64, 64), named("y"))
    f = cv.jit(lambda v: (x * v, large + v))
    for _ in range(2):
        one, two = f(2.0)
        assert one.sharding is named("x") and two.sharding is named("y")
        agree((one, two), (2 * X, np.asarray(large) + 2))


def test_one_device_meshes_keep_their_name():
    x = put(X, "x", on="1")
    assert (x + 1).sharding is cv.jit(lambda x: x @ x)(x).sharding is named("x", on="1")
    agree(x + 1, X + 1)


def test_results_of_other_memory_are_computed_on_the_device():
    for sharding in (named("x"), SingleDeviceSharding(cv.devices()[1])):
        x = cv.device_put(X, sharding.with_memory_kind("pinned_host"))
        for _ in range(2):
            for out in (x + 1, cv.jit(lambda x: x + 1)(x)):
                agree(out, X + 1)
                assert out.sharding is sharding


def test_equal_divisions_of_two_meshes_go_together():
    other = cv.make_mesh((4, 2), ("a", "b"))
    x, y = put(X, ("x", "y")), cv.device_put(Y, NamedSharding(other, P(("a", "b"))))
    agree(x + y, X + Y)
    agree(cv.jit(cnp.matmul)(x, y), X @ Y)


def test_words_of_operands_on_different_devices():
    x = put(X, "x")
    far = cv.device_put(1.0, cv.devices()[3])
    part = cv.device_put(X, NamedSharding(Mesh(cv.devices()[2:6], "z"), P("z")))
    back = Mesh(np.array(cv.devices())[[3, 1, 0, 2, 7, 5, 6, 4]], "z")
    words = (
        r"over the same devices, but one is on .*P\('x'\)\) \(8 devices\) and one on"
    )
    for fun in (cnp.add, cv.jit(cnp.add)):
        with pytest.raises(DeviceMismatch, match=words + r" cpu:3 \(1\)"):
            fun(x, far)
        with pytest.raises(DeviceMismatch, match=words + r" NamedSharding\(Mesh\('z'"):
            fun(x, part)
        with pytest.raises(DeviceMismatch, match="whose axes cannot say"):
            fun(x, cv.device_put(X, NamedSharding(back, P("z"))))


# -- jit with shardings ----------------------------------------------------------------


def test_jit_puts_arguments_and_results_where_it_was_asked_to():
    f = cv.jit(
        lambda p, x: {"y": x @ p["w"], "n": cnp.sum(x)},
        in_shardings=({"w": named(None, "y")}, named("x")),
        out_shardings={"y": named("x", "y"), "n": None},
    )
    for _ in range(2):
        out = f({"w": Y}, cnp.asarray(X))
        assert out["y"].sharding is named("x", "y")
        agree(out["y"], X @ Y)
        agree(out["n"], X.sum())
    compiled = f.lower({"w": Y}, X).compile()
    assert compiled.input_shardings == (({"w": named(None, "y")}, named("x")), {})
    assert compiled.output_shardings["y"] is named("x", "y")
    assert compiled({"w": Y}, X)["y"].sharding is named("x", "y")


def test_one_sharding_for_all():
    f = cv.jit(
        lambda x, y: (x + y, x - y), in_shardings=named("y"), out_shardings=named()
    )
    for out in f(X, Y):
        assert out.sharding is named()
    assert [o.sharding for o in f(put(X, "y"), Y)] == [named()] * 2


def test_a_result_elsewhere():
    there = cv.devices()[2]
    for _ in range(2):
        out = cv.jit(lambda x: x + 1, out_shardings=there)(X)
        assert out.devices() == {there}
        host = named("x").with_memory_kind("pinned_host")
        out = cv.jit(lambda x: x + 1, out_shardings=host)(put(X, "y"))
        assert out.sharding is host
        agree(out, X + 1)
        one = cv.jit(lambda x: x + 1, out_shardings=named("x", on="1"))(X)
        assert one.sharding is named("x", on="1")


def test_specs_are_for_the_mesh_in_force():
    f = cv.jit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P(None, "x"))
    for name in ("2x4", "4", "2x4"):
        with cv.set_mesh(mesh(name)):
            out = f(X)
        assert out.sharding is named(None, "x", on=name)
        agree(out, 2 * X)
    with pytest.raises(
        ShardingError, match=r"jit of .* in_shardings got P\('x'\) and no m"
    ):
        f(X)


def test_a_jitted_function_with_shardings_inside_of_others():
    f = cv.jit(cnp.sin, in_shardings=named("x"), out_shardings=named("y"))
    assert cv.jit(lambda x: f(x) * 2)(X).sharding is named("y")
    agree(cv.grad(lambda x: cnp.sum(f(x)))(X), np.cos(X))
    agree(cv.vmap(lambda x: f(x)[0])(cnp.stack([X, Y])), np.sin(np.stack([X, Y])[:, 0]))


def test_donated_arrays_over_meshes():
    f = cv.jit(lambda x, y: x * y, donate_argnums=0)
    for _ in range(3):
        x = put(X, "x")
        out = f(x, Y)
        assert x.is_deleted() and out.sharding is named("x")
        agree(out, X * Y)


def test_stages():
    x = put(X, "x", "y")
    lowered = cv.jit(lambda x, y: x @ y).lower(x, Y)
    assert 'sdy.mesh @mesh = <["x"=2, "y"=4]>' in lowered.as_text()
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>' in lowered.as_text()
    compiled = lowered.compile()
    assert compiled.input_shardings == ((named("x", "y"), named()), {})
    assert compiled.output_shardings is named("x")
    agree(compiled(x, Y), X @ Y)
    agree(compiled(X, Y), X @ Y)
    assert "num_partitions=8" in compiled.as_text()
    words = r"argument 1 is to be on NamedSharding\(.*P\(\)\)"
    with pytest.raises(DeviceMismatch, match=words):
        compiled(x, put(Y, "x"))
    struct = cv.ShapeDtypeStruct((8, 8), "float32", sharding=named("y"))
    ahead = cv.jit(lambda x: x + 1).lower(struct).compile()
    assert ahead.input_shardings == ((named("y"),), {})
    assert ahead(X).sharding is named("y")
    single = cv.jit(lambda x: x + 1).lower(X).compile()
    assert single.input_shardings == ((SingleDeviceSharding(cv.devices()[0]),), {})
    assert single.output_shardings == SingleDeviceSharding(cv.devices()[0])


def test_pjit_is_jit():
    assert pjit is cv.jit


def test_words_of_refused_shardings():
    double = lambda x: x * 2  # noqa: E731
    with pytest.raises(
        DeviceMismatch, match=r"given in_shardings=.* for argument 0, but"
    ):
        cv.jit(double, in_shardings=named("x"))(put(X, "y"))
    with pytest.raises(ShardingError, match=r"in_shardings of argument 0: .* length 7"):
        cv.jit(double, in_shardings=named("x"))(X[:7])
    with pytest.raises(ShardingError, match=r"out_shardings of result 0: .* length 7"):
        cv.jit(lambda x: x[:7], out_shardings=named("x"))(X)
    with pytest.raises(
        TreeMismatch, match="in_shardings must be a prefix of the argum"
    ):
        cv.jit(double, in_shardings=(named("x"), None))(X)
    with pytest.raises(
        TreeMismatch, match="out_shardings must be a prefix of the result"
    ):
        cv.jit(double, out_shardings=(named("x"), None))(X)


# -- constraints -----------------------------------------------------------------------


def test_a_constraint_shards_a_value_inside_of_a_program():
    f = lambda x: lax.with_sharding_constraint(x * 2, named("y", "x"))  # noqa: E731
    for fun in (f, cv.jit(f)):
        for x in (X, put(X, "x")):
            assert fun(x).sharding is named("y", "x")
            agree(fun(x), 2 * X)
    assert "sdy.sharding_constraint" in cv.jit(f).lower(X).as_text()


def test_a_constraint_of_trees_and_specs():
    with cv.set_mesh(mesh()):
        out = cv.jit(
            lambda t: lax.with_sharding_constraint(t, {"a": P("x"), "b": None})
        )({"a": X, "b": Y})
    assert out["a"].sharding is named("x")
    agree(out, {"a": X, "b": Y})
    with pytest.raises(ShardingError, match="with_sharding_constraint got P"):
        lax.with_sharding_constraint(X, P("x"))
    with pytest.raises(ShardingError, match=r"has 3 entries, but here is .* \(8, 8\)"):
        cv.jit(lambda x: lax.with_sharding_constraint(x, named("x", None, "y")))(X)


def test_a_constraint_may_leave_axes_to_the_compiler():
    open_ = named(P.UNCONSTRAINED, "y")
    for x, wanted in (
        (put(X, "x"), named("x", "y")),
        (cnp.asarray(X), named(None, "y")),
    ):
        for fun in (
            lambda x: lax.with_sharding_constraint(x, open_),
            cv.jit(lambda x: lax.with_sharding_constraint(x, open_)),
        ):
            agree(fun(x), X)
            assert fun(x).sharding is wanted


def test_a_constraint_need_not_be_even():
    f = cv.jit(lambda x: lax.with_sharding_constraint(x, named("x")) + 1)
    agree(f(X[:7]), X[:7] + 1)
    agree(lax.with_sharding_constraint(X[:7], named("x")), X[:7])


def test_a_constraint_over_an_abstract_mesh_is_over_that_of_the_arguments():
    abstract = NamedSharding(AbstractMesh((2, 4), ("x", "y")), P(None, "y"))
    f = cv.jit(lambda x: lax.with_sharding_constraint(x, abstract) + 1)
    assert f(put(X, "x")).sharding is named(None, "y")
    with cv.set_mesh(mesh()):
        assert f(X).sharding is named(None, "y")
    with pytest.raises(
        ShardingError, match=r"which has no devices\. Put a mesh in force"
    ):
        f(Y)


def test_a_constraint_on_one_device_says_nothing():
    f = cv.jit(lambda x: lax.with_sharding_constraint(x, named("x", on="1")) + 1)
    assert f(X).sharding is named(on="1")
    assert "sdy" not in f.lower(X).as_text()


def test_derivatives_and_batches_of_a_constraint():
    def f(x):
        return cnp.sum(lax.with_sharding_constraint(x, named("y")) ** 3)

    for grad in (cv.grad(f), cv.jit(cv.grad(f))):
        assert grad(X).sharding is named("y")
        agree(grad(X), 3 * X**2)
    _, tangent = cv.jvp(f, (X,), (Y,))
    agree(tangent, np.sum(3 * X**2 * Y))
    rows = cv.vmap(lambda x: lax.with_sharding_constraint(x, named("y")))
    assert rows(cnp.asarray(X)).sharding is named(None, "y")
    assert cv.jit(rows)(put(X, "x")).sharding is named("x", "y")
    both = np.array([np.sum(X**3), np.sum(Y**3)])
    agree(cv.vmap(f)(cnp.stack([X, Y])), both)


def test_a_traced_array_is_put_where_a_sharding_says():
    f = cv.jit(lambda x: cv.device_put(x * 2, named("y")))
    assert f(X).sharding is named("y")
    g = cv.jit(lambda x: (x * 2).to_device(named("x")))
    assert g(X).sharding is named("x")
    with cv.set_mesh(mesh()):
        zeros = cv.jit(lambda: cnp.zeros((8, 200), out_sharding=P("x")))
        assert zeros().sharding is named("x")


@pytest.mark.parametrize("spec", [P("x", None), P("x"), P(None, None), P(), P(None)])
def test_the_sharding_of_a_result_is_spelled_as_that_of_an_argument(spec):
    wanted = NamedSharding(mesh(), spec)
    x = cv.device_put(numbers(8, 8), wanted)
    for out in (x * 2, cv.jit(lambda x: x + 1)(x), cv.jit(lambda x: x)(x)):
        assert out.sharding is wanted
    assert cv.jit(lambda x: x).lower(x).compile().output_shardings is wanted
    over = cv.shard_map(lambda x: x + 1, mesh=mesh(), in_specs=spec, out_specs=spec)
    assert over(x).sharding is wanted
    assert over(put(numbers(512, 512), "y")).sharding is wanted


def constrained(*entries):
    return lambda x: lax.with_sharding_constraint(x, named(*entries)) * 2


@cv.custom_jvp
def with_rule(x):
    return constrained("y")(x)


with_rule.defjvp(lambda primals, tangents: (with_rule(*primals), 2 * tangents[0]))


DIVIDED_OVER_X = {
    "constraint": constrained("y"),
    "jit": cv.jit(lambda x: x * 2, in_shardings=P("y"), out_shardings=P("y")),
    "cond": lambda x: lax.cond(x[0] > 0, constrained("y"), constrained("y"), x),
    "checkpoint": cv.checkpoint(constrained("y")),
    "custom_jvp": with_rule,
}


@pytest.mark.parametrize("name", DIVIDED_OVER_X)
def test_a_batch_is_sharded_over_the_axis_that_vmap_was_told(name):
    x = numbers(4, 8)
    over_batch = cv.vmap(DIVIDED_OVER_X[name], spmd_axis_name="x")
    with cv.set_mesh(mesh()):
        got = cv.jit(over_batch)(x)
    np.testing.assert_allclose(got, 2 * x)
    assert got.sharding == named("x", "y")


def test_a_batch_that_is_sharded_may_have_a_name_and_batches_inside():
    def center(x):
        centered = lax.with_sharding_constraint(x - lax.pmean(x, "i"), named())
        return lax.fori_loop(0, 2, lambda _, x: x + lax.pmean(x, "i"), centered)

    x = numbers(4, 4, 8)
    inner = cv.vmap(center, axis_name="i", spmd_axis_name="y", in_axes=1, out_axes=1)
    got = cv.jit(cv.vmap(inner, spmd_axis_name=("x",)))(x)
    np.testing.assert_allclose(got, x - x.mean(2, keepdims=True), atol=1e-6)
    both = cv.vmap(constrained(), spmd_axis_name=("y", "x"))
    assert both(numbers(8, 8)).sharding == named(("y", "x"))
    assert cv.vmap(constrained("y"))(x[0]).sharding.spec[-1] == "y"


def test_an_axis_cannot_divide_the_batch_and_its_members():
    with pytest.raises(ShardingError, match="names the axis 'x' twice"):
        cv.vmap(constrained("x"), spmd_axis_name="x")(numbers(4, 8))
    with pytest.raises(ShardingError, match="names the axis 'z', but"):
        cv.vmap(constrained("x"), spmd_axis_name="z")(numbers(4, 8))


def test_a_slice_is_not_taken_for_the_array_whose_shards_it_has():
    """XLA's partitioner gathers shards once, and then keeps their padding."""
    line = mesh("4")

    def over_devices(f):
        return cv.shard_map(f, mesh=line, in_specs=(P("x"), P()), out_specs=P("x"))

    def both(q, y):
        x = cnp.resize(q, (4,))
        one = over_devices(lambda a, b: a + cnp.sum(b[:3]))(x, x)
        return one, over_devices(lambda a, b: a + cnp.sum(b))(y, x[:3])

    one, other = cv.jit(both)(cnp.arange(6.0).reshape(2, 3), cnp.ones((4, 3)))
    assert one.tolist() == [3, 4, 5, 6]
    assert other.tolist() == [[4.0] * 3] * 4


def test_updates_at_indices_of_64_bits_that_are_sharded_unevenly_do_not_abort():
    """XLA's partitioner can pad only indices of 32 bits."""

    def update(x, k, row):
        k, row = k[:3], row[:3]
        return [
            x.at[k].add(row),
            x.at[k.astype("uint64")].set(row),
            x.at[k + 2**32].multiply(row, mode="drop"),
            x.at[k - 2**40].max(row, mode="clip"),
        ]

    with cv.enable_x64(True):
        x, k, row = cnp.arange(3.0), cnp.array([2, 0, 2, 1]), cnp.arange(4.0) + 5
        wanted = update(x, k, row)
        found = cv.jit(update)(x, put(k, "x", on="2"), put(row, "x", on="2"))
        for one, other in zip(found, wanted, strict=True):
            assert one.tolist() == other.tolist()


@pytest.mark.parametrize("k", [9, -12, 3])
def test_an_update_that_is_brought_inside_is_not_lost_between_devices(k):
    """XLA's partitioner looks for the device that has row k before it is clipped."""

    def update(x, row, k):
        return (
            x.at[k].add(row, mode="clip"),
            lax.dynamic_update_slice_in_dim(x, row[None], k, 0),
        )

    x, row = numbers(8, 4), numbers(4, seed=1)
    wanted = update(cnp.asarray(x), row, cnp.int32(k))
    found = cv.jit(update)(put(x, "x", on="4"), row, cnp.int32(k))
    for one, other in zip(found, wanted, strict=True):
        assert one.tolist() == other.tolist()
