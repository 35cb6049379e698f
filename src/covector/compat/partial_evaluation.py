"""Partial evaluation: what is known is computed now, the rest is staged for later.

    jaxpr, out_pvals, consts = trace_to_jaxpr_nounits(fun, [known, unknown])

``PartialVal`` says of each argument and result which of the two it is. The program has
the unknown arguments for inputs, the unknown results for outputs, and for consts the
known values that it reads.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.compat.jaxprs import DropVar, Jaxpr, Literal
from covector.compat.linear_util import WrappedFun
from covector.compat.programs import closed_jaxpr
from covector.core.convert import as_array
from covector.core.flat import arrays
from covector.core.jaxpr import run
from covector.core.primitive import Primitive
from covector.core.staging import Staged, StagedTracer, StagingTrace, stage
from covector.core.trace import Trace, as_current, current
from covector.core.types import ArrayType
from covector.programs.higher_order.call import Call
from covector.transforms.linearize import SplitTrace


class PartialVal(NamedTuple):
    """A known value, or the type of an unknown one."""

    aval: Any
    value: Any

    @staticmethod
    def known(const: Any) -> "PartialVal":
        """One whose value is known."""
        return PartialVal(None, const)

    @staticmethod
    def unknown(aval: Any) -> "PartialVal":
        """One of which the type is known."""
        return PartialVal(aval, None)

    def is_known(self) -> bool:
        return self.aval is None

    def get_known(self) -> Any:
        """The value if it is known, else None."""
        return self.value

    def get_aval(self) -> Any:
        """The type."""
        return as_array(self.value).type if self.aval is None else self.aval


class PartialTrace(SplitTrace):
    """Stages what touches an unknown value, and computes everything else."""

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        unknown: Trace = self.tangents
        touches = any([type(a) is StagedTracer and a.owner is unknown for a in args])
        if isinstance(op, Call) and touches:
            # Of what a jitted function computes, some may be known.
            return run(op.jaxpr, args)
        meaning = unknown if touches or op.effects else self.parent
        with as_current(meaning):
            return meaning.process(op, args)


def trace_to_jaxpr_nounits(
    fun: WrappedFun,
    pvals: Sequence[PartialVal],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """The program of what is unknown, the results, and the consts of the program.

    ``instantiate``, for all results or each of them: give it as unknown, even if it is
    known.
    """
    parent = current.trace
    unknown = StagingTrace(parent, "partial evaluation")
    inputs = {i: unknown.input(p.aval) for i, p in enumerate(pvals) if not p.is_known()}
    current.trace = PartialTrace(parent, unknown)
    try:
        given = [inputs.get(i, p.value) for i, p in enumerate(pvals)]
        outs = arrays(fun.call_wrapped(*given), unknown.name)
        later = [
            w or (type(x) is StagedTracer and x.owner is unknown)
            for x, w in zip(outs, _each(instantiate, len(outs)), strict=True)
        ]
        computed = [x for x, m in zip(outs, later, strict=True) if m]
        staged = unknown.finish(list(inputs.values()), computed)
    finally:
        current.trace = parent
        unknown.alive = False
    closed = closed_jaxpr(staged.jaxpr, staged.captured)
    found = [
        PartialVal.unknown(x.type) if m else PartialVal.known(x)
        for x, m in zip(outs, later, strict=True)
    ]
    return closed.jaxpr, found, closed.consts


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ArrayType], **_: Any
) -> tuple[Jaxpr, list[ArrayType], list[Any]]:
    """The program of a function of leaves, the types of its results, its consts."""
    staged: Staged = stage(
        lambda *args: arrays(fun.call_wrapped(*args), "trace_to_jaxpr_dynamic"),
        list(in_avals),
        getattr(fun, "__name__", "fun"),
    )
    closed = closed_jaxpr(staged.jaxpr, staged.captured)
    return closed.jaxpr, closed.out_avals, closed.consts


def _each(mask: bool | Sequence[bool], count: int) -> Sequence[bool]:
    return [mask] * count if isinstance(mask, bool) else mask


# -- from program to program -----------------------------------------------------------


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program with its constvars as its first inputs."""
    invars = [*jaxpr.constvars, *jaxpr.invars]
    return jaxpr.replace(constvars=[], invars=invars)


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """The program of the used outputs alone, and the mask of the inputs that it reads.

    Equations with effects stay. Inputs under ``instantiate`` stay. An equation stays as
    it is, or goes: programs that it carries are not looked into.
    """
    used = _each(used_outputs, len(jaxpr.outvars))
    kept = [a for a, m in zip(jaxpr.outvars, used, strict=True) if m]
    read = {a for a in kept if not isinstance(a, Literal)}
    eqns = []
    for e in reversed(jaxpr.eqns):
        if e.effects or not read.isdisjoint(e.outvars):
            found = [v if v in read else DropVar(v.aval) for v in e.outvars]
            eqns.append(e.replace(outvars=found))
            read.update([a for a in e.invars if not isinstance(a, Literal)])
    stay = _each(instantiate, len(jaxpr.invars))
    mask = [m or v in read for v, m in zip(jaxpr.invars, stay, strict=True)]
    invars = [v for v, m in zip(jaxpr.invars, mask, strict=True) if m]
    return jaxpr.replace(invars=invars, outvars=kept, eqns=eqns[::-1]), mask
