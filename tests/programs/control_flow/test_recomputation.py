"""What a step of a loop computes again for its gradient, and what it keeps."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

STEPS = 12


def runge_kutta(x, v):
    def slope(x, v):
        return v, -x * (1 - 0.1 * v)

    state, h = (x, v), 0.01
    one = slope(*state)
    two = slope(*[a + h / 2 * b for a, b in zip(state, one, strict=True)])
    three = slope(*[a + h / 2 * b for a, b in zip(state, two, strict=True)])
    four = slope(*[a + h * b for a, b in zip(state, three, strict=True)])
    slopes = zip(state, one, two, three, four, strict=True)
    return tuple([a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in slopes])


def scanned(step):
    def run(*state):
        return lax.scan(lambda s, _: (step(*s), None), state, None, length=STEPS)[0]

    return run


def unrolled(step):
    def run(*state):
        for _ in range(STEPS):
            state = step(*state)
        return state

    return run


def loss(run):
    return lambda *state: sum([cnp.sum(x * x) for x in run(*state)])


def points(count, size=5):
    return [cnp.linspace(0.2 + k, 0.9 + k, size) for k in range(count)]


def kept(step, *state):
    """How many arrays of the gradient's forward loop are stacked over the steps."""
    program = cv.make_jaxpr(cv.grad(loss(scanned(step))))(*state)
    forward = next(e for e in program.eqns if e.primitive.name == "scan")
    return sum([v.type.shape[:1] == (STEPS,) for v in forward.outvars])


def mixed(x, v):
    """With what is not computed again: exponentials, sums and a product of matrices."""
    grown = cnp.exp(-x) * v
    mean = grown.mean()
    return x + 0.1 * (grown - mean) * (1 - grown), v - 0.01 * (cnp.eye(5) @ x) * grown


def with_input(x, v):
    return x * (1 - x) * v + x * x * v * v - x, v


@pytest.mark.parametrize("step", [runge_kutta, mixed, with_input])
def test_gradients_are_those_of_the_steps_written_out(step):
    with cv.enable_x64(True):
        state = points(2)
        arguments = tuple(range(len(state)))
        found = cv.grad(loss(scanned(step)), arguments)(*state)
        wanted = cv.grad(loss(unrolled(step)), arguments)(*state)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_second_derivatives_batches_and_compiled_gradients():
    with cv.enable_x64(True):
        x, v = points(2)

        def second(run):
            slope = cv.grad(loss(run))
            return cv.grad(lambda x: cnp.sum(slope(x, v) ** 2))

        found, wanted = second(scanned(runge_kutta)), second(unrolled(runge_kutta))
        np.testing.assert_allclose(found(x), wanted(x), rtol=1e-11)
        np.testing.assert_allclose(cv.jit(found)(x), wanted(x), rtol=1e-11)
        many = cnp.stack([x, 2 * x, -x])
        each = cnp.stack([wanted(row) for row in many])
        np.testing.assert_allclose(cv.vmap(found)(many), each, rtol=1e-11)


def test_sums_and_products_of_elements_are_computed_again_from_the_carry():
    assert kept(runge_kutta, *points(2)) == 2


def test_what_would_not_be_much_less_to_keep_is_kept_as_it_is():
    def lorenz(x, y, z):
        return x + 0.1 * (y - x), y + 0.1 * (x * (2 - z) - y), z + 0.1 * (x * y - z)

    assert kept(lorenz, *points(3)) <= 4


def test_exponentials_are_kept():
    def step(x):
        grown = cnp.exp(-x)
        a, b = grown * x, grown + x
        return (a * b + (a + 1) * (b - 1) * (a - b) + a * a * b,)

    assert kept(step, *points(1)) == 2


def test_steps_of_many_intermediates_take_the_memory_of_their_carry():
    state = [cnp.ones(4096), cnp.ones(4096)]
    program = cv.jit(cv.grad(loss(scanned(runge_kutta)))).lower(*state).compile()
    carry = sum([x.nbytes for x in state])
    assert program.memory_analysis().temp_size_in_bytes < 3 * STEPS * carry


def test_elements_that_are_repeated_are_not_kept_repeated():
    """The outer product of a linear attention kept both vectors as matrices."""
    keys, values = cnp.ones((STEPS, 5)), cnp.ones((STEPS, 5))

    def attention(scale, keys, values):
        def step(state, kv):
            k, v = kv
            state = state * cnp.exp(scale) + k[:, None] * v[None, :]
            return state, cnp.sum(cnp.sin(state))

        return lax.scan(step, cnp.zeros((5, 5)), (keys, values))[1].sum()

    slopes = cv.grad(attention, (0, 1, 2))
    program = cv.make_jaxpr(slopes)(0.1, keys, values)
    forward = next(e for e in program.eqns if e.primitive.name == "scan")
    matrices = [v for v in forward.outvars if v.type.shape == (STEPS, 5, 5)]
    assert len(matrices) == 2, "the state before the step, and the cosine of that after"
    found = slopes(0.1, keys, values)
    with cv.disable_jit():
        wanted = slopes(0.1, keys, values)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
