"""Over which mesh axes values vary, and how operands are brought together.

Inside ``shard_map`` each type says over which axes of the mesh its value may differ
between devices. Operations know nothing of it: what comes out varies wherever an
operand does. So that derivatives add up, the operands are made to agree first: one that
varies over fewer axes is *cast*, by an operation whose adjoint is the sum over the
devices. A trace does this (``joined``) before it gives an operation its meaning. Two
kinds of operation say for themselves what they want (``Primitive.vary``): those that
communicate, and those that carry programs, whose inputs have types of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.primitive import Linear
from covector.core.trace import Tracer
from covector.core.types import STILL, ArrayType

Axes = frozenset[Any]


class Varying(NamedTuple):
    """What an operation wants of its operands, and over which axes results vary.

    ``result`` is None where the types of the operation's own program say it.
    """

    operands: Sequence[Axes]
    result: Axes | None


class _Link:
    """The way up to the operation that casts; set once, where that is defined."""

    cast: Callable[[Axes], Any]


def link_cast(cast: Callable[[Axes], Any]) -> None:
    """``cast(axes)`` is the operation that makes its operand vary over ``axes``."""
    _Link.cast = staticmethod(cast)


def joined(trace: Any, op: Any, args: Sequence[Any]) -> tuple[list[Any], Axes | None]:
    """The operands as ``op`` wants them to vary, and how its results do.

    Known values stay as they are where nothing but that is wanted: a constant has no
    cotangent, so no sum could be missed.
    """
    args = [a if isinstance(a, Array) else as_array(a) for a in args]
    if op.vary is not None:
        wanted = op.vary([a.type for a in args], trace.tracked)
        pairs = zip(args, wanted.operands, strict=True)
        return [_cast_in(trace, a, axes) for a, axes in pairs], wanted.result
    traced = [a.type.varying for a in args if isinstance(a, Tracer)]
    everywhere = traced[0] if traced else STILL
    if all([axes is everywhere for axes in traced]):
        return args, everywhere
    everywhere = STILL.union(*traced)
    return [
        _cast_in(trace, a, everywhere) if isinstance(a, Tracer) else a for a in args
    ], everywhere


def _cast_in(trace: Any, x: Any, axes: Axes) -> Any:
    missing = axes - x.type.varying
    if not missing:
        return x
    return trace.process(_Link.cast(missing), [x])[0]


def result_types(
    op: Any, types: Sequence[ArrayType], given: Sequence[ArrayType]
) -> tuple[ArrayType, ...]:
    """The types that ``op`` gives for operands that vary as it wants (for checks)."""
    tracked = STILL.union(*[t.varying for t in (*types, *given)])
    if not tracked:
        return tuple(op.type_rule(*types))
    result: Axes | None = STILL.union(*[t.varying for t in types])
    if op.vary is not None:
        result = op.vary(types, tracked).result
    if result is None:
        return tuple(op.type_rule(*types))
    outs = op.type_rule(*[t.with_varying(STILL) for t in types])
    return tuple([t.with_varying(result) for t in outs])


def vary_as(x: Any, type: ArrayType) -> Any:
    """``x``, made to vary over all the axes that a value of ``type`` varies over."""
    missing = type.varying - x.type.varying
    return _Link.cast(missing)(x) if missing else x


def cotangent_of(ct: Any, type: ArrayType) -> Any:
    """A cotangent, made to vary over the axes that its value, of ``type``, varies over.

    Of a value that is the same on all devices it is the sum over them, as if the value
    had been cast where the devices begin to differ.
    """
    more = ct.type.varying - type.varying
    if more:
        (ct,) = _Link.cast(more).transpose((ct,), Linear(type))
    return vary_as(ct, type)


def of_programs(in_types: Sequence[ArrayType]) -> Varying:
    """For operations that carry a program which takes operands of these types."""
    return Varying([t.varying for t in in_types], None)
