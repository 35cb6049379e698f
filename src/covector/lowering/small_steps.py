"""What small steps of loops read and join, in memory of its own.

A loop of small steps is one kernel (decision 8). LLVM makes vector instructions in it
of a function of whole arrays, but few or none where elements are read at a place that
the step computes, or are a part of what is written:

    c = log1p(c + xs[i])                one element after the other
    x = view(xs[i]);  c = log1p(c + x)  sixteen at once

So where a function is computed of an element of ``xs``, or joined with other arrays, a
view stands between, which XLA leaves alone: the kernel copies the element, and computes
the function of arrays. (Decision 8 has the times.)
"""

from collections.abc import Iterable

from covector.core.jaxpr import Atom, Equation, Jaxpr, Var, inlined, replaced, variables
from covector.lowering.long_rows import (
    View,
    called_on_elements,
    is_kernel,
    is_of_bytes,
)
from covector.runtime.compile_options import SMALL_LOOP

#: elements from which on vectors are worth a copy
_LEAST = 32
#: functions that LLVM makes vectors of in any case: one formula for all numbers
_PLAIN = frozenset({"exp", "logistic", "sqrt", "rsqrt", "sin", "cos", "pow"})
#: operations that join arrays, and that move elements of one
_JOINERS = frozenset({"concatenate", "pad"})
MOVERS = frozenset({"broadcast_in_dim", "reshape", "slice", "transpose"})


def with_parts_in_memory(jaxpr: Jaxpr, whole: int) -> Jaxpr:
    """The steps of a small loop, of which the first ``whole`` inputs are no elements of
    arrays, with the parts in memory that functions are computed of, and those that are
    joined (memoise on the program).
    """
    sizes = [a.type.nbytes for a in [*jaxpr.inputs[whole:], *jaxpr.outputs]]
    if not all([type(n) is int for n in sizes]) or sum(sizes) >= SMALL_LOOP:
        return jaxpr
    written = jaxpr.memo(inlined, called_on_elements)
    made = _made_by_functions(written.equations)
    if not made or not all(map(_is_of_one_kernel, written.equations)):
        return jaxpr
    read = _read_by_kernels(written.equations)
    names: dict[Var, Var] = {}
    equations = [_viewed(x, names) for x in written.inputs[whole:] if x in read]
    for e in written.equations:
        inputs = replaced(names, e.inputs)
        if e.op.name in _JOINERS:
            parts = [a for a in variables(inputs) if a in made]
            equations += [_viewed(a, names) for a in parts if a not in names]
            inputs = replaced(names, inputs)
        equations.append(Equation(e.op, inputs, e.outputs, e.line))
        if e.op.name == "dynamic_slice" and e.outputs[0] in read:
            equations.append(_viewed(e.outputs[0], names))
    return Jaxpr(written.inputs, equations, written.outputs, written.name)


def _viewed(x: Var, names: dict[Var, Var]) -> Equation:
    """The view of ``x``, which has its name from now on."""
    names[x] = Var(x.type)
    return Equation(View(x.type.shape), [x], [names[x]], None)


def _read_by_kernels(equations: Iterable[Equation]) -> set[Var]:
    """The arrays that operations read which are parts of kernels."""
    read = {v for e in equations if _is_part(e) for v in variables(e.inputs)}
    return {v for v in read if v.type.ndim and is_of_bytes(v.type.dtype)}


def _made_by_functions(equations: Iterable[Equation]) -> set[Var]:
    """What is computed of functions of many elements, element by element."""
    made: set[Var] = set()
    for e in equations:
        if _is_function(e) or (
            e.op.element_wise and not made.isdisjoint(variables(e.inputs))
        ):
            made.update(e.outputs)
    return made


def _is_function(e: Equation) -> bool:
    """Whether an equation computes a function of many elements, by several formulas."""
    if not e.op.element_wise or e.op.name in _PLAIN or not _is_long(e.outputs[0]):
        return False
    work = e.work
    return work is not None and work.transcendentals > 0


def _is_of_one_kernel(e: Equation) -> bool:
    """Whether a loop may be one kernel that has such an equation in its steps."""
    if e.op.regions or e.op.name.startswith("scatter"):
        return False
    return not is_kernel(e) or _is_of_a_vector(e)


def _is_of_a_vector(e: Equation) -> bool:
    """Whether an equation is a product with a vector, of which XLA makes a sum."""
    ranks = [a.type.ndim for a in e.inputs]
    return e.op.name == "dot_general" and min(ranks) == 1


def _is_part(e: Equation) -> bool:
    """Whether XLA makes an operation a part of the kernel that reads its result."""
    return e.op.element_wise or e.op.name in MOVERS


def _is_long(a: Atom) -> bool:
    return type(a.type.size) is int and a.type.size >= _LEAST
