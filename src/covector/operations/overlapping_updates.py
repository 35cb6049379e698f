"""What is written into a part of an array, and may be made of the same array.

XLA:CPU overwrites a part of an array in the kernel that computes what is written there.
That the kernel reads other parts of the array it sees where both name the array alike,
but not where one of them names it under another shape. Then it reads what was written a
moment before (jaxlib 0.10.2, and so JAX):

    y = x.reshape(-1, 1)
    y.at[1:].set(2 * y[:-1])        of x = 1, 1, 1, 1:    1, 2, 4, 8

So what is written is computed before, where it and the array are made of one thing.
"""

from typing import TYPE_CHECKING

from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    makers,
    type_of,
    variables,
)
from covector.core.source import running
from covector.core.types import ArrayType
from covector.lowering.in_place import PartsRead, are_same
from covector.lowering.spelling import HloValue
from covector.operations.transposing import in_memory

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: equations after which it is no longer asked whether elements are read in place
_MOST = 64


def computed_first(ctx: "Lowering", written: HloValue, type_: ArrayType) -> HloValue:
    """While lowering what updates a part of an array: the value that is written, of
    ``type_``, which is in memory before if it may have been made of that array.
    """
    if ctx.platform != "cpu" or type_.size == 1:  # one element is read and then written
        return written
    if is_apart(ctx):
        return written
    return in_memory(ctx, written, type_)


def is_apart(ctx: "Lowering") -> bool:
    """Whether what is written has nothing in common with the array, or each element
    only what is in its place, as in ``x.at[i].add(y)``.
    """
    update = running.equation  # on the elements and axes that the program has
    sources = ctx.jaxpr.memo(_sources, ctx.is_isolated)
    made_by = ctx.jaxpr.memo(makers)
    array, *others = update.inputs
    shared = _of(sources, array)
    pending, looked_at = [update.inputs[update.op.updates_part]], 0
    shape = pending[0].type.shape
    reading = update.op.overwritten and update.op.overwritten(pending[0].type)
    while pending:
        a = pending.pop()
        if type(a) is not Var or not sources[a] & shared:
            continue
        maker, looked_at = made_by.get(a), looked_at + 1
        if maker is None or looked_at > _MOST:
            return False
        if _is_of_other_update(ctx, a, array, sources):
            continue
        if a.type.shape != shape:
            return False
        there = maker.op is reading and maker.inputs[0] is array
        if there and are_same(maker.inputs[1:], others[1:], made_by):
            continue
        if not maker.op.element_wise:
            return False
        pending += variables(maker.inputs)
    return True


def _is_of_other_update(
    ctx: "Lowering", a: Var, array: Atom, sources: dict[Var, int]
) -> bool:
    """Whether ``a`` is another array of which a part was updated, or is read of one,
    where XLA sees what was read of ``array`` for that: nothing under another shape, and
    nothing of what is computed here.
    """
    if not ctx.is_isolated or array not in ctx.jaxpr.inputs:
        return False
    made_by, shared = ctx.jaxpr.memo(makers), _of(sources, array)
    whole = made_by[a].inputs[0] if made_by[a].op.reads_part else a
    if type(whole) is not Var or whole not in made_by:  # a literal, or an input
        return False
    if not made_by[whole].op.updates_part:
        return False
    pending: list[Atom] = [whole]
    seen = set[Var]()
    while pending:
        a = pending.pop()
        if type(a) is not Var or a is array or a in seen or not sources[a] & shared:
            continue
        seen.add(a)
        if a not in made_by or len(seen) > _MOST or not _keeps_shape(made_by[a]):
            return False
        pending += made_by[a].inputs
    return True


def _keeps_shape(e: Equation) -> bool:
    """Whether no reshape is part of an equation: as many axes, of elements that a
    processor reads as they are.
    """
    known = e.op.element_wise or e.op.updates_part or e.op.reads_part
    types = [type_of(a) for a in (*e.inputs, *e.outputs)]
    ndims = {t.ndim for t in types if t.shape}
    return bool(known) and len(ndims) <= 1 and min(t.dtype.itemsize for t in types) >= 4


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
