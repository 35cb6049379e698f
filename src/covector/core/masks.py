"""Masks: one bool for each of several values, true where a value takes part.

A program for a derivative or a batch takes only the operands that are differentiated
or batched, in a row. These functions go from all values to that row, and back.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

Mask = tuple[bool, ...]


def select(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """The items where the mask is true."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def drop(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """The items where the mask is false."""
    return [x for x, m in zip(items, mask, strict=True) if not m]


def present(values: Iterable[Any]) -> list[Any]:
    """The values that are not None."""
    return [x for x in values if x is not None]


def present_mask(values: Iterable[Any]) -> Mask:
    """The mask of the values that are not None."""
    return tuple([x is not None for x in values])


def scatter(values: Iterable[Any], mask: Sequence[bool]) -> list[Any]:
    """The values, in order, where the mask is true; None elsewhere."""
    given = iter(values)
    return [next(given) if m else None for m in mask]


def merge(
    values: Iterable[Any], mask: Sequence[bool], others: Iterable[Any]
) -> list[Any]:
    """The values, in order, where the mask is true; the item of ``others`` elsewhere.

    >>> merge([10, 20], [True, False, True], "abc")
    [10, 'b', 20]
    """
    given = iter(values)
    return [next(given) if m else x for m, x in zip(mask, others, strict=True)]


def indices(mask: Iterable[bool]) -> list[int]:
    """The numbers of the items where the mask is true."""
    return [i for i, m in enumerate(mask) if m]


def in_groups(items: Iterable[Any], *sizes: int) -> list[list[Any]]:
    """The items in groups of these sizes, and the rest of them as the last group.

    >>> in_groups("abcd", 1, 2)
    [['a'], ['b', 'c'], ['d']]
    """
    rest = iter(items)
    return [*[list(islice(rest, size)) for size in sizes], list(rest)]


def at_sources(
    sources: Iterable[int], inputs: Sequence[Any], outputs: Sequence[Any]
) -> list[Any]:
    """The items at these sources: input i (i ≥ 0), or output ``~i``.

    >>> at_sources([1, ~0], "ab", "xy")
    ['b', 'x']
    """
    return [inputs[i] if i >= 0 else outputs[~i] for i in sources]


def fixpoint(
    carry: Sequence[bool], step: Callable[[Mask], tuple[Any, Sequence[bool]]]
) -> tuple[Any, Mask]:
    """The least mask of the carry, at or above the given one, that a step preserves.

    ``step`` takes a mask, and returns what it makes for it and the mask of the carry
    after a step.
    """
    mask = tuple(carry)
    while True:
        made, after = step(mask)
        grown = tuple([a or b for a, b in zip(mask, after, strict=True)])
        if grown == mask:
            return made, mask
        mask = grown
