"""Exchanges between the participants of a named axis: all-to-all and permutation.

AllToAll    every participant sends a part to every other
PPermute    a participant sends its operand to one other, or to none

The adjoint of each is the way back.
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import BatchDims, Batched, LinearMaps, Value, Values
from covector.core.primitive import Operand, operation
from covector.core.types import ArrayType
from covector.errors import TypeMismatch
from covector.lowering.spelling import HloValue
from covector.operations.arithmetic import add
from covector.operations.axis_index_groups import Groups
from covector.operations.bitwise import Or
from covector.operations.broadcasting import batched, move_axis, zeros
from covector.operations.collectives import Axis, Collective, merged, split_axis
from covector.operations.communication import all_to_all, permute
from covector.operations.joining import Stack, Unstack

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class AllToAll(Collective):
    """Array axis ``split`` is split among the participants, and what each receives is
    concatenated along ``concat``.
    """

    axis: Axis
    size: int
    split: int
    concat: int
    tiled: bool
    groups: Groups = None

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        shape = list(x.shape)
        length = shape[self.split]
        if length % self.size or (not self.tiled and length != self.size):
            need = "a multiple of" if self.tiled else "equal to"
            raise TypeMismatch(
                f"all_to_all over {self.axis!r} of size {self.size} splits axis "
                f"{self.split} of {x}: its length must be {need} {self.size}, but is "
                f"{length}."
            )
        if self.tiled:
            shape[self.split] //= self.size
            shape[self.concat] *= self.size
        else:
            del shape[self.split]
            shape.insert(self.concat, self.size)
        return (x.with_shape(tuple(shape)),)

    def shifted(self, n: int) -> "AllToAll":
        return self.replace(split=self.split + n, concat=self.concat + n)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        back = self.replace(split=self.concat, concat=self.split)
        return [back(cotangents[0])]

    def communicate(self, ctx: "Lowering", x: HloValue) -> Any:
        return all_to_all(ctx, x, self)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        x = batched(size, x, dim)
        split = self.split + 1
        if self.tiled:
            # [from, …, to · part, …] → the new batch is `to`, and `from` is
            # concatenated
            x = move_axis(split_axis(x, split, size), split, 0)
            x = move_axis(x, 1, self.concat + 1)
            return (merged(x, self.concat + 1),), (0,)
        x = move_axis(x, split, 0)
        return (move_axis(x, 1, self.concat + 1),), (0,)


@operation
class PPermute(Collective):
    """Each participant gets the operand of the one that ``pairs`` (from, to) sends
    to it; zeros where none does. Indices count with the last axis running fastest.
    """

    axes: tuple[Axis, ...]
    sizes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    name = "ppermute"

    @property
    def axis_names(self) -> tuple[Axis, ...]:  # type: ignore[override]
        return self.axes

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        size = prod(self.sizes)
        sources = [s for s, _ in self.pairs]
        targets = [t for _, t in self.pairs]
        unique = len(set(sources)) == len(sources) and len(set(targets)) == len(targets)
        if not unique or any(not 0 <= n < size for n in (*sources, *targets)):
            over = self.axes[0] if len(self.axes) == 1 else self.axes
            raise TypeMismatch(
                f"ppermute over {over!r} of size {size} needs (source, "
                f"target) pairs in which each index from 0 to {size - 1} stands "
                f"at most once on either side, but got {self.pairs}."
            )
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        back = tuple([(t, s) for s, t in self.pairs])
        return [PPermute(self.axes, self.sizes, back)(cotangents[0])]

    def communicate(self, ctx: "Lowering", x: HloValue) -> Any:
        return permute(ctx, x, self.axes, self.pairs)

    def batch_named(
        self, axis: Axis, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """Along the batch axis now; between participants along the others, if any."""
        if self.axes == (axis,):
            return super().batch_named(axis, size, args, dims)
        (x,), (dim,) = args, dims
        operands = Unstack(0)(batched(size, x, dim))
        self.type_rule(operands[0].type)  # raises what is wrong with the pairs
        routes = self._routes(self.axes.index(axis))
        nothing = zeros(operands[0].type)
        join = Or() if nothing.type.dtype == dtypes.bool_ else add
        received = [nothing] * size
        for (source, target), between in routes.items():
            sent = between(operands[source])
            before = received[target]
            received[target] = sent if before is nothing else join(before, sent)
        return (Stack(0)(*received),), (0,)

    def _routes(self, k: int) -> "dict[tuple[int, int], PPermute]":
        """By (source, target) along axis ``k``, the permutation over the other axes."""
        rest = tuple([n for i, n in enumerate(self.sizes) if i != k])
        others = tuple([a for i, a in enumerate(self.axes) if i != k])
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for pair in self.pairs:
            ends = [list(map(int, np.unravel_index(n, self.sizes))) for n in pair]
            along = ends[0].pop(k), ends[1].pop(k)
            positions = [int(np.ravel_multi_index(end, rest)) for end in ends]
            found.setdefault(along, []).append((positions[0], positions[1]))
        return {
            along: PPermute(others, rest, tuple(pairs))
            for along, pairs in found.items()
        }

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        x = batched(size, x, dim)
        operands = Unstack(0)(x)
        source = {t: s for s, t in self.pairs}
        nothing = zeros(operands[0].type)
        received = [
            operands[source[t]] if t in source else nothing for t in range(size)
        ]
        return (Stack(0)(*received),), (0,)
