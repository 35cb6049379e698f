"""Which values packages of the field know while their functions are traced.

Each says in its first line who relies on it. With the real JAX all of them hold.
"""

import inspect
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Literal
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

ONES = np.ones(3, np.float32)


def is_staged():
    """What packages ask: whether their function is being traced by ``jit``."""
    try:
        return bool(jnp.asarray(False))
    except jax.errors.TracerBoolConversionError:
        return True


def asked(transformed, *args):
    """The answers while a function runs that is transformed."""
    answers = []

    def fun(x):
        answers.append(is_staged())
        return x * 2.0

    transformed(fun)(*args)
    return set(answers)


def test_packages_learn_that_they_run_inside_of_jit():
    # array-api-extra, and with it SciPy: they take the lazy way then
    assert asked(jax.jit, 1.0) == {True}
    assert asked(lambda f: jax.jit(jax.vmap(f)), ONES) == {True}
    assert asked(lambda f: jax.jit(jax.grad(f)), 1.0) == {True}
    assert asked(lambda f: jax.grad(jax.jit(f)), 1.0) == {True}
    assert asked(lambda f: jax.grad(jax.checkpoint(f)), 1.0) == {True}
    assert asked(lambda f: lambda x: lax.map(f, x), ONES) == {True}


def test_packages_learn_that_they_run_outside_of_jit():
    # array-api-extra: whatever looks at values
    assert asked(lambda f: f, 1.0) == {False}
    assert asked(jax.grad, 1.0) == {False}
    assert asked(jax.vmap, ONES) == {False}
    assert asked(lambda f: lambda x: jax.jvp(f, (x,), (x,)), 1.0) == {False}
    assert asked(lambda f: lambda x: jax.linearize(f, x), 1.0) == {False}


def test_what_is_computed_at_compile_time_is_known_under_jit():
    # equinox, flax: tables that are made while a function is traced
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            size = int(jnp.sum(jnp.asarray([1, 2])))
            assert not is_staged() and asked(jax.vmap, ONES) == {False}
        return jnp.zeros(size) + x

    assert f(1.0).shape == (3,)


def test_arrays_that_are_made_already_stay_as_they_are():
    # packages that convert what they are given, and look at it
    known = jnp.asarray(True)
    assert jax.jit(lambda x: x if jnp.asarray(known) else -x)(1.0) == 1.0
    assert jnp.asarray(known) is known
    jax.jit(lambda x: jnp.asarray(x) is x or pytest.fail("another tracer"))(1.0)


@pytest.mark.parametrize(
    "use",
    [
        lambda n: bool(jnp.array(object=n)),
        lambda n: [1, 2, 3][jnp.asarray(n)],
        lambda n: jnp.zeros(jnp.asarray(n)),
        lambda n: jnp.zeros(3).reshape(jnp.asarray([n])),
        lambda n: float(jnp.asarray(np.float32(n))),
        lambda n: np.asarray(jnp.asarray([n])),
    ],
)
def test_what_is_made_under_jit_has_no_value_yet(use):
    # packages that try, and go another way on the errors of tracers
    with pytest.raises(TypeError):
        jax.jit(lambda x: use(2))(1.0)


def test_a_number_that_is_made_under_jit_is_a_literal_of_the_program():
    # equinox, traceax: what they read in programs
    program = jax.make_jaxpr(lambda x: jnp.asarray(2.0) + x)(np.float32(1.0))
    (equation,) = program.eqns
    assert equation.primitive.name == "add" and not program.consts
    assert isinstance(equation.invars[0], Literal) and equation.invars[0].val == 2.0
    # What is made of it is computed by the program.
    program = jax.make_jaxpr(lambda x: jnp.sin(jnp.asarray(2.0)) + x)(1.0)
    assert [e.primitive.name for e in program.eqns] == ["sin", "add"]


def test_what_is_made_under_jit_keeps_its_type():
    # whoever mixes precisions
    half = jnp.bfloat16(1.0)
    assert jax.jit(lambda x: x + jnp.asarray(1.0))(half).dtype == jnp.bfloat16
    assert jax.jit(lambda x: x + jnp.asarray(np.float32(1)))(half).dtype == np.float32
    assert jax.jit(lambda x: jnp.asarray(1, np.int8))(half).dtype == np.int8


def test_transformations_pass_through_what_is_made_under_jit():
    # diffrax, optimistix: constants in rules and loops
    @jax.custom_jvp
    def twice(x):
        return x * jnp.asarray(2.0)

    @twice.defjvp
    def _(primals, tangents):
        c, many = jnp.asarray(2.0), jnp.asarray(np.ones(2000, np.float32))
        return twice(*primals), tangents[0] * c * many.mean()

    def loop(x):
        def step(c, _):
            return twice(c) * jnp.array(0.5), jnp.asarray(1.0)

        return lax.scan(step, x, None, length=3)[0]

    for f in (lambda x: 0.5 * twice(x), loop):
        assert jax.grad(f)(3.0) == 1.0
        assert jax.grad(jax.jit(f))(3.0) == 1.0
        assert jax.jit(jax.grad(jax.checkpoint(f)))(3.0) == 1.0
        np.testing.assert_array_equal(jax.vmap(jax.grad(jax.jit(f)))(ONES), ONES)
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(lambda x: jnp.sign(jnp.asarray(2.0))))(ONES), ONES
    )
    transposed = jax.linear_transpose(lambda x: x * jnp.sign(jnp.asarray(-2.0)), 1.0)
    assert jax.jit(lambda ct: transposed(ct)[0])(1.0) == -1.0


def test_inner_functions_may_use_what_was_made_outside_of_them():
    # optax: schedules close over their constants
    @jax.jit
    def f(x):
        c = jnp.asarray(2.0)
        inner = jax.jit(lambda y: y * c + jnp.sign(c))(x)
        chosen = lax.cond(x > 0, lambda: c, lambda: -c)
        return inner + chosen + lax.while_loop(lambda y: y < 9 * c, lambda y: y * c, x)

    assert f(1.0) == 3.0 + 2.0 + 32.0


def test_a_number_may_outlive_the_function_that_made_it():
    # packages that keep constants from one call to the next
    kept = []
    jax.jit(lambda x: kept.append(jnp.asarray(2.0)))(1.0)
    (two,) = kept
    half = jax.jit(lambda x: x * 0.5)
    assert two + 1.0 == 3.0 and jax.jit(lambda x: x * two)(3.0) == 6.0
    assert half(two) == half(two) == 1.0 and jax.grad(half)(two) == 0.5
    assert (
        jax.grad(lambda x: x * two)(1.0) == 2.0 and jax.vmap(half)(two * ONES)[0] == 1
    )


def test_array_and_asarray_can_be_described_and_pickled():
    # flax, dask: functions among the fields of what is saved or sent
    for fun in (jnp.array, jnp.asarray):
        assert fun.__doc__ and "dtype" in inspect.signature(fun).parameters
        assert pickle.loads(pickle.dumps(fun)) is fun


def test_scipy_computes_distances_and_clusters_under_jit():
    # scipy.spatial.distance and scipy.cluster.hierarchy, with SCIPY_ARRAY_API=1
    points = np.random.default_rng(0).normal(size=(6, 2))
    with jax.enable_x64(True):
        distances = jax.jit(pdist)(points)
        trees = jax.jit(lambda x: linkage(pdist(x), "average"))(points)
    assert isinstance(distances, jax.Array)
    np.testing.assert_allclose(distances, pdist(points), rtol=1e-12)
    np.testing.assert_allclose(trees, linkage(pdist(points), "average"), rtol=1e-12)
