"""One loop over the elements of arrays, for results that have something in common.

XLA:CPU makes a kernel for each result, which reads all that the result depends on and
computes again what others need as well:

    m' = f(m, g)       three kernels read g, two of them m and v
    v' = f(v, g)
    p' = f(p, m', v')  one loop reads each number once, and writes three

So just before a program is lowered, element-wise equations behind outputs that share
what they read or compute become an ``ElementLoop``. It is for large arrays, and for
outputs only: these are written to memory in any case, where anything else would be a
part of the kernel that needs it. (Decision 33 has the times.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.jaxpr import (
    Equation,
    Jaxpr,
    Var,
    inlined,
    needed_equations,
    replaced,
    run,
    type_of,
    used_inputs,
)
from covector.core.primitive import ManyResults, Primitive, operation
from covector.core.staging import restage
from covector.core.types import ArrayType, Shape
from covector.lowering.long_rows import View, cost_of_each, rows_behind_views
from covector.lowering.plain_kernels import is_uneven
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements from which on a loop for several results is quicker than a kernel for each,
#: in a program, and in a step of a loop that is not one kernel anyway
LARGE, LARGE_IN_LOOPS = 1 << 16, 1 << 12
#: the shortest last axis: of shorter ones LLVM makes no vector instructions
_SHORTEST = 16
#: arrays that one loop reads, or writes
_MOST_ARRAYS = 12
#: Operations that one loop may have, some of which are dozens to XLA. Of more than
#: 2,000 it makes functions that call each other, and computes again what they share.
_LONGEST = 200
#: about how many operations of the processor steps of a loop have that are done at
#: once, and how many such steps there are
_AT_ONCE, _MOST_STEPS = 64, 8

_ELEMENTS = frozenset({dtypes.float32, dtypes.float64})


def lower_loop(
    ctx: "Lowering",
    programs: Sequence[Jaxpr],
    arrays: Sequence[HloValue],
    type_: ArrayType,
    numbers: Sequence[HloValue] = (),
) -> list[HloValue]:
    """The results of programs of numbers at each index of arrays of a type, one after
    the other; the first one takes the ``numbers`` behind the elements.

    ``map`` of StableHLO has one result, and XLA:CPU would compute what several results
    share for each of them. A reduction over windows can have several: here windows hold
    one element, and what the reduction starts with are the numbers.
    """
    used = used_inputs(programs[0])[: len(arrays)]
    wanted, number = len(programs[-1].outputs), type_.with_shape(())
    taken = [x for x, u in zip(arrays, used, strict=True) if u]
    # There are as many results as operands, and two at least: that of one operand, XLA
    # may take for the element.
    count = max(wanted, len(taken), len(numbers), 2)
    taken += [taken[0]] * (count - len(taken))
    start = [*numbers, *[ctx.constant(0, number)] * (count - len(numbers))]
    op = ctx.op(
        "stablehlo.reduce_window",
        [*taken, *start],
        [type_] * count,
        regions=1,
        window_dimensions=(1,) * type_.ndim,
    )

    def body(inner: "Lowering", *arguments: HloValue) -> Sequence[HloValue]:
        given = iter(arguments[count:])
        values = [next(given) if u else arguments[0] for u in used]
        values += arguments[: len(numbers)]
        for program in programs:
            values = inner.inline(program, values)
        return [*values, *[values[-1]] * (count - wanted)]

    module = ctx.module.module
    scalars = module.scalars
    ctx.region(op, 0, [number] * 2 * count, body)
    module.scalars = scalars  # In a loop over arrays, they are not scalars to XLA.
    return list(op.results)[:wanted]


@operation
class ElementLoop(ManyResults):
    """A program of numbers, run for each element of arrays of one shape, which come
    first; numbers are the same for all.

    It is made just before a program is lowered: no transformation meets it.
    """

    interned = False
    jaxpr: Jaxpr
    shape: Shape

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return [t.with_shape(self.shape) for t in self.jaxpr.out_types]

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        count = sum([t.shape == self.shape for t in ctx.in_types])
        arrays, numbers = operands[:count], operands[count:]
        type_ = ctx.in_types[0].strong()
        return lower_loop(ctx, [self.jaxpr], arrays, type_, numbers)


# -- which results share a loop --------------------------------------------------------


@dataclass
class _Cone:
    """What outputs are computed from, element by element."""

    #: the numbers of the equations
    equations: set[int] = field(default_factory=set)
    #: the arrays where that begins, and numbers that are not known, in order
    arrays: dict[Var, None] = field(default_factory=dict)
    numbers: dict[Var, None] = field(default_factory=dict)

    def __or__(self, other: "_Cone") -> "_Cone":
        return _Cone(
            self.equations | other.equations,
            self.arrays | other.arrays,
            self.numbers | other.numbers,
        )

    @property
    def moved(self) -> int:
        """The arrays that a kernel for one output reads and writes."""
        return len(self.arrays) + 1


@dataclass
class _Group:
    """Outputs, and the cone of all."""

    outputs: list[Var]
    cone: _Cone

    def with_(self, output: Var, cone: _Cone) -> "_Group":
        return _Group([*self.outputs, output], self.cone | cone)

    @property
    def width(self) -> int:
        """The results of a loop for the group, which has as many as operands."""
        cone = self.cone
        return max(len(cone.arrays), len(cone.numbers), len(self.outputs), 2)

    @property
    def moved(self) -> int:
        """The arrays that a loop reads and writes."""
        return len(self.cone.arrays) + self.width


class _Grouping:
    """The outputs of a program as groups, with a loop for each."""

    def __init__(self, jaxpr: Jaxpr, outputs: Iterable[Var]) -> None:
        self.equations = jaxpr.equations
        self.made_by: dict[Var, int] = {
            v: i for i, e in enumerate(jaxpr.equations) for v in e.outputs
        }
        self.groups: list[_Group] = []
        #: by array, the last group that reads it
        readers: dict[Var, int] = {}
        for v in outputs:
            cone = self.cone(v) if self.is_of_elements(v) else None
            if cone is not None:
                k = self._add(v, cone, readers)
                readers.update(dict.fromkeys(cone.arrays, k))
        self.groups = list(filter(self._pays, self.groups))

    def _add(self, v: Var, cone: _Cone, readers: dict[Var, int]) -> int:
        """Add an output to the group that shares most likely something with it, if that
        moves no more than a kernel of its own; or to a new one. The number of the
        group.
        """
        k = next((readers[a] for a in cone.arrays if a in readers), None)
        if k is not None:
            before, after = self.groups[k], self.groups[k].with_(v, cone)
            fits = after.width <= _MOST_ARRAYS and self._is_short(after.cone)
            if fits and after.moved <= before.moved + cone.moved:
                self.groups[k] = after
                return k
        self.groups.append(_Group([v], cone))
        return len(self.groups) - 1

    def _pays(self, group: _Group) -> bool:
        """Whether one loop moves less than a kernel for each output, or as much and
        computes less.

        A kernel reads other outputs, if it needs them, and computes the rest again.
        """
        if len(group.outputs) == 1:
            return False
        cones = [self.cone(v, group.outputs) for v in group.outputs]
        apart = [cone for cone in cones if cone is not None]
        moved = sum([cone.moved for cone in apart])
        computed = sum([len(cone.equations) for cone in apart])
        less = computed > len(group.cone.equations)
        return group.moved < moved or (group.moved == moved and less)

    def is_of_elements(self, v: Var) -> bool:
        """Whether an operation makes each element of a variable by itself."""
        i = self.made_by.get(v)
        return i is not None and _of_elements(self.equations[i]) is not None

    def cone(self, output: Var, ends: Sequence[Var] = ()) -> _Cone | None:
        """The cone of an output, which ends at other ones; None where no loop computes
        it better than XLA's kernel does.
        """
        cone, seen, rest = _Cone(), {output}, [output]
        while rest:
            i = self.made_by[rest.pop()]
            cone.equations.add(i)
            for a in self.equations[i].inputs:
                if type(a) is not Var:
                    if a.type.shape:
                        return None
                elif a in ends:
                    cone.arrays[a] = None
                elif a in seen:
                    continue
                elif a.type.shape == output.type.shape and self.is_of_elements(a):
                    seen.add(a)
                    rest.append(a)
                elif not self._begins(cone, a, output.type):
                    return None
        return cone if self._is_short(cone) else None

    def _begins(self, cone: _Cone, a: Var, type_: ArrayType) -> bool:
        """Whether a cone may begin at a value, which is then added: a number, or an
        array that is in memory anyway, of the element type of the output.
        """
        if a.type.dtype != type_.dtype:
            return False
        (cone.arrays if a.type.shape else cone.numbers)[a] = None
        whole = a.type.shape == type_.shape and self._is_in_memory(a)
        return whole or not a.type.shape

    def _is_in_memory(self, a: Var) -> bool:
        """Whether an array is written to memory in any case. What only moves elements
        is a part of the kernel that reads them.
        """
        i = self.made_by.get(a)
        if i is None:
            return True
        e = self.equations[i]
        if e.op.regions or e.op.element_wise or type(e.op) is View:
            return not e.op.element_wise
        work = e.work
        return work is not None and work.flops > 0

    def _is_short(self, cone: _Cone) -> bool:
        count = sum([self.equations[i].op.op_count for i in cone.equations])
        return count <= _LONGEST

    def loop(self, group: _Group) -> tuple[int, Equation]:
        """The loop of a group, and the number of the equation behind which it is."""
        inputs = [*group.cone.arrays, *group.cone.numbers]
        env = {v: Var(v.type.with_shape(()).strong()) for v in inputs}
        body = []
        order = sorted(group.cone.equations)
        for i in order:
            e = self.equations[i]
            op, (out,) = _of_elements(e), e.outputs
            assert op is not None, "a cone is of operations on elements"
            env[out] = Var(out.type.with_shape(()))
            operands = [env[a] if type(a) is Var else a for a in e.inputs]
            body.append(Equation(op, operands, [env[out]], e.line))
        outs = [env[v] for v in group.outputs]
        jaxpr = Jaxpr([env[v] for v in inputs], body, outs)
        loop = ElementLoop(jaxpr, group.outputs[0].type.shape)
        results = [Var(v.type) for v in group.outputs]
        last = self.equations[order[-1]]
        return order[-1], Equation(loop, inputs, results, last.line)


def _of_elements(e: Equation) -> Primitive | None:
    return e.op.of_elements(*map(type_of, e.inputs))


def with_element_loops(jaxpr: Jaxpr, least: int = LARGE) -> Jaxpr:
    """The program, with loops for several of its outputs of at least so many elements
    where these are quicker (memoise on the program).
    """
    if len(jaxpr.outputs) < 2:
        return jaxpr
    outputs = jaxpr.memo(rows_behind_views)
    if sum([_is_large(v, least) for v in outputs]) <= 1:
        return jaxpr
    written = jaxpr.memo(inlined, _called)
    outputs = written.memo(rows_behind_views)
    outputs = dict.fromkeys([v for v in outputs if _is_large(v, least)])
    grouping = _Grouping(written, outputs)
    return _rewritten(written, grouping) if grouping.groups else jaxpr


def _called(e: Equation) -> Jaxpr | None:
    """The program that an equation calls, if it computes element by element."""
    program = e.op.in_place
    return program if program is not None and program.memo(_is_of_elements) else None


def _is_of_elements(jaxpr: Jaxpr) -> bool:
    """Whether a program has only operations on elements (memoise on the program)."""
    return all([(_of_elements(e) or _called(e)) is not None for e in jaxpr.equations])


def _is_large(v: Any, least: int) -> bool:
    """Whether a loop over the elements of an atom is worth while."""
    if type(v) is not Var or v.type.dtype not in _ELEMENTS or not v.type.shape:
        return False
    known = type(v.type.size) is int  # and not symbolic
    return known and v.type.size >= least and v.type.shape[-1] >= _SHORTEST


def _rewritten(jaxpr: Jaxpr, grouping: _Grouping) -> Jaxpr:
    """The program with a loop for each group, behind the last of its equations. What
    comes before that has its own equations.
    """
    loops: dict[int, list[tuple[_Group, Equation]]] = {}
    for group in grouping.groups:
        i, loop = grouping.loop(group)
        loops.setdefault(i, []).append((group, loop))
    now: dict[Var, Any] = {}
    equations: list[Equation] = []
    for i, e in enumerate(jaxpr.equations):
        inputs = replaced(now, e.inputs) if now else e.inputs
        equations.append(Equation(e.op, inputs, e.outputs, e.line))
        for group, loop in loops.get(i, ()):
            equations.append(loop)
            now.update(zip(group.outputs, loop.outputs, strict=True))
    outputs = replaced(now, jaxpr.outputs)
    needed = needed_equations(equations, outputs)
    return Jaxpr(jaxpr.inputs, needed, outputs, jaxpr.name)


# -- loops of the user -----------------------------------------------------------------


def steps_at_once(jaxpr: Jaxpr) -> int:
    """How many steps of a loop over the program are done in one pass over its arrays:
    one, if these are too many operations; 0, if a step is more than element by element
    (memoise on the program).
    """
    arrays = _arrays(jaxpr.inputs)
    shapes = {v.type.shape for v in arrays}
    # Steps of one array are one kernel each, as they are.
    least = LARGE if len(_arrays(jaxpr.outputs)) == 1 else LARGE_IN_LOOPS
    if len(shapes) != 1 or not all([_is_large(v, least) for v in arrays]):
        return 0
    jaxpr = jaxpr.memo(inlined, _called)
    for e in jaxpr.equations:
        if _of_elements(e) is None or any(
            [v.type.shape not in shapes for v in _arrays(e.outputs)]
        ):
            return 0
    # Steps of functions wait for the one before, and not for memory. But where cores do
    # not divide the arrays evenly, a kernel for a step has no vector instructions.
    work = len(jaxpr.equations)
    if not any(map(is_uneven, shapes)):
        work = sum([max(cost_of_each(e), 1) for e in jaxpr.equations])
    steps = min(_AT_ONCE // max(work, 1), _MOST_STEPS)
    return 1 << max(steps.bit_length() - 1, 0)


def _arrays(variables: Iterable[Var]) -> list[Var]:
    return [v for v in variables if v.type.shape]


def several_steps(jaxpr: Jaxpr, consts: int, steps: int) -> Jaxpr:
    """So many steps of a loop, from constants and the carry to the carry (memoise on
    the program).
    """
    step = jaxpr.memo(inlined, _called)

    def run_steps(*args: Any) -> Sequence[Any]:
        fixed, carry = args[:consts], args[consts:]
        for _ in range(steps):
            carry = tuple(run(step, [*fixed, *carry]))
        return carry

    several = restage(run_steps, jaxpr.in_types, jaxpr.name)
    return with_element_loops(several, LARGE_IN_LOOPS)
