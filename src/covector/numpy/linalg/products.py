"""Products: those of ``covector.numpy`` by the Array API's names, powers and chains."""

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.types import show_types
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy import contraction, matrices
from covector.numpy.axes import beside, canonical_axis
from covector.numpy.axis_order import matrix_transpose
from covector.numpy.contraction import tensordot
from covector.numpy.linalg.operands import check_matrix, check_square
from covector.numpy.linalg.solutions import inv
from covector.numpy.matrix_products import matmul, vecdot
from covector.numpy.promote import promote_dtypes
from covector.operations.linear_algebra.matrices import identity
from covector.operations.precision import PrecisionLike

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of an element of one vector with one of another: ``[n, m]``.

    Raises:
      TypeMismatch: they are not vectors; ``covector.numpy.outer`` flattens.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.outer(cnp.array([1, 2]), cnp.array([3, 4])))
    [[3 4]
     [6 8]]
    """
    x, y = as_array(x1, "outer"), as_array(x2, "outer")
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise TypeMismatch(
            f"outer needs two vectors, but got {x.type} and {y.type}. "
            "covector.numpy.outer flattens its operands."
        )
    return contraction.outer(x, y)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three components along ``axis``.

    Raises:
      TypeMismatch: they have not three components.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.cross(cnp.array([1, 0, 0]), cnp.array([0, 1, 0])))
    [0 0 1]
    """
    for x in (as_array(x1, "cross"), as_array(x2, "cross")):
        if x.type.shape[canonical_axis("cross", axis, x.type.ndim)] != 3:
            raise TypeMismatch(
                f"cross needs vectors of three components along axis {axis}, but got "
                f"{x.type}."
            )
    return contraction.cross(x1, x2, axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices ``[..., m, n]``, along a new last axis.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.diagonal(cnp.arange(4).reshape(2, 2)))
    [0 3]
    """
    a = as_array(x, "diagonal")
    check_matrix("diagonal", a)
    return matrices.diagonal(a, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of matrices ``[..., m, n]``.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.trace(cnp.arange(4).reshape(2, 2)))
    3
    """
    a = as_array(x, "trace")
    check_matrix("trace", a)
    return contraction.trace(a, offset, -2, -1, dtype)


def matrix_power(a: ArrayLike, n: int) -> Array:
    """The product of n matrices ``a [..., m, m]``; for negative n, of their inverses.

    Raises:
      LinAlgError: n is negative, and a matrix is singular.
      NotSquare: matrices are not square.
      ArgumentError: n is not an integer.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.matrix_power(cnp.array([[1, 1], [0, 1]]), 5))
    [[1 5]
     [0 1]]
    """
    x = as_array(a, "matrix_power")
    check_matrix("matrix_power", x)
    check_square("matrix_power", x)
    try:
        n = operator.index(n)
    except TypeError:
        raise ArgumentError(
            f"matrix_power needs a whole number, but got {n!r}. For other powers, use "
            "the eigenvalues."
        ) from None
    if n < 0:
        x, n = inv(x), -n
    if not n:
        return beside("matrix_power", identity(x.type.shape, x.type.dtype), x)
    if n == 1:
        return x
    half = matrix_power(x, n // 2)
    square = matmul(half, half)
    return matmul(square, x) if n % 2 else square


def multi_dot(
    arrays: Sequence[ArrayLike], *, precision: PrecisionLike | None = None
) -> Array:
    """The product of two matrices or more, in the order with the least work.

    Args:
      arrays: matrices ``[m, k]``; the first and the last may be vectors.

    Raises:
      TypeMismatch: there are less than two, or others than these.

    >>> import covector.numpy as cnp
    >>> x = cnp.ones(3)
    >>> print(cnp.linalg.multi_dot([x, cnp.eye(3), x]))
    3.0
    """
    given = promote_dtypes("multi_dot", *[as_array(x, "multi_dot") for x in arrays])
    ranks = [x.type.ndim for x in given]
    inner = {*ranks[1:-1]} <= {2}
    if len(given) < 2 or not inner or not {ranks[0], ranks[-1]} <= {1, 2}:
        raise TypeMismatch(
            "multi_dot needs two matrices or more, of which the first and the last may "
            f"be vectors, but got {show_types([x.type for x in given]) or 'none'}."
        )
    if any([x.type.shape[-1] != y.type.shape[0] for x, y in pairwise(given)]):
        raise TypeMismatch(
            "multi_dot needs matrices with as many rows as those before have columns, "
            f"but got {show_types([x.type for x in given])}."
        )
    rows = given[0].type.shape[0] if ranks[0] == 2 else 1
    columns = given[-1].type.shape[1] if ranks[-1] == 2 else 1
    lengths = [rows, *[x.type.shape[-1] for x in given[:-1]], columns]
    known = [n if type(n) is int else _TYPICAL for n in lengths]
    cuts = _least_work(tuple(known))

    def product(first: int, last: int) -> Any:
        if first == last:
            return given[first]
        cut = cuts[first, last]
        return matmul(product(first, cut), product(cut + 1, last), precision=precision)

    return product(0, len(given) - 1)


#: what counts for a symbolic size where the order of products is chosen
_TYPICAL = 1000


def _least_work(lengths: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to cut each chain of matrices i … j, of ``lengths[i] × lengths[i + 1]``."""
    count = len(lengths) - 1
    work = {(i, i): 0 for i in range(count)}
    cuts = {}
    for span in range(1, count):
        for i in range(count - span):
            j = i + span
            costs = {
                k: work[i, k]
                + work[k + 1, j]
                + lengths[i] * lengths[k + 1] * lengths[j + 1]
                for k in range(i, j)
            }
            cuts[i, j] = min(costs, key=costs.__getitem__)
            work[i, j] = costs[cuts[i, j]]
    return cuts
