"""Functions of matrices by their eigenvalues, and their derivatives by differences.

Of A = V diag(w) V⁻¹, with X = V⁻¹ E V, the derivatives of f(A) are (Daleckii and Krein)

    Df(A; E)      = V [f[wᵢ, wⱼ] Xᵢⱼ] V⁻¹
    D²f(A; E, E′) = V [Σₖ f[wᵢ, wₖ, wⱼ] (Xᵢₖ X′ₖⱼ + X′ᵢₖ Xₖⱼ)] V⁻¹

and so on, with divided differences f[…]: where eigenvalues are equal, these are the
derivatives of f, which automatic differentiation knows.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.number_info import finfo
from covector.lax.control_flow import scan
from covector.numpy.axis_order import moveaxis
from covector.numpy.concatenation import stack
from covector.numpy.creation import array
from covector.numpy.indexing_take import take_along_axis
from covector.numpy.promote import broadcast_to
from covector.numpy.selection import where
from covector.numpy.sorting import argsort
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.complex import imag, real
from covector.operations.creation import Iota
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    diagonal,
    hermitian_part,
    in_columns,
    mask,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.solve import inverse
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.magnitude import abs_
from covector.scipy.linalg.analytic import derivative
from covector.scipy.linalg.similarity import as_complex, complex_schur
from covector.transforms.derivatives import jvp

__all__ = []

Function = Callable[[Array], Array]


def of_hermitian_matrix(func: Function, a: Value) -> Array:
    """V f(w) Vᴴ, real where A and f are."""

    def evaluate(a: Value, *directions: Value) -> Array:
        v, w = Eigh()(a)
        return _in_basis(func, w, v, adjoint(v), directions)

    return derivative(evaluate, hermitian_part(a))


def of_general_matrix(
    func: Function, a: Value, *, with_error: bool
) -> tuple[Array, Array | None]:
    """A complex function of matrices; if asked, an estimate of its relative error."""

    def evaluate(a: Value, *directions: Value) -> Array:
        if not directions:
            return _by_schur_form(func, a)
        w, v = Eig()(a)
        return _in_basis(func, w, v, inverse(v), directions)

    return derivative(evaluate, a), _error(a) if with_error else None


# -- divided differences ---------------------------------------------------------------


def _in_basis(
    func: Function, w: Value, v: Value, back: Value, directions: Sequence[Value]
) -> Array:
    """The derivative in some directions, of a matrix with these eigenvectors."""
    if not v.type.size:
        return v
    if not directions:
        values = func(w)
        return matmul(in_columns(values, v.type) * v, back)
    turned = [matmul(matmul(back, convert(e, v.type.dtype)), v) for e in directions]
    order = len(directions)
    differences = divided_differences(func, _tuples(w, order + 1))
    orders = itertools.permutations(turned)
    terms = [_contracted(differences, chosen) for chosen in orders]
    total = sum(terms[1:], terms[0])
    return matmul(matmul(v, convert(total, v.type.dtype)), back)


def _tuples(w: Value, count: int) -> list[Array]:
    """The eigenvalues at each of so many indices, ``[..., n, n, …]`` each."""
    *stack_, n = w.type.shape
    shape = (*stack_, *[n] * count)
    ones = [
        (*stack_, *[n if j == i else 1 for j in range(count)]) for i in range(count)
    ]
    return [broadcast_to(w.reshape(one), shape) for one in ones]


def _contracted(differences: Value, factors: Sequence[Value]) -> Array:
    """Σ f[wᵢ, wₖ, …, wⱼ] Xᵢₖ X′ₖ… over all indices between the first and the last."""
    rank, count = differences.type.ndim, len(factors) + 1
    first = rank - count
    out = differences
    for i, x in enumerate(factors):
        *stack_, n, _ = x.type.shape
        sizes = [n if j in (i, i + 1) else 1 for j in range(count)]
        out = out * x.reshape((*stack_, *sizes))
    return out.sum(tuple(range(first + 1, rank - 1)))


def divided_differences(func: Function, points: Sequence[Array]) -> Array:
    """f[x₀, …, xₖ], element by element; where points are equal, f⁽ᵏ⁾ / k!.

    Points are taken in order, so that those that are farthest from each other are
    subtracted; complex ones in that of a direction in which two conjugates differ.
    """
    if len(points) == 1:
        return func(points[0])
    x = stack(points, -1)
    key = real(x) + imag(x) * 0.7 if dtypes.is_complex(x.type.dtype) else x
    x = take_along_axis(x, argsort(key, -1), -1)
    return _differences(func, [x[..., i] for i in range(len(points))])


def _differences(func: Function, points: Sequence[Array]) -> Array:
    if len(points) == 1:
        return func(points[0])
    order = len(points) - 1
    gap = points[-1] - points[0]
    eps = finfo(gap.type.dtype).eps
    # A difference has the error ε / gap, a derivative between the points gap².
    size = abs_(points[0]) + abs_(points[-1])
    near = abs_(gap) <= size * eps ** (1 / (order + 2))
    one = scalar(1, gap.type.dtype)
    change = _differences(func, points[1:]) - _differences(func, points[:-1])
    middle = sum(points[1:], points[0]) / len(points)
    there = _derivative(func, order)(middle) / math.factorial(order)
    return where(
        near, there, change / convert(where(near, one, gap), change.type.dtype)
    )


def _derivative(func: Function, order: int) -> Function:
    """The derivative of a function of numbers, element by element."""
    if not order:
        return func
    below = _derivative(func, order - 1)
    return lambda x: jvp(below, (x,), (x * 0 + 1,))[1]


# -- Parlett's recurrence --------------------------------------------------------------


def _by_schur_form(func: Function, a: Value) -> Array:
    """f(A) by the triangular T that A is similar to, also where eigenvalues are equal.

    The recurrence divides by the gaps between eigenvalues. Those that are near each
    other are moved away from each other by z D, in six directions z around a circle: as
    f(T + z D) is analytic, its mean over the circle is f(T), up to |z|⁶.
    """
    if not a.type.size:
        return as_complex(a)
    t, z = complex_schur(a)
    eps = finfo(t.type.dtype).eps
    distance = eps**0.2  # what is lost by the gaps, ε / distance, and by the mean
    w, n = diagonal(t), t.type.shape[-1]
    # Relative to each, so that none comes near a singularity of f in zero; those that
    # are zero but for rounding, relative to the matrix.
    whole = abs_(t).max((-2, -1))[..., None]
    size = where(abs_(w) > eps**0.5 * whole, abs_(w), whole)
    gaps = abs_(w[..., :, None] - w[..., None, :])
    gaps = where(mask(gaps.type.shape, eq), np.inf, gaps).min(-1)
    moves = where(gaps < distance * size, distance * size, 0) * np.arange(1, n + 1) / n
    circle = np.exp(1j * (2 * np.pi * np.arange(6) / 6 + 0.3))
    circle = convert(array(circle.reshape(6, *[1] * (t.type.ndim - 1))), t.type.dtype)
    f = _parlett(func, t + as_diagonal(convert(moves, t.type.dtype) * circle))
    return matmul(matmul(z, f.mean(0)), adjoint(z))


def _parlett(func: Function, t: Value) -> Array:
    """f(T) of triangular matrices without equal eigenvalues."""
    # F T = T F, so column j above the diagonal is (T − tⱼⱼ) fⱼ = F tⱼ − tⱼ fⱼⱼ, with
    # the rows above of T and F.
    w = diagonal(t)
    values = convert(func(w), t.type.dtype)
    zero, one = [scalar(k, t.type.dtype) for k in (0, 1)]
    strict = upper_triangle(t, 1)
    numbers = Iota(dtypes.int32, w.type.shape[-1:], 0)()

    def column(f: Value, of: tuple[Value, ...]) -> tuple[Value, None]:
        j, along, middle, value = of
        above = numbers < j
        along = where(above, along, zero)
        right = matmul(f, along[..., None])[..., 0] - along * value[..., None]
        gaps = where(above, w - middle[..., None], one)
        right = where(above, right, zero)[..., None]
        found = TriangularSolve(True, False)(strict + as_diagonal(gaps), right)[..., 0]
        found = where(numbers == j, value[..., None], where(above, found, zero))
        return where(numbers == j, found[..., None], f), None

    columns = [moveaxis(x, -1, 0) for x in (t, w, values)]
    return scan(column, t * zero, (numbers, *columns))[0]


def _error(a: Value) -> Array:
    """The growth of rounding errors, by the least gap of eigenvalues."""
    t, _ = complex_schur(a)
    eps = finfo(t.type.dtype).eps
    w = diagonal(t)
    gaps = abs_(w[..., :, None] - w[..., None, :])
    gaps = where(mask(gaps.type.shape, eq), np.inf, gaps)
    least = gaps.min((-2, -1), initial=np.inf)
    first = abs_(w[..., :1]).min(-1, initial=np.inf)
    least = where(first < least, first, least)
    least = where(least == 0, eps, least)
    norm = abs_(upper_triangle(t, 1)).sum(-2).max(-1, initial=0)
    return (eps / least * norm).clip(eps, 1)
