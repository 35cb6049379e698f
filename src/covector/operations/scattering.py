"""Scatters that replace or multiply, or take extrema; adding is in ``gathering``."""

from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.annotations import HostArray, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import Linear, Linearized, Operand
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.operations.arithmetic import div, mul
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.creation import Iota
from covector.operations.extrema import max_, min_
from covector.operations.gathering import Combining, ScatterAdd, Scattering
from covector.operations.identities import computed_once
from covector.operations.selection import where
from covector.operations.transposing import Reshape


def _adding(op: Scattering) -> ScatterAdd:
    """The operation that adds where ``op`` writes."""
    return ScatterAdd(*op.parameters.values())


class Scatter(Scattering):
    """Updates in the place of windows of the operand.

    Where windows overlap, one of the updates wins: the last on CPUs, any on others. The
    derivative is that of the one that won.
    """

    as_integers = True
    linear_operands = ((0, 2),)

    def change(
        self, array: HostArray, key: Sequence[HostArray], values: HostArray
    ) -> None:
        array[key] = values

    def element(self, old: Value, update: Value) -> Value:
        return update

    def linearize(
        self, active: Sequence[bool], x: Value, indices: Value, updates: Value
    ) -> Linearized:
        unique = self.is_unique(indices.type)
        won: Any = None
        if active[2] and not unique:
            won = self.winners(x.type, indices, updates.type)

        def push(
            dx: Value | None, _: Value | None, dupdates: Value | None
        ) -> Sequence[Value | None]:
            dx = zeros(x.type) if dx is None else dx
            if dupdates is None or unique:
                dupdates = zeros(updates.type) if dupdates is None else dupdates
                return (self(dx, indices, dupdates),)
            kept = where(won, dupdates, scalar(0, dupdates.type.dtype))
            cleared = self(dx, indices, zeros(updates.type))
            return (_adding(self)(cleared, indices, kept),)

        return (self(x, indices, updates),), push

    def transpose(
        self, cotangents: Values, x: Operand, indices: Any, updates: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        of_x = of_updates = None
        if type(x) is Linear:
            of_x = self(ct, indices, zeros(updates.type.strong()))
        if type(updates) is Linear:
            of_updates = self.gather(x.type, updates.type)(ct, indices)
            if not self.is_unique(indices.type):
                won = self.winners(x.type, indices, updates.type)
                of_updates = where(won, of_updates, scalar(0, ct.type.dtype))
        return [of_x, None, of_updates]

    def winners(self, x: ArrayType, indices: Operand, updates: ArrayType) -> Any:
        """The mask of elements of the updates that are in the result.

        Each is given a number, the numbers are scattered, and those that are found
        again have won.
        """
        count = Iota(dtypes.int32, (updates.size,), 0)()
        numbers = Reshape(updates.shape)(count)
        written = self(zeros(x.with_dtype(dtypes.int32)), indices, numbers)
        return eq(self.gather(x, updates)(written, indices), numbers)


class ScatterMul(Combining):
    """Windows of the operand multiplied by updates, each as often as it is named.

    The derivative with respect to the updates exists here where windows do not overlap,
    as ``unique_indices`` promises.
    """

    name = "scatter-mul"
    linear_operands = ((0,),)
    combine = mul

    def linearize(
        self, active: Sequence[bool], x: Value, indices: Value, updates: Value
    ) -> Linearized:
        if active[2] and not self.is_unique(indices.type):
            raise NotDifferentiable(
                f"{self.name} can be differentiated with respect to its updates "
                f"({updates.type}) only where no element is multiplied twice. If that "
                "is so, say unique_indices=True; otherwise multiply by the product of "
                "the updates to each element."
            )
        read = self.gather(x.type, updates.type)
        old = read(x, indices) if active[2] else None

        def push(
            dx: Value | None, _: Value | None, dupdates: Value | None
        ) -> Sequence[Value | None]:
            total = zeros(x.type) if dx is None else self(dx, indices, updates)
            if dupdates is not None:
                total = _adding(self)(total, indices, mul(old, dupdates))
            return (total,)

        return (self(x, indices, updates),), push

    def transpose(
        self, cotangents: Values, x: Operand, indices: Any, updates: Operand
    ) -> Sequence[Value | None]:
        return [self(cotangents[0], indices, updates), None, None]


class _ScatterExtremum(Combining):
    """The common base of ``ScatterMin`` and ``ScatterMax``.

    NaN wins. An element and the updates to it that tie share the derivative evenly.
    """

    def linearize(
        self, active: Sequence[bool], x: Value, indices: Value, updates: Value
    ) -> Linearized:
        x, updates = computed_once(x), computed_once(updates)
        out, adding = self(x, indices, updates), _adding(self)
        read = self.gather(x.type, updates.type)
        stayed = convert(eq(x, out), x.type.dtype)
        came = convert(eq(updates, read(out, indices)), x.type.dtype)
        count = adding(stayed, indices, came)

        def push(
            dx: Value | None, _: Value | None, dupdates: Value | None
        ) -> Sequence[Value | None]:
            total = zeros(x.type) if dx is None else mul(dx, stayed)
            if dupdates is not None:
                total = adding(total, indices, mul(dupdates, came))
            return (div(total, count),)

        return (out,), push


class ScatterMin(_ScatterExtremum):
    """The smaller of the elements of windows of the operand and the updates."""

    name = "scatter-min"
    combine = min_


class ScatterMax(_ScatterExtremum):
    """The larger of the elements of windows of the operand and the updates."""

    name = "scatter-max"
    combine = max_
