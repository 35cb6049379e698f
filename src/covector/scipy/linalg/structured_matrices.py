"""Matrices that are made of vectors: ``toeplitz``, ``companion``, ``block_diag`` ….

They take stacks of vectors, ``[..., n]``.
"""

import numpy as np

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.number_info import issubdtype
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.concatenation import concatenate
from covector.numpy.filling import ones, zeros
from covector.numpy.indexing_take import take
from covector.numpy.minmax import maximum, minimum
from covector.numpy.padding import pad
from covector.numpy.promote import (
    broadcast_shapes,
    broadcast_to,
    inexact,
    number,
    promote_dtypes,
)
from covector.numpy.reshaping import atleast_2d
from covector.operations.linear_algebra.matrices import as_diagonal, conjugate
from covector.operations.magnitude import abs_
from covector.scipy.linalg.named_matrices import size_of

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "fiedler",
    "fiedler_companion",
    "hankel",
    "leslie",
    "toeplitz",
]


# -- of vectors ------------------------------------------------------------------------


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with equal elements along each diagonal.

    Args:
      c: the first columns ``[..., m]``.
      r: the first rows ``[..., n]``, of which the first element is not read; by default
        the complex conjugates of ``c``.

    Returns:
      ``[..., m, n]``, in the promoted dtype.

    >>> import covector.numpy as cnp
    >>> print(toeplitz(cnp.array([1, 2, 3]), cnp.array([1, 4])))
    [[1 4]
     [2 1]
     [3 2]]
    """
    column, row = _column_and_row("toeplitz", c, r)
    row = conjugate(column) if row is None else row
    values = concatenate([row[..., :0:-1], column], -1)
    rows, columns = column.type.shape[-1], row.type.shape[-1]
    return _along_diagonals(values, rows, columns, columns - 1)


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with equal elements along each diagonal that rises to the right.

    Args:
      c: the first columns ``[..., m]``.
      r: the last rows ``[..., n]``, of which the first element is not read; by default
        m zeros.

    Returns:
      ``[..., m, n]``, in the promoted dtype.

    >>> import covector.numpy as cnp
    >>> print(hankel(cnp.array([1, 2, 3]), cnp.array([3, 4])))
    [[1 2]
     [2 3]
     [3 4]]
    """
    column, row = _column_and_row("hankel", c, r)
    row = column * 0 if row is None else row
    rows, columns = column.type.shape[-1], row.type.shape[-1]
    values = concatenate([column, row[..., 1:]], -1)
    # Row i from its end is row i of a Toeplitz matrix.
    return _along_diagonals(values, rows, columns, columns - 1)[..., ::-1]


def _column_and_row(
    who: str, c: ArrayLike, r: ArrayLike | None
) -> tuple[Array, Array | None]:
    """Vectors of one dtype, in one stack."""
    if r is None:
        return _vectors(who, as_array(c, who)), None
    column, row = promote_dtypes(who, as_array(c, who), as_array(r, who))
    column, row = _vectors(who, column), _vectors(who, row)
    stack = broadcast_shapes(
        who, [x.type.with_shape(x.type.shape[:-1]) for x in (column, row)]
    )
    column, row = [broadcast_to(x, (*stack, x.type.shape[-1])) for x in (column, row)]
    return column, row


def _vectors(who: str, x: Array) -> Array:
    """Stacks of vectors with an element at least; a number is a vector of one."""
    x = x.reshape(1) if not x.type.ndim else x
    if not x.type.shape[-1]:
        raise TypeMismatch(f"{who} needs vectors with an element, but got {x.type}.")
    return x


def _along_diagonals(values: Value, rows: int, columns: int, start: int) -> Array:
    """The matrices whose element in row i and column j is number start + i − j."""
    known = type(rows) is type(columns) is int  # and not symbolic
    i, j = [np.arange(n) if known else cnp.arange(n) for n in (rows, columns)]
    return take(values, start + i[:, None] - j, -1)


def circulant(c: ArrayLike) -> Array:
    """Square matrices of which each column is the one before, turned by one element.

    Args:
      c: the first columns ``[..., n]``.

    >>> import covector.numpy as cnp
    >>> print(circulant(cnp.array([1, 2, 3])))
    [[1 3 2]
     [2 1 3]
     [3 2 1]]
    """
    x = _vectors("circulant", as_array(c, "circulant"))
    n = x.type.shape[-1]
    return _along_diagonals(concatenate([x[..., 1:], x], -1), n, n, n - 1)


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrices A with ``A @ v = convolve(a, v, mode)`` for vectors v of length n.

    Args:
      a: ``[..., m]``.
      mode: ``"full"``, ``"same"`` or ``"valid"``, as of ``convolve``.

    Raises:
      ArgumentError: n is not positive, or there is no such mode.

    >>> import covector.numpy as cnp
    >>> print(convolution_matrix(cnp.array([1, 2]), 3))
    [[1 0 0]
     [2 1 0]
     [0 2 1]
     [0 0 2]]
    """
    x = _vectors("convolution_matrix", as_array(a, "convolution_matrix"))
    n = size_of("convolution_matrix", n, 1)
    m = x.type.shape[-1]
    ends = min(m, n) - 1
    cut = {"full": (0, 0), "same": (ends // 2, ends - ends // 2), "valid": (ends, ends)}
    if mode not in cut:
        raise ArgumentError(
            f"convolution_matrix got the mode {mode!r}; there are 'full', 'same' and "
            "'valid'."
        )
    before, after = cut[mode]
    padding = [(0, 0)] * (x.type.ndim - 1) + [(n - 1, n - 1)]
    rows = m + n - 1 - before - after
    return _along_diagonals(pad(x, padding), rows, n, n - 1 + before)


def fiedler(a: ArrayLike) -> Array:
    """The symmetric matrices with elements |aᵢ − aⱼ|.

    Args:
      a: numbers ``[..., n]``.

    >>> import covector.numpy as cnp
    >>> print(fiedler(cnp.array([1, 4, 9])))
    [[0 3 8]
     [3 0 5]
     [8 5 0]]
    """
    x = _vectors("fiedler", number("fiedler", a))
    rows, columns = x[..., :, None], x[..., None, :]
    if issubdtype(x.type.dtype, np.unsignedinteger):  # which a difference would leave
        return maximum(rows, columns) - minimum(rows, columns)
    return abs_(rows - columns)


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie matrices of populations: f in the first row, s below the diagonal.

    Args:
      f: fecundities ``[..., n]``.
      s: rates of survival ``[..., n − 1]``.

    Raises:
      TypeMismatch: ``s`` is not one shorter.

    >>> import covector.numpy as cnp
    >>> print(leslie(cnp.array([1.0, 2.0, 3.0]), cnp.array([0.5, 0.25])))
    [[1.   2.   3.  ]
     [0.5  0.   0.  ]
     [0.   0.25 0.  ]]
    """
    row, below = promote_dtypes("leslie", as_array(f, "leslie"), as_array(s, "leslie"))
    if not row.type.ndim or below.type.shape != (
        *row.type.shape[:-1],
        row.type.shape[-1] - 1,
    ):
        raise TypeMismatch(
            f"leslie needs fecundities [..., n] and rates of survival [..., n - 1], "
            f"but got {row.type} and {below.type}."
        )
    return _below_a_row(row, below)


def _below_a_row(row: Array, below: Value) -> Array:
    """The square matrices with a first row, and a vector below the diagonal."""
    padding = [(0, 0)] * row.type.ndim + [(0, 1)]
    return concatenate([row[..., None, :], pad(as_diagonal(below), padding)], -2)


def companion(a: ArrayLike) -> Array:
    """The companion matrices of polynomials, whose eigenvalues are the roots.

    Args:
      a: coefficients ``[..., n]`` from the highest power down; the first is not zero,
        and there are two at least.

    Raises:
      TypeMismatch: there are fewer.

    >>> import covector.numpy as cnp
    >>> print(companion(cnp.array([2.0, -6.0, 4.0])))
    [[ 3. -2.]
     [ 1.  0.]]
    """
    x = _coefficients("companion", a, 2)
    row = -x[..., 1:] / x[..., :1]
    return _below_a_row(row, ones(row[..., 1:].type.shape, row.type.dtype))


def fiedler_companion(a: ArrayLike) -> Array:
    """The Fiedler companion matrices of polynomials, with five diagonals.

    Their eigenvalues are the roots (Fiedler, 2003).

    Args:
      a: coefficients ``[..., n]`` from the highest power down; the first is not zero.

    >>> import covector.numpy as cnp
    >>> print(fiedler_companion(cnp.array([1.0, -6.0, 11.0, -6.0])))
    [[  6. -11.   1.]
     [  1.   0.   0.]
     [  0.   6.   0.]]
    """
    x = _coefficients("fiedler_companion", a, 1)
    roots = x.type.shape[-1] - 1
    out = zeros((*x.type.shape[:-1], roots, roots), x.type.dtype)
    if not roots:
        return out
    x = -x / x[..., :1]
    row = np.arange(roots)
    even, odd = row[0::2], row[1::2]
    out = out.at[..., 0, 0].set(x[..., 1])
    # Coefficients stand beside the diagonal: above it in even rows, below it in odd
    # columns; the ones are two off it.
    out = out.at[..., even[: len(odd)], odd].set(x[..., 2::2])
    out = out.at[..., even[1:], odd[: len(even) - 1]].set(x[..., 3::2])
    out = out.at[..., even[:-1], even[1:]].set(1)
    out = out.at[..., odd[1:], odd[:-1]].set(1)
    return out.at[..., 1:2, 0].set(1)


def _coefficients(who: str, a: ArrayLike, least: int) -> Array:
    x = inexact(who, as_array(a, who))
    if not x.type.ndim or x.type.shape[-1] < least:
        raise TypeMismatch(
            f"{who} needs polynomials [..., n] with at least {least} coefficients, but "
            f"got {x.type}."
        )
    return x


def block_diag(*arrs: ArrayLike) -> Array:
    """The matrix with matrices along its diagonal, and zeros elsewhere.

    Args:
      arrs: matrices; a vector is a row, a number a matrix of one element.

    Raises:
      TypeMismatch: one has more than two axes.

    >>> import covector.numpy as cnp
    >>> print(block_diag(cnp.array([[1, 2]]), 3))
    [[1 2 0]
     [0 0 3]]

    See also: ``toeplitz``, ``covector.numpy.block``.
    """
    blocks = [as_array(x, "block_diag") for x in arrs]
    for x in blocks:
        if x.type.ndim > 2:
            raise TypeMismatch(
                f"block_diag needs matrices, with at most two axes, but got {x.type}. "
                "For stacks of them, use covector.vmap."
            )
    if not blocks:
        return zeros((1, 0))
    blocks = [atleast_2d(x) for x in promote_dtypes("block_diag", *blocks)]
    total = sum([x.type.shape[1] for x in blocks])
    rows, before = [], 0
    for x in blocks:
        width = x.type.shape[1]
        rows.append(pad(x, [(0, 0), (before, total - before - width)]))
        before += width
    return concatenate(rows)
