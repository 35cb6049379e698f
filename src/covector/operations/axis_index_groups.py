"""Axis index groups: subsets of a named axis that communicate separately.

    groups ((0, 2), (1, 3))      participant 0 with 2, and 1 with 3

A collective whose ``groups`` is None is over all participants. Over a batch axis, one
with groups is the same collective on the participants of each group in turn.
"""

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from covector.core.annotations import Value
from covector.errors import TypeMismatch
from covector.operations.broadcasting import batched
from covector.operations.joining import Stack, Unstack

Groups: TypeAlias = tuple[tuple[int, ...], ...] | None


def checked_groups(
    groups: Any, axis: Any, size: int, who: str, *, equal: bool
) -> tuple[tuple[int, ...], ...]:
    """Groups as a user gave them, as tuples.

    Raises:
      TypeMismatch: they do not hold each index once, or, where they have to be
        ``equal``, have different sizes.
    """
    need = "one size" if equal else "any size"
    try:
        found = tuple([tuple([operator.index(k) for k in group]) for group in groups])
    except TypeError:
        found = ()
    indices = sorted([k for group in found for k in group])
    wrong = not all(found) or (equal and len({*map(len, found)}) > 1)
    if wrong or indices != list(range(size)):
        raise TypeMismatch(
            f"{who} over {axis!r} of size {size} needs axis_index_groups of {need} "
            f"that hold each index from 0 to {size - 1} once, but got {groups!r}."
        )
    return found


def along_groups(
    collective: Any,
    groups: Sequence[Sequence[int]],
    size: int,
    x: Value,
    dim: int | None,
) -> tuple[Any, Any]:
    """A collective along the batch axis ``dim``, within each group."""
    operands = Unstack(0)(batched(size, x, dim))
    received: list[Any] = [None] * size
    for group in groups:
        together = Stack(0)(*[operands[k] for k in group])
        (out,), (at,) = collective.along(len(group), together, 0)
        parts = Unstack(0)(batched(len(group), out, at))
        for k, part in zip(group, parts, strict=True):
            received[k] = part
    return (Stack(0)(*received),), (0,)
