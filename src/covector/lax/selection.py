"""Choosing between arrays, element by element."""

from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.dtypes import bool_, int32
from covector.lax.operands import operands
from covector.operations import selection
from covector.operations.casting import convert

__all__ = ["select", "select_n"]


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """``on_true`` where ``pred`` holds, ``on_false`` elsewhere; both are computed.

    It neither broadcasts nor promotes; ``covector.numpy.where`` does. In a gradient, an
    infinite slope of the case that is not selected gives NaN (0 · ∞): replace the
    argument of that case before it is computed.

    Args:
      pred: bool, a scalar or of the shape of the cases.
      on_true, on_false: arrays of any one element type and one shape, or scalars.

    Returns:
      An array of the type of the cases.

    Raises:
      TypeMismatch: shapes or element types differ.

    >>> from covector.numpy import array
    >>> select(array([True, False]), array([1.0, 2.0]), array([3.0, 4.0])).tolist()
    [1.0, 4.0]

    See also: ``select_n``, ``cond``, ``covector.numpy.where``.
    """
    return select_n(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """``cases[which]``, element by element; all cases are computed.

    Args:
      which: bool, for one or two cases, or int32, for any number; a scalar or of the
        shape of the cases. A number that is too small or too large takes the first
        or the last.
      cases: arrays of any one element type and one shape, or scalars.

    Raises:
      DTypeError: ``which`` is neither bool nor int32.
      TypeMismatch: the cases differ in type, or are not two for a bool.

    >>> from covector.numpy import array
    >>> select_n(array([2, 0], "int32"), 1.0, 2.0, 3.0).tolist()
    [3.0, 1.0]

    See also: ``select``, ``switch``, ``covector.numpy.choose``.
    """
    which = as_array(which, "select_n")
    if len(cases) == 1 and which.type.dtype is bool_:
        which = convert(which, int32)
    return selection.select_n(which, *operands("select_n", *cases))
