"""Interrupts at any call, and exceptions at every operation: what is left behind.

    python -m tests.anomalies.interruptions SEED ROUNDS

A profile function raises KeyboardInterrupt at the n-th call or return of a Python
function while a program runs. Whatever it hits, the library is afterwards as before:
no transformation and no option is in force, and the program gives what it gave.
"""

import contextlib
import gc
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import options
from covector.core.source import scopes
from covector.core.trace import current
from covector.dispatch import recompiles
from covector.lowering.evaluate import base

X = np.linspace(0.1, 1, 4, dtype=np.float32)
Step = Callable[[], None]


def body(x: Any, step: Step) -> Any:
    """A few operations, with something that may fail between each two."""
    step()
    y = cnp.sin(x)
    step()
    y = y * x
    step()
    y = cnp.cumsum(y)
    step()
    return y[::-1] + 1


def eager(c: float, step: Step) -> Any:
    with cv.default_matmul_precision("high"), cv.named_scope("eager"):
        return body(cnp.asarray(X) * c, step)


def jitted(c: float, step: Step) -> Any:
    return cv.jit(lambda x: body(x, step) * c)(X)


def gradient(c: float, step: Step) -> Any:
    return cv.grad(lambda x: body(x, step).sum() * c)(X)


def compiled_gradient(c: float, step: Step) -> Any:
    return cv.jit(cv.grad(lambda x: (body(x, step) * c).sum()))(X)


def batched(c: float, step: Step) -> Any:
    return cv.vmap(lambda x: body(x * c, step))(np.stack([X, X + 1]))


def scanned(c: float, step: Step) -> Any:
    return cv.lax.scan(lambda a, x: (body(a * x, step), a), X * c, X)


def looped(c: float, step: Step) -> Any:
    def once(carry: Any) -> Any:
        return carry[0] + 1, body(carry[1], step)

    return cv.lax.while_loop(lambda carry: carry[0] < 3, once, (0, X * c))


def branched(c: float, step: Step) -> Any:
    one = cv.lax.cond(X[0] < c, lambda x: body(x, step), lambda x: x * 2, X)
    return cv.vmap(lambda p: cv.lax.cond(p > c, lambda: body(one, step), lambda: one))(
        X
    )


def recomputed(c: float, step: Step) -> Any:
    return cv.grad(cv.checkpoint(lambda x: body(x * c, step).sum()))(X)


def with_a_rule(c: float, step: Step) -> Any:
    fun = cv.custom_vjp(lambda x: body(x, step))
    fun.defvjp(lambda x: (body(x, step), x), lambda x, g: (body(g, step) * x * c,))
    return cv.grad(lambda x: fun(x).sum())(X)


def forward(c: float, step: Step) -> Any:
    return cv.jvp(cv.jit(lambda x: body(x, step) * c), (X,), (X,))


def over_devices(c: float, step: Step) -> Any:
    mesh = cv.make_mesh((1,), ("x",))
    with cv.set_mesh(mesh):
        fun = cv.shard_map(
            lambda x: body(x, step) * c, in_specs=cv.P("x"), out_specs=cv.P("x")
        )
        return cv.jit(fun)(X)


PROGRAMS: dict[str, Callable[[float, Step], Any]] = {
    fun.__name__: fun
    for fun in (
        eager,
        jitted,
        gradient,
        compiled_gradient,
        batched,
        scanned,
        looped,
        branched,
        recomputed,
        with_a_rule,
        forward,
        over_devices,
    )
}


def nothing() -> None:
    """What happens between operations where nothing fails."""


def result(name: str, c: float, step: Step = nothing) -> bytes:
    leaves = cv.tree.leaves(PROGRAMS[name](c, step))
    return b"".join([np.asarray(leaf).tobytes() for leaf in leaves])


def left_behind() -> str:
    """What is in force outside of everything; nothing, in a clean library."""
    found = {
        "a transformation": current.trace is not base,
        "options": options._innermost.get() is not None,
        "a name": scopes.innermost.get() is not None,
        "a tracing": recompiles.depth.now != 0,
    }
    return ", ".join([what for what, there in found.items() if there])


class _Interrupt:
    """A profile function that interrupts at the n-th event, and counts them."""

    def __init__(self, at: int | None) -> None:
        self.count, self.at = 0, at

    def __call__(self, *_: Any) -> None:
        self.count += 1
        if self.count == self.at:
            sys.setprofile(None)
            raise KeyboardInterrupt


@contextlib.contextmanager
def profiled(profile: _Interrupt) -> Iterator[None]:
    gc.collect()
    gc.disable()  # an interrupt in a finalizer is dropped by Python, and is none
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        gc.enable()


def interrupted(name: str, c: float, chance: random.Random) -> str:
    """What is wrong after an interrupt of a program; nothing where all is well."""
    counting = _Interrupt(None)
    with profiled(counting):
        expected = result(name, c)
    # Now another constant, so that it is traced and compiled anew while interrupted.
    new = c + 0.5
    at = chance.randrange(1, counting.count)
    try:
        with profiled(_Interrupt(at)):
            result(name, new)
    except KeyboardInterrupt:
        pass
    except BaseException as error:  # noqa: BLE001  whatever it is, it is told
        return f"{name}, interrupted at {at}: {type(error).__name__}: {error}"
    wrong = left_behind()
    if wrong:
        return f"{name}, interrupted at {at}: {wrong} left behind"
    again, other = result(name, c), result(name, new)
    if again != expected or other != result(name, new):
        return f"{name}, interrupted at {at}: other values"
    return ""


class Planted(Exception):
    """What a traced function raises."""


def failing(name: str, c: float) -> str:
    """What is wrong after exceptions at each operation of a program, one by one."""
    seen = []
    expected = result(name, c, lambda: seen.append(1))
    for at in range(len(seen)):
        count = [0]

        def step(at: int = at, count: list[int] = count) -> None:
            count[0] += 1
            if count[0] > at:
                raise Planted

        try:
            result(name, c, step)
        except Planted:
            wrong = left_behind()
        else:
            wrong = "no exception" if at < count[0] else ""
        if wrong:
            return f"{name}, failing at operation {at}: {wrong}"
    return "" if result(name, c) == expected else f"{name}: other values"


def failures(seed: int, rounds: int) -> list[str]:
    """What is wrong after this many interrupts."""
    chance = random.Random(seed)
    names = list(PROGRAMS)
    found = []
    for k in range(rounds):
        wrong = interrupted(names[k % len(names)], 1.0 + k / 1024, chance)
        if wrong:
            found.append(f"seed {seed}, round {k}: {wrong}")
    return found


if __name__ == "__main__":
    wrong = failures(*map(int, sys.argv[1:]))
    sys.stdout.write("\n".join([*wrong, f"{len(wrong)} failures\n"]))
