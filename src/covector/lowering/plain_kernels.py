"""Which programs for CPUs XLA compiles without MLIR between HLO and LLVM.

*Fusion emitters* write a kernel in MLIR, *plain* ones write LLVM's code at once. Plain
kernels are compiled sooner, and where cores cannot divide an array evenly they have
vector instructions, which the others then lack. (Decision 35 has the times.)
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import Any

from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    inlined,
    replaced,
    variables,
)
from covector.core.types import Shape
from covector.lowering.long_rows import View, cost_of_each
from covector.runtime import client

#: Elements of an array up to which XLA's plain kernels are as quick as its fusions, and
#: up to which LLVM does not make their compiling long by unrolling nested loops.
_FEW_ELEMENTS, _FEW_IN_LOOPS = 1024, 32
#: Elements from which XLA may divide an array among the cores, and along its other axes
#: those from which that needs no care with each element.
DIVIDED, _LONG_ROWS = 4096, 32
#: Operations besides those on elements of which programs of uneven arrays have plain
#: kernels: parts of kernels, and what XLA makes no kernels of.
_WITH_ELEMENTS = frozenset({
    "broadcast_in_dim", "reshape", "view", "iota", "stop_gradient",
    "bitcast_convert_type",
    "random_bits", "random_seed", "random_split", "random_wrap", "random_unwrap",
    "reduce_sum", "reduce_prod", "reduce_or", "reduce_and",
    "reduce_max", "reduce_min", "reduce_max_of_numbers", "argmax", "argmin",
    "slice", "dynamic_slice", "rev", "roll", "gather", "stack", "unstack", "cumsum",
    "sort", "dot_general", "fft", "computed_once", "optimization_barrier",
})  # fmt: skip
#: Operations that take longer with them: it pays only where the rest of the program has
#: as many operations on each element.
_TAKE_LONGER, _MORE = frozenset({"scatter", "scatter-add"}), 8
#: operations of the processor that a formula takes, and that a function does at most
_LONG = 16
#: operations on elements that take several times as long with them
_NOT_PLAIN = frozenset({
    "lgamma", "gamma", "digamma", "polygamma", "zeta", "log_beta",
    "igamma", "igammac", "igamma_derivative", "gamma_density",
    "regularized_incomplete_beta",
})  # fmt: skip


def are_compiled_sooner(shapes: Iterable[Shape], jaxpr: Jaxpr) -> bool:
    """Whether a program has small arrays, of these shapes, and does not do the same
    again and again: equal kernels are made once only by fusion emitters.
    """
    for shape in shapes:
        size = math.prod(shape)
        if size > _FEW_ELEMENTS or (size > _FEW_IN_LOOPS and max(shape) < size):
            return False
    kinds = {(e.op, *map(_kind, e.inputs)) for e in jaxpr.equations}
    return len(jaxpr.equations) <= 2 * len(kinds)


def _kind(operand: Atom) -> Any:
    """What makes kernels of operands different: a type, and the value of a constant."""
    type_ = operand.type
    return type_ if type(operand) is Var else (type_, operand.host().tobytes())


def run_sooner(shapes: Iterable[Shape], jaxpr: Jaxpr) -> bool:
    """Whether cores cannot divide an array of the program evenly, and all of it is on
    elements or goes with that.

    In kernels of fusion emitters, each element is then asked whether it is there, which
    makes no vectors: softplus of 399,999 numbers on two cores takes 3.6 ms, of 400,000
    0.5, and so do both with plain kernels.
    """
    return any(map(is_uneven, shapes)) and jaxpr.memo(_is_on_elements)


def is_uneven(shape: Shape) -> bool:
    """Whether cores cannot divide an array of this shape evenly."""
    long = list(dropwhile(lambda n: n == 1, shape))
    uneven = bool(long) and long[0] % client.cores() != 0
    return uneven and math.prod(long) >= DIVIDED and math.prod(long[1:]) < _LONG_ROWS


def with_gathered_in_memory(jaxpr: Jaxpr) -> Jaxpr:
    """The program, in which the elements that are gathered of an array are in memory
    where they are read in several places, if it then has plain kernels (memoise on the
    program).
    """
    gathered = _gathered(jaxpr.equations)
    if not any([is_uneven(v.type.shape) for v in gathered]):
        return jaxpr
    by_formulas = _read_by_formulas(jaxpr.equations)
    counts = Counter(
        [a for e in jaxpr.equations if _is_large(e) for a in variables(e.inputs)]
    )
    gathered = {
        v for v in gathered if v.type.ndim == 1 and (counts[v] > 1 or v in by_formulas)
    }
    if not gathered:
        return jaxpr
    views = {v: Var(v.type) for v in gathered}
    equations = []
    for e in jaxpr.equations:
        equations.append(Equation(e.op, replaced(views, e.inputs), e.outputs, e.line))
        for v in gathered.intersection(e.outputs):
            view = View(v.type.shape)
            equations.append(Equation(view, [v], [views[v]], e.line))
    outputs = replaced(views, jaxpr.outputs)
    rewritten = Jaxpr(jaxpr.inputs, equations, outputs, jaxpr.name)
    return rewritten if rewritten.memo(_is_on_elements) else jaxpr


def _gathered(equations: Iterable[Equation]) -> set[Var]:
    return {v for e in equations if e.op.name == "gather" for v in e.outputs}


def _read_by_formulas(equations: Sequence[Equation]) -> set[Var]:
    """What is gathered, and read by a formula, in several places."""
    gathered = _gathered(equations)
    if not gathered:
        return gathered
    read = [v for e in equations if _reads_often(e) for v in variables(e.inputs)]
    return gathered.intersection(read)


def _is_on_elements(jaxpr: Jaxpr) -> bool:
    """Whether a program has only operations on elements, and what goes with them
    (memoise on the program).
    """
    written = list(_all_equations(jaxpr))
    if not all(map(_goes_with_elements, written)) or _read_by_formulas(written):
        return False
    costs = [cost_of_each(e) for e in written if _is_large(e)]
    return sum(costs) >= _MORE or _TAKE_LONGER.isdisjoint([e.op.name for e in written])


def _all_equations(jaxpr: Jaxpr) -> Iterable[Equation]:
    """The equations of a program, and of those that it carries."""
    for e in jaxpr.memo(inlined, in_place).equations:
        yield e
        for region in e.op.regions:
            yield from _all_equations(region.jaxpr)


def in_place(e: Equation) -> Jaxpr | None:
    """The program that an equation stands for, if it is inlined."""
    return e.op.in_place


def _reads_often(e: Equation) -> bool:
    """Whether it is a formula that has an operand in several places: what is gathered
    is then read as often, without vectors.
    """
    return _is_large(e) and cost_of_each(e) > _LONG


def _is_large(e: Equation) -> bool:
    size = e.outputs[0].type.size if e.op.element_wise else 0
    return type(size) is int and size >= DIVIDED


def _goes_with_elements(e: Equation) -> bool:
    name = e.op.name
    if e.op.element_wise:
        return name not in _NOT_PLAIN
    if e.op.regions:
        return name != "scan" or _stores_little(e)
    return name in _WITH_ELEMENTS or name in _TAKE_LONGER


def _stores_little(scan: Equation) -> bool:
    """Whether the arrays are small of which steps of a scan read or write a part."""
    op: Any = scan.op
    read = scan.inputs[op.num_consts + op.num_carry :]
    sizes = [a.type.size for a in (*read, *scan.outputs[op.num_carry :])]
    return all([type(n) is int and n < DIVIDED for n in sizes])
