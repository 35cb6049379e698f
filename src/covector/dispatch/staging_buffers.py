"""Memory through which numbers and small arrays of NumPy reach a program.

To make a buffer of an array takes PJRT 2 µs and more, which is most of a short call. So
calls that are alike copy such arguments to buffers that they keep, each as soon as the
program that read it is done: when the call returns, unless the program overlaps.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.convert import operand_on
from covector.core.sharding.transfer import guard
from covector.core.types import ArrayType
from covector.lowering.compiled import ArgumentsElsewhere
from covector.runtime import buffers, client
from covector.runtime.overlap import is_done, now, under_way

#: bytes from which on copying takes longer than making a buffer, and less is gained
_MOST_BYTES = 2**18
#: bytes of one argument that programs under way may read, and that are kept
_MOST_KEPT = 2**21

#: memory, and the buffer that it is
Staged: TypeAlias = tuple[np.ndarray, buffers.Buffer]


class StagingBuffers:
    """Buffers for one argument of calls that are alike. A call takes one, fills it, and
    gives it back: two threads, or a call within a call, have two.
    """

    __slots__ = ("device", "dtype", "free", "kind", "read", "shape", "type")

    def __init__(self, leaf: Any, type_: ArrayType, device: client.Device) -> None:
        #: the class, dtype and shape of what can be staged; numbers have no shape
        self.kind = type(leaf)
        self.dtype = getattr(leaf, "dtype", None)
        self.shape = getattr(leaf, "shape", None)
        self.type = type_
        self.device = device
        self.free: list[Staged] = []
        #: what programs under way may read, each since a moment
        self.read: deque[tuple[int, Staged]] = deque()

    def take(self) -> Staged:
        """Memory that no program reads."""
        if self.free:
            return self.free.pop()
        if self.read:
            moment, one = oldest = self.read.popleft()
            if is_done(moment):
                return one
            self.read.appendleft(oldest)
        return buffers.shared(self.type.shape, self.type.dtype, self.device)

    def give_back(self, one: Staged) -> None:
        """After the call of the program that reads it."""
        if not under_way:
            self.free.append(one)
        elif len(self.read) * self.type.nbytes < _MOST_KEPT:
            self.read.append((now(), one))

    def takes(self, x: Any) -> bool:
        """Whether ``x``, which is of this kind, is like the argument before."""
        dtype = self.dtype
        return dtype is None or (x.dtype is dtype and x.shape == self.shape)


def _staging(leaf: Any, operand: Any, device: client.Device) -> StagingBuffers | None:
    """How an argument is staged, which became this operand; None if it is an array
    already, or large, or not held as NumPy holds it.
    """
    type_ = operand.type
    as_it_is = getattr(leaf, "dtype", type_.dtype) is type_.dtype is type_.storage
    small = 0 < type_.nbytes <= _MOST_BYTES
    staged = leaf is not operand and as_it_is and small
    return StagingBuffers(leaf, type_, device) if staged else None


def staged(
    call: Callable[[list[Any]], Any],
    leaves: Sequence[Any],
    operands: Sequence[Any],
    device: client.Device,
) -> Callable[[list[Any]], Any]:
    """``call``, for leaves of NumPy and Python like these, which became these operands.
    It has read them when it returns, or is among the programs under way then.

    What it returns raises ArgumentsElsewhere for others: nothing has run then.
    """
    pairs = zip(leaves, operands, strict=True)
    stages = [_staging(leaf, operand, device) for leaf, operand in pairs]

    def call_staged(leaves: list[Any]) -> Any:
        operands: list[Any] = []
        used: list[Any] = []
        if guard.on:  # it asks what is converted
            raise ArgumentsElsewhere
        try:
            for x, stage in zip(leaves, stages):  # noqa: B905  of one tree
                if type(x) is ConcreteArray:
                    operands.append(x)
                elif stage is None:
                    operands.append(operand_on(x, device))
                elif type(x) is stage.kind and stage.takes(x):
                    one = stage.take()
                    one[0][...] = x
                    operands.append(ConcreteArray(stage.type, None, one[1]))
                    used.append((stage, one))
                else:
                    raise ArgumentsElsewhere
        except Exception:  # noqa: BLE001  the slow path tells what is wrong with it
            raise ArgumentsElsewhere from None
        results = call(operands)
        # Not after a failure: who tells of it may know the buffer.
        for stage, one in used:
            stage.give_back(one)
        return results

    return call_staged
