"""The checks notice faults: each is given a function that is wrong in its way."""

import dataclasses

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from tests.public.checks import differences
from tests.public.deliberate import parse
from tests.public.makers import elementwise
from tests.public.table import Row, load

FLOATS = elementwise("f", within=(0.5, 2.0))


@cv.custom_jvp
def wrongly_differentiated(x):
    return cnp.sin(x)


wrongly_differentiated.defjvp(lambda xs, ts: (cnp.sin(xs[0]), 2 * ts[0]))


def other_when_traced(function, x):
    """The sine, but for tracers the cosine."""
    known = type(x).__name__ in ("Array", "ndarray", "ArrayImpl")
    return function(x) if known else cnp.cos(x)


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        ("beside_numpy", {"numpy": lambda x: np.sin(x) + 0.01}),
        ("beside_jax", {"jax": "numpy.cos"}),
        ("compiled", {"calling": other_when_traced}),
        ("batched", {"calling": other_when_traced}),
        ("derivatives", {"calling": lambda sin, x: wrongly_differentiated(x)}),
    ],
)
def test_a_wrong_function_is_noticed(check, facts):
    row = Row("numpy.sin", FLOATS, **facts)
    told = [line for n in range(4) for line in differences(row, 1, n, [check])]
    assert any(
        line.startswith("numpy.sin(") and f": {check}: " in line for line in told
    )
    assert all("--seed 1 --number" in line for line in told)
    right = dataclasses.replace(row, numpy="", jax="", calling=None)
    assert not [line for n in range(4) for line in differences(right, 1, n, [check])]


def test_a_sample_is_determined_by_function_seed_and_number():
    row = load()["numpy.clip"]
    assert str(row.sample(3, 4)) == str(row.sample(3, 4))
    assert len({str(row.sample(3, n)) for n in range(8)}) == 8


def test_a_deliberate_difference_covers_what_it_says():
    (row,) = parse("| `numpy.tri`, `lax.div` | dtype; value of integers | a | b | c |")
    assert row.covers("numpy.tri", "dtype", "f")
    assert row.covers("lax.div", "value", "i")
    assert row.covers("Array.tri", "dtype", "")
    assert not row.covers("lax.div", "value", "f")
    assert not row.covers("numpy.tril", "dtype", "f")
    assert not row.covers("numpy.tri", "weak type", "f")


@pytest.mark.parametrize("cell", ["values", "value of strings"])
def test_what_differs_is_said_in_words_that_are_known(cell):
    with pytest.raises(AssertionError, match=r"differences-from-jax\.md"):
        parse(f"| `numpy.tri` | {cell} | a | b | c |")
