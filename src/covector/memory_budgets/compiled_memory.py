"""What programs need compiled: the measure by which budgets of memory are kept.

A program is compiled by itself for the default device, and not run. Its peak is that of
``Executable.memory_use``: arguments, results, and the block of its temporaries.
"""

from typing import Any

from covector import options
from covector.core.annotations import Value
from covector.core.jaxpr import Equation, Jaxpr, run
from covector.core.masks import Mask, at_sources
from covector.core.sizes import show_bytes
from covector.core.source import Line, at_line
from covector.core.staging import restage
from covector.core.trace import as_current, current
from covector.core.types import ArrayType
from covector.errors import ArgumentError, OverBudget
from covector.lowering.evaluate import base
from covector.lowering.loading import compiling
from covector.programs.higher_order.regions import named_axes
from covector.runtime import client
from covector.runtime.executable import MemoryUse
from covector.transforms.linearize import linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr

#: bytes by which a program may need more as a part of another: scalars, alignment
MARGIN = 1024


def memory_of(jaxpr: Jaxpr) -> MemoryUse:
    """The memory use of a program on the default device, with a margin."""
    device = options.current().default_device or client.default_device()
    with as_current(base):
        compiled = compiling().compile_program(jaxpr, device)
    use = compiled.executable.memory_use()
    return use._replace(temporaries=use.temporaries + MARGIN)


def value_and_pullback(jaxpr: Jaxpr, active: Mask) -> Jaxpr:
    """The program of values and of cotangents of the active inputs, as one: it takes
    the inputs, and cotangents of the outputs that have any.
    """
    split = jaxpr.memo(linearize_jaxpr, active)
    linear, count = split.linear, len(split.residual_sources)
    tangents = tuple([i >= count for i in range(len(linear.inputs))])
    given = (True,) * len(linear.outputs)
    transposed, _ = linear.memo(transpose_jaxpr, tangents, given)

    def both(*values: Value) -> list[Any]:
        primals = values[: len(jaxpr.inputs)]
        outs = run(split.primal, primals)
        residuals = at_sources(split.residual_sources, primals, outs)
        cotangents = run(transposed, [*residuals, *values[len(primals) :]])
        return [*outs[: len(jaxpr.outputs)], *cotangents]

    types = [t.strong() for t in linear.out_types]
    return restage(both, [*jaxpr.in_types, *types], f"{jaxpr.name}_gradient")


def check_alone(jaxpr: Jaxpr, who: str) -> None:
    """Raise for a program that cannot be compiled by itself."""
    axes = jaxpr.memo(named_axes)
    if axes or current.trace.checked_axes:
        names = sorted(map(str, axes or current.trace.checked_axes))
        raise ArgumentError(
            f"{who} has a budget of memory inside of the named axes "
            f"{', '.join(names)}, but a budget is kept by compiling the function by "
            "itself, outside of them. Give the budget to a function that contains the "
            "named axes, or leave it out."
        )


# -- budgets that are too small --------------------------------------------------------


def over_budget(
    who: str, limit: int, least: MemoryUse, largest: tuple[ArrayType, str] | None
) -> OverBudget:
    """The error where even the smallest program needs ``least``; ``largest`` is the
    largest value that it keeps, and where that comes from.
    """
    fixed = least.arguments + least.results - least.shared
    text = (
        f"{who} cannot run in {show_bytes(limit)}. The smallest budget that it can "
        f"keep is {show_bytes(least.peak)} ({least.peak} bytes): its arguments and "
        f"results take {show_bytes(fixed)}, its temporaries "
        f"{show_bytes(least.temporaries)}."
    )
    if largest is not None:
        type_, source = largest
        text += (
            f" The largest value that it keeps is {type_} ({show_bytes(type_.nbytes)}) "
            f"{source}."
        )
    return OverBudget(
        f"{text} Give a larger budget, take a smaller batch or a smaller dtype, or "
        "write that part so that it makes less."
    )


def largest_made(jaxpr: Jaxpr) -> tuple[ArrayType, str] | None:
    """The largest value that an operation of a program makes, at any depth, and the
    line of the user's program in words.
    """
    found = _largest(jaxpr, None)
    if found is None:
        return None
    e, type_, line = found
    return type_, f"from {e.op.name}{at_line(line)}"


def _largest(
    jaxpr: Jaxpr, around: Line | None
) -> tuple[Equation, ArrayType, Line | None] | None:
    candidates: list[Any] = []
    for e in jaxpr.equations:
        line = e.line or around
        inside = [_largest(region.jaxpr, line) for region in e.op.regions]
        candidates += [made for made in inside if made is not None]
        if not e.op.regions:
            candidates += [(e, v.type, line) for v in e.outputs]
    return max(candidates, key=lambda made: made[1].nbytes, default=None)
