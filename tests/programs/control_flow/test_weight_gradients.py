"""The cotangent of a weight is one product after the loop, where that is quicker."""

from collections import OrderedDict

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core.staging import stage
from covector.programs.control_flow import weight_gradients
from covector.programs.control_flow.scan import Scan
from tests.programs.control_flow.test_scan import unrolled
from tests.programs.transformed import assert_alike

rng = np.random.default_rng(0)
W, H, XS = [0.5 * rng.normal(size=shape) for shape in ((4, 4), (2, 4), (3, 2, 4))]


def recurrent(scan, w, h, xs):
    return scan(lambda h, x: (cnp.tanh(h @ w + x), h), h, xs)


def from_the_end(scan, w, h, xs):
    return scan(lambda h, x: (cnp.tanh(h @ w + x), h), h, xs, reverse=True)


def transposed(scan, w, h, xs):
    return scan(lambda h, x: (cnp.tanh(h @ w.T + x), None), h, xs)


def twice(scan, w, h, xs):
    return scan(lambda h, x: (cnp.tanh(h @ w) + x @ w, None), h, xs)


def of_single_rows(scan, w, h, xs):
    """Outer products, without an axis that is contracted."""
    return scan(lambda h, x: (cnp.tanh(w @ h) * x[0], h), h[0], xs)


def of_outputs_alone(scan, w, h, xs):
    return scan(lambda h, x: (h, x @ w), h, xs)


def in_another_way_too(scan, w, h, xs):
    """Not only products: the sum stays in the loop."""
    return scan(lambda h, x: (cnp.tanh(h @ w + x) * cnp.sum(w * w), h), h, xs)


def shared_by_two(scan, w, h, xs):
    """The product is also read by the loop itself."""

    def step(c, x):
        h, v = c
        both = cnp.tanh(h @ w + x)
        return (both, v + cnp.sum(w)), both @ w

    return scan(step, (h, 0.0), xs)


def nested(scan, w, h, xs):
    def step(h, x):
        return scan(lambda h, y: (cnp.tanh(h @ w + y), None), h, xs * x)

    return scan(step, h, xs)


LOOPS = [
    recurrent,
    from_the_end,
    transposed,
    twice,
    of_single_rows,
    of_outputs_alone,
    in_another_way_too,
    shared_by_two,
    nested,
]


@pytest.fixture
def always(monkeypatch):
    """Products of any size; and no program from before."""
    monkeypatch.setattr(weight_gradients, "LARGE", 0)
    monkeypatch.setattr(
        "covector.programs.higher_order.hash_consing._programs", OrderedDict()
    )


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", ["grad", "vmap of grad", "jit of grad of vmap"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_steps(loop, name):
    assert_alike(
        lambda *args: loop(lax.scan, *args),
        lambda *args: loop(unrolled, *args),
        (W, H, XS),
        name,
    )


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("loop", [recurrent, twice], ids=lambda f: f.__name__)
def test_second_derivatives_are_those_of_the_steps(loop):
    assert_alike(
        lambda *args: loop(lax.scan, *args),
        lambda *args: loop(unrolled, *args),
        (W, H, XS),
        "second order",
    )


def backward_scan(loop, width, batch):
    """The scan of the gradient with respect to the weights, and its operands."""
    shapes = (width, width), (batch, width), (5, batch, width)
    types = [cnp.zeros(shape).type for shape in shapes]

    def total(w, h, xs):
        return cnp.sum(loop(lax.scan, w, h, xs)[0])

    program = stage(lambda *args: [cv.grad(total)(*args)], types).jaxpr
    scans = [e for e in program.equations if isinstance(e.op, Scan)]
    return [str(v.type) for v in scans[-1].outputs]


def test_a_large_product_is_not_added_up_in_the_loop():
    assert backward_scan(recurrent, 256, 4) == ["f32[4,256]", "f32[5,4,256]"]
    assert backward_scan(twice, 256, 4)[:2] == ["f32[4,256]", "f32[5,4,256]"]


@pytest.mark.parametrize(
    ("loop", "width", "batch"),
    [(recurrent, 16, 4), (recurrent, 256, 200), (in_another_way_too, 256, 4)],
)
def test_what_is_small_or_no_product_is(loop, width, batch):
    """Small, or of factors that take more memory, or not a product alone."""
    assert backward_scan(loop, width, batch)[0] == f"f32[{width},{width}]"


def test_no_steps_give_zeros():
    f = lambda w: cnp.sum(recurrent(lax.scan, w, H, XS[:0])[0])  # noqa: E731
    with cv.enable_x64():
        assert not np.any(cv.grad(f)(W))
        wide = lambda w: cnp.sum(  # noqa: E731
            recurrent(lax.scan, w, np.ones((2, 256)), np.ones((0, 2, 256)))[0]
        )
        assert not np.any(cv.grad(wide)(np.ones((256, 256))))
