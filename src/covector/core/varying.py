"""Varying mesh axes: the axes over which a value may differ between devices.

Inside ``shard_map`` each type records its varying axes. By default a result varies
over every axis that some operand varies over. So that derivatives add up, operands are
unified first: one that varies over fewer axes is *cast*, by an operation whose adjoint
is the sum over the devices. A trace does this (``unify_varying``) before it processes
an operation. Two kinds of operation have a rule of their own
(``Primitive.varying_rule``): collectives, and operations that carry programs, whose
inputs have declared types.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.primitive import Linear
from covector.core.trace import Tracer
from covector.core.types import INVARIANT, ArrayType, result_types

Axes = frozenset[Any]


class Varying(NamedTuple):
    """The axes that each operand must, and each result will, vary over.

    ``result`` is None where the output types of the operation's own program say it.
    """

    operands: Sequence[Axes]
    result: Axes | None


class _LateBinding:
    """``PVary``, which is defined in a layer above; set once, when it is."""

    cast: Callable[[Axes], Any]


def bind_cast(cast: Callable[[Axes], Any]) -> None:
    """``cast(axes)`` is the operation that makes its operand vary over ``axes``."""
    _LateBinding.cast = staticmethod(cast)


def needs_unifying(op: Any, args: Sequence[Any]) -> bool:
    """Whether ``unify_varying`` has anything to do: not where all traced operands vary
    over the same axes, as most do.
    """
    if op.varying_rule is not None:
        return True
    axes = None
    for a in args:
        if isinstance(a, Tracer):
            if axes is None:
                axes = a.type.varying
            elif axes is not a.type.varying:
                return True
    return False


def unify_varying(
    trace: Any, op: Any, args: Sequence[Any]
) -> tuple[list[Any], Axes | None]:
    """The operands, cast to the varying axes that ``op`` needs, and those of results
    where it has a rule for them.

    Known values stay as they are where nothing but that is wanted: a constant has no
    cotangent, so no sum could be missed.
    """
    args = [a if isinstance(a, Array) else as_array(a) for a in args]
    if op.varying_rule is not None:
        wanted = op.varying_rule([a.type for a in args], trace.checked_axes)
        pairs = zip(args, wanted.operands, strict=True)
        return [_cast_in(trace, a, axes) for a, axes in pairs], wanted.result
    everywhere = INVARIANT.union(*[a.type.varying for a in args])
    return [
        _cast_in(trace, a, everywhere) if isinstance(a, Tracer) else a for a in args
    ], None


def _cast_in(trace: Any, x: Any, axes: Axes) -> Any:
    missing = axes - x.type.varying
    if not missing:
        return x
    return trace.process(_LateBinding.cast(missing), [x])[0]


def types_of_results(
    op: Any, types: Sequence[ArrayType], given: Sequence[ArrayType]
) -> tuple[ArrayType, ...]:
    """The result types of ``op`` for operands that are unified already (for checks)."""
    checked_axes = INVARIANT.union(*[t.varying for t in (*types, *given)])
    if op.varying_rule is None or not checked_axes:
        return result_types(op.type_rule, types)
    result = op.varying_rule(types, checked_axes).result
    if result is None:
        return tuple(op.type_rule(*types))
    outs = op.type_rule(*[t.with_varying(INVARIANT) for t in types])
    return tuple([t.with_varying(result) for t in outs])


def pvary_like(x: Any, type: ArrayType) -> Any:
    """``x``, cast to vary over all axes that a value of ``type`` varies over."""
    missing = type.varying - x.type.varying
    return _LateBinding.cast(missing)(x) if missing else x


def cotangent_of(ct: Any, type: ArrayType) -> Any:
    """A cotangent, made to vary over the axes that its value, of ``type``, varies over.

    Of a value that is the same on all devices it is the sum over them, as if the value
    had been cast where the devices begin to differ.
    """
    more = ct.type.varying - type.varying
    if more:
        (ct,) = _LateBinding.cast(more).transpose((ct,), Linear(type))
    return pvary_like(ct, type)


def of_programs(in_types: Sequence[ArrayType]) -> Varying:
    """The rule of an operation that carries a program with these input types."""
    return Varying([t.varying for t in in_types], None)
