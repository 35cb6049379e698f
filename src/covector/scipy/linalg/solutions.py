"""Solutions of equations, inverses and determinants."""

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, LinAlgError, TypeMismatch
from covector.lax.control_flow import scan
from covector.lax.solvers import custom_linear_solve
from covector.numpy import linalg
from covector.numpy.axis_order import moveaxis
from covector.numpy.linalg.operands import (
    as_given,
    check_square,
    in_one_stack,
    right_sides,
    square_matrices,
    two_operands,
    values_of,
)
from covector.numpy.promote import promote_dtypes_inexact
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.linear_algebra.lu import (
    LUPivotsToInverse,
    LUPivotsToPermutation,
)
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    diagonal,
    identity,
    lower_triangle,
    matmul,
    real_part,
    rows_at,
    transposed,
)
from covector.operations.linear_algebra.schur import Schur
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.magnitude import abs_

__all__ = [
    "cho_solve",
    "det",
    "inv",
    "lu_solve",
    "solve",
    "solve_sylvester",
    "solve_triangular",
]

_TRANSPOSES = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
#: what ``solve`` may assume, with SciPy's other names
_ASSUMPTIONS = {
    "general": "gen",
    "symmetric": "sym",
    "hermitian": "her",
    "positive definite": "pos",
} | {
    name: name
    for name in ("gen", "sym", "her", "pos", "diagonal", "tridiagonal", "banded",
                 "upper triangular", "lower triangular")
}  # fmt: skip


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices ``[..., n, n]``.

    >>> import covector.numpy as cnp
    >>> print(det(cnp.array([[2.0, 1.0], [1.0, 3.0]])).round(4))
    5.0
    """
    del overwrite_a, check_finite
    return linalg.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices ``[..., n, n]``.

    Raises:
      LinAlgError: a matrix is singular.

    >>> import covector.numpy as cnp
    >>> print(inv(cnp.array([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    del overwrite_a, check_finite
    return linalg.inv(a)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The x with ``a @ x = b``.

    Args:
      a: square matrices ``[..., n, n]``.
      b: ``[n]``, one right-hand side for all of them, or ``[..., n, m]``; the axes in
        front broadcast.
      lower: of a symmetric, Hermitian or positive definite matrix, the lower triangle
        is read, and not the upper one.
      assume_a: ``"gen"`` of any matrix; ``"sym"``, ``"her"`` and ``"pos"`` of
        symmetric, Hermitian, and Hermitian positive definite ones, of which one
        triangle is read; ``"upper triangular"``, ``"lower triangular"`` and
        ``"diagonal"``, of which no other elements are read; ``"banded"`` and
        ``"tridiagonal"``.

    Returns:
      Like ``b``; infinite or NaN for a singular matrix, where values are not known.

    Raises:
      ArgumentError: there is no such assumption.
      LinAlgError: a matrix is singular, or not positive definite.

    >>> import covector.numpy as cnp
    >>> a = cnp.array([[4.0, 2.0], [2.0, 5.0]])
    >>> print(solve(a, cnp.array([2.0, 1.0]), assume_a="pos").round(4))
    [0.5 0. ]

    See also: ``solve_triangular``, ``cho_solve``, ``covector.numpy.linalg.solve``.
    """
    del overwrite_a, overwrite_b, debug, check_finite
    assumed = _ASSUMPTIONS.get(assume_a)
    if assumed is None:
        raise ArgumentError(
            f"solve got assume_a={assume_a!r}; there are {', '.join(_ASSUMPTIONS)}."
        )
    x, y = two_operands("solve", a, b)
    check_square("solve", x)
    if assumed == "pos":
        factor = linalg.cholesky(x, upper=not lower, symmetrize_input=False)
        return cho_solve((factor, lower), y)
    if assumed in ("upper triangular", "lower triangular"):
        return solve_triangular(x, y, lower=assumed == "lower triangular")
    if assumed in ("sym", "her"):
        x = _of_one_triangle(x, lower, hermitian=assumed == "her")
    if assumed == "diagonal":
        x = as_diagonal(diagonal(x))
    return linalg.solve(x, y)


def _of_one_triangle(x: Array, lower: bool, *, hermitian: bool) -> Array:
    """The symmetric or Hermitian matrices of which ``x`` has a triangle."""
    other = adjoint if hermitian else transposed
    x = x if lower else other(x)
    below, middle = lower_triangle(x, -1), diagonal(x)
    if hermitian:
        middle = convert(real_part(middle), x.type.dtype)
    return below + other(below) + as_diagonal(middle)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: object = None,
    check_finite: bool = True,
) -> Array:
    """The x with ``op(a) @ x = b``, for triangular ``a``.

    The upper triangle is read by default: give ``lower=True`` with what ``cholesky`` of
    ``covector.numpy.linalg`` returns.

    Args:
      a: ``[..., n, n]``, of which one triangle is read.
      b: ``[n]``, or ``[..., n, m]``; the axes in front broadcast.
      trans: what op is: 0 or ``"N"`` nothing, 1 or ``"T"`` the transpose, 2 or ``"C"``
        the adjoint.
      lower: the lower triangle is read, and not the upper one.
      unit_diagonal: the diagonal counts as ones.
      overwrite_b, debug, check_finite: SciPy's; they make no difference.

    Returns:
      x, of the shape of ``b``.

    Raises:
      ArgumentError: there is no such op.
      LinAlgError: a number on a diagonal is zero.

    >>> import covector.numpy as cnp
    >>> a = cnp.array([[2.0, 0.0], [1.0, 4.0]])
    >>> print(solve_triangular(a, cnp.array([2.0, 5.0]), lower=True))
    [1. 1.]

    See also: ``cho_solve``, ``solve``.
    """
    del overwrite_b, debug, check_finite
    op = _transpose("solve_triangular", trans)
    x, y = two_operands("solve_triangular", a, b)
    check_square("solve_triangular", x)
    y, one = right_sides("solve_triangular", x, y)
    x, y = in_one_stack("solve_triangular", x, y)
    how = TriangularSolve(True, bool(lower), op > 0, op == 2, bool(unit_diagonal))
    out = how(x, y)
    pivots = None if unit_diagonal else values_of(diagonal(x))
    if pivots is not None and not pivots.all() and y.type.size:
        raise LinAlgError(
            f"solve_triangular needs matrices that have inverses, but got {x.type} of "
            "which one has a zero on its diagonal."
        )
    return as_given(out, one)


def _transpose(who: str, trans: int | str) -> int:
    if trans not in _TRANSPOSES:
        raise ArgumentError(
            f"{who} got trans={trans!r}; there are 0, 1 and 2, or 'N', 'T' and 'C'."
        )
    return _TRANSPOSES[trans]


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The x with ``a @ x = b``, from the Cholesky factor of ``a``.

    Args:
      c_and_lower: what ``cho_factor`` gives: the factor ``[..., n, n]``, and whether it
        is the lower one.
      b: ``[n]``, or ``[..., n, m]``; the axes in front broadcast.

    >>> import covector.numpy as cnp
    >>> lower = cnp.array([[2.0, 0.0], [1.0, 2.0]])
    >>> print(cho_solve((lower, True), cnp.array([2.0, 1.0])))
    [0.5 0. ]

    See also: ``cho_factor``, ``solve_triangular``.
    """
    del overwrite_b, check_finite
    factor, lower = c_and_lower
    x, y = two_operands("cho_solve", factor, b)
    check_square("cho_solve", x)
    y, one = right_sides("cho_solve", x, y)
    x, y = in_one_stack("cho_solve", x, y)
    there = TriangularSolve(True, bool(lower), not lower, not lower)
    back = TriangularSolve(True, bool(lower), bool(lower), bool(lower))
    return as_given(back(x, there(x, y)), one)


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The x with ``op(a) @ x = b``, from the LU factors of ``a``.

    Args:
      lu_and_piv: what ``lu_factor`` gives: L and U in ``[..., n, n]``, and the pivots
        ``[..., n]``.
      b: ``[n]``, or ``[..., n, m]``; the axes in front broadcast.
      trans: what op is: 0 nothing, 1 the transpose, 2 the adjoint.

    Raises:
      ArgumentError: there is no such op.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> factors = cnp.array([[4.0, 2.0], [0.5, 1.0]]), cnp.array([0, 1])
    >>> print(lu_solve(factors, cnp.array([6.0, 4.0])))
    [1. 1.]
    """
    del overwrite_b, check_finite
    op = _transpose("lu_solve", trans)
    factors, pivots = lu_and_piv
    x, y = two_operands("lu_solve", factors, b)
    check_square("lu_solve", x)
    order = as_array(pivots, "lu_solve")
    if order.type.shape != x.type.shape[:-1]:
        raise TypeMismatch(
            f"lu_solve of {x.type} needs a pivot for each row, but got {order.type}."
        )
    y, one = right_sides("lu_solve", x, y)
    rows = LUPivotsToInverse if op else LUPivotsToPermutation
    order = rows(x.type.shape[-1])(convert(order, dtypes.int32))
    x, y, order = in_one_stack("lu_solve", x, y, order[..., None])
    return as_given(_by_factors(x, order[..., 0], y, op), one)


def _by_factors(factors: Value, order: Value, y: Value, op: int) -> Array:
    """The x with op(A) x = y, from L and U of P A = L U; order: the rows of P, or those
    of P⁻¹ where op is 1 or 2.
    """
    whole = TriangularSolve(True, False, op > 0, op == 2)
    unit = TriangularSolve(True, True, op > 0, op == 2, unit_diagonal=True)
    if not op:
        return whole(factors, unit(factors, rows_at(y, order)))
    # Aᵀ = Uᵀ Lᵀ P
    return rows_at(unit(factors, whole(factors, y)), order)


def solve_sylvester(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike,
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> Array:
    """The X with ``A @ X + X @ B = C``, by Schur forms (Bartels and Stewart, 1972).

    Args:
      A, B: square matrices ``[..., m, m]`` and ``[..., n, n]``.
      C: ``[..., m, n]``; the axes in front broadcast.
      method: ``"schur"``, or ``"eigen"``, which here is the same.
      tol: how near to zero the sum of an eigenvalue of A and one of B may be: nearer,
        and X is NaN, for there is none then, or many.

    Returns:
      Like ``C``. The derivative is that of the equation, of any order.

    Raises:
      ArgumentError: there is no such method.
      TypeMismatch: shapes do not fit.

    >>> import covector.numpy as cnp
    >>> a, b = cnp.array([[1.0, 2.0], [0.0, 3.0]]), cnp.array([[1.0]])
    >>> print(solve_sylvester(a, b, cnp.array([[4.0], [4.0]])))
    [[1.]
     [1.]]
    """
    if method not in ("schur", "eigen"):
        raise ArgumentError(
            f"solve_sylvester got the method {method!r}; there are 'schur' and 'eigen'."
        )
    who = "solve_sylvester"
    a, b, c = promote_dtypes_inexact(who, *[as_array(x, who) for x in (A, B, C)])
    for x in (a, b):
        square_matrices(who, x)
    if c.type.shape[-2:] != (a.type.shape[-1], b.type.shape[-1]):
        raise TypeMismatch(
            f"{who} needs matrices [..., m, m], [..., n, n] and [..., m, n], but got "
            f"{a.type}, {b.type} and {c.type}."
        )
    a, b, c = in_one_stack(who, a, b, c)
    return sylvester(a, b, c, float(tol))


def sylvester(a: Value, b: Value, c: Value, tol: float = 0.0) -> Array:
    """The X with A X + X B = C, where shapes and dtypes fit."""
    return custom_linear_solve(
        lambda x: matmul(a, x) + matmul(x, b),
        c,
        lambda _, c: _by_schur_forms(a, b, c, tol),
        lambda _, c: _by_schur_forms(transposed(a), transposed(b), c, tol),
    )


@jit
def _by_schur_forms(a: Value, b: Value, c: Value, tol: float) -> Array:
    # With A = U R Uᴴ and B = V S Vᴴ, Y = Uᴴ X V has R Y + Y S = Uᴴ C V. As S is upper
    # triangular, column k is (R + sₖₖ) yₖ = what columns before it leave over.
    real = not dtypes.is_complex(c.type.dtype)
    if real:
        dtype = dtypes.complex_of(c.type.dtype)
        a, b, c = [convert(x, dtype) for x in (a, b, c)]
    if not c.type.size:
        return real_part(c) if real else c
    (r, u), (s, v) = Schur()(a), Schur()(b)
    rows, columns = diagonal(r), diagonal(s)
    nearest = abs_(rows[..., :, None] + columns[..., None, :]).min((-2, -1))
    y = _triangular_sylvester(r, s, matmul(matmul(adjoint(u), c), v))
    x = matmul(matmul(u, y), adjoint(v))
    x = where((nearest <= tol)[..., None, None], scalar(np.nan, x.type.dtype), x)
    return real_part(x) if real else x


def _triangular_sylvester(r: Value, s: Value, f: Value) -> Array:
    """The Y with R Y + Y S = F, for upper triangular R and S."""
    one = identity(r.type.shape, r.type.dtype)
    numbers = Iota(dtypes.int32, f.type.shape[-1:], 0)()

    def column(y: Value, of: tuple[Value, ...]) -> tuple[Value, None]:
        k, right, along, middle = of
        left = right[..., None] - matmul(y, along[..., None])
        shifted = r + middle[..., None, None] * one
        found = TriangularSolve(True, False)(shifted, left)
        return where(numbers == k, found, y), None

    columns = [moveaxis(x, -1, 0) for x in (f, s, diagonal(s))]
    return scan(column, f * 0, (numbers, *columns))[0]
