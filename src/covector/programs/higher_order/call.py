"""``Call``: a jaxpr as one operation, which ``jit`` stages where it is called.

Every rule transforms the jaxpr, memoised on it, and calls the transformed one. So a
layer that is called twelve times is transformed once, and remains twelve calls.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Equation, Jaxpr, inlined, run
from covector.core.masks import Mask, drop, present, scatter
from covector.core.primitive import Linear, Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType, show_types
from covector.lowering.loading import compiling
from covector.lowering.placement import Placement, common_placement, meshes_of
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import Thread
from covector.programs.higher_order.partition import Partition, Policy, of_call
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearize import linearize_jaxpr
from covector.transforms.transpose import backward, transpose_jaxpr

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Call(ProgramPrimitive):
    """Run ``jaxpr`` on the operands.

    A ``separate`` call is compiled by itself, out of sight of the surrounding program,
    so that what it computes again stays computed again (``checkpoint``).
    """

    name = "jit"

    jaxpr: Jaxpr
    separate: bool = False

    def __repr__(self) -> str:
        return f"Call({self.jaxpr.name})"

    @property
    def in_place(self) -> Jaxpr | None:
        return None if self.separate else self.jaxpr

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [(t.shape, t.dtype) for t in types]
        wanted = [(t.shape, t.dtype) for t in self.jaxpr.in_types]
        assert given == wanted, f"{self!r} is called with {show_types(types)}"
        return self.jaxpr.out_types

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        who = self.jaxpr.name or "a program"
        placement, committed = common_placement(args, who, self.jaxpr.memo(meshes_of))
        return self.jaxpr.memo(_compiled, placement)(args, committed)

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        split = self.jaxpr.memo(linearize_jaxpr, tuple(active), "_jvp")
        return split.at(primals, lambda program, args: self._like(program)(*args))

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        # Written out: every gradient of a jitted function comes this way.
        linear = tuple([type(a) is Linear for a in args])
        given = tuple([ct is not None for ct in cotangents])
        program, nonzero = self.jaxpr.memo(transpose_jaxpr, linear, given)
        known = drop(args, linear)
        cts_in = self._like(program)(*known, *present(cotangents))
        return scatter(cts_in, nonzero)

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return self._like(program)(*args), out_dims

    def _like(self, jaxpr: Jaxpr) -> "Call":
        return call(jaxpr, self.separate)

    def rebuild(
        self, programs: Sequence[Jaxpr], operands: Mask, results: Mask
    ) -> Primitive:
        return self._like(programs[0])

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        return of_call(self.jaxpr, later, policy, self._like)

    def threaded(self, thread: Thread) -> tuple["Call", int]:
        return self._like(thread.through(self.jaxpr)), 0

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.call(self.jaxpr, operands, self.separate or None)


def call(jaxpr: Jaxpr, separate: bool = False) -> Call:
    """The operation that runs a program; the same one each time."""
    return jaxpr.memo(Call, separate)


def without_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the equations of called ones in place of the calls, but of
    separate ones; itself if there are none (memoise on the program).
    """
    return inlined(jaxpr, called)


def called(e: Equation) -> Jaxpr | None:
    """The program that an equation calls, if it need not be separate."""
    return e.op.in_place if type(e.op) is Call else None


class Inlined(ProgramPrimitive):
    """An operation that runs a program as if that stood in its place, and has rules of
    its own for derivatives or batches.
    """

    interpreted = True

    @property
    def program(self) -> Jaxpr:
        """The jaxpr that it runs on its operands."""
        return self.jaxpr

    @property
    def in_place(self) -> Jaxpr:
        return self.program

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        return self.program.out_types

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        return run(self.program, args)

    def transpose(
        self, cotangents: Sequence[Value], *args: Operand
    ) -> Sequence[Array | None]:
        return backward(self.program, args, cotangents)

    def threaded(self, thread: Thread) -> tuple[Call, int]:
        return call(thread.through(self.program)), 0

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.inline(self.program, operands)


def _compiled(jaxpr: Jaxpr, placement: Placement) -> Any:
    """The executable of a program (memoise on the program)."""
    return compiling().compile_program(jaxpr, placement)
