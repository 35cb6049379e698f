"""Transposes of large arrays beside other operations."""

import numpy as np
import pytest

import covector as cv

SQUARE = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)


def test_a_large_transpose_is_a_kernel_by_itself_where_only_results_follow():
    programs = {
        lambda x: x.T * 2 + 1: 1,
        lambda x: (x + 1).T: 1,
        lambda x: (x + 1).T * 2: 2,
        lambda x: x.T: 0,
        lambda x: x.T + x: 0,
        lambda x: x.T @ x: 0,
        lambda x: (x.T * 2).sum(0): 0,
        lambda x: x[:9].T + 1: 0,
    }
    for program, count in programs.items():
        lowered = cv.jit(program).lower(SQUARE)
        assert lowered.as_text().count("call @computed_once") == count


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
