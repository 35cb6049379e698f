"""The ufuncs of the NumPy namespace."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.dtypes import bool_
from covector.numpy import arithmetic, bitwise, comparison, exp_log, minmax
from covector.numpy.axis_order import moveaxis
from covector.numpy.comparison import truth
from covector.numpy.concatenation import concatenate
from covector.numpy.cumulative import cumprod, cumsum
from covector.numpy.promote import inexact
from covector.numpy.reductions import max as max_of
from covector.numpy.reductions import min as min_of
from covector.numpy.reductions import prod, sum
from covector.numpy.reshaping import expand_dims
from covector.numpy.selection import where as select
from covector.numpy.ufunc import ufunc
from covector.numpy.ufunc_methods import accumulate_in_pairs, in_front, reduce_in_pairs
from covector.operations.cumulative import Cummax, Cummin

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
    call: Callable[..., Any],
    identity: Any = None,
    at: str = "",
    at_bools: str = "",
    **folds: Any,
) -> ufunc:
    """A ufunc of two operands; ``at`` is the method of ``x.at[i]`` that does the
    same, ``at_bools`` that of arrays of bools, if it is another.
    """
    if at:

        def apply_at(a: Value, indices: Any, b: Any) -> Any:
            name = at_bools if at_bools and a.dtype == bool_ else at
            return getattr(a.at[indices], name)(b)

        folds["at"] = apply_at
    return ufunc(call, 2, 1, call=call, identity=identity, **folds)


def _named(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of the namespace with the arguments that ``ufunc`` gives it."""

    def reduce(
        a: Value, axes: Sequence[int], keepdims: bool, initial: Any, where: Any
    ) -> Array:
        return reduction(a, axes, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _associative(
    call: Callable[..., Any],
    identity: Any,
    prepare: Callable[[str, Any], Any] = lambda _, a: a,
) -> ufunc:
    """A ufunc whose results combine again; ``prepare`` gives operands their dtype."""
    name = call.__name__

    def reduce(
        a: Value, axes: Sequence[int], keepdims: bool, initial: Any, where: Any
    ) -> Array:
        a = prepare(name, a)
        if where is not None:
            a = select(where, a, as_array(identity).astype(a.dtype))
        out = reduce_in_pairs(call, a, axes, keepdims)
        return out if initial is None else call(initial, out)

    def accumulate(a: Value, axis: int) -> Any:
        return accumulate_in_pairs(call, prepare(name, a), axis)

    return _ufunc(call, identity, reduce=reduce, accumulate=accumulate)


def _running(cumulative: Callable[[int], Any], of_bools: ufunc) -> Callable[..., Any]:
    """The largest or smallest so far; bools, which have no order in XLA, are joined."""

    def accumulate(a: Value, axis: int) -> Any:
        if a.dtype == bool_:
            return of_bools.accumulate(a, axis)
        return cumulative(axis)(a)

    return accumulate


add: ufunc = _ufunc(
    arithmetic.add, 0, "add", "max", reduce=_named(sum), accumulate=cumsum
)
multiply: ufunc = _ufunc(
    arithmetic.multiply, 1, "multiply", "min", reduce=_named(prod), accumulate=cumprod
)
bitwise_and: ufunc = _associative(bitwise.bitwise_and, -1)
bitwise_or: ufunc = _associative(bitwise.bitwise_or, 0)
bitwise_xor: ufunc = _associative(bitwise.bitwise_xor, 0)
logaddexp: ufunc = _associative(exp_log.logaddexp, -math.inf, inexact)
logaddexp2: ufunc = _associative(exp_log.logaddexp2, -math.inf, inexact)
logical_and: ufunc = _associative(comparison.logical_and, True, truth)
logical_or: ufunc = _associative(comparison.logical_or, False, truth)
logical_xor: ufunc = _associative(comparison.logical_xor, False, truth)
maximum: ufunc = _ufunc(
    minmax.maximum,
    at="max",
    reduce=_named(max_of),
    accumulate=_running(Cummax, bitwise_or),
)
minimum: ufunc = _ufunc(
    minmax.minimum,
    at="min",
    reduce=_named(min_of),
    accumulate=_running(Cummin, bitwise_and),
)


# -- not associative -------------------------------------------------------------------


def _reduce_by_subtracting(
    a: Value, axes: Sequence[int], keepdims: bool, initial: Any, where: Any
) -> Any:
    if initial is not None:
        total = sum(a, tuple(axes), a.dtype, keepdims=keepdims, where=where)
        return arithmetic.subtract(initial, total)
    x = in_front(a, axes)
    out = x[0] - sum(x[1:], 0, a.dtype)
    return expand_dims(out, tuple(axes)) if keepdims else out


def _accumulate_by_subtracting(a: Value, axis: int) -> Any:
    x = moveaxis(a, axis, 0)
    out = concatenate([x[:1], x[:1] - cumsum(x[1:], 0, a.dtype)])
    return moveaxis(out, 0, axis)


subtract: ufunc = _ufunc(
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
