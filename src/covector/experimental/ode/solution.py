"""The solution of an initial value problem, and its derivatives: solutions of others.

The solver (``dormand_prince``) is not differentiated. Derivatives are those of the
problem y′ = f(y, t, c), and are computed under error control of their own:

    forward   δy′ = ∂f/∂y δy + ∂f/∂c δc, solved beside y
    reverse   λ′ = −(∂f/∂y)ᵀ λ, solved from the last time to the first beside y, and the
              integral of (∂f/∂c)ᵀ λ; at each output time λ jumps by its cotangent

Both call ``solution`` themselves, so they can be differentiated again.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from covector import lax
from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.masks import Mask, in_groups, merge, scatter, select
from covector.experimental.ode.dormand_prince import State, Tolerances, solve
from covector.numpy.promote import standard_promotion
from covector.programs.custom_rules.custom_derivative import custom_vjp
from covector.programs.custom_rules.derivative_checks import SymbolicZero
from covector.transforms.derivatives import jvp, vjp
from covector.transforms.vmap import vmap

#: ``field(y, t, consts)``: the slope of a state
Field = Callable[[State, Array, Sequence[Array]], State]


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
@standard_promotion
def solution(
    field: Field, tolerances: Tolerances, y: State, ts: Array, consts: Sequence[Array]
) -> list[Array]:
    """The states at increasing times, stacked; the first one is ``y``."""
    return solve(lambda y, t: field(y, t, consts), y, ts, tolerances)


@standard_promotion
def _forward(
    field: Field, tolerances: Tolerances, primals: Any, tangents: Any
) -> tuple[list[Array], list[Array]]:
    (y, ts, consts), (dy, dts, dconsts) = primals, tangents
    moving = [not _is_zero(d) for d in dconsts]
    pairs = zip(y, dy, strict=True)
    start = [cnp.zeros_like(x) if _is_zero(d) else d for x, d in pairs]

    def varied(pair: State, t: Array, given: Sequence[Array]) -> State:
        """The slopes of a state and of its tangent."""
        state, tangent = in_groups(pair, len(y))
        known, moves = in_groups(given, len(consts))

        def slope(y: State, active: Sequence[Array]) -> State:
            return field(y, t, merge(active, moving, known))

        point, direction = (state, select(known, moving)), (tangent, moves)
        found, moved = jvp(slope, point, direction)
        return [*found, *moved]

    if not _is_zero(dts):  # what begins later is behind by so much
        slopes = field(y, ts[0], consts)
        start = [
            d - dts[0].astype(d.dtype) * s for d, s in zip(start, slopes, strict=True)
        ]
    given = [*consts, *select(dconsts, moving)]
    outs = solution(varied, tolerances, [*y, *start], ts, given)
    ys, moved = in_groups(outs, len(y))
    if not _is_zero(dts):
        slopes = _slopes(field, ys, ts, consts)
        moved = [d + _along(dts, s) * s for d, s in zip(moved, slopes, strict=True)]
    return ys, moved


@standard_promotion
def _run(
    field: Field, tolerances: Tolerances, y: Any, ts: Any, consts: Any
) -> tuple[list[Array], Any]:
    values, moving = [c.value for c in consts], [c.perturbed for c in consts]
    ys = solution(field, tolerances, [x.value for x in y], ts.value, values)
    return ys, (ys, ts.value, values, moving)


def _adjoint(field: Field, moving: Mask, count: int) -> Field:
    """The field of a solution (of ``count`` arrays), of its cotangents, and of the sums
    of those of the moving constants, in a time s = −t, which increases.
    """

    def adjoint(state: State, s: Array, given: Sequence[Array]) -> State:
        y, cts, totals = in_groups(state, count, count)

        def slope(y: State, active: Sequence[Array]) -> State:
            return field(y, -s, merge(active, moving, given))

        slopes, pull = vjp(slope, y, select(given, moving))
        back, found = pull(cts)
        found = [s.astype(total.dtype) for s, total in zip(found, totals, strict=True)]
        return [*[-f for f in slopes], *back, *found]

    return adjoint


@standard_promotion
def _reverse(
    field: Field, tolerances: Tolerances, residuals: Any, cotangents: Sequence[Any]
) -> tuple[list[Array], Array, list[Array | None]]:
    ys, ts, consts, moving = residuals
    pairs = zip(ys, cotangents, strict=True)
    jumps = [cnp.zeros_like(y) if _is_zero(ct) else ct for y, ct in pairs]
    # What is allowed absolutely is allowed for cotangents of size 1.
    scale = lax.stop_gradient(_largest(jumps))
    jumps = [ct / scale.astype(cnp.abs(ct).dtype) for ct in jumps]
    count = len(ys)
    adjoint = _adjoint(field, moving, count)

    def interval(carry: Any, row: Any) -> Any:
        """From an output back to the one before."""
        (cts, sums), (y, jump, times) = carry, row
        cts = [c + j for c, j in zip(cts, jump, strict=True)]
        outs = solution(adjoint, tolerances, [*y, *cts, *sums], -times, consts)
        _, cts, sums = in_groups([x[-1] for x in outs], count, count)
        return (cts, sums), None

    zeros = [cnp.zeros_like(y[0]) for y in ys]
    # In narrower dtypes what is small would be lost from a sum.
    active = select(consts, moving)
    sums = [cnp.zeros(c.shape, cnp.result_type(c.dtype, cnp.float32)) for c in active]
    rows = [y[1:] for y in ys], [j[1:] for j in jumps]
    times = cnp.stack([ts[1:], ts[:-1]], axis=1)
    (cts, sums), _ = lax.scan(interval, (zeros, sums), (*rows, times), reverse=True)

    slopes = _slopes(field, ys, ts, consts)
    products = [_per_time(j * s) for j, s in zip(jumps, slopes, strict=True)]
    begins = [_per_time((c * s[0])[None])[0] for c, s in zip(cts, slopes, strict=True)]
    ct_ts = sum(products, start=cnp.zeros_like(ts))
    # Times at which the solution begins are also outputs, of what does not move.
    ct_ts = ct_ts.at[0].set(-sum(begins, start=cnp.zeros((), ts.dtype)))
    ct_y = [c + j[0] for c, j in zip(cts, jumps, strict=True)]

    def scaled(ct: Array) -> Array:
        return ct * scale.astype(cnp.abs(ct).dtype)

    pairs = zip(sums, active, strict=True)
    ct_consts = scatter([scaled(s).astype(c.dtype) for s, c in pairs], moving)
    return [*map(scaled, ct_y)], scaled(ct_ts).astype(ts.dtype), ct_consts


solution.defjvp(_forward, symbolic_zeros=True)
solution.defvjp(_run, _reverse, symbolic_zeros=True)


def _is_zero(x: Any) -> bool:
    return isinstance(x, SymbolicZero)


def _slopes(field: Field, ys: State, ts: Array, consts: Sequence[Array]) -> State:
    """The slopes at all output times."""
    return vmap(lambda y, t: field(y, t, consts))(ys, ts)


def _along(ts: Array, like: Array) -> Array:
    """One number for each time, beside states."""
    return ts.reshape(-1, *[1] * (like.ndim - 1)).astype(like.dtype)


def _per_time(products: Array) -> Array:
    """The real parts of the sums over each state."""
    return cnp.real(products).sum(axis=tuple(range(1, products.ndim)))


def _largest(arrays: Sequence[Array]) -> Array:
    """The largest absolute value; 1 where all are zero, or one is not finite."""
    found = [cnp.max(cnp.abs(x), initial=0) for x in arrays]
    largest = functools.reduce(cnp.maximum, found, cnp.zeros(()))
    return cnp.where((largest > 0) & cnp.isfinite(largest), largest, 1)
