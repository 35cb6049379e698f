"""Transposes of large arrays beside other operations."""

import numpy as np

import covector as cv

SQUARE = np.random.default_rng(0).normal(size=(400, 400)).astype(np.float32)


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


def test_large_transposes_that_are_kernels_by_themselves_have_the_same_values():
    made = cv.jit(lambda x: (x + 1).T * 2)(SQUARE)
    np.testing.assert_array_equal(made, (SQUARE + 1).T * 2)
