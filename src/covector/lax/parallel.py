"""Collectives over named axes: sums, gathers and exchanges.

A tuple of names stands for one axis, the product of theirs, the first name outermost:
index ``i * size(b) + j`` of ``("a", "b")`` is index i of ``"a"`` and j of ``"b"``.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from covector import options, tree
from covector.core import dtypes
from covector.core.annotations import PyTree, Value, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.trace import current
from covector.errors import TypeMismatch
from covector.lax.named_axes import (
    AxisName,
    IndexGroups,
    exchange,
    gather,
    grouped,
    named,
    scatter,
    size_of,
    sized,
    sized_and_grouped,
)
from covector.operations.all_to_all import PPermute
from covector.operations.broadcasting import BroadcastInDim, filled
from covector.operations.casting import convert
from covector.operations.collectives import AxisIndex, PMax, PMin, PSum, PVary
from covector.operations.comparison import eq
from covector.operations.selection import select_n

__all__ = [
    "AxisName",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "pvary",
]

#: a tree of arrays; the result has the same type
Tree = TypeVar("Tree")


def axis_size(axis_name: AxisName) -> int:
    """The size of a named axis (the product, for a tuple of names).

    >>> import covector as cv
    >>> cv.vmap(lambda x: x * axis_size("i"), axis_name="i")(cv.numpy.ones(3)).tolist()
    [3.0, 3.0, 3.0]
    """
    return size_of(axis_name, "axis_size")


def axis_index(axis_name: AxisName) -> Array:
    """The index of this participant along a named axis, an i32 scalar.

    With a tuple of names, the first one is the outermost.

    >>> import covector as cv
    >>> index = cv.vmap(lambda x: x + axis_index("i"), axis_name="i")
    >>> index(cv.numpy.zeros(3)).tolist()
    [0.0, 1.0, 2.0]

    See also: ``axis_size``, ``covector.random.fold_in`` for a key of each participant.
    """
    index: Any = None
    for name in named(axis_name, "axis_index"):
        position = AxisIndex(name)()
        index = (
            position if index is None else index * current.trace.axes[name] + position
        )
    return index


def _over(
    make: Callable[..., Any],
    who: str,
    x: PyTree,
    axis_name: AxisName,
    *,
    axis_index_groups: IndexGroups = None,
) -> PyTree:
    op = make(named(axis_name, who), grouped(axis_index_groups, axis_name, who))
    return _each(x, op) if op.axes else x


def _size_of_groups(groups: IndexGroups, axis_name: AxisName, who: str) -> Any:
    """The size of each group; an int where all are alike."""
    if groups is None:
        return size_of(axis_name, who)
    sizes = set(map(len, grouped(groups, axis_name, who)))
    if len(sizes) == 1:
        return sizes.pop()
    one = scalar(1, dtypes.int32)
    return _over(PSum, who, one, axis_name, axis_index_groups=groups)


def _countable(x: Value) -> Array:
    """``x`` as numbers to be summed: bools count."""
    array = as_array(x)
    if array.dtype != dtypes.bool_:
        return array
    return convert(array, dtypes.default_int(options.current().enable_x64))


def psum(
    x: Tree,
    axis_name: AxisName,
    *,
    axis_index_groups: IndexGroups = None,
) -> Tree:
    """The sum of ``x`` over one or more named axes; every participant gets it.

    A name comes from ``vmap(..., axis_name=...)`` or from the mesh of a ``shard_map``.
    A Python number is known to be the same everywhere: it is multiplied by the size of
    the axes at once, so ``psum(1, 'i')`` is an int.

    Args:
      x: an array or a tree of them; bools are counted.
      axis_name: the name of an axis, or a tuple of names.
      axis_index_groups: sequences that hold each index of the axis once; the values at
        those of one sequence are summed.

    Returns:
      A tree like ``x``; shapes stay.

    Raises:
      AxisError: there is no axis of this name.

    >>> import covector as cv
    >>> cv.vmap(lambda x: x / psum(x, "i"), axis_name="i")(cv.numpy.ones(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]

    See also: ``pmean``, ``all_gather``, ``psum_scatter``, ``covector.shard_map``.
    """
    if isinstance(x, bool | int | float | complex):
        return x * _size_of_groups(axis_index_groups, axis_name, "psum")
    counted = tree.map(_countable, x)
    groups = axis_index_groups
    return _over(PSum, "psum", counted, axis_name, axis_index_groups=groups)


def pmean(
    x: Tree, axis_name: AxisName, *, axis_index_groups: IndexGroups = None
) -> Tree:
    """The mean over named axes of ``x``, with the arguments of ``psum``.

    With it, data parallel training averages gradients over devices.

    >>> import covector as cv
    >>> center = cv.vmap(lambda x: x - pmean(x, "i"), axis_name="i")
    >>> center(cv.numpy.arange(3.0)).tolist()
    [-1.0, 0.0, 1.0]
    """
    size = _size_of_groups(axis_index_groups, axis_name, "pmean")
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda t: t / size, total)


@with_parameters_of(psum)
def pmax(*args: Any, **options: Any) -> Any:
    """The maximum over named axes of ``x``, with the arguments of ``psum``.

    >>> import covector as cv
    >>> cv.vmap(lambda x: pmax(x, "i"), axis_name="i")(cv.numpy.arange(3.0)).tolist()
    [2.0, 2.0, 2.0]
    """
    return _over(PMax, "pmax", *args, **options)


@with_parameters_of(psum)
def pmin(*args: Any, **options: Any) -> Any:
    """The minimum over named axes of ``x``, with the arguments of ``psum``.

    >>> import covector as cv
    >>> cv.vmap(lambda x: pmin(x, "i"), axis_name="i")(cv.numpy.arange(3.0)).tolist()
    [0.0, 0.0, 0.0]
    """
    return _over(PMin, "pmin", *args, **options)


def all_gather(
    x: Tree,
    axis_name: AxisName,
    *,
    axis_index_groups: IndexGroups = None,
    axis: int = 0,
    tiled: bool = False,
) -> Tree:
    """The values of all participants of a named axis, which each of them gets.

    Args:
      x: an array or a tree of them.
      axis_name: the name of an axis, or a tuple of names.
      axis: where the new array axis of length ``axis_size`` stands; with ``tiled``, the
        old one along which the values are put end to end.
      axis_index_groups: as for ``psum``, all of one size; a participant gets the values
        of its group, in the order of that.
      tiled: put the values end to end along ``axis``, without a new axis.

    >>> import covector as cv
    >>> everything = cv.vmap(lambda x: all_gather(x, "i"), axis_name="i")
    >>> everything(cv.numpy.arange(2)).tolist()
    [[0, 1], [0, 1]]

    See also: ``psum_scatter``, ``all_to_all``, ``psum``.
    """
    axes, groups = sized_and_grouped(axis_name, axis_index_groups, "all_gather")

    def leaf(v: PyTree) -> Array:
        return gather(v, axes, axis % (v.ndim + (not tiled)), tiled, groups)

    return _each(x, leaf)


def psum_scatter(
    x: Tree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Tree:
    """The sum over a named axis, of which each participant keeps its part.

    Args:
      scatter_dimension: the array axis that is divided; without ``tiled`` its length is
        the size of the named axis, and it disappears.
      axis_index_groups: as for ``psum``, all of one size, which then replaces the
        size of the axis.

    >>> import covector as cv
    >>> parts = cv.vmap(lambda x: psum_scatter(x, "i"), axis_name="i")
    >>> parts(cv.numpy.ones((2, 2))).tolist()
    [2.0, 2.0]
    """
    axes, groups = sized_and_grouped(axis_name, axis_index_groups, "psum_scatter")

    def leaf(v: PyTree) -> Array:
        v = _countable(v)
        return scatter(v, axes, scatter_dimension % v.ndim, tiled, groups)

    return _each(x, leaf)


def all_to_all(
    x: Tree,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Tree:
    """Blocks exchanged along a named axis: participant i gets block i of each one.

    Args:
      split_axis: the array axis that is cut into blocks, one for each participant.
      concat_axis: the array axis along which what arrives is put together.
      axis_index_groups: as for ``psum``, all of one size: exchanges are within groups.

    >>> import covector as cv
    >>> x = cv.numpy.arange(4).reshape(2, 2)
    >>> cv.vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(x).tolist()
    [[0, 2], [1, 3]]
    """
    axes, groups = sized_and_grouped(axis_name, axis_index_groups, "all_to_all")

    def leaf(v: PyTree) -> Array:
        split, concat = split_axis % v.ndim, concat_axis % v.ndim
        return exchange(v, axes, split, concat, tiled, groups)

    return _each(x, leaf)


def ppermute(x: Tree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Tree:
    """Values sent along a named axis by pairs; zeros where none arrives.

    Args:
      x: an array or a tree of them.
      axis_name: the name of an axis.
      perm: (source, target) pairs of indices of the axis.

    Raises:
      TypeMismatch: an index is out of range, or twice a source, or twice a target.

    >>> import covector as cv
    >>> shift = lambda x: ppermute(x, "i", [(0, 1), (1, 2)])
    >>> cv.vmap(shift, axis_name="i")(cv.numpy.arange(1.0, 4.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    axes = sized(axis_name, "ppermute")
    pairs = tuple([(int(s), int(t)) for s, t in perm])
    return _each(x, PPermute(tuple(axes), tuple(axes.values()), pairs))


def pshuffle(x: Tree, axis_name: AxisName, perm: Sequence[int]) -> Tree:
    """Index k of a named axis gets the value at index ``perm[k]``.

    >>> import covector as cv
    >>> swap = cv.vmap(lambda x: pshuffle(x, "i", [1, 0]), axis_name="i")
    >>> swap(cv.numpy.arange(2)).tolist()
    [1, 0]
    """
    size = axis_size(axis_name)
    if sorted(perm) != list(range(size)):
        raise TypeMismatch(
            f"pshuffle over {axis_name!r} of size {size} needs a permutation of its "
            f"indices, but got {list(perm)}."
        )
    return ppermute(x, axis_name, [(s, t) for t, s in enumerate(perm)])


def pswapaxes(
    x: Tree,
    axis_name: AxisName,
    axis: int,
    *,
    axis_index_groups: IndexGroups = None,
) -> Tree:
    """A named axis, or each of its groups, and an array axis of the same size change
    indices.

    >>> import covector as cv
    >>> x = cv.numpy.arange(4).reshape(2, 2)
    >>> cv.vmap(lambda x: pswapaxes(x, "i", 0), axis_name="i")(x).tolist()
    [[0, 2], [1, 3]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Tree, axis_name: AxisName, source: int) -> Tree:
    """The value at index ``source`` of a named axis, for all participants.

    >>> import covector as cv
    >>> first = cv.vmap(lambda x: pbroadcast(x, "i", 1), axis_name="i")
    >>> first(cv.numpy.arange(3.0)).tolist()
    [1.0, 1.0, 1.0]
    """
    axes = sized(axis_name, "pbroadcast")
    size = axis_size(axis_name)
    if not 0 <= source < size:
        raise TypeMismatch(
            f"pbroadcast over {axis_name!r} of size {size} needs a source from 0 to "
            f"{size - 1}, but got {source}."
        )
    here = eq(axis_index(axis_name), scalar(source, dtypes.int32))

    def leaf(v: PyTree) -> Array:
        nothing = filled(0, v.type)
        mask = BroadcastInDim(v.type.shape, ())(here)
        return PSum(tuple(axes))(select_n(mask, nothing, v))

    return _each(x, leaf)


def pcast(x: Tree, axis_name: AxisName, *, to: str) -> Tree:
    """``x``, from here on a value of each device along mesh axes of its own.

    Casts are inserted wherever values that vary meet others that do not. To write one
    matters for derivatives: with respect to a value that varies they are those of each
    device, with respect to one that does not they are summed over the devices.

    Args:
      to: "varying". A value stops varying where it is reduced: psum, pmean, pmax ….

    >>> import covector as cv
    >>> mesh = cv.make_mesh((1,), ("x",))
    >>> def slope(w):
    ...     w = pcast(w, "x", to="varying")
    ...     return cv.grad(lambda w: w * w)(w)[None]
    >>> slope = cv.shard_map(slope, mesh=mesh, in_specs=cv.P(), out_specs=cv.P("x"))
    >>> slope(2.0).tolist()
    [4.0]
    """
    if to != "varying":
        raise TypeMismatch(
            f"pcast casts to 'varying', but got to={to!r}. A value stops varying where "
            "it is reduced over the axis: psum, pmean, pmax, pmin, all_gather."
        )
    return pvary(x, axis_name)


def pvary(x: Tree, axis_name: AxisName) -> Tree:
    """``pcast(x, axis_name, to="varying")``."""
    axes = current.trace.checked_axes.intersection(named(axis_name, "pvary"))
    return _each(x, PVary(axes)) if axes else x


def _each(x: Tree, fun: Callable[[Any], Array]) -> Tree:
    return tree.map(lambda v: fun(as_array(v)), x)
