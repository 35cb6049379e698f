"""``checking_leaks``: traced values that outlive their trace, and who holds them."""

import gc

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.core.trace import Trace

X = cnp.asarray(np.arange(4, dtype=np.float32))

saved: list = []
last: dict = {}


@pytest.fixture(autouse=True)
def nothing_saved():
    yield
    saved.clear()
    last.clear()
    Model.best = None


class Model:
    best = None

    def __call__(self, x):
        self.last = x * 2
        return x


class Slotted:
    __slots__ = ("last",)

    def __call__(self, x):
        self.last = x * 2
        return x


def into_list(x):
    saved.append(cnp.sin(x))
    return x


def into_dict(x):
    last["x"] = x * 2
    return x


def into_class(x):
    Model.best = x + 1
    return x


def into_closure():
    kept = []

    def f(x):
        kept.append(x * 3)
        return x

    return f


def inside_of_a_loop(x):
    def body(c, _):
        saved.append(c)
        return c + 1.0, None

    return lax.scan(body, x, None, length=2)[0]


LEAKS = {
    "a global list": (into_list, r"the global saved of \S*test_leaks \(in a list\)"),
    "a global dict": (into_dict, r"the global last of \S*test_leaks \(in a dict\)"),
    "an attribute": (Model(), "the attribute last of a Model still"),
    "a slot": (Slotted(), "Slotted still"),
    "a class": (into_class, "the class Model"),
    "a closure": (
        into_closure(),
        r"the closure value kept of the function into_closure.<locals>.f \(in a list\)",
    ),
    "the body of a loop": (inside_of_a_loop, "the global saved of"),
}

TRANSFORMS = {
    "jit": lambda f: cv.jit(f)(1.0),
    "grad": lambda f: cv.grad(f)(1.0),
    "vmap": lambda f: cv.vmap(f)(X),
    "jvp": lambda f: cv.jvp(f, (1.0,), (1.0,)),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(("f", "holder"), LEAKS.values(), ids=LEAKS)
def test_who_holds_a_leaked_value_is_named(f, holder, transform):
    with cv.checking_leaks(), pytest.raises(errors.LeakedTracerError) as caught:
        transform(f)
    with pytest.raises(errors.LeakedTracerError, match=holder):
        raise caught.value
    assert "has ended, but the" in str(caught.value) or "Slotted" in str(caught.value)
    assert "Return the value from the transformed function" in str(caught.value)
    assert isinstance(caught.value, errors.UnexpectedTracerError)


def test_the_line_that_made_the_value_is_named():
    line = f"{__file__}:{into_list.__code__.co_firstlineno + 1}"
    with cv.checking_leaks(), pytest.raises(errors.LeakedTracerError) as caught:
        cv.jit(into_list)(1.0)
    assert f"a traced value of type f32[]. It was made at {line} (into_list)" in str(
        caught.value
    )


# -- what is no leak -------------------------------------------------------------------


def fails(x):
    return x.reshape(7)


def catches(x):
    try:
        bool(x > 0)
    except (TypeError, ValueError) as error:
        saved.append(error)  # its frames hold x
    return x


def carries_functions(x):
    g = cv.jit(lambda y: cnp.sin(y) * x)
    h = cv.checkpoint(lambda y: g(y) ** 2)
    return cnp.sum(cv.vmap(cv.grad(lambda y: cnp.sum(h(y))))(x[None] * x[:1]))


def keeps_what_is_known(x):
    saved.append(cnp.arange(3) + 1)
    saved.append(x.shape)
    return x


def control_flow(x):
    c, ys = lax.scan(lambda c, y: (c + y, c * y), 0.0, x)
    c = lax.cond(c > 1, lambda c: c * 2, cnp.sin, c)
    return lax.fori_loop(0, 3, lambda i, c: c * 1.5, c) + cnp.sum(ys)


@cv.custom_jvp
def with_a_rule(x):
    return x**2


with_a_rule.defjvp(lambda p, t: (with_a_rule(*p), 2 * p[0] * t[0]))

CLEAN = {
    "an error that was caught": catches,
    "functions of traced values": carries_functions,
    "known values": keeps_what_is_known,
    "control flow": control_flow,
    "a rule of a user": with_a_rule,
}


@pytest.mark.parametrize("f", CLEAN.values(), ids=CLEAN)
def test_what_goes_with_its_frame_is_no_leak(f):
    with cv.checking_leaks():
        cv.jit(f)(X)
        cv.grad(lambda x: cnp.sum(f(x)))(X)
        cv.vmap(f)(cnp.stack([X, X]))
        value, pull = cv.vjp(f, X)
        pull(value)


def test_an_error_of_the_function_is_the_one_that_is_raised():
    with cv.checking_leaks(), pytest.raises(errors.TypeMismatch, match="reshape"):
        cv.jit(fails)(X)


# -- when it looks ---------------------------------------------------------------------


def test_it_costs_nothing_when_it_is_off(monkeypatch):
    assert not Trace.watched
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("nobody asked"))
    cv.jit(into_list)(1.0)
    cv.grad(into_list)(1.0)
    with cv.check_tracer_leaks(False):
        cv.vmap(into_list)(X)


@pytest.mark.parametrize("name", ["check_tracer_leaks", "jax_check_tracer_leaks"])
def test_the_option_of_the_process(name):
    cv.config.update(name, True)
    try:
        with pytest.raises(errors.LeakedTracerError):
            cv.grad(into_dict)(1.0)
    finally:
        cv.config.update(name, False)
    assert not Trace.watched
    cv.grad(into_dict)(1.0)
