"""The loops of Krylov solvers, which are never differentiated.

Vectors are trees of arrays; ``bound`` is the norm of the residual r = b − A x at which
it is small enough. Comments name the quantities as the literature does.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import lax, tree
from covector import numpy as cnp
from covector.core.annotations import PyTree, Value
from covector.core.array_like import Array
from covector.flatten_util import ravel_pytree
from covector.numpy.promote import standard_promotion

Operator = Callable[[Any], Any]


@standard_promotion
def inner(x: PyTree, y: PyTree) -> Array:
    """⟨x, y⟩, with x conjugated."""
    products = tree.map(cnp.vdot, x, y)
    return sum(tree.leaves(products), start=cnp.zeros(()))


def norm(x: PyTree) -> Array:
    """The root of ⟨x, x⟩."""
    return cnp.sqrt(cnp.real(inner(x, x)))


@standard_promotion
def plus(x: PyTree, factor: Any, y: PyTree) -> PyTree:
    """The sum x + factor · y, in the dtypes of x."""
    return tree.map(lambda a, b: a + (factor * b).astype(a.dtype), x, y)


def cg(
    A: Operator, b: PyTree, x: PyTree, M: Operator, bound: Value, maxiter: int
) -> PyTree:
    """Conjugate gradients: directions p, any two of them with ⟨p, A q⟩ = 0."""
    r = plus(b, -1.0, A(x))
    z = M(r)

    def going(state: Any) -> Array:
        _, r, _, _, k = state
        return (norm(r) > bound) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, p, gamma, k = state
        Ap = A(p)
        alpha = gamma / inner(p, Ap)
        x, r = plus(x, alpha, p), plus(r, -alpha, Ap)
        z = M(r)
        after = inner(r, z)
        return x, r, plus(z, after / gamma, p), after, k + 1

    return lax.while_loop(going, step, (x, r, z, inner(r, z), 0))[0]


def bicgstab(
    A: Operator, b: PyTree, x: PyTree, M: Operator, bound: Value, maxiter: int
) -> PyTree:
    """Each step a biconjugate gradient, and then ω that makes the residual least."""
    shadow = r = plus(b, -1.0, A(x))
    rho = inner(shadow, r)
    one, none = cnp.ones_like(rho), tree.map(cnp.zeros_like, r)

    def going(state: Any) -> Array:
        _, r, _, _, (rho, _, omega), k = state
        # ρ = 0 or ω = 0 is a breakdown: there is no next direction.
        return (norm(r) > bound) & (k < maxiter) & (rho != 0) & (omega != 0)

    def step(state: Any) -> Any:
        x, r, p, v, (rho, ratio, omega), k = state
        p = plus(r, ratio, plus(p, -omega, v))
        Mp = M(p)
        v = A(Mp)
        alpha = _quotient(rho, inner(shadow, v))
        s = plus(r, -alpha, v)
        Ms = M(s)
        t = A(Ms)
        omega = _quotient(inner(t, s), inner(t, t))
        x = plus(plus(x, alpha, Mp), omega, Ms)
        r = plus(s, -omega, t)
        after = inner(shadow, r)
        ratio = _quotient(after, rho) * _quotient(alpha, omega)
        return x, r, p, v, (after, ratio, omega), k + 1

    start = (x, r, none, none, (rho, cnp.zeros_like(rho), one), 0)
    return lax.while_loop(going, step, start)[0]


def gmres(
    A: Operator,
    b: PyTree,
    x: PyTree,
    M: Operator,
    bound: Value,
    maxiter: int,
    restart: int,
    early: bool,
) -> PyTree:
    """The least residual among combinations of M r, M A M r, M (A M)² r and so on."""
    flat_b, unravel = ravel_pytree(b)

    def flat(f: Operator) -> Operator:
        return lambda u: ravel_pytree(f(unravel(u)))[0].astype(flat_b.dtype)

    A, M = flat(A), flat(M)
    arnoldi = _Arnoldi(lambda u: A(M(u)), restart, bound, early)

    def going(state: Any) -> Array:
        _, r, k = state
        return (norm(r) > bound) & (k < maxiter)

    def turn(state: Sequence[Value]) -> tuple[Array, ...]:
        x, r, k = state
        found = x + M(arnoldi.correction(r))
        left = flat_b - A(found)
        # Without progress, as where A is singular, there is none in a next turn either.
        better = norm(left) < norm(r)
        k = cnp.where(better, k + 1, maxiter)
        return cnp.where(better, found, x), cnp.where(better, left, r), k

    x = ravel_pytree(x)[0].astype(flat_b.dtype)
    x, r, _ = lax.while_loop(going, turn, (x, flat_b - A(x), 0))
    return unravel(cnp.where(cnp.isfinite(norm(r)), x, cnp.nan))


class _Arnoldi:
    """One cycle: u among the first m Krylov vectors with r − A u as small as can be.

    Rows of V are an orthonormal basis v₀ … vₘ, with A vₖ = Σⱼ Hⱼₖ vⱼ. Rotations make H
    upper triangular, R, as it grows, and take the right-hand side ‖r‖ e₀ along, g: what
    is below the triangle, |gₖ|, is the norm of the residual after k steps.
    """

    def __init__(self, A: Operator, m: int, bound: Value, early: bool) -> None:
        self.A, self.m, self.bound, self.early = A, m, bound, early

    def correction(self, r: PyTree) -> Array:
        m, length = self.m, norm(r)
        V = cnp.zeros((m + 1, r.size), r.dtype)
        V = V.at[0].set(_quotient(r, length.astype(r.dtype)))
        g = cnp.zeros(m + 1, r.dtype).at[0].set(length.astype(r.dtype))
        rotations = cnp.stack([cnp.ones(m, r.dtype), cnp.zeros(m, r.dtype)])
        state = (V, cnp.eye(m, dtype=r.dtype), rotations, g, 0)
        if self.early:
            state = lax.while_loop(self._going, self._step, state)
        else:
            state = lax.fori_loop(0, m, lambda _, s: self._step(s), state)
        V, R, _, g, k = state
        g = cnp.where(cnp.arange(m) < k, g[:m], 0)

        def substitute(i: Value, y: PyTree) -> Array:
            i = m - 1 - i
            return y.at[i].set(_quotient(g[i] - R[i] @ y, R[i, i]))

        y = lax.fori_loop(0, m, substitute, cnp.zeros_like(g))
        return y @ V[:m]

    def _going(self, state: Any) -> Any:
        _, _, _, g, k = state
        return (cnp.abs(g[k]) > self.bound) & (k < self.m)

    def _step(self, state: Sequence[Value]) -> tuple[Array, ...]:
        V, R, rotations, g, k = state
        w = self.A(V[k])
        before = norm(w)
        # Twice is enough: the second time takes away what rounding left of the first.
        first = cnp.conj(V) @ w
        w = w - first @ V
        second = cnp.conj(V) @ w
        w = w - second @ V
        h, length = first + second, norm(w)
        # What is left of a vector that is a combination of the others is rounding.
        length = cnp.where(length > 10 * cnp.finfo(w.dtype).eps * before, length, 0)
        V = V.at[k + 1].set(_quotient(w, length.astype(w.dtype)))
        h = h.at[k + 1].set(length.astype(h.dtype))

        def rotate(j: Value, h: Value) -> Array:
            return _rotated(h, j, rotations[0, j], rotations[1, j])

        h = lax.fori_loop(0, self.m, rotate, h)
        size = cnp.sqrt(cnp.abs(h[k]) ** 2 + length**2)
        c = cnp.where(size > 0, _quotient(h[k], size.astype(h.dtype)), 1)
        s = _quotient(h[k + 1], size.astype(h.dtype))
        rotations = rotations.at[:, k].set(cnp.stack([c, s]))
        h, g = _rotated(h, k, c, s), _rotated(g, k, c, s)
        return V, R.at[:, k].set(h[: self.m]), rotations, g, k + 1


def _rotated(x: PyTree, j: Value, c: Value, s: Value) -> Array:
    """The unitary (c̄ s; −s c), with a real s, on entries j and j + 1 of ``x``."""
    one, other = x[j], x[j + 1]
    x = x.at[j].set(cnp.conj(c) * one + s * other)
    return x.at[j + 1].set(c * other - s * one)


def _quotient(x: PyTree, y: PyTree) -> Array:
    """The quotient x / y, and 0 where y is 0."""
    return cnp.where(y == 0, 0, x / cnp.where(y == 0, 1, y)).astype(x.dtype)
