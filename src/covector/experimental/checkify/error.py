"""``Error``: the first failure of a check, or none, as a value."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.errors import CheckFailed
from covector.experimental.checkify.sites import Site, Sites, slot_types, slots_of
from covector.tree.nodes import register_pytree_node_class


@register_pytree_node_class
class Error:
    """The first failure of the checks in a function, if there was one.

    A tree of arrays, so that jitted and batched functions can return it. Over a batch
    it has the failure of each lane.
    """

    def __init__(self, number: Any, values: Sequence[Any], sites: Sites) -> None:
        #: 0, or 1 more than the index of the site that failed
        self._number = number
        #: the slots of what its message shows
        self._values = list(values)
        self._sites = sites

    def tree_flatten(self) -> tuple[list[Any], Sites]:
        return [self._number, *self._values], self._sites

    @classmethod
    def tree_unflatten(cls, sites: Sites, children: Sequence[Any]) -> "Error":
        number, *values = children
        return cls(number, values, sites)

    def get(self) -> str | None:
        """The failure in words, or None; over a batch, a line for each lane."""
        numbers = np.asarray(self._number)
        values = [np.asarray(v) for v in self._values]
        if not numbers.ndim:
            return message(int(numbers), values, self._sites)
        lines = []
        for lane in zip(*np.nonzero(numbers), strict=True):
            shown = lane[0] if len(lane) == 1 else tuple(map(int, lane))
            found = message(int(numbers[lane]), [v[lane] for v in values], self._sites)
            lines.append(f"at mapped index {shown}: {found}")
        return "\n".join(lines) or None

    def throw(self) -> None:
        """Raise ``CheckFailed`` if a check failed."""
        found = self.get()
        if found is not None:
            raise CheckFailed(found)

    def __str__(self) -> str:
        return f"Error({self.get()})"

    def __repr__(self) -> str:
        shown = [site.message for site in self._sites]
        return f"Error(number={self._number}, sites={shown})"


def message(number: int, values: Sequence[Any], sites: Sequence[Site]) -> str | None:
    """The message of the site with this number, filled from the slots; None for 0."""
    if not number:
        return None
    site = sites[number - 1]
    slots = slot_types(sites)
    return site.text([values[i] for i in slots_of(site, slots)])


NONE: Array = scalar(0, dtypes.int32)
#: no failure
init_error: Error = Error(NONE, [], ())
