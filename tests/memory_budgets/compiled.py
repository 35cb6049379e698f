"""Compiled programs for tests of budgets: what they give, and what they need."""

import numpy as np

import covector as cv


def run(f, *args):
    """The results, and the compiled peak."""
    compiled = cv.jit(f).lower(*args).compile()
    return compiled(*args), compiled.runtime_executable().memory_use().peak


def peak(f, *args):
    return run(f, *args)[1]


def assert_near(got, wanted):
    """Trees of arrays of the same types, whose values differ by rounding."""
    for x, y in zip(cv.tree.leaves(got), cv.tree.leaves(wanted), strict=True):
        assert x.type == y.type
        scale = np.abs(y).max(initial=1.0)
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-4 * scale)
