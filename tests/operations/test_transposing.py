"""Transposes of large arrays beside other operations."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp

SQUARE = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)


def once(fun, x):
    """``fun`` of what is computed once."""
    return fun(x)


def kernels_by_themselves(program, *args):
    return cv.jit(program).lower(*args).as_text().count("call @computed_once")


def test_a_large_transpose_is_a_kernel_by_itself_where_only_results_follow():
    programs = {
        lambda x: x.T * 2 + 1: 1,
        lambda x: (x + 1).T: 1,
        lambda x: (x + 1).T * 2: 2,
        lambda x: x.T: 0,
        lambda x: x.T + x[0]: 1,
        lambda x: x.T @ x: 0,
        lambda x: (x.T * 2) @ x: 1,
        lambda x: once(lambda t: (t * 2, t @ x), x.T): 0,
        lambda x: (x.T * 2).sum(0): 0,
        lambda x: x[:9].T + 1: 0,
        lambda x: cnp.tanh(x.T * 2).T: 0,  # XLA leaves both out
        cv.grad(lambda x: (x.T**3).sum()): 0,
    }
    for program, count in programs.items():
        assert kernels_by_themselves(program, SQUARE) == count


def test_an_array_that_meets_itself_transposed_is_so_by_a_kernel_of_its_own():
    programs = {
        lambda x: x.T + x: 1,
        lambda x: cnp.tanh(x.T) * x: 1,
        lambda x: x.T - x * x: 1,
        lambda x: once(lambda y: y - y.T, x @ x): 1,
        lambda x: cnp.sin(x) * cnp.cos(x).T: 2,  # what is transposed is computed before
        lambda x: (x.T - x).sum(0): 0,
        lambda x: once(lambda t: t * t, x.T): 0,
        lambda x, y: x.T + y: 0,
    }
    for x in (SQUARE, SQUARE[:500, :500]):
        for program, count in programs.items():
            args = (x, x)[: program.__code__.co_argcount]
            assert kernels_by_themselves(program, *args) == count
    small = SQUARE[:100, :100]
    assert kernels_by_themselves(lambda x: x.T + x, small) == 0


@pytest.mark.parametrize("size", [500, 512])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x + x.T,
        lambda x: (x + x.T) / 2,
        lambda x: cv.lax.fori_loop(0, 3, lambda i, x: x * 0.5 - x.T, x),
        lambda x: cv.jit(lambda y: y.T * 2 + y)(x * 3),
        lambda x: cnp.triu(x) + cnp.triu(x, 1).T,
        lambda x: cv.vmap(lambda y: y + y.T)(cnp.stack([x, x * 2])),
    ],
)
def test_an_array_that_meets_itself_transposed_has_the_same_values(fun, size):
    x = SQUARE[:size, :size]
    np.testing.assert_allclose(cv.jit(fun)(x), fun(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "axes", "alone"),
    [
        ((3000, 3000), (1, 0), True),  # reads more pages than a core knows
        ((512, 512), (1, 0), True),  # rows share the places of few lines
        ((500, 500), (1, 0), False),
        ((30_000, 3), (1, 0), False),
        ((3, 100_000), (1, 0), False),
        ((30_000, 3, 3), (0, 2, 1), False),
        ((16, 56, 56, 64), (0, 3, 1, 2), True),
        ((8, 64, 56, 56), (0, 2, 3, 1), False),
    ],
)
def test_a_transpose_that_stays_in_the_cache_is_a_part_of_a_kernel(shape, axes, alone):
    lowered = cv.jit(lambda x: x.transpose(axes) * 2).lower(np.empty(shape, np.float32))
    assert lowered.as_text().count("call @computed_once") == alone


def test_large_transposes_that_are_kernels_by_themselves_have_the_same_values():
    made = cv.jit(lambda x: (x + 1).T * 2)(SQUARE)
    np.testing.assert_array_equal(made, (SQUARE + 1).T * 2)
