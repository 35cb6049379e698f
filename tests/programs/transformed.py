"""What a function gives under every transformation, to be compared with another's.

A loop or a branch is right if it cannot be told from the same computation written out
in Python. ``TRANSFORMATIONS`` are the ways to look: each takes a function of arrays and
its arguments, float64, and gives a list of NumPy arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import covector as cv
from covector import tree
from covector.core import dtypes
from covector.core.convert import as_array
from covector.operations.arithmetic import add
from covector.operations.broadcasting import ReduceSum
from covector.operations.transcendental import sin
from covector.transforms.vmap import vmap

LANES = 3


def leaves(out: Any) -> list[Any]:
    """The leaves of a result, without the tangents of integers."""
    return [x for x in map(as_array, tree.leaves(out)) if x.type.dtype != dtypes.float0]


def host(out: Any) -> list[np.ndarray]:
    """The values of the leaves of a result."""
    return [np.asarray(x) for x in leaves(out)]


def tangent(seed: int, x: Any) -> np.ndarray:
    """Another array of that shape and dtype: a tangent, or a neighbour."""
    return (
        np.random.default_rng(seed).normal(size=np.shape(x)).astype(np.asarray(x).dtype)
    )


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    """A scalar that all floating-point results of ``f`` have a part in."""

    def scalar(*args: Any) -> Any:
        total = as_array(np.float64(0))
        for out in tree.leaves(f(*args)):
            x = as_array(out)
            if x.type.inexact:
                axes = tuple(range(x.type.ndim))
                total = add(total, ReduceSum(axes)(sin(x)))
        return total

    return scalar


def gradient(f: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """The gradient of ``loss(f)`` with respect to all of the arguments."""
    return cv.grad(loss(f), argnums=tuple(range(len(args))))


def value(f: Any, args: Any) -> Any:
    return host(f(*args))


def jitted(f: Any, args: Any) -> Any:
    return host(cv.jit(f)(*args))


def forward(f: Any, args: Any, jit: Any = cv.jit) -> Any:
    found = []
    for k in range(len(args)):
        only = lambda x, k=k: f(*args[:k], x, *args[k + 1 :])  # noqa: E731
        found += host(cv.jvp(only, (args[k],), (tangent(k, args[k]),)))
    both = jit(lambda *tangents: leaves(cv.jvp(f, args, tangents)))
    return found + host(both(*map(tangent, range(9), args)))


def linear(f: Any, args: Any) -> Any:
    out, push = cv.linearize(f, *args)
    return host(out) + host(push(*map(tangent, range(9), args)))


def backward(f: Any, args: Any, jit: Any = cv.jit) -> Any:
    found = []
    for k in range(len(args)):
        found += host(cv.grad(loss(f), argnums=k)(*args))
    return found + host(jit(gradient(f, args))(*args))


def second(f: Any, args: Any, jit: Any = cv.jit) -> Any:
    """Forward over reverse, reverse over forward, reverse over reverse."""
    first = gradient(f, args)
    tangents = tuple(map(tangent, range(9), args))
    slope = lambda *xs: cv.jvp(loss(f), xs, tangents)[1]  # noqa: E731
    every = tuple(range(len(args)))
    return [
        *host(cv.jvp(first, args, tangents)),
        *host(jit(cv.grad(slope, argnums=every))(*args)),
        *host(cv.grad(loss(first), argnums=every)(*args)),
    ]


def as_it_is(f: Any) -> Any:
    """In place of jit, for what is not to be compiled."""
    return f


def subsets(args: Sequence[Any]) -> list[tuple[bool, ...]]:
    """Choices of arguments of which there is a batch: each alone, and all."""
    count = len(args)
    return [tuple([i == k for i in range(count)]) for k in range(count)] + [
        (True,) * count
    ]


def of_batch(f: Any, args: Any, axis: int, map_: Any) -> list[np.ndarray]:
    """``f`` over batches of some of the arguments, for each choice of them."""
    found = []
    for chosen in subsets(args):
        batch = [
            np.stack(
                [x, *[tangent(7 * m, x) for m in range(1, LANES)]],
                axis % (x.ndim + 1),
            )
            if c
            else x
            for x, c in zip(map(np.asarray, args), chosen, strict=True)
        ]
        axes = tuple(
            axis % x.ndim if c else None for x, c in zip(batch, chosen, strict=True)
        )
        found += host(map_(f, axes)(*batch))
    return found


def lanes(f: Any, axes: Any) -> Any:
    """``vmap`` by its definition: each lane by itself."""

    def over_batch(*args: Any) -> Any:
        def lane(m: int) -> list[Any]:
            pairs = zip(args, axes, strict=True)
            return [as_array(x if d is None else np.take(x, m, d)) for x, d in pairs]

        outs = [f(*lane(m)) for m in range(LANES)]
        return tree.map(
            lambda *xs: np.stack([np.asarray(as_array(x)) for x in xs]), *outs
        )

    return over_batch


#: name: what is done to the loop, and what the computation written out is compared by
TRANSFORMATIONS = {
    "value": (value, value),
    "jit": (jitted, value),
    "jvp": (forward, lambda f, args: forward(f, args, as_it_is)),
    "linearize": (linear, linear),
    "grad": (backward, lambda f, args: backward(f, args, as_it_is)),
    "second order": (second, lambda f, args: second(f, args, as_it_is)),
    "vmap": (
        lambda f, args: of_batch(f, args, 0, vmap),
        lambda f, args: of_batch(f, args, 0, lanes),
    ),
    "vmap of last axes": (
        lambda f, args: of_batch(f, args, -1, vmap),
        lambda f, args: of_batch(f, args, -1, lanes),
    ),
    "vmap of grad": (
        lambda f, args: of_batch(gradient(f, args), args, 0, vmap),
        lambda f, args: of_batch(gradient(f, args), args, 0, lanes),
    ),
    "jit of grad of vmap": (
        lambda f, args: _grad_of_batch(f, args, vmap),
        lambda f, args: _grad_of_batch(f, args, lanes),
    ),
}


def _grad_of_batch(f: Any, args: Any, map_: Any) -> list[np.ndarray]:
    """The gradient with respect to a whole batch; each lane has its own."""
    if map_ is lanes:
        return of_batch(gradient(f, args), args, 0, members_only)
    return of_batch(f, args, 0, _grad_of_vmap)


def _grad_of_vmap(f: Any, axes: Any) -> Any:
    batched = tuple(k for k, d in enumerate(axes) if d is not None)
    return cv.jit(cv.grad(loss(vmap(f, axes)), argnums=batched))


def members_only(f: Any, axes: Any) -> Any:
    """Gradients of each lane with respect to the arguments that differ."""

    def over_batch(*args: Any) -> Any:
        outs = lanes(f, axes)(*args)
        return [g for g, d in zip(outs, axes, strict=True) if d is not None]

    return over_batch


#: transformations that take long: what goes wrong in them goes wrong for few kinds of
#: body
LONG = ("second order", "jit of grad of vmap")


def assert_alike(f: Any, reference: Any, args: Sequence[Any], name: str) -> None:
    """The two functions of float64 arrays cannot be told apart by a transformation."""
    one, other = TRANSFORMATIONS[name]
    with cv.options.override(enable_x64=True):
        args = tuple(map(as_array, args))
        found, wanted = one(f, args), other(reference, args)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
