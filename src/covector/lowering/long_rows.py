"""Arrays of short rows, computed element by element as if they were one long row.

XLA:CPU makes nested loops over the axes of what a kernel gives. LLVM makes vector
instructions of the innermost one if it is long, or a power of two, and else computes
one element after the other: ``erfinv`` of 40,000 × 10 numbers takes six times as long
as of 400,000. To reshape before and after changes nothing, for XLA sees through that.

So just before a program is lowered, equations on elements of such arrays are written
for one row, between two *views* of memory under another shape. A view is the call of a
function that XLA leaves alone, and takes no time.

    y = erfinv(x)                  r = view(x)        f32[400000]
                                   s = erfinv(r)
                                   y = view(s)        f32[40000,10]

What is a part of the kernel otherwise, as what is broadcast on the way in, or added up
on the way out, is written to memory then. That pays only for what takes long without
vectors. (Decision 37 has the times.)
"""

import functools
from collections.abc import Iterable, Sequence
from itertools import compress
from math import inf
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.dtypes import DType
from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    inlined,
    makers,
    needed_equations,
    readers,
    replaced,
    type_of,
    variables,
)
from covector.core.primitive import Primitive, operation
from covector.core.source import Line
from covector.core.staging import restage
from covector.core.types import ArrayType, Shape
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements from which on vectors are worth a view, in a program and in steps of a loop
LEAST, LEAST_IN_LOOPS = 1 << 11, 1 << 14
#: rows that LLVM makes vectors of as they are: long ones, and multiples of this
_LONG, _VECTORS = 256, 16
#: Operations of the processor that an element takes for which an array is written to
#: memory, and where rows are such that LLVM makes vectors of several.
_WORTH_WRITING, _WORTH_WRITING_MORE, _SEVERAL = 24, 48, (2, 3, 4, 8)
#: about how many of these a function takes, and one that has a formula here
FUNCTION, _FORMULA = 16, 64


@operation
class View(Primitive):
    """Memory under another shape, which XLA does not see through.

    It is made just before a program is lowered: no transformation meets it.
    """

    as_integers = True
    shape: Shape

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return (x.with_shape(self.shape),)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (out,) = ctx.call_kernel(_reshaped(ctx.in_types[0], self.shape), [x])
        return out


@functools.lru_cache(4096)
def _reshaped(type_: ArrayType, shape: Shape) -> Jaxpr:
    return restage(lambda x: [x.reshape(shape)], [type_], "view")


def with_long_rows(
    jaxpr: Jaxpr,
    least: int = LEAST,
    taken: int | None = None,
    given: int | None = None,
) -> Jaxpr:
    """The program, whose arrays of at least so many elements in short rows are computed
    as one row each, where that is quicker (memoise on the program).

    Args:
      taken, given: how many of the inputs, and outputs, are in memory; None for all.
        Others are parts of arrays, which the kernels read and write in place.
    """
    # Most programs have no such arrays, and are compiled sooner for a quick look.
    if not any([
        len(v.type.shape) > 1 and _is_of_short_rows(v.type, least)
        for e in jaxpr.equations
        for v in e.outputs[:1]
    ]):  # fmt: skip
        return jaxpr
    written = jaxpr.memo(inlined, called_on_elements)
    first = len(written.inputs) if taken is None else taken
    islands = _ShortRows(
        written, least, set(written.inputs[first:]), written.outputs[:given]
    )
    chosen = set(filter(islands.pays, islands.by_root))
    return _Rewriting(islands, chosen).program() if chosen else jaxpr


def rows_behind_views(jaxpr: Jaxpr) -> list[Atom]:
    """The outputs of a program, or what they are views of (memoise on the program)."""
    behind = {e.outputs[0]: e.inputs[0] for e in jaxpr.equations if type(e.op) is View}
    return replaced(behind, jaxpr.outputs)


def _is_of_short_rows(type_: ArrayType, least: int) -> bool:
    """Whether an array is large, and LLVM makes no vectors, or poor ones, of its
    innermost loop.
    """
    if type_.ndim < 2 or type(type_.size) is not int or type_.size < least:
        return False
    row = type_.shape[-1]
    return is_of_bytes(type_.dtype) and row < _LONG and row % _VECTORS != 0


def is_of_bytes(dtype: DType) -> bool:
    """Whether elements are numbers of whole bytes."""
    return not dtypes.is_key(dtype) and dtype not in dtypes.SUB_BYTE


def called_on_elements(e: Equation) -> Jaxpr | None:
    """The program that an equation calls, if it computes element by element."""
    program = e.op.in_place
    return program if program is not None and program.memo(_is_of_elements) else None


def _is_of_elements(jaxpr: Jaxpr) -> bool:
    """Whether a program has only operations on elements (memoise on the program)."""
    return all([e.op.element_wise or called_on_elements(e) for e in jaxpr.equations])


# -- islands ---------------------------------------------------------------------------


class Islands:
    """Equations of a program that arrays connect. An island has a *root*, one of its
    variables.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        #: the next variable on the way to the root
        self._above: dict[Var, Var] = {}

    def add(self, e: Equation, connecting: Iterable[Var]) -> None:
        """Add an equation, which becomes one island with those that make some of its
        operands.
        """
        first = e.outputs[0]
        self._above.update(dict.fromkeys(e.outputs, first))
        for a in connecting:
            root = self.root(a)
            if root is not None:
                self._above[root] = first

    def root(self, v: Var) -> Var | None:
        """The root of the island that makes a variable, if one does."""
        above = self._above
        if v not in above:
            return None
        while above[v] is not v:
            nearer = above[v] = above[above[v]]  # so that the way is short next time
            v = nearer
        return v

    def root_of(self, e: Equation) -> Var | None:
        """The root of the island that an equation belongs to, if it belongs to one."""
        return self.root(e.outputs[0]) if e.outputs else None


class _ShortRows(Islands):
    """Equations on elements of arrays of one shape that depend on each other."""

    def __init__(
        self, jaxpr: Jaxpr, least: int, parts: set[Var], written: Sequence[Atom]
    ) -> None:
        super().__init__(jaxpr)
        #: inputs that are not in memory, and outputs that are written to it
        self.parts, self.written = parts, set(variables(written))
        self.makers = jaxpr.memo(makers)
        # Images between convolutions may have another order of axes (``axis_orders``).
        convolves = any([e.op.name == "conv_general_dilated" for e in jaxpr.equations])
        most = 2 if convolves else inf
        for e in jaxpr.equations:
            if e.op.element_wise and not e.op.multiple_results:
                type_ = e.outputs[0].type
                if type_.ndim <= most and _is_of_short_rows(type_, least):
                    alike = [a.type.shape == type_.shape for a in e.inputs]
                    self.add(e, variables(compress(e.inputs, alike)))
        #: the equations of each island
        self.by_root: dict[Var, list[Equation]] = {}
        for e in jaxpr.equations:
            root = self.root_of(e)
            if root is not None:
                self.by_root.setdefault(root, []).append(e)
        self.readers = jaxpr.memo(readers)

    def pays(self, root: Var) -> bool:
        """Whether an island is quicker as one row: where nothing besides is written to
        memory for it, or it takes long.
        """
        equations = self.by_root[root]
        inside = {v for e in equations for v in e.outputs}
        shape = root.type.shape
        taken = {
            a
            for e in equations
            for a in variables(e.inputs)
            if a.type.shape == shape and a not in inside
        }
        read = [a for a in taken if not self._is_in_memory(a)]
        given = [v for v in inside if not self._stays(v, root)]
        more = len(read) + len(given)
        each = _WORTH_WRITING_MORE if shape[-1] in _SEVERAL else _WORTH_WRITING
        return more == 0 or sum(map(cost_of_each, equations)) >= more * each

    def _is_in_memory(self, a: Var) -> bool:
        """Whether an array is in memory in any case, or each element is one number."""
        e = self.makers.get(a)
        if e is None:
            return a not in self.parts
        if e.op.regions or is_of_one_number(e):
            return True
        if e.op.name == "reshape":
            return all([self._is_in_memory(v) for v in variables(e.inputs)])
        return is_kernel(e)

    def _stays(self, v: Var, root: Var) -> bool:
        """Whether what an island makes is read by itself only, or from memory in any
        case, or as one row as well.
        """
        if v in self.written:
            return True
        outside = [e for e in self.readers.get(v, ()) if self.root_of(e) is not root]
        inside = v not in self.jaxpr.outputs
        of_memory = [_is_total(e) or e.op.regions or is_kernel(e) for e in outside]
        return inside and all(of_memory)


def is_of_one_number(e: Equation) -> bool:
    """Whether an equation gives an array of which all elements are one number."""
    return e.op.name == "broadcast_in_dim" and not e.inputs[0].type.shape


def _is_total(e: Equation) -> bool:
    """Whether an equation reduces one array to one number."""
    is_of_one = len(e.inputs) == 1 and e.op.name.startswith("reduce_")
    axes = getattr(e.op, "axes", ()) if is_of_one else ()
    return is_of_one and len(axes) == e.inputs[0].type.ndim > 0


def is_kernel(e: Equation) -> bool:
    """Whether an operation is no part of a kernel that others are a part of: it takes
    its operands from memory, and gives its results there.
    """
    if e.op.element_wise or e.op.name.startswith("reduce_"):
        return False
    work = e.work
    return work is not None and work.flops > 0


def cost_of_each(e: Equation) -> int:
    """About how many operations of the processor an element takes."""
    if e.op.of_elements(*map(type_of, e.inputs)) is None:
        return _FORMULA
    work = e.work
    if work is None or getattr(e.op, "hlo", "").startswith("chlo."):
        return 2 * FUNCTION
    return operations_of(work) // e.outputs[0].type.size


def operations_of(work: Work) -> int:
    """About how many operations of the processor some work takes."""
    return work.flops + FUNCTION * work.transcendentals


# -- the program -----------------------------------------------------------------------


class _Rewriting:
    """A program with chosen islands as one row each."""

    def __init__(self, islands: _ShortRows, chosen: set[Var]) -> None:
        self.islands, self.chosen = islands, chosen
        self.equations: list[Equation] = []
        #: what there is as one row, by the identity of what has the shape of the array
        self.rows: dict[int, Var] = {}
        #: of what is made as one row, what has the shape of the array, once it is asked
        #: for
        self.shaped: dict[Var, Var | None] = {}

    def program(self) -> Jaxpr:
        jaxpr = self.islands.jaxpr
        for e in jaxpr.equations:
            if self.islands.root_of(e) in self.chosen:
                self._add_as_row(e)
            elif _is_total(e) and id(e.inputs[0]) in self.rows:
                op, row = e.op.replace(axes=(0,)), self.rows[id(e.inputs[0])]
                self.equations.append(Equation(op, [row], e.outputs, e.line))
            else:
                inputs = [self._in_shape(a, e.line) for a in e.inputs]
                self.equations.append(Equation(e.op, inputs, e.outputs, e.line))
        outputs = [self._in_shape(a, None) for a in jaxpr.outputs]
        needed = needed_equations(self.equations, outputs)
        return Jaxpr(jaxpr.inputs, needed, outputs, jaxpr.name)

    def _add_as_row(self, e: Equation) -> None:
        (v,) = e.outputs
        inputs = [
            self._as_row(a, e.line) if a.type.shape == v.type.shape else a
            for a in e.inputs
        ]
        self.shaped[v] = None
        self.rows[id(v)] = self._add(e.op, inputs, _as_row(v.type), e.line)

    def _as_row(self, a: Atom, line: Line | None) -> Var:
        """An operand as one row."""
        row = self.rows.get(id(a))
        if row is not None:
            return row
        type_ = _as_row(a.type)
        maker = self.islands.makers.get(a) if type(a) is Var else None
        if maker is not None and is_of_one_number(maker):
            op = maker.op.replace(shape=type_.shape)
            row = self._add(op, maker.inputs, type_, line)
        else:
            row = self._add(View(type_.shape), [a], type_, line)
        self.rows[id(a)] = row
        return row

    def _in_shape(self, a: Atom, line: Line | None) -> Atom:
        """An atom in its shape, also if it is made as one row."""
        if type(a) is not Var or a not in self.shaped:
            return a
        found = self.shaped[a]
        if found is None:
            view, row = View(a.type.shape), self.rows[id(a)]
            found = self.shaped[a] = self._add(view, [row], a.type, line)
        return found

    def _add(
        self, op: Primitive, inputs: Sequence[Atom], type_: ArrayType, line: Line | None
    ) -> Var:
        out = Var(type_)
        self.equations.append(Equation(op, inputs, [out], line))
        return out


def _as_row(type_: ArrayType) -> ArrayType:
    return type_.with_shape((type_.size,))
