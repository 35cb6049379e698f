"""Dividing a program: what runs now and is kept, and what is computed again later.

    forward   inputs → outputs, and further values that a policy says are worth keeping
    again     the inputs that it reads, and kept values → the outputs wanted later

A policy judges each operation. One that carries programs is not judged as a whole but
divided itself, so that a policy sees what happens in a jitted layer, in each step of a
scan, in each branch of a choice, and in functions with derivative rules of their own:
what is kept there comes out as further results (of a scan: one for each step), and goes
back in as further operands.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, run, used_inputs
from covector.core.masks import scatter
from covector.core.primitive import Primitive
from covector.programs.control_flow.cond import Cond, allocate, make_cond, with_slots
from covector.programs.control_flow.scan import Scan
from covector.programs.control_flow.scan_rules import fixpoint
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.higher_order.call import Call, call

#: (operation, *operand types, **parameters) → whether its results are worth keeping
Policy = Callable[..., Any]

Marks = tuple[bool, ...]


class Division(NamedTuple):
    """A divided program, or operation.

    ``again`` takes the inputs that ``reads`` marks, and then the outputs of ``forward``
    at ``places``; it gives the outputs that ``gives`` marks, those that are wanted
    later and not kept as they are.
    """

    forward: Any
    again: Any
    reads: Marks
    places: tuple[int, ...]
    gives: Marks


def divide(jaxpr: Jaxpr, later: Marks, policy: Policy, own: Marks) -> Division:
    """The program in two parts (memoise on the program).

    ``later`` marks the outputs that are wanted later, and ``own`` those that can be
    kept as they are.
    """
    cut = _Cut(jaxpr, later, policy)
    places = {v: k for k, v in enumerate(jaxpr.outputs) if own[k] and type(v) is Var}
    further = [v for v in cut.kept if v not in places]
    places |= {v: len(own) + k for k, v in enumerate(further)}
    forward = Jaxpr(
        jaxpr.inputs, cut.forward[::-1], [*jaxpr.outputs, *further], jaxpr.name
    )
    gives = tuple(
        [
            m and not (o and type(v) is Var and v in cut.kept)
            for v, m, o in zip(jaxpr.outputs, later, own, strict=True)
        ]
    )
    outputs = [v for v, g in zip(jaxpr.outputs, gives, strict=True) if g]
    everything = [*jaxpr.inputs, *cut.kept]
    whole = Jaxpr(everything, cut.again[::-1], outputs, f"{jaxpr.name}_again")
    used = used_inputs(whole)
    again = Jaxpr(
        [v for v, u in zip(everything, used, strict=True) if u],
        whole.equations,
        outputs,
        whole.name,
    )
    count = len(jaxpr.inputs)
    saved = [v for v, u in zip(cut.kept, used[count:], strict=True) if u]
    return Division(
        forward, again, tuple(used[:count]), tuple([places[v] for v in saved]), gives
    )


class _Cut:
    """The equations of both parts, last one first, and what is kept between them.

    What only something kept depends on is not computed again, and so not kept either.
    """

    def __init__(self, jaxpr: Jaxpr, later: Marks, policy: Policy) -> None:
        self.policy = policy
        self.wanted = {
            v for v, m in zip(jaxpr.outputs, later, strict=True) if m and type(v) is Var
        }
        self.kept: dict[Var, None] = {}
        self.forward: list[Equation] = []
        self.again: list[Equation] = []
        for equation in reversed(jaxpr.equations):
            self._take(equation)

    def _take(self, e: Equation) -> None:
        later = tuple([v in self.wanted for v in e.outputs])
        parts = divide_operation(e.op, later, self.policy) if any(later) else None
        if parts is not None:
            self._take_apart(e, later, parts)
            return
        self.forward.append(e)
        if not any(later):
            return
        if self.policy(e.op, *[a.type for a in e.inputs], **e.op.parameters):
            marks = zip(e.outputs, later, strict=True)
            self.kept.update({v: None for v, m in marks if m})
        else:
            self._compute_again(e)

    def _take_apart(self, e: Equation, later: Marks, parts: Division) -> None:
        types = parts.forward.plan(tuple([a.type for a in e.inputs])).outs
        outs = [*e.outputs, *[Var(t) for t in types[len(e.outputs) :]]]
        self.forward.append(Equation(parts.forward, e.inputs, outs, e.line))
        saved = [outs[p] for p in parts.places]
        self.kept.update(dict.fromkeys(saved))
        marks = zip(e.outputs, later, parts.gives, strict=True)
        self.kept.update({v: None for v, m, g in marks if m and not g})
        if any(parts.gives):
            read = [a for a, r in zip(e.inputs, parts.reads, strict=True) if r]
            given = [v for v, g in zip(e.outputs, parts.gives, strict=True) if g]
            self._compute_again(Equation(parts.again, [*read, *saved], given, e.line))

    def _compute_again(self, e: Equation) -> None:
        self.again.append(e)
        self.wanted.update([a for a in e.inputs if type(a) is Var])


# -- operations that carry programs ----------------------------------------------------


@functools.singledispatch
def divide_operation(op: Primitive, later: Marks, policy: Policy) -> Division | None:
    """An operation in two parts; None where it is judged, and run again, as a whole."""
    return None


@divide_operation.register
def _(op: Call, later: Marks, policy: Policy) -> Division:
    made = op.jaxpr.memo(divide, later, policy, (True,) * len(later))
    forward, again = call(made.forward, op.separate), call(made.again, op.separate)
    return made._replace(forward=forward, again=again)


@divide_operation.register
def _(op: Scan, later: Marks, policy: Policy) -> Division:
    """What is kept of each step are further ys, and then further xs.

    The steps run again with as much of the carry as they need.
    """
    count, ys = op.num_carry, len(later) - op.num_carry
    own = (*[False] * count, *[True] * ys)

    def step(marks: Marks) -> tuple[Any, Sequence[bool]]:
        made = op.jaxpr.memo(divide, (*marks, *later[count:]), policy, own)
        return made, op.split(made.reads)[1]

    made, marks = fixpoint(later[:count], step)
    consts, read, xs = op.split(made.reads)
    inputs = iter(made.again.inputs)
    const_inputs = [next(inputs) for r in consts if r]
    carry_inputs = [
        next(inputs) if r else Var(t)
        for t, r, m in zip(op.split(op.jaxpr.in_types)[1], read, marks, strict=True)
        if m
    ]
    again = Jaxpr(
        [*const_inputs, *carry_inputs, *inputs],
        made.again.equations,
        made.again.outputs,
        made.again.name,
    )
    return Division(
        op.like(made.forward, op.num_consts, count),
        op.like(again, sum(consts), sum(marks)),
        (*consts, *marks, *xs),
        made.places,
        (*marks, *made.gives[count:]),
    )


@divide_operation.register
def _(op: Cond, later: Marks, policy: Policy) -> Division:
    """What branches keep shares its places; a branch without it gives zeros."""
    count = len(later)
    made = [b.memo(divide, later, policy, (False,) * count) for b in op.branches]
    slots: list[Any] = []
    taken = [allocate(m.forward.out_types[count:], slots) for m in made]
    reads = tuple(
        [any(column) for column in zip(*[m.reads for m in made], strict=True)]
    )
    forward, again = [], []
    for m, places in zip(made, taken, strict=True):
        forward.append(with_slots(m.forward, count, places, slots))
        inputs = iter(m.again.inputs)
        operands = [
            next(inputs) if own else Var(v.type)
            for v, own, r in zip(m.forward.inputs, m.reads, reads, strict=True)
            if r
        ]
        kept = [Var(t) for t in slots]
        for place, v in zip(m.places, inputs, strict=True):
            kept[places[place - count]] = v
        again.append(
            Jaxpr([*operands, *kept], m.again.equations, m.again.outputs, m.again.name)
        )
    return Division(
        make_cond(forward),
        make_cond(again),
        (True, *reads),
        tuple(range(count, count + len(slots))),
        later,
    )


@divide_operation.register
def _(op: CustomCall, later: Marks, policy: Policy) -> Division | None:
    """The rules stay what they are: kept values are a matter of the function alone.

    So they do not move. Nothing but the function run again takes them, and its
    derivative is that of the rules.
    """
    made = op.program.memo(divide, later, policy, (True,) * len(later))
    if not made.places:
        return None
    everything, count = op.program.inputs, len(op.program.inputs)
    inputs = iter(made.again.inputs)
    read = [
        next(inputs) if r else v for v, r in zip(everything, made.reads, strict=True)
    ]
    again = Jaxpr(
        [*read, *inputs], made.again.equations, made.again.outputs, made.again.name
    )
    further = len(made.forward.outputs) - len(later)
    kept = Jaxpr(
        made.forward.inputs,
        made.forward.equations,
        made.forward.outputs[len(later) :],
        made.forward.name,
    )
    return Division(
        _with_kept(op, made.forward, kept, further),
        _from_kept(op, again, count, made.gives),
        (True,) * count,
        made.places,
        made.gives,
    )


def _with_kept(op: CustomCall, fun: Jaxpr, kept: Jaxpr, further: int) -> CustomCall:
    """``op``, with further results that are kept."""
    jvp, vjp = op.jvp, op.vjp

    def forward(primals: Any, tangents: Any) -> Any:
        outs, moved = jvp(primals, tangents)  # type: ignore[misc]
        return [*outs, *run(kept, primals)], [*moved, *[None] * further]

    def reverse(primals: Any, active: Any) -> Any:
        made = vjp(primals, active)  # type: ignore[misc]
        return made._replace(
            outs=[*made.outs, *run(kept, primals)],
            bwd=lambda res, cts: made.bwd(res, cts[: len(cts) - further]),
        )

    return CustomCall(fun, jvp and forward, vjp and reverse, op.who)


def _from_kept(op: CustomCall, fun: Jaxpr, count: int, gives: Marks) -> CustomCall:
    """Results of ``op``, of its own operands and of what was kept."""
    jvp, vjp = op.jvp, op.vjp

    def given(values: Sequence[Any]) -> list[Any]:
        return [x for x, g in zip(values, gives, strict=True) if g]

    def forward(primals: Any, tangents: Any) -> Any:
        outs, moved = jvp(primals[:count], tangents[:count])  # type: ignore[misc]
        return given(outs), given(moved)

    def reverse(primals: Any, active: Any) -> Any:
        made = vjp(primals[:count], active[:count])  # type: ignore[misc]

        def bwd(res: Any, cts: Any) -> list[Any]:
            full = scatter(cts, gives)
            return [*made.bwd(res, full), *[None] * (len(primals) - count)]

        return made._replace(outs=given(made.outs), bwd=bwd)

    return CustomCall(fun, jvp and forward, vjp and reverse, op.who)


# -- what nobody reads -----------------------------------------------------------------


def only(jaxpr: Jaxpr, wanted: Marks) -> Jaxpr:
    """The program with the outputs that are marked, and what those and effects need
    (memoise on the program).
    """
    if all(wanted):
        return jaxpr
    outputs = [v for v, w in zip(jaxpr.outputs, wanted, strict=True) if w]
    read = {v for v in outputs if type(v) is Var}
    equations = []
    for e in reversed(jaxpr.equations):
        used = tuple([v in read for v in e.outputs])
        if e.op.pure and not any(used):
            continue
        found = e if all(used) else _only_used(e, used)
        equations.append(found)
        read.update([a for a in found.inputs if type(a) is Var])
    return Jaxpr(jaxpr.inputs, equations[::-1], outputs, jaxpr.name)


def _only_used(e: Equation, used: Marks) -> Equation:
    op = e.op
    if isinstance(op, Scan):
        used = (*[True] * op.num_carry, *used[op.num_carry :])
        op = op.like(op.jaxpr.memo(only, used), op.num_consts, op.num_carry)
    elif isinstance(op, Call):
        op = call(op.jaxpr.memo(only, used), op.separate)
    elif isinstance(op, Cond):
        op = make_cond([b.memo(only, used) for b in op.branches])
    else:
        return e
    outputs = [v for v, u in zip(e.outputs, used, strict=True) if u]
    return Equation(op, e.inputs, outputs, e.line)
