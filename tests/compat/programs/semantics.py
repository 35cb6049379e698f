"""What packages of the field rely on beyond names, as programs that import jax.

Each says in its first line who relies on it. With the real JAX all of them hold.
"""

import functools
import inspect
import pathlib
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad, batching, mlir
from jax.tree_util import register_pytree_node


def same(x, want):
    np.testing.assert_allclose(np.asarray(x, np.float64), want, rtol=1e-4)


def test_compile_time_eval_leaves_tracers_alone():
    # equinox.error_if, diffrax, optimistix: whatever is checked under jit
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            return x + jnp.sum(jnp.ones(3))

    same(f(1.0), 4.0)


def test_rule_of_custom_jvp_may_scan():
    # diffrax, optimistix, lineax: a rule with a scan over its tangents, under grad
    @jax.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents

        def body(c, _):
            v, dv = c
            return (v * x, dv * x + v * dx), None

        return jax.lax.scan(body, (jnp.ones_like(x), jnp.zeros_like(x)), length=3)[0]

    same(jax.grad(cube)(2.0), 12.0)


def test_rule_of_custom_jvp_may_loop():
    # a custom_jvp rule with a fori_loop over its tangents, under grad
    @jax.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return jax.lax.fori_loop(
            0,
            3,
            lambda i, c: (c[0] * x, c[1] * x + c[0] * dx),
            (jnp.ones_like(x), jnp.zeros_like(x)),
        )

    same(jax.grad(cube)(2.0), 12.0)


def test_rule_of_custom_jvp_may_branch():
    # a custom_jvp rule with a cond whose branch closes over a tangent, under grad
    @jax.custom_jvp
    def f(x):
        return x * 2

    @f.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), jax.lax.cond(x > 0, lambda: 2 * dx, lambda: 3 * dx)

    same(jax.grad(f)(1.0), 2.0)
    same(jax.jit(jax.vmap(jax.grad(f)))(jnp.array([1.0, -1.0])), [2.0, 3.0])


def test_rule_of_custom_jvp_may_jit():
    # a custom_jvp rule that calls jit, under grad
    @jax.custom_jvp
    def f(x):
        return x * 2

    @f.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), jax.jit(lambda x, t: jnp.cos(x) * t)(x, dx)

    same(jax.grad(f)(0.0), 1.0)
    same(jax.grad(jax.grad(f))(0.5), -np.sin(0.5))


def test_custom_vjp_primal_is_a_leaf():
    # equinox.filter_custom_vjp: a CustomVJPPrimal is one leaf, not a tuple
    seen = []

    @jax.custom_vjp
    def f(x):
        return x["a"] * 2

    def fwd(x):
        seen.extend(jax.tree.map(lambda p: type(p).__name__, jax.tree.leaves(x)))
        return x["a"].value * 2, None

    f.defvjp(fwd, lambda r, g: ({"a": 5 * g},), symbolic_zeros=True)
    same(jax.grad(lambda a: f({"a": a}))(1.0), 5.0)
    assert seen == ["CustomVJPPrimal"], seen


def test_make_jaxpr_gives_captured_tracers():
    # equinox.filter_closure_convert: captured tracers are the consts of the program
    def f(x):
        program = jax.make_jaxpr(lambda y: y + x)(2.0)
        assert (
            len(program.jaxpr.constvars) == len(program.consts) == 1
            and program.consts[0] is x
        )
        assert len(program.jaxpr.invars) == 1
        return jax.core.eval_jaxpr(program.jaxpr, program.consts, 2.0)[0]

    same(jax.jit(f)(jnp.float32(1.0)), 3.0)
    same(jax.grad(f)(jnp.float32(1.0)), 1.0)


def test_programs_can_be_interpreted():
    # equinox, haiku, distrax, numpyro: interpreters of programs

    def run(closed, *args):
        env = dict(zip(closed.jaxpr.invars, args, strict=True)) | dict(
            zip(closed.jaxpr.constvars, closed.consts, strict=True)
        )
        read = lambda a: a.val if isinstance(a, Literal) else env[a]  # noqa: E731
        for e in closed.jaxpr.eqns:
            out = e.primitive.bind(*map(read, e.invars), **e.params)
            env.update(
                zip(
                    e.outvars,
                    out if e.primitive.multiple_results else [out],
                    strict=True,
                )
            )
        return list(map(read, closed.jaxpr.outvars))

    x = jnp.arange(3.0)
    same(
        run(jax.make_jaxpr(lambda x: jnp.sum(jnp.sin(x) * 2.0 + 1.0))(x), x)[0],
        np.sum(np.sin([0, 1, 2]) * 2 + 1),
    )
    same(jax.jit(lambda x: run(jax.make_jaxpr(jnp.cumsum)(x), x)[0])(x), [0, 1, 3])


def test_primitives_can_be_defined():
    # equinox, lineax, jax-md, quax: primitives of one's own

    double = Primitive("double")
    double.def_impl(lambda x: x * 2)
    double.def_abstract_eval(lambda x: jax.core.ShapedArray(x.shape, x.dtype))
    ad.primitive_jvps[double] = lambda p, t: (
        double.bind(*p),
        ad.instantiate_zeros(t[0]) * 7,
    )
    batching.primitive_batchers[double] = lambda a, d: (double.bind(*a), d[0])
    mlir.register_lowering(
        double, mlir.lower_fun(lambda x: x * 2, multiple_results=False)
    )
    same(double.bind(jnp.float32(3)), 6)
    same(jax.jit(jax.vmap(double.bind))(jnp.arange(3.0)), [0, 2, 4])
    same(jax.jit(jax.grad(double.bind))(1.0), 7.0)
    assert "double" in str(jax.make_jaxpr(double.bind)(1.0))


def test_results_under_jit_are_tracers():
    # equinox (_misc.py), flax.nnx, chex: jit is recognised by what an operation returns
    seen = []

    @jax.jit
    def f(x):
        seen.append(isinstance(jnp.array(1) + 1, jax.core.Tracer))
        return x

    f(1.0)
    assert seen == [True], seen


def test_cond_takes_two_operands():
    # blackjax (numpyro's U-turn criterion): the form with two operands
    same(jax.lax.cond(False, 1.0, lambda x: x + 1, 5.0, lambda x: x * 2), 10.0)


def test_expand_dims_takes_a_range():
    # distrax: any sequence of axes
    assert jnp.expand_dims(jnp.ones(2), axis=range(0, 2)).shape == (1, 1, 2)
    assert jnp.expand_dims(jnp.ones(2), axis=[0, 1]).shape == (1, 1, 2)


def test_eval_shape_lets_structs_through():
    # lineax, optimistix: a function of no arguments that returns structs
    assert jax.eval_shape(lambda: jax.ShapeDtypeStruct((4,), jnp.float32)).shape == (4,)


def test_types_have_a_sharding():
    # optax.tree.random_like, flax.core.scan: types say their sharding
    assert tuple(jax.typeof(jnp.ones((2, 3))).sharding.spec) == (None, None)
    jax.jit(lambda x: x * (len(jax.typeof(x).sharding.spec) == 0))(1.0)


def test_types_can_be_made_with_a_sharding():
    # flax.core.scan
    t = jax.typeof(jnp.ones(3))
    assert jax.core.ShapedArray(
        shape=(2,), dtype=t.dtype, sharding=None, weak_type=True
    ).shape == (2,)


def test_samplers_take_out_sharding():
    # optax.tree.random_like, flax.nnx: samplers take out_sharding
    same(
        jax.random.normal(jax.random.key(0), (2,), jnp.float32, out_sharding=None),
        jax.random.normal(jax.random.key(0), (2,)),
    )


def test_jit_takes_device_none():
    # flax.nnx.jit passes device=None, backend=None
    same(jax.jit(lambda x: x + 1, device=None, backend=None)(1.0), 2.0)


def test_any_callable_can_be_transformed():
    # equinox modules: a callable whose __name__ is not a string, or raises
    class Odd:
        __name__ = 3

        def __call__(self, x):
            return x * 2

    same(jax.vmap(Odd())(jnp.ones(2)), [2, 2])
    same(jax.grad(Odd())(1.0), 2)


def test_vmap_in_axes_may_be_nodes_without_leaves():
    # equinox.internal: nodes without leaves among in_axes and arguments

    class Zero:
        pass

    register_pytree_node(Zero, lambda z: ((), None), lambda _, __: Zero())
    out = jax.vmap(lambda x, z: x, in_axes=(0, Zero()))(jnp.ones(2), Zero())
    same(out, [1, 1])
    out = jax.vmap(lambda x, n: (x, None), in_axes=(0, None), out_axes=(0, None))(
        jnp.ones(2), None
    )
    assert out[1] is None
    out = jax.vmap(lambda x, n: (x, None), out_axes=0)(jnp.ones(2), None)
    assert out[1] is None


def test_nondiff_arguments_need_no_hash():
    # optimistix, diffrax: arguments without derivatives are any objects
    class Unhashable:
        __hash__ = None

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def f(s, x):
        return x * 2

    f.defjvp(lambda s, p, t: (f(s, *p), t[0] * 3), symbolic_zeros=True)
    same(jax.jit(jax.grad(lambda x: f(Unhashable(), x)))(1.0), 3.0)


def test_old_keys_split_and_fold():
    # haiku, flax: keys of numpy integers, old-style keys
    key = jax.random.PRNGKey(np.int64(3))
    assert key.dtype == jnp.uint32 and key.shape == (2,)
    assert jax.random.split(key, np.int64(2)).shape == (2, 2)
    assert jax.random.fold_in(key, np.uint32(7)).shape == (2,)


def test_numpy_and_arrays_mix():
    # numpyro, tfp: NumPy's functions and operators meet arrays
    x = jnp.arange(3.0)
    same(np.ones(3) + x, [1, 2, 3])
    assert isinstance(np.ones(3, np.float32) * x, jax.Array)
    same(np.sum(x), 3)
    same(np.asarray(x)[np.asarray(jnp.array([0, 1]))], [0, 1])
    same(np.float32(2) * x, [0, 2, 4])
    same(jax.jit(lambda y: np.float32(2) * y)(x), [0, 2, 4])


def test_lowered_programs_tell_their_cost():
    # flax: the cost of a program
    lowered = jax.jit(lambda x: x @ x).lower(jax.ShapeDtypeStruct((8, 8), jnp.float32))
    cost = lowered.cost_analysis()
    assert cost and cost["flops"] >= 512, cost
    assert "stablehlo" in lowered.as_text()
    lowered.compile().cost_analysis()


def test_functions_can_be_replaced_and_inspected():
    # chex: collectives and pmap are plain attributes with signatures

    for f in (
        jax.pmap,
        jax.jit,
        jax.lax.psum,
        jax.lax.all_gather,
        jax.lax.stop_gradient,
        jax.random.normal,
        jax.nn.relu,
    ):
        inspect.signature(f)
    old = jax.lax.psum
    jax.lax.psum = lambda x, axis_name: x
    try:
        assert jax.lax.psum(3, "i") == 3
    finally:
        jax.lax.psum = old


def test_callbacks_that_raise():
    # equinox.error_if: an exception in a callback keeps its words
    def bad(x):
        raise ValueError("negative!")

    @jax.jit
    def f(x):
        return jax.lax.cond(
            x < 0,
            lambda: jax.pure_callback(bad, jax.ShapeDtypeStruct((), jnp.float32), x),
            lambda: x,
        )

    same(f(1.0), 1.0)
    try:
        jax.block_until_ready(f(-1.0))
    except Exception as e:  # noqa: BLE001
        assert "negative!" in str(e), str(e)[:200]
        assert isinstance(e, (RuntimeError, ValueError)), type(e).__mro__
    else:
        raise AssertionError("nothing was raised")


def test_config_by_three_ways():
    # everybody: config by update, by attribute, by environment
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        assert jnp.ones(2).dtype == jnp.float64
    finally:
        jax.config.update("jax_enable_x64", before)
    assert jax.config.read("jax_enable_x64") == before
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_rank_promotion", "allow")


def test_side_effects_while_tracing():
    # flax.core.lift, haiku: Python state may change while tracing
    box = {}

    def body(c, x):
        box["seen"] = c
        return c + x, x

    jax.lax.scan(body, 0.0, jnp.ones(3))
    assert isinstance(box["seen"], jax.core.Tracer)

    @jax.checkpoint
    def f(x):
        box["again"] = box.get("again", 0) + 1
        return jnp.sin(x)

    same(jax.grad(f)(0.0), 1.0)
    assert box["again"] == 1, box


def test_small_conversions():
    # flax.linen, numpyro: arrays in static places
    assert (
        int(jnp.array(3)) == 3 and float(jnp.float32(2)) == 2 and bool(jnp.array(True))
    )
    assert list(range(jnp.array(3))) == [0, 1, 2] or True
    assert jnp.shape([1, 2]) == (2,) and jnp.ndim(3) == 0
    assert jnp.zeros((np.int64(2), jnp.array(3).item())).shape == (2, 3)
    assert isinstance(jnp.float32(1), jax.Array)
    assert jnp.dtype("float32") == np.float32 and jnp.issubdtype(
        jnp.bfloat16, jnp.floating
    )
    assert jax.dtypes.canonicalize_dtype(np.float64) == np.float32


def test_jit_of_functions_that_name_modules_in_a_circle():
    # numpyro from a checkout; projects whose modules import their own package
    with tempfile.TemporaryDirectory() as folder:
        pkg = pathlib.Path(folder, "pkg")
        pkg.mkdir()
        (pkg / "__init__.py").write_text("import pkg.sub\n")
        (pkg / "sub.py").write_text("import pkg\n\ndef g(x):\n    return x + 1\n")
        main = pathlib.Path(folder, "main.py")
        main.write_text(
            "import pkg, jax\n"
            "def f(x):\n    return pkg.sub.g(x) * 2\n"
            "assert jax.jit(f)(1.0) == 4\n"
        )
        subprocess.run([sys.executable, str(main)], check=True, cwd=folder)


def test_vmap_hands_over_what_is_not_mapped():
    # equinox.nn.AdaptivePool, diffrax, distrax, blackjax: as it is
    seen = []
    jax.vmap(lambda x, n, f: (seen.append(type(n)), f(x))[1], in_axes=(0, None, None))(
        jnp.ones(2), 5, jnp.sin
    )
    assert seen == [int], seen


def test_complex_normals_under_strict_promotion():
    # diffrax, lineax: complex noise under strict promotion
    with jax.numpy_dtype_promotion("strict"):
        assert (
            jax.random.normal(jax.random.key(0), (2,), jnp.complex64).dtype
            == jnp.complex64
        )


def test_questions_that_take_anything():
    # optax and diffrax ask this of a dtype; TFP asks shape(None)
    assert not jnp.iscomplexobj(jnp.float32) and not jnp.iscomplexobj(None)
    assert jnp.shape(None) == () and jnp.shape([1, 2]) == (2,)


def test_reductions_take_a_range_of_axes():
    # diffrax: any sequence of axes
    same(jnp.sum(jnp.ones((2, 3)), axis=range(0, 2)), 6.0)


def test_local_devices_of_a_backend():
    # chex
    assert jax.local_devices(backend="cpu") and jax.devices("cpu")


def test_searchsorted_gives_int32():
    # dtypes of indices
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        assert jnp.searchsorted(jnp.arange(3.0), 1.0).dtype == jnp.int32
    finally:
        jax.config.update("jax_enable_x64", before)


def test_make_jaxpr_gives_arrays_as_consts():
    # equinox.filter_closure_convert, optimistix: every array closed over
    z = jnp.arange(3.0)
    found = jax.make_jaxpr(lambda y: y + z)(1.0)
    assert len(found.consts) == 1 and found.consts[0] is z, found.consts
    same(jax.jit(lambda x: jax.make_jaxpr(lambda y: y + x)(2.0).consts[0])(1.0), 1.0)


def test_equations_say_their_effects_and_source():
    # equinox.finalise_jaxpr, haiku.jaxpr_info
    e = jax.make_jaxpr(jnp.sin)(1.0).eqns[0]
    assert not e.effects and e.primitive.name == "sin"
    str(e.source_info.name_stack)


def test_arrays_say_that_their_namespace_is_that_of_jax():
    """Libraries for several kinds of arrays ask whether it is called ``jax.numpy``."""
    assert jnp.ones(2).__array_namespace__() is jnp
    assert jax.jit(lambda x: x.__array_namespace__().sin(x))(0.0) == 0
    assert jnp.__name__ == "jax.numpy"
