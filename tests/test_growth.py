"""Growth: nothing is kept of calls that are over, for each kind of call.

Caches are bounded, so with small bounds a loop over ever new functions, values and
shapes reaches a state in which objects come and go, and their number stays.
"""

import contextlib
import functools
import gc
import itertools
from collections import deque

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core import convert, jaxpr, operation_caches, primitive, types
from covector.dispatch import program_cache, recompiles
from covector.numpy import promote
from covector.programs.higher_order import hash_consing
from covector.runtime import compilation_cache

X = cnp.asarray(np.arange(4, dtype=np.float32))
BOUND = 4


@pytest.fixture(autouse=True)
def small_caches(monkeypatch):
    for module in (hash_consing, program_cache, recompiles):
        monkeypatch.setattr(module, "_CAPACITY", BOUND)
    monkeypatch.setattr(compilation_cache, "_ENTRIES_IN_MEMORY", BOUND)
    monkeypatch.setattr(operation_caches, "MOST_INSTANCES", 4 * BOUND)
    monkeypatch.setattr(primitive, "MOST_PLANS", 4 * BOUND)
    monkeypatch.setattr(jaxpr, "MOST_MEMOS", BOUND)
    monkeypatch.setattr(types, "_recent", deque(maxlen=BOUND))
    # What earlier tests left in larger caches would be dropped only little by little.
    for operation in operations(primitive.Primitive):
        monkeypatch.setattr(operation, "instances", {})
    cv.clear_caches()


def operations(cls):
    """All classes of operations."""
    return [cls, *[x for sub in cls.__subclasses__() for x in operations(sub)]]


def kept(c):
    """A custom function over an ever new closure."""
    f = cv.custom_vjp(lambda x: x * c)
    f.defvjp(lambda x: (x * c, None), lambda _, ct: (ct * c,))
    return f


#: one step each; ``c`` is another number every time
CALLS = {
    "an operation": lambda c: X * c + cnp.sin(X),
    "numbers": lambda c: float(X[1]) + c,
    "updates": lambda c: X.at[1].set(c) + X.at[2].add(c),
    "jit": lambda c: cv.jit(lambda x: x * c)(X),
    "jit of one function": lambda c: KEPT(X, c),
    "static arguments": lambda c: cv.jit(lambda x, n: x * n, static_argnums=1)(X, c),
    "grad": lambda c: cv.grad(lambda x: cnp.sum(x * c))(X),
    "vjp": lambda c: cv.vjp(lambda x: x * c, X)[1](X),
    "jvp": lambda c: cv.jvp(lambda x: x * c, (X,), (X,)),
    "linearize": lambda c: cv.linearize(lambda x: x * c, X)[1](X),
    "vmap": lambda c: cv.vmap(lambda x: x * c)(X),
    "jacfwd": lambda c: cv.jacfwd(lambda x: x * c)(X),
    "custom_vjp": lambda c: cv.grad(lambda x: kept(c)(x).sum())(X),
    "checkpoint": lambda c: cv.checkpoint(lambda x: x * c)(X),
    "grad of checkpoint": lambda c: cv.grad(
        lambda x: cv.checkpoint(lambda x: cnp.sum(x * c))(x * 2)
    )(X),
    "cond": lambda c: lax.cond(c > 0, lambda x: x + c, lambda x: x - c, X),
    "cond of an array": lambda c: lax.cond(X[1] > 0, lambda x: x + c, lambda x: x, X),
    "switch": lambda c: lax.switch(1, [lambda x: x + c, lambda x: x - c], X),
    "scan": lambda c: lax.scan(lambda s, x: (s + x * c, s), 0.0, X),
    "map": lambda c: lax.map(lambda x: x + c, X),
    "fori_loop": lambda c: lax.fori_loop(0, 2, lambda _, x: x + c, X),
    "while_loop": lambda c: lax.while_loop(lambda x: x < c, lambda x: x + c, 0.0),
    "grad of while_loop": lambda c: cv.grad(
        lambda x: lax.while_loop(lambda y: y < c, lambda y: y * 2.0, x)
    )(0.5 * c),
    "eval_shape": lambda c: cv.eval_shape(lambda x: x * c, X),
    "make_jaxpr": lambda c: cv.make_jaxpr(lambda x: x * c)(X),
    "pure_callback": lambda c: cv.pure_callback(lambda x: x * np.float32(c), X, X),
    "random numbers": lambda c: cv.random.normal(cv.random.key(int(1000 * c)), (3,)),
    "new shapes": lambda c: cnp.ones((int(1000 * c),)).reshape(1, -1)[:, 1:].sum(),
}
KEPT = cv.jit(lambda x, c: x * c)


def under_options(c):
    with cv.enable_x64(), cv.default_matmul_precision("highest"):
        X * c


def with_an_exception(c):
    with contextlib.suppress(TypeError):
        cv.jit(lambda x: x * c + "c")(X)


CALLS |= {"options": under_options, "an exception": with_an_exception}


def objects_after(step, numbers, count, caches):
    for c in itertools.islice(numbers, count):
        step(c)
    gc.collect()
    for cache in [*caches, *caches_of_covector()]:  # bounded as well, by functools
        cache.cache_clear()
    gc.collect()
    return len(gc.get_objects())


LRU = type(functools.lru_cache(lambda: None))


def caches_of_covector():
    objects = gc.get_objects()
    return [
        x for x in objects if type(x) is LRU and x.__module__.startswith("covector")
    ]


@pytest.fixture(scope="module")
def caches(with_all_objects):
    return with_all_objects(caches_of_covector)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_kept_of_what_is_over(name, caches):
    numbers = itertools.count(1.0, 0.001)
    step = CALLS[name]
    before = objects_after(step, numbers, 5 * BOUND, caches)
    for _ in range(3):  # threads that earlier tests left make objects, too
        after = objects_after(step, numbers, 4 * BOUND, caches)
        if after - before < 2 * BOUND:  # less than one object in two steps
            return
        before = after
    pytest.fail("each call keeps something")


@pytest.mark.parametrize("name", ["jit", "checkpoint", "grad of checkpoint"])
def test_arrays_that_functions_close_over_are_freed(name, caches):
    """Also what programs over them were compiled to: a megabyte a step otherwise."""

    def step(k):
        big = cnp.full((256, 256), k)
        f = {
            "jit": lambda: cv.jit(lambda x: cnp.sum(x * big)),
            "checkpoint": lambda: cv.checkpoint(lambda x: cnp.sum(x * big)),
            "grad of checkpoint": lambda: cv.grad(
                cv.checkpoint(lambda x: cnp.sum(x * big))
            ),
        }[name]()
        f(1.0)

    numbers = itertools.count(1.0)
    before = objects_after(step, numbers, 4, caches)
    assert objects_after(step, numbers, 8, caches) - before <= 4
    assert len(program_cache._entries) <= 1


def test_of_ever_new_numbers_a_thousand_are_kept():
    """Whoever counts objects over a loop would take more for a leak."""
    for k in range(3000):
        X * (k + 0.5)
    for cache in (promote._meet, convert._scalar):
        assert cache.cache_info().currsize <= 1024
