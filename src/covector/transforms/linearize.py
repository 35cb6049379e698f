"""Forward mode and linearization: values with their tangents.

``LinearTrace`` runs a function on pairs of a primal and a tangent. The primal means
something to ``parent``, the tangent to ``tangents``:

    jvp         tangents is the parent: both are computed now
    linearize   tangents is a staging trace: the linear part is staged, and what
                it needs of the primal part, the residuals, is what it captured

An absent tangent, which is zero, is ``None``.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from covector.core.annotations import Value
from covector.core.jaxpr import Jaxpr, Var, run
from covector.core.leaks import check_leaks
from covector.core.masks import at_sources, present, scatter
from covector.core.primitive import Linearized, Primitive
from covector.core.staging import StagedTracer, StagingTrace
from covector.core.trace import Trace, Tracer, current
from covector.core.varying import needs_unifying, pvary_like, unify_varying
from covector.errors import RefError

FlatFunction = Callable[..., Sequence[Any]]


class LinearTracer(Tracer):
    """A value and its tangent."""

    __slots__ = ("primal", "tangent", "type")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self.owner = trace
        self.primal = primal
        self.tangent = tangent
        self.type = primal.type


class LinearTrace(Trace):
    """Computes values in ``parent`` and their tangents in ``tangents``."""

    #: whether linear programs note their lines also where nothing else is staged
    lines = False

    def __init__(self, parent: Trace, tangents: Trace, name: str = "") -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes = parent.checked_axes
        self.tangents = tangents
        self.name = name

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        if self.checked_axes and needs_unifying(op, args):
            args, _ = unify_varying(self, op, args)
        primals: list[Value] = []
        tangents: list[Value | None] = []
        active = False
        for a in args:
            if type(a) is LinearTracer and a.owner is self:
                primals.append(a.primal)
                tangents.append(a.tangent)
                active = True
            else:
                primals.append(a)
                tangents.append(None)
        parent = self.parent
        try:
            if not active:
                current.trace = parent
                return parent.process(op, args)
            outs, out_tangents = op.differentiate(
                parent, self.tangents, primals, tangents
            )
            if self.checked_axes:
                out_tangents = self._as_values(out_tangents, outs)
        finally:
            current.trace = self
        if len(outs) == 1:
            (out,), (t,) = outs, out_tangents
            return (out if t is None else LinearTracer(self, out, t),)
        results: list[Any] = []
        for i, out in enumerate(outs):
            t = out_tangents[i]
            results.append(out if t is None else LinearTracer(self, out, t))
        return results

    def _as_values(self, out_tangents: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """Tangents that vary over the axes over which the values do."""
        current.trace = self.tangents
        pairs = zip(out_tangents, outs, strict=True)
        return [None if t is None else pvary_like(t, out.type) for t, out in pairs]

    def pair(self, x: Any) -> tuple[Any, Any]:
        """The primal and the tangent of what a function returned."""
        if type(x) is LinearTracer and x.owner is self:
            return x.primal, x.tangent
        return x, None

    def value(self, x: Any) -> Any:
        return self.pair(x)[0]

    def written_outside(self, x: Any) -> Any:
        primal, tangent = self.pair(x)
        if tangent is not None:
            raise RefError(
                f"{self.name or 'a derivative'} writes a value of type {x.type} that "
                "is being differentiated to a reference made outside of it, where its "
                "derivative would be lost. Write lax.stop_gradient(x) if that is "
                "meant, or make the reference inside."
            )
        return primal


class SplitTrace(Trace):
    """For rules that users write: what touches a tangent is staged in the tangent
    trace, everything else is computed in the parent.
    """

    def __init__(self, parent: Trace, tangents: StagingTrace) -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes = parent.checked_axes
        self.tangents = self.beside = tangents
        self.name = tangents.name

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        mask = [type(a) is StagedTracer and a.owner is self.tangents for a in args]
        touches = True in mask
        if touches and op.process_split is not None:
            return op.process_split(mask, *args)
        if touches and op.for_tangents is not None:
            op = op.for_tangents(mask)
        meaning: Trace = self.tangents if touches else self.parent
        current.trace = meaning
        try:
            return meaning.process(op, args)
        finally:
            current.trace = self

    def written_outside(self, x: Any) -> Any:
        if type(x) is StagedTracer and x.owner is self.tangents:
            raise RefError(
                f"a rule of {self.name} writes a tangent to a reference made outside "
                "of it, but tangents come to be known only later. Write it in the "
                "backward rule of a custom_vjp."
            )
        return x


def together(parent: Trace, tangents: Trace) -> bool:
    """Whether one operation may compute values and tangents, where both are wanted now.

    Not inside of a rule that a ``SplitTrace`` runs: all results of an operation that
    touches a tangent are staged there, the values as well.
    """
    if tangents is not parent:
        return False
    trace: Trace | None = parent
    while trace is not None and not isinstance(trace, SplitTrace | StagingTrace):
        trace = trace.parent
    return not isinstance(trace, SplitTrace)


def jvp_flat(
    fun: FlatFunction,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    name: str = "",
    tangent_trace: Trace | None = None,
) -> tuple[list[Any], list[Any]]:
    """Values and tangents (None where zero) of a flat function.

    The tangents mean something to ``tangent_trace``; by default, to the current one.
    """
    parent = current.trace
    trace = LinearTrace(parent, tangent_trace or parent, name)
    inputs = [
        p if t is None else LinearTracer(trace, p, t)
        for p, t in zip(primals, tangents, strict=True)
    ]
    outs: list[Any] = []
    out_tangents: list[Any] = []
    for out in trace.run(fun, inputs):
        primal, tangent = trace.pair(out)
        outs.append(primal)
        out_tangents.append(tangent)
    return outs, out_tangents


class Linearization(NamedTuple):
    """The linear part of a function at a point.

    ``jaxpr`` takes ``residuals`` and then a tangent per active input; it gives a
    tangent for each output that ``nonzero`` masks.
    """

    jaxpr: Jaxpr
    residuals: Sequence[Any]
    nonzero: Sequence[bool]


def linearize_flat(
    fun: FlatFunction, primals: Sequence[Any], active: Sequence[bool], name: str = ""
) -> tuple[list[Any], Linearization]:
    """The values of a flat function, and its linear part at this point."""
    parent = current.trace
    tangent_trace = StagingTrace(
        parent,
        name,
        literal_limit=math.inf,
        lines=type(parent) is StagingTrace or LinearTrace.lines,
    )
    trace = LinearTrace(parent, tangent_trace, name)
    tangents: list[Any] = []
    inputs: list[Any] = []
    for i, p in enumerate(primals):
        if active[i]:
            tangent = tangent_trace.input(p.type.strong())
            tangents.append(tangent)
            inputs.append(LinearTracer(trace, p, tangent))
        else:
            inputs.append(p)
    current.trace = trace
    try:
        outs: list[Any] = []
        out_tangents: list[Any] = []
        nonzero: list[Any] = []
        for out in fun(*inputs):
            primal, tangent = trace.pair(out)
            outs.append(primal)
            nonzero.append(tangent is not None)
            if tangent is not None:
                out_tangents.append(tangent)
        staged = tangent_trace.finish(tangents, out_tangents)
    finally:
        current.trace = parent
        trace.alive = tangent_trace.alive = False
    if trace.watch is not None:
        check_leaks(trace, tangent_trace)
    return outs, Linearization(staged.jaxpr, staged.captured, nonzero)


Program = TypeVar("Program")


class LinearizedProgram(NamedTuple, Generic[Program]):
    """A program in two parts: ``primal`` gives the outputs and then the residuals that
    are not among its inputs; ``linear`` takes all residuals and the active tangents.

    ``residual_sources[k]`` is the source of residual k: an input of ``primal`` (i ≥
    0), or output ``~i`` of it. ``nonzero`` masks the outputs that have a tangent.
    """

    primal: Program
    linear: Program
    residual_sources: tuple[int, ...]
    nonzero: tuple[bool, ...]

    def residuals(self, args: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """The residuals, among arguments and results of the primal program."""
        return at_sources(self.residual_sources, args, outs)

    def at(
        self,
        primals: Sequence[Any],
        call: Callable[[Program, Sequence[Any]], Sequence[Any]] = run,
    ) -> Linearized:
        """The outputs, and the linear function of the tangents at these primals; in
        both lists of tangents None is zero.
        """
        outs = call(self.primal, primals)
        residuals = at_sources(self.residual_sources, primals, outs)

        def push(*tangents: Any) -> list[Any]:
            nonzero = call(self.linear, [*residuals, *present(tangents)])
            return scatter(nonzero, self.nonzero)

        return outs[: len(self.nonzero)], push


def linearize_jaxpr(
    jaxpr: Jaxpr, active: tuple[bool, ...], suffix: str = ""
) -> LinearizedProgram[Jaxpr]:
    """The program as a primal program and a linear one (memoise on the program).

    ``suffix`` is for the names of programs that are compiled by themselves.
    """
    parent = current.trace
    name = f"{jaxpr.name}{suffix}"
    # Rules of users may make arrays while they run: of any size, they stand in it.
    staging = StagingTrace(parent, name, literal_limit=math.inf)
    inputs = [staging.input(t) for t in jaxpr.in_types]
    current.trace = staging
    try:
        outs, linearization = linearize_flat(
            lambda *args: run(jaxpr, args), inputs, active, name
        )
        sources: list[Any] = []
        extra: list[Any] = []
        positions: dict[Var, int] = {t.variable: i for i, t in enumerate(inputs)}
        for i, out in enumerate(outs):
            if type(out) is StagedTracer and out.literal is None:
                positions.setdefault(out.variable, ~i)
        for residual in linearization.residuals:
            if residual.variable not in positions:
                positions[residual.variable] = ~(len(outs) + len(extra))
                extra.append(residual)
            sources.append(positions[residual.variable])
        primal = staging.finish(inputs, [*outs, *extra])
    finally:
        current.trace = parent
        staging.alive = False
    assert not primal.captured, "a jaxpr is closed"
    return LinearizedProgram(
        primal.jaxpr, linearization.jaxpr, tuple(sources), tuple(linearization.nonzero)
    )
