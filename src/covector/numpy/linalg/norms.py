"""Norms of vectors and matrices, and the condition numbers that follow.

Where a norm has no derivative, at zero for instance, it is the middle of the
subgradients there.
"""

import math
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.errors import ArgumentError, LinAlgError
from covector.numpy.axes import canonical_axes
from covector.numpy.axis_order import moveaxis
from covector.numpy.floating import isnan
from covector.numpy.linalg.factorizations import svdvals
from covector.numpy.linalg.operands import matrices, square_matrices
from covector.numpy.powers import sqrt
from covector.numpy.promote import inexact
from covector.numpy.reductions import any, count_nonzero, max, min, sum
from covector.numpy.reshaping import expand_dims
from covector.numpy.selection import where
from covector.operations.casting import convert
from covector.operations.complex import imag, real
from covector.operations.linear_algebra.solve import inverse
from covector.operations.magnitude import abs_

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


def norm(
    x: ArrayLike,
    ord: int | float | str | None = None,
    axis: Axes = None,
    keepdims: bool = False,
) -> Array:
    """A norm of vectors along one axis, or of matrices along two.

    Without ``ord`` and ``axis`` it is the length of all elements as one vector. Its
    gradient at 0 is 0, not NaN.

    Args:
      x: ``[...]``, real or complex; integers are promoted to floats.
      ord: None is the square root of the sum of squares. Of vectors with elements x:
        ``inf`` is max |x|, ``-inf`` min |x|, 0 the number of elements that are not
        zero, and any other number p is (Σ |x|ᵖ)^(1/p). Of matrices: ``"fro"`` is the
        root of the sum of squares, ``"nuc"`` the sum of the singular values, 2 and -2
        are the largest and the smallest one, 1 and -1 the largest and the smallest sum
        of magnitudes in a column, ``inf`` and ``-inf`` those in a row.
      axis: one axis, or two; by default all, which without ``ord`` may be any number.
      keepdims: keep them, with length 1.

    Returns:
      Real numbers, without these axes or with them at length 1.

    Raises:
      ArgumentError: there is no such norm, or not for so many axes.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.norm(cnp.array([3.0, 4.0])))
    5.0
    >>> print(cnp.linalg.norm(cnp.array([[1.0, -2.0], [3.0, 4.0]]), ord=1))
    6.0

    See also: ``vector_norm``, ``matrix_norm``.
    """
    a = inexact("norm", x)
    axes = canonical_axes("norm", axis, a.type.ndim)
    if ord is None and (axis is None or len(axes) == 1):
        return _length("norm", a, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors("norm", a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ArgumentError(
            f"norm along the axes {axes} of {a.type}: there are norms of vectors, "
            "along one axis, and of matrices, along two."
        )
    return _of_matrices("norm", a, "fro" if ord is None else ord, axes, keepdims)


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    ord: int | float | str = 2,
) -> Array:
    """A norm of vectors along ``axis``; along several axes, of all elements together.

    Args:
      ord: as for ``norm`` of vectors.

    Raises:
      ArgumentError: there is no such norm.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.vector_norm(cnp.array([3.0, -4.0]), ord=1))
    7.0
    """
    a = inexact("vector_norm", x)
    axes = canonical_axes("vector_norm", axis, a.type.ndim)
    return _of_vectors("vector_norm", a, ord, axes, keepdims)


def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str = "fro"
) -> Array:
    """A norm of matrices ``[..., m, n]``.

    Args:
      ord: as for ``norm`` of matrices.

    Raises:
      ArgumentError: there is no such norm.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.matrix_norm(cnp.array([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    a = inexact("matrix_norm", x)
    axes = canonical_axes("matrix_norm", (-2, -1), a.type.ndim)
    return _of_matrices("matrix_norm", a, ord, axes, keepdims)


# -- vectors ---------------------------------------------------------------------------


def _of_vectors(
    who: str, x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool
) -> Array:
    if ord is None or ord == 2:
        return _length(who, x, axes, keepdims)
    if isinstance(ord, str):
        raise ArgumentError(
            f"{who} got ord={ord!r}, which is not a norm of vectors: there are numbers."
        )
    size = abs_(x)
    if ord == math.inf:
        return max(size, axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return min(size, axes, keepdims=keepdims)
    if ord == 0:
        return convert(count_nonzero(x, axes, keepdims), size.type.dtype)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    power = float(ord)
    return _power(sum(_power(size, power), axes, keepdims=keepdims), 1 / power)


def _power(x: Value, power: float) -> Array:
    """A power of numbers that are not negative; zero does not move."""
    is_zero = x == 0
    return where(is_zero, 0.0 if power > 0 else math.inf, where(is_zero, 1, x) ** power)


def _length(who: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The root of the sum of squares."""
    if dtypes.is_complex(x.type.dtype):
        parts = [real(x), imag(x)]
        squares = parts[0] * parts[0] + parts[1] * parts[1]
    else:
        squares = x * x
    total = sum(squares, axes, keepdims=keepdims)
    zero, one = [scalar(k, total.type.dtype) for k in (0, 1)]
    is_zero = total == zero
    return where(is_zero, zero, sqrt(where(is_zero, one, total)))


# -- matrices --------------------------------------------------------------------------


def _of_matrices(
    who: str, x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool
) -> Array:
    if ord == "fro":
        return _length(who, x, axes, keepdims)
    x = moveaxis(x, axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        s = abs_(svdvals(x))  # the same numbers, but of zeros the derivative is 0
        if ord == "nuc":
            out = sum(s, -1)
        else:
            out = max(s, -1, initial=0) if ord == 2 else min(s, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        along = -2 if abs(ord) == 1 else -1
        sums = sum(abs_(x), along)
        out = max(sums, -1, initial=0) if ord > 0 else min(sums, -1)
    else:
        raise ArgumentError(
            f"{who} got ord={ord!r}, which is not a norm of matrices: there are 'fro', "
            "'nuc', 1, -1, 2, -2, inf and -inf."
        )
    return expand_dims(out, tuple(sorted(axes))) if keepdims else out


def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """The condition numbers of matrices ``[..., m, n]``: |A| · |A⁻¹|, in a norm.

    Args:
      p: the norm, as for ``norm``; by default 2, for which matrices need not be square,
        and the number is the ratio of the largest and the smallest singular value.

    Returns:
      ``[...]``; infinite for a singular matrix.

    Raises:
      LinAlgError: a matrix is empty, or has NaN or infinities.

    >>> import covector.numpy as cnp
    >>> print(cnp.linalg.cond(cnp.array([[4.0, 0.0], [0.0, 2.0]])))
    2.0
    """
    a = matrices("cond", x)
    if 0 in a.type.shape[-2:]:
        raise LinAlgError(f"cond of {a.type}: empty matrices have none.")
    if p in (None, 2, -2):
        s = svdvals(a)
        first, last = s[..., 0], s[..., -1]
        out = last / first if p == -2 else first / last
    else:
        square_matrices("cond", a)
        out = matrix_norm(a, ord=p) * matrix_norm(inverse(a), ord=p)
    undetermined = isnan(out) & ~any(isnan(a), (-2, -1))
    return where(undetermined, np.inf, out)
