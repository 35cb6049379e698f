"""What is written into a part of an array, and may be made of the same array.

XLA:CPU overwrites a part of an array in the kernel that computes what is written there.
That the kernel reads other parts of the array it sees where both name the array alike,
but not where one of them names it under another shape. Then it reads what was written a
moment before (jaxlib 0.10.2, and so JAX):

    y = x.reshape(-1, 1)
    y.at[1:].set(2 * y[:-1])        of x = 1, 1, 1, 1:    1, 2, 4, 8

So what is written is computed before, where it and the array are made of one thing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, variables
from covector.core.primitive import Primitive
from covector.core.source import running
from covector.core.types import ArrayType
from covector.lowering.in_place import PartsRead
from covector.lowering.spelling import HloValue
from covector.operations.transposing import in_memory

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: equations after which it is no longer asked whether elements are read in place
_MOST = 64


def computed_first(
    ctx: "Lowering",
    written: HloValue,
    type_: ArrayType,
    reading: Callable[[Equation], Primitive] | None = None,
) -> HloValue:
    """While lowering what updates a part of an array: the value that is written, of
    ``type_``, which is in memory before if it may have been made of that array.

    Args:
      reading: gives, of an equation that overwrites a window, the operation that reads
        there.
    """
    if ctx.platform != "cpu" or type_.size == 1:  # one element is read and then written
        return written
    update = running.equation  # on the elements and axes that the program has
    if _is_apart(ctx, update, reading and reading(update)):
        return written
    return in_memory(ctx, written, type_)


def _is_apart(ctx: "Lowering", update: Equation, reading: Primitive | None) -> bool:
    """Whether what an update writes has nothing in common with the array, or each
    element only what is in its place, as in ``x.at[i].add(y)``.
    """
    sources = ctx.jaxpr.memo(_sources, ctx.is_isolated)
    makers = ctx.jaxpr.memo(_makers)
    array, *others = update.inputs
    shared = _of(sources, array)
    pending, looked_at = [update.inputs[update.op.updates_part]], 0
    shape = pending[0].type.shape
    while pending:
        a = pending.pop()
        if type(a) is not Var or not sources[a] & shared:
            continue
        maker, looked_at = makers.get(a), looked_at + 1
        if maker is None or a.type.shape != shape or looked_at > _MOST:
            return False
        there = maker.op is reading and maker.inputs[0] is array
        if there and _are_same(maker.inputs[1:], others[1:], makers):
            continue
        if not maker.op.element_wise:
            return False
        pending += variables(maker.inputs)
    return True


def _are_same(
    some: Sequence[Atom],
    others: Sequence[Atom],
    makers: Mapping[Var, Equation],
    depth: int = 4,
) -> bool:
    """Whether atoms are seen to have the values of others."""
    pairs = zip(some, others, strict=True)
    return all([_is_same(*pair, makers, depth) for pair in pairs])


def _is_same(one: Atom, two: Atom, makers: Mapping[Var, Equation], depth: int) -> bool:
    if type(one) is not Var or type(two) is not Var:
        known = [a.host() for a in (one, two) if isinstance(a, ConcreteArray)]
        return len(known) == 2 and one.type == two.type and np.array_equal(*known)
    made, again = makers.get(one), makers.get(two)
    if one is two or made is None or again is None or not depth:
        return one is two
    alike = made.op is again.op and len(made.inputs) == len(again.inputs)
    pure = made.op.pure and made.op.interned
    return alike and pure and _are_same(made.inputs, again.inputs, makers, depth - 1)


def _sources(jaxpr: Jaxpr, apart: bool) -> dict[Var, int]:
    """Which arrays each variable is made of, each a bit: the inputs, parts that have
    been read, and one for all arrays made of numbers alone (memoise on the program).

    Args:
      apart: whether the inputs are arrays each with memory of its own.
    """
    of_numbers, *arrays = [1 << i for i in range(len(jaxpr.inputs) + 1)]
    if not apart:
        arrays = [1 << 1] * len(arrays)
    pairs = zip(jaxpr.inputs, arrays, strict=True)
    sources = {v: bit if v.type.shape or not apart else 0 for v, bit in pairs}
    fresh = 1 << len(arrays) + 1
    for e in jaxpr.equations:
        bits = 0
        for v in variables(e.inputs):
            bits |= sources[v]
        for v in e.outputs:
            sources[v] = bits or (of_numbers if v.type.shape else 0)
        if type(e.op) is PartsRead:  # the array is passed on, and parts are written
            array, *parts = e.outputs
            sources[array] = _of(sources, e.inputs[0])
            sources.update(dict.fromkeys(parts, fresh))
            fresh <<= 1
    return sources


def _of(sources: dict[Var, int], a: Atom) -> int:
    return sources[a] if type(a) is Var else 0


def _makers(jaxpr: Jaxpr) -> dict[Var, Equation]:
    """The equation that gives each variable (memoise on the program)."""
    return {v: e for e in jaxpr.equations for v in e.outputs}
