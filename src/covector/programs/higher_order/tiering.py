"""Tiering: the choice between running a loop or branch on the host and compiling it.

``core/host_budget.py`` has the rule; here is what a program costs on the host.
"""

from collections.abc import Iterator, Sequence

from covector.core.array import ConcreteArray
from covector.core.host_budget import CALL, COMPILE_COST, PACE, HostBudget
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.sharding.shardings import Sharding
from covector.lowering.placement import placements_of_results
from covector.operations.collectives import Collective
from covector.programs.higher_order.regions import Kind


class Budget(HostBudget):
    """The time that a loop may still spend on the host (memoise on its first program).

    A call of it takes ``length`` steps; 1 where that is not known, and each step pays.
    """

    def __init__(
        self, program: Jaxpr, others: tuple[Jaxpr, ...] = (), length: int = 1
    ) -> None:
        programs = (program, *others)
        cost = length * sum([p.memo(host_cost) for p in programs])
        quick = all([p.memo(runs_on_host) for p in programs])
        super().__init__(cost, COMPILE_COST if quick else 0.0)


def commit_results(
    values: Sequence[ConcreteArray],
    placement: Sharding | None,
    args: Sequence[ConcreteArray],
) -> list[ConcreteArray]:
    """The results of a loop on the host, committed to the placement of its operands.

    Also results that depend on no such operand go there, as those of programs do.
    """
    placements = placements_of_results(placement, args, [x.type for x in values])
    return [
        x
        if wanted is None or x.placement is not None
        else ConcreteArray(x.type, x.host(), None, wanted)
        for x, wanted in zip(values, placements, strict=True)
    ]


def host_cost(jaxpr: Jaxpr) -> float:
    """About how many µs a program takes in NumPy (memoise on the program)."""
    ends = len(jaxpr.inputs) + len(jaxpr.outputs)
    return CALL * ends / 2 + sum(map(_cost, jaxpr.equations))


def _cost(equation: Equation) -> float:
    sizes = [a.type.size for a in (*equation.inputs, *equation.outputs)]
    # A choice runs one of its branches, everything else has one program.
    inner = [jaxpr.memo(host_cost) for jaxpr in _interpreted(equation)]
    return CALL + sum(sizes) / PACE + max(inner, default=0.0)


def large_host_time(jaxpr: Jaxpr) -> float | None:
    """About how many µs a program takes in NumPy that has large operands; None where
    an operation of it is not to wait for NumPy.
    """
    total = 0.0
    for e in jaxpr.equations:
        types = [a.type for a in e.inputs], [v.type for v in e.outputs]
        time = e.op.host_time(*types) if e.op.is_same_on_host(*types) else None
        if time is None:
            return None
        total += time
    return total


def runs_on_host(jaxpr: Jaxpr) -> bool:
    """Whether all that a program does is quicker in NumPy (memoise on the program)."""
    return all([_is_quick(e) for e in jaxpr.equations])


def _is_quick(equation: Equation) -> bool:
    op = equation.op
    if not op.compiles:
        return False  # so that it is refused each time, and not only when compiled
    if isinstance(op, Collective):
        return True  # over the named axis of a batch, where it can be run at all
    if op.evaluate is None:
        return op.plan(tuple([a.type for a in equation.inputs])).prefers_host
    if op.effects and not op.regions:
        return True  # Python, wherever it is called from
    inner = [*_interpreted(equation)]
    return bool(inner) and all([jaxpr.memo(runs_on_host) for jaxpr in inner])


def _interpreted(equation: Equation) -> Iterator[Jaxpr]:
    """The programs of which an operation, run by itself, runs the operations."""
    if equation.op.interpreted:
        for region in equation.op.regions:
            if region.kind is not Kind.RULE:
                yield region.jaxpr
