"""``jit(f, memory_limit=)``: programs that need more are refused before they run."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors


def outer_sum(x):
    return cnp.sort(x[:, None] * x).sum(1)


def double(x):
    return x * 2


def test_a_program_that_needs_more_than_its_memory_limit_does_not_run():
    x = cnp.arange(256.0)
    wanted = (
        r"^jit of outer_sum \(test_memory_limit.py:\d+\) needs [\d.]+ KB of memory "
        r"\(1.0 KB of arguments, 1.0 KB of results and [\d.]+ KB of temporaries\), but "
        r"memory_limit is 100.0 KB. It has not run. To need less, donate arguments "
        r"that results replace \(jit\(donate_argnums=\)\), compute again instead of "
        r"keeping \(checkpoint\(f, memory=\), grad\(f, memory=\)\), run a batch in "
        r"chunks \(vmap\(f, memory=\)\), or take a smaller batch.$"
    )
    limited = cv.jit(outer_sum, memory_limit="100kB")
    for _ in range(2):
        with pytest.raises(errors.OverBudget, match=wanted):
            limited(x)
    with pytest.raises(MemoryError, match=r"memory_limit is 100.0 KB"):
        limited.lower(x).compile()
    assert limited(x[:8]).shape == (8,)


def test_a_program_within_its_memory_limit_runs():
    x = cnp.arange(256.0)
    limited = cv.jit(outer_sum, memory_limit="1MiB")
    np.testing.assert_array_equal(limited(x), cv.jit(outer_sum)(x))


def test_results_in_the_memory_of_donated_arguments_count_once():
    x = cnp.arange(256.0)
    donating = cv.jit(double, memory_limit=1100, donate_argnums=0)
    assert donating(cnp.asarray(x.copy())).shape == (256,)
    with pytest.raises(errors.OverBudget, match=r"memory_limit is 1.1 KB"):
        cv.jit(double, memory_limit=1100)(x)


def test_a_memory_limit_that_is_no_size_is_refused():
    with pytest.raises(
        errors.ArgumentError,
        match=r"the memory_limit of jit of outer_sum \S+ takes a size of memory: ",
    ):
        cv.jit(outer_sum, memory_limit="lots")
