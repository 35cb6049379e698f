"""check_vma=False: types say nothing of what varies.

From outside, derivatives of programs whose results are reduced are the same. Inside, a
value is that of a device, as under vmap, and so is a derivative with respect to it.
"""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from tests.operations.test_collectives_over_several_axes import COLLECTIVES

#: 6 participants, each with f32[12, 6]
Z = np.random.default_rng(0).normal(size=(6, 12, 6)).astype(np.float32)
W = np.float32(0.7)


def over(f, out_specs, checked, n=6):
    mesh = cv.make_mesh((n,), ("x",))
    return cv.shard_map(
        f, mesh=mesh, in_specs=(P(), P("x")), out_specs=out_specs, check_vma=checked
    )


def derivatives(f):
    """Of first and second order."""
    slope = cv.grad(f, (0, 1))
    turned = lambda w, z: sum(map(cnp.sum, slope(w, z)))  # noqa: E731
    return cv.jit(lambda w, z: (f(w, z), slope(w, z), cv.grad(turned, (0, 1))(w, z)))


def same(found, wanted):
    pairs = zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True)
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_have_the_adjoints_of_checked_ones(name):
    collective = COLLECTIVES[name]

    def local(w, x):
        return cnp.sum(cnp.sin(w * collective(w * x[0], "x")) * 0.1)

    def parts(checked):
        f = over(lambda w, x: local(w, x)[None], P("x"), checked)
        return lambda w, z: cnp.sum(f(w, z))

    def reduced(checked):
        return over(lambda w, x: lax.psum(local(w, x), "x"), P(), checked)

    def batch(w, z):
        return cnp.sum(cv.vmap(lambda x: local(w, x[None]), axis_name="x")(z))

    wanted = derivatives(batch)(W, Z)
    for f in (parts(False), reduced(False), parts(True), reduced(True)):
        same(derivatives(f)(W, Z), wanted)


def test_results_that_are_copies():
    """Of several copies of a result each has an equal share of its cotangent."""

    def f(w, x):
        mean = lax.pmean(cnp.sum(w * x), "x")
        return mean**2, lax.all_gather(w * x[0, 0, 0], "x"), w * 3

    def total(checked):
        g = over(f, P(), checked)
        return lambda w, z: sum(map(cnp.sum, g(w, z)))

    same(derivatives(total(False))(W, Z), derivatives(total(True))(W, Z))


def test_a_gradient_inside_is_of_each_device():
    """With types that say what varies it would be the sum, for what does not."""
    slope = lambda w, x: cv.grad(lambda w: cnp.sum(w * x))(w)[None]  # noqa: E731
    found = over(slope, P("x"), False)(W, Z)
    np.testing.assert_allclose(found, Z.sum((1, 2)), rtol=1e-5)
    summed = over(lambda w, x: slope(w, x)[0], P(), True)(W, Z)
    np.testing.assert_allclose(summed, Z.sum(), rtol=1e-4)


def test_a_gradient_inside_of_a_sum_over_devices():
    """psum is its own adjoint: the cotangents of all devices are added."""
    x = np.arange(1, 5, dtype=np.float32)

    def slope(w, x):
        return cv.grad(lambda x: lax.psum(cnp.sum(x**2), "x"))(x)

    unchecked = over(slope, P("x"), False, 4)(W, x)
    assert unchecked.tolist() == [8.0, 16.0, 24.0, 32.0]
    batch = cv.vmap(lambda x: slope(W, x), axis_name="x")(x)
    assert batch.tolist() == unchecked.tolist()
    assert over(slope, P("x"), True, 4)(W, x).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_a_loop_that_runs_backward_communicates_a_value_that_is_known():
    known = cnp.asarray(np.float32(1.25))

    def local(x):
        def step(carry):
            left, x = carry
            return left - 1, cnp.tanh(x * lax.pmin(known, "x"))

        return lax.while_loop(lambda carry: carry[0] > 0, step, (np.int32(2), x))[1]

    mesh = cv.make_mesh((2,), ("x",))
    f = cv.shard_map(
        local, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False
    )
    x = cnp.arange(4, dtype="float32")
    twice = lambda x: cnp.tanh(known * cnp.tanh(known * x))  # noqa: E731
    wanted = cv.grad(lambda x: twice(x).sum())(x)
    same(cv.jit(cv.grad(lambda x: f(x).sum()))(x), wanted)
