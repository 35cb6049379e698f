"""Random permutations, samples and categories.

A permutation sorts the indices by random 32-bit keys; twice if there are many, for ties
keep their order, and so must stay rare. A choice with replacement takes random indices,
or the indices where uniform numbers fall in the running sums of p; one without takes
the first of a permutation. The largest of log p plus Gumbel numbers is each element
with its probability p: so categories are drawn, and, with those that come next,
elements without replacement.
"""

from math import ceil, inf, log, prod
from typing import Any

from covector import numpy as cnp
from covector import options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, ShapeLike, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import Shape
from covector.errors import ArgumentError, DTypeKindError, TypeMismatch, how_many
from covector.numpy.axes import canonical_axis, with_out_sharding
from covector.operations.bitwise import not_
from covector.operations.casting import convert
from covector.operations.creation import Iota
from covector.operations.sorting import Sort
from covector.operations.top_k import TopK
from covector.random import generators
from covector.random.arguments import (
    broadcast_shape,
    check_method,
    check_probabilities,
    float_dtype,
    keyed,
    sample_shape,
    sampler,
    single_key,
    subkeys,
)
from covector.random.bits import check_mode, draw_integers, draw_unit
from covector.random.distinct import draw_distinct
from covector.random.inversion import draw_gumbel

__all__ = [
    "categorical",
    "choice",
    "permutation",
]

#: elements from which their order takes longer than to draw a few of them until none
#: repeats, and the part of them that is a few
_MANY, _FEW = 4096, 1 / 8


@keyed
def permutation(
    key: ArrayLike,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``x`` in a random order along ``axis``, all orders equally likely.

    Args:
      key: one random key.
      x: an array of one axis or more; or an integer n, for 0 … n − 1.
      axis: the axis to reorder. Its slices (rows, for axis 0) stay whole.
      independent: whether each of the vectors along ``axis`` gets an order of its own.
      out_sharding: where the result is to be.

    Returns:
      An array of the shape and dtype of ``x``; ``[n]`` for an integer.

    Raises:
      ArgumentError: ``x`` is a scalar that is not an integer.
      AxisError: there is no such axis.

    >>> from covector import random
    >>> sorted(random.permutation(random.key(0), 5).tolist())
    [0, 1, 2, 3, 4]

    See also: ``choice`` with ``replace=False`` for some of the elements.
    """
    key = single_key("permutation", key)
    x = as_array(x, "permutation")
    if not x.type.ndim:
        if not dtypes.is_integer(x.type.dtype):
            raise ArgumentError(
                "permutation needs an array of one axis or more, or an integer n for "
                f"the numbers below n, but got {x.type}."
            )
        canonical_axis("permutation", axis, 1)
        return with_out_sharding(
            draw_order(key, shape=(max(0, int(x)),), axis=0), out_sharding
        )
    axis = canonical_axis("permutation", axis, x.type.ndim)
    if independent and x.type.ndim > 1:
        order = draw_order(key, shape=x.type.shape, axis=axis)
        return with_out_sharding(cnp.take_along_axis(x, order, axis), out_sharding)
    order = draw_order(key, shape=(x.type.shape[axis],), axis=0)
    return with_out_sharding(cnp.take(x, order, axis), out_sharding)


def draw_order(
    key: Value, *, shape: Shape, axis: int, first: int | None = None
) -> Array:
    """Along ``axis``, the indices 0 … n − 1 in a random order; the ``first`` so many of
    one axis.
    """
    order: Any = Iota(dtypes.int32, shape, axis)()
    # With n³ below 2³², the chance that any two of n keys are equal is below 1/n.
    rounds = ceil(3 * log(max(2, prod(shape))) / log(2**32 - 1))
    for left in reversed(range(rounds)):
        key, now = subkeys(key, 2)
        words = _words(now, shape=shape)
        if first is None or left:
            _, order = Sort(axis)(words, order)
        else:  # the least are the largest of the complements
            order = cnp.take(order, TopK(first, axis)(not_(words))[1])
    return convert(order, dtypes.default_int(options.current().enable_x64))


@sampler
def _words(key: Value, *, shape: Shape) -> Array:
    """Random integers of 32 bits, as numbers to sort by."""
    return generators.bits(key, 32, shape)


@keyed
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
    *,
    method: str = "published",
) -> Array:
    """Random elements of ``a``.

    Args:
      key: one random key.
      a: an array, of which elements along ``axis`` are drawn; or an integer n, for the
        numbers 0 … n − 1.
      shape: how many elements, and in which shape.
      replace: whether an element can be drawn more than once.
      p: the probability of each element (no logarithm); by default all are equally
        likely.
      axis: the axis of ``a`` along which its elements stand.
      mode: with ``p`` and without ``replace``, the precision of the Gumbel numbers, as
        for ``gumbel``.
      method: ``"published"`` draws what JAX draws from this key: without ``replace``
        the first of a permutation, which takes a sort of all elements. ``"fast"`` draws
        others for a few of many elements that are equally likely, at most an eighth:
        it draws again what repeats, in a time that goes by how many are wanted.

    Returns:
      ``a.shape`` with ``axis`` replaced by ``shape``.

    Raises:
      ArgumentError: there are fewer elements than asked for, or no such method, or a
        probability that is known is negative or NaN.
      TypeMismatch: ``p`` is not one number per element.

    >>> from covector import random
    >>> random.choice(random.key(0), 3, (4,), p=cnp.array([0.0, 1.0, 0.0])).tolist()
    [1, 1, 1, 1]

    See also: ``categorical`` takes logits, and batches of them; ``permutation``,
    ``randint``.
    """
    check_method("choice", method)
    key = single_key("choice", key)
    a = as_array(a, "choice")
    shape = sample_shape("choice", shape)
    if a.type.ndim:
        axis = canonical_axis("choice", axis, a.type.ndim)
    elif not dtypes.is_integer(a.type.dtype):
        raise ArgumentError(
            "choice draws from an array of one axis or more, or, given an integer n, "
            f"from the numbers below n, but got {a.type}."
        )
    count = a.type.shape[axis] if a.type.ndim else int(a)
    wanted = prod(shape)
    if count < 1 and wanted:
        raise ArgumentError(
            f"choice: there is nothing to draw from in {a.type} ({count})."
        )
    if not replace and wanted > count:
        raise ArgumentError(
            f"choice: {how_many(wanted, 'element')} cannot be drawn from {count} "
            "without drawing some of them again; that is what replace=True allows."
        )
    if not wanted:
        positions = cnp.zeros(shape, dtypes.int32)
    elif p is None:
        positions = _equally_likely(key, count, shape, replace, method == "fast")
    else:
        check_mode("choice", "low" if mode is None else mode)
        p = _probabilities(p, count)
        positions = _by_probability(key, p, shape, replace, mode == "high")
    return cnp.take(a, positions, axis) if a.type.ndim else positions


def _equally_likely(
    key: Value, count: int, shape: Shape, replace: bool, fast: bool
) -> Any:
    """Indices below ``count``."""
    few = count >= _MANY and prod(shape) <= _FEW * count
    if not replace and fast and few:
        return draw_distinct(key, shape=shape, count=count)
    if not replace:
        return draw_order(key, shape=(count,), axis=0, first=prod(shape)).reshape(shape)
    kind = dtypes.default_int(options.current().enable_x64)
    low, high = scalar(0, kind), scalar(count, kind)
    return draw_integers(key, low, high, scalar(False, dtypes.bool_), shape=shape)


def _probabilities(p: ArrayLike, count: int) -> Array:
    """The argument ``p`` of choice, one floating-point number for each element."""
    p = cnp.asarray(p)
    check_probabilities("choice", p, inf)
    if p.type.shape != (count,):
        raise TypeMismatch(
            f"choice needs one probability for each of {how_many(count, 'element')}, "
            f"but got {p.type}."
        )
    if dtypes.is_floating(p.type.dtype):
        return p
    return p.astype(float_dtype("choice", None))


def _by_probability(
    key: Value, p: Value, shape: Shape, replace: bool, fine: bool
) -> Array:
    """Indices with the probabilities ``p``."""
    if replace:
        return draw_positions(key, p, shape=shape)
    order = draw_categories_in_order(
        key, cnp.log(p), shape=p.type.shape, axis=0, fine=fine
    )
    return order[: prod(shape)].reshape(shape)


@sampler
def draw_positions(key: Any, p: Any, *, shape: Shape) -> Any:
    """Indices drawn with probabilities ``p``, which need not add up to 1."""
    sums = cnp.cumsum(p)
    left = 1 - draw_unit(key, shape=shape, dtype=p.type.dtype)
    return cnp.searchsorted(sums, sums[-1] * left)


@keyed
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Categories drawn with probabilities softmax(``logits``).

    ``logits`` are logarithms: of probabilities p, give ``log(p)``. A category with −inf
    is not drawn, as long as there are others.

    Args:
      key: one random key, for the whole batch.
      logits: logarithms of probabilities, up to a constant, along ``axis``.
      axis: the axis of the categories.
      shape: the shape of the result, which ends in that of ``logits`` without ``axis``;
        by default that. What stands before are draws from the same probabilities.
      replace: whether those draws may repeat a category.
      mode: the precision of the Gumbel numbers, as for ``gumbel``.
      out_sharding: where the result is to be.

    Returns:
      The indices of the categories, integers, so without a derivative.

    Raises:
      TypeMismatch: ``shape`` does not end as it must.
      ArgumentError: more draws without replacement than there are categories.

    >>> from covector import random
    >>> random.categorical(random.key(0), cnp.log(cnp.array([0.0, 1.0, 0.0]))).tolist()
    1

    See also: ``choice`` takes probabilities; ``bernoulli``, ``gumbel``.
    """
    key = single_key("categorical", key)
    logits = as_array(logits, "categorical")
    if not dtypes.is_floating(logits.type.dtype):
        raise DTypeKindError(
            f"categorical needs logits that are floating-point numbers, but got "
            f"{logits.type}. Convert them, as in logits.astype('float32')."
        )
    check_mode("categorical", "low" if mode is None else mode)
    axis = canonical_axis("categorical", axis, logits.type.ndim)
    batch = (*logits.type.shape[:axis], *logits.type.shape[axis + 1 :])
    shape = batch if shape is None else sample_shape("categorical", shape)
    draws = shape[: len(shape) - len(batch)]
    if len(shape) < len(batch) or broadcast_shape(shape, batch) != shape:
        raise TypeMismatch(
            f"categorical: the shape of the result, {shape}, must end in what "
            f"{logits.type} without axis {axis} broadcasts to."
        )
    inner = shape[len(draws) :]
    every = (*inner[:axis], logits.type.shape[axis], *inner[axis:])
    fine = mode == "high"
    if replace:
        every, axis = (*draws, *every), len(draws) + axis
        return with_out_sharding(
            draw_categories(key, logits, shape=every, axis=axis, fine=fine),
            out_sharding,
        )
    if prod(draws) > every[axis]:
        raise ArgumentError(
            f"categorical: {prod(draws)} draws from {every[axis]} categories must "
            "repeat some; that is what replace=True allows."
        )
    order = draw_categories_in_order(key, logits, shape=every, axis=axis, fine=fine)
    return with_out_sharding(order[: prod(draws)].reshape(shape), out_sharding)


@sampler
def draw_categories(
    key: Value, logits: Value, *, shape: Shape, axis: int, fine: bool
) -> Array:
    """The category of the largest perturbed logit along ``axis``."""
    noise = draw_gumbel(key, shape=shape, dtype=logits.type.dtype, fine=fine)
    return cnp.argmax(noise + logits, axis)


@sampler
def draw_categories_in_order(
    key: Value, logits: Any, *, shape: Shape, axis: int, fine: bool
) -> Any:
    """All categories, along the first axis, by descending perturbed logit."""
    noise = draw_gumbel(key, shape=shape, dtype=logits.type.dtype, fine=fine)
    return cnp.moveaxis(cnp.argsort(-(noise + logits), axis, stable=True), axis, 0)
