"""Masks: one bool for each of several values, true where a value takes part.

A program for a derivative or a batch takes only the operands that are differentiated
or batched, in a row. These functions go from all values to that row, and back.
"""

from collections.abc import Iterable, Sequence
from typing import Any


def select(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """The items where the mask is true."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def drop(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """The items where the mask is false."""
    return [x for x, m in zip(items, mask, strict=True) if not m]


def present(values: Iterable[Any]) -> list[Any]:
    """The values that are not None."""
    return [x for x in values if x is not None]


def scatter(values: Iterable[Any], mask: Sequence[bool]) -> list[Any]:
    """The values, in order, where the mask is true; None elsewhere."""
    given = iter(values)
    return [next(given) if m else None for m in mask]


def merge(values: Iterable[Any], mask: Sequence[bool], others: Iterable[Any]) -> list:
    """The values, in order, where the mask is true; the item of ``others`` elsewhere.

    >>> merge([10, 20], [True, False, True], "abc")
    [10, 'b', 20]
    """
    given = iter(values)
    return [next(given) if m else x for m, x in zip(mask, others, strict=True)]
