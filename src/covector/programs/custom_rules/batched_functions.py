"""Batched functions of users, for operations that carry functions rather than programs.

Such functions may name the batch axis, so the operation is asked even where none of its
operands is batched. Then its results are batched only if the function computes
something else in each lane, or communicates between them: its reverse rule may need the
cotangent of each lane even where the lanes gather one value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from covector.core.annotations import AxisName, BatchDims, Value
from covector.core.jaxpr import run
from covector.core.masks import present_mask
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import AxisError
from covector.operations.broadcasting import ReduceSum, batched
from covector.programs.higher_order.regions import named_axes
from covector.transforms.batch import batch_flat, name_of

FlatFunction = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Batch:
    """The batch that the functions of one operation are run over.

    Where the operation's results are ``batched_out`` they all have a batch axis, in
    front; otherwise none has.
    """

    size: int
    axis: Any
    batched_out: bool
    who: str

    @property
    def out_dim(self) -> int | None:
        """The batch axis of all results; None where they have none."""
        return 0 if self.batched_out else None

    def run(
        self, fun: FlatFunction, values: Sequence[Value], dims: BatchDims
    ) -> list[Any]:
        """The results of a function over the batch, with their axis where it goes; None
        stays None.
        """
        outs, found = batch_flat(fun, self.size, values, dims, self.axis)
        if self.batched_out:
            pairs = zip(outs, found, strict=True)
            return [None if x is None else batched(self.size, x, d) for x, d in pairs]
        for x, d in zip(outs, found, strict=True):
            self._same(x, d)
        return outs

    def summed(self, x: Value, found: int | None, wanted: int | None) -> Value:
        """A cotangent of an operand: summed where the batch shares the operand."""
        if wanted is not None:
            return batched(self.size, x, found, wanted)
        if self.batched_out:
            return ReduceSum((0,))(batched(self.size, x, found))
        self._same(x, found)
        return x

    def _same(self, x: Any, found: int | None) -> None:
        if found is not None:
            raise AxisError(
                f"a rule of {self.who} gives what differs over the batch ({x.type} "
                f"with the batch at axis {found}), but neither its arguments nor the "
                "value of the function do. Let the value depend on the axis as well."
            )


def lanes_differ(
    fun: FlatFunction, size: int, axis: AxisName, types: Sequence[ArrayType], who: str
) -> bool:
    """Whether a function of what all lanes share is to be known of each lane."""
    differ = False

    def per_lane(*values: Value) -> Sequence[Any]:
        nonlocal differ
        staged = stage(fun, types, who)
        differ = name_of(axis) in staged.jaxpr.memo(named_axes)
        return run(staged.jaxpr, [*staged.captured, *values])

    def over_batch(*values: Value) -> Sequence[Any]:
        nonlocal differ
        outs, dims = batch_flat(per_lane, size, values, [None] * len(types), axis)
        differ = differ or any(present_mask(dims))
        return outs

    stage(over_batch, types, who)
    return differ
