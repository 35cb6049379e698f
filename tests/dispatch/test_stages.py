"""The stages of a jitted function: traced, lowered, compiled."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors

# The factor is donated to see that it is said, though no result is of its size.
pytestmark = pytest.mark.filterwarnings("ignore::covector.errors.DonationWarning")

X = np.arange(4, dtype=np.float32)
SHAPE = cv.ShapeDtypeStruct((4,), "float32")


@functools.partial(cv.jit, donate_argnames="k")
def scaled(p, *, k):
    return {"out": p["a"] * k, "none": None}


@pytest.fixture
def traced():
    return scaled.trace({"a": SHAPE}, k=cv.ShapeDtypeStruct((), "float32"))


def test_every_stage_knows_arguments_and_results(traced):
    compiled = traced.lower().compile()
    for stage in (traced, traced.lower(), compiled):
        known = compiled.output_shardings["out"] if stage is compiled else None
        out = SHAPE.update(sharding=known)
        assert stage.out_info == {"out": out, "none": None}
        (args, kwargs) = stage.args_info
        assert (args[0]["a"].shape, args[0]["a"].dtype) == ((4,), np.float32)
        assert (args[0]["a"].donated, kwargs["k"].donated) == (False, True)
        assert stage.in_tree.num_leaves == 2
        assert stage.out_tree.num_leaves == 1


def test_the_traced_stage_holds_the_program(traced):
    assert [e.op.name for e in traced.jaxpr.eqns] == ["mul"]
    assert traced.fun_name == "scaled"


def test_the_lowered_stage_prints_both_dialects(traced):
    lowered = traced.lower()
    assert "stablehlo.multiply" in lowered.as_text()
    assert "stablehlo.multiply" in lowered.as_text("stablehlo")
    assert lowered.as_text("hlo").startswith("HloModule")
    assert "ENTRY" in lowered.compiler_ir("hlo").as_hlo_text()
    assert "test_stages.py" in lowered.as_text(debug_info=True)
    assert "test_stages.py" not in lowered.as_text()
    assert "stablehlo.multiply" in str(lowered.compiler_ir())
    assert lowered.donate_argnums == (1,)
    with pytest.raises(errors.TypeMismatch, match="'stablehlo' and 'hlo', but got 'x'"):
        lowered.as_text("x")
    with pytest.raises(errors.TypeMismatch, match=r"compiler_ir knows .* but got 'x'"):
        lowered.compiler_ir("x")


def test_the_compiled_stage_runs_and_can_be_analysed(traced):
    compiled = traced.lower().compile()
    out = compiled({"a": X}, k=np.float32(3))
    assert out["out"].tolist() == (3 * X).tolist()
    assert out["none"] is None
    assert compiled.as_text().startswith("HloModule")
    assert compiled.cost_analysis()["flops"] == 4.0
    assert traced.lower().cost_analysis()["flops"] == 4.0
    assert compiled.memory_analysis().argument_size_in_bytes == 20
    assert compiled.memory_analysis().output_size_in_bytes >= 16
    assert compiled.runtime_executable() is not None


def test_a_compiled_function_deletes_what_it_was_donated_and_put_elsewhere_first():
    device = cv.sharding.SingleDeviceSharding(cv.devices()[0])
    f = cv.jit(lambda x: x + 1, donate_argnums=0, in_shardings=device)
    for call in (f, f.lower(SHAPE).compile()):
        x = cnp.ones(SHAPE.shape, SHAPE.dtype)
        call(x)
        assert x.is_deleted()


def test_a_compiled_function_deletes_what_it_was_donated():
    compiled = cv.jit(lambda x: x + 1, donate_argnums=0).lower(SHAPE).compile()
    x = cnp.asarray(X)
    assert compiled(x).tolist() == (X + 1).tolist()
    assert x.is_deleted()
    with pytest.raises(errors.DeletedArrayError, match="donate"):
        compiled(x)


def test_static_arguments_are_left_out_of_the_compiled_call():
    f = cv.jit(lambda x, n: x * n, static_argnums=1)
    assert f.lower(SHAPE, 3).compile()(X).tolist() == (3 * X).tolist()
    with pytest.raises(errors.TreeMismatch, match="Static arguments are left out"):
        f.lower(SHAPE, 3).compile()(X, 3)


def test_options_of_the_compiler():
    lowered = cv.jit(lambda x: x + 1).lower(SHAPE)
    compiled = lowered.compile({"xla_llvm_disable_expensive_passes": True})
    assert compiled(X).tolist() == (X + 1).tolist()
    with pytest.raises(errors.DeviceError, match="No such compile option: 'xla_none'"):
        lowered.compile({"xla_none": 1})


def test_options_given_to_jit_hold_for_its_stages():
    odd = cv.jit(lambda x: x + 1, compiler_options={"xla_none": 1})
    with pytest.raises(errors.DeviceError, match="xla_none"):
        odd.lower(SHAPE).compile()
    with pytest.raises(errors.DeviceError, match="xla_none"):
        odd(X)
    f = cv.jit(lambda x, y: x, keep_unused=True)
    assert "%arg1" in f.lower(SHAPE, SHAPE).as_text()
    assert "%arg1" not in cv.jit(lambda x, y: x).lower(SHAPE, SHAPE).as_text()
    assert f.lower(SHAPE, SHAPE).compile()(X, X).tolist() == X.tolist()


def test_captured_arrays_are_passed_along():
    large = cnp.arange(2000.0)
    compiled = cv.jit(lambda x: x + large).lower(1.0).compile()
    assert compiled(2.0).tolist() == (np.arange(2000.0) + 2).tolist()


def test_a_compiled_function_inside_a_program():
    compiled = cv.jit(lambda x: x * x).lower(1.0).compile()
    assert float(cv.jit(lambda x: compiled(x) + 1)(3.0)) == 10.0
    assert float(cv.grad(compiled)(3.0)) == 6.0


def test_arguments_are_converted_but_not_to_other_dtypes():
    compiled = cv.jit(lambda x: x * 2).lower(SHAPE).compile()
    assert compiled(X.astype(np.float64)).tolist() == (2 * X).tolist()
    with pytest.raises(errors.TypeMismatch, match=r"f32\[4\] as argument 0.*i32\[4\]"):
        compiled(X.astype(np.int32))


def test_the_public_module_of_stages():
    assert isinstance(cv.jit(lambda x: x).trace(1.0), cv.stages.Traced)
    assert isinstance(cv.jit(lambda x: x).lower(1.0), cv.stages.Lowered)
    assert isinstance(cv.jit(lambda x: x).lower(1.0).compile(), cv.stages.Compiled)


# -- types in, shardings out -----------------------------------------------------------


def test_a_function_is_lowered_for_types():
    x, last = cnp.ones((2, 3)), cv.devices()[-1]
    double = cv.jit(lambda x, *, y: 2 * x + y)
    lowered = double.lower(cv.typeof(x), y=x.aval)
    assert lowered.in_avals == ((x.type,), {"y": x.type})
    compiled = lowered.compile()
    assert compiled.in_avals == lowered.in_avals
    assert compiled(x, y=x).tolist() == (3 * x).tolist()
    weak = cv.typeof(cnp.asarray(1.0))
    assert weak.weak_type and double.lower(weak, y=weak).in_avals[0][0] is weak
    with pytest.raises(errors.StaticArgumentError, match="eval_shape"):
        double(cv.typeof(x), y=x)
    put = cv.device_put(x, last)
    info = double.lower(put, y=put).compile().out_info
    assert info.sharding == put.sharding and info.shape == (2, 3)


def test_shapes_of_results_say_the_shardings_that_were_asked_for():
    mesh = cv.make_mesh((2,), ("x",))
    rows = cv.NamedSharding(mesh, cv.P("x"))
    f = cv.jit(lambda x: (x, x + 1), out_shardings=(None, rows))
    x = cv.device_put(cnp.ones((4, 2)), rows)
    lowered = f.lower(x)
    compiled = lowered.compile()
    assert [s.sharding for s in lowered.out_info] == [None, rows]
    assert [s.sharding for s in compiled.out_info] == [rows, rows]
    assert [y.sharding for y in compiled(x)] == [rows, rows]
    assert [s.sharding for s in cv.eval_shape(f, x)] == [None, rows]
    assert cv.eval_shape(lambda x: (x, 1.0, cnp.ones(2)), x)[0].sharding is None
    like = cnp.zeros_like(cv.eval_shape(lambda x: f(x)[1], x))
    assert like.sharding is rows


def test_what_is_compiled_for_a_derivative_says_jvp_and_transposed(caplog):
    loss = cv.jit(lambda x: cnp.sin(x).sum())
    x = cnp.ones(17)
    with cv.log_compiles(), caplog.at_level("WARNING", logger="covector.compile"):
        cv.jvp(loss, (x,), (x,))
        cv.grad(loss)(x)
        cv.vmap(cv.grad(loss))(x[None])
    names = [
        line.split()[1] for line in caplog.messages if line.startswith("Compiling")
    ]
    suffixes = {name.partition(">")[2] for name in names}
    assert {"_jvp", "_jvp_transposed", "_jvp_transposed_batched"} <= suffixes
    text = cv.jit(cv.grad(loss)).lower(x).as_text()
    assert "_jvp_transposed" in text


def test_every_stage_says_what_is_donated_and_what_comes_out(traced):
    compiled = traced.lower().compile()
    assert traced.donate_argnums == compiled.donate_argnums == (1,)
    assert traced.fun_name == "scaled"
    assert [str(t) for t in traced.out_avals] == ["f32[4]"]
    out = compiled.call({"a": X}, k=np.float32(2))
    np.testing.assert_array_equal(out["out"], 2 * X)
