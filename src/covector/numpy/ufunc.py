"""``ufunc``: elementwise functions with methods like ``reduce`` and ``accumulate``.

    add(x, y)              every pair of elements
    add.reduce(x)          x[0] + x[1] + …               along an axis
    add.accumulate(x)      x[0], x[0] + x[1], …
    add.reduceat(x, k)     the reductions of the slices that begin at k
    add.at(x, k, y)        x with y added at k, once for each time an index occurs
    add.outer(x, y)        every element of x with every element of y

A fold that the namespace has a function for uses it (``add.reduce`` is ``sum``); those
of other associative functions take a logarithmic number of steps (``folding``), and
those of any Python function one step per element.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from covector.core.annotations import ArrayLike, Axes, DTypeLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, ImmutableArrayError, how_many
from covector.numpy import ufunc_methods
from covector.numpy.axes import (
    canonical_axes,
    canonical_axis,
    check_no_out,
    check_not_inplace,
)
from covector.numpy.filling import full
from covector.numpy.vectorize import vectorize

__all__ = ["frompyfunc", "ufunc"]


class ufunc:
    """A function of scalars that applies to every element, and folds along an axis.

    Args:
      func: takes ``nin`` scalars and returns ``nout``.
      identity: what ``reduce`` gives for no element; None where there is no such value.
      call: the same function for whole arrays; by default ``func`` is vectorized.
      reduce: ``reduce(a, axes, keepdims, initial, where)``, used by the method.
      accumulate: ``accumulate(a, axis)``, likewise.
      at: ``at(a, indices, b)``, likewise.
      reduceat: ``reduceat(a, indices, axis)``, likewise.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([1, 2, 4])
    >>> print(cnp.add.reduce(x), cnp.add.accumulate(x), cnp.add.outer(x, x).shape)
    7 [1 3 7] (3, 3)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.__name__: str = name or getattr(func, "__name__", type(func).__name__)
        self.__qualname__: str = self.__name__
        self.__module__ = getattr(func, "__module__", __name__)
        self.__doc__ = func.__doc__
        self.__wrapped__ = func
        self.nin: int = nin
        self.nout: int = nout
        self.nargs: int = nin if nargs is None else nargs
        self.identity = identity
        self.call: Callable[..., Any] = call or vectorize(func)
        self._reduce = reduce or partial(ufunc_methods.reduce_in_order, self)
        self._accumulate = accumulate or partial(
            ufunc_methods.accumulate_in_order, self
        )
        self._at = at or partial(ufunc_methods.at_in_order, self)
        self._reduceat = reduceat or partial(ufunc_methods.reduce_slices, self)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __call__(
        self, *args: Any, out: None = None, where: ArrayLike | None = None
    ) -> Array:
        if out is not None or where is not None:
            self._refuse(out)
        return self.call(*args)

    def _refuse(self, out: None) -> None:
        check_no_out(self.__name__, out)
        raise ImmutableArrayError(
            f"{self.__name__} has no place to keep values where `where` is false: "
            f"arrays are immutable. Use where(condition, {self.__name__}(…), other)."
        )

    # -- methods -----------------------------------------------------------------------

    def reduce(
        self,
        a: ArrayLike,
        axis: Axes = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The elements along ``axis`` (None: all) combined into one.

        Args:
          initial: the value to begin with; needed for no elements, or with ``where``,
            if the function has no identity.
          where: which elements take part; broadcasts against ``a``.

        Raises:
          ArgumentError: the function is not one of two operands and one result, or
            there is nothing to begin with.
        """
        who = f"{self.__name__}.reduce"
        check_no_out(who, out)
        a = self._prepare(who, a, dtype)
        axes = canonical_axes(who, axis, a.ndim)
        nothing = any(a.shape[k] == 0 for k in axes)
        first = self.identity if initial is None else initial
        if first is None and (nothing or where is not None):
            raise ArgumentError(
                f"{who} of {a.type} over axes {axes}: {self.__name__} has no identity, "
                "so without elements, or with `where`, it needs `initial`."
            )
        if nothing:
            kept = [n for k, n in enumerate(a.shape) if k not in axes]
            ones = [1 if k in axes else n for k, n in enumerate(a.shape)]
            value = as_array(first).astype(a.dtype)
            return full(ones if keepdims else kept, value)
        return self._reduce(a, axes, keepdims, initial, where)

    def accumulate(
        self,
        a: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Entry k along ``axis`` combines the elements 0 … k.

        Raises:
          ArgumentError: the function is not one of two operands and one result.
          AxisError: ``axis`` is not an axis of ``a``.
        """
        who = f"{self.__name__}.accumulate"
        a = self._prepare(who, a, dtype)
        check_no_out(who, out)
        return self._accumulate(a, axis=canonical_axis(who, axis, a.ndim))

    def at(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        b: ArrayLike | None = None,
        *,
        inplace: bool = True,
    ) -> Any:
        """``a`` with the function applied at ``indices``, repeatedly where they repeat.

        Raises:
          ImmutableArrayError: without ``inplace=False``: ``a`` itself does not change.
        """
        who = f"{self.__name__}.at"
        check_not_inplace(who, inplace)
        if (b is None) != (self.nin == 1):
            raise ArgumentError(
                f"{who} takes {how_many(self.nin - 1, 'operand')} beside the array."
            )
        return self._at(as_array(a, who), indices, b)

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Any:
        """The reductions of the slices of ``a`` from each index to the next.

        The last slice goes to the end; where the next index is not larger, the slice is
        the one element. ``indices`` must be known, not traced.
        """
        who = f"{self.__name__}.reduceat"
        a = self._prepare(who, a, dtype)
        check_no_out(who, out)
        return self._reduceat(a, indices, axis=canonical_axis(who, axis, a.ndim))

    def outer(self, a: ArrayLike, b: ArrayLike, /) -> Array:
        """Every element of ``a`` with every element of ``b``: shape ``a.shape +
        b.shape``.
        """
        if self.nin != 2:
            raise ArgumentError(
                f"{self.__name__}.outer needs a function of two operands, but "
                f"{self.__name__} takes {self.nin}."
            )
        who = f"{self.__name__}.outer"
        a, b = as_array(a, who), as_array(b, who)
        ours, theirs = (*a.shape, *[1] * b.ndim), (*[1] * a.ndim, *b.shape)
        return self(a.reshape(ours), b.reshape(theirs))

    def _prepare(self, who: str, a: ArrayLike, dtype: DTypeLike | None) -> Array:
        if (self.nin, self.nout) != (2, 1):
            raise ArgumentError(
                f"{who} needs a function of two operands and one result, but "
                f"{self.__name__} has {self.nin} and {self.nout}."
            )
        a = as_array(a, who)
        return a if dtype is None else a.astype(dtype)


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None
) -> ufunc:
    """A ufunc made of a Python function of ``nin`` scalars with ``nout`` results.

    Args:
      identity: what ``reduce`` begins with, if there is such a value.

    Raises:
      ArgumentError: ``func`` cannot be called, or ``nin`` or ``nout`` is no count.

    >>> import covector.numpy as cnp
    >>> both = frompyfunc(lambda x, y: x + 10 * y, 2, 1)
    >>> both(cnp.arange(3), 1).tolist(), int(both.reduce(cnp.arange(3)))
    ([10, 11, 12], 30)
    """
    if not callable(func) or not all(isinstance(n, int) and n > 0 for n in (nin, nout)):
        raise ArgumentError(
            "frompyfunc needs a function, how many operands it takes and how many "
            f"results it has, but got {func!r}, {nin!r} and {nout!r}."
        )
    return ufunc(func, nin, nout, identity=identity)
