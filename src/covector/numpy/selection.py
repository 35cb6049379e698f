"""Elementwise selection by conditions: ``where``, ``select``, ``piecewise``."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array, link
from covector.core.convert import as_array
from covector.core.dtypes import bool_
from covector.errors import ArgumentError, DTypeError, TypeMismatch, how_many
from covector.numpy.comparison import truth
from covector.numpy.promote import broadcast, promote_dtypes
from covector.operations.broadcasting import zeros
from covector.operations.casting import in_dtype
from covector.operations.selection import where as _where

__all__ = ["piecewise", "select", "where"]


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, ...]: ...
@overload
def where(
    condition: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere; all three broadcast together.

    Both are computed in full, for all elements. A derivative that is infinite or NaN in
    the one not taken therefore spoils the gradient: 0 · ∞ is NaN. Give the function an
    argument that is safe first, as in the second example.

    With the condition alone, the indices where it holds, as ``nonzero`` gives them.

    Args:
      condition: bools; numbers count as true where they are not zero.
      x, y: what to choose from; the result has the dtype that both promote to.
      size: how many indices to return, needed where the condition alone is given and
        traced.
      fill_value: the indices beyond those found, 0 by default.

    Returns:
      An array of the shape of all three; with the condition alone, a tuple of index
      arrays, one for each axis.

    Raises:
      ArgumentError: just one of ``x`` and ``y`` is given.
      TypeMismatch: the shapes do not broadcast.
      ConcretizationTypeError: the condition alone is traced, and ``size`` is not given.

    >>> import covector.numpy as cnp
    >>> print(where(cnp.arange(4) < 2, 1, -1), where(cnp.arange(4) > 1)[0])
    [ 1  1 -1 -1] [2 3]
    >>> from covector import grad
    >>> wrong = grad(lambda x: where(x > 0, cnp.sqrt(x), 0.0))
    >>> right = grad(lambda x: where(x > 0, cnp.sqrt(where(x > 0, x, 1.0)), 0.0))
    >>> print(wrong(0.0), right(0.0))
    nan 0.0

    See also: ``select`` (many conditions), ``nonzero``, ``lax.cond`` (one branch runs).
    """
    if x is None and y is None:
        return link.numpy.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ArgumentError(
            "where needs a condition, or a condition and both values, but one of the "
            "values is None."
        )
    if size is not None or fill_value is not None:
        raise ArgumentError(
            "where takes size and fill_value only with a condition alone, whose "
            "indices it gives."
        )
    condition = truth("where", condition)
    x, y = promote_dtypes("where", x, y)
    if len({(), condition.type.shape, x.type.shape, y.type.shape}) > 2:
        condition, x, y = broadcast("where", condition, x, y)
    return _where(condition, x, y)


def select(
    condlist: Sequence[Value], choicelist: Sequence[Value], default: Any = 0
) -> Array:
    """For each element, the first choice whose condition holds, else ``default``.

    Raises:
      ArgumentError: there are no conditions, or not as many as choices.
      DTypeError: a condition is not bool.

    >>> import covector.numpy as cnp
    >>> x = cnp.arange(5)
    >>> print(select([x < 2, x > 3], [x, 10 * x], -1))
    [ 0  1 -1 -1 40]
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ArgumentError(
            "select needs as many choices as conditions, and at least one, but got "
            f"{len(choicelist)} and {len(condlist)}."
        )
    conditions = [as_array(c, "select") for c in condlist]
    for condition in conditions:
        if condition.type.dtype is not bool_:
            raise DTypeError(
                f"select needs bools as conditions, but got {condition.type}. Compare "
                "it, as in x != 0."
            )
    *choices, out = promote_dtypes("select", *choicelist, default)
    *operands, out = broadcast("select", *conditions, *choices, out)
    n = len(conditions)
    for condition, choice in zip(operands[:n][::-1], operands[n:][::-1], strict=True):
        out = _where(condition, choice, out)
    return out


def piecewise(
    x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: ArrayLike, **kw: Any
) -> Array:
    """A function given in pieces: where a condition holds, the value of its function.

    Args:
      condlist: conditions, of the shape of ``x``; where several hold, the last counts.
      funclist: a function of ``x`` (and ``*args, **kw``) or a number for each
        condition, and perhaps one more for where none holds, in place of 0.

    Returns:
      An array of the shape and dtype of ``x``. Each function is computed everywhere.

    Raises:
      ArgumentError: the number of functions does not fit that of the conditions.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([-2.0, 1.0])
    >>> print(piecewise(x, [x < 0, x >= 0], [lambda x: -x, 5]))
    [2. 5.]
    """
    x = as_array(x, "piecewise")
    if isinstance(funclist, str) or not isinstance(funclist, Sequence):
        raise ArgumentError(
            f"piecewise needs a list of functions and numbers, but got {funclist!r}."
        )
    if isinstance(condlist, Array) or hasattr(condlist, "ndim"):
        condlist = [condlist] if condlist.ndim == x.ndim else list(condlist)
    elif isinstance(condlist, bool):
        condlist = [condlist]
    n = len(condlist)
    if len(funclist) not in (n, n + 1):
        raise ArgumentError(
            f"piecewise has {how_many(n, 'condition')}, and so needs "
            f"{how_many(n, 'function')}, or {n + 1} with the one for elsewhere, "
            f"but got {len(funclist)}."
        )

    def value(piece: Callable[..., Any] | Any) -> Array:
        found = piece(x, *args, **kw) if callable(piece) else piece
        return in_dtype(found, x.type.dtype, "piecewise")

    out = value(funclist[n]) if len(funclist) > n else zeros(x.type)
    for condition, piece in zip(condlist, funclist, strict=False):
        holds = truth("piecewise", condition)
        if holds.type.ndim and holds.type.shape != x.type.shape:
            raise TypeMismatch(
                f"piecewise of {x.type} needs conditions of its shape, or scalars, but "
                f"got {holds.type}."
            )
        out = _where(*broadcast("piecewise", holds, value(piece), out))
    return out
