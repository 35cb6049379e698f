"""pmap is vmap, with one lane of the batch on each device."""

import os
import subprocess
import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.sharding import NamedSharding

X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)


def same(x, y, **how):
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6, **how)


def test_results_are_on_the_devices():
    out = cv.pmap(lambda x: cnp.sin(x) * 2)(X)
    same(out, np.sin(X) * 2)
    shards = out.addressable_shards
    assert [s.device for s in shards] == cv.local_devices()[:4]
    for k, shard in enumerate(shards):
        same(shard.data, np.sin(X[k : k + 1]) * 2)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_the_mapped_axis_chooses_how_many_devices(n):
    out = cv.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(
        np.ones((n, 2), np.float32)
    )
    assert out.tolist() == [[1 / n] * 2] * n
    assert len(out.sharding.device_set) == n


COLLECTIVES = {
    "psum": lambda x: lax.psum(x, "i"),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(x, "i"),
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "axis_index": lambda x: lax.axis_index("i"),
    "axis_size": lambda x: lax.psum(1, "i"),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 1), (2, 3)]),
    "a tree": lambda x: {"a": lax.psum(x, "i"), "b": (x, 2.0)},
    "nothing": lambda x: None,
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_named_axes(name):
    f = COLLECTIVES[name]
    found, wanted = cv.pmap(f, "i")(X), cv.vmap(f, axis_name="i")(X)
    assert cv.tree.structure(found) == cv.tree.structure(wanted)
    for a, b in zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True):
        same(a, b)


AXES = {
    "all": (0, 0),
    "shared": ((0, None), 0),
    "from the end": ((-2, None), -1),
    "a list": ([0, None], 0),
    "the second": ((1, None), 1),
    "into another": ((0, None), 1),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_of_arguments_and_results(name):
    in_axes, out_axes = AXES[name]
    z = np.random.default_rng(2).normal(size=(4, 4, 4)).astype(np.float32)
    f = lambda x, w: x @ w + 1  # noqa: E731
    found = cv.pmap(f, in_axes=in_axes, out_axes=out_axes)(z, z)
    same(found, cv.vmap(f, in_axes=in_axes, out_axes=out_axes)(z, z))
    axis = out_axes % found.ndim
    assert found.addressable_shards[1].index[axis] == slice(1, 2, None)


def test_trees_and_prefixes():
    def f(batch, params, *, scale):
        y = batch["x"] @ params["w"] * scale
        return {"y": y, "mean": lax.pmean(y, "i")}, batch["t"]

    mapped = cv.pmap(
        f,
        axis_name="i",
        in_axes=({"x": 0, "t": None}, None),
        out_axes=({"y": 0, "mean": None}, None),
    )
    scale = np.arange(1, 5, dtype=np.float32)
    out, t = mapped({"x": X, "t": 7}, {"w": W}, scale=scale)
    wanted = X @ W * scale[:, None]
    same(out["y"], wanted)
    same(out["mean"], wanted.mean(0))
    assert int(t) == 7


def test_out_axes_none_gives_the_value_of_the_first():
    out, flag = cv.pmap(lambda x: (x, x > 0), out_axes=None)(X)
    np.testing.assert_array_equal(out, X[0])
    np.testing.assert_array_equal(flag, X[0] > 0)


def test_nothing_mapped_but_the_size_given():
    f = cv.pmap(lambda x: x + lax.axis_index("i"), "i", in_axes=None, axis_size=3)
    assert f(1).tolist() == [1, 2, 3]


def test_static_arguments():
    seen = []

    def f(x, kind, y):
        seen.append(kind)
        return x * y if kind == "times" else x + y

    mapped = cv.pmap(f, in_axes=(0, None, 0), static_broadcasted_argnums=1)
    same(mapped(X, "times", X), X * X)
    same(mapped(X, "plus", X), X + X)
    same(mapped(X, "plus", X), X + X)
    assert seen == ["times", "plus"]
    prefix = cv.pmap(f, static_broadcasted_argnums=(1,))
    same(prefix(X, "times", X), X * X)


def test_donated_arguments_are_gone():
    x = cv.pmap(lambda x: x * 1)(X)
    step = cv.pmap(lambda x: x + 1, donate_argnums=0)
    for _ in range(2):  # once slowly, and once quickly
        y = step(x)
        assert x.is_deleted()
        x = y
    same(x, X + 2)


def test_chosen_devices():
    chosen = [cv.devices()[k] for k in (5, 2, 7, 0)]
    out = cv.pmap(lambda x: x + 1, devices=chosen)(X)
    same(out, X + 1)
    by_device = {s.device: s.index[0].start for s in out.addressable_shards}
    assert [by_device[d] for d in chosen] == [0, 1, 2, 3]
    out = cv.pmap(lambda x: x + 1, backend="cpu")(X)
    same(out, X + 1)


def test_arguments_are_taken_from_where_they_are():
    f = cv.pmap(lambda x, w: x @ w, "i", in_axes=(0, None))
    on_one = cv.device_put(X, cv.devices()[3])
    mesh = cv.make_mesh((4,), ("other",))
    sharded = cv.device_put(X, NamedSharding(mesh, cv.P("other")))
    for _ in range(2):
        for x in (X, cnp.asarray(X), on_one, sharded):
            same(f(x, W), X @ W)
    # What one function gives goes into the next as it is.
    first = cv.pmap(lambda x: x + 1, "a")(X)
    same(cv.pmap(lambda x: x * 2, "b")(first), (X + 1) * 2)


def test_it_is_traced_once():
    traced = []

    def f(x):
        traced.append(x)
        return x + 1

    mapped = cv.pmap(f)
    for _ in range(3):
        mapped(X)
    same(mapped(X[:2]), X[:2] + 1)
    assert len(traced) == 2


def test_what_is_called_and_what_is_lowered():
    f = cv.pmap(cnp.sin, "i")
    assert "all_reduce" in cv.pmap(lambda x: lax.psum(x, "i"), "i").lower(X).as_text()
    same(f.lower(X).compile()(X), np.sin(X))
    assert f.eval_shape(X).shape == (4, 3)
    with cv.disable_jit():
        same(f(X), np.sin(X))


# -- with other transformations --------------------------------------------------------


def loss(w, x):
    return cnp.mean(cnp.sin(x @ w) ** 2)


def mean_loss(mapping, **how):
    mapped = mapping(loss, in_axes=(None, 0), **how)
    return lambda w, x: cnp.mean(mapped(w, x))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_it(order):
    found, wanted = mean_loss(cv.pmap), mean_loss(cv.vmap)
    for _ in range(order):
        found, wanted = (
            cv.grad(lambda w, x, f=f: cnp.sum(f(w, x) * (1 + w.sum())))
            for f in (found, wanted)
        )
    same(found(W, X), wanted(W, X))
    same(cv.jit(found)(W, X), wanted(W, X))


def test_forward_derivatives_of_it():
    found, wanted = mean_loss(cv.pmap), mean_loss(cv.vmap)
    for f in (cv.jvp, lambda f, p, t: cv.linearize(f, *p)[1](*t)):
        for a, b in zip(
            cv.tree.leaves(f(found, (W, X), (W, X))),
            cv.tree.leaves(f(wanted, (W, X), (W, X))),
            strict=True,
        ):
            same(a, b)
    same(cv.hessian(found)(W, X), cv.hessian(wanted)(W, X))


def test_of_a_derivative():
    found = cv.pmap(cv.value_and_grad(loss), in_axes=(None, 0))(W, X)
    wanted = cv.vmap(cv.value_and_grad(loss), in_axes=(None, 0))(W, X)
    same(found[0], wanted[0])
    same(found[1], wanted[1])

    def closed(x):
        total = lambda w: lax.psum(loss(w, x), "i") * lax.pmax(w.max(), "i")  # noqa: E731
        return cv.grad(total)(W)

    same(cv.pmap(closed, "i")(X), cv.vmap(closed, axis_name="i")(X))

    def step(w, x):
        return w - lax.pmean(cv.grad(loss)(w, x), "i")

    found = cv.pmap(step, "i", in_axes=(None, 0), out_axes=None)(W, X)
    same(found, W - cv.grad(loss)(W, X))


def test_a_gradient_through_communication():
    def f(mapping):
        mapped = mapping(lambda x: cnp.sin(x) * lax.psum(x, "i"), axis_name="i")
        return cv.grad(lambda x: cnp.sum(mapped(x) ** 2))

    same(f(cv.pmap)(X), f(cv.vmap)(X))


def test_the_gradient_of_the_value_of_one_device():
    f = cv.pmap(lambda x: x**2, out_axes=None)
    slope = cv.grad(lambda x: cnp.sum(f(x)))(X)
    same(slope, np.concatenate([2 * X[:1], 0 * X[1:]]))


def test_of_vmap_and_vmap_of_it():
    z = np.stack([X, -X, X / 2, 3 * X, X], 1)  # 4, 5, 3
    f = lambda x: cnp.sin(x) / lax.psum(cnp.cos(x), "i")  # noqa: E731
    wanted = cv.vmap(cv.vmap(f, in_axes=0), axis_name="i")(z)
    same(cv.pmap(cv.vmap(f), "i")(z), wanted)
    outer = cv.vmap(cv.pmap(f, "i"), in_axes=1, out_axes=1)
    same(outer(z), wanted)
    same(cv.jit(outer)(z), wanted)
    both = lambda x: lax.psum(x, ("i", "j"))  # noqa: E731
    same(cv.vmap(cv.pmap(both, "i"), 1, axis_name="j")(z)[0, 0], z.sum((0, 1)))


def test_in_jit_scan_cond_and_checkpoint():
    f = cv.pmap(lambda x: x * lax.pmean(x, "i"), "i")
    wanted = cv.vmap(lambda x: x * lax.pmean(x, "i"), axis_name="i")
    programs = [
        lambda f, x: f(x) + f(2 * x),
        lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, 3)[0],
        lambda f, x: lax.cond(x.sum() > -100, f, lambda x: x, x),
        lambda f, x: cv.checkpoint(f)(x),
    ]
    for program in programs:
        same(cv.jit(lambda x, p=program: p(f, x))(X), program(wanted, X))
        slope = lambda g, p=program: cv.grad(lambda x: cnp.sum(p(g, x)))(X)  # noqa: E731
        same(slope(f), slope(wanted))


@pytest.mark.parametrize("outer", ["pmap", "shard_map", "unchecked"])
def test_inside_another_each_device_runs_the_whole_batch(outer):
    z = np.random.default_rng(3).normal(size=(4, 16, 3)).astype(np.float32)
    mesh = cv.make_mesh((4,), ("o",))

    def f(x):
        inner = cv.pmap(lambda y: y / lax.psum(y**2, ("i", "o")), "i")
        return cnp.sin(inner(x)) + cv.pmap(lambda y: y, out_axes=None)(x)

    def over(g):
        if outer == "pmap":
            return cv.pmap(g, "o")
        return cv.shard_map(
            lambda x: g(x[0])[None],
            mesh=mesh,
            in_specs=cv.P("o"),
            out_specs=cv.P("o"),
            check_vma=outer != "unchecked",
        )

    wanted = cv.vmap(f, axis_name="o")  # on 16 devices, of which there are 8
    with pytest.raises(errors.ShardingError, match="but there are 8 devices"):
        wanted(z)

    def batched(x):
        inner = cv.vmap(lambda y: y / lax.psum(y**2, ("i", "o")), axis_name="i")
        return cnp.sin(inner(x)) + x[0]

    wanted = cv.vmap(batched, axis_name="o")
    same(over(f)(z), wanted(z))
    slope = lambda g: cv.grad(lambda z: cnp.sum(g(z)))(z)  # noqa: E731
    if outer != "unchecked":
        np.testing.assert_allclose(slope(over(f)), slope(wanted), rtol=1e-3, atol=1e-3)


def test_random_keys_and_empty_arrays():
    keys = cv.random.split(cv.random.key(0), 4)
    draw = lambda key: cv.random.normal(key, (2,))  # noqa: E731
    same(cv.pmap(draw)(keys), cv.vmap(draw)(keys))
    assert cv.pmap(lambda x: x)(np.ones((4, 0), np.float32)).shape == (4, 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64", "bfloat16"])
def test_dtypes(dtype):
    z = cnp.asarray(X > 0).astype(dtype)
    out = cv.pmap(lambda x: x)(z)
    assert out.dtype == z.dtype
    np.testing.assert_array_equal(out, z)


# -- words -----------------------------------------------------------------------------


def words(f, *args, error=errors.ShardingError, **kwargs):
    with pytest.raises(error) as caught:
        f(*args, **kwargs)
    return str(caught.value)


def double(x, y=0):
    return 2 * x


WHERE = (
    rf"pmap of double ({os.path.basename(__file__)}:{double.__code__.co_firstlineno})"
)


def test_more_entries_than_devices():
    assert words(cv.pmap(double), np.ones(9)) == (
        f"{WHERE}: the mapped axis has size 9, an entry for a device, but there are 8 "
        "devices. The CPU appears as several devices with COVECTOR_NUM_CPU_DEVICES=8 "
        "in the environment, or config.update('num_cpu_devices', 8) before the first "
        "array is made. For a batch of any size on one device use vmap; for several "
        "entries on each, shard_map."
    )
    chosen = cv.pmap(double, devices=cv.devices()[:2])
    assert words(chosen, np.ones(4)) == (
        f"{WHERE}: the mapped axis has size 4, but devices= has 2. Each takes one "
        "entry."
    )


def test_sizes_that_differ():
    assert words(cv.pmap(double), X, y=X[:2], error=errors.AxisError) == (
        "pmap got inconsistent sizes for array axes to be mapped: keyword argument y "
        "is f32[2,3], mapped over axis 0 of size 2, where the others have 4. The "
        f"function is {WHERE.removeprefix('pmap of ')}."
    )
    assert "axis_size is 3" in words(
        cv.pmap(double, axis_size=3), X, error=errors.AxisError
    )


def test_axes_that_are_not_there():
    assert "argument 0 is f32[], which has no axis 0 to map over" in words(
        cv.pmap(double), 1.0, error=errors.AxisError
    )
    assert "in_axes must have one entry per positional argument" in words(
        cv.pmap(double, in_axes=(0, 0)), X, error=errors.AxisError
    )
    assert "pmap in_axes must be a prefix" in words(
        cv.pmap(double, in_axes=({"a": 0},)), (X,), error=errors.TreeMismatch
    )
    assert "pmap out_axes must be a prefix" in words(
        cv.pmap(double, out_axes=(0, 0)), X, error=errors.TreeMismatch
    )
    out = words(cv.pmap(double, out_axes=3), X, error=errors.AxisError)
    assert out.startswith(f"{WHERE}: out_axes is 3 for the result, which is f32[4,3]")
    assert words(cv.pmap, double, in_axes={"x": 0}, error=errors.TypeMismatch) == (
        f"{WHERE}: in_axes must be an int, None, or a tuple with an entry per "
        "positional argument, but got {'x': 0}."
    )


def test_an_axis_that_nothing_names():
    f = cv.pmap(lambda x: lax.psum(x, "j"), "i")
    assert "psum over the axis 'j', but the named axes here are 'i'" in words(
        f, X, error=errors.AxisError
    )


def test_older_arguments():
    assert "global_arg_shapes is not there" in words(
        cv.pmap, double, global_arg_shapes=((4,),), error=errors.ArgumentError
    )
    static = cv.pmap(double, static_broadcasted_argnums=1)
    assert "the static argument y must be hashable" in words(
        static, X, [1], error=errors.StaticArgumentError
    )


def test_on_one_device():
    program = (
        "import numpy as np, covector as cv; from covector import lax;"
        "f = cv.pmap(lambda x: x + lax.psum(x, 'i'), 'i');"
        "print(f(np.ones((1, 2), np.float32)).tolist(), cv.local_device_count());"
        "print(cv.grad(lambda x: f(x).sum())(np.ones((1, 2), np.float32)).tolist())"
    )
    environment = {**os.environ, "COVECTOR_NUM_CPU_DEVICES": "1"}
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split("\n")[:2] == ["[[2.0, 2.0]] 1", "[[2.0, 2.0]]"]


def test_what_was_lowered_for_an_array_on_one_device_runs_on_all():
    double, last = cv.pmap(lambda x: x * 2), cv.devices()[-1]
    x = np.arange(4.0, dtype=np.float32)
    compiled = double.lower(cv.device_put(x, last)).compile()
    for y in (x, cv.device_put(x, last), double(x) / 2):
        assert compiled(y).tolist() == (2 * x).tolist()
        assert compiled(y).sharding.num_devices == 4
