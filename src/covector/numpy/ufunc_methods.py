"""The methods of ``ufunc``: reduce, accumulate and the like with a binary function.

An associative function reduces in a logarithmic number of steps
(``operations.tree_reduce``); any other combines elements in order, in a loop that is
compiled once.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.host_values import plain
from covector.core.staging import Staged, stage
from covector.errors import ArgumentError, how_many
from covector.numpy.axis_order import moveaxis
from covector.numpy.concatenation import concatenate, stack
from covector.numpy.filling import ones
from covector.numpy.ranges import arange
from covector.numpy.reshaping import broadcast_to, expand_dims
from covector.numpy.selection import where as select
from covector.operations import tree_reduce
from covector.operations.casting import convert, in_dtype

Binary = Callable[[Any, Any], Any]


def reduce_in_pairs(f: Binary, a: Value, axis: Sequence[int], keepdims: bool) -> Any:
    """The elements along ``axis``, at least one, combined by associative f."""
    out, _ = tree_reduce.fold(_value_of(f), in_front(a, axis), 0)
    return expand_dims(out, tuple(axis)) if keepdims else out


def accumulate_in_pairs(f: Binary, a: Value, axis: int) -> Any:
    """Entry k combines the elements 0 … k along ``axis``; f is associative."""
    return tree_reduce.scan(_value_of(f), a, axis)[0]


def _value_of(f: Binary) -> Any:
    """``f`` as a combination for ``tree_reduce``, without a pushforward."""
    return lambda x, y: (f(x, y), None)


def reduce_in_order(
    f: Binary, a: Value, axes: Sequence[int], keepdims: bool, initial: Any, where: Any
) -> Array:
    """The elements along ``axes``, at least one, from the first to the last."""
    x, mask = in_front(a, axes), None
    if where is not None:
        mask = in_front(broadcast_to(where, a.shape), axes)
    if initial is not None:
        first = broadcast_to(in_dtype(initial, x.dtype, "reduce"), x.shape[1:])
        x = concatenate([first[None], x])
        mask = (
            None if mask is None else concatenate([ones(first.shape, bool)[None], mask])
        )
    total, _ = _step(f, x, mask)
    return expand_dims(total, tuple(axes)) if keepdims else total


def accumulate_in_order(f: Binary, a: Value, axis: int) -> Any:
    """Entry k combines the elements 0 … k along ``axis``, from the first to the
    last.
    """
    _, entries = _step(f, moveaxis(a, axis, 0))
    return moveaxis(entries, 0, axis)


def _step(f: Binary, x: Value, mask: Any = None) -> tuple[Any, Array]:
    """The elements along the first axis combined, and the running combinations.

    Where the mask is False, an element takes no part.
    """
    if x.shape[0] < 2:
        return x[0] if x.shape[0] else None, x

    def combine(total: Value, element: Value, *takes_part: Any) -> list[Array]:
        out = as_array(f(total, element))
        for chosen in takes_part:
            out = select(chosen, out, total)
        return [out, out]

    first, operands = x[0], [x[1:]]
    if mask is not None:
        operands.append(mask[1:])
    elements = [e.type.without_axis(0) for e in operands]
    found = stage(combine, [first.type, *elements]).jaxpr.out_types[0]
    # The combination of two may be of a wider dtype.
    first = convert(first, found.dtype, found.weak)
    program = stage(combine, [found, *elements], getattr(f, "__name__", ""))
    total, entries = _scan(program, x.shape[0] - 1, first, operands)
    return total, concatenate([first[None], entries])


def _scan(
    program: Staged, length: int, first: Value, operands: Sequence[Value]
) -> Sequence[Array]:
    """The step of a fold, so many times, along the first axis of the operands."""
    from covector.programs.control_flow.scan import Scan  # noqa: PLC0415  few fold so

    scan = Scan(program.jaxpr, length, len(program.captured), 1)
    return scan(*program.captured, first, *operands)


def at_in_order(
    f: Callable[..., Any], a: Value, indices: Any, b: ArrayLike | None
) -> Any:
    """``a`` with f applied at each index, one after the other; b is its second
    operand.
    """
    positions = arange(a.size).reshape(a.shape)[indices]
    operands = [positions.ravel()]
    if b is not None:
        operands.append(broadcast_to(b, positions.shape).ravel())

    def change(flat: Any, position: Any, *second: Any) -> list[Any]:
        return [flat.at[position].set(f(flat[position], *second))]

    flat = a.ravel()
    elements = [x.type.with_shape(()) for x in operands]
    program = stage(change, [flat.type, *elements], getattr(f, "__name__", ""))
    return _scan(program, positions.size, flat, operands)[0].reshape(a.shape)


def reduce_slices(f: Any, a: Value, indices: Any, axis: int) -> Any:
    """The reductions of the slices along ``axis`` that begin at each of the indices."""
    starts = plain(indices)
    n = a.shape[axis]
    if starts.ndim != 1 or not dtypes.is_integer(starts.dtype):
        raise ArgumentError(
            f"{f.__name__}.reduceat needs a list of indices, but got {indices!r}."
        )
    if any(not 0 <= k < n for k in starts):
        raise ArgumentError(
            f"{f.__name__}.reduceat: the indices {starts.tolist()} must be from 0 to "
            f"{n - 1}, the axis of {a.type} having {how_many(n, 'element')}."
        )
    x = moveaxis(a, axis, 0)
    ends = [*starts[1:], n]
    parts = [
        f.reduce(x[k : max(end, k + 1)])
        for k, end in zip(starts.tolist(), ends, strict=True)
    ]
    return moveaxis(stack(parts), 0, axis)


def in_front(a: Value, axes: Sequence[int]) -> Array:
    """``a`` with the given axes in front, joined to one."""
    if len(axes) == 1:
        return moveaxis(a, axes[0], 0)
    x = moveaxis(a, tuple(axes), tuple(range(len(axes))))
    return x.reshape((-1, *x.shape[len(axes) :]))
