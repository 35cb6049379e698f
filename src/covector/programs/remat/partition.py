"""Partition a program: what runs now, and what is computed again for a derivative.

    forward     inputs → outputs, and further values that a policy says are worth saving
    recompute   the inputs that it reads, and saved values → the outputs wanted later

A policy judges each operation. One that carries programs is not judged as a whole but
partitioned itself, so that a policy sees the operations of a jitted layer, of a scan's
step, of the branches of a cond, and of functions with derivative rules: what is saved
there becomes further results (of a scan: one for each step), and further operands of
the operation that recomputes.
"""

import functools
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, run, used_inputs
from covector.core.masks import merge, scatter, select
from covector.core.primitive import Primitive
from covector.programs.control_flow.cond import Cond, allocate, make_cond, with_slots
from covector.programs.control_flow.scan import Scan
from covector.programs.control_flow.scan_rules import fixpoint
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.higher_order.call import Call, call

#: (operation, *operand types, **parameters) → whether its results are worth keeping
Policy = Callable[..., Any]

Mask = tuple[bool, ...]


class Partition(NamedTuple):
    """A partitioned program, or operation.

    ``recompute`` takes the inputs in the mask ``reads``, and then the outputs of
    ``forward`` at the indices ``saved``; it returns the outputs in the mask
    ``recomputed``, those that are wanted later and not saved themselves.
    """

    forward: Any
    recompute: Any
    reads: Mask
    saved: tuple[int, ...]
    recomputed: Mask


def partition(jaxpr: Jaxpr, later: Mask, policy: Policy, saveable: Mask) -> Partition:
    """The program in two parts (memoise on the program).

    ``later`` is the mask of the outputs that are wanted later, ``saveable`` of those
    that can be saved as outputs of the first part.
    """
    cut = _Cut(jaxpr, later, policy)
    indices = {
        v: k for k, v in enumerate(jaxpr.outputs) if saveable[k] and type(v) is Var
    }
    further = [v for v in cut.saved if v not in indices]
    indices |= {v: len(saveable) + k for k, v in enumerate(further)}
    forward = Jaxpr(
        jaxpr.inputs, cut.forward[::-1], [*jaxpr.outputs, *further], jaxpr.name
    )
    recomputed = tuple(
        [
            m and not (s and type(v) is Var and v in cut.saved)
            for v, m, s in zip(jaxpr.outputs, later, saveable, strict=True)
        ]
    )
    outputs = select(jaxpr.outputs, recomputed)
    inputs = [*jaxpr.inputs, *cut.saved]
    whole = Jaxpr(inputs, cut.recompute[::-1], outputs, f"{jaxpr.name}_recompute")
    used = used_inputs(whole)
    recompute = Jaxpr(select(inputs, used), whole.equations, outputs, whole.name)
    count = len(jaxpr.inputs)
    saved = [indices[v] for v in select(cut.saved, used[count:])]
    return Partition(forward, recompute, tuple(used[:count]), tuple(saved), recomputed)


class _Cut:
    """The equations of both parts, last one first, and the values saved between them.

    What only saved values depend on is not recomputed, and so not saved either.
    """

    def __init__(self, jaxpr: Jaxpr, later: Mask, policy: Policy) -> None:
        self.policy = policy
        self.wanted = {v for v in select(jaxpr.outputs, later) if type(v) is Var}
        self.saved: dict[Var, None] = {}
        self.forward: list[Equation] = []
        self.recompute: list[Equation] = []
        for equation in reversed(jaxpr.equations):
            self._visit(equation)

    def _visit(self, e: Equation) -> None:
        later = tuple([v in self.wanted for v in e.outputs])
        parts = partition_operation(e.op, later, self.policy) if any(later) else None
        if parts is not None:
            self._take_parts(e, later, parts)
            return
        self.forward.append(e)
        if not any(later):
            return
        if self.policy(e.op, *[a.type for a in e.inputs], **e.op.parameters):
            self.saved.update(dict.fromkeys(select(e.outputs, later)))
        else:
            self._recompute(e)

    def _take_parts(self, e: Equation, later: Mask, parts: Partition) -> None:
        types = parts.forward.plan(tuple([a.type for a in e.inputs])).outs
        outs = [*e.outputs, *[Var(t) for t in types[len(e.outputs) :]]]
        self.forward.append(Equation(parts.forward, e.inputs, outs, e.line))
        saved = [outs[k] for k in parts.saved]
        self.saved.update(dict.fromkeys(saved))
        columns = zip(e.outputs, later, parts.recomputed, strict=True)
        self.saved.update({v: None for v, m, again in columns if m and not again})
        if any(parts.recomputed):
            operands = [*select(e.inputs, parts.reads), *saved]
            outs = select(e.outputs, parts.recomputed)
            self._recompute(Equation(parts.recompute, operands, outs, e.line))

    def _recompute(self, e: Equation) -> None:
        self.recompute.append(e)
        self.wanted.update([a for a in e.inputs if type(a) is Var])


# -- operations that carry programs ----------------------------------------------------


@functools.singledispatch
def partition_operation(op: Primitive, later: Mask, policy: Policy) -> Partition | None:
    """An operation in two parts; None where it is judged, and run again, as a whole."""
    return None


@partition_operation.register
def _(op: Call, later: Mask, policy: Policy) -> Partition:
    made = op.jaxpr.memo(partition, later, policy, (True,) * len(later))
    forward = call(made.forward, op.separate)
    recompute = call(made.recompute, op.separate)
    return made._replace(forward=forward, recompute=recompute)


@partition_operation.register
def _(op: Scan, later: Mask, policy: Policy) -> Partition:
    """Values saved of each step are further ys, and then further xs.

    The steps run again with as much of the carry as they need.
    """
    count, ys = op.num_carry, len(later) - op.num_carry
    saveable = (*[False] * count, *[True] * ys)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        made = op.jaxpr.memo(partition, (*mask, *later[count:]), policy, saveable)
        return made, op.split(made.reads)[1]

    made, mask = fixpoint(later[:count], step)
    consts, read, xs = op.split(made.reads)
    inputs = iter(made.recompute.inputs)
    const_inputs = [*islice(inputs, sum(consts))]
    unread = [Var(t) for t in op.split(op.jaxpr.in_types)[1]]
    carry_inputs = select(merge(islice(inputs, sum(read)), read, unread), mask)
    recompute = Jaxpr(
        [*const_inputs, *carry_inputs, *inputs],
        made.recompute.equations,
        made.recompute.outputs,
        made.recompute.name,
    )
    return Partition(
        op.like(made.forward, op.num_consts, count),
        op.like(recompute, sum(consts), sum(mask)),
        (*consts, *mask, *xs),
        made.saved,
        (*mask, *made.recomputed[count:]),
    )


@partition_operation.register
def _(op: Cond, later: Mask, policy: Policy) -> Partition:
    """Values saved by branches share slots; a branch without one returns zeros."""
    count = len(later)
    made = [b.memo(partition, later, policy, (False,) * count) for b in op.branches]
    slots: list[Any] = []
    taken = [allocate(m.forward.out_types[count:], slots) for m in made]
    reads = tuple(
        [any(column) for column in zip(*[m.reads for m in made], strict=True)]
    )
    forward, recompute = [], []
    for m, indices in zip(made, taken, strict=True):
        forward.append(with_slots(m.forward, count, indices, slots))
        program = m.recompute
        inputs = iter(program.inputs)
        unread = [Var(t) for t in m.forward.in_types]
        operands = merge(islice(inputs, sum(m.reads)), m.reads, unread)
        saved = [Var(t) for t in slots]
        for i, v in zip(m.saved, inputs, strict=True):
            saved[indices[i - count]] = v
        recompute.append(
            Jaxpr(
                [*select(operands, reads), *saved],
                program.equations,
                program.outputs,
                program.name,
            )
        )
    return Partition(
        make_cond(forward),
        make_cond(recompute),
        (True, *reads),
        tuple(range(count, count + len(slots))),
        later,
    )


@partition_operation.register
def _(op: CustomCall, later: Mask, policy: Policy) -> Partition | None:
    """The rules stay what they are: only the function returns saved values.

    So these are constants in a derivative. Only the function that recomputes takes
    them, and its derivative is that of the rules.
    """
    made = op.program.memo(partition, later, policy, (True,) * len(later))
    if not made.saved:
        return None
    count, program = len(op.program.inputs), made.recompute
    inputs = iter(program.inputs)
    operands = merge(islice(inputs, sum(made.reads)), made.reads, op.program.inputs)
    recompute = Jaxpr(
        [*operands, *inputs], program.equations, program.outputs, program.name
    )
    further = len(made.forward.outputs) - len(later)
    saved = Jaxpr(
        made.forward.inputs,
        made.forward.equations,
        made.forward.outputs[len(later) :],
        made.forward.name,
    )
    return Partition(
        _with_saved(op, made.forward, saved, further),
        _from_saved(op, recompute, count, made.recomputed),
        (True,) * count,
        made.saved,
        made.recomputed,
    )


def _with_saved(op: CustomCall, fun: Jaxpr, saved: Jaxpr, further: int) -> CustomCall:
    """``op``, with saved values as further results."""
    jvp, vjp = op.jvp, op.vjp

    def forward(primals: Any, tangents: Any) -> Any:
        outs, tangents_out = jvp(primals, tangents)  # type: ignore[misc]
        return [*outs, *run(saved, primals)], [*tangents_out, *[None] * further]

    def reverse(primals: Any, active: Any) -> Any:
        made = vjp(primals, active)  # type: ignore[misc]
        return made._replace(
            outs=[*made.outs, *run(saved, primals)],
            bwd=lambda res, cts: made.bwd(res, cts[: len(cts) - further]),
        )

    return CustomCall(fun, jvp and forward, vjp and reverse, op.who)


def _from_saved(op: CustomCall, fun: Jaxpr, count: int, mask: Mask) -> CustomCall:
    """Results of ``op``, computed from its operands and saved values."""
    jvp, vjp = op.jvp, op.vjp

    def forward(primals: Any, tangents: Any) -> Any:
        outs, tangents_out = jvp(primals[:count], tangents[:count])  # type: ignore[misc]
        return select(outs, mask), select(tangents_out, mask)

    def reverse(primals: Any, active: Any) -> Any:
        made = vjp(primals[:count], active[:count])  # type: ignore[misc]

        def bwd(res: Any, cts: Any) -> list[Any]:
            full = scatter(cts, mask)
            return [*made.bwd(res, full), *[None] * (len(primals) - count)]

        return made._replace(outs=select(made.outs, mask), bwd=bwd)

    return CustomCall(fun, jvp and forward, vjp and reverse, op.who)


# -- dead code -------------------------------------------------------------------------


def dce(jaxpr: Jaxpr, wanted: Mask) -> Jaxpr:
    """Dead-code elimination: the program with the outputs in the mask, and what these
    and effects need (memoise on the program).
    """
    if all(wanted):
        return jaxpr
    outputs = select(jaxpr.outputs, wanted)
    read = {v for v in outputs if type(v) is Var}
    equations = []
    for e in reversed(jaxpr.equations):
        used = tuple([v in read for v in e.outputs])
        if e.op.pure and not any(used):
            continue
        found = e if all(used) else _dce_equation(e, used)
        equations.append(found)
        read.update([a for a in found.inputs if type(a) is Var])
    return Jaxpr(jaxpr.inputs, equations[::-1], outputs, jaxpr.name)


def _dce_equation(e: Equation, used: Mask) -> Equation:
    op = e.op
    if isinstance(op, Scan):
        used = (*[True] * op.num_carry, *used[op.num_carry :])
        op = op.like(op.jaxpr.memo(dce, used), op.num_consts, op.num_carry)
    elif isinstance(op, Call):
        op = call(op.jaxpr.memo(dce, used), op.separate)
    elif isinstance(op, Cond):
        op = make_cond([b.memo(dce, used) for b in op.branches])
    else:
        return e
    return Equation(op, e.inputs, select(e.outputs, used), e.line)
