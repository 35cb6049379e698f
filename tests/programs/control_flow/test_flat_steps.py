"""Scans of small steps on elements run over flat arrays."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn
from covector.programs.control_flow.flat_steps import over_flat_arrays
from covector.runtime import client

RNG = np.random.default_rng(0)
C = RNG.normal(size=(5, 7)).astype(np.float32)
XS = RNG.normal(size=(9, 5, 7)).astype(np.float32)
TIMES = np.linspace(0, 1, 9, dtype=np.float32)


STEPS = {
    "a function": (lambda c, x: (cnp.logaddexp(c, x), None), XS, True),
    "what it stores": (lambda c, x: (c * x, cnp.tanh(c) + x), XS, True),
    "numbers": (lambda c, x: (c + x, x * 2), TIMES, True),
    "a captured number": (lambda c, x: (c * x + np.float32(3), c > x), XS, True),
    "a choice": (lambda c, x: (cnp.where(c > 0, x, c), None), XS, True),
    "no xs": (lambda c, _: (cnp.sin(c), c), None, True),
    "a call": (lambda c, x: (cv.jit(nn.gelu)(c) + x, None), XS, True),
    "a whole array": (lambda c, x: (c + C * x, None), XS, False),
    "a row": (lambda c, x: (c + c[0], x), XS, False),
    "a sum": (lambda c, x: (c + x.sum(), None), XS, False),
    "a reversed array": (lambda c, x: (c[::-1] + x, None), XS, False),
    "another shape": (lambda c, x: (c + x[:, :1], x[:, 0]), XS, False),
}


def scan_of(f, *args):
    jaxpr = cv.make_jaxpr(f)(*args).jaxpr
    (equation,) = [e for e in jaxpr.equations if e.op.name == "scan"]
    return equation.op, [a.type for a in equation.inputs]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_steps_on_elements_and_others(name, reverse):
    step, xs, is_flat = STEPS[name]
    length = None if xs is not None else 9

    def f(c, xs):
        return lax.scan(step, c, xs, length=length, reverse=reverse)

    assert (over_flat_arrays(*scan_of(f, C, xs)) is not None) == is_flat
    got = cv.tree.leaves(cv.jit(f)(C, xs))
    with cv.disable_jit():
        wanted = cv.tree.leaves(f(cnp.array(C), xs if xs is None else cnp.array(xs)))
    for a, b in zip(got, wanted, strict=True):
        assert a.type == b.type
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool", "complex64"])
def test_dtypes(dtype):
    xs, c = cnp.asarray(XS > 0).astype(dtype), cnp.asarray(C > 0).astype(dtype)
    step = lambda c, x: (cnp.where(x == c, c, x), c)  # noqa: E731
    got = cv.jit(lambda c, xs: lax.scan(step, c, xs))(c, xs)
    with cv.disable_jit():
        wanted = lax.scan(step, c, xs)
    for a, b in zip(got, wanted, strict=True):
        assert a.type == b.type
        assert np.array_equal(np.asarray(a), np.asarray(b))


def test_gradients_and_batches():
    def f(c, xs):
        return lax.scan(lambda c, x: (cnp.logaddexp(c, x), None), c, xs)[0].sum()

    got = cv.jit(cv.grad(f, (0, 1)))(C, XS)
    with cv.disable_jit():
        wanted = cv.grad(f, (0, 1))(cnp.array(C), cnp.array(XS))
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    many = cv.jit(cv.vmap(f, (0, None)))(np.stack([C, 2 * C]), XS)
    np.testing.assert_allclose(many[1], f(2 * C, XS), rtol=1e-5)


@pytest.mark.parametrize("shape", [(9,), (), (3, 0), (0, 3, 2)])
def test_flat_and_empty_arrays(shape):
    c, xs = cnp.ones(shape), cnp.ones((4, *shape))
    out, ys = cv.jit(lambda c, xs: lax.scan(lambda c, x: (c + x, c), c, xs))(c, xs)
    assert (out.shape, ys.shape) == (shape, (4, *shape))
    assert (out == 5).all()


def test_loops_over_several_devices_and_of_large_steps_stay_as_they_are():
    mesh = cv.make_mesh((4,), ("i",))
    over = cv.NamedSharding(mesh, cv.P(None, "i"))
    xs = cv.device_put(np.ones((3, 8, 7), np.float32), over)
    f = cv.jit(lambda c, xs: lax.scan(lambda c, x: (c + x, None), c, xs)[0])
    assert "tensor<56xf32>" not in f.lower(np.ones((8, 7), np.float32), xs).as_text()
    small = f.lower(np.ones((8, 7), np.float32), np.ones((3, 8, 7), np.float32))
    assert "tensor<56xf32>" in small.as_text()
    large = f.lower(*[np.ones(s, np.float32) for s in ((3000, 7), (3, 3000, 7))])
    assert "tensor<21000xf32>" not in large.as_text()
    assert client.device_platform(cv.devices()[0]) == "cpu"
