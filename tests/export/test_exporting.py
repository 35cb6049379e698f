"""Functions that were exported do the same, here and in other processes."""

import json
import subprocess
import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, export, lax
from covector.errors import ArgumentError, ExportError

X = np.linspace(-1, 1, 3, dtype=np.float32)
W = cnp.arange(3.0) + 1


def model(x, p, *, power=2):
    h = cnp.tanh(x * p["w"]) + W
    return {"loss": (h**power).sum(), "h": h, "step": p["step"] + 1}


P = {"w": cnp.ones(3), "step": cnp.int32(3)}


@pytest.fixture(scope="module")
def exported():
    return export.export(cv.jit(model, static_argnames="power"))(X, P, power=2)


@pytest.fixture(scope="module")
def stored(exported):
    return export.deserialize(exported.serialize(vjp_order=2))


def assert_same(a, b):
    for x, y in zip(cv.tree.leaves(a), cv.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6)


# -- the same function -----------------------------------------------------------------


def test_it_says_what_it_takes_and_gives(exported, stored):
    for made in (exported, stored):
        assert made.fun_name == "model"
        assert made.in_tree == cv.tree.structure(((X, P), {}))
        assert [str(t) for t in made.in_avals] == ["f32[3]", "i32[]", "f32[3]"]
        assert [str(t) for t in made.out_avals] == ["f32[3]", "f32[]", "i32[]"]
        assert made.platforms == (export.default_export_platform(),)
        assert made.nr_devices == 1
        assert made.has_vjp()
        assert "stablehlo.tanh" in made.mlir_module()
        assert made.mlir_module_serialized[:4] == exported.mlir_module_serialized[:4]
    assert repr(exported).startswith("<Exported model: (f32[3], i32[], f32[3]) → ")


def test_calls_give_the_values_of_the_function(exported, stored):
    for made in (exported, stored):
        assert_same(made.call(X, P), model(X, P))
        assert_same(cv.jit(made.call)(X, P), model(X, P))
        outer = cv.jit(lambda x, f=made.call: f(x + 1, P)["h"] * f(x, P)["h"])
        assert_same(outer(X), model(X + 1, P)["h"] * model(X, P)["h"])


def test_another_process_calls_it(exported, tmp_path):
    (tmp_path / "model").write_bytes(exported.serialize(vjp_order=1))
    code = f"""
import json, numpy as np, covector as cv
model = cv.export.deserialize(open({str(tmp_path / "model")!r}, "rb").read())
x, p = np.linspace(-1, 1, 3, dtype="float32"), {{"w": np.ones(3, "float32"), "step": 3}}
loss = lambda x: model.call(x, p)["loss"]
print(json.dumps([float(loss(x)), cv.grad(loss)(x).tolist()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    value, slope = json.loads(done.stdout)
    assert value == pytest.approx(float(model(X, P)["loss"]))
    wanted = cv.grad(lambda x: model(x, P)["loss"])(X)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_derivatives_are_kept_as_often_as_was_asked(exported, stored):
    def loss(made):
        return lambda x: made(x, P)["loss"]

    wanted = cv.jit(cv.grad(loss(model)))(X)
    assert_same(cv.jit(cv.grad(loss(stored.call)))(X), wanted)
    assert_same(cv.grad(loss(exported.call))(X), wanted)
    second = cv.jacrev(cv.grad(loss(stored.call)))(X)
    np.testing.assert_allclose(second, cv.hessian(loss(model))(X), rtol=1e-5)
    third = stored.vjp().vjp()
    assert not third.has_vjp()
    with pytest.raises(ExportError, match=r"has no derivative.*vjp_order=1"):
        third.vjp()
    none = export.deserialize(exported.serialize())
    with pytest.raises(errors.NotDifferentiable, match=r"exported model .*vjp_order=1"):
        cv.grad(loss(none.call))(X)


def test_a_batch_is_computed_lane_by_lane(stored):
    xs = cnp.stack([cnp.asarray(X), 2 * X])
    batched = cv.vmap(lambda x: stored.call(x, P)["h"])
    assert_same(cv.jit(batched)(xs), cv.vmap(lambda x: model(x, P)["h"])(xs))
    slopes = cv.vmap(cv.grad(lambda x: stored.call(x, P)["loss"]))(xs)
    assert_same(slopes, cv.vmap(cv.grad(lambda x: model(x, P)["loss"]))(xs))


def test_loops_branches_and_kernels_survive():
    def f(x, n):
        x = lax.fori_loop(0, n, lambda _, x: cnp.sin(x) + x.T, x)
        x = lax.cond(n > 2, lambda: cnp.linalg.inv(x + 5 * cnp.eye(2)), lambda: x)
        return x, cv.jit(lambda y: cnp.sort(y, 0))(x), cnp.float16(1) * n

    x = cnp.array([[1.0, 2.0], [-1.0, 0.5]])
    made = export.deserialize(export.export(cv.jit(f))(x, 4).serialize())
    assert_same(made.call(x, 4), f(x, 4))
    assert_same(made.call(x, 1), f(x, 1))


def test_keys_and_small_dtypes_are_arguments_too():
    def f(key, x):
        return cv.random.normal(key, (2,)), x + 1, x > 0

    key, x = cv.random.key(3), cnp.ones(2, "bfloat16")
    made = export.deserialize(export.export(cv.jit(f))(key, x).serialize())
    assert_same(made.call(key, x), f(key, x))


def test_an_exported_function_can_be_exported_in_another(exported):
    outer = export.export(cv.jit(lambda x: exported.call(x, P)["h"] + 1))(X)
    again = export.deserialize(outer.serialize(vjp_order=1))
    assert_same(again.call(X), model(X, P)["h"] + 1)
    assert_same(
        cv.grad(lambda x: again.call(x).sum())(X),
        cv.grad(lambda x: model(x, P)["h"].sum())(X),
    )


# -- platforms and devices -------------------------------------------------------------


def test_a_program_is_exported_for_platforms_that_are_not_here():
    f = cv.jit(lambda x: cnp.sin(x) * 2)
    made = export.export(f, platforms=["cpu", "cuda", "tpu"])(X)
    assert made.platforms == ("cpu", "cuda", "tpu")
    assert made.mlir_module("tpu") == made.mlir_module("cpu")
    alone = export.export(f, platforms=["cpu"])(X)
    assert len(made.serialize()) < 1.5 * len(alone.serialize())
    assert_same(export.deserialize(made.serialize()).call(X), f(X))


def test_a_program_for_another_platform_is_not_called_here():
    f = cv.jit(lambda x: x * 2)
    elsewhere = export.export(f, platforms=["tpu"])(X)
    with pytest.raises(ExportError, match=r"exported for tpu, but is called on .*plat"):
        elsewhere.call(X)
    check = export.DisabledSafetyCheck.platform()
    anywhere = export.export(f, platforms=["tpu"], disabled_checks=[check])(X)
    assert_same(export.deserialize(anywhere.serialize()).call(X), f(X))


def test_a_program_over_a_mesh_runs_over_others_with_its_axes():
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    sharding = cv.NamedSharding(cv.make_mesh((2,), ("x",)), cv.P("x"))
    x = cv.device_put(np.arange(4.0, dtype=np.float32), sharding)
    made = export.export(cv.jit(lambda x: (cnp.cumsum(x), x * 2)))(x)
    assert made.nr_devices == 2
    stored = export.deserialize(made.serialize(vjp_order=1))
    backwards = cv.sharding.Mesh(np.array(cv.devices()[:2])[::-1], ("x",))
    (there,) = stored.in_shardings_jax(backwards)
    assert there == cv.NamedSharding(backwards, cv.P("x"))
    y = cv.device_put(x, there)
    total, doubled = stored.call(y)
    assert total.tolist() == [0, 1, 3, 6]
    assert doubled.tolist() == [0, 2, 4, 6]
    slope = cv.grad(lambda x: stored.call(x)[0].sum())(y)
    assert slope.tolist() == [4, 3, 2, 1]
    with pytest.raises(errors.ShardingError):
        stored.call(np.ones(4, np.float32))
    other = cv.device_put(x, cv.NamedSharding(cv.make_mesh((2,), ("y",)), cv.P("y")))
    with pytest.raises(errors.ShardingError, match=r"runs on .*'x'.* called on .*'y'"):
        cv.jit(stored.call)(other)


# -- refusals --------------------------------------------------------------------------


def test_other_arguments_are_refused(exported):
    with pytest.raises(errors.TreeMismatch, match="the exported model takes other"):
        exported.call(X)
    with pytest.raises(errors.TypeMismatch, match=r"f32\[3\] as argument 0, but got f"):
        exported.call(X[:2], P)
    with pytest.raises(errors.TypeMismatch, match=r"argument 1\['step'\], but got f32"):
        exported.call(X, P | {"step": 1.5})


def test_what_is_no_jitted_function_or_platform():
    with pytest.raises(ArgumentError, match=r"needs a jitted function.*covector\.jit"):
        export.export(model)
    jitted = cv.jit(model)
    for platforms in ("cpu", ["abacus"]):
        with pytest.raises(ArgumentError, match=r"takes platforms as a sequence"):
            export.export(jitted, platforms=platforms)


def test_what_calls_python_is_not_exported():
    def f(x):
        return cv.pure_callback(np.sin, x, x)

    with pytest.raises(ExportError, match=r"export of f: it calls Python functions"):
        export.export(cv.jit(f))(X)


def test_a_foreign_function_is_exported_only_if_somebody_promises_it():
    def f(x):
        shape = cv.ShapeDtypeStruct(x.shape, x.dtype)
        return cv.ffi.ffi_call("my_kernel", shape)(x)

    with pytest.raises(ExportError, match=r"export of f calls .*'my_kernel'.*custom_c"):
        export.export(cv.jit(f))(X)
    check = export.DisabledSafetyCheck.custom_call("my_kernel")
    assert check.is_custom_call() == "my_kernel"
    made = export.export(cv.jit(f), disabled_checks=[check])(X)
    kept = export.deserialize(made.serialize()).disabled_safety_checks
    assert kept == (check,) != (export.DisabledSafetyCheck.platform(),)
    assert repr(check) == "DisabledSafetyCheck.custom_call('my_kernel')"


def test_a_value_of_a_transformation_around_is_not_exported():
    def f(x):
        return export.export(cv.jit(lambda y: x * y))(X).call(X).sum()

    with pytest.raises(ExportError, match="closes over values of a transformation"):
        cv.grad(f)(1.0)


def test_bytes_that_are_none_or_damaged(exported):
    blob = exported.serialize()
    with pytest.raises(ExportError, match="begin with b'nothing"):
        export.deserialize(b"nothing of the kind")
    blob[-5] ^= 1
    with pytest.raises(ExportError, match="damaged or incomplete"):
        export.deserialize(blob)
    with pytest.raises(ExportError, match="damaged or incomplete"):
        export.deserialize(exported.serialize()[:-1])


def test_a_later_convention_of_calls_is_refused(exported):
    later = exported.serialize().replace(b'version": 1', b'version": 9')
    start = later.index(b"\n") + 1
    rest = later[start + 32 :]
    from covector.export.serialization import DIGEST  # noqa: PLC0415

    later[start : start + 32] = DIGEST(rest).digest()
    with pytest.raises(ExportError, match=r"by the convention 9, but .* knows 1 to 1"):
        export.deserialize(later)
    assert export.minimum_supported_calling_convention_version == 1
    assert export.maximum_supported_calling_convention_version == 1
