"""Similar matrices that are nearly triangular: ``hessenberg`` and ``tridiagonal``.

Both are H = Qᴴ A Q with Q e₁ = e₁; H is zero below its first subdiagonal, on which
it is real. With X = Qᴴ dA Q and the anti-Hermitian Ω = Qᴴ dQ,

    dH = X + H Ω − Ω H,

and that dH has the form of H gives Ω column by column, as the Lanczos and Arnoldi
iterations give Q: the first column is zero, and column j of the equation, below the
diagonal, has column j + 1 of Ω times the element of H on the subdiagonal.
"""

import functools

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.dispatch.jit import jit
from covector.lax.control_flow import scan
from covector.numpy.axis_order import flip, moveaxis
from covector.numpy.padding import pad
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.linear_algebra.householder import (
    Reflections,
    householder_product,
)
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    diagonal,
    hermitian_of_lower,
    imaginary,
    lower_triangle,
    matmul,
    real_part,
    upper_triangle,
)
from covector.operations.linear_algebra.tridiagonal import Tridiagonal
from covector.operations.linear_algebra.tridiagonal import hessenberg as hessenberg_
from covector.programs.custom_rules.custom_derivative import custom_jvp

__all__ = ["hessenberg", "tridiagonal"]


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """H of A = Q H Qᴴ, zero below the first subdiagonal, and the reflections of Q.

    Args:
      a: ``[..., n, n]``.

    Returns:
      ``(h, taus)``: H on its first subdiagonal and above, the vectors of the
      reflections below, and the numbers τ ``[..., n − 1]``. Where the subdiagonal of H
      has a zero, Q has no derivative; what is given is finite, and right for what does
      not depend on Q, as eigenvalues.

    Raises:
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> h, taus = hessenberg(cnp.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> print(h, taus)
    [[1. 2.]
     [3. 4.]] [0.]
    """
    return _hessenberg(as_array(a, "hessenberg"))


@custom_jvp
def _hessenberg(a: Value) -> tuple[Array, Array]:
    h, taus = hessenberg_(a)
    return h, taus


@_hessenberg.defjvp
def _hessenberg_rule(
    primals: tuple[Value], tangents: tuple[Value]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    found, taus = _hessenberg(*primals)
    (da,) = tangents
    if not taus.type.size:
        return (found, taus), (da, taus)
    q = unitary_of(found, taus)
    dh, dq = _moved(upper_triangle(found, -1), q, da)
    vectors, dt = _moved_reflections(found, taus, dq)
    return (found, taus), (upper_triangle(dh, -1) + vectors, dt)


def tridiagonal(
    a: ArrayLike, *, lower: bool = True
) -> tuple[Array, Array, Array, Array]:
    """T of A = Q T Qᴴ, tridiagonal and real, and the reflections of Q; A is Hermitian.

    Args:
      a: ``[..., n, n]``.
      lower: which triangle is read.

    Returns:
      ``(a, d, e, taus)``: a matrix with T in the triangle that is read and the vectors
      of the reflections beyond, and the other triangle as it was; the diagonal d
      ``[..., n]`` and the subdiagonal e ``[..., n − 1]`` of T, and the numbers τ of the
      reflections. Where e has a zero, Q has no derivative; what is given is finite, and
      right for what does not depend on Q, as eigenvalues.

    Raises:
      TypeMismatch, DTypeError: the operand is of another type.

    >>> import covector.numpy as cnp
    >>> _, d, e, _ = tridiagonal(cnp.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> print(d, e)
    [1. 4.] [2.]
    """
    return _tridiagonal(as_array(a, "tridiagonal"), bool(lower))


@functools.partial(custom_jvp, nondiff_argnums=(1,))
def _tridiagonal(a: Value, lower: bool) -> tuple[Array, ...]:
    return tuple(Tridiagonal(lower)(a))


@_tridiagonal.defjvp
def _tridiagonal_rule(
    lower: bool, primals: tuple[Value], tangents: tuple[Value]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    outs, (da,) = _tridiagonal(*primals, lower), tangents
    if lower:
        return outs, _moved_tridiagonal(outs, da)
    # Counted from the end, the upper triangle is the lower one.
    moved = _moved_tridiagonal(_from_the_end(*outs), flip(da, (-2, -1)))
    return outs, _from_the_end(*moved)


def _from_the_end(matrix: Value, *vectors: Value) -> tuple[Array, ...]:
    return flip(matrix, (-2, -1)), *[flip(x, -1) for x in vectors]


def _moved_tridiagonal(outs: tuple[Array, ...], da: Value) -> tuple[Array, ...]:
    """The changes of the results for the lower triangle."""
    found, d, _, taus = outs
    if not taus.type.size:
        return da, real_part(diagonal(da)), *outs[2:]
    beside = lower_triangle(upper_triangle(found, -1), -1)
    t = as_diagonal(convert(d, found.type.dtype)) + beside + adjoint(beside)
    dt, dq = _moved(t, unitary_of(found, taus), hermitian_of_lower(da))
    dt = upper_triangle(lower_triangle(dt), -1)
    vectors, dtaus = _moved_reflections(found, taus, dq)
    de = real_part(diagonal(dt[..., 1:, :-1]))
    dx = upper_triangle(da, 1) + dt + vectors
    return dx, real_part(diagonal(dt)), de, dtaus


# -- what both have --------------------------------------------------------------------


def unitary_of(found: Value, taus: Value) -> Array:
    """Q, of the reflections below the first subdiagonal; Q e₁ = e₁."""
    n = found.type.shape[-1]
    ends = [(0, 0)] * (found.type.ndim - 2)
    (turned,) = householder_product(found[..., 1:, :-1], taus)
    first = convert(Iota(dtypes.int32, (n,), 0)() == 0, found.type.dtype)
    return pad(turned, [*ends, (1, 0), (1, 0)]) + as_diagonal(first)


def _moved_reflections(found: Value, taus: Value, dq: Value) -> tuple[Value, Value]:
    """The changes of the vectors, in their places in the matrix, and of τ."""
    reflections = Reflections(found[..., 1:, :-1], taus)
    dv, dt = reflections.traced_back(dq[..., 1:, 1:])
    ends = [(0, 0)] * (found.type.ndim - 2)
    return pad(dv, [*ends, (1, 0), (0, 1)]), dt


@jit
def _moved(h: Value, q: Value, da: Value) -> tuple[Array, Array]:
    """The changes of H and Q. Where the subdiagonal of H is zero, Ω is chosen as 0."""
    n = h.type.shape[-1]
    x = matmul(matmul(adjoint(q), da), q)
    rows = Iota(dtypes.int32, (n, n), 0)()
    columns = Iota(dtypes.int32, (n, n), 1)()
    zero, one = [scalar(k, h.type.dtype) for k in (0, 1)]
    beside = diagonal(h[..., 1:, :-1])
    inverses = where(beside == zero, zero, one / where(beside == zero, one, beside))

    def turned(below: Value) -> Value:
        return below - adjoint(lower_triangle(below, -1))

    def column(below: Value, of: tuple[Value, ...]) -> tuple[Value, None]:
        j, x_j, h_j, inverse = of
        turn = turned(below)
        found = x_j[..., None] + matmul(h, turn[..., j][..., None])
        found = (found - matmul(turn, h_j[..., None])) * inverse[..., None, None]
        kept = where(rows > columns, found, zero)
        if dtypes.is_complex(h.type.dtype):
            kept = kept + where(rows == columns, imaginary(found), zero)
        return where(columns == j + 1, kept, below), None

    each = [moveaxis(y, -1, 0) for y in (x[..., :-1], h[..., :-1], inverses)]
    below, _ = scan(column, x * zero, (Iota(dtypes.int32, (n - 1,), 0)(), *each))
    turn = turned(below)
    return x + matmul(h, turn) - matmul(turn, h), matmul(q, turn)
