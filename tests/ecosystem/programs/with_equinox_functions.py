"""Equinox's transformations: how often they trace, what they pass on, what they give.

Results that are not arrays are recorded as numbers: how often a function was traced,
whether something is None, whether an error was raised.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


class Counted:
    """A function that says how often it was run by Python, which is: traced."""

    def __init__(self, fun):
        self.fun, self.runs = fun, 0
        functools.update_wrapper(self, fun)

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.fun(*args, **kwargs)


def refused(fun, *args) -> float:
    """Which builtin error a call raises; 0 where it raises none."""
    try:
        fun(*args)
    except (TypeError, ValueError, RuntimeError) as error:
        kinds = (TypeError, ValueError, RuntimeError)
        return float(next(i for i, k in enumerate(kinds, 1) if isinstance(error, k)))
    return 0.0


def filtered_jit_traces_once_for_each_signature() -> dict[str, object]:
    plain = Counted(lambda x: None)
    jitted = eqx.filter_jit(plain)
    runs = []
    for args in [np.zeros(2), np.ones(2), jnp.zeros(3), [jnp.zeros(2)], (1, True)]:
        jitted(args)
        jitted(args)
        runs.append(plain.runs)
    static = Counted(lambda x, flag: x + flag)
    by_flag = eqx.filter_jit(static)
    values = [by_flag(jnp.ones(2), flag) for flag in (1, 2, 1)]
    nested = Counted(lambda x: x + 1)
    twice = eqx.filter_jit(eqx.filter_jit(nested))
    derived = Counted(lambda x: x**2)
    slopes = [
        eqx.filter_jit(eqx.filter_grad(derived))(jnp.asarray(x)) for x in (1.0, 2.0)
    ]
    mapped = Counted(lambda x: x * 2)
    batches = [
        eqx.filter_jit(eqx.filter_vmap(mapped))(jnp.arange(n)) for n in (2, 2, 3)
    ]
    return {
        "plain": runs,
        "static": [*values, static.runs],
        "nested": [twice(jnp.asarray(1)), twice(jnp.asarray(2)), nested.runs],
        "derived": [*slopes, derived.runs],
        "mapped": [*[b.sum() for b in batches], mapped.runs],
    }


class Scaled(eqx.Module):
    factor: float | jax.Array
    shift: jax.Array = eqx.field(converter=jnp.asarray)
    name: str = eqx.field(static=True, default="scaled")

    @eqx.filter_jit
    def __call__(self, x):
        return self.factor * x + self.shift

    @eqx.filter_grad
    def slope(self, x):
        return jnp.sum(self.factor * x**2 + self.shift)

    def plain(self, x):
        return self.factor * x


def methods_of_modules_are_functions() -> dict[str, object]:
    x = jnp.asarray([1.0, 2.0])
    model = Scaled(2.0, 1)
    of_arrays = Scaled(jnp.asarray(3.0), 0)
    slope = of_arrays.slope(x)
    bound = eqx.filter_jit(model.plain)
    partial = eqx.Partial(model.plain, x)
    return {
        "call": [model(x), of_arrays(x)],
        "slope": [slope.factor, slope.shift],
        "bound": [bound(x), eqx.filter_vmap(of_arrays.plain)(x)],
        "partial": partial(),
        "equal": [Scaled(1.0, 2) == Scaled(1.0, 2), Scaled(1.0, 2) == Scaled(1.0, 3)],
    }


def gradients_are_of_floating_point_arrays_alone() -> dict[str, object]:
    marker = object()

    @eqx.filter_value_and_grad(has_aux=True)
    def loss(tree, scale):
        arrays = [x for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]
        return scale * sum(jnp.sum(a**2) for a in arrays), "aux"

    tree = [True, "text", marker, {"a": jnp.arange(3.0), "n": jnp.arange(3)}, 5.0]
    (value, aux), grads = loss(tree, 2.0)
    none = [g is None for g in grads[:3]]
    hessian = eqx.filter_hessian(lambda x, y: jnp.sin(x) * y)
    forward = eqx.filter_jacfwd(lambda x: {"y": x**2, "s": jnp.sum(x)})
    reverse = eqx.filter_jacrev(lambda x: x**3)
    x = jnp.asarray([1.0, 2.0])
    return {
        "value": value,
        "aux": float(aux == "aux"),
        "none": [float(n) for n in [*none, grads[3]["n"] is None, grads[4] is None]],
        "a": grads[3]["a"],
        "hessian": hessian(jnp.asarray(1.0), jnp.asarray(2.0)),
        "forward": forward(x),
        "reverse": reverse(x),
        "integers": refused(eqx.filter_grad(lambda x: x), jnp.asarray(1)),
    }


def filtered_jvp_and_vjp_know_what_has_a_tangent() -> dict[str, object]:
    def f(a, n, text):
        return a**2, n * 3, text, a * n

    primals = jnp.asarray(2.0), jnp.asarray(4), "text"
    out, tangent = eqx.filter_jvp(f, primals, (jnp.asarray(1.0), None, None))
    _, zero = eqx.filter_jvp(f, primals, (None, None, None))
    value, pull = eqx.filter_vjp(lambda a, n: (jnp.sin(a) * n, "aux"), *primals[:2])
    (cotangent, none) = pull((jnp.asarray(1.0), None))
    wrong = (jnp.asarray(1), None, None)
    model = eqx.nn.MLP(2, 2, 3, 1, key=jax.random.key(0))
    x = jnp.asarray([1.0, -1.0])
    linear = eqx.filter_closure_convert(lambda y: model(y) + x, x)

    def inner(x):
        (_, _), tangents = eqx.filter_jvp(lambda y: (y, x), (x,), (1.0,))
        return tangents[0] * x, float(tangents[1] is None)

    return {
        "out": [out[0], out[1], out[3]],
        "tangent": [tangent[0], tangent[3]],
        "none": [float(t is None) for t in (*tangent[1:3], *zero, none)],
        "cotangent": [value[0], cotangent],
        "wrong": refused(lambda: eqx.filter_jvp(f, primals, wrong)),
        "closure": [linear(x), len(linear.consts)],
        "within": eqx.filter_jvp(inner, (3.0,), (1.0,))[0],
    }


def rules_of_users_are_asked_for_what_is_perturbed() -> dict[str, object]:
    seen = []

    @eqx.filter_custom_vjp
    def clipped(pair, *, scale):
        x, y = pair
        return x * scale, y, x + y

    @clipped.def_fwd
    def _(perturbed, pair, *, scale):
        seen.append([float(bool(p)) for p in perturbed])
        return clipped(pair, scale=scale), {"x": pair[0], "token": object()}

    @clipped.def_bwd
    def _(residual, cotangents, perturbed, pair, *, scale):
        seen.append([float(c is None) for c in cotangents])
        return jnp.clip(cotangents[0], -1, 1) * residual["x"], None

    def run(x, y):
        return 5 * clipped((x, y), scale=2.0)[0]

    at = jnp.asarray(3.0), jnp.asarray(2.0)
    slope = jax.grad(run)(*at)
    jitted = eqx.filter_jit(eqx.filter_grad(run))(*at)

    @eqx.filter_custom_jvp
    def call(fun, x, *, power):
        return fun(x) ** power

    @call.def_jvp
    def _(primals, tangents, *, power):
        fun, x = primals
        seen.append([float(t is None) for t in tangents])
        return call(fun, x, power=power), 10.0 * tangents[1]

    value, tangent = jax.jvp(lambda x: call(jnp.sin, x, power=2), (1.0,), (2.0,))
    curvature = jax.vmap(jax.grad(lambda x: call(jnp.sin, x, power=2)))(jnp.ones(2))
    not_said = refused(jax.grad(lambda x: clipped((x, x), scale=x)[0]), 1.0)
    checkpointed = eqx.filter_checkpoint(lambda m, x: jnp.sum(m(x) ** 2))
    model = eqx.nn.Linear(2, 2, key=jax.random.key(1))
    grads = eqx.filter_grad(checkpointed)(model, jnp.ones(2))
    return {
        "slope": [slope, jitted],
        "jvp": [value, tangent, curvature],
        "not_said": not_said,
        "seen": seen,
        "checkpointed": [grads.weight, grads.bias],
    }


def maps_choose_the_axes_of_leaves() -> dict[str, object]:
    @eqx.filter_vmap(in_axes=(eqx.if_array(0), [{"a": None}], 1), out_axes=(0, None))
    def f(a, b, c):
        return a + b[0]["a"] * c.sum(), b[0]["a"]

    a, c = jnp.arange(3.0), jnp.arange(6.0).reshape(2, 3)
    keys = jax.random.split(jax.random.key(0), 4)
    models = eqx.filter_vmap(lambda k: eqx.nn.MLP(2, 1, 3, 1, key=k))(keys)
    x = jnp.asarray([0.5, -0.5])
    each = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))
    named = eqx.filter_vmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    repeated = eqx.filter_vmap(lambda x: x, out_axes=0, axis_size=3)
    double = eqx.filter_vmap(eqx.filter_vmap(lambda x, y: x * y, in_axes=(0, None)))
    by_name = eqx.filter_vmap(lambda x, y: x + y, in_axes={"y": 1})
    return {
        "f": f(a, [{"a": jnp.asarray(2.0)}], c),
        "ensemble": each(models, x),
        "named": named(a),
        "repeated": repeated(7),
        "double": double(c, c[:, :2][:, 0]),
        "by_name": by_name(c, c.T),
        "wrong": refused(eqx.filter_vmap(lambda x, y: x), a, c),
        "shapes": [
            list(s.shape)
            for s in jax.tree.leaves(eqx.filter_eval_shape(each, models, x))
        ],
    }


PROGRAMS = (
    filtered_jit_traces_once_for_each_signature,
    methods_of_modules_are_functions,
    gradients_are_of_floating_point_arrays_alone,
    filtered_jvp_and_vjp_know_what_has_a_tangent,
    rules_of_users_are_asked_for_what_is_perturbed,
    maps_choose_the_axes_of_leaves,
)
