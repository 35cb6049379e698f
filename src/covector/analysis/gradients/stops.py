"""Where a derivative stops: the lines at which a value moves the loss, and no gradient
comes back.

The program is run forward, and then backward, one equation at a time. An equation
between a leaf and the loss stops the derivative if its operands move with the leaf, and
its results have no derivative; or if a cotangent arrives at its results, and none
leaves for these operands. Inside of loops and branches, where values differ at each
step, only operations are found that stop all derivatives, whatever the values.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from covector.analysis.gradients.loss import Loss
from covector.analysis.passes.dependence import Dependence, dependence
from covector.analysis.walk import Visit, visits
from covector.core import dtypes
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var, read
from covector.core.masks import Mask, present, scatter, select
from covector.core.primitive import Linear
from covector.core.source import Line
from covector.core.trace import current
from covector.operations.casting import ConvertElementType
from covector.operations.identities import StopGradient
from covector.operations.magnitude import Sign
from covector.operations.rounding import Rounding
from covector.programs.custom_rules.ruled_program import RuledProgram
from covector.transforms.linearize import Linearization, linearize_flat, linearize_jaxpr
from covector.transforms.transpose import backward


class Stop(NamedTuple):
    """Where a derivative stops, or goes wrong, and why in words.

    ``always`` is False where another value might let it pass.
    """

    line: Line | None
    reason: str
    always: bool = True

    def __str__(self) -> str:
        return self.reason if self.line is None else f"{self.reason}, {self.line}"


class Linearized(NamedTuple):
    """An equation with operands that move: which ones, and its linear map."""

    moving: Mask
    linear: Linearization


class Passed(NamedTuple):
    """The cotangents at the results of an equation, and those that it gives to its
    operands; None is zero.
    """

    results: Sequence[Any]
    operands: Sequence[Any]


class Backward:
    """A run of a loss forward and backward, one equation at a time."""

    def __init__(self, loss: Loss, program: Jaxpr) -> None:
        self.loss = loss
        self.program = program
        self._visits = [*visits(program)]

    @cached_property
    def forward(self) -> dict[Equation, Linearized]:
        """The equations that move when the leaves do."""
        inputs = self.program.inputs
        env = dict(zip(inputs, self.loss.operands, strict=True))
        moving = {inputs[len(self.loss.captured) + i] for i in self.loss.active}
        found: dict[Equation, Linearized] = {}
        for e in self.program.equations:
            primals = read(env, e.inputs)
            active = tuple([type(a) is Var and a in moving for a in e.inputs])
            if any(active):
                outs, linear = linearize_flat(
                    lambda *xs, op=e.op: current.trace.process(op, xs), primals, active
                )
                found[e] = Linearized(active, linear)
                moving.update(select(e.outputs, linear.nonzero))
            else:
                outs = current.trace.process(e.op, primals)
            env.update(zip(e.outputs, outs, strict=True))
        return found

    @cached_property
    def passed(self) -> dict[Equation, Passed]:
        """The cotangents that each of them passes on, of those that arrive."""
        (out,) = self.program.outputs
        totals: dict[Any, Any] = {}
        if type(out) is Var:
            totals[out] = scalar(1, out.type.dtype)
        found: dict[Equation, Passed] = {}
        for e, known in reversed(self.forward.items()):
            cts = [totals.pop(v, None) for v in e.outputs]
            if present(cts):
                found[e] = Passed(cts, _pulled(known, cts))
                for a, ct in zip(e.inputs, found[e].operands, strict=True):
                    if ct is not None and type(a) is Var:
                        totals[a] = totals[a] + ct if a in totals else ct
        return found

    def _dependence(self, leaf: int, outputs: Sequence[int] | None) -> Dependence:
        """The equations that depend on a leaf and are needed for these outputs."""
        number = len(self.loss.captured) + leaf
        return dependence(self.program, inputs=[number], outputs=outputs)

    def _slice(self, leaf: int) -> list[Visit]:
        """The equations between a leaf and the loss, at any depth."""
        return [self._visits[n] for n in self._dependence(leaf, [0]).equations]

    def _between(self, leaf: int) -> Iterator[tuple[Equation, Mask]]:
        """Those that no other carries, the last first, and the mask of the operands
        that depend on the leaf.
        """
        between = {visit.equation for visit in self._slice(leaf) if not visit.around}
        depend = {self.program.inputs[len(self.loss.captured) + leaf]}
        found: list[tuple[Equation, Mask]] = []
        reached = self._dependence(leaf, None).results
        for visit, mask in zip(self._visits, reached, strict=True):
            e = visit.equation
            if not visit.around:
                operands = tuple([type(a) is Var and a in depend for a in e.inputs])
                depend.update(select(e.outputs, mask))
                if e in between:
                    found.append((e, operands))
        return reversed(found)

    def stops(self, leaf: int) -> list[Stop]:
        """Where the derivative with respect to a leaf stops, nearest the loss first."""
        by_value: list[Stop] = []
        by_type: list[Stop] = []
        for e, depend in self._between(leaf):
            moving, linear = self.forward.get(e, (depend, None))
            real = [m and d for m, d in zip(moving, depend, strict=True)]
            if linear is None or not any(real):
                continue
            if not any(linear.nonzero):
                inexact = any([v.type.inexact for v in e.outputs])
                found = by_value if inexact else by_type
                found += [*_inside(e, real)] or [_stop(e)]
            elif e in self.passed:
                results, operands = self.passed[e]
                if _nonzero(results) and not _nonzero(select(operands, real)):
                    by_value += [*_inside(e, real)] or [_stop(e)]
        # A comparison beside a path that stops by itself only chooses.
        return list(dict.fromkeys(by_value or by_type))

    def last(self, leaf: int) -> Stop | None:
        """The last equation that depends on a leaf of which the loss needs nothing;
        None if no equation does.
        """
        found = self._dependence(leaf, None).equations
        if not found:
            return None
        visit = self._visits[found[-1]]
        name = visit.equation.op.name
        return Stop(visit.line, f"the loss does not need the result of {name}")

    def breaks(self, leaf: int) -> Stop | None:
        """The equation that made a NaN or an infinity of good cotangents."""
        for e, depend in self._between(leaf):
            if e in self.passed:
                results, operands = self.passed[e]
                if _finite(results) and not _finite(select(operands, depend)):
                    return Stop(e.line, f"in the derivative of {e.op.name}")
        return None

    def rules(self, leaf: int) -> set[str]:
        """The functions with rules of their own between a leaf and the loss."""
        found = [getattr(visit.equation.op, "who", "") for visit in self._slice(leaf)]
        return {*found} - {""}

    def nested_stops(self, leaf: int) -> list[Stop]:
        """``stop_gradient`` inside of loops and branches on the way to the loss."""
        return [
            Stop(visit.line, "stop_gradient")
            for visit in self._slice(leaf)
            if visit.around and type(visit.equation.op) is StopGradient
        ]


def _pulled(known: Linearized, cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the operands; None is zero."""
    jaxpr, residuals, nonzero = known.linear
    n = len(residuals)
    args = [*residuals, *[Linear(v.type) for v in jaxpr.inputs[n:]]]
    return scatter(backward(jaxpr, args, select(cts, nonzero))[n:], known.moving)


def _nonzero(cotangents: Sequence[Any]) -> bool:
    return any([ct is not None and np.any(np.asarray(ct) != 0) for ct in cotangents])


def _finite(cotangents: Sequence[Any]) -> bool:
    return all(
        [ct is None or bool(np.all(np.isfinite(np.asarray(ct)))) for ct in cotangents]
    )


# -- inside of loops and branches ------------------------------------------------------


def _inside(e: Equation, depend: Sequence[bool]) -> Iterator[Stop]:
    """Where derivatives stop inside of the programs that an equation carries."""
    if isinstance(e.op, RuledProgram):
        return  # the rule says what its derivative is
    for region in e.op.regions:
        taken = region.taken(depend)
        inputs = [i for i, d in enumerate(taken) if d]
        if inputs:
            yield from _stops_of_types(region.jaxpr, inputs)


def _stops_of_types(jaxpr: Jaxpr, inputs: Sequence[int]) -> Iterator[Stop]:
    """Where derivatives stop on the way from these inputs, whatever the values."""
    between = dependence(jaxpr, inputs=inputs, outputs=range(len(jaxpr.outputs)))
    moving = {jaxpr.inputs[i] for i in inputs if jaxpr.in_types[i].inexact}
    for visit, mask in zip(visits(jaxpr), between.results, strict=True):
        e = visit.equation
        if visit.around or not any(mask):
            continue
        active = tuple([type(a) is Var and a in moving for a in e.inputs])
        if not any(active):
            continue
        found = _moving_results(e, active)
        moving.update([v for v, m in zip(e.outputs, found, strict=True) if m])
        if not any(found):
            yield from [*_inside(e, active)] or [_stop(e)]


def _moving_results(e: Equation, active: Mask) -> Sequence[bool]:
    """The mask of the results that have a derivative with respect to these operands."""
    inputs = [Var(a.type) for a in e.inputs]
    alone = Jaxpr(inputs, [Equation(e.op, inputs, e.outputs, e.line)], e.outputs)
    return linearize_jaxpr(alone, active).nonzero


# -- words -----------------------------------------------------------------------------


def _stop(e: Equation) -> Stop:
    reason = _reason(e)
    if reason is not None:
        return Stop(e.line, reason)
    words = f"{e.op.name}, whose derivative is zero for these values"
    return Stop(e.line, words, always=False)


def _reason(e: Equation) -> str | None:
    """Why an operation stops all derivatives; None if it need not."""
    op, out = e.op, e.outputs[0].type
    if type(op) is StopGradient:
        return "stop_gradient"
    if isinstance(op, RuledProgram):
        return f"the rule of {op.who}, which gives zero"
    if isinstance(op, ConvertElementType) and not out.inexact:
        return f"the conversion to {dtypes.short_name(out.dtype)}"
    if out.dtype == dtypes.bool_:
        return f"the comparison {op.name}"
    if not out.inexact:
        return f"{op.name}, which gives integers"
    if isinstance(op, Rounding | Sign):
        return f"{op.name}, which is constant between its jumps"
    return None
