"""Where in each row the elements of given ranks are, without sorting it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    Batched,
    DType,
    HostArray,
    LinearMaps,
    Value,
    Values,
)
from covector.core.primitive import Primitive, operation
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align
from covector.operations.creation import Iota
from covector.operations.ordering import is_packable, order_key
from covector.operations.sorting import Sort, along
from covector.operations.sorting_on_host import key_on_host, places_of_ranks

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: how long rows are of which a few elements are found sooner than all are sorted
_LONG, _FEW = 2**15, 8


def is_worth_selecting(length: Any, ranks: int, dtype: DType) -> bool:
    """Whether so many ranks in a row of this length and dtype are found sooner than
    the row is sorted.
    """
    long = type(length) is int and length >= _LONG
    return long and ranks <= _FEW and is_packable(dtype)


def places_in_rows(x: HostArray, ranks: HostArray) -> HostArray:
    """What ``PlacesOfRanks`` is of known numbers."""
    if is_packable(x.dtype):
        return places_of_ranks(key_on_host(np.ascontiguousarray(x)), ranks)
    order = np.argsort(x, -1, "stable")
    return np.take_along_axis(order, ranks, -1).astype(np.int32)


@operation
class PlacesOfRanks(Primitive):
    """The indices of the elements of given ranks, from 0 on, in rows along the last
    axis, as int32.

    They are those that a stable sort puts there: of equal elements the first has the
    lowest rank, −0 and 0 are equal, and NaN is larger than all numbers.
    """

    def type_rule(self, x: ArrayType, ranks: ArrayType) -> Sequence[ArrayType]:
        types = show_types((x, ranks))
        if not (dtypes.is_real(x.dtype) or dtypes.is_bool(x.dtype)):
            raise DTypeError(f"{self.name} needs real numbers or bools, but got {x}.")
        if ranks.dtype != dtypes.int32:
            raise DTypeError(f"{self.name} needs ranks in int32, but got {types}.")
        if not x.ndim or x.shape[:-1] != ranks.shape[:-1] or x.ndim != ranks.ndim:
            raise TypeMismatch(
                f"{self.name} needs ranks for each row, but got {types}."
            )
        return (ranks.strong(),)

    def on_host(self, x: HostArray, ranks: HostArray) -> HostArray:
        return places_in_rows(x, ranks)

    def differential(self, out: Value, x: Value, ranks: Value) -> LinearMaps:
        return [None, None]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return (self(*align(size, args, dims)),), (0,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=types[0].size)

    def lower(self, ctx: "Lowering", x: HloValue, ranks: HloValue) -> HloResults:
        source, wanted = ctx.in_types
        if not (ctx.is_of_one_cpu and is_packable(source.dtype) and wanted.size):
            return ctx.through(self._by_sorting, x, ranks)
        given = ctx.through(lambda x, ranks: [order_key(x), ranks], x, ranks)
        return ctx.call_numpy("places of ranks", given, ctx.out_types)

    def _by_sorting(self, x: Value, ranks: Value) -> Sequence[Value]:
        last = x.type.ndim - 1
        counted = Iota(dtypes.int32, x.type.shape, last)()
        _, order = Sort(last)(x, counted)
        return [along(order, ranks, last)]
