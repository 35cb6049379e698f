"""Scans whose steps compute arrays of one shape, element by element: over flat arrays.

A loop of small steps is one kernel (decision 8), in which an array is nested loops over
its axes. LLVM makes vector instructions of the innermost one, and few if that is short:
100 steps of ``logaddexp(c, x)`` take 39 µs of 8 × 12 numbers, and 15 of 96. Where steps
have nothing to do with the shape, the arrays are reshaped before and after the loop,
which costs nothing.
"""

import math
from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, inlined, replaced
from covector.core.staging import restage
from covector.core.types import ArrayType, Shape
from covector.lowering.long_rows import called_on_elements, is_of_one_number


def over_flat_arrays(scan: Any, types: Sequence[ArrayType]) -> Jaxpr | None:
    """The program of a scan of operands of these types, over flat arrays; None where
    they are flat, or its steps have to do with their shape.
    """
    body = scan.jaxpr.memo(_flat)
    if body is None:
        return None
    flat = scan.like(body, *scan.counts)

    def run(*operands: Any) -> list[Any]:
        each = zip(operands, scan.jaxpr.in_types, strict=True)
        outs = flat(*[_flattened(x, t.ndim) for x, t in each])
        wanted = scan.type_rule(*types)
        return [x.reshape(t.shape) for x, t in zip(outs, wanted, strict=True)]

    return restage(run, types, scan.jaxpr.name)


def _flattened(x: Any, ndim: int) -> Any:
    """An array with one axis in place of the last ones."""
    return x.reshape((*x.shape[: x.ndim - ndim], -1)) if ndim else x


def _shape_of(jaxpr: Jaxpr) -> Shape | None:
    """The one shape of all arrays of a program, if they have two axes or more."""
    atoms = [a for e in jaxpr.equations for a in (*e.inputs, *e.outputs)]
    shapes = {a.type.shape for a in (*jaxpr.inputs, *jaxpr.outputs, *atoms)} - {()}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    known = {int}.issuperset(map(type, shape))
    return shape if len(shape) > 1 and known else None


def _flat(jaxpr: Jaxpr) -> Jaxpr | None:
    """The steps over flat arrays, if that can be (memoise on the program)."""
    written = jaxpr.memo(inlined, called_on_elements)
    shape = _shape_of(written)
    if shape is None or not all(map(_is_of_elements, written.equations)):
        return None
    size = (math.prod(shape),)
    names: dict[Var, Atom] = {}

    def named(variables: Sequence[Var]) -> list[Var]:
        new = [Var(v.type.with_shape(size if v.type.shape else ())) for v in variables]
        names.update(zip(variables, new, strict=True))
        return new

    inputs, equations = named(written.inputs), []
    for e in written.equations:
        op = e.op.replace(shape=size) if is_of_one_number(e) else e.op
        operands = replaced(names, e.inputs)
        equations.append(Equation(op, operands, named(e.outputs), e.line))
    return Jaxpr(inputs, equations, replaced(names, written.outputs), jaxpr.name)


def _is_of_elements(e: Equation) -> bool:
    """Whether an equation is on elements, with no array written into it."""
    arrays = [a for a in e.inputs if type(a) is not Var and a.type.shape]
    return not arrays and (e.op.element_wise or is_of_one_number(e))
