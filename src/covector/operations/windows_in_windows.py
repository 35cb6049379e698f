"""Windows that are moved inside, each by itself, where one is read of another.

A window that would reach over the edge of an array is moved inside. XLA makes one
window of a window in a window, at the sum of their starts, and brings only that inside
(jaxlib 0.10.2, and so JAX), so the starts of such windows are brought inside before:

    dynamic_index(dynamic_slice[6](x, 27), 3)   of 30 rows:   row 27, not 29
"""

from collections.abc import Sequence
from functools import partial
from operator import sub
from typing import TYPE_CHECKING

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Atom, Jaxpr, variables
from covector.core.number_info import iinfo
from covector.core.source import running
from covector.core.types import Shape
from covector.lowering.spelling import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: operations, besides those on elements, that read no window of what they are given
_READ_ALL = frozenset({
    "broadcast_in_dim",
    "concatenate",
    "dot_general",
    "dynamic_update_slice",
    "pad",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "scatter",
    "scatter-add",
    "slice",
    "transpose",
})  # fmt: skip
#: stands for a window that may have been read outside of a program
_OUTSIDE = 0


def is_nested(ctx: "Lowering") -> bool:
    """While lowering what reads a window: whether it may be read of a window, or a
    window of it be read.
    """
    return id(running.equation) in ctx.jaxpr.memo(_nested, ctx.is_isolated)


def has_nested(ctx: "Lowering") -> bool:
    """While lowering an equation: whether the program around it has such windows."""
    return bool(ctx.jaxpr.memo(_nested, ctx.is_isolated))


def _nested(jaxpr: Jaxpr, isolated: bool) -> frozenset[int]:
    """The equations, by identity, that may read a window of a window, or one of which
    a window is read (memoise on the program).

    Args:
      isolated: whether XLA keeps the program apart from what is around it.
    """
    around = frozenset[int]() if isolated else frozenset({_OUTSIDE})
    #: the windows that a variable may be, perhaps in another shape
    windows = dict.fromkeys(jaxpr.inputs, around)
    found: set[int] = set()
    for e in jaxpr.equations:
        given = [v for v in variables(e.inputs) if windows[v]]
        behind = frozenset[int]().union(*[windows[v] for v in given])
        if e.op.reads_part and len(e.inputs) > 1:
            made = frozenset({id(e)})
            if behind:
                found |= behind | made
        elif e.op.element_wise or e.op.name in _READ_ALL:
            size = e.outputs[0].type.size
            grows = e.op.name == "broadcast_in_dim"
            same = [windows[v] for v in given if grows or v.type.size == size]
            made = frozenset[int]().union(*same)
        else:
            made = frozenset({_OUTSIDE})
            found |= behind
        windows.update(dict.fromkeys(e.outputs, made))
    if not isolated:
        found.update(*[windows[v] for v in variables(jaxpr.outputs)])
    return frozenset(found - {_OUTSIDE})


def starts_inside(
    ctx: "Lowering", starts: Sequence[HloValue], sizes: Shape
) -> tuple[HloValue, ...]:
    """While lowering: the starts of a window of these sizes, brought to where it is
    inside of the first operand.
    """
    last = map(sub, ctx.in_types[0].shape, sizes)
    atoms = ctx.equation.inputs[len(ctx.in_types) - len(starts) :]
    return tuple(map(partial(_start_inside, ctx), starts, atoms, last))


def _start_inside(ctx: "Lowering", start: HloValue, atom: Atom, last: int) -> HloValue:
    """While lowering: a start, that of an atom, brought to between 0 and ``last``."""
    type_ = atom.type
    if type(last) is not int:  # symbolic
        return start
    if type(atom) is ConcreteArray and 0 <= int(atom.host()) <= last:
        return start
    if not last:
        return ctx.constant(0, type_)
    bounds = [ctx.constant(k, type_) for k in (0, min(last, iinfo(type_.dtype).max))]
    return ctx.op("stablehlo.clamp", [bounds[0], start, bounds[1]], [type_])
