"""The kinds of values that are looked for: NaN, infinities or both, and where they are.

A value is a concrete array or, while a program of several devices is run as a batch, a
batch of them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.transforms.batch import BatchTracer


class Kinds(NamedTuple):
    """The kinds of values that are looked for."""

    nans: bool
    infs: bool

    def mask(self, x: Any) -> np.ndarray | None:
        """Where the values of ``x`` are bad; None if nowhere."""
        while type(x) is BatchTracer:
            x = x.value
        if type(x) is not ConcreteArray or not dtypes.is_inexact(x.type.dtype):
            return None
        values = np.asarray(x.host())
        found = np.zeros(values.shape, bool)
        if self.nans:
            found |= np.isnan(values)
        if self.infs:
            found |= np.isinf(values)
        return found if found.any() else None

    def found_in(self, x: Any) -> str | None:
        """The kind of bad value in ``x``, in a word; None if there is none."""
        if self.nans and Kinds(True, False).mask(x) is not None:
            return "NaN"
        return "infinity" if self.mask(x) is not None else None

    def first(self, values: Sequence[Value]) -> int | None:
        """The index of the first bad value; None if there is none."""
        return next((i for i, x in enumerate(values) if self.found_in(x)), None)


INFINITIES = Kinds(False, True)
