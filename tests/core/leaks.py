"""Functions that keep traced values and ones that keep none, for ``test_leaks.py``.

Who holds a value is looked for among all objects of a process, so the functions run in
a small one: ``main`` gives what ``checking_leaks`` says of each of them.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import errors, lax, options
from covector.core.trace import Trace

X = cnp.asarray(np.arange(4, dtype=np.float32))

saved: list = []
last: dict = {}


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
    "a global list": (into_list, r"the global saved of tests.core.leaks \(in a list\)"),
    "a global dict": (into_dict, r"the global last of tests.core.leaks \(in a dict\)"),
    "an attribute": (Model(), "the attribute last of a Model still"),
    "a slot": (Slotted(), "Slotted still"),
    "a class": (into_class, "the class Model"),
    "a closure": (
        into_closure(),
        r"the closure value kept of the function f \(in a list\)",
    ),
    "the body of a loop": (inside_of_a_loop, "the global saved of"),
}

TRANSFORMS = {
    "jit": lambda f: cv.jit(f)(1.0),
    "grad": lambda f: cv.grad(f)(1.0),
    "vmap": lambda f: cv.vmap(f)(X),
    "jvp": lambda f: cv.jvp(f, (1.0,), (1.0,)),
}


# -- what is no leak -------------------------------------------------------------------


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


def every_transformation(f: Callable[..., Any]) -> None:
    cv.jit(f)(X)
    cv.grad(lambda x: cnp.sum(f(x)))(X)
    cv.vmap(f)(cnp.stack([X, X]))
    value, pull = cv.vjp(f, X)
    pull(value)


# -- what is said of them --------------------------------------------------------------

OPTIONS = ("check_tracer_leaks", "jax_check_tracer_leaks")


def words(call: Callable[[], Any]) -> str | None:
    """What a call is told about a traced value that got out."""
    try:
        call()
    except errors.LeakedTracerError as error:
        return " ".join(str(error).split())
    finally:
        saved.clear()
        last.clear()
        Model.best = None
    return None


def main() -> str:
    """The words for each function, None where there is no leak, as JSON."""
    options.settings.check_programs = True
    found: dict[str, str | None] = {}
    with cv.checking_leaks():
        for leak, (f, _) in LEAKS.items():
            for name, transform in TRANSFORMS.items():
                found[f"{leak}, {name}"] = words(lambda f=f, t=transform: t(f))
        for name, f in CLEAN.items():
            found[name] = words(lambda f=f: every_transformation(f))
    for name in OPTIONS:
        cv.config.update(name, True)
        found[f"{name} on"] = words(lambda: cv.grad(into_dict)(1.0))
        cv.config.update(name, False)
        assert Trace.watch is None
        found[f"{name} off"] = words(lambda: cv.grad(into_dict)(1.0))
    return json.dumps(found)
