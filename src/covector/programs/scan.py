"""``Scan``: a program run step after step, over a carry and the leading axis of arrays.

    operands    consts   the same at every step
                carry    what a step hands to the next
                xs       arrays with a leading axis; a step sees one element of each
    results     the last carry, and ys: what each step gave besides, stacked

The body takes ``consts, carry, x`` and gives ``carry, y``. Derivatives of a scan are scans:
forward beside it, backward with the steps in the other order. A carry moves if it starts
moving, or is made to by another; which ones do is found by iterating to the fixpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Linear, Primitive
from covector.core.trace import Trace
from covector.core.types import ArrayType, show_types
from covector.errors import TypeMismatch
from covector.lowering.evaluate import evaluate_compiled
from covector.ops.broadcasting import batched, zeros
from covector.programs import scan_derivatives as derivatives
from covector.programs.call import named_axes
from covector.programs.cond import runs_on_host
from covector.programs.scan_lowering import lower_scan
from covector.transforms.batch import batch_jaxpr

#: operations, all steps together, up to which an eager scan is not worth compiling
_FEW = 64


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Primitive):
    """Run ``jaxpr`` for ``length`` steps; from the last element when ``reverse``.

    ``unroll`` steps are written out in each turn of the compiled loop.
    """

    interned = False
    multiple_results = True
    name = "scan"

    jaxpr: Jaxpr
    length: int
    num_consts: int
    num_carry: int
    reverse: bool = False
    unroll: int = 1

    def __repr__(self) -> str:
        return f"Scan({self.jaxpr.name}, {self.length})"

    def like(self, jaxpr: Jaxpr, num_consts: int, num_carry: int, flip: bool = False) -> "Scan":
        """Another scan of as many steps; in the other order with ``flip``."""
        reverse = self.reverse != flip
        return make_scan(jaxpr, self.length, num_consts, num_carry, reverse, self.unroll)

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Operands, or what is known of each, as consts, carry and xs."""
        start, end = self.num_consts, self.num_consts + self.num_carry
        return [*operands[:start]], [*operands[start:end]], [*operands[end:]]

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        wanted = [*self.jaxpr.in_types]
        for k in range(self.num_consts + self.num_carry, len(wanted)):
            wanted[k] = stacked_type(wanted[k], self.length)
        if [t.strong() for t in types] != [t.strong() for t in wanted]:
            raise TypeMismatch(
                f"scan of {self.jaxpr.name} needs operands of types {show_types(wanted)}, "
                f"but got {show_types(types)}."
            )
        outs = self.jaxpr.out_types
        carry = wanted[self.num_consts : self.num_consts + self.num_carry]
        if [t.strong() for t in outs[: self.num_carry]] != [t.strong() for t in carry]:
            raise TypeMismatch(
                f"scan of {self.jaxpr.name} has a carry of types {show_types(carry)}, but "
                f"a step makes of it {show_types(outs[: self.num_carry])}."
            )
        ys = [stacked_type(t, self.length) for t in outs[self.num_carry :]]
        return [*outs[: self.num_carry], *ys]

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: Any) -> Sequence[Any]:
        few = self.length * len(self.jaxpr.equations) <= _FEW
        if few and all([a.on_host() for a in args]) and self.jaxpr.memo(runs_on_host):
            return self._step_by_step(args)
        plan = self.plan(tuple([a.type for a in args]))
        return evaluate_compiled(self, plan, args)

    def _step_by_step(self, args: Sequence[ConcreteArray]) -> Sequence[Any]:
        consts, carry, xs = self.split(args)
        x_types = self.jaxpr.in_types[self.num_consts + self.num_carry :]
        steps = range(self.length)
        rows = []
        for i in reversed(steps) if self.reverse else steps:
            x = [
                ConcreteArray(t, x.host()[i]) for t, x in zip(x_types, xs, strict=True)
            ]
            outs = run(self.jaxpr, [*consts, *carry, *x])
            carry = outs[: self.num_carry]
            rows.append(outs[self.num_carry :])
        if self.reverse:
            rows.reverse()
        return [*carry, *self._stacked(rows)]

    def _stacked(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        ys = []
        for k, t in enumerate(self.jaxpr.out_types[self.num_carry :]):
            type_ = stacked_type(t, self.length)
            values = np.empty(type_.shape, type_.storage)
            for i, row in enumerate(rows):
                values[i] = row[k].host()
            ys.append(ConcreteArray(type_, values))
        return ys

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return lower_scan(self, ctx, *self.split(operands))

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> Any:
        """Forward derivatives that are wanted now take one scan, which keeps nothing."""
        if tangent_trace is not parent:
            return super().differentiate(parent, tangent_trace, primals, tangents)
        ...

    def linearize(self, active: Any, *primals: Any) -> Any:
        ...

    def transpose(self, cotangents: Sequence[Any], *args: Any) -> Sequence[Any]:
        ...

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        """A carry is batched if it starts so, or is made so by another."""
        consts, carry, xs = self.split(args)
        const_dims, carry_dims, x_dims = self.split(dims)
        # A step sees an element of xs: without the leading axis, which has to stay in front.
        xs = [move_axis(x, 0, 1) if d == 0 else x for x, d in zip(xs, x_dims, strict=True)]
        ...

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.jaxpr.memo(named_axes)
