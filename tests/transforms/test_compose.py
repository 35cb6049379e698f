"""``compose``: transformations in the order in which one says them."""

from functools import partial

import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors


def cube(x):
    return x**3


def test_the_first_transformation_is_the_outermost():
    kept = []

    def noting(name):
        def transform(fun):
            kept.append(name)
            return fun

        return transform

    cv.compose(noting("outer"), noting("inner"))(cube)
    assert kept == ["inner", "outer"]


def test_pipelines_of_derivatives():
    assert float(cv.compose(cv.jit, cv.grad)(cube)(2.0)) == 12.0
    assert float(cv.compose(cv.jit, cv.grad, cv.grad, cv.grad)(cube)(2.0)) == 6.0
    slopes = cv.compose(cv.jit, cv.vmap, cv.grad)(cube)
    assert slopes(cnp.arange(3.0)).tolist() == [0.0, 3.0, 12.0]


def test_options_go_in_with_partial():
    by_second = cv.compose(cv.jit, partial(cv.grad, argnums=1))
    assert float(by_second(lambda x, y: x * y)(2.0, 3.0)) == 2.0


def test_no_transformation_leaves_the_function():
    assert cv.compose()(cube) is cube


def test_what_is_no_transformation_is_refused():
    with pytest.raises(errors.TypeMismatch, match=r"compose takes transformations.*3"):
        cv.compose(cv.jit, 3)
