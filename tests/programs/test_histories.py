"""The law of histories: a program gives the same result, whatever ran before it.

Traced programs are kept and shared, so what one was traced for must never serve another
context: with types that say what varies over a mesh and without, inside pmap, under
vmap with a named axis, with 64 bits and with 32.
"""

import itertools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.runtime import compilation_cache

SIZE = 4
W = np.linspace(0.5, 1.5, 3)


def programs():
    """One function of each way to carry a program, over the named axis "x"."""

    def weighted(w):
        return (w * (1.0 + lax.axis_index("x"))).sum()

    @cv.custom_jvp
    def ruled(w):
        return weighted(w)

    ruled.defjvp(lambda p, t: (weighted(*p), weighted(*t)))

    @cv.custom_vjp
    def reverse_ruled(w):
        return weighted(w)

    def backward(w, ct):
        return (ct * (1.0 + lax.axis_index("x")) * cnp.ones_like(w),)

    reverse_ruled.defvjp(lambda w: (weighted(w), w), backward)
    return {
        "jit": cv.jit(weighted),
        "checkpoint": cv.checkpoint(weighted),
        "custom_jvp": ruled,
        "custom_vjp": reverse_ruled,
        "scan": lambda w: lax.scan(lambda c, x: (c + weighted(x), None), 0.0, w)[0],
        "cond": lambda w: lax.cond(w[0] > 0, weighted, lambda w: w[0] * 0, w),
        "while": lambda w: lax.fori_loop(0, 2, lambda i, c: c + weighted(w), 0.0),
    }


def over_mesh(loss, checked):
    mesh = cv.make_mesh((SIZE,), ("x",))
    return cv.shard_map(loss, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=checked)


def in_x64(loss):
    def run(w):
        with cv.enable_x64():
            return cv.grad(over_mesh(loss, True))(cnp.asarray(W))

    return run


CONTEXTS = {
    "checked": lambda loss: cv.grad(over_mesh(loss, True)),
    "unchecked": lambda loss: cv.grad(over_mesh(loss, False)),
    "pmap": lambda loss: cv.pmap(
        cv.grad(loss), axis_name="x", in_axes=None, axis_size=SIZE
    ),
    "vmap": lambda loss: cv.vmap(
        cv.grad(loss), axis_name="x", in_axes=None, axis_size=SIZE
    ),
    "x64": in_x64,
}


def results(context, functions):
    """The gradient of each function, summed over the devices, in a context."""
    w = cnp.asarray(W, cnp.float32)
    loss = lambda w: sum(lax.psum(f(w), "x") * k for k, f in enumerate(functions, 1))  # noqa: E731
    out = CONTEXTS[context](loss)(w)
    return np.asarray(out)


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """What was traced is forgotten, but not what XLA made of it, found by content."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation_cache, "clear", lambda: None)
        yield


@pytest.fixture(scope="module")
def alone(compiled_once):
    """What each context gives in a process without a history."""
    found = {}
    for context in CONTEXTS:
        cv.clear_caches()
        found[context] = results(context, programs().values())
    return found


@pytest.mark.parametrize(("before", "now"), list(itertools.permutations(CONTEXTS, 2)))
def test_a_program_gives_the_same_after_every_other(before, now, alone):
    cv.clear_caches()
    functions = programs().values()
    results(before, functions)
    found = results(now, functions)
    assert found.dtype == alone[now].dtype
    np.testing.assert_allclose(found, alone[now], rtol=1e-6)


def test_what_was_traced_unchecked_does_not_serve_where_types_are_checked():
    def returned(w):
        return cv.jit(lambda w: w * (1.0 + lax.axis_index("x")))(w)

    w = cnp.ones(3)
    assert over_mesh(returned, False)(w).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(cv.errors.CovectorError, match="varies"):
        over_mesh(returned, True)(w)


def test_a_pullback_that_is_called_under_other_options_leaves_nothing_behind():
    _, pull = cv.vjp(cv.jit(lambda x: cnp.sin(x) * 2), cnp.ones(2))
    with cv.enable_x64():
        (inside,) = pull(cnp.ones(2, cnp.float32))
    (outside,) = pull(cnp.ones(2, cnp.float32))
    assert inside.dtype == outside.dtype == np.float32
    assert inside.tolist() == outside.tolist()
