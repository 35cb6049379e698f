"""Rules of compilation."""

import functools

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector.compat import finder
from covector.compat.interpreters.tables import lowerings
from covector.compat.primitives import Primitive

mlir = finder.make("jax.interpreters.mlir")


def test_compiled_code_may_be_written_in_mlir():
    p = Primitive("plus_two")
    p.def_abstract_eval(lambda x: x)

    def lower(ctx, x):
        (aval,) = ctx.avals_in
        two = mlir.ir_constant(np.full(aval.shape, 2, aval.dtype))
        made = mlir.ir.Operation.create(
            "stablehlo.add", [mlir.aval_to_ir_type(aval)], [x, two]
        )
        return [made.result]

    mlir.register_lowering(p, lower)
    apply_primitive = finder.find("jax.interpreters.xla", "apply_primitive")
    p.def_impl(functools.partial(apply_primitive, p))
    np.testing.assert_allclose(cv.jit(p.bind)(cnp.ones(3)), 3 * np.ones(3))
    assert p.bind(1.0) == 3
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x, False), platform="tpu")
    assert cv.jit(lambda x: p.bind(x) * 2)(1.0) == 6
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x, False), platform="cuda")
    assert lowerings[p].keys() == {None, "tpu", "gpu"}


def test_compiled_code_may_call_python():
    p = Primitive("numpy_sin")
    p.def_abstract_eval(lambda x: x)

    def lower(ctx, x):
        results, _, kept = mlir.emit_python_callback(
            ctx,
            lambda x: (np.sin(np.asarray(x)),),
            None,
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=False,
            sharding=None,
        )
        ctx.module_context.add_keepalive(kept)
        return results

    mlir.register_lowering(p, lower)
    x = cnp.arange(3.0)
    np.testing.assert_allclose(cv.jit(p.bind)(x), np.sin(x), rtol=1e-6)


def test_an_operation_without_impl_is_compiled_where_it_is_run_by_itself():
    p = Primitive("cubed")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x**3, False))
    assert p.bind(2.0) == 8
    with cv.disable_jit():
        assert cv.jit(p.bind)(3.0) == 27


def test_a_function_that_is_compiled_may_name_the_axes_of_shard_map():
    p = Primitive("total")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: cv.lax.psum(x, "i"), False))
    spec = cv.P("i")
    mesh = cv.make_mesh((2,), ("i",))
    f = cv.shard_map(p.bind, mesh=mesh, in_specs=spec, out_specs=spec)
    np.testing.assert_allclose(cv.jit(f)(cnp.arange(4.0)), [2, 4, 2, 4])
