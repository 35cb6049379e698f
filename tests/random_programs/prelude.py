"""What random programs are written in: covector, and a few functions of functions.

A printed script begins with the source of this module.
"""

from functools import partial

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.ad_checkpoint import checkpoint_name
from covector.custom_batching import custom_vmap, sequential_vmap
from covector.custom_derivatives import linear_call

__all__ = ["P", "checkpoint_name", "lax", "partial", "sequential_vmap"]


def ramp(x, slope):
    """``x`` with ties broken: each element is moved by another amount."""
    return x + slope * cnp.arange(x.size, dtype=x.dtype).reshape(x.shape)


def total(f):
    """The sum of a result's cosines: a scalar to differentiate."""
    return lambda *args: cnp.sum(cnp.cos(f(*args)))


def with_jvp_rule(f):
    """``f`` with a rule for forward mode, which says what is true anyway."""
    g = cv.custom_jvp(f)
    g.defjvp(lambda primals, tangents: cv.jvp(f, primals, tangents))
    return g


def with_vjp_rule(f):
    """``f`` with a rule for reverse mode, which keeps the arguments."""
    g = cv.custom_vjp(f)
    g.defvjp(lambda *xs: (f(*xs), xs), lambda xs, ct: cv.vjp(f, *xs)[1](ct))
    return g


def with_both_rules(f):
    """``f`` with rules for both modes."""
    g = with_vjp_rule(f)
    g.defjvp(lambda primals, tangents: cv.jvp(f, primals, tangents))
    return g


def with_vjp_of_jvp(f):
    """``f`` with a rule for reverse mode that transposes forward mode."""

    def backward(xs, ct):
        push = cv.linearize(f, *xs)[1]
        return cv.linear_transpose(push, *xs)(ct)

    g = cv.custom_vjp(f)
    g.defvjp(lambda *xs: (f(*xs), xs), backward)
    return g


def with_gradient(f):
    """``f`` with its gradient given beside its value."""

    def both(*xs):
        out, pull = cv.vjp(f, *xs)
        return out, pull

    return cv.custom_gradient(both)


def with_batching_rule(f):
    """``f`` with a batching rule, which says what is true anyway."""
    g = custom_vmap(f)

    def rule(size, in_batched, *xs):
        axes = [0 if b else None for b in in_batched]
        return cv.vmap(f, in_axes=axes, axis_size=size)(*xs), True

    g.def_vmap(rule)
    return g


def linearly(f, x, y):
    """``y * f(x)`` as a linear function of ``y`` with a transpose that is given."""

    def scaled(slope, y):
        return slope * y

    return linear_call(scaled, scaled, f(x), y)


def quotient_by_solver(x, y):
    """``x / (2 + y ** 2)`` as the solution of a linear equation."""
    x, scale = cnp.broadcast_arrays(x, 2 + y**2)
    return lax.custom_linear_solve(
        lambda z: scale * z, x, lambda _, b: b / scale, symmetric=True
    )


def root(x):
    """The ``y`` for which ``y + y ** 3 = x``, by Newton's method."""

    def solve(f, y):
        return lax.fori_loop(0, 20, lambda _, y: y - f(y) / (1 + 3 * y**2), y)

    def tangent_solve(g, b):
        return b / g(cnp.ones_like(b))

    return lax.custom_root(
        lambda y: y + y**3 - x, cnp.zeros_like(x), solve, tangent_solve
    )


def on_host(f, x):
    """A NumPy function of one array, called back."""
    call = partial(cv.pure_callback, vmap_method="sequential")
    return call(lambda x: f(np.asarray(x)), cv.ShapeDtypeStruct(x.shape, x.dtype), x)


def over_devices(f, count, in_specs, out_specs):
    """``shard_map`` over ``count`` devices."""
    mesh = cv.make_mesh((count,), ("d",))
    return cv.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def some_names(names):
    """A policy of checkpoints that keeps these names."""
    return cv.checkpoint_policies.save_only_these_names(*names)
