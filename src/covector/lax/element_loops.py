"""One function for all elements along an axis: ``map``, ``associative_scan``."""

from collections.abc import Callable
from typing import Any, TypeVar

from covector import tree
from covector.core.annotations import PyTree, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import arrays, check_functions
from covector.core.source import function_line, function_name
from covector.core.types import min_size
from covector.errors import AxisError, TreeMismatch, TypeMismatch
from covector.lax.loop_arguments import leading_length, natural
from covector.operations.joining import Concatenate, Stack
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape, Rev
from covector.programs.control_flow.control_flow_api import Loop, ScanSpec
from covector.transforms.vmap import vmap
from covector.tree.registry import PyTreeDef

__all__ = ["associative_scan", "map"]

R = TypeVar("R")
Tree = TypeVar("Tree")


def map(f: Callable[[Any], R], xs: PyTree, *, batch_size: int | None = None) -> R:
    """``f`` of each element along the leading axis, one after another, stacked.

    The same as ``vmap(f)(xs)``, in less memory and more time. ``batch_size`` is between
    the two.

    Args:
      f: a function of one element, a tree like ``xs`` without the leading axis.
      xs: a tree of arrays ``[n, ...]``.
      batch_size: that many elements at once, by ``vmap``; None or 0 for one.

    Returns:
      What ``f`` returns, with a new leading axis of length n.

    Raises:
      TypeMismatch: ``xs`` have different lengths, or none.

    >>> from covector import lax, numpy as cnp
    >>> lax.map(lambda x: x * x, cnp.arange(4)).tolist()
    [0, 1, 4, 9]

    See also: ``covector.vmap``, ``scan``.
    """
    check_functions("map", f=f)
    who = f"map of {function_line(f)}"
    loop = Loop(who, function_name(f))
    length = leading_length(xs, None, who, "an array in xs")
    size = min_size(natural(batch_size or 0, "batch_size", who), length)
    if not size:
        return _each(loop, f, xs, length)
    xs = tree.map(as_array, xs)
    whole = length - length % size
    batches = tree.map(lambda x: _regrouped(_along(x, 0, 0, whole), size), xs)
    outs = tree.map(_merged, _each(loop, vmap(f), batches, length // size))
    if whole == length:
        return outs
    rest = vmap(f)(tree.map(lambda x: _along(x, 0, whole, length), xs))
    return tree.map(Concatenate(0), outs, rest)


def _each(loop: Loop, f: Callable[[Any], R], xs: PyTree, length: int) -> R:
    def step(_: Any, x: Value) -> tuple[Any, Any]:
        out = f(x)
        for path, leaf in tree.leaves_with_path(out):
            as_array(leaf, f"{loop.who}: the result{tree.keystr(path)}")
        return (), out

    return loop.scan(step, (), xs, ScanSpec(length))[1]


def _along(x: Array, axis: int, start: int, stop: int, step: int = 1) -> Array:
    """``x[start:stop:step]`` along an axis."""
    shape = x.type.shape
    starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return Slice(tuple(starts), tuple(stops), tuple(steps))(x)


def _regrouped(x: Array, size: int) -> Array:
    length, *rest = x.type.shape
    return Reshape((length // size, size, *rest))(x)


def _merged(x: Array) -> Array:
    first, second, *rest = x.type.shape
    return Reshape((first * second, *rest))(x)


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Tree, reverse: bool = False, axis: int = 0
) -> Tree:
    """All partial combinations x₀, x₀∘x₁, x₀∘x₁∘x₂, … in 2·log₂ n rounds.

    Use it in place of ``scan`` where the step is associative, as sums, maxima, products
    of matrices and linear recurrences are: the rounds run in parallel.

    Args:
      fn: the operation ∘, associative, of two trees like ``elems``; it is called on
        many elements at once, side by side along ``axis``.
      elems: a tree of arrays with one length n along ``axis``.
      reverse: combine from the last element on: entry i is xₙ₋₁∘…∘xᵢ.
      axis: the axis of length n; negative counts from the end.

    Returns:
      A tree like ``elems``.

    Raises:
      AxisError: an array has no such axis.
      TypeMismatch: lengths differ, or ``fn`` changes shapes or dtypes.
      TreeMismatch: ``fn`` changes the structure.

    >>> from covector import lax, numpy as cnp
    >>> lax.associative_scan(cnp.maximum, cnp.array([1, 3, 2, 5])).tolist()
    [1, 3, 3, 5]

    See also: ``scan``, ``cumsum``, ``cummax``.
    """
    check_functions("associative_scan", fn=fn)
    who = f"associative_scan of {function_line(fn)}"
    leaves, elems_tree = tree.flatten(elems)
    leaves = arrays(leaves, who)
    axes = [_axis(who, x, axis) for x in leaves]
    lengths = {x.type.shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(lengths) > 1:
        shown = ", ".join([str(x.type) for x in leaves])
        raise TypeMismatch(
            f"{who}: all elems must have one length along axis {axis}, but they are "
            f"{shown}."
        )
    if not leaves or lengths == {0}:
        return elems_tree.unflatten(leaves)
    flips = [Rev((a,)) for a in axes]
    if reverse:
        leaves = [flip(x) for flip, x in zip(flips, leaves, strict=True)]
    combine = _Combination(who, fn, elems_tree, axes)
    leaves = combine.partial(leaves, lengths.pop())
    if reverse:
        leaves = [flip(x) for flip, x in zip(flips, leaves, strict=True)]
    return elems_tree.unflatten(leaves)


def _axis(who: str, x: Array, axis: int) -> int:
    if not -x.type.ndim <= axis < x.type.ndim:
        raise AxisError(f"{who}: {x.type} has no axis {axis} to scan along.")
    return axis % x.type.ndim


class _Combination:
    """An associative operation on leaves of trees, each along an axis of its own."""

    def __init__(
        self, who: str, fn: Any, elems_tree: PyTreeDef, axes: list[int]
    ) -> None:
        self.who = who
        self.fn = fn
        self.tree = elems_tree
        self.axes = axes

    def __call__(self, left: list[Array], right: list[Array]) -> list[Array]:
        out = self.fn(self.tree.unflatten(left), self.tree.unflatten(right))
        leaves, out_tree = tree.flatten(out)
        if out_tree != self.tree:
            difference = tree.describe_difference(
                self.tree, out, ("an element", "the combination of two")
            )
            raise TreeMismatch(f"{self.who} must keep the structure, but {difference}.")
        leaves = arrays(leaves, self.who)
        for x, y in zip(left, leaves, strict=True):
            if x.type.strong() is not y.type.strong():
                raise TypeMismatch(
                    f"{self.who} must combine {x.type} and {x.type} to the same type, "
                    f"but gave {y.type}."
                )
        return leaves

    def every_other(self, xs: list[Array], start: int, stop: int) -> list[Array]:
        pairs = zip(xs, self.axes, strict=True)
        return [_along(x, a, start, stop, 2) for x, a in pairs]

    def partial(self, xs: list[Array], n: int) -> list[Array]:
        """The partial combinations of n elements.

        Neighbours are combined in pairs; the partial combinations of those are the odd
        entries, and each of them with the next element is an even one.
        """
        if n == 1:
            return xs
        pairs = self(self.every_other(xs, 0, n - 1), self.every_other(xs, 1, n))
        odd = self.partial(pairs, n // 2)
        first = [_along(x, a, 0, 1) for x, a in zip(xs, self.axes, strict=True)]
        if n == 2:
            even = first
        else:
            before = [
                _along(x, a, 0, (n - 1) // 2)
                for x, a in zip(odd, self.axes, strict=True)
            ]
            later = self(before, self.every_other(xs, 2, n))
            columns = zip(first, later, self.axes, strict=True)
            even = [Concatenate(a)(x, y) for x, y, a in columns]
        columns = zip(even, odd, self.axes, strict=True)
        return [_interleaved(x, y, a) for x, y, a in columns]


def _interleaved(even: Array, odd: Array, axis: int) -> Array:
    """Elements of two arrays in turn along an axis; ``even`` may have one more."""
    shape, count = even.type.shape, odd.type.shape[axis]
    pairs = Stack(axis + 1)(_along(even, axis, 0, count), odd)
    both = Reshape((*shape[:axis], 2 * count, *shape[axis + 1 :]))(pairs)
    if shape[axis] == count:
        return both
    return Concatenate(axis)(both, _along(even, axis, count, count + 1))
