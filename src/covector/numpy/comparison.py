"""Comparisons, exact and within a tolerance, and logic on their results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.dtypes import bool_, is_key
from covector.errors import TypeMismatch
from covector.numpy.axes import beside
from covector.numpy.creation import asarray
from covector.numpy.floating import isfinite, isnan
from covector.numpy.fuse import fuse
from covector.numpy.promote import promote, promote_compared, promote_inexact
from covector.operations import bitwise, comparison
from covector.operations.magnitude import abs_
from covector.operations.reductions import ReduceAnd

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "less",
    "less_equal",
    "logical_not",
    "not_equal",
]


def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x = y, element by element; the operator ``==``. NaN equals nothing.

    Of floating point results rounding decides: compare them with ``isclose``.

    Args:
      x, y: arrays or numbers, whose shapes broadcast together.

    Returns:
      bools, of the shape to which both broadcast.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> equal(cnp.array([1, 2]), 2).tolist()
    [False, True]

    See also: ``array_equal`` (one answer), ``isclose``, ``not_equal``.
    """
    return comparison.eq(*promote_compared("equal", x, y))


def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x ≠ y, element by element. NaN is unequal to everything.

    >>> import covector.numpy as cnp
    >>> not_equal(cnp.array([1, 2]), 2).tolist()
    [True, False]
    """
    return comparison.ne(*promote_compared("not_equal", x, y))


def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x < y, element by element; complex numbers by real, then imaginary part.

    False where one is NaN. A chain as in ``0 < x < 1`` needs Python's ``and``: write
    ``(0 < x) & (x < 1)``.

    >>> import covector.numpy as cnp
    >>> less(cnp.array([1, 2]), 2).tolist()
    [True, False]

    See also: ``less_equal``, ``greater``, ``minimum``.
    """
    return comparison.lt(*promote_compared("less", x, y))


def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x ≤ y, element by element; complex numbers by real, then imaginary part.

    >>> import covector.numpy as cnp
    >>> less_equal(cnp.array([1, 3]), 2).tolist()
    [True, False]
    """
    return comparison.le(*promote_compared("less_equal", x, y))


def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x > y, element by element; complex numbers by real, then imaginary part.

    >>> import covector.numpy as cnp
    >>> greater(cnp.array([1, 3]), 2).tolist()
    [False, True]
    """
    return comparison.gt(*promote_compared("greater", x, y))


def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x ≥ y, element by element; complex numbers by real, then imaginary part.

    >>> import covector.numpy as cnp
    >>> greater_equal(cnp.array([1, 2]), 2).tolist()
    [False, True]
    """
    return comparison.ge(*promote_compared("greater_equal", x, y))


# -- logic -----------------------------------------------------------------------------


def truth(who: str, x: ArrayLike) -> Array:
    """``x`` as an array of bools: whether each element is other than zero."""
    x = as_array(bool(x) if type(x) is int else x, who)
    if x.type.dtype is bool_:
        return x
    return comparison.ne(x, scalar(0, x.type.dtype, True))


def _truths(who: str, x: ArrayLike, y: Any) -> Sequence[Array]:
    return promote(who, truth(who, x), truth(who, y))


def logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether both are true, element by element; numbers are true if not zero, NaN too.

    For arrays, in place of Python's ``and``, which needs a single known bool. The
    operator ``&`` is the same for bools only: of integers it combines the bits.

    Args:
      x, y: arrays or numbers, whose shapes broadcast together.

    Returns:
      bools, of the shape to which both broadcast.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> logical_and(cnp.array([0, 2]), True).tolist()
    [False, True]

    See also: ``logical_or``, ``logical_not``, ``bitwise_and``, ``all``.
    """
    return bitwise.and_(*_truths("logical_and", x, y))


def logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether one or both are true, element by element; numbers are true if not zero.

    For arrays, in place of Python's ``or``; of bools, the operator ``|``.

    Args:
      x, y: arrays or numbers, whose shapes broadcast together.

    Returns:
      bools, of the shape to which both broadcast.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> logical_or(cnp.array([0, 2]), False).tolist()
    [False, True]

    See also: ``logical_and``, ``logical_xor``, ``bitwise_or``, ``any``.
    """
    return bitwise.or_(*_truths("logical_or", x, y))


def logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether just one is true, element by element; numbers are true if not zero.

    >>> import covector.numpy as cnp
    >>> logical_xor(cnp.array([0, 2]), True).tolist()
    [True, False]
    """
    return bitwise.xor(*_truths("logical_xor", x, y))


def logical_not(x: ArrayLike, /) -> Array:
    """Whether x is false, element by element; numbers are true if not zero.

    For arrays, in place of Python's ``not``; of bools, the operator ``~``.

    Args:
      x: an array or a number.

    Returns:
      bools, of the shape of ``x``.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> import covector.numpy as cnp
    >>> logical_not(cnp.array([0, 2])).tolist()
    [True, False]

    See also: ``logical_and``, ``invert``, ``where``.
    """
    return bitwise.not_(truth("logical_not", x))


# -- within a tolerance ----------------------------------------------------------------


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Whether |a − b| ≤ atol + rtol · |b|, element by element.

    Infinities equal themselves, and random keys those that they equal. Below ``atol``
    everything is close: lower it to compare small numbers. The default ``rtol`` is
    finer than the rounding of float16 and bfloat16.

    Args:
      a, b: arrays that broadcast together; b is the reference.
      rtol, atol: the relative and the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns:
      bools, of the shape to which both broadcast.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> isclose(cnp.array([1.0, 2.0]), cnp.array([1.0 + 1e-7, 2.1])).tolist()
    [True, False]

    See also: ``allclose``, ``equal``, ``finfo``.
    """
    x, y = promote_inexact("isclose", a, b)
    if is_key(x.dtype):
        return equal(x, y)
    limits = [as_array(v, "isclose") for v in (rtol, atol)]
    return _isclose(x, y, *limits, equal_nan=bool(equal_nan))


def _isclose_on_host(
    x: HostArray, y: HostArray, rtol: HostArray, atol: HostArray, *, equal_nan: bool
) -> HostArray:
    within = np.less_equal(np.abs(x - y), atol + rtol * np.abs(y))
    close = np.equal(x, y) | (within & np.isfinite(x) & np.isfinite(y))
    return close | (np.isnan(x) & np.isnan(y)) if equal_nan else close


@fuse(host=_isclose_on_host)
def _isclose(x: Value, y: Value, rtol: Value, atol: Value, *, equal_nan: bool) -> Array:
    within = abs_(x - y) <= atol + rtol * abs_(y)
    close = (x == y) | (within & isfinite(x) & isfinite(y))
    return close | (isnan(x) & isnan(y)) if equal_nan else close


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Whether ``isclose``, which has the same arguments, holds for all elements.

    Args:
      a, b, rtol, atol, equal_nan: as for ``isclose``.

    Returns:
      bool[], an array: under ``jit``, Python's ``if`` cannot test it.

    Raises:
      TypeMismatch: the shapes do not broadcast.

    >>> import covector.numpy as cnp
    >>> bool(allclose(cnp.array([1.0, 2.0]), cnp.array([1.0, 2.0 + 1e-7])))
    True

    See also: ``isclose``, ``array_equal``.
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements.

    Args:
      equal_nan: whether NaN equals NaN.

    Returns:
      bool[], an array; False for arrays of different shapes.

    >>> import covector.numpy as cnp
    >>> bool(array_equal(cnp.array([1, 2]), [1, 2])), bool(array_equal([1], [1, 2]))
    (True, False)

    See also: ``equal`` (element by element), ``allclose``, ``array_equiv``.
    """
    x, y = asarray(a1), asarray(a2)
    if x.type.shape != y.type.shape:
        return beside("array_equal", scalar(False, bool_), x, y)
    same = equal(x, y)
    return _all(same | (isnan(x) & isnan(y)) if equal_nan else same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays are equal after broadcasting, and can be broadcast.

    >>> bool(array_equiv([[1, 2], [1, 2]], [1, 2]))
    True
    """
    x, y = asarray(a1), asarray(a2)
    try:
        return _all(equal(x, y))
    except TypeMismatch:
        return beside("array_equiv", scalar(False, bool_), x, y)


def _all(x: Value) -> Array:
    return ReduceAnd(tuple(range(x.type.ndim)))(x)
