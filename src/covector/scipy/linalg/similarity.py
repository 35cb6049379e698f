"""Similar matrices of simpler form: Schur's, and Hessenberg's."""

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.errors import ArgumentError, TypeMismatch
from covector.lax.linalg.condensed import hessenberg as reduced
from covector.lax.linalg.condensed import unitary_of
from covector.numpy.filling import ones_like
from covector.numpy.linalg.operands import square_matrices
from covector.numpy.padding import pad
from covector.numpy.promote import promote_dtypes_inexact
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.linear_algebra.matrices import (
    adjoint,
    as_diagonal,
    conjugate,
    diagonal,
    matmul,
    upper_triangle,
)
from covector.operations.linear_algebra.schur import Schur
from covector.operations.magnitude import abs_
from covector.operations.roots import sqrt

__all__ = [
    "hessenberg",
    "rsf2csf",
    "schur",
]


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """T and Z of A = Z T Zᴴ, with unitary Z and upper triangular T.

    Args:
      a: ``[..., n, n]``.
      output: of real matrices, ``"real"``: all is real, and pairs of complex
        eigenvalues are blocks of 2 × 2 on the diagonal of T; or ``"complex"``.

    Raises:
      ArgumentError: there is no such output.

    >>> import covector.numpy as cnp
    >>> t, z = schur(cnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    if output not in ("real", "complex"):
        raise ArgumentError(
            f"schur got output={output!r}; there are 'real' and 'complex'."
        )
    x = square_matrices("schur", a)
    t, z = Schur()(as_complex(x) if output == "complex" else x)
    return t, z


def complex_schur(x: Value) -> tuple[Array, Array]:
    """T and Z in complex numbers; real eigenvalues of real matrices are real."""
    t, z = Schur()(x)
    return rsf2csf(t, z)


def as_complex(x: Value) -> Array:
    """Matrices as ones of complex numbers."""
    if dtypes.is_complex(x.type.dtype):
        return x
    return convert(x, dtypes.complex_of(x.type.dtype))


def rsf2csf(
    T: ArrayLike, Z: ArrayLike, check_finite: bool = True
) -> tuple[Array, Array]:
    """The complex Schur form of A = Z T Zᴴ, from the real one.

    Args:
      T, Z: ``[..., n, n]``, as ``schur`` gives them.

    Returns:
      T and Z, complex, with an upper triangular T.

    Raises:
      TypeMismatch: shapes are not the same.

    >>> import covector.numpy as cnp
    >>> t, z = rsf2csf(cnp.array([[0.0, -1.0], [1.0, 0.0]]), cnp.eye(2))
    >>> print(t.round(4).diagonal())
    [0.+1.j 0.-1.j]
    """
    del check_finite
    t, z = promote_dtypes_inexact("rsf2csf", *[as_array(x, "rsf2csf") for x in (T, Z)])
    for x in (t, z):
        square_matrices("rsf2csf", x)
    if t.type.shape != z.type.shape:
        raise TypeMismatch(
            f"rsf2csf needs matrices of one shape, but got {t.type} and {z.type}."
        )
    t, z = as_complex(t), as_complex(z)
    if t.type.shape[-1] < 2:
        return t, z
    turn = _block_turns(t)
    return upper_triangle(matmul(matmul(turn, t), adjoint(turn))), matmul(
        z, adjoint(turn)
    )


def _block_turns(t: Array) -> Array:
    """The unitary matrix that makes blocks of 2 × 2 on a diagonal upper triangular.

    The first of two new basis vectors of a block is its eigenvector: of the block
    [[a, b], [c, d]] and the eigenvalue w, (w − d, c).
    """
    upper, lower = diagonal(t[..., :-1, 1:]), diagonal(t[..., 1:, :-1])
    a, d = diagonal(t)[..., :-1], diagonal(t)[..., 1:]
    is_block = lower != 0
    half = (a - d) / 2
    first = half + sqrt(half * half + upper * lower)
    one, zero = scalar(1, t.type.dtype), scalar(0, t.type.dtype)
    first = where(is_block, first, one)
    lower = where(is_block, lower, zero)
    length = convert(_hypot(first, lower), t.type.dtype)
    cosine, sine = first / length, lower / length
    ends = [(0, 0)] * (t.type.ndim - 2)
    in_block = pad(is_block, [*ends, (0, 1)])
    middle = where(
        in_block,
        pad(conjugate(cosine), [*ends, (0, 1)], constant_values=1),
        pad(cosine, [*ends, (1, 0)], constant_values=1),
    )
    above = pad(as_diagonal(conjugate(sine)), [*ends, (0, 1), (1, 0)])
    below = pad(as_diagonal(sine), [*ends, (1, 0), (0, 1)])
    return as_diagonal(middle) + above - below


def _hypot(x: Value, y: Value) -> Array:
    """√(|x|² + |y|²), not both zero, without overflow."""
    x, y = abs_(x), abs_(y)
    largest = where(x > y, x, y)
    return largest * sqrt((x / largest) ** 2 + (y / largest) ** 2)


def hessenberg(
    a: ArrayLike,
    *,
    calc_q: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """H of A = Q H Qᴴ, zero below its first subdiagonal, with unitary Q.

    Args:
      a: ``[..., n, n]``.
      calc_q: give Q too.

    Returns:
      H, or ``(h, q)``. Derivatives are those of ``lax.linalg.hessenberg``.

    >>> import covector.numpy as cnp
    >>> print(hessenberg(cnp.array([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 2.]
     [3. 4.]]
    """
    del overwrite_a, check_finite
    found, taus = reduced(square_matrices("hessenberg", a))
    h = upper_triangle(found, -1)
    if not calc_q:
        return h
    if h.type.shape[-1] < 2:
        return h, ones_like(h)
    return h, unitary_of(found, taus)
