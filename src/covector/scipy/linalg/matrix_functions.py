"""Functions of square matrices: ``expm``, ``sqrtm``, ``funm`` of any function."""

import functools
import math
from collections.abc import Callable

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.number_info import finfo
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, TypeMismatch
from covector.lax.control_flow import fori_loop, scan
from covector.numpy.axis_order import moveaxis
from covector.numpy.exp_log import exp2, log2
from covector.numpy.linalg.operands import square_matrices
from covector.numpy.promote import promote_dtypes_inexact
from covector.numpy.rounding import ceil
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.comparison import is_finite
from covector.operations.creation import Iota
from covector.operations.identities import stop_gradient
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    diagonal,
    identity,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.solve import solve
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.magnitude import abs_
from covector.operations.roots import sqrt
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.scipy.linalg.analytic import derivative
from covector.scipy.linalg.similarity import as_complex, complex_schur
from covector.scipy.linalg.solutions import sylvester
from covector.scipy.linalg.spectral_functions import (
    of_general_matrix,
    of_hermitian_matrix,
)
from covector.transforms.derivatives import jvp

__all__ = ["expm", "expm_frechet", "funm", "sqrtm"]


# -- the exponential -------------------------------------------------------------------


def expm(
    A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16
) -> Array:
    """The exponential of square matrices, 1 + A + A² / 2 + ….

    By Padé approximants of A / 2ˢ, squared s times (Higham, 2005). Its derivatives, of
    any order, are those of this.

    Args:
      A: ``[..., n, n]``.
      upper_triangular: A is; nothing below its diagonal is read.
      max_squarings: the most s may be; where it would have to be more, as the norm of
        A is more than 5 · 2ˢ (of 32 bits 4 · 2ˢ), the result is NaN.

    >>> import covector.numpy as cnp
    >>> print(expm(cnp.array([[0.0, 1.0], [0.0, 0.0]])))
    [[1. 1.]
     [0. 1.]]
    """
    return derivative(
        _exponential(bool(upper_triangular), int(max_squarings)),
        square_matrices("expm", A),
    )


def expm_frechet(
    A: ArrayLike,
    E: ArrayLike,
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Array | tuple[Array, Array]:
    """The derivative of the exponential of A in the direction E.

    Args:
      A, E: ``[..., n, n]``.
      method: ``"SPS"`` or ``"blockEnlarge"``, which here are the same.
      compute_expm: give the exponential, too.

    Returns:
      ``(expm(A), derivative)``, or the derivative.

    Raises:
      ArgumentError: there is no such method.
      TypeMismatch: shapes are not the same.

    >>> import covector.numpy as cnp
    >>> one, zero = cnp.eye(1), cnp.zeros((1, 1))
    >>> print(expm_frechet(zero, one, compute_expm=False))
    [[1.]]
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ArgumentError(
            f"expm_frechet got the method {method!r}; there are 'SPS' and "
            "'blockEnlarge'."
        )
    who = "expm_frechet"
    a, e = promote_dtypes_inexact(who, *[as_array(x, who) for x in (A, E)])
    square_matrices(who, a)
    if a.type.shape != e.type.shape:
        raise TypeMismatch(
            f"{who} needs a direction of the shape of the matrix, but got {a.type} and "
            f"{e.type}."
        )
    moved = derivative(_exponential(False, 16), a, e)
    return (expm(a), moved) if compute_expm else moved


@functools.cache
def _exponential(upper_triangular: bool, most: int) -> Callable[..., Array]:
    """The exponential and its derivatives: those of the algorithm, in forward mode."""

    def value(a: Value) -> Array:
        return _scaled_and_squared(a, upper_triangular, most)

    def evaluate(a: Value, *directions: Value) -> Array:
        if not directions:
            return value(a)
        *others, last = directions
        return jvp(lambda a: evaluate(a, *others), (a,), (last,))[1]

    return jit(evaluate)


def _scaled_and_squared(a: Value, upper_triangular: bool, most: int) -> Array:
    if upper_triangular:
        a = upper_triangle(a)
    if not a.type.size:
        return a
    narrow = dtypes.real_part(a.type.dtype) == dtypes.float32
    # Up to these norms the approximant is as exact as the numbers (Higham, 2005).
    degree, reach = (7, 3.925724783138660) if narrow else (13, 5.371920351148152)
    norm = stop_gradient(abs_(a)).sum(-2).max(-1)
    ratio = norm / reach
    wanted = ceil(log2(where(ratio > 1, ratio, 1)))
    known = is_finite(wanted) & (wanted <= most)
    count = where(known, wanted, 0)
    factor = convert(exp2(-count), a.type.dtype)[..., None, None]
    p, q = _approximant(a * factor, degree)
    x = TriangularSolve(True, False)(q, p) if upper_triangular else solve(q, p)

    def squared(i: Value, x: Value) -> Array:
        return where((i < count)[..., None, None], matmul(x, x), x)

    x = fori_loop(0, convert(count.max(), dtypes.int32), squared, x)
    return where(known[..., None, None], x, scalar(np.nan, x.type.dtype))


def _approximant(a: Value, degree: int) -> tuple[Array, Array]:
    """P and Q of the Padé approximant exp A ≈ Q⁻¹ P, with Q(A) = P(−A)."""
    q = degree
    c = [
        math.comb(q, j) * math.factorial(2 * q - j) / math.factorial(2 * q)
        for j in range(q + 1)
    ]
    square = matmul(a, a)
    fourth = matmul(square, square)
    powers = [identity(a.type.shape, a.type.dtype), square, fourth]
    powers.append(matmul(fourth, square))

    def part(first: int) -> Array:
        """Every second term, from this one on; of the odd ones A is a factor more."""
        low = [p * c[2 * k + first] for k, p in enumerate(powers)]
        high = [p * c[2 * k + first] for k, p in enumerate(powers[1:], 4) if 2 * k < q]
        total = sum(low[1:], low[0])
        return total + matmul(powers[3], sum(high[1:], high[0])) if high else total

    odd, even = matmul(a, part(1)), part(0)
    return even + odd, even - odd


# -- the square root -------------------------------------------------------------------


def sqrtm(A: ArrayLike, blocksize: int = 1, *, hermitian: bool = False) -> Array:
    """The principal square root of square matrices: its eigenvalues are on the right.

    By the Schur form (Björck and Hammarling, 1983).

    Args:
      A: ``[..., n, n]``.
      blocksize: of no consequence here.
      hermitian: A is Hermitian, with no negative eigenvalue, and (A + Aᴴ) / 2 is taken
        for it. The root of a real matrix is real then.

    Returns:
      Complex matrices like A; NaN or infinite where there is no root. The derivative is
      that of the equation X X = A, of any order, and right also where eigenvalues are
      equal. A singular matrix has none.

    >>> import covector.numpy as cnp
    >>> print(sqrtm(cnp.array([[33.0, 24.0], [48.0, 57.0]])).real.round(3))
    [[5. 2.]
     [4. 7.]]
    """
    del blocksize
    x = square_matrices("sqrtm", A)
    if hermitian:
        return of_hermitian_matrix(sqrt, x)
    return _root(x)


@custom_jvp
def _root(a: Value) -> Array:
    return _root_by_schur_form(a)


@_root.defjvp
def _root_rule(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Array, Array]:
    # X X = A, so X dX + dX X = dA
    x = _root(*primals)
    return x, sylvester(x, x, convert(tangents[0], x.type.dtype))


@jit
def _root_by_schur_form(a: Value) -> Array:
    # Of T = R R, column j above the diagonal is (R + rⱼⱼ) rⱼ = tⱼ, with the rows above
    # of R.
    if not a.type.size:
        return as_complex(a)
    t, z = complex_schur(a)
    roots = sqrt(diagonal(t))
    numbers = Iota(dtypes.int32, a.type.shape[-1:], 0)()
    zero, one = [scalar(k, t.type.dtype) for k in (0, 1)]

    def column(r: Value, of: tuple[Value, ...]) -> tuple[Value, None]:
        j, right, root = of
        sums = roots + root[..., None]
        above = numbers < j
        # Where two roots are zero, so must be the element, or there is no root.
        regular = where(sums == zero, one, sums)
        divisors = r - as_diagonal(diagonal(r)) + as_diagonal(regular)
        right = where(above, right, zero)[..., None]
        found = TriangularSolve(True, False)(divisors, right)[..., 0]
        found = where((sums == zero) & (found != zero), found / zero, found)
        found = where(numbers == j, root[..., None], where(above, found, zero))
        return where(numbers == j, found[..., None], r), None

    columns = moveaxis(t, -1, 0), moveaxis(roots, -1, 0)
    r, _ = scan(column, t * zero, (numbers, *columns))
    return matmul(matmul(z, r), adjoint(z))


# -- any function ----------------------------------------------------------------------


def funm(
    A: ArrayLike,
    func: Callable[[Array], Array],
    disp: bool = True,
    *,
    hermitian: bool = False,
) -> Array | tuple[Array, Array]:
    """A function of square matrices: f(A) = V f(W) V⁻¹ where A = V W V⁻¹.

    By the Schur form and Parlett's recurrence (1976), which loses digits where
    eigenvalues are near each other and the matrix is far from normal; or if
    ``hermitian`` by eigenvalues and eigenvectors, which loses none.

    Args:
      A: ``[..., n, n]``.
      func: an analytic function, element by element; it is called with the eigenvalues
        ``[..., n]``, which are complex unless ``hermitian``, and has derivatives.
      disp: otherwise an estimate of the relative error is returned, too.
      hermitian: A is Hermitian, and (A + Aᴴ) / 2 is taken for it; then eigenvalues are
        real, and so is a real function of a real matrix.

    Returns:
      Matrices like A, complex unless ``hermitian``; or ``(f(A), error)``. Derivatives,
      of any order, are right also where eigenvalues are equal, if the matrix has a
      basis of eigenvectors.

    >>> import covector as cv, covector.numpy as cnp
    >>> entropy = lambda a: funm(a, lambda w: -w * cnp.log(w), hermitian=True).trace()
    >>> print(cv.grad(entropy)(cnp.eye(2)))
    [[-1.  0.]
     [ 0. -1.]]
    """
    x = square_matrices("funm", A)
    if hermitian:
        found, error = of_hermitian_matrix(func, x), None
    else:
        found, error = of_general_matrix(func, x, with_error=not disp)
    if disp:
        return found
    if error is None:
        eps = finfo(x.type.dtype).eps
        error = scalar(eps, dtypes.real_part(x.type.dtype))
    return found, error
