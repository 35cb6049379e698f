"""``saved_residuals``: the values that the derivative of a function keeps in memory.

The function is linearised, as for a gradient; the residuals are the values of the
primal part that the linear part reads. Each is traced back, also into called jaxprs and
loop bodies, to the equation that made it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from covector import tree
from covector.core.convert import type_of
from covector.core.flat import FlatFunction, argument_path, who_of
from covector.core.jaxpr import Atom, Jaxpr, Var
from covector.core.masks import Mask
from covector.core.source import at_line
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.programs.higher_order.regions import maker, outputs_behind
from covector.programs.remat.policies import Name
from covector.transforms.linearize import linearize_jaxpr


class Residual(NamedTuple):
    """A value that is kept for the derivative: its type, and where it comes from."""

    type: ArrayType
    source: str

    def __str__(self) -> str:
        return f"{self.type} {self.source}"


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """The values that the derivative of ``f`` with respect to all arguments keeps.

    Args:
      args, kwargs: arguments, or anything with their ``shape`` and ``dtype``.

    Returns:
      Pairs ``(type, source)``.

    >>> import covector.numpy as cnp
    >>> for residual in saved_residuals(lambda x: x * cnp.exp(x), cnp.ones(2)):
    ...     print(residual)
    f32[2] from exp at ...
    f32[2] from argument 0
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    flat = FlatFunction(f, in_tree, who_of("saved_residuals", f))
    staged = stage(flat, [type_of(x) for x in leaves], "f")
    count = len(staged.captured)
    active = [i >= count and t.inexact for i, t in enumerate(staged.jaxpr.in_types)]
    split = staged.jaxpr.memo(linearize_jaxpr, tuple(active))
    primal = split.primal
    found = []
    for index in split.residual_sources:
        if 0 <= index < count:
            type_, source = primal.inputs[index].type, "from a constant or a closure"
        elif index >= 0:
            type_ = primal.inputs[index].type
            source = f"from {argument_path(in_tree, index - count)}"
        else:
            type_ = primal.outputs[~index].type
            source = _source(primal, primal.outputs[~index]) or "from an argument"
        found.append(Residual(type_, source))
    return found


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print ``saved_residuals(f, *args, **kwargs)``, one to a line.

    >>> import covector as cv, covector.numpy as cnp
    >>> print_saved_residuals(cv.checkpoint(lambda x: cnp.sin(cnp.sin(x))), 1.0)
    f32[] from argument 0
    """
    for residual in saved_residuals(f, *args, **kwargs):
        print(residual)  # noqa: T201


def largest_residual(jaxpr: Jaxpr, active: Mask) -> Residual | None:
    """The largest value that the derivative of a program keeps besides its inputs."""
    split = jaxpr.memo(linearize_jaxpr, active)
    made = [split.primal.outputs[~i] for i in split.residual_sources if i < 0]
    if not made:
        return None
    largest = max(made, key=lambda atom: atom.type.nbytes)
    return Residual(largest.type, _source(split.primal, largest) or "from an argument")


def _source(jaxpr: Jaxpr, atom: Atom) -> str | None:
    """The operation that made a value of a program; None for an input."""
    if type(atom) is not Var:
        return "from a constant"
    found = maker(jaxpr, atom)
    if found is None:
        return None
    e, result = found
    if isinstance(e.op, Name):
        return f"named {e.op.label!r}{at_line(e.line)}"
    for region, output in outputs_behind(e.op, result):
        inner = region.jaxpr.outputs[output]
        source = _source(region.jaxpr, inner)
        if source is None:
            operand = region.operands[region.jaxpr.inputs.index(inner)]
            return None if operand is None else _source(jaxpr, e.inputs[operand])
        steps = ", of each step" if region.stacks(output) else ""
        return source if source.endswith(steps) else source + steps
    return f"from {e.op.name}{at_line(e.line)}"
