"""Tree reduction and scan: log₂ n steps, each one operation on whole arrays.

    x0  x1  x2  x3  x4      fold: neighbours are combined until one is left
    └─┬─┘   └─┬─┘   │       scan: the pairs are scanned, which gives entries 1, 3, 5 …;
     x01     x23    x4      each other entry is one more combination

The combining operation must be associative. It is given as a function of two arrays
that returns the combination and its pushforward, a linear map of two tangents. So the
derivative is exact for a product with zeros in it, or for a maximum with ties.
"""

from collections.abc import Callable
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.primitive import Primitive
from covector.operations.arithmetic import add
from covector.operations.joining import Concatenate, Stack
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape

Push = Callable[..., Any]
#: (x, y) → the combination of x and y, and its pushforward (dx, dy) → tangent
Combine = Callable[[Any, Any], tuple[Any, Push]]


def with_jvp(op: Any) -> Combine:
    """A binary operation as a combination with its pushforward."""

    def combine(x: Value, y: Value) -> tuple[Any, Push]:
        if op.linearize is not None:
            (out,), push = op.linearize((True, True), x, y)
            return out, lambda dx, dy: push(dx, dy)[0]
        out = op(x, y)
        by_x, by_y = op.differential(out, x, y)
        return out, lambda dx, dy: add(by_x(dx), by_y(dy))

    return combine


def primal_only(op: Primitive) -> Combine:
    """A binary operation as a combination whose pushforward is never called."""
    return lambda x, y: (op(x, y), _no_tangent)


def _no_tangent(*_: Value) -> Any:
    raise AssertionError("only the value was asked for")


def fold(
    combine: Combine, x: Value, axis: int, commutes: bool = False
) -> tuple[Any, Push]:
    """All elements along ``axis`` combined, and the pushforward; none is an error.

    Where the order does not matter, the first half is combined with the second one,
    which is quicker than neighbours are: their elements lie side by side.
    """
    n = x.type.shape[axis]
    if n == 1:
        shape = x.type.shape[:axis] + x.type.shape[axis + 1 :]
        return Reshape(shape)(x), Reshape(shape)

    def halves(x: Value) -> tuple[Array, Array]:
        if commutes:
            return cut(x, axis, 0, n // 2), cut(x, axis, n // 2, n - n % 2)
        return cut(x, axis, 0, n - 1, 2), cut(x, axis, 1, n, 2)

    def with_last(pairs: Value, x: Value) -> Value:
        return Concatenate(axis)(pairs, cut(x, axis, n - 1, n)) if n % 2 else pairs

    pairs, push_pairs = combine(*halves(x))
    out, push_rest = fold(combine, with_last(pairs, x), axis, commutes)

    def push(dx: Any) -> Any:
        return push_rest(with_last(push_pairs(*halves(dx)), dx))

    return out, push


def scan(combine: Combine, x: Value, axis: int) -> tuple[Any, Push]:
    """Entry k combines the elements 0 to k along ``axis``; and the pushforward."""
    n = x.type.shape[axis]
    if n < 2:
        return x, lambda dx: dx

    def neighbours(x: Value) -> tuple[Array, Array]:
        return cut(x, axis, 0, n - 1, 2), cut(x, axis, 1, n, 2)

    def to_even(odd: Value, x: Value) -> tuple[Array, Array]:
        return cut(odd, axis, 0, (n - 1) // 2), cut(x, axis, 2, n, 2)

    def merged(even: Value, odd: Value, x: Value) -> Value:
        even = Concatenate(axis)(cut(x, axis, 0, 1), even)
        return interleave(even, odd, axis)

    pairs, push_pairs = combine(*neighbours(x))
    odd, push_odd = scan(combine, pairs, axis)
    even, push_even = combine(*to_even(odd, x))

    def push(dx: Any) -> Any:
        out_tangents = push_odd(push_pairs(*neighbours(dx)))
        return merged(push_even(*to_even(out_tangents, dx)), out_tangents, dx)

    return merged(even, odd, x), push


def cut(x: Value, axis: int, start: int, limit: int, stride: int = 1) -> Value:
    """``x[start:limit:stride]`` along one axis."""
    shape = x.type.shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return Slice(tuple(starts), tuple(limits), tuple(strides))(x)


def interleave(even: Value, odd: Value, axis: int) -> Value:
    """Entries of ``even`` and ``odd`` in turn; ``even`` has as many, or one more."""
    shape = list(even.type.shape)
    more, both = shape[axis], odd.type.shape[axis]
    shape[axis] = 2 * both
    pairs = Stack(axis + 1)(cut(even, axis, 0, both), odd)
    mixed = Reshape(tuple(shape))(pairs)
    return (
        Concatenate(axis)(mixed, cut(even, axis, both, more)) if more > both else mixed
    )
