"""``Call``: a program as one operation. It is what ``jit`` leaves in a program.

Every rule says: transform the program, remembered on the program, then call that. So a
layer called twelve times is transformed once, and stays twelve calls.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr
from covector.core.masks import drop, present, scatter
from covector.core.primitive import Linear, Primitive, operation
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying, of_programs
from covector.lowering.compile import compile_program
from covector.lowering.placement import common_placement, meshes_of
from covector.lowering.tokens import with_token
from covector.transforms.batch import batch_jaxpr
from covector.transforms.linearity import is_linear
from covector.transforms.linearize import linearize_jaxpr
from covector.transforms.transpose import transpose_jaxpr


@operation
class Call(Primitive):
    """Run ``jaxpr`` on the operands.

    A ``separate`` call is compiled by itself, out of sight of the surrounding program,
    so that what it computes again stays computed again (``checkpoint``).
    """

    interned = False
    multiple_results = True
    name = "jit"

    jaxpr: Jaxpr
    separate: bool = False

    def __repr__(self) -> str:
        return f"Call({self.jaxpr.name})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [(t.shape, t.dtype) for t in types]
        wanted = [(t.shape, t.dtype) for t in self.jaxpr.in_types]
        assert given == wanted, f"{self!r} is called with {show_types(types)}"
        return self.jaxpr.out_types

    def evaluate(self, *args: Any) -> Sequence[Any]:
        who = self.jaxpr.name or "a program"
        placement, committed = common_placement(args, who, self.jaxpr.memo(meshes_of))
        return compile_program(self.jaxpr, placement)(args, committed)

    def linearize(self, active: Any, *primals: Any) -> Any:
        split = self.jaxpr.memo(linearize_jaxpr, tuple(active), "_jvp")
        outs = self._like(split.primal)(*primals)
        residuals = split.residuals(primals, outs)

        def push(*tangents: Any) -> Any:
            moved = self._like(split.linear)(*residuals, *present(tangents))
            return scatter(moved, split.nonzero)

        return outs[: len(split.nonzero)], push

    def transpose(self, cotangents: Any, *args: Any) -> Any:
        linear = tuple([type(a) is Linear for a in args])
        given = tuple([ct is not None for ct in cotangents])
        program, nonzero = self.jaxpr.memo(transpose_jaxpr, linear, given)
        known = drop(args, linear)
        cts_in = self._like(program)(*known, *present(cotangents))
        return scatter(cts_in, nonzero)

    def linear_in(self, args: Any) -> bool:
        linear = tuple([type(a) is Linear for a in args])
        return is_linear(self.jaxpr, linear)

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims))
        return self._like(program)(*args), out_dims

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        program, out_dims = self.jaxpr.memo(batch_jaxpr, size, tuple(dims), None, axis)
        return self._like(program)(*args), out_dims

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.jaxpr.memo(named_axes)

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        return of_programs(self.jaxpr.in_types)

    def _like(self, jaxpr: Jaxpr) -> "Call":
        return call(jaxpr, self.separate)

    def with_token(self) -> tuple["Call", int]:
        return self._like(self.jaxpr.memo(with_token)), 0

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return ctx.call(self.jaxpr, operands, self.separate)


def call(jaxpr: Jaxpr, separate: bool = False) -> Call:
    """The operation that runs a program; the same one each time."""
    return jaxpr.memo(Call, separate)


def named_axes(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """The named axes over which the operations of a program communicate."""
    return tuple(dict.fromkeys([n for e in jaxpr.equations for n in e.op.axis_names]))
