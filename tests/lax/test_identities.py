"""Tokens, and what keeps equations in programs."""

import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax


def test_a_sink_keeps_what_it_takes():
    def f(x):
        lax.dce_sink({"unread": (cnp.sin(x), 2)})
        return 3 * x

    assert "sine" in cv.jit(f).lower(1.0).as_text()
    assert f(2.0) == 6
    assert cv.grad(f)(2.0) == 3
    assert cv.vmap(f)(cnp.arange(2.0)).tolist() == [0, 3]
    steps = cv.jit(lambda x: lax.fori_loop(0, 3, lambda _, x: f(x), x))
    assert steps(1.0) == 27
    assert lax.dce_sink(2.0, prevent_mlir_dce=True) is None


def test_tokens_wait_for_each_other():
    @cv.jit
    def f(x):
        y, token = lax.optimization_barrier((cnp.sin(x), lax.create_token(x)))
        token = lax.after_all(token, lax.create_token())
        z, token = lax.optimization_barrier((y + 1, token))
        return z, token

    z, token = f(0.0)
    assert z == 1
    assert lax.after_all(token).type is lax.create_token().type is lax.after_all().type
    with pytest.raises(errors.TypeMismatch) as caught:
        lax.after_all(1.0)
    assert str(caught.value) == (
        "after_all needs tokens, as create_token makes them, but got f32[]. "
        "optimization_barrier waits for arrays."
    )
