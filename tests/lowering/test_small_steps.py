"""What small steps of loops read and join stands in memory of its own."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

STEPS = 7


def scanned(step):
    return lambda c, xs: lax.scan(lambda c, x: (step(c, x), None), c, xs)[0]


def counted(step):
    def run(c, xs):
        return lax.fori_loop(0, STEPS, lambda i, c: step(c, xs[i]), c)

    return run


def views(run, *shapes):
    """How many views the lowered program has."""
    arrays = [cnp.linspace(0.1, 0.9, int(np.prod(s))).reshape(s) for s in shapes]
    return cv.jit(run).lower(*arrays).as_text().count("call @view")


@pytest.mark.parametrize("loop", [scanned, counted])
def test_elements_of_arrays_that_functions_are_computed_with_are_copied(loop):
    """A step of log1p(c + xs[i]) took three times as long, of logaddexp six times."""
    run = loop(lambda c, x: cnp.log1p(c + x))
    assert views(run, (64,), (STEPS, 64)) == 1
    assert views(run, (4,), (STEPS, 4)) == 0, "too short for vectors"
    assert views(run, (10_000,), (STEPS, 10_000)) == 0, "no small step"


@pytest.mark.parametrize(
    "step", [cnp.add, lambda c, x: cnp.exp(c * x), lambda c, x: cnp.tanh(c @ x + x)]
)
def test_other_steps_stay_as_they_are(step):
    """With a product of matrices, a loop is not one kernel."""
    assert views(scanned(step), (8, 8), (STEPS, 8, 8)) == 0


def test_what_is_broadcast_behind_a_function_is_copied_too():
    run = scanned(lambda c, x: cnp.tanh(c) * x[:, None])
    assert views(run, (8, 12), (STEPS, 8)) == 1


def test_functions_are_computed_before_they_are_joined():
    def step(c, x):
        return cnp.concatenate([c[:, :1], cnp.logaddexp(c[:, 1:], x)], -1)

    assert views(scanned(step), (8, 16), (STEPS, 8, 15)) == 2


def test_calls_inside_of_a_step_are_seen_through():
    inner = cv.jit(lambda c, x: cnp.log1p(c + x))
    assert views(scanned(inner), (64,), (STEPS, 64)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, "bfloat16"])
@pytest.mark.parametrize("loop", [scanned, counted])
def test_values_and_gradients_are_those_of_the_steps_one_by_one(loop, dtype):
    def step(c, x):
        joined = cnp.concatenate([c[:1], cnp.tanh(c[1:] + x[1:])])
        return joined * 0.5 + cnp.log1p(x * x)

    with cv.enable_x64():
        c = cnp.linspace(0.1, 0.9, 40).astype(dtype)
        xs = cnp.linspace(-0.5, 0.5, 40 * STEPS).reshape(STEPS, 40).astype(dtype)

        def total(c, xs):
            return cnp.sum(cnp.real(loop(step)(c, xs)))

        found = cv.jit(cv.value_and_grad(total, (0, 1)))(c, xs)
        with cv.disable_jit():
            wanted = cv.value_and_grad(total, (0, 1))(c, xs)
    tolerance = 5e-2 if dtype == "bfloat16" else 1e-5
    for a, b in zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(
            np.asarray(a, np.complex128), np.asarray(b, np.complex128), tolerance, 1e-2
        )


def test_elements_of_no_bytes_are_left_alone():
    """Numbers of four bits have no view."""
    xs = cnp.ones((STEPS, 64), "int4")
    run = scanned(lambda c, x: cnp.tanh(c + x.astype(float)))
    text = cv.jit(run).lower(cnp.ones(64), xs).as_text()
    assert "call @view" not in text
    np.testing.assert_allclose(
        cv.jit(run)(cnp.ones(64), xs), run(cnp.ones(64), xs), rtol=1e-5
    )
