"""Names are found in what is lowered and compiled, under transformations too."""

import re
import threading

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax

X = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)


def lowered(f, *args):
    """The names of operations in the lowered text."""
    text = cv.jit(f).lower(*args).as_text(debug_info=True)
    return set(re.findall(r'loc\("([^"]+)"\(', text))


def compiled(f, *args):
    """The names of operations in the text of the executable."""
    text = cv.jit(f).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', text))


def model(x):
    with cv.named_scope("a"):
        y = cnp.sin(x @ x)
        with cv.named_scope("b"):
            y = cnp.cos(y @ y)
    return cnp.sum(y)


def test_names_nest_in_what_is_lowered_and_compiled():
    assert {"a/dot_general", "a/sin", "a/b/cos", "reduce_sum"} <= lowered(model, X)
    found = compiled(model, X)
    assert "a/dot_general" in found
    assert any("a/b/" in name for name in found)


def test_derivatives_and_batches_have_the_names_of_what_they_are_made_from():
    found = lowered(cv.grad(model), X)
    assert "a/b/sin" in found  # the slope of the cosine
    assert "transpose(a/b)/dot_general" in found
    assert "transpose(a)/dot_general" in found
    assert any("transpose(a)" in name for name in compiled(cv.grad(model), X))
    assert "a/b/cos" in lowered(cv.vmap(model), X[None])
    assert "a/b/cos" in lowered(lambda x: cv.jvp(model, (x,), (x,)), X)


def test_in_loops_and_branches():
    def f(x):
        with cv.named_scope("loop"):
            x = lax.scan(lambda c, _: (cnp.sin(c), None), x, None, length=3)[0]
        with cv.named_scope("choice"):
            return lax.cond(x[0, 0] > 0, cnp.cos, cnp.tan, x).sum()

    for g, x in ((f, X), (cv.grad(f), X), (cv.vmap(f), X[None])):
        found = lowered(g, x)
        assert "loop/sin" in found
        assert "choice/cos" in found


def test_a_jitted_function_has_names_of_its_own_wherever_it_is_called():
    @cv.jit
    def inner(x):
        with cv.named_scope("inside"):
            return cnp.sin(x)

    def f(x):
        with cv.named_scope("first"):
            x = inner(x)
        with cv.named_scope("second"):
            return inner(x)

    found = lowered(f, X)
    assert {"first/jit(inner)", "second/jit(inner)", "inside/sin"} <= found
    assert any("first/jit(inner)/inside/sin" in n for n in compiled(f, X))


def test_as_a_decorator_and_by_named_call():
    @cv.named_scope("deep")
    def recursive(x, n):
        return cnp.sin(x) if n == 0 else recursive(x, n - 1)

    assert "deep/deep/deep/sin" in lowered(lambda x: recursive(x, 2), X)
    assert recursive.__name__ == "recursive"

    @cv.named_call
    def encoder(x):
        return cnp.sin(x)

    assert "encoder/sin" in lowered(encoder, X)
    assert "other/sin" in lowered(cv.named_call(cnp.sin, name="other"), X)
    assert "third/sin" in lowered(cv.named_call(name="third")(cnp.sin), X)


def test_a_name_ends_with_its_block_also_by_an_error_and_on_other_threads():
    with pytest.raises(KeyError), cv.named_scope("broken"):
        raise KeyError
    assert "sin" in lowered(cnp.sin, X)
    found = []
    with cv.named_scope("here"):
        thread = threading.Thread(target=lambda: found.append(lowered(cnp.tan, X)))
        thread.start()
        thread.join()
    assert "tan" in found[0]


def test_a_checkpointed_layer_keeps_its_names():
    def f(x):
        with cv.named_scope("outer"):
            return cnp.sum(cv.checkpoint(model)(x))

    assert any("a/b/cos" in name for name in compiled(f, X))
    assert any("transpose" in name for name in compiled(cv.grad(f), X))


def test_values_are_what_they_were():
    with cv.named_scope("eager"):
        np.testing.assert_array_equal(model(X), model(cnp.asarray(X)))


@pytest.mark.parametrize("name", ["", None, 3])
def test_what_is_no_name(name):
    with pytest.raises(errors.ArgumentError, match="needs a name, a str"):
        cv.named_scope(name)


def test_optimization_barrier_keeps_computations_apart():
    def twice(x):
        y = cnp.sin(x @ x)
        z = lax.optimization_barrier({"x": x})["x"]
        return cnp.sum(y) + cnp.sum(cnp.sin(z @ z))

    text = cv.jit(twice).lower(X).as_text()
    assert "optimization_barrier" in text
    np.testing.assert_allclose(
        cv.grad(twice)(X), cv.grad(lambda x: 2 * cnp.sum(cnp.sin(x @ x)))(X), rtol=1e-4
    )
    assert lax.optimization_barrier(()) == ()
    none = lax.optimization_barrier({"a": None, "b": 1})
    assert none["a"] is None
    assert int(none["b"]) == 1
