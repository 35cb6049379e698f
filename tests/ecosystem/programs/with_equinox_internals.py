"""equinox.internal, on which Diffrax is built: loops, primitives, programs as data."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jax.interpreters import ad, batching, mlir


def _raised(fun, *args) -> float:
    """Whether a call raises an error when its result is waited for."""
    try:
        jax.block_until_ready(fun(*args))
    except (ValueError, RuntimeError):
        return 1.0
    return 0.0


def _rotation(steps: int | None):
    """A loop whose values go around, with a buffer that is written in place."""

    def going(carry):
        return carry[0] < steps if steps is not None else True

    def body(model, seen):
        def step(carry):
            n, point, buffer = carry
            jax.debug.callback(lambda n: seen.append(int(n)), n)
            (angle,) = model(point)
            z = (point[0] + 1j * point[1]) * jnp.exp(1j * angle)
            point = jnp.stack([z.real, z.imag])
            return n + 1, point, buffer.at[n % 8].set(point[0])

        return step

    return going, body


def loops_of_each_kind_run_backwards() -> dict[str, object]:
    model = eqx.nn.MLP(2, 1, 3, 1, key=jax.random.key(0))
    points = jax.random.normal(jax.random.key(1), (3, 2))
    dynamic, static = eqx.partition(model, eqx.is_array)
    going, body = _rotation(7)

    def run(dynamic, point, kind, buffers=None, **options):
        step = body(eqx.combine(dynamic, static), [])
        start = (0, point, jnp.zeros(10))
        end = eqxi.while_loop(going, step, start, kind=kind, buffers=buffers, **options)
        return jnp.sum(end[1]) + jnp.sum(end[2] ** 2)

    def gradients(point, **options):
        value, grads = jax.value_and_grad(run)(dynamic, point, **options)
        return value, [jnp.sum(g**2) for g in jax.tree.leaves(grads)]

    in_place = {"buffers": lambda carry: carry[2]}
    checkpointed = {"kind": "checkpointed", "checkpoints": 3, **in_place}
    return {
        "lax": jax.jit(lambda x: run(dynamic, x, "lax"))(points[0]),
        "bounded": jax.jit(lambda x: gradients(x, kind="bounded", max_steps=8))(
            points[0]
        ),
        "checkpointed": jax.jit(lambda x: gradients(x, **checkpointed))(points[0]),
        "batched": jax.jit(jax.vmap(lambda x: gradients(x, **checkpointed)))(points),
    }


def checkpointed_loops_run_steps_in_the_order_of_their_schedule() -> dict[str, object]:
    model = eqx.nn.MLP(2, 1, 2, 1, key=jax.random.key(2))
    found = {}
    for checkpoints, steps in [(1, 3), (2, 5), (4, 9)]:
        seen = []
        going, body = _rotation(steps)

        def run(point, going=going, body=body, seen=seen, checkpoints=checkpoints):
            end = eqxi.while_loop(
                going,
                body(model, seen),
                (0, point, jnp.zeros(10)),
                kind="checkpointed",
                checkpoints=checkpoints,
            )
            return jnp.sum(end[1])

        jax.block_until_ready(jax.jit(jax.grad(run))(jnp.asarray([1.0, 2.0])))
        jax.effects_barrier()
        found[f"{checkpoints} of {steps}"] = seen
    return found


def scans_and_buffers() -> dict[str, object]:
    def run(xs, kind, checkpoints=None):
        def step(carry, x):
            return jnp.sin(carry) * x, carry + x

        carry, ys = eqxi.scan(step, 1.0, xs, kind=kind, checkpoints=checkpoints)
        return carry + jnp.sum(ys**2)

    xs = jnp.linspace(0.5, 1.5, 6)
    slopes = {
        "lax": jax.grad(lambda x: run(x, "lax"))(xs),
        "checkpointed": jax.jit(jax.grad(lambda x: run(x, "checkpointed", 2)))(xs),
        "all": jax.grad(lambda x: run(x, "checkpointed", "all"))(xs),
        "batched": jax.vmap(jax.grad(lambda x: run(x, "checkpointed", 2)))(
            jnp.stack([xs, 2 * xs])
        ),
    }
    tree = {"a": jnp.arange(3.0), "b": (jnp.ones(2), 2)}
    omega = (eqxi.ω(tree) * 2 + eqxi.ω(tree)).ω
    broadcast = eqxi.left_broadcast_to(jnp.arange(2.0), (2, 3))
    return slopes | {
        "omega": omega,
        "broadcast": broadcast,
        "next": [eqxi.nextafter(1.0) > 1.0, eqxi.prevbefore(1.0) < 1.0],
        "nan": eqxi.eval_zero(lambda x: x + 1, jax.ShapeDtypeStruct((2,), jnp.float32)),
    }


def primitives_of_functions() -> dict[str, object]:
    rules_asked = []
    apply_p = jax.extend.core.Primitive("apply")
    apply_p.multiple_results = True

    def apply(f, x):
        return eqxi.filter_primitive_bind(apply_p, f, x)

    @eqxi.filter_primitive_def
    def impl(f, x):
        return f(x)

    @eqxi.filter_primitive_def
    def types(f, x):
        to_struct = lambda a: (  # noqa: E731
            jax.ShapeDtypeStruct(a.shape, a.dtype)
            if isinstance(a, jax.core.ShapedArray)
            else a
        )
        out = eqx.filter_eval_shape(f, jax.tree.map(to_struct, x))
        return jax.tree.map(lambda s: jax.core.ShapedArray(s.shape, s.dtype), out)

    @eqxi.filter_primitive_jvp
    def jvp(primals, tangents):
        rules_asked.append(1)
        _, (_, tangent) = primals, tangents
        f, x = primals
        pushed = lambda pair: jax.jvp(f, (pair[0],), (pair[1],))[1]  # noqa: E731
        return apply(f, x), apply(pushed, (x, tangent))

    @eqxi.filter_primitive_transpose
    def transpose(inputs, cotangent):
        rules_asked.append(2)
        f, (x, unknown) = inputs
        back = jax.linear_transpose(lambda t: f((x, t)), unknown.aval)
        return None, (None, back(cotangent)[0])

    @eqxi.filter_primitive_batching
    def batch(inputs, axes):
        rules_asked.append(3)
        f, x = inputs
        out = apply(jax.vmap(f, in_axes=(axes[1],)), x)
        return out, jax.tree.map(lambda _: 0, out)

    apply_p.def_impl(impl)
    apply_p.def_abstract_eval(types)
    ad.primitive_jvps[apply_p] = jvp
    ad.primitive_transposes[apply_p] = transpose
    batching.primitive_batchers[apply_p] = batch
    mlir.register_lowering(apply_p, mlir.lower_fun(impl, multiple_results=True))

    bound = lambda x: apply(lambda y: y**3 + 1, x)  # noqa: E731
    batch_of = jnp.asarray([1.0, 2.0])
    twice_p = eqxi.create_vprim(
        "twice_and_one",
        lambda x: (2 * x + 1,),
        lambda x: (x,),
        lambda p, t: ((2 * p[0] + 1,), (2 * t[0],)),
        None,
    )
    twice = lambda x: twice_p.bind(x)[0]  # noqa: E731
    return {
        "values": [bound(2.0), jax.jit(bound)(2.0), jax.vmap(bound)(batch_of)],
        "jvp": jax.jvp(jax.jit(bound), (2.0,), (1.0,)),
        "grad": [jax.grad(bound)(3.0), jax.jit(jax.vmap(jax.grad(bound)))(batch_of)],
        "asked": sorted(set(rules_asked)),
        "vprim": [twice(1), jax.jit(jax.vmap(twice))(jnp.arange(3))],
        "nested": jax.vmap(jax.vmap(twice))(jnp.arange(4).reshape(2, 2)),
        "tangents": jax.jvp(jax.vmap(twice), (batch_of,), (batch_of,)),
    }


def programs_are_finalised() -> dict[str, object]:
    def f(pred, x):
        return jax.lax.cond(pred, eqxi.unvmap_all, eqxi.unvmap_any, x)

    def count(jaxpr):
        here = sum(
            e.primitive in (eqxi.unvmap_all_p, eqxi.unvmap_any_p) for e in jaxpr.eqns
        )
        return here + sum(map(count, jax.extend.core.subjaxprs(jaxpr)))

    single = eqxi.finalise_make_jaxpr(f)(True, True)
    plain = jax.make_jaxpr(f)(True, True)
    mapped = jax.vmap(lambda x: ~eqxi.unvmap_any(~x))
    xs = jnp.asarray([True, False])
    final = eqxi.finalise_fn(mapped)
    again = jax.make_jaxpr(eqxi.finalise_fn(final))(xs)
    once = jax.make_jaxpr(final)(xs)
    names = [[e.primitive.name for e in closed.eqns] for closed in (once, again)]

    @jax.checkpoint
    def checkpointed(pred, x):
        return jax.lax.cond(eqxi.unvmap_any(pred), lambda y: y, jnp.sin, x)

    inside = eqxi.finalise_make_jaxpr(checkpointed)(True, 1.0)
    return {
        "left": [
            count(single.jaxpr),
            count(inside.jaxpr),
            float(count(plain.jaxpr) > 0),
        ],
        "same": float(names[0] == names[1]),
        "values": [mapped(xs), final(xs)],
        "reductions": [
            jax.vmap(eqxi.unvmap_max)(jnp.asarray([3, 5])),
            jax.vmap(eqxi.unvmap_all)(xs),
        ],
    }


def errors_and_what_may_not_be_transformed() -> dict[str, object]:
    def f(x):
        return jax.nn.relu(eqx.error_if(x, x < 0, "must not be negative"))

    jitted, mapped = jax.jit(f), jax.jit(jax.vmap(f))
    good, bad = jnp.asarray([1.0, 2.0]), jnp.asarray([1.0, -1.0])
    branched = jax.jit(
        lambda x: eqx.branched_error_if(
            x, x < 0, (x < -1).astype(int), ["small", "tiny"]
        )
    )
    backward = eqxi.nondifferentiable_backward
    try:
        jax.block_until_ready(eqx.filter_jit(f)(-1.0))
    except RuntimeError as error:
        said = [
            text in f"{type(error).__name__}: {error}"
            for text in (
                "EquinoxRuntimeError: ",
                "must not be negative",
                "inside of JIT",
            )
        ]
    return {
        "said": said,
        "values": [f(1.0), jitted(2.0), mapped(good), jax.grad(jitted)(3.0)],
        "raised": [
            _raised(f, -1.0),
            _raised(jitted, -1.0),
            _raised(mapped, bad),
            _raised(jax.jit(jax.grad(f)), -1.0),
            _raised(branched, -2.0),
            _raised(jax.grad(lambda x: backward(x) * 2), 1.0),
            _raised(jax.grad(lambda x: eqxi.nondifferentiable(x) * 2), 1.0),
            _raised(jax.vmap(eqxi.nonbatchable), good),
        ],
        "forward": jax.jvp(lambda x: backward(x) * 2, (1.0,), (1.0,)),
    }


class Colour(eqx.Enumeration):
    red = "the first"
    green = "the second"


def functions_called_from_programs() -> dict[str, object]:
    runs = []

    @eqxi.noinline
    def model(x, y):
        runs.append(1)
        return jnp.sin(x) * y

    @jax.jit
    def several(x):
        return model(x, x) + model(2 * x, x) + model(x, 3 * x)

    mlp = eqx.nn.MLP(2, 2, 8, 1, key=jax.random.key(3))
    apart = eqxi.noinline(mlp)
    xs = jax.random.normal(jax.random.key(4), (4, 2))
    slope = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(apart(x) ** 2))))
    callback = eqx.filter_pure_callback(
        lambda x, text: {"y": x * len(text)},
        jnp.arange(3.0),
        "four",
        result_shape_dtypes={"y": jax.ShapeDtypeStruct((3,), jnp.float32)},
    )
    closure = eqxi.closure_to_pytree(lambda x: mlp(x) * 2)
    where = eqx.Enumeration.where if hasattr(eqx.Enumeration, "where") else None
    chosen = jax.jit(
        lambda p: Colour.where(p, Colour.red, Colour.green) == Colour.green
    )
    shapes = eqx.filter_make_jaxpr(lambda m, x: m(x))(mlp, xs[0])
    return {
        "several": several(0.5),
        "noinline": [jax.vmap(apart)(xs), slope(xs)],
        "callback": callback["y"],
        "closure": closure(xs[0]),
        "enumeration": [chosen(True), chosen(False), float(where is None)],
        "program": [len(shapes[0].jaxpr.invars), len(shapes[0].jaxpr.outvars)],
    }


PROGRAMS = (
    loops_of_each_kind_run_backwards,
    checkpointed_loops_run_steps_in_the_order_of_their_schedule,
    scans_and_buffers,
    primitives_of_functions,
    programs_are_finalised,
    errors_and_what_may_not_be_transformed,
    functions_called_from_programs,
)
