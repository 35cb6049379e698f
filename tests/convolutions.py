"""Convolutions in another way, beside those of NumPy."""

import numpy as np

import covector as cv
from covector.operations.convolution import ConvGeneralDilated


def assert_result_is_that_of_numpy(fun, operands):
    """Of a function that is one convolution of these operands."""
    (equation,) = [
        e
        for e in cv.make_jaxpr(fun)(*operands).jaxpr.equations
        if type(e.op) is ConvGeneralDilated
    ]
    wanted = equation.op.on_host(*operands)
    found = cv.jit(fun)(*operands)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


def assert_derivatives_are_those_of_numpy(fun, x, w):
    def pull(x, w):
        out, back = cv.vjp(fun, x, w)
        return back(cv.numpy.sin(out))

    with cv.disable_jit():
        wanted = pull(cv.numpy.asarray(x), cv.numpy.asarray(w))
    for found, exact in zip(cv.jit(pull)(x, w), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3)
