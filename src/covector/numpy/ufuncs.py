"""The functions of the namespace that are ufuncs: callable, and able to fold an
array.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.convert import as_array
from covector.numpy import arithmetic, bitwise, comparison, exponential, extrema
from covector.numpy.comparison import truth
from covector.numpy.cumulative import cumprod, cumsum
from covector.numpy.folding import accumulate_in_pairs, reduce_in_pairs
from covector.numpy.promote import inexact
from covector.numpy.reductions import max as max_of
from covector.numpy.reductions import min as min_of
from covector.numpy.reductions import prod, sum
from covector.numpy.selection import where as select
from covector.numpy.ufunc import ufunc
from covector.ops.cumulative import Cummax, Cummin

__all__ = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "subtract",
]


def _ufunc(
    call: Callable[..., Any], identity: Any = None, at: str = "", **folds: Any
) -> ufunc:
    """A ufunc of two operands; ``at`` is the method of ``x.at[i]`` that does the
    same.
    """
    if at:
        folds["at"] = lambda a, indices, b: getattr(a.at[indices], at)(b)
    return ufunc(call, 2, 1, call=call, identity=identity, **folds)


def _named(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of the namespace with the arguments that ``ufunc`` gives it."""

    def reduce(a: Any, axes: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return reduction(a, axes, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _associative(
    call: Callable[..., Any],
    identity: Any,
    prepare: Callable[[str, Any], Any] = lambda _, a: a,
) -> ufunc:
    """A ufunc whose results combine again; ``prepare`` gives operands their dtype."""
    name = call.__name__

    def reduce(a: Any, axes: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = prepare(name, a)
        if where is not None:
            a = select(where, a, as_array(identity).astype(a.dtype))
        out = reduce_in_pairs(call, a, axes, keepdims)
        return out if initial is None else call(initial, out)

    def accumulate(a: Any, axis: int) -> Any:
        return accumulate_in_pairs(call, prepare(name, a), axis)

    return _ufunc(call, identity, reduce=reduce, accumulate=accumulate)


add = _ufunc(arithmetic.add, 0, "add", reduce=_named(sum), accumulate=cumsum)
multiply = _ufunc(
    arithmetic.multiply, 1, "multiply", reduce=_named(prod), accumulate=cumprod
)
maximum = _ufunc(
    extrema.maximum,
    at="max",
    reduce=_named(max_of),
    accumulate=lambda a, axis: Cummax(axis)(a),
)
minimum = _ufunc(
    extrema.minimum,
    at="min",
    reduce=_named(min_of),
    accumulate=lambda a, axis: Cummin(axis)(a),
)
bitwise_and = _associative(bitwise.bitwise_and, -1)
bitwise_or = _associative(bitwise.bitwise_or, 0)
bitwise_xor = _associative(bitwise.bitwise_xor, 0)
logaddexp = _associative(exponential.logaddexp, -math.inf, inexact)
logaddexp2 = _associative(exponential.logaddexp2, -math.inf, inexact)
logical_and = _associative(comparison.logical_and, True, truth)
logical_or = _associative(comparison.logical_or, False, truth)
logical_xor = _associative(comparison.logical_xor, False, truth)


# -- not associative -------------------------------------------------------------------


def _reduce_by_subtracting(
    a: Any, axes: Sequence[int], keepdims: bool, initial: Any, where: Any
) -> Any:
    total = sum(a, tuple(axes), a.dtype, keepdims=keepdims, where=where)
    if initial is not None:
        return arithmetic.subtract(initial, total)
    # x₀ − x₁ − x₂ − … = 2 x₀ − (x₀ + x₁ + x₂ + …)
    first = a[tuple([slice(0, 1) if k in axes else slice(None) for k in range(a.ndim)])]
    first = first if keepdims else first.squeeze(tuple(axes))
    return first + first - total


def _accumulate_by_subtracting(a: Any, axis: int) -> Any:
    first = a[(*[slice(None)] * axis, slice(0, 1))]
    return first + first - cumsum(a, axis, a.dtype)


subtract = _ufunc(
    arithmetic.subtract,
    at="subtract",
    reduce=_reduce_by_subtracting,
    accumulate=_accumulate_by_subtracting,
)
negative = ufunc(
    arithmetic.negative,
    1,
    1,
    call=arithmetic.negative,
    at=lambda a, indices, _: a.at[indices].apply(arithmetic.negative),
)
